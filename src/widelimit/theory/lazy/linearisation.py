"""A network beside the same network linearised at its start: how lazy is its training?

    f̄(x; θ) = f(x; θ⁰) + ⟨Df(θ⁰), θ − θ⁰⟩

    moved(t)   = |θ_t − θ⁰|,   apart(t) = |θ_t − θ̄_t|     root mean squares over the neurons
    missed(t)  = ‖f_t − f̄_t‖,                            over the data law
    R(f_t), R(f̄_t)

Both start from the same neurons; with a step both see the same samples, without one both are flows. As the scale α
grows at a fixed horizon and a fixed first residual, moved ~ 1/α, apart ~ 1/α² and missed = O(1/α). A paired start does
better: what is of second order in θ − θ⁰ has one sign for a neuron, the other for its partner −a, and missed ~ 1/α².
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack

import jax.numpy as jnp
import numpy as np
import xarray as xr

from widelimit.arguments import instance_of
from widelimit.dynamics.methods import SGD, Method, ParticleFlow, TangentFlow, TangentSGD
from widelimit.dynamics.solve import solve
from widelimit.errors import require_count, require_keywords, require_known, require_positive
from widelimit.potentials.tangent_landscape import apart, tangent_landscape
from widelimit.problem.problem import Problem
from widelimit.solving.solution import Solution


class LinearOptions(TypedDict, total=False):
    """What may be asked of a linearisation by keyword, see `linearise`."""

    step: float | None
    coordinates: str
    seed: int
    replicas: int | None
    save: int | Sequence[float]
    progress: bool | None


@dataclass(frozen=True, eq=False)
class Linearisation:
    """A network and its tangent model.

    dataset    risk, tangent_risk, moved, apart, missed over ([replica,] time)
    network    the run of the network
    tangent    that of the tangent model

    >>> import widelimit as wl
    >>> neuron, start = wl.neurons.ridge("x", "trained"), wl.initial.gaussian(1.0, a=wl.initial.signs())
    >>> problem = wl.Problem(wl.data.single_index(5, "z"), neuron, wl.initial.paired(start), alpha=50.0)
    >>> both = wl.linearise(problem, n=4, t_end=0.1, coordinates="reduced", save=2)
    >>> bool(both.dataset["missed"][-1] < 1e-2)
    True
    """

    dataset: xr.Dataset
    network: Solution
    tangent: Solution

    @property
    def times(self) -> np.ndarray:
        """Save times t, (time,)."""
        return self.dataset["time"].values

    def last(self, quantity: str) -> float:
        """A quantity at the end, averaged over replicas."""
        require_known("quantity", quantity, [str(name) for name in self.dataset])
        return float(self.dataset[quantity].isel(time=-1).mean())

    def __repr__(self) -> str:
        values = ", ".join(f"{name} {self.last(str(name)):.3g}" for name in self.dataset)
        return f"<Linearisation at t = {self.times[-1]:g}: {values}>"


def linearise(problem: Problem, n: int, t_end: float, **options: Unpack[LinearOptions]) -> Linearisation:
    """Train a network and the same network linearised at its start, from the same neurons.

    n            number of neurons

    and by keyword

    step         ε of SGD on the same samples; gradient flows if left out
    coordinates  of the flows, "full" or "reduced" (by default where the problem has a reduction)
    seed         of every random stream (0)
    replicas     R independent couplings in one go
    save         how many times to save at (21), or the times
    progress     a bar on stderr; by default if it is a terminal

    >>> import widelimit as wl
    >>> start = wl.initial.paired(wl.initial.gaussian(1.0, a=wl.initial.signs()))
    >>> problem = wl.Problem(wl.data.empirical([[1.0], [2.0]], [1.0, -1.0]), wl.neurons.ridge("x", "trained"), start)
    >>> wl.linearise(problem, n=4, t_end=0.1, step=0.05, save=2).last("moved") > 0
    True
    """
    instance_of(Problem, problem, "linearise", "build one first")
    require_count("n", n, "200")
    require_keywords(options, LinearOptions.__annotations__)
    step, problem = options.get("step"), problem.at_width(n)
    exact = "full" if problem.no_reduction or not problem.groups else "reduced"
    coordinates = options.get("coordinates", exact) if step is None else "full"
    require_known("coordinates", coordinates, ("full", "reduced"))
    pair: tuple[Method, Method] = ParticleFlow(n, coordinates), TangentFlow(n, coordinates)
    if step is not None:
        require_positive("step", step, "1e-3")
        pair = SGD(n, step), TangentSGD(n, step)
    network, tangent = (
        solve(
            problem, method, t_end, seed=options.get("seed", 0), replicas=options.get("replicas"),
            save=options.get("save", 21), keep=coordinates, progress=options.get("progress"),
        )
        for method in pair
    )  # fmt: skip
    return Linearisation(_measured(problem, network, tangent, coordinates == "reduced"), network, tangent)


def _measured(problem: Problem, network: Solution, tangent: Solution, reduced: bool) -> xr.Dataset:
    land = tangent_landscape(problem, reduced)
    theta, linear = (run.dataset["theta"].values for run in (network, tangent))  # ([R,] time, n, D)
    start = np.broadcast_to(theta[..., :1, :, :], theta.shape)
    rows, weights = np.concatenate([linear, start], axis=-1), jnp.asarray(network.dataset["weights"].values)
    shape = theta.shape[:-2]
    missed = apart(land, *(jnp.asarray(x.reshape(-1, *x.shape[-2:])) for x in (theta, rows)), weights)
    over = network.dataset["risk"].dims
    values = {
        "risk": network.risk, "tangent_risk": tangent.risk, "moved": _distance(theta, start),
        "apart": _distance(theta, linear), "missed": np.asarray(missed).reshape(shape),
    }  # fmt: skip
    return xr.Dataset({name: (over, value) for name, value in values.items()}, {"time": network.times})


def _distance(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """√(mean_i |θ_i − θ'_i|²)."""
    return np.sqrt(((one - other) ** 2).sum(axis=-1).mean(axis=-1))
