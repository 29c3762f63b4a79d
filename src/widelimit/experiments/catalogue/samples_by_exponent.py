"""Online SGD on one neuron finds a hidden direction from d, d log d or d^{s−1} samples.

    y = h_s(⟨e, x⟩),  x ~ N(0, I_d),      s the information exponent:  n ~ d (s = 1),  d log d (2),  d^{s−1} (s ≥ 3)

Reference: [agj21]; widelimit.theory.learning.samples_to_overlap.
"""

from __future__ import annotations

import numpy as np

from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter
from widelimit.experiments.catalogue.drawing import DrawnLine, Panel, measured, theory
from widelimit.theory.learning.online_sgd import OnlineSGD
from widelimit.theory.learning.samples_to_overlap import samples_to_overlap

NORMAL = 2 * 1.96  # widths of the 95 % interval of a normal law, in standard errors
LAWS = {1: (1.0, 0), 2: (1.0, 1), 3: (2.0, 0)}  # s: power of d, and of log d


def measure(asked: Asked) -> Outcome:
    """The power of d for s = 1, 2, 3; at s = 2 that beside log d."""
    dimensions = [int(d) for d in asked.numbers("d")]
    found: dict[str, Measurement] = {}
    lines: list[DrawnLine] = []
    for s, (power, logarithms) in LAWS.items():
        runs = samples_to_overlap(
            OnlineSGD(), f"h{s}(z)", dimensions, level=asked.number("overlap"), replicas=asked.count("replicas")
        )
        p = runs.power(logarithms)
        found[f"s{s}"] = Measurement(p.value, (p.high - p.low) / NORMAL)
        d, n = np.array(dimensions, float), runs.median
        law = d**power * np.log(d) ** logarithms
        word = {1: "$d$", 2: r"$d\,\log d$", 3: "$d^2$"}[s]
        lines += [theory(word, d, law * np.exp(np.mean(np.log(n / law))), s - 1),
                  measured(f"SGD, $s={s}$", d, n, s - 1)]  # fmt: skip
    panel = Panel(
        f"Samples to an overlap of {asked.number('overlap'):g}", "dimension $d$", "samples", tuple(lines), "xy"
    )
    return Outcome(found, (panel,))


REASON = "half way to the next power of d that theory has, 1 or 2, less what corrections at these d may take"
SAMPLES_BY_EXPONENT = CatalogueEntry(
    "agj21-samples", "agj21", "samples against d, by information exponent",
    (
        Parameter("d", (32.0, 64.0, 128.0, 256.0, 512.0), "chosen", quick=(32.0, 64.0, 128.0)),
        Parameter("overlap", 0.5, "chosen"), Parameter("replicas", 128, "chosen", quick=64),
    ),
    (
        Claim("s1", "s = 1: the samples grow like d.", "main theorem", 1.0, "recalled", "near", 0.4, REASON,
              "a power of 1/2 or 3/2"),
        Claim("s2", "s = 2: like d log d; the power of d beside log d.", "main theorem", 1.0, "recalled", "near", 0.4,
              REASON, "a power of 1/2 or 3/2"),
        Claim("s3", "s = 3: like d².", "main theorem", 2.0, "recalled", "near", 0.4, REASON, "a power of 3/2"),
    ),
    Seconds(15, 300), measure,
)  # fmt: skip
