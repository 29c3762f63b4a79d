"""Is a network lazy, or does it learn features? A verdict from one training run.

    before and after training, on the same inputs:
        missed      ‖f_T − f̄_T‖/‖f_T − f_0‖        the network linearised at θ_0, taken along θ_T − θ_0
        kernel      ‖K_T − K_0‖/‖K_0‖, 1 − cosine, alignment with the labels, effective rank
        features    ‖G_T − G_0‖/‖G_0‖,  G = (1/N) Σ_i σ(⟨w_i, x⟩ + b_i) σ(⟨w_i, x'⟩ + b_i)
        parameters  |θ_T − θ_0|/|θ_0|
        risk        R(f_T) − R(f̄_T), the tangent model trained by itself on the same samples
        κ           relative scale, widelimit.theory.lazy.relative_scale

Kernel and features stand beside their noise floor, the same number between two networks of different seeds before
training. The rule of the verdict is that of widelimit.theory.lazy.verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypedDict, Unpack

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.arguments import instance_of, numbers_of
from widelimit.errors import is_whole, require, require_count, require_keywords
from widelimit.potentials.sample_landscape import neuron_values
from widelimit.problem.data import Empirical
from widelimit.problem.neurons import Ridge
from widelimit.problem.problem import Problem
from widelimit.solving.streams import stream
from widelimit.theory.lazy.linearisation import Linearisation, linearise
from widelimit.theory.lazy.ntk import Kernel, ntk
from widelimit.theory.lazy.relative_scale import RelativeScale, relative_scale
from widelimit.theory.lazy.verdict import RULE, Verdict, alignment, kernel_moves, share_missed

INPUTS = 128


class RegimeOptions(TypedDict, total=False):
    """What may be asked of a verdict by keyword, see `regime`."""

    step: float | None
    seed: int
    inputs: int
    progress: bool | None


@dataclass(frozen=True, eq=False)
class Regime:
    """The verdict on a network, with its evidence.

    n, alpha        width and scale
    verdict         the numbers of the rule
    features        relative change of the features
    ranks           effective rank (tr K)²/tr K² of the kernel before and after
    floor           noise floors: "moved" of the kernel and "features", between two seeds
    risk            of the network at the end
    tangent_risk    of the tangent model trained on the same samples
    kappa           relative scale at the start
    training        both runs

    >>> import widelimit as wl
    >>> start = wl.initial.paired(wl.initial.gaussian(1.0, a=wl.initial.signs()))
    >>> neuron = wl.neurons.ridge("tanh", "trained")
    >>> problem = wl.Problem(wl.data.single_index(4, "z"), neuron, start, alpha=200.0)
    >>> wl.regime(problem, n=10, t_end=0.1, step=0.01, inputs=16).word
    'lazy'
    """

    n: int
    alpha: float
    verdict: Verdict
    features: float
    ranks: tuple[float, float]
    floor: dict[str, float]
    risk: float
    tangent_risk: float
    kappa: RelativeScale
    training: Linearisation

    @property
    def word(self) -> str:
        """ "lazy", "intermediate" or "feature learning"."""
        return self.verdict.word

    def table(self) -> list[dict[str, float | str | None]]:
        """What was measured, each beside its noise floor where it has one."""
        v, floor = self.verdict, self.floor
        rows = [
            ("missed by the linearised network", v.missed, None),
            ("kernel moved", v.moved, floor["moved"]),
            ("kernel turned", v.turned, None),
            ("kernel aligned with the labels", v.aligned, None),
            ("effective rank of the kernel before", self.ranks[0], None),
            ("effective rank of the kernel after", self.ranks[1], None),
            ("features moved", self.features, floor["features"]),
            ("parameters moved", v.parameters, None),
            ("risk", self.risk, None),
            ("risk of the tangent model", self.tangent_risk, None),
            ("relative scale κ" + ("" if self.kappa.bend > 0 else ", kinks not counted"), self.kappa.kappa, None),
        ]
        return [{"quantity": name, "value": value, "floor": low} for name, value, low in rows]

    def document(self) -> dict[str, object]:
        """Everything by name."""
        return {
            "n": self.n, "alpha": self.alpha, "verdict": self.word, "sentence": self.verdict.sentence, "rule": RULE,
            "table": self.table(), "kappa_error": self.kappa.error,
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"<Regime: n = {self.n}, α = {self.alpha:g}: {self.verdict.sentence}>"


def regime(problem: Problem, n: int, t_end: float, **options: Unpack[RegimeOptions]) -> Regime:
    """Train a network beside the same network linearised at its start, and say which regime it is in.

    n          number of neurons
    t_end      how long to train

    and by keyword

    step       ε of SGD; gradient flows if left out
    seed       of every random stream (0)
    inputs     how many inputs of the data law the outputs and kernels are compared on (128)
    progress   a bar on stderr; by default if it is a terminal

    >>> import widelimit as wl
    >>> start = wl.initial.paired(wl.initial.gaussian(1.0, a=wl.initial.signs()))
    >>> problem = wl.Problem(wl.data.single_index(4, "z"), wl.neurons.ridge("tanh", "trained"), start, alpha="lazy")
    >>> wl.regime(problem, n=10, t_end=0.1, step=0.01, inputs=16).alpha  # √10
    3.1622776601683795
    """
    instance_of(Problem, problem, "regime", "build one first")
    require_count("n", n, "200")
    require_keywords(options, RegimeOptions.__annotations__)
    seed, count = options.get("seed", 0), options.get("inputs", INPUTS)
    require_count("inputs", count, "128")
    require(count > 1, "a kernel needs two inputs or more", count, "try inputs=128")
    network = problem.at_width(n)
    both = linearise(network, n, t_end, step=options.get("step"), coordinates="full", seed=seed, save=2,
                     progress=options.get("progress"))  # fmt: skip
    theta = both.network.dataset["theta"].values
    seen = _Seen.of(network, count, seed)
    other = np.asarray(network.sample_initial(stream(seed + 1, "initial"), n))
    of_each = [seen.kernel(rows) for rows in (theta[0], theta[-1], other)]
    kernels, ranks = [k.matrix for k in of_each], (of_each[0].effective_rank, of_each[1].effective_rank)
    grams = [seen.features(rows) for rows in (theta[0], theta[-1], other)]
    (moved, turned), between = kernel_moves(*kernels[:2]), kernel_moves(kernels[0], kernels[2])[0]
    outputs = seen.outputs(theta[0], theta[-1])
    verdict = Verdict(
        share_missed(*outputs), moved, turned,
        float(np.linalg.norm(theta[-1] - theta[0]) / np.linalg.norm(theta[0])),
        alignment(kernels[1], seen.y) - alignment(kernels[0], seen.y), between,
    )  # fmt: skip
    floor = {"moved": between, "features": kernel_moves(grams[0], grams[2])[0]}
    return Regime(
        n, float(network.alpha), verdict, kernel_moves(*grams[:2])[0], ranks, floor, both.last("risk"),
        both.last("tangent_risk"), relative_scale(network, n, seed=seed), both,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Seen:
    """Inputs on which networks are compared, and their labels."""

    problem: Problem
    x: Array
    y: np.ndarray

    @classmethod
    def of(cls, problem: Problem, count: int, seed: int) -> _Seen:
        """Rows of a data set, or fresh draws."""
        law = problem.data
        if isinstance(law, Empirical):
            rows = np.random.default_rng(seed).permutation(len(law.y))[:count]
            return cls(problem, jnp.asarray(law.x[rows]), law.y[rows])
        x, y = law.sample(stream(seed, "report"), count, float)
        return cls(problem, x, np.asarray(y))

    def kernel(self, theta: np.ndarray) -> Kernel:
        """The tangent kernel, (M, M)."""
        return ntk(self.problem, self.x, rho=theta)

    def features(self, theta: np.ndarray) -> np.ndarray:
        """G, (M, M): outer weights do not count."""
        neuron, rows = self.problem.neuron, jnp.asarray(theta)
        if isinstance(neuron, Ridge) and "a" in neuron.scalars:
            rows = rows.at[:, 0].set(1.0)
        values = np.asarray(neuron_values(neuron.form, self.problem.full, rows, self.x))
        return values @ values.T / len(theta)

    def outputs(self, start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """f before and after, and of the network linearised before, on the inputs."""

        def f(theta: Array) -> Array:
            return neuron_values(self.problem.network.form, self.problem.full, theta, self.x).mean(axis=1)

        first, last = jnp.asarray(start), jnp.asarray(end)
        before, change = jax.jvp(f, (first,), (last - first,))
        return np.asarray(before), np.asarray(f(last)), np.asarray(before + change)


@dataclass(frozen=True, eq=False)
class Regimes:
    """Verdicts over widths or scales, see `regimes`.

    over     "n" or "alpha"
    found    the verdicts, one list for each line of the figure, by the name of the line

    >>> Regimes("n", {"α = 1": []})
    <Regimes over n: α = 1: >
    """

    over: str
    found: dict[str, list[Regime]]

    def values(self, line: str, quantity: str) -> tuple[np.ndarray, np.ndarray]:
        """What a line shows: the widths or scales, and "missed", "moved", "parameters", … of the verdicts."""
        rows = self.found[line]
        return np.array([getattr(r, self.over) for r in rows]), np.array([getattr(r.verdict, quantity) for r in rows])

    def document(self) -> dict[str, object]:
        """Everything by name."""
        return {"over": self.over, "lines": {name: [r.document() for r in rows] for name, rows in self.found.items()}}

    def __repr__(self) -> str:
        words = "; ".join(f"{name}: {', '.join(r.word for r in rows)}" for name, rows in self.found.items())
        return f"<Regimes over {self.over}: {words}>"


def regimes(
    problem: Problem, n: int | Sequence[int], t_end: float, *, alpha: Sequence[float] | None = None,
    **options: Unpack[RegimeOptions],
) -> Regimes:  # fmt: skip
    """Verdicts over several scales α at one width, or over several widths with both scalings, α = 1 and α = √n.

    n       one width, or several
    t_end   how long to train
    alpha   the scales, with one width
    and the keywords of `regime`

    >>> import widelimit as wl
    >>> start = wl.initial.paired(wl.initial.gaussian(1.0, a=wl.initial.signs()))
    >>> problem = wl.Problem(wl.data.single_index(4, "z"), wl.neurons.ridge("tanh", "trained"), start)
    >>> wl.regimes(problem, 10, 0.1, alpha=[2.0, 200.0], step=0.01, inputs=16).over
    'alpha'
    """
    instance_of(Problem, problem, "regimes", "build one first")
    widths = [_whole(width) for width in numbers_of("n", [n] if is_whole(n) else n, "n=[50, 200]")]
    if alpha is not None:
        require(len(widths) == 1, "verdicts over alpha need one width n", n, "give one whole number")
        scales = numbers_of("alpha", alpha, "alpha=[1.0, 10.0]")
        line = [regime(replace(problem, alpha=scale), widths[0], t_end, **options) for scale in scales]
        return Regimes("alpha", {f"n = {widths[0]}": line})
    scalings: dict[str, float | str] = {"α = 1": 1.0, "α = √n": "lazy"}
    return Regimes("n", {
        name: [regime(replace(problem, alpha=scale), width, t_end, **options) for width in widths]
        for name, scale in scalings.items()
    })  # fmt: skip


def _whole(width: float) -> int:
    require(width == int(width), "widths must be whole numbers", width, "try n=[50, 200]")
    return int(width)
