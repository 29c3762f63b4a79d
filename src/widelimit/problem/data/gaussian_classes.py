"""Gaussian classes, told apart by their variance.

    y = y_c with probability p_c,    x | c ~ N(0, Σ_c),
    Σ_c = τ_c² on the informative directions, 1 on the others

    d    d             dimension of x, may be infinite
    τ_c  taus          of each class; two classes of contrast Δ: 1 + Δ (y = 1) and 1 − Δ (y = −1)
    s₀   informative   number of informative directions (None: all of them)

Inside a group of directions the law is rotation invariant: this is what a reduction uses.
Reference: [mmn18], sections on centred isotropic and anisotropic Gaussians.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import DTypeLike

from widelimit.arguments import numbers_of
from widelimit.errors import is_finite, is_number, require
from widelimit.frozen import As, argument, count, static
from widelimit.problem.data.data_law import (
    SAMPLES,
    DataLaw,
    Draw,
    Group,
    Mixture,
    Nodes,
    check_dimension,
    normals,
    require_finite,
)

Numbers = tuple[float, ...]


class GaussianClasses(DataLaw):
    """Gaussian classes x | c ~ N(0, Σ_c), told apart by their variance only.

    d            dimension, a whole number or ``math.inf``
    delta        Δ in (0, 1): two classes, y = 1 with standard deviation 1 + Δ and y = −1 with 1 − Δ
    informative  how many directions are informative; None means all (isotropic). With d = inf, their fraction.
    deviations   instead of delta: the standard deviation of every class on the informative directions
    labels       of the classes (default: evenly spaced from 1 to −1)
    weights      their probabilities, or anything proportional to them (default: equal)
    samples      draws that stand for the law where a custom neuron leaves no formula

    >>> gaussian_classes(d=320, delta=0.5, informative=60).groups[0].tau
    (1.5, 0.5)
    >>> gaussian_classes(d=40, deviations=[0.5, 1.0, 2.0], labels=[0, 1, 0]).classes
    (0.0, 1.0, 0.0)
    """

    word: ClassVar[str] = "gaussian_classes"

    d: float = static()
    delta: float | None = None
    informative: float | None = static(default=None)
    deviations: As[Sequence[float] | None, Numbers | None] = argument(default=None)
    labels: As[Sequence[float] | None, Numbers | None] = argument(default=None)
    weights: As[Sequence[float] | None, Numbers | None] = argument(default=None)
    samples: int = count("4096", default=SAMPLES)

    def validate(self) -> None:
        """One way to tell the classes apart, and as many labels and weights as classes."""
        check_dimension(self.d)
        self._check_informative()
        one = (self.delta is None) != (self.deviations is None)
        require(one, "gaussian_classes needs either delta or deviations", (self.delta, self.deviations),
                "try delta=0.5")  # fmt: skip
        if self.delta is not None:
            good = is_number(self.delta) and 0 < self.delta < 1
            require(good, "delta must lie strictly between 0 and 1", self.delta, "try delta=0.5")
        else:
            self._settle("deviations", 2)
            require(min(self.taus) > 0, "deviations must be positive", self.taus, "try deviations=[1.5, 0.5]")
        count = len(self.taus)
        self._settle("labels", count)
        self._settle("weights", count)
        good = self.weights is None or min(self.weights) > 0
        require(good, "weights must be positive", self.weights, "drop empty classes")
        sizes = tuple(count if x is None else len(x) for x in (self.labels, self.weights))
        require(sizes == (count, count), f"labels and weights must have one value for each of the {count} classes",
                sizes, "give as many as deviations")  # fmt: skip

    def _settle(self, name: str, least: int) -> None:
        """A tuple of at least so many finite numbers."""
        values = getattr(self, name)
        if values is None:
            return
        kind = f"a list of {least} or more numbers"
        numbers = numbers_of(name, values, f"{name}=[1.5, 0.5]", kind)
        require(len(numbers) >= least, f"{name} must be {kind}", values, f"try {name}=[1.5, 0.5]")
        self.settle(**{name: numbers})

    def _check_informative(self) -> None:
        s = self.informative
        if s is None:
            return
        if math.isinf(self.d):
            require(
                is_number(s) and 0 < s < 1,
                "with d = inf, informative is the fraction of informative directions, strictly between 0 and 1",
                s,
                "try informative=0.2",
            )
            return
        require(
            is_finite(s) and s == int(s) and 1 <= s <= self.d,
            f"informative must be a whole number from 1 to d = {int(self.d)}",
            s,
            "lower it, raise d, or leave it out to make every direction informative",
        )

    @property
    def taus(self) -> Numbers:
        """τ_c of every class on the informative directions."""
        return (1 + self.delta, 1 - self.delta) if self.delta is not None else self.deviations or ()

    @property
    def classes(self) -> Numbers:
        """y_c of every class."""
        count = len(self.taus)
        return self.labels if self.labels is not None else tuple(1 - 2 * i / (count - 1) for i in range(count))

    @property
    def probabilities(self) -> Numbers:
        """p_c of every class."""
        shares = self.weights if self.weights is not None else (1.0,) * len(self.taus)
        total = sum(shares)
        return tuple(p / total for p in shares)

    @property
    def kept(self) -> int:
        """No coordinate by itself."""
        return 0

    @property
    def groups(self) -> tuple[Group, ...]:
        """The rotation-invariant groups of directions, informative ones first."""
        s, d = self.informative, self.d
        if s is None or s == d:
            return (Group(d, 1.0, self.taus),)
        inside, outside, share = (d, d, s) if math.isinf(d) else (s, d - s, s / d)
        return Group(inside, share, self.taus), Group(outside, 1 - share, (1.0,) * len(self.taus))

    @cached_property
    def quadrature(self) -> Nodes:
        """One node for each class."""
        return Nodes(np.zeros((len(self.taus), 0)), np.array(self.probabilities), np.array(self.classes))

    @property
    def mixture(self) -> Mixture:
        """The classes themselves."""
        return Mixture(self.probabilities, self.classes, tuple((int(g.d), g.tau) for g in self.groups))

    @property
    def sentence(self) -> str:
        """The law in symbols."""
        where = "" if self.informative is None else f" on {self.informative:g} informative directions, 1 on the others"
        rows = ", ".join(
            f"y = {y:g} with probability {p:.3g} and τ = {t:g}"
            for y, p, t in zip(self.classes, self.probabilities, self.taus, strict=True)
        )
        return f"x | y ~ N(0, τ² I){where}; {rows}"

    def sample(self, key: Array, n: int, dtype: DTypeLike) -> tuple[Array, Array]:
        """n fresh pairs: x of shape (n, d), y of shape (n,)."""
        which, noise = jax.random.split(key)
        return self._inside(self._classes(which, n), normals(noise, (n, require_finite(self.d, "samples")), dtype))

    def draws(self, key: Array, n: int) -> Draw:
        """At least n draws, equally many in each class."""
        classes = len(self.taus)
        each = max(2, -(-n // classes))
        z = normals(key, (classes * each, require_finite(self.d, "samples")), float)
        x, y = self._inside(lambda values: jnp.repeat(jnp.asarray(values), each), z)
        return Draw(x, y, jnp.asarray(self.probabilities))

    def _inside(self, pick: Callable[[Numbers], Array], z: Array) -> tuple[Array, Array]:
        """Normals z (n, d) brought to the deviations of their classes, and the labels."""
        n, dtype = len(z), z.dtype
        scales = [jnp.broadcast_to(pick(g.tau).astype(dtype)[:, None], (n, int(g.d))) for g in self.groups]
        scale = scales[0][:, :1] if len(scales) == 1 else jnp.concatenate(scales, axis=1)
        return z * scale, pick(self.classes).astype(dtype)

    def _classes(self, key: Array, n: int) -> Callable[[Numbers], Array]:
        """Draw n classes; returns the function that looks up a value of each."""
        if self.weights is None and len(self.taus) == 2:
            first = jax.random.bernoulli(key, 0.5, (n,))
            return lambda values: jnp.where(first, values[0], values[1])
        choice = jax.random.choice(key, len(self.taus), (n,), p=jnp.asarray(self.probabilities))
        return lambda values: jnp.asarray(values)[choice]


gaussian_classes = GaussianClasses
