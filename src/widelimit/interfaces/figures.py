"""Figures, drawn from records only: solutions, comparisons, rates, and noise beside the Gibbs law."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Unpack

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from widelimit.errors import require, require_count
from widelimit.experiments.sweep import Sweep
from widelimit.interfaces.approximation_figures import approximation_figure
from widelimit.interfaces.canvas import Look, LookOptions, Page
from widelimit.interfaces.certificate_figures import geometries_figure, minimum_figure
from widelimit.interfaces.complexity_figures import complexity_figure
from widelimit.interfaces.curves import curves_of, entries_of
from widelimit.interfaces.gap_figures import comparison_figure, rates_figure
from widelimit.interfaces.learning_figures import learning_curves_figure, overlap_samples_figure
from widelimit.interfaces.noise_figures import noise_figure, require_grid
from widelimit.interfaces.plan_figures import plan_figure
from widelimit.interfaces.proof_figures import proof_figure
from widelimit.interfaces.regime_figures import linearisation_figure, regimes_figure
from widelimit.interfaces.solution_figures import Content, solution_figure
from widelimit.interfaces.sweep_figures import sweep_figure
from widelimit.theory.approximation.maurey import Approximation
from widelimit.theory.fixed_points.minimise import Minimum
from widelimit.theory.fixed_points.two_geometries import TwoGeometries
from widelimit.theory.gap.coupling import Comparison
from widelimit.theory.gap.network_plan import NetworkPlan
from widelimit.theory.gap.proof_terms import ProofTerms
from widelimit.theory.gap.rates import Rates
from widelimit.theory.lazy.linearisation import Linearisation
from widelimit.theory.lazy.regime import Regimes
from widelimit.theory.learning.complexity import Complexity
from widelimit.theory.learning.learning_curves import LearningCurves
from widelimit.theory.learning.samples_to_overlap import OverlapSamples
from widelimit.theory.noise.gibbs import Gibbs

OWN: dict[type, Callable[[Any, Page], Figure]] = {
    Comparison: comparison_figure,
    Rates: rates_figure,
    ProofTerms: proof_figure,
    Regimes: regimes_figure,
    Linearisation: linearisation_figure,
    LearningCurves: learning_curves_figure,
    OverlapSamples: overlap_samples_figure,
    Complexity: complexity_figure,
    Approximation: approximation_figure,
    NetworkPlan: plan_figure,
    Minimum: minimum_figure,
    TwoGeometries: geometries_figure,
    Sweep: sweep_figure,
}


def figure(
    *records: Any,
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
                over ρ_t with its spread), "density"; by default the risk and the density
    coordinate  whose density to show (default: the last one they all have, a radius)
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
        if len(entries) == 1 and isinstance(entries[0][1], tuple(OWN)):
            return _own_figure(entries[0][1], content, page)
        laws = [record for _, record in entries if isinstance(record, Gibbs)]
        if not laws:
            return solution_figure(curves_of(entries, chosen.labels), content, page)
        require(len(laws) == 1, "a figure shows one Gibbs law", len(laws), "draw one figure for each")
        others = [(key, record) for key, record in entries if not isinstance(record, Gibbs)]
        _refuse({"show": show, "times": times, "log": chosen.log}, "with a Gibbs law")
        require_grid([record for _, record in others])
        return noise_figure(laws[0], curves_of(others, chosen.labels), coordinate, page)


def _own_figure(record: Any, content: Content, page: Page) -> Figure:
    """The figure of a record that is drawn alone."""
    given = {"show": content.show, "coordinate": content.coordinate, "times": content.times}
    _refuse({**given, "labels": page.look.labels, "log": page.look.log}, f"of {type(record).__name__.lower()}")
    return OWN[type(record)](record, page)


def _refuse(options: dict[str, Any], what: str) -> None:
    """Refuse options that a figure has no use for."""
    given = [name for name, value in options.items() if value is not None]
    require(not given, f"a figure {what} has no use for {', '.join(options)}", given, "leave them out")
