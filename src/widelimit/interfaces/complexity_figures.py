"""The figure of a complexity: coefficients by degree, and the staircase drawn as steps."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from widelimit.interfaces.canvas import Page
from widelimit.interfaces.finishing import finish
from widelimit.interfaces.palette import COLOURS
from widelimit.theory.learning.complexity import Complexity
from widelimit.theory.learning.leap import Leap
from widelimit.theory.learning.spectrum import Spectrum

NAMED = 16  # coefficients or steps that have their names written beside them
SPREAD = 0.6  # of the coefficients of one degree


def complexity_figure(result: Complexity, page: Page) -> Figure:
    """The spectrum, and beside it the staircase where there is one."""
    staircase = result.staircase if result.staircase is not None and result.staircase.steps else None
    panels = page.panels(("spectrum", "staircase")[: 1 + (staircase is not None)], 1.1)
    _draw_degrees(panels[0], result)
    if staircase is not None:
        _draw_steps(panels[1], staircase)
    for axes in panels:
        finish(axes)
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    if staircase is not None:
        panels[1].yaxis.set_major_locator(MaxNLocator(6, integer=True))
    return page.finished(panels)


def _draw_degrees(axes: Axes, result: Complexity) -> None:
    """What f has of each degree as bars, and every coefficient as a point."""
    norms = [n.value for n in result.spectrum.degree_norms]
    axes.bar(range(len(norms)), norms, width=0.8, color=COLOURS[5], alpha=0.45, label=r"$\|P_\ell f\|^2$")
    found = result.spectrum.nonzero if isinstance(result.spectrum, Spectrum) else {}
    points = []
    for degree in {sum(index) for index in found}:
        own = [index for index in found if sum(index) == degree]
        for place, index in enumerate(own):
            points.append((degree + SPREAD * ((place + 0.5) / len(own) - 0.5), found[index].value ** 2))
            if len(found) <= NAMED:
                word = result.spectrum.word(index)  # type: ignore[union-attr]
                axes.annotate(word, points[-1], xytext=(0, 4), textcoords="offset points", ha="center",
                              fontsize="x-small", color="0.3")  # fmt: skip
    if points:
        axes.plot(*zip(*points, strict=True), "o", color=COLOURS[0], ms=4, label=r"$\hat f_\alpha^2$")
    axes.set(
        xlabel=r"degree $\ell$", title="What the target has of each degree", ylim=(0, 1.15 * max([*norms, 1e-300]))
    )


def _draw_steps(axes: Axes, staircase: Leap) -> None:
    """How many variables are known after each monomial; a long step stands out."""
    known = [0]
    for place, step in enumerate(staircase.steps):
        known.append(known[-1] + len(step.new))
        long = step.length == staircase.leap > 1
        if len(staircase.steps) <= NAMED:
            axes.annotate(staircase.word(step.at), (place + 0.5, known[-1]), xytext=(0, 3), ha="center",
                          textcoords="offset points", fontsize="x-small", color="0.3")  # fmt: skip
        if long:
            axes.plot([place, place, place + 1], [known[-2], known[-1], known[-1]], color=COLOURS[1], zorder=3)
            axes.annotate(f"+{step.length}", (place, (known[-2] + known[-1]) / 2), xytext=(-3, 0), ha="right",
                          textcoords="offset points", fontsize="small", color=COLOURS[1])  # fmt: skip
    axes.plot(range(len(known)), known, color=COLOURS[0], drawstyle="steps-pre")
    axes.set(xlabel="monomials, in the order in which they can be learnt", ylabel="variables known",
             title=f"Staircase: leap {staircase.leap}", ylim=(-0.1, known[-1] + 0.6))  # fmt: skip
