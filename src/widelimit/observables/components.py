"""A network, component by component, in the orthonormal family of its data law.

f̂_α = E f(x; ρ) e_α(z),     z the kept coordinates,   f = ∫ a σ(⟨w, x⟩ + b) dρ

Gaussian input   e_α = Π_i h_{α_i}(z_i),  k = |α|,  s = |w|:   f̂_α = ∫ a √(k!/α!) Π_i (u_i/s)^{α_i} A_k(b, s) dρ,
                 exactly, at every d, from smoothed activations (widelimit.potentials.labels)
hypercube        e_α = Π_i z_i^{α_i}, α of zeros and ones:     mean over corners (widelimit.observables.coefficients)

ŷ_α = E y e_α(z)   target   exactly for polynomials and on the cube, else over the nodes of the law
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.coordinates import Coordinates
from widelimit.errors import require, require_count
from widelimit.measures import Measure
from widelimit.observables.coefficients import projection
from widelimit.potentials.hermite import hermite_products
from widelimit.potentials.labels import OfPolynomial, hermite_coefficients
from widelimit.potentials.product_families import Index, all_indices, sign_products
from widelimit.problem.activations import Activation
from widelimit.problem.data import Hypercube, IndexModel
from widelimit.problem.data.target import polynomial_terms
from widelimit.problem.neurons import Ridge
from widelimit.problem.problem import Problem

MOST = 4096  # components
ORDERS = {1: 8, 2: 6}  # the highest degree for a link that is no polynomial, by the number of variables
ORDER_OF_MORE = 4


@dataclass(frozen=True, eq=False)
class Components:
    """The family, what the target has of it, and an observer of what a network has.

    indices   α, in the order of their degree
    target    ŷ_α (C,)
    learnt    ρ → f̂_α (C,)
    """

    indices: tuple[Index, ...]
    names: tuple[str, ...]
    target: np.ndarray
    learnt: Callable[[Measure], np.ndarray]

    @property
    def degrees(self) -> np.ndarray:
        """|α|, (C,)."""
        return np.array([sum(alpha) for alpha in self.indices])


def components(problem: Problem, order: int | None = None) -> Components:
    """All components up to a degree; by default that of the target, where it is a polynomial or on the cube."""
    law, k = problem.data, problem.kept
    good = isinstance(problem.neuron, Ridge) and isinstance(law, IndexModel | Hypercube)
    require(good, "components need ridge neurons on an index model or the hypercube", problem.data,
            "see wl.data.single_index, multi_index and hypercube")  # fmt: skip
    if order is not None:
        require_count("order", order, "3")
    if isinstance(law, Hypercube):
        chosen = _indices(k, min(order or k, k), signs=True)
        z, p, y = law.quadrature
        signs = partial(sign_products, chosen=chosen)
        return Components(chosen, tuple(map(_monomial, chosen)), (p * y) @ signs(z), projection(problem, signs))
    assert isinstance(law, IndexModel)
    known = _exact(law)
    chosen = _indices(k, order or _degree(law, known), signs=False)
    target = _target(law, chosen) if known is None else np.array([known.get(alpha, 0.0) for alpha in chosen])
    family = OfPolynomial(float(target @ target), jnp.asarray(target), chosen)
    neuron = problem.network.form
    assert isinstance(neuron, Ridge)

    def learnt(rho: Measure) -> np.ndarray:
        is_reduced = tuple(rho.coordinates) == tuple(problem.reduced_coordinates)
        columns = problem.reduced if is_reduced else problem.full
        return np.asarray(_integrals(family, neuron.sigma, columns, jnp.asarray(rho.theta), jnp.asarray(rho.weights)))

    return Components(chosen, tuple(map(_product, chosen)), target, learnt)


@jax.jit
def _integrals(family: OfPolynomial, sigma: Activation, columns: Coordinates, theta: Array, weights: Array) -> Array:
    """∫ E σ*(x; θ) e_α(z) dρ, (C,)."""
    return weights @ family.parts(sigma, columns, theta)


def _indices(k: int, order: int, signs: bool) -> tuple[Index, ...]:
    """All α of k numbers with |α| ≤ order, in the order of their degree; refuse too many."""
    found = tuple(itertools.islice(all_indices(k, order, signs), MOST + 1))
    require(len(found) <= MOST, f"components must be at most {MOST}", f"more of degree {sum(found[-1])}",
            "lower the order")  # fmt: skip
    return found


def _exact(law: IndexModel) -> dict[Index, float] | None:
    """ŷ_α of a polynomial, by α."""
    terms = polynomial_terms(law.target)
    return None if terms is None else hermite_coefficients(terms, law.kept)


def _degree(law: IndexModel, known: dict[Index, float] | None) -> int:
    """The highest degree to look at if none is asked for."""
    if known is None:
        return ORDERS.get(law.kept, ORDER_OF_MORE)
    return max(1, *(sum(alpha) for alpha, y in known.items() if y != 0), 1)


def _target(law: IndexModel, chosen: tuple[Index, ...]) -> np.ndarray:
    """E y Π_i h_{α_i}(z_i) over the nodes of the law, (C,)."""
    z, p, y = law.quadrature
    return (p * y) @ hermite_products(np.asarray(z), chosen)


def _monomial(alpha: Index) -> str:
    """Such as z1*z3."""
    return "*".join(f"z{i}" for i, n in enumerate(alpha, 1) if n) or "1"


def _product(alpha: Index) -> str:
    """Such as h2(z), or h1(z1)*h2(z3)."""
    letters = ["z"] if len(alpha) == 1 else [f"z{i}" for i in range(1, len(alpha) + 1)]
    return "*".join(f"h{n}({z})" for z, n in zip(letters, alpha, strict=True) if n) or "1"
