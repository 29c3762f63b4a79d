"""Figure of a plan, drawn from it alone: the gaps of the fresh runs over time, inside the tolerance or not."""

from __future__ import annotations

from matplotlib.figure import Figure

from widelimit.interfaces.canvas import Page
from widelimit.interfaces.finishing import finish
from widelimit.interfaces.palette import COLOURS
from widelimit.theory.gap.network_plan import NetworkPlan


def plan_figure(found: NetworkPlan, page: Page) -> Figure:
    """One panel: R_N − R of every fresh run, and the band of the tolerance."""
    (axes,) = page.panels(("gap",), 0.92)
    inside = found.largest <= found.tolerance
    told = {True: f"inside: {inside.sum()} of {len(inside)} fresh runs", False: f"outside: {(~inside).sum()}"}
    for gaps, good in zip(found.gaps, inside, strict=True):
        label = told.pop(bool(good), None)
        axes.plot(found.times, gaps, color=COLOURS[0 if good else 1], lw=0.8, alpha=0.6 if good else 1.0, label=label)
    axes.axhspan(-found.tolerance, found.tolerance, color="0.92", zorder=0, label=f"± {found.tolerance:g}")
    title = rf"$N$ = {found.n}, $\varepsilon$ = {found.step:.3g}: the {found.dominates} dominates"
    axes.set(xlabel=r"time $t = k\varepsilon$", ylabel="$R_N - R$", title=title)
    axes.margins(x=0)
    finish(axes)
    return page.finished((axes,))
