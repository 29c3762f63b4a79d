"""Figures, drawn from records only: solutions, comparisons, rates, and noise beside the Gibbs law."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from widelimit.interfaces.gap_figures import comparison_figure, rates_figure
from widelimit.interfaces.noise_figures import noise_figure
from widelimit.interfaces.solution_figures import solution_figure
from widelimit.theory.coupling import Comparison
from widelimit.theory.gibbs import Gibbs
from widelimit.theory.rates import Rates

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure(*records: Any, coordinate: str | None = None, times: int = 4) -> Figure:
    """The figure of one or more solutions, of solutions beside a Gibbs law, of a comparison, or of rates.

    coordinate  of solutions: whose density to show (default: the last one they all have, a radius)
    times       of solutions: how many times to show it at
    """
    if len(records) == 1 and isinstance(records[0], Comparison):
        return comparison_figure(records[0])
    if len(records) == 1 and isinstance(records[0], Rates):
        return rates_figure(records[0])
    if any(isinstance(record, Gibbs) for record in records):
        return noise_figure(*records, coordinate=coordinate)
    return solution_figure(*records, coordinate=coordinate, times=times)
