"""The overlap of one neuron with the direction of a single-index model, as the step goes to 0.

    y = φ(x_1),   f(x; w) = σ(⟨w, x⟩),   |w| = 1,   m = w_1,   x ~ N(0, I_d)

    R(m)  = E φ² + E σ² − 2 Σ_k c_k m^k,             c_k = φ̂_k σ̂_k,   φ̂_k = E φ(G) h_k(G)
    dm/dt = 2 (1 − m²) Σ_k k c_k m^{k−1}             the same for every d

    φ   link         σ   activation
    m   overlap      c   products (K + 1,)
    s   exponent     the least k ≥ 1 with c_k ≠ 0: near 0 the flow is dm/dt ≈ 2 s c_s m^{s−1}

Time from m_0 to m_1:   ∫ dm / (2 (1 − m²) Σ_k k c_k m^{k−1}),   of order 1, log(1/m_0), m_0^{2−s} for s = 1, 2, ≥ 3.
Coefficients are exact smoothed activations, A_k(0, 1). Orders above K are left out; what they add to Σ k c_k m^{k−1} is
at most sup_{k>K} k m^{k−1} times ‖P_{>K} φ‖ ‖P_{>K} σ‖, and ``error`` says how much that is.  Reference: [agj21].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.polynomial.polynomial import polyder, polyval

from widelimit.arguments import answer_of, array_of
from widelimit.errors import is_finite, require, require_count, require_positive
from widelimit.frozen import public_names
from widelimit.integrals import integrate
from widelimit.on_first_use import OnFirstUse
from widelimit.potentials.labels import hermite_coefficients
from widelimit.potentials.smoothing import smoothed
from widelimit.potentials.square_moments import mean_square
from widelimit.problem import activations
from widelimit.problem.activations import Activation, Choice, Polynomial
from widelimit.problem.expressions import Terms

scipy_integrate = OnFirstUse("scipy.integrate")

ORDER = 80  # of the coefficients of what is no polynomial
TIMES = 1e-12  # relative error of a time, on each panel
SMALL = 1e-10  # of the norms: a product below it counts as 0


@dataclass(frozen=True, eq=False)
class LinkPair:
    """A link and an activation, by their coefficients.

    products   c_k, k = 0, …, K
    square     E φ² + E σ²
    left_out   ‖P_{>K} φ‖ ‖P_{>K} σ‖
    """

    products: np.ndarray
    square: float
    left_out: float

    @cached_property
    def exponent(self) -> float:
        """s; infinite if link and activation have no common order."""
        seen = np.flatnonzero(np.abs(self.products[1:]) > SMALL * self.square)
        return int(seen[0]) + 1 if len(seen) else math.inf

    def velocity(self, m: np.ndarray | float) -> np.ndarray:
        """dm/dt."""
        return 2 * (1 - np.square(m)) * polyval(m, polyder(self.products))

    def velocity_error(self, m: np.ndarray | float) -> np.ndarray:
        """How far dm/dt may be off for the orders that are left out."""
        size, first = np.minimum(np.abs(m), 1 - 1e-12), len(self.products)
        best = np.maximum(first, -1 / np.log(np.maximum(size, 1e-300)))  # where k m^{k−1} is largest
        return 2 * (1 - size**2) * best * size ** (best - 1) * self.left_out

    def risk(self, m: np.ndarray) -> np.ndarray:
        """R(m) without noise of the labels."""
        return self.square - 2 * polyval(m, self.products)

    def time(self, start: float, stop: float) -> float:
        """The time from one overlap > 0 to a larger one; infinite if there is a rest point between them."""
        between = np.geomspace(start, stop, 400)
        if (self.velocity(between) <= 0).any():
            return math.inf
        steps = integrate(
            lambda u: np.exp(u) / self.velocity(np.exp(u)), np.linspace(math.log(start), math.log(stop), 21), TIMES
        )
        return float(steps.values[0])


def link_of(choice: Choice) -> Activation:
    """A link or an activation: a function of one variable that JAX can trace and differentiate."""
    phi = activations.activation(choice)
    z = jnp.linspace(-1.0, 1.0, 5)
    answer_of(lambda z: jax.jvp(phi, (z,), (jnp.ones_like(z),)), "a link or activation", z)
    seen = array_of("the values of a link", answer_of(phi, "a link or activation", z), "(n,)", "try 'h3(z)'")
    require(len(seen) == len(z), "a link must give one number for every z", seen.shape, "try 'h3(z)'")
    return phi


def pair_of(link: Activation, sigma: Activation) -> LinkPair:
    """The coefficients of a link and an activation, as many as both may have."""
    forms = (link.form, sigma.form)
    order = min((len(form.coefficients) - 1 for form in forms if isinstance(form, Polynomial)), default=ORDER)
    one, other = (_series(form, order) for form in forms)
    return LinkPair(one.known * other.known, one.square + other.square, math.sqrt(one.beyond * other.beyond))


class _Series(NamedTuple):
    """Coefficients up to an order K (K + 1,), E φ², and ‖P_{>K} φ‖²."""

    known: np.ndarray
    square: float
    beyond: float


def _series(form: Activation, order: int) -> _Series:
    """The Hermite series of a function, exactly for a polynomial."""
    if isinstance(form, Polynomial):
        terms: Terms = {(n,): float(c) for n, c in enumerate(np.asarray(form.coefficients))}
        found = hermite_coefficients(terms, 1)
        all_orders = np.array([found.get((k,), 0.0) for k in range(len(terms))])
        return _Series(
            all_orders[: order + 1], float(all_orders @ all_orders), float(np.sum(all_orders[order + 1 :] ** 2))
        )
    known = np.asarray(smoothed(form, order, jnp.zeros(()), jnp.ones(())))
    square = float(mean_square(form, jnp.zeros(()), jnp.ones(())))
    good = math.isfinite(square) and bool(np.isfinite(known).all())
    require(good, "a link must be square integrable under a normal law", form, "try 'h3(z)'")
    known = np.where(np.abs(known) > SMALL * math.sqrt(square), known, 0.0)
    return _Series(known, square, max(square - float(known @ known), 0.0))


@dataclass(frozen=True, eq=False, repr=False)
class OverlapFlow:
    """The overlap over time, and the law it follows.

    times     (T,)
    overlap   m (T,)
    pair      coefficients of link and activation

    >>> import widelimit as wl
    >>> flow = wl.overlap_flow("h2(z)", start=0.1, t_end=0.5)  # m²/(1 − m²) = C e^{8t}
    >>> flow.exponent, round(float(flow.overlap[-1]), 4)
    (2, 0.5962)
    """

    times: np.ndarray
    overlap: np.ndarray
    pair: LinkPair

    @property
    def risk(self) -> np.ndarray:
        """R(m_t), (T,)."""
        return self.pair.risk(self.overlap)

    @property
    def exponent(self) -> float:
        """s, the least order that link and activation share."""
        return self.pair.exponent

    @property
    def error(self) -> np.ndarray:
        """How far dm/dt may be off at every time, (T,): 0 where link or activation is a polynomial."""
        return self.pair.velocity_error(self.overlap)

    def time_to(self, level: float) -> float:
        """When the overlap is first at a level, whether or not t_end is beyond it; infinite if never."""
        good = is_finite(level) and 0 < level < 1
        require(good, "level must be a number between 0 and 1", level, "try level=0.5")
        start = float(self.overlap[0])
        return 0.0 if level <= start else self.pair.time(start, level)

    def __dir__(self) -> list[str]:
        return public_names(super().__dir__())

    def __repr__(self) -> str:
        return f"<OverlapFlow: s = {self.exponent}, m = {self.overlap[-1]:.6g} at t = {self.times[-1]:g}>"


def overlap_flow(
    link: Choice, start: float, t_end: float, activation: Choice | None = None, save: int = 101
) -> OverlapFlow:
    """Follow the overlap of one neuron on the sphere by gradient flow on the population risk.

    link          φ, an expression in z, or a JAX-traceable function
    start         m at time 0, a small number such as 1/√d
    t_end, save   horizon, and how many equally spaced times to save at
    activation    σ of the neuron; the link itself if left out

    A `ParticleFlow` of one neuron on the sphere, in full coordinates, follows the same path at every d; in reduced ones
    a neuron stands for all its rotations, which together are another network.

    >>> import widelimit as wl
    >>> flow = wl.overlap_flow("h1(z)", start=0.001, t_end=1.0, save=3)  # dm/dt = 2 (1 − m²): tanh
    >>> flow.overlap.round(4)
    array([0.001 , 0.762 , 0.9641])
    """
    good = is_finite(start) and -1 < start < 1
    require(good, "start must be a number between -1 and 1", start, "try start=0.1")
    require_positive("t_end", t_end, "10.0")
    require_count("save", save, "101")
    require(save >= 2, "save must be at least 2: the start and the end", save, "try save=101")
    phi = link_of(link)
    pair = pair_of(phi, phi if activation is None else link_of(activation))
    shares = np.linspace(0.0, 1.0, int(save))
    path = scipy_integrate.solve_ivp(lambda _, m: t_end * pair.velocity(m), (0.0, 1.0), [float(start)], "LSODA", shares,
                     rtol=1e-11, atol=1e-13)  # fmt: skip
    require(path.success, "the flow must exist up to t_end", path.message, "shorten it")
    return OverlapFlow(t_end * shares, path.y[0], pair)
