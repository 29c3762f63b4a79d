"""Figures of the best network of any width, drawn from what was found only.

two geometries   R along mixtures and along the displacement from one network to another
minimum          value and gap of every round
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from widelimit.interfaces.canvas import Page
from widelimit.interfaces.finishing import TICKS, finish
from widelimit.interfaces.palette import COLOURS, SYMBOLS
from widelimit.theory.fixed_points.minimise import Minimum
from widelimit.theory.fixed_points.two_geometries import TwoGeometries


def geometries_figure(result: TwoGeometries, page: Page) -> Figure:
    """One panel: the parabola of the mixtures, and the way along which neurons move."""
    (axes,) = page.panels(("risk",), 1.1)
    axes.plot(result.s, result.mixture, color=COLOURS[0], label=r"mixture $(1-s)\rho+s\rho'$: convex")
    axes.plot(result.s, result.displacement, color=COLOURS[1], label=r"displacement: neurons move")
    axes.plot(result.s[[0, -1]], result.displacement[[0, -1]], "o", color="0.3", ms=5)
    axes.set(xlabel=r"$s$: from $\rho$ to $\rho'$", ylabel="risk $R$", xlim=(-0.02, 1.02))
    axes.set_title("Risk between two networks")
    finish(axes)
    return page.finished([axes])


def minimum_figure(result: Minimum, page: Page) -> Figure:
    """One panel: the gap of every round, and the value above its last lower bound."""
    (axes,) = page.panels(("gap",), 1.0)
    rounds = np.arange(1, len(result.history) + 1)
    gaps = np.maximum([one.gap for one in result.history], 1e-300)
    above = np.array([one.value for one in result.history]) - result.certificate.lower
    axes.plot(rounds, gaps, color=COLOURS[0], marker=SYMBOLS[0], mfc="none", label="certificate")
    axes.plot(rounds, np.maximum(above, 1e-300), color=COLOURS[1], marker=SYMBOLS[1], mfc="none", ls="--",
              label="above the last lower bound")  # fmt: skip
    objective = result.certificate.objective
    axes.set(xlabel="round", yscale="log", ylabel=rf"${objective}-\inf {objective}$", title="How far from the best")
    finish(axes)
    axes.xaxis.set_major_locator(MaxNLocator(TICKS, integer=True))
    return page.finished([axes])
