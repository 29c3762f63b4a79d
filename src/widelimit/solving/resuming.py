"""Where a run stands after a save, and how a record keeps it, so that a stopped run can go on to the same bits.

    state_0, state_1, …     the leaves of the state and of what goes with it, in the order of JAX, if it was interrupted
    state_at                its time, of the last save or later
    state_midway_0, …       how far the solver of a flow had come from there, if it was between two calls
    state_twin_at           the time of the state of its twin, if that had left the last save
    state_twin_midway_0, …  how far the solver of the twin had come from there

Every dynamics goes from save to save, between saves from leg to leg, and an adaptive flow from call to call in a leg.
So a run that goes on from the state at the end of one makes the same compiled calls as one that was never stopped. What
the state means is known to its dynamics alone: the record keeps the arrays, and the dynamics made ready again has their
places.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax.sharding import NamedSharding

from widelimit.errors import InputError
from widelimit.solving.adaptive import Midway, Reached, Span
from widelimit.solving.protocol import Run, State
from widelimit.solving.recorder import Variable
from widelimit.solving.straying import Strayed

PREFIX = "state_"
AT, MIDWAY = f"{PREFIX}at", f"{PREFIX}midway_"
TWIN_AT, TWIN_MIDWAY = f"{PREFIX}twin_at", f"{PREFIX}twin_midway_"


class Behind(NamedTuple):
    """Where a twin that has left the last save is: the time of its state, and how far beyond it its solver has come."""

    at: float
    midway: Midway | None


class Stand(NamedTuple):
    """Where a run stands.

    state   of the dynamics
    memory  its choices, None if it makes none
    twin    what its twin holds, None without one
    strayed how far its risk may have strayed
    saves   how many there are so far
    at      the time of the state: that of the last save, or later
    midway  how far beyond it a flow has come, None if not at all
    behind  where its twin is since it left the last save, None if it is still there
    """

    state: State
    memory: State
    twin: State
    strayed: Strayed
    saves: int
    at: float
    midway: Midway | None = None
    behind: Behind | None = None

    def variables(self) -> dict[str, Variable]:
        """The leaves, as variables of a dataset."""
        twin_at, twin_midway = self.behind or (None, None)
        parts = {PREFIX: self[:4], MIDWAY: self.midway, TWIN_MIDWAY: twin_midway}
        leaves = {f"{name}{i}": leaf for name, part in parts.items() for i, leaf in enumerate(jax.tree.leaves(part))}
        found: dict[str, Variable] = {
            name: (tuple(f"{name}_{k}" for k in range(np.ndim(leaf))), np.asarray(leaf), {})
            for name, leaf in leaves.items()
        }
        times = {AT: self.at} if twin_at is None else {AT: self.at, TWIN_AT: twin_at}
        return {**found, **{name: ((), np.asarray(t), {}) for name, t in times.items()}}

    def reached(self, dataset: xr.Dataset) -> Stand:
        """Where a record stands; this is where its run began."""
        state, memory, twin, strayed = _read(self[:4], dataset, PREFIX)
        at = float(dataset[AT] if AT in dataset else dataset["time"].values[-1])
        midway, behind = _midway(self.state, dataset, MIDWAY), None
        if TWIN_AT in dataset:
            behind = Behind(float(dataset[TWIN_AT]), _midway(self.twin.state, dataset, TWIN_MIDWAY))
        return Stand(state, memory, twin, strayed, dataset.sizes["time"], at, midway, behind)


def _midway(state: State, dataset: xr.Dataset, prefix: str) -> Midway | None:
    """Where a solver was between two calls, if it was; the state is that at the beginning of the run."""
    begun = Midway(Reached.begun(state, Span(0.0, 1.0)), 0)
    return _read(begun, dataset, prefix) if f"{prefix}0" in dataset else None


def _read(like: State, dataset: xr.Dataset, prefix: str) -> State:
    """What a record has in the places of a pytree."""
    start, places = jax.tree.flatten(like)
    names = [f"{prefix}{i}" for i in range(len(start))]
    if not all(name in dataset for name in names):
        raise InputError("resume needs the state of the run, got a record without it: run it again.")
    leaves = [_like(old, dataset[name].values) for old, name in zip(start, names, strict=True)]
    return jax.tree.unflatten(places, leaves)


def recalled(run: Run) -> State:
    """What a run has chosen."""
    return None if run.memory is None else run.memory.recall()


def midway_of(run: Run) -> Midway | None:
    """Where between two times a run pauses."""
    return None if run.memory is None else run.memory.midway


def remind(run: Run, choices: State, midway: Midway | None = None) -> None:
    """Let a run go on with earlier choices, from where it paused."""
    if run.memory is not None:
        run.memory.restore(choices)
        run.memory.midway = midway


def _like(old: State, new: np.ndarray) -> State:
    """A leaf from a record, as the one it comes after: of JAX or of NumPy; a number may have become one per replica."""
    if isinstance(old, jax.Array):
        return jax.device_put(new, old.sharding) if isinstance(old.sharding, NamedSharding) else jnp.asarray(new)
    return new if isinstance(old, np.ndarray) or new.ndim else type(old)(new)
