"""Online SGD of one neuron on the sphere: the overlap alone is a Markov chain.

    y = φ(x_1) + noise · G,   x ~ N(0, I_d),   m = w_1
    w ← (w + c x)/|w + c x|,   c = 2 ε (y − σ(h)) σ'(h),   h = ⟨w, x⟩              projected SGD, a fresh sample each

    z = x_1,   g = ⟨x, w_⊥⟩/|w_⊥|,   q = |x|² − z² − g²:   independent, N(0, 1), N(0, 1) and χ² with d − 2 degrees
    h = m z + √(1 − m²) g
    m ← (m + c z)/√(1 + 2 c h + c² (z² + g² + q))                                exactly, in law and path by path

So a step costs three random numbers in every dimension. Start: w uniform on the half of the sphere with m > 0.

Step. With v = E (y − σ(h))² σ'(h)² at m = 0 and s, c_s as in widelimit.theory.learning.overlap_flow, a sample moves m
by 2 ε s c_s m^{s−1} towards x_1, and |x|² ≈ d pulls it back by 2 ε² d v m. At the start, m ~ d^{−1/2}, the second stays
a share ϱ of the first for

    ε(d) = ϱ (s c_s/v) d^{−max(1, s/2)}

which is the choice of [agj21] up to logarithms. Samples = time/ε, and the time from d^{−1/2} is of order
1, log d, d^{(s−2)/2} for s = 1, 2, ≥ 3: samples of order d, d log d, d^{s−1}.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.errors import require, require_positive
from widelimit.frozen import Value, argument
from widelimit.integrals import integrate
from widelimit.problem.activations import Activation, Choice
from widelimit.problem.activations.on_host import on_host
from widelimit.problem.data.nodes import REACH
from widelimit.theory.learning.overlap_flow import LinkPair, link_of, pair_of

SQRT_2PI = math.sqrt(2 * math.pi)
SHARE = 0.25  # ϱ
BLOCK = 4096  # samples between two looks
ENOUGH = 0.75  # of the replicas that must arrive: the median and its interval look no further
PATIENCE = 4.0  # times the time of the flow from where one start in twenty lies lower
LOW_START = 0.0627  # the 5 % quantile of |G|


class Question(NamedTuple):
    """What is asked of a learner: samples until the overlap is at a level, for so many replicas.

    link   φ of the labels, with their noise
    """

    link: Activation
    noise: float
    level: float
    replicas: int


class Law(NamedTuple):
    """Samples by theory: C d^power (log d)^logarithms."""

    power: float
    logarithms: int


def _check_step(name: str, step: float | None) -> None:
    if step is not None:
        require_positive(name, step, "0.1")


def _known(choice: Choice | None) -> Activation | None:
    return None if choice is None else link_of(choice)


class OnlineSGD(Value):
    """Projected SGD of one neuron σ(⟨w, x⟩) on the sphere, a fresh sample for every step.

    activation   σ; the link itself if left out
    step         κ of ε = κ d^{−max(1, s/2)}; if left out the one for which noise and drift of the overlap are in
                 proportion at the start, see widelimit.theory.learning.online_sgd

    >>> import widelimit as wl
    >>> wl.OnlineSGD(step=0.1)
    OnlineSGD(step=0.1)
    """

    activation: Activation | None = argument(form=_known, default=None)
    step: float | None = argument(_check_step, default=None)

    def pair(self, link: Activation) -> LinkPair:
        """Coefficients of the link and the activation."""
        return pair_of(link, link if self.activation is None else self.activation)

    def law(self, link: Activation) -> Law:
        """d, d log d, d^{s−1}."""
        s = self.pair(link).exponent
        return Law(max(1.0, s - 1.0), int(s == 2))

    def steps(self, question: Question, d: int) -> float:
        """ε at dimension d."""
        pair = self.pair(question.link)
        s = pair.exponent
        shared = math.isfinite(s)
        require(shared, "link and activation must share an order k >= 1 of their Hermite series", question.link,
                "give OnlineSGD an activation that has one of the link's")  # fmt: skip
        kappa = self.step or SHARE * s * abs(pair.products[int(s)]) / self._spread(question)
        return float(kappa * d ** -max(1.0, s / 2))

    def _spread(self, question: Question) -> float:
        """v = E (y − σ(h))² σ'(h)² at m = 0, where y and h are independent."""
        sigma = question.link if self.activation is None else self.activation
        values = on_host(lambda z: jnp.stack([question.link(z), *jax.jvp(sigma, (z,), (jnp.ones_like(z),))]))

        def terms(z: np.ndarray) -> np.ndarray:
            y, out, slope = values(z)
            gain = slope**2
            return (np.stack([y, y**2, gain, out * gain, out**2 * gain]) * np.exp(-(z**2) / 2) / SQRT_2PI).T

        y, square, gain, one, two = integrate(terms, np.linspace(-REACH, REACH, 29)).values
        return float((square + question.noise**2) * gain - 2 * y * one + two)

    def samples(self, question: Question, d: int, rng: np.random.Generator) -> np.ndarray:
        """Samples until |m| is at the level, (replicas,); infinite for those that were not waited for."""
        pair, step = self.pair(question.link), self.steps(question, d)
        time = pair.time(LOW_START / math.sqrt(d), question.level)
        require(math.isfinite(time), f"the flow of the overlap must reach the level {question.level:g} from m = 0+",
                question.link, "lower the level, or give OnlineSGD an activation that follows the link")  # fmt: skip
        sigma, most = question.link if self.activation is None else self.activation, PATIENCE * time / step
        m = first_overlaps(d, question.replicas, rng)
        seen = np.zeros(question.replicas, int)
        for done in range(0, math.ceil(most), BLOCK):
            if np.count_nonzero(seen) >= ENOUGH * question.replicas:
                break
            draws = drawn(d, (BLOCK, question.replicas), question.noise, rng)
            m, seen = map(np.asarray, walk(question.link, sigma, Chain(m, seen, done), draws, (step, question.level)))
        return np.where(seen > 0, seen, np.inf)


