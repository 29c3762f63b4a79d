"""Where a run stands after a save, and how a record keeps it, so that a stopped run can go on to the same bits.

    state_0, state_1, …     the leaves of the state and of what goes with it, in the order of JAX, if it was interrupted
    state_at                its time, of the last save or later

Every dynamics goes from save to save, and between saves from leg to leg, so a run that goes on from the state at the
end of one makes the same compiled calls as one that was never stopped. What the state means is known to its dynamics
alone: the record keeps the arrays, and the dynamics made ready again has their places.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax.sharding import NamedSharding

from widelimit.errors import InputError
from widelimit.solving.protocol import Run, State
from widelimit.solving.recorder import Variable

PREFIX = "state_"
AT = f"{PREFIX}at"


class Stand(NamedTuple):
    """Where a run stands.

    state   of the dynamics
    memory  its choices, None if it makes none
    twin    what its twin holds, None without one
    saves   how many are behind it
    at      the time of the state: that of the last save, or later
    """

    state: State
    memory: State
    twin: State
    saves: int
    at: float

    def variables(self) -> dict[str, Variable]:
        """The leaves, as variables of a dataset."""
        leaves = (np.asarray(leaf) for leaf in jax.tree.leaves(self[:3]))
        names = ((f"{PREFIX}{i}", leaf) for i, leaf in enumerate(leaves))
        found: dict[str, Variable] = {
            name: (tuple(f"{name}_{k}" for k in range(leaf.ndim)), leaf, {}) for name, leaf in names
        }
        return {**found, AT: ((), np.asarray(self.at), {})}

    def reached(self, dataset: xr.Dataset) -> Stand:
        """Where a record stands; this is where its run began."""
        start, places = jax.tree.flatten(self[:3])
        names = [f"{PREFIX}{i}" for i in range(len(start))]
        if not all(name in dataset for name in names):
            raise InputError("resume needs the state of the run, got a record without it: run it again.")
        leaves = [_like(old, dataset[name].values) for old, name in zip(start, names, strict=True)]
        state, memory, twin = jax.tree.unflatten(places, leaves)
        at = float(dataset[AT] if AT in dataset else dataset["time"].values[-1])
        return Stand(state, memory, twin, dataset.sizes["time"], at)


def recalled(run: Run) -> State:
    """What a run has chosen."""
    return None if run.memory is None else run.memory.recall()


def remind(run: Run, choices: State) -> None:
    """Let a run go on with earlier choices."""
    if run.memory is not None:
        run.memory.restore(choices)


def _like(old: State, new: np.ndarray) -> State:
    """A leaf from a record, as the one it comes after: of JAX or of NumPy; a number may have become one per replica."""
    if isinstance(old, jax.Array):
        return jax.device_put(new, old.sharding) if isinstance(old.sharding, NamedSharding) else jnp.asarray(new)
    return new if isinstance(old, np.ndarray) or new.ndim else type(old)(new)
