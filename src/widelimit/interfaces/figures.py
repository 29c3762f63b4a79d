"""Figures, drawn from records only: solutions, comparisons, rates, and noise beside the Gibbs law."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, Unpack

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from widelimit.errors import require, require_count
from widelimit.interfaces.canvas import Look, LookOptions, Page
from widelimit.interfaces.curves import curves_of, entries_of
from widelimit.interfaces.solution_figures import Content, solution_figure
from widelimit.on_first_use import OnFirstUse

noise_figures = OnFirstUse("widelimit.interfaces.noise_figures")
OWN = {  # records drawn alone, by class; what draws them is loaded on first use, with the theory it needs
    "Comparison": "gap_figures.comparison_figure",
    "Rates": "gap_figures.rates_figure",
    "ProofTerms": "proof_figures.proof_figure",
    "Regimes": "regime_figures.regimes_figure",
    "Linearisation": "regime_figures.linearisation_figure",
    "LearningCurves": "learning_figures.learning_curves_figure",
    "OverlapSamples": "learning_figures.overlap_samples_figure",
    "Complexity": "complexity_figures.complexity_figure",
    "Approximation": "approximation_figures.approximation_figure",
    "NetworkPlan": "plan_figures.plan_figure",
    "Minimum": "certificate_figures.minimum_figure",
    "TwoGeometries": "certificate_figures.geometries_figure",
    "Sweep": "sweep_figures.sweep_figure",
}


def figure(
    *records: object,
    show: str | Sequence[str] | None = None,
    coordinate: str | None = None,
    times: int | None = None,
    ax: Axes | Sequence[Axes] | None = None,
    **look: Unpack[LookOptions],
) -> Figure:
    """The figure of one or more solutions, of solutions beside a Gibbs law, or of one of the records drawn alone.

    records     what `solve` and `gibbs` returned, also lists of them, and dictionaries, whose keys are the labels; or
                what `compare`, `rates`, `plan`, `proof_terms`, `linearise`, `regimes`, `learning_curves`,
                `samples_to_overlap`, `complexity`, `approximation`, `minimise`, `two_geometries` or `sweep` returned,
                alone

    of solutions

    show        what to show, a panel each: "risk", "free_energy", names of observers, names of coordinates (their mean
                over ρ_t with its spread), "density"; by default the risk, and the density if they share a coordinate
    coordinate  whose density to show (default: the first kept one that they all have, u, or a radius)
    times       how many times to show it at (default: four if its line tells which run it is, else the last one)
    ax          axes of matplotlib to draw on, one for each panel, instead of a new figure

    and by keyword

    labels      of the runs; by default what differs between them, such as κ = 0.1 and κ = 0.4
    title       above all panels
    log         axes of panels over time that are logarithmic: "x", "y", "xy", or "" for none
    style       "screen", "paper" (a column of a journal, small type) or "slide" (large type, heavy lines)

    A band is how far a risk may be off; of replicas, the middle 95 % of the runs around their mean.
    ``figure(...).show()`` opens a window, ``figure(...).savefig("run.pdf")`` writes a file; nothing stays behind in
    pyplot.

    >>> import widelimit as wl
    >>> starts = [wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("erf"), wl.initial.gaussian(scale))
    ...           for scale in (0.1, 0.4)]
    >>> runs = [wl.solve(start, wl.SGD(n=10, step=0.01), t_end=0.1, save=3) for start in starts]
    >>> axes = wl.figure(runs, show="risk", title="Two starts", style="paper").axes[0]
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['κ = 0.1', 'κ = 0.4']
    """
    if times is not None:
        require_count("times", times, "4")
    chosen, entries = Look.of(look), entries_of(records)
    page, content = Page.of(chosen, ax), Content(show, coordinate, times)
    with chosen.context():
        if len(entries) == 1 and kind(entries[0][1]) in OWN:
            return _own_figure(entries[0][1], content, page)
        _refuse_crowd([record for _, record in entries])
        laws = [record for _, record in entries if kind(record) == "Gibbs"]
        if not laws:
            return solution_figure(curves_of(entries, chosen.labels), content, page)
        require(len(laws) == 1, "a figure shows one Gibbs law", len(laws), "draw one figure for each")
        others = [(key, record) for key, record in entries if kind(record) != "Gibbs"]
        _refuse({"show": show, "times": times, "log": chosen.log}, "with a Gibbs law")
        noise_figures.require_grid([record for _, record in others])
        return noise_figures.noise_figure(laws[0], curves_of(others, chosen.labels), coordinate, page)


def _refuse_crowd(records: Sequence[object]) -> None:
    """Refuse records that are drawn alone, here beside others."""
    alone = [kind(record) for record in records if kind(record) in OWN]
    gaps = ", or use wl.rates for gaps against n" if "Comparison" in alone else ""
    require(not alone, f"a figure shows one {' or '.join(dict.fromkeys(map(str, alone)))} at a time",
            [type(record).__name__ for record in records], f"draw one figure for each{gaps}")  # fmt: skip


def kind(record: object) -> str | None:
    """The name of the class of a record of this package."""
    return type(record).__name__ if type(record).__module__.startswith("widelimit.") else None


def drawing(name: str) -> Callable[[Any, Page], Figure]:
    """The function that draws a record of a class in OWN."""
    module, function = OWN[name].split(".")
    return getattr(importlib.import_module(f"widelimit.interfaces.{module}"), function)


def _own_figure(record: object, content: Content, page: Page) -> Figure:
    """The figure of a record that is drawn alone."""
    given = {"show": content.show, "coordinate": content.coordinate, "times": content.times}
    _refuse({**given, "labels": page.look.labels, "log": page.look.log}, f"of {type(record).__name__.lower()}")
    return drawing(type(record).__name__)(record, page)


def _refuse(options: dict[str, Any], what: str) -> None:
    """Refuse options that a figure has no use for."""
    given = [name for name, value in options.items() if value is not None]
    require(not given, f"a figure {what} has no use for {', '.join(options)}", given, "leave them out")
