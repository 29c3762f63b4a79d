"""Filtered principal components find a hidden direction from O(d) samples, whatever the information exponent.

    M = (1/n) Σ 1{|y| > τ}(x xᵀ − I),    y = h_s(⟨e, x⟩),   x ~ N(0, I_d):     n ~ d for s = 3 and s = 4

where online SGD needs d^{s−1} (entry agj21-samples). Reference: [cm20]; widelimit.theory.learning.filtered_pca.
"""

from __future__ import annotations

import numpy as np

from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter
from widelimit.experiments.catalogue.drawing import DrawnLine, Panel, measured, theory
from widelimit.experiments.catalogue.samples_by_exponent import NORMAL
from widelimit.theory.learning.filtered_pca import FilteredPCA
from widelimit.theory.learning.samples_to_overlap import samples_to_overlap

EXPONENTS = (3, 4)


def measure(asked: Asked) -> Outcome:
    """The power of d for each exponent."""
    dimensions = [int(d) for d in asked.numbers("d")]
    found: dict[str, Measurement] = {}
    lines: list[DrawnLine] = []
    for colour, s in enumerate(EXPONENTS):
        runs = samples_to_overlap(
            FilteredPCA(), f"h{s}(z)", dimensions, level=asked.number("overlap"), replicas=asked.count("replicas")
        )
        p = runs.power(0)
        found[f"s{s}"] = Measurement(p.value, (p.high - p.low) / NORMAL)
        d, n = np.array(dimensions, float), runs.median
        lines += [theory("$d$" if colour == 0 else "", d, d * np.exp(np.mean(np.log(n / d))), colour),
                  measured(f"filtered PCA, $s={s}$", d, n, colour)]  # fmt: skip
    panel = Panel(
        f"Samples to an overlap of {asked.number('overlap'):g}", "dimension $d$", "samples", tuple(lines), "xy"
    )
    return Outcome(found, (panel,))


def _linear(s: int) -> Claim:
    return Claim(f"s{s}", f"s = {s}: the samples grow like d; the power of d.", "main theorem", 1.0, "recalled", "near",
                 0.3, f"less than a third of the way to the power {s - 1} of online SGD",
                 f"d^{s - 1}, or d^{{{s}/2}}")  # fmt: skip


FILTERED_COMPONENTS = CatalogueEntry(
    "cm20-filtered-pca", "cm20", "filtered principal components need O(d) samples, whatever the exponent",
    (
        Parameter("d", (32.0, 64.0, 128.0, 256.0), "chosen", quick=(16.0, 32.0, 64.0)),
        Parameter("overlap", 0.5, "chosen"), Parameter("replicas", 64, "chosen", quick=32),
    ),
    tuple(map(_linear, EXPONENTS)), Seconds(5, 120), measure,
)  # fmt: skip
