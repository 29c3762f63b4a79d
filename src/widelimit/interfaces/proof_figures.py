"""The figure of the terms of the proof, drawn from them only.

terms      E_1, E_2 and E_3 with its two parts over time, the largest of all neurons, beside the true distance
envelope   the distance, the sum of the terms, and Grönwall with the constants of the run and with one constant
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from widelimit.errors import require
from widelimit.interfaces.canvas import Page
from widelimit.interfaces.finishing import finish
from widelimit.interfaces.palette import COLOURS
from widelimit.theory.gap.proof_terms import ProofTerms

SMALLEST = 1e-8  # share of the largest term below which nothing is shown
TIME = r"time $t = k\varepsilon$"
WORDS = {
    "E1": ("$E_1$: time and schedule", "-"), "E2": (r"$E_2$: Lipschitz in $\theta$", "-"),
    "E3": ("$E_3$: samples and width", "-"), "martingale": ("its martingale part", ":"),
    "sampling": ("its sampling part", "--"),
}  # fmt: skip
SHADES = {"E1": COLOURS[0], "E2": COLOURS[1], "E3": COLOURS[2], "martingale": COLOURS[2], "sampling": COLOURS[2]}


def proof_figure(result: ProofTerms, page: Page) -> Figure:
    """Two panels: the terms beside the distance, and what the envelopes make of them."""
    times = result.times
    require(len(times) >= 3, "a figure needs two saves after the start or more", len(times), "save more times")
    panels = page.panels(("terms", "envelopes"), 1.0)
    for name, (word, line) in WORDS.items():
        panels[0].plot(times[1:], result.term(name)[1:].max(axis=1), line, color=SHADES[name], label=word)
    sums = np.maximum.accumulate(result.total.max(axis=1))
    lines = (
        (sums, COLOURS[4], "-", r"$E_1+E_2+E_3$"),
        (result.envelope, COLOURS[3], "--", "Grönwall, constants of the run"),
        (result.worst_envelope, COLOURS[5], "-.", "Grönwall, one constant"),
    )
    for values, colour, line, word in lines:
        panels[1].plot(times[1:], values[1:], line, color=colour, label=word)
    for axes in panels:
        axes.plot(times[1:], result.delta[1:], color="black", label=r"true distance $\Delta(t)$")
        axes.set(xlabel=TIME, yscale="log")
        finish(axes)
    low, high = panels[0].get_ylim()
    panels[0].set_ylim(max(low, SMALLEST * high), high)  # a term that is only rounding is left out
    panels[0].set(ylabel=r"largest over the neurons", title="Terms of the proof")
    lossiest = max(result.losses, key=result.losses.__getitem__)
    panels[1].set(title=rf"Most lost: {lossiest}, $\times$ {result.losses[lossiest]:.3g}")
    if page.look.title is None and page.given is None:
        about = result.dataset.attrs
        panels[0].figure.suptitle(rf"$N$ = {about['n']}, $\varepsilon$ = {about['step']:g}")
    return page.finished(panels)
