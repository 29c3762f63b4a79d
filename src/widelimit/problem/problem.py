"""The problem: everything the finite network and its limit have in common.

R(ρ) = E (y − f(x; ρ))²,   f = α ∫ σ*(x; θ) ρ(dθ),   θ_i ~ ρ_0,   ridge λ v(θ), inverse temperature β, schedule ξ,
mobility M

The scale α acts on the neuron, σ* → α σ*, and on the mobility, M → M/α², so that f moves at a speed that does not
depend on it: dθ_i/dt = (2/α) E (y − f) ∇σ*(x; θ_i). α = 1 is the mean-field regime, α = √N the lazy one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from widelimit.coordinates import Coordinates
from widelimit.errors import InputError, is_finite, is_number, require, require_count, require_known
from widelimit.frozen import As, Value, argument, nonnegative, require_key
from widelimit.problem.data.data_law import DataLaw, Group, require_finite
from widelimit.problem.description import describe
from widelimit.problem.initial import Blocks, Explicit, InitialLaw, Paired, ScalarLaw
from widelimit.problem.mobility import Mobility, Rate, mobility, slowed
from widelimit.problem.neurons import Custom, Neuron, Ridge
from widelimit.problem.regularisers import Choice, Regulariser, Squares, check_regulariser, regulariser
from widelimit.problem.schedules import Constant, Schedule, Time, schedule

LAZY = "lazy"


def _check_alpha(name: str, alpha: float | str) -> None:
    good = alpha == LAZY if isinstance(alpha, str) else is_finite(alpha) and alpha > 0
    require(good, f'{name} must be a number > 0, or "{LAZY}" for √n', alpha, f"try {name}=1.0")


class Problem(Value):
    """What is learned, from where it starts, and under which regularisation.

    data         law of (x, y), from ``wl.data``
    neuron       σ*(x; θ), from ``wl.neurons``
    initial      ρ_0, from ``wl.initial``
    ridge        λ ≥ 0 in Ψ_λ = Ψ + λ v(θ)
    beta         inverse temperature of the noise, infinite without noise
    schedule     ξ(t), from ``wl.schedules`` or any JAX-traceable function of t
    mobility     rates of the blocks a, b, w: a ``wl.Mobility`` or a dictionary, e.g. {"a": 0.5}
    regulariser  v, |θ|²/2 by default; from ``wl.regularisers`` or any differentiable function of a, b and w
    alpha        α, the scale of the network: 1 in the mean-field regime, "lazy" for √N with N neurons

    >>> import widelimit as wl
    >>> problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("erf"), wl.initial.gaussian(1.0))
    >>> problem.reduced_coordinates
    ('r',)
    """

    offers: ClassVar[tuple[str, ...]] = (
        "data", "neuron", "initial", "ridge", "beta", "schedule", "mobility", "regulariser", "alpha", "arguments",
        "D", "coordinates", "reduced_coordinates", "sample_initial",
    )  # fmt: skip

    data: DataLaw
    neuron: Neuron
    initial: InitialLaw
    ridge: float = nonnegative("0.0", default=0.0)
    beta: float = math.inf
    schedule: As[Schedule | Callable[[Time], Time], Schedule] = argument(form=schedule, default_factory=Constant)
    mobility: As[Mobility | Mapping[str, Rate], Mobility] = argument(form=mobility, default_factory=Mobility)
    regulariser: As[Choice, Regulariser] = argument(form=regulariser, default_factory=Squares)
    alpha: float | str = argument(_check_alpha, default=1.0)

    def validate(self) -> None:
        """Parts that fit together."""
        for name, kind in (("data", DataLaw), ("neuron", Neuron), ("initial", InitialLaw)):
            require(
                isinstance(getattr(self, name), kind),
                f"{name} must come from wl.{name if name != 'neuron' else 'neurons'}",
                getattr(self, name),
                "see the docstring of Problem",
            )
        require(
            is_number(self.beta) and self.beta > 0,
            "beta must be positive, math.inf for no noise",
            self.beta,
            "try beta=1000.0",
        )
        for name in ("a", "b"):
            given = getattr(self.mobility, name) != 1.0 and name not in self.neuron.scalars
            require(not given, f"mobility names {name}, which the neuron does not have", self.mobility, f"drop {name}")
        self._check_initial()
        self._check_sphere()
        check_regulariser(self.regulariser, self.full if math.isfinite(self.data.d) else None, self.reduced)

    def _check_sphere(self) -> None:
        if self.neuron.inner == "free":
            return
        law = self.initial.start if isinstance(self.initial, Paired) else self.initial
        rows = law.theta[:, len(self.neuron.scalars) :] if isinstance(law, Explicit) else None
        squares = None if rows is None else (rows**2).sum(axis=1)
        on_it = getattr(law, "radius", None) == 1.0 if squares is None else bool((abs(squares - 1) < 1e-9).all())
        got = law if squares is None else f"|w| = {squares.max() ** 0.5:g}"
        require(on_it, "inner weights on the unit sphere must start on it", got, "use initial.sphere(1.0)")

    def _check_initial(self) -> None:
        law = self.initial
        if isinstance(law, Explicit):
            widths = ({"full": self.D} if math.isfinite(self.data.d) else {}) | {"reduced": self.reduced.D}
            forms = " or ".join(f"{width} ({kind})" for kind, width in widths.items())
            wide = law.theta.shape[1]
            require(
                wide in widths.values() if law.coordinates is None else widths.get(law.coordinates) == wide,
                f"an explicit start for this problem must have shape (n, D) with D = {forms}",
                law.theta.shape if law.coordinates is None else (law.theta.shape, law.coordinates),
                f"give the columns {', '.join(self.reduced_coordinates)} or a, b, w_1.. as they exist",
            )
            told = law.coordinates is not None or not self.groups or len({*widths.values()}) == len(widths)
            require(told, f"an explicit start of {wide} columns may be full or reduced here", "no word on which",
                    'say initial.array(theta, coordinates="full") or "reduced"')  # fmt: skip
            radii = law.theta[:, self.reduced.first_radius :] if self.starts_reduced else law.theta[:, :0]
            least = float(radii.min(initial=0.0))
            require(least >= 0, "the radii of an explicit start must be >= 0", least, "take their absolute values")
            return
        if isinstance(law, Blocks):
            fits = isinstance(self.neuron, Custom) and sum(law.sizes) == self.neuron.D
            require(fits, "blocks must have as many columns as θ of a custom neuron", (law.sizes, self.neuron),
                    "change sizes or D, or use initial.gaussian for a ridge neuron")  # fmt: skip
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
    def starts_reduced(self) -> bool:
        """Whether the start is given neuron by neuron in reduced coordinates."""
        law = self.initial
        if not isinstance(law, Explicit):
            return False
        return law.coordinates == "reduced" or (law.coordinates is None and law.theta.shape[1] == self.reduced.D)

    @property
    def rates(self) -> Mobility:
        """M/α², with 0 for the scalars that are fixed."""
        roles = zip(self.neuron.scalars, self.neuron.trained, strict=True)
        rates = replace(self.mobility, **{name: 0.0 for name, moves in roles if not moves})
        return rates if self.alpha == 1 else slowed(rates, self._alpha**-2)

    @property
    def network(self) -> Neuron:
        """α σ*, whose mean over the neurons is f."""
        return self.neuron if self.alpha == 1 else self.neuron.times(self._alpha)

    @property
    def _alpha(self) -> float:
        """α as a number."""
        if isinstance(self.alpha, str):
            raise InputError(
                f'alpha = "{LAZY}" is √n and needs a number of neurons, got none: use problem.at_width(n), or a number.'
            )
        return self.alpha

    def at_width(self, n: int) -> Problem:
        """The problem of networks of n neurons: α = √n in place of "lazy"."""
        require_count("n", n, "100")
        return replace(self, alpha=math.sqrt(n)) if self.alpha == LAZY else self

    @property
    def is_noisy(self) -> bool:
        """Whether the temperature is positive."""
        return math.isfinite(self.beta)

    @property
    def risk_falls(self) -> bool:
        """Whether the risk falls along the flow: it is all that the neurons descend on, and nothing kicks them."""
        return not self.is_noisy and self.ridge == 0

    @property
    def D(self) -> int:
        """Number of parameters of a neuron, the width of θ in full coordinates."""
        return self.neuron.size(require_finite(self.data.d, "neurons"))

    @cached_property
    def full(self) -> Coordinates:
        """The columns of θ in full coordinates."""
        scalars, letter = self.neuron.scalars, "theta" if isinstance(self.neuron, Custom) else "w"
        if not self.groups:
            return Coordinates(scalars, self.D - len(scalars), letter=letter)
        require_finite(self.data.d, "neurons")
        return Coordinates(scalars, self.kept, widths=tuple(int(g.d) for g in self.groups), letter=letter)

    @cached_property
    def reduced(self) -> Coordinates:
        """The columns of θ in reduced coordinates; the full ones if nothing can be reduced."""
        if not self.groups:
            return self.full
        return Coordinates(self.neuron.scalars, self.kept, tuple(float(g.d) for g in self.groups))

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the columns of θ in full coordinates."""
        return self.full.names

    @property
    def reduced_coordinates(self) -> tuple[str, ...]:
        """Names of the columns of θ in reduced coordinates; the full ones if nothing can be reduced."""
        return self.reduced.names

    @property
    def kept(self) -> int:
        """How many coordinates of the inner weights a reduction keeps; they come first."""
        return self.data.kept if isinstance(self.neuron, Ridge) else self.neuron.D

    @property
    def groups(self) -> tuple[Group, ...]:
        """Groups of directions of which a reduction keeps the radius alone."""
        return self.data.groups if isinstance(self.neuron, Ridge) else ()

    @property
    def no_reduction(self) -> str:
        """Why the landscape in reduced coordinates would not be exact; empty if it is, or if nothing can be reduced."""
        return self.data.no_reduction if self.groups else ""

    def sample_initial(self, key: Array, n: int) -> Array:
        """n neurons drawn from ρ_0 in full coordinates, (n, D)."""
        law = self.initial
        require_count("n", n, "100")
        if isinstance(law, Explicit):
            require(
                law.theta.shape == (n, self.D) and not (self.groups and self.starts_reduced),
                f"the explicit start must have shape (n, D) = ({n}, {self.D}) here",
                law.theta.shape,
                "change n or the array",
            )
            return jnp.asarray(law.theta)
        require_key(key)
        if isinstance(law, Paired):
            return self.both_signs(self.unpaired.sample_initial(key, self.pairs(n)))
        keys = dict(zip(("a", "b", "w"), jax.random.split(key, 3), strict=True))
        scalars = [self.start_of(name).sample(keys[name], n)[:, None] for name in self.neuron.scalars]
        return jnp.concatenate([*scalars, law.inner(keys["w"], n, self.D - len(scalars))], axis=1)

    @property
    def unpaired(self) -> Problem:
        """The problem that starts with one neuron of each pair."""
        return replace(self, initial=self.initial.start) if isinstance(self.initial, Paired) else self

    def pairs(self, n: int) -> int:
        """How many pairs n neurons of a paired start are."""
        require(n % 2 == 0, "a paired start needs an even number of neurons", n, f"try {n + 1}")
        return n // 2

    def both_signs(self, theta: Array) -> Array:
        """Neurons (…, m, D), and after them the same ones with −a, (…, 2m, D)."""
        return jnp.concatenate([theta, theta.at[..., 0].multiply(-1.0)], axis=-2)

    def start_of(self, scalar: str) -> ScalarLaw:
        """The law a scalar starts from."""
        require_known("scalar of the neuron", scalar, self.neuron.scalars)
        law: ScalarLaw = getattr(self.initial, scalar)
        return law

    def __str__(self) -> str:
        """The problem, its reduction and its equations in plain symbols."""
        return describe(self)
