"""The problem: everything the finite network and its limit have in common.

R(ρ) = E (y − ∫ σ*(x; θ) ρ(dθ))²,   θ_i ~ ρ_0,   ridge λ, inverse temperature β, schedule ξ, mobility M
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from widelimit.errors import InputError, is_finite, is_number, require
from widelimit.problem.initial import Explicit, InitialLaw
from widelimit.problem.law import DataLaw, Group, require_finite
from widelimit.problem.mobility import Mobility, mobility
from widelimit.problem.neurons import Custom, Neuron, Ridge
from widelimit.problem.schedules import Constant, Schedule, schedule

if TYPE_CHECKING:
    from jax import Array


@dataclass(frozen=True)
class Problem:
    """What is learned, from where it starts, and under which regularisation.

    data      law of (x, y), from ``wl.data``
    neuron    σ*(x; θ), from ``wl.neurons``
    initial   ρ_0, from ``wl.initial``
    ridge     λ ≥ 0 in Ψ_λ = Ψ + (λ/2)|θ|²
    beta      inverse temperature of the noise, infinite without noise
    schedule  ξ(t), from ``wl.schedules`` or any JAX-traceable function of t
    mobility  rates of the blocks a, b, w: a ``wl.Mobility`` or a dictionary, e.g. {"a": 0.5}
    """

    data: DataLaw
    neuron: Neuron
    initial: InitialLaw
    ridge: float = 0.0
    beta: float = math.inf
    schedule: Schedule = field(default_factory=Constant)
    mobility: Mobility = field(default_factory=Mobility)

    def __post_init__(self) -> None:
        for name, kind in (("data", DataLaw), ("neuron", Neuron), ("initial", InitialLaw)):
            require(
                isinstance(getattr(self, name), kind),
                f"{name} must come from wl.{name if name != 'neuron' else 'neurons'}",
                getattr(self, name),
                "see the docstring of Problem",
            )
        require(is_finite(self.ridge) and self.ridge >= 0, "ridge must be a number >= 0", self.ridge, "try ridge=0.0")
        require(
            is_number(self.beta) and self.beta > 0,
            "beta must be positive, math.inf for no noise",
            self.beta,
            "try beta=1000.0",
        )
        object.__setattr__(self, "schedule", schedule(self.schedule))
        object.__setattr__(self, "mobility", mobility(self.mobility))
        for name in ("a", "b"):
            given = getattr(self.mobility, name) != 1.0 and name not in self.neuron.scalars
            require(not given, f"mobility names {name}, which the neuron does not have", self.mobility, f"drop {name}")
        self._check_initial()
        self._check_sphere()

    def _check_sphere(self) -> None:
        if self.neuron.inner == "free":
            return
        law = self.initial
        rows = law.theta[:, len(self.neuron.scalars) :] if isinstance(law, Explicit) else None
        on_it = getattr(law, "radius", None) == 1.0 or (
            rows is not None and bool((abs((rows**2).sum(1) - 1) < 1e-9).all())
        )
        got = law if rows is None else f"|w| = {((rows**2).sum(1) ** 0.5).max():g}"
        require(on_it, "inner weights on the unit sphere must start on it", got, "use initial.sphere(1.0)")

    def _check_initial(self) -> None:
        law = self.initial
        if isinstance(law, Explicit):
            widths = [len(self.reduced_coordinates)]
            if math.isfinite(self.data.d):
                widths.insert(0, self.D)
            forms = " or ".join(
                f"{w} ({kind})" for w, kind in zip(widths, ("full", "reduced")[-len(widths) :], strict=True)
            )
            require(
                law.theta.shape[1] in widths,
                f"an explicit start for this problem must have shape (n, D) with D = {forms}",
                law.theta.shape,
                f"give the columns {', '.join(self.reduced_coordinates)} or a, b, w_1.. as they exist",
            )
            return
        for name in ("a", "b"):
            if (name in self.neuron.scalars) and getattr(law, name) is None:
                raise InputError(
                    f"the neuron has a scalar {name} but the initial law does not say how it starts, got {name}=None: "
                    f"give e.g. {name}=wl.initial.normal(0, 1)."
                )
            if (name not in self.neuron.scalars) and getattr(law, name) is not None:
                raise InputError(
                    f"the initial law starts a scalar {name} the neuron does not have, got {getattr(law, name)}: "
                    f"drop it or give the neuron one."
                )

    @property
    def blocks(self) -> tuple[str, ...]:
        """Names of the blocks of θ that exist: a, b, w."""
        return (*self.neuron.scalars, "w")

    @property
    def rates(self) -> Mobility:
        """The mobility, with 0 for the scalars that are fixed."""
        roles = zip(self.neuron.scalars, self.neuron.trained, strict=True)
        return replace(self.mobility, **{name: 0.0 for name, moves in roles if not moves})

    @property
    def D(self) -> int:
        """Number of parameters of a neuron, the width of θ in full coordinates."""
        return self.neuron.size(require_finite(self.data.d, "neurons"))

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the columns of θ in full coordinates."""
        inner, name = self.D - len(self.neuron.scalars), "theta" if isinstance(self.neuron, Custom) else "w"
        return (*self.neuron.scalars, *(f"{name}_{i}" for i in range(1, inner + 1)))

    @property
    def reduced_coordinates(self) -> tuple[str, ...]:
        """Names of the columns of θ in reduced coordinates; the full ones if nothing can be reduced."""
        if not self.groups:
            return self.coordinates
        return (*self.neuron.scalars, *_numbered("u", self.kept), *_numbered("r", len(self.groups)))

    @property
    def kept(self) -> int:
        """How many coordinates of the inner weights a reduction keeps; they come first."""
        return self.data.kept if isinstance(self.neuron, Ridge) else self.neuron.D

    @property
    def groups(self) -> tuple[Group, ...]:
        """Groups of directions of which a reduction keeps the radius alone."""
        return self.data.groups if isinstance(self.neuron, Ridge) else ()

    def sample_initial(self, key: Array, n: int) -> Array:
        """n neurons drawn from ρ_0 in full coordinates, (n, D)."""
        import jax
        import jax.numpy as jnp

        law = self.initial
        if isinstance(law, Explicit):
            require(
                law.theta.shape == (n, self.D),
                f"the explicit start must have shape (n, D) = ({n}, {self.D}) here",
                law.theta.shape,
                "change n or the array",
            )
            return jnp.asarray(law.theta)
        keys = dict(zip(("a", "b", "w"), jax.random.split(key, 3), strict=True))
        scalars = [getattr(law, name).sample(keys[name], n)[:, None] for name in self.neuron.scalars]
        return jnp.concatenate([*scalars, law.inner(keys["w"], n, self.D - len(scalars))], axis=1)

    def __str__(self) -> str:
        """The problem, its reduction and its equations in plain symbols."""
        from widelimit.problem.description import describe

        return describe(self)


def _numbered(letter: str, count: int) -> tuple[str, ...]:
    return (letter,) if count == 1 else tuple(f"{letter}_{i}" for i in range(1, count + 1))
