"""Figures of lazy training, drawn from verdicts and linearisations only.

regimes         what the linearised network misses and how far the kernel moved, over α or N, and the rule
linearisation   both risks; |θ − θ_0|, |θ − θ̄| and ‖f − f̄‖ over time
"""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from widelimit.errors import require
from widelimit.interfaces.canvas import Page
from widelimit.interfaces.finishing import finish
from widelimit.interfaces.palette import COLOURS, SYMBOLS
from widelimit.theory.lazy.linearisation import Linearisation
from widelimit.theory.lazy.regime import Regimes
from widelimit.theory.lazy.verdict import FEATURES, LAZY

VARIABLES = {"n": r"width $N$", "alpha": r"scale $\alpha$"}
PANELS = {
    "missed": r"missed: $\|f_T-\bar f_T\|\,/\,\|f_T-f_0\|$",
    "moved": r"kernel moved: $\|K_T-K_0\|\,/\,\|K_0\|$",
    "parameters": r"$|\theta_T-\theta_0|\,/\,|\theta_0|$",
}


def regimes_figure(result: Regimes, page: Page) -> Figure:
    """A panel for each quantity; the two lines of the rule, and the noise floor of the kernel."""
    count = min(len(rows) for rows in result.found.values())
    require(count >= 2, f"a figure over {result.over} needs two verdicts or more", count, "give more values")
    panels = page.panels(tuple(PANELS), 0.92)
    for axes, (quantity, label) in zip(panels, PANELS.items(), strict=True):
        for i, line in enumerate(result.found):
            x, values = result.values(line, quantity)
            axes.plot(x, values, color=COLOURS[i], marker=SYMBOLS[i], mfc="none", mew=1.4, label=line)
        axes.set(xscale="log", yscale="log", xlabel=VARIABLES[result.over], title=label)
    _draw_rule(panels[0])
    _draw_rule(panels[1])
    for i, (line, rows) in enumerate(result.found.items()):
        floor = [row.floor["moved"] for row in rows]
        seeds = "between two seeds" if i == len(result.found) - 1 else None
        panels[1].plot(result.values(line, "moved")[0], floor, color=COLOURS[i], ls=":", lw=1.0, label=seeds)
    for axes in panels:
        finish(axes)
    return page.finished(panels)


def _draw_rule(axes: Axes) -> None:
    """The two thresholds of the verdict."""
    for level, word in ((LAZY, "lazy below"), (FEATURES, "feature learning above")):
        axes.axhline(level, color="0.6", lw=0.8, ls="--")
        axes.annotate(word, (1, level), xycoords=("axes fraction", "data"), xytext=(-3, 2), color="0.4", ha="right",
                      textcoords="offset points", fontsize="x-small")  # fmt: skip


def linearisation_figure(result: Linearisation, page: Page) -> Figure:
    """Two panels: the risks, and the distances between the network and its tangent model."""
    require(len(result.times) >= 2, "a figure needs a linearisation with something saved", result, "save more times")
    panels, data = page.panels(("risk", "distances"), 0.92), result.dataset
    mean = data.mean("replica") if "replica" in data.dims else data
    for i, (name, label) in enumerate((("risk", "network"), ("tangent_risk", "linearised at its start"))):
        panels[0].plot(result.times, mean[name], color=COLOURS[i], ls="-" if i == 0 else "--", label=label)
    panels[0].set(xlabel="time $t$", ylabel="risk $R$", title="Risk")
    words = {"moved": r"$|\theta-\theta^0|$", "apart": r"$|\theta-\bar\theta|$", "missed": r"$\|f-\bar f\|$"}
    for i, (name, label) in enumerate(words.items()):
        panels[1].plot(result.times[1:], mean[name][1:], color=COLOURS[i + 2], label=label)
    panels[1].set(xlabel="time $t$", yscale="log", title="How far apart")
    for axes in panels:
        finish(axes)
    return page.finished(panels)
