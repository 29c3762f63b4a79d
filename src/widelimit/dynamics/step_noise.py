"""What the noise of SGD's samples adds to the length of w, and the limit does not have.

    E |w_i|² grows by     ∫ (1/ε b) Var[ 2 s M (y − f(x; θ)) ∇_w σ*(x; θ_i) ] dt,     s = ε ξ(t)

beside what the mean of a step does to it. It is of order ε d: a step that is far from unstable can be too large for d.
On the sphere w turns by that much instead. To first order in ε nothing answers to it; a ridge or a steep landscape may.
The samples are fresh draws, the neurons those that were saved, in random directions where only radii are kept: f is
then another network of the same law, so that the variance is taken relative to its own E (y − f)², and times the risk.
The sum is right within a factor of two or so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.coordinates import Coordinates
from widelimit.dynamics.stepwise import pushed
from widelimit.problem.problem import Problem
from widelimit.solving.recorder import OfNeurons, Recorder

if TYPE_CHECKING:
    from widelimit.dynamics.sgd import Iteration

TOO_MUCH = 0.15  # of E |w|²: the risk is then off by some hundredths
ALLOWED = 0.05  # with the step that is advised
LOOKS = 11  # saves that are looked at
SAMPLES = 64
NEURONS = 256  # at most


def remark(problem: Problem, fixed: Iteration, key: Array, book: Recorder) -> str:
    """What to say of the step of SGD after a run with this record: nothing if it is small enough."""
    assert isinstance(book, OfNeurons)
    step, t = float(fixed.steps.step), book.saves.times[-1]
    added, square = grown(problem, fixed, key, book)
    if not added > TOO_MUCH * square:
        return ""
    smaller, letter = _rounded(step * ALLOWED * square / added), fixed.rules.columns.letter
    if fixed.rules.on_sphere:
        does = f"turns w by about {np.sqrt(added):.2g} by t = {t:g}"
        would = f"turns it by {np.sqrt(ALLOWED):.2g} at most"
    else:
        does = f"adds about {added:.2g} to E|{letter}|² ({square:.2g} at t = {t:g})"
        would = f"adds {ALLOWED:.0%} at most"
    return (
        f"the step {step:g} is stable but large for d = {problem.data.d:g}: the noise of its samples {does}, which the "
        f"limit does not have; step={smaller:g} {would}, and wl.plan finds the step for a given error of the risk"
    )


def grown(problem: Problem, fixed: Iteration, key: Array, book: OfNeurons) -> tuple[float, float]:
    """What the noise adds to the mean of |w|² between the first save and the last, and that mean at the last; of the
    first replica."""
    times, risks = np.asarray(book.saves.times), np.array([np.ravel(risk)[0] for risk in book.saves.risk])
    some = sorted({round(k) for k in np.linspace(0, len(times) - 1, LOOKS)})
    rows = np.stack([_some(book.theta[k]) for k in some])
    rates, squares = map(np.asarray, _growth(fixed, problem.full, rows, np.round(times[some] / fixed.steps.step), key))
    growth = risks[some] * rates
    growth[0] = growth[min(1, len(some) - 1)]  # what is large only at the start must not stand for a whole interval
    return float(np.trapezoid(growth, times[some])), float(squares[-1])


class OverSamples(NamedTuple):
    """Over samples: the steps of the inner columns, their squares, and (y − f)²."""

    step: Array
    square: Array
    risk: Array


@jax.jit
def _growth(fixed: Iteration, full: Coordinates, rows: Array, k: Array, key: Array) -> tuple[Array, Array]:
    """Σ Var of the inner columns of a step over ε and b, at a risk of 1, and |w|²: means over the neurons (L, n, D) at
    the steps k (L,), each (L,)."""
    rules, (draw, turn) = fixed.rules, jax.random.split(key)
    samples = fixed.data.block(draw, jnp.zeros((), int), SAMPLES, float)

    def of(look: tuple[Array, Array]) -> tuple[Array, Array]:
        theta, pace = raised(full, look[0], turn), rules.columnwise(look[1])
        inner = theta[:, rules.scalars :]

        def add(total: OverSamples, one: tuple[Array, Array]) -> tuple[OverSamples, None]:
            push, miss = pushed(fixed.neuron, rules.columns, theta, (one[0][None], one[1][None]))
            step = (2 * pace * rules.tangent(theta, push))[:, rules.scalars :]
            return OverSamples(total.step + step, total.square + jnp.sum(step**2), total.risk + jnp.sum(miss**2)), None

        sums, _ = jax.lax.scan(add, OverSamples(jnp.zeros_like(inner), jnp.zeros(()), jnp.zeros(())), samples)
        variance = sums.square - jnp.sum(sums.step**2) / SAMPLES
        return variance / sums.risk / len(theta), jnp.sum(inner**2) / len(theta)

    variance, square = jax.lax.map(of, (rows, fixed.paces(k)))
    return variance / (fixed.steps.step * fixed.layout.batch), square


def raised(columns: Coordinates, rows: Array, key: Array) -> Array:
    """Neurons in full coordinates, in random directions where the rows have radii; rows that are full stay."""
    if rows.shape[1] == columns.D or not columns.widths:
        return rows
    first = rows.shape[1] - len(columns.widths)
    parts = [rows[:, :first]]
    for g, width in enumerate(columns.widths):
        normal = jax.random.normal(jax.random.fold_in(key, g), (len(rows), width))
        length = jnp.linalg.norm(normal, axis=1, keepdims=True)
        parts.append(rows[:, first + g, None] * normal / length)
    return jnp.concatenate(parts, axis=1)


def _some(theta: np.ndarray) -> np.ndarray:
    """The neurons of one replica, some of them if there are very many: from all places, since pairs lie apart."""
    one = theta[0] if theta.ndim == 3 else theta
    return one if len(one) <= NEURONS else one[np.linspace(0, len(one) - 1, NEURONS).round().astype(int)]


def _rounded(step: float) -> float:
    """A step with two digits, rounded down.

    >>> _rounded(0.00019876)
    0.00019
    """
    digits = 1 - int(np.floor(np.log10(step)))
    return float(np.floor(step * 10**digits) / 10**digits)
