"""Figures of what is learnt when, and from how many samples; drawn from results only.

learning curves   the risk over log t with its steps, and the squared distance to every component of the target
samples           median samples to an overlap over d with its quartiles, and the fitted power
"""

from __future__ import annotations

import math

import numpy as np
from matplotlib.figure import Figure

from widelimit.errors import require
from widelimit.interfaces.canvas import Page
from widelimit.interfaces.finishing import finish
from widelimit.interfaces.palette import COLOURS, LINES, shades
from widelimit.theory.learning.learning_curves import LearningCurves
from widelimit.theory.learning.samples_to_overlap import OverlapSamples


def learning_curves_figure(result: LearningCurves, page: Page) -> Figure:
    """Two panels: the risk and the levels it steps down to, and what is missing of every component of the target."""
    later = result.times > 0
    saves = int(later.sum())
    require(saves >= 2, "a figure needs learning curves with two or more saves after t = 0", saves, "save more times")
    panels, t = page.panels(("risk", "components"), 1.0), result.times[later]
    names = result.in_target
    colours = dict(zip(names, shades(len(names)), strict=True))
    panels[0].plot(t, result.dataset["risk"].values[later], color="black", label="risk")
    for i, step in enumerate(result.steps):
        word = "level of a step" if i == 0 else ""
        panels[0].hlines(step.level, step.start, step.end, color=colours[step.component], ls="--", label=word)
        for axes in panels:
            axes.axvline(step.start, color=colours[step.component], lw=0.8, ls=":")
    for i, name in enumerate(names):
        gap = result.dataset["gap"].sel(component=name).values[later]
        panels[1].plot(t, gap, color=colours[name], ls=LINES[i // len(COLOURS) % len(LINES)], label=written(name))
    panels[0].set(xscale="log", xlabel="time $t$", ylabel="risk $R$", title="Risk")
    missing = r"$(\hat y_\alpha-\hat f_\alpha)^2$"
    panels[1].set(xscale="log", xlabel="time $t$", ylabel=missing, title="What is missing of the target")
    for axes in panels:
        finish(axes)
    return page.finished(panels)


def written(component: str) -> str:
    """The name of a component in symbols: z1*z2 as z_1 z_2, h2(z1) as h_2(z_1)."""
    letters = "".join(c if c.isalpha() or c in "()*" else f"_{{{c}}}" for c in component)
    return f"${letters.replace('*', ' ')}$" if component != "1" else "constant"


def overlap_samples_figure(result: OverlapSamples, page: Page) -> Figure:
    """One panel: medians with quartiles over d, the fitted power and that of theory."""
    (axes,) = page.panels(("samples",), 1.0)
    d, n = result.dimensions.astype(float), result.median
    good = bool(np.isfinite(n).all())
    require(good, "a figure needs a median at every dimension", f"{result!r}", "ask for a lower level")
    low, high = (np.quantile(result.samples, q, axis=1, method="lower") for q in (0.25, 0.75))
    bars = np.stack([n - low, np.where(np.isfinite(high), high - n, 0.0)])
    axes.errorbar(d, n, bars, color=COLOURS[0], marker="o", ls="none", capsize=3, label="median and quartiles")
    p, (power, logarithms) = result.exponent.value, result.theory
    laws = {f"fit, $d^{{{p:.2f}}}$": d**p, _law(power, logarithms): d**power * np.log(d) ** logarithms}
    for line, (label, curve) in zip("-:", laws.items(), strict=True):
        axes.plot(d, curve * math.exp(float(np.mean(np.log(n / curve)))), color="black", ls=line, label=label)
    axes.set(xscale="log", yscale="log", xlabel="dimension $d$", ylabel="samples",
             title=f"{type(result.learner).__name__}: samples to an overlap of {result.level:g}")  # fmt: skip
    finish(axes)
    return page.finished([axes])


def _law(power: float, logarithms: int) -> str:
    """A power of d in symbols."""
    return "theory, $d" + (f"^{{{power:g}}}" if power != 1 else "") + r"\,\log d" * logarithms + "$"