class Draws(NamedTuple):
    """The random numbers of a block of samples, each (samples, replicas); ``noise`` is that of the labels."""

    z: np.ndarray
    g: np.ndarray
    q: np.ndarray
    noise: np.ndarray


class Chain(NamedTuple):
    """The overlaps (R,), the sample at which each arrived or 0, and how many samples were before."""

    m: np.ndarray | Array
    seen: np.ndarray | Array
    done: int | Array


def first_overlaps(d: int, replicas: int, rng: np.random.Generator) -> np.ndarray:
    """m of w uniform on the half of the sphere with m > 0."""
    first = np.abs(rng.standard_normal(replicas))
    return first / np.sqrt(first**2 + rng.chisquare(d - 1, replicas))


def drawn(d: int, shape: tuple[int, int], noise: float, rng: np.random.Generator) -> Draws:
    """z, g, q and the noise of the labels."""
    extra = noise * rng.standard_normal(shape) if noise else np.zeros((shape[0], 1))
    rest = rng.chisquare(d - 2, shape) if d > 2 else np.zeros(shape)
    return Draws(rng.standard_normal(shape), rng.standard_normal(shape), rest, extra)


@jax.jit
def walk(
    link: Activation, sigma: Activation, chain: Chain, draws: Draws, numbers: tuple[float, float]
) -> tuple[Array, Array]:
    """m and the samples at arrival after a block; ``numbers`` are the step ε and the level."""
    step, level = numbers

    def one(carry: tuple[Array, Array, Array], row: tuple[Array, ...]) -> tuple[tuple[Array, Array, Array], None]:
        m, seen, k = carry
        z, g, q, y = row
        h = m * z + jnp.sqrt(jnp.maximum(1 - m * m, 0.0)) * g
        out, slope = jax.jvp(sigma, (h,), (jnp.ones_like(h),))
        c = 2 * step * (y - out) * slope
        m = (m + c * z) / jnp.sqrt(1 + 2 * c * h + c * c * (z * z + g * g + q))
        k = k + 1
        return (m, jnp.where((seen == 0) & (jnp.abs(m) >= level), k, seen), k), None

    z, g, q, extra = map(jnp.asarray, draws)
    y = link(z) + extra
    start = (jnp.asarray(chain.m), jnp.asarray(chain.seen), jnp.asarray(chain.done))
    (m, seen, _), _ = jax.lax.scan(one, start, (z, g, q, y), unroll=4)
    return m, seen
