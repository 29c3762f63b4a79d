"""Does the start see every neuron? What Chizat and Bach ask of ρ_0 so that the flow can only end at the best network.

    2-homogeneous     σ*(x; cθ) = c² σ*(x; θ), c > 0:   a σ(⟨w, x⟩ + b) with σ(cz) = c σ(z), such as ReLU
                      supp ρ_0 is bounded, and separates a sphere |θ| = r_1 from a larger one |θ| = r_2
    1-homogeneous     in a alone:   a σ(⟨w, x⟩ + b) with σ bounded, such as tanh
                      a is bounded on supp ρ_0, which separates {a = −r} from {a = r}

A set separates two others if every path from one to the other meets it. Then: if the flow has a limit, the limit is a
global minimum. For the laws of `wl.initial` this is decided coordinate by coordinate, for supp ρ_0 is a product:

    2-homogeneous     ⇔  w has a density on R^d, and 0 lies inside the supports of a and of b: some ball is covered
                         (else a path goes out with that coordinate at a value, or w at the origin, that no neuron has)
    1-homogeneous     ⇔  w and b have full support; a may have any law (else a path slips past some (b, w))

Finitely many neurons never separate. A theorem about limits: it says nothing on whether one exists, nor how fast.
Reference: [cb18] theorems 3.3 and 3.5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from widelimit.arguments import instance_of
from widelimit.problem.data.data_law import require_finite
from widelimit.problem.initial import Explicit, Gaussian, Paired
from widelimit.problem.neurons import Ridge
from widelimit.problem.problem import Problem
from widelimit.problem.regularisers import Squares
from widelimit.problem.scalar_starts import EitherSign, Normal, ScalarLaw, Uniform

Intervals = list[tuple[float, float]]
PROBES = np.array([-7.0, -1.0, -0.3, 0.2, 1.0, 5.0])
FAR = 1e4


@dataclass(frozen=True)
class InitialSupport:
    """Whether the support of ρ_0 is what the theorem asks for.

    case       "2-homogeneous", "1-homogeneous", or "not covered" where the theorem has no word on such neurons
    separates  whether supp ρ_0 separates; None if not covered
    bounded    whether the part of it that must be bounded is; None if not covered
    reason     why, in a sentence

    >>> InitialSupport("1-homogeneous", True, True, "w has a density everywhere").covered
    True
    """

    case: str
    separates: bool | None
    bounded: bool | None
    reason: str

    @property
    def covered(self) -> bool:
        """Whether the theorem applies: a limit of the flow is then a global minimum."""
        return bool(self.separates and self.bounded)

    def __str__(self) -> str:
        word = "applies" if self.covered else "does not apply"
        return f"the global convergence theorem {word} ({self.case}): {self.reason}."


def initial_support(problem: Problem) -> InitialSupport:
    """Whether ρ_0 separates, so that the flow can only end at the best network.

    >>> import widelimit as wl
    >>> data, neuron = wl.data.single_index(5, "z"), wl.neurons.ridge("relu", "trained")
    >>> full = wl.Problem(data, neuron, wl.initial.gaussian(1.0, a=wl.initial.uniform(-1.0, 1.0)))
    >>> two_sided = wl.Problem(data, neuron, wl.initial.gaussian(1.0, a=wl.initial.signs()))
    >>> wl.initial_support(full).separates, wl.initial_support(two_sided).separates
    (True, False)
    """
    instance_of(Problem, problem, "initial_support", "build one first")
    require_finite(problem.data.d, "the support of a start")
    case, why_not = _case(problem)
    if case == "not covered":
        return InitialSupport(case, None, None, why_not)
    law = problem.initial
    if isinstance(law, Explicit):
        reason = f"{len(law.theta)} neurons are finitely many points, and a path finds its way between them"
        return InitialSupport(case, False, True, reason)
    inner = law.start if isinstance(law, Paired) else law
    on_sphere = problem.neuron.inner == "sphere"
    fills = isinstance(inner, Gaussian) or on_sphere
    spread = {name: supports(problem.start_of(name)) for name in problem.neuron.scalars}
    if case == "2-homogeneous":
        return _homogeneous(spread, fills)
    a = spread.pop("a")
    bounded = all(math.isfinite(end) for piece in a for end in piece)
    gaps = ["w stays on a sphere"] * (not fills)
    gaps += [
        f"{name} does not start everywhere" for name, pieces in spread.items() if pieces != [(-math.inf, math.inf)]
    ]
    tail = "" if bounded else "; the theorem asks for a bounded law of a, though"
    reason = "; ".join(gaps) if gaps else f"{'w and b start' if spread else 'w starts'} everywhere{tail}"
    return InitialSupport(case, not gaps, bounded, reason)


def _homogeneous(spread: dict[str, Intervals], fills: bool) -> InitialSupport:
    """The case of ReLU: a ball around the origin must be covered."""
    gaps = ["w = 0 has no neuron near it, and a path goes out along a"] * (not fills)
    gaps += [
        f"0 is not inside the support of {name}, and a path goes out with {name} beside it"
        for name, pieces in spread.items()
        if not any(low < 0 < high for low, high in pieces)
    ]
    ends = [abs(end) for pieces in spread.values() for piece in pieces for end in piece]
    bounded = not fills and all(math.isfinite(end) for end in ends)
    tail = "" if bounded else "; the theorem asks for a bounded support, though: a Gaussian has tails"
    return InitialSupport(
        "2-homogeneous", not gaps, bounded, "; ".join(gaps) if gaps else f"a ball around the origin is covered{tail}"
    )


def supports(law: ScalarLaw) -> Intervals:
    """The support of a scalar law as intervals, single points among them."""
    if isinstance(law, Normal):
        return [(-math.inf, math.inf)]
    if isinstance(law, Uniform):
        return [(law.low, law.high)]
    if isinstance(law, EitherSign):
        own = supports(law.law)
        return _joined([*own, *((-high, -low) for low, high in own)])
    atoms = law.factor().atoms
    assert atoms is not None  # constants and signs
    return [(value, value) for (value,), _ in atoms]


def _joined(pieces: Intervals) -> Intervals:
    """Intervals that overlap or touch as one."""
    found: Intervals = []
    for low, high in sorted(pieces):
        if found and low <= found[-1][1]:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return found


def _case(problem: Problem) -> tuple[str, str]:
    """Which theorem may speak, or why none does."""
    neuron, none = problem.neuron, "not covered"
    if not isinstance(neuron, Ridge):
        return none, "the theorem is about homogeneous neurons, and a custom one may be anything"
    moving = dict(zip(neuron.scalars, neuron.trained, strict=True))
    if not moving.get("a", False) or problem.mobility.a == 0:
        return none, "without a trained outer weight a the neuron is not homogeneous in its parameters"
    if not moving.get("b", True):
        return none, "b is drawn and never moves"
    if problem.ridge and not isinstance(problem.regulariser, Squares):
        return none, "the regulariser is not a sum of squares"
    values, double, far = (np.asarray(neuron.sigma(jnp.asarray(x))) for x in (PROBES, 2 * PROBES, FAR * PROBES))
    if np.allclose(double, 2 * values, rtol=1e-9, atol=1e-12) and neuron.inner == "free":
        return "2-homogeneous", ""
    in_a_ball = neuron.inner == "sphere" and "b" not in neuron.scalars
    if np.abs(far).max() > 100 * (1 + np.abs(values).max()) and not in_a_ball:
        return none, "σ is neither bounded nor homogeneous"
    if problem.ridge:
        return none, "σ* is homogeneous of degree 1 in a, and the ridge of degree 2"
    return "1-homogeneous", ""
