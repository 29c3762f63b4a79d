"""The figure of an approximation: Δ²/N, and the risks of sampled, trained and best networks beside it."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from widelimit.interfaces.canvas import Page
from widelimit.interfaces.finishing import finish
from widelimit.interfaces.palette import COLOURS, SYMBOLS
from widelimit.theory.approximation.maurey import Approximation


def approximation_figure(result: Approximation, page: Page) -> Figure:
    """One panel over the width, both axes logarithmic."""
    (axes,) = page.panels(("risk",), 1.2)
    widths = np.array(sorted({*result.widths.tolist(), *result.trained_widths.tolist()}))
    axes.plot(widths, result.barron.delta.value**2 / widths, color="0.4", ls="--", label=r"bound $\Delta^2/N$")
    axes.errorbar(result.widths, result.means, 2 * result.errors, color=COLOURS[0], marker=SYMBOLS[0], mfc="none",
                  label=f"sampled, mean of {len(result.risks)} draws")  # fmt: skip
    if len(result.trained_widths):
        axes.plot(result.trained_widths, result.trained_risks, color=COLOURS[1], marker=SYMBOLS[1], mfc="none",
                  label="trained, best of three starts")  # fmt: skip
        axes.plot(result.trained_widths, result.best_risks, color=COLOURS[2], marker=SYMBOLS[2], mfc="none",
                  label=r"best found, $|a| \leq \Delta$")  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel=r"width $N$", ylabel=r"risk on $|x| \leq r$",
             title=rf"$\Delta = {result.barron.delta.value:.3g}$, slope {result.slope:.2f}")  # fmt: skip
    finish(axes)
    return page.finished([axes])
