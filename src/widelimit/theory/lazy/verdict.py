"""The verdict on a trained network: lazy, intermediate, or feature learning.

    missed = ‖f_T − f̄_T‖ / ‖f_T − f_0‖,   f̄_T = f_0 + Df(θ_0)(θ_T − θ_0)    what a network linearised at θ_0 misses
    moved  = ‖K_T − K_0‖ / ‖K_0‖                                             how far its tangent kernel went

    f_0, f_T   outputs before and after training, on the same inputs
    K_0, K_T   tangent kernels on the same inputs, Frobenius norm

Rule: lazy if neither exceeds LAZY, feature learning if one of them exceeds FEATURES, intermediate in between. Both
numbers are 0 in the lazy limit and of order 1 where features are learned. The noise floor of ``moved`` is the same
number between two networks before training, of different seeds: it falls like N^{−1/2}, and says whether the kernel of
this width is that of the limit, not whether it moved.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from widelimit.errors import require

LAZY, FEATURES = 0.1, 0.4
RULE = f"lazy if missed and moved are both at most {LAZY}, feature learning if one exceeds {FEATURES}"


@dataclass(frozen=True)
class Verdict:
    """What was measured on a network before and after training, and what it says.

    missed      share of the change of the outputs that the linearised network misses
    moved       relative change of the tangent kernel
    turned      1 − cosine of the two kernels as matrices
    parameters  |θ_T − θ_0| / |θ_0|
    aligned     how much more of the kernel points along the labels (or the change of the outputs) than before
    floor       what ``moved`` is between two networks before training, of different seeds; None if there is only one

    >>> Verdict(missed=0.02, moved=0.05, turned=0.0, parameters=0.1, aligned=0.01).word
    'lazy'
    """

    missed: float
    moved: float
    turned: float
    parameters: float
    aligned: float
    floor: float | None = None

    @property
    def word(self) -> str:
        """ "lazy", "intermediate" or "feature learning"."""
        worst = max(self.missed, self.moved)
        return "lazy" if worst <= LAZY else "feature learning" if worst > FEATURES else "intermediate"

    @property
    def sentence(self) -> str:
        """The verdict with its reasons."""
        floor = "" if self.floor is None else f"; between two seeds it differs by {self.floor:.2g}"
        return (
            f"{self.word}: the network linearised at its start misses {self.missed:.2g} of what was learned, and its "
            f"kernel moved by {self.moved:.2g} ({RULE}{floor})."
        )

    def document(self) -> dict[str, float | str | None]:
        """The numbers and the verdict by name."""
        return {**asdict(self), "verdict": self.word, "sentence": self.sentence}

    def __str__(self) -> str:
        return self.sentence


def kernel_moves(before: np.ndarray, after: np.ndarray) -> tuple[float, float]:
    """‖K_T − K_0‖/‖K_0‖, and 1 − ⟨K_0, K_T⟩/(‖K_0‖ ‖K_T‖)."""
    size, later = (float(np.linalg.norm(kernel)) for kernel in (before, after))
    require(size > 0, "a tangent kernel must not vanish", "one that is 0 on all inputs", "use other inputs")
    cosine = float((before * after).sum() / (size * later)) if later > 0 else 0.0
    return float(np.linalg.norm(after - before) / size), 1 - min(cosine, 1.0)


def alignment(kernel: np.ndarray, labels: np.ndarray) -> float:
    """⟨K, y yᵀ⟩/(‖K‖ ‖y yᵀ‖), the cosine of a kernel with labels, (n,) or (n, outputs), centred here if they vary."""
    y = labels.reshape(len(labels), -1)
    y = np.where(np.ptp(y, axis=0) > 0, y - y.mean(axis=0), y)
    size = float(np.linalg.norm(kernel) * np.linalg.norm(y.T @ y))
    return float((y * (kernel @ y)).sum()) / size if size > 0 else 0.0


def share_missed(before: np.ndarray, after: np.ndarray, linearised: np.ndarray) -> float:
    """‖f_T − f̄_T‖/‖f_T − f_0‖; 0 where nothing was learned."""
    change = float(np.linalg.norm(after - before))
    return float(np.linalg.norm(after - linearised)) / change if change > 0 else 0.0
