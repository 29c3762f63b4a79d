"""Neurons, or replicas, spread over devices.

    θ   (n, D)      n/K neurons on each of K devices, with their weights
    θ   (R, n, D)   R/K replicas on each, with their random streams; only tracers of one limit share that limit
    F = Σ_j p_j Φ(θ_j)                the one thing neurons of different devices have in common: a sum of Q numbers

The arrays are placed by `jax.sharding`, and JAX partitions the compiled functions; it is told the number of devices
while it traces, so that every device has a loop of its own over chunks of neurons (widelimit.potentials.chunks). The
devices are no part of what a run is: sums are taken in another order, so that its numbers agree up to rounding only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import jax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from widelimit.errors import InputError, is_whole, require
from widelimit.potentials.chunks import AXIS
from widelimit.potentials.feature_landscape import FeatureLandscape
from widelimit.solving.protocol import NeuronView, Run, State
from widelimit.solving.replicas import Leg, Plan

Devices = int | Sequence[jax.Device] | None


def mesh_of(devices: Devices) -> Mesh | None:
    """The devices of a run in a row; None for one that is not spread."""
    if devices is None:
        return None
    chosen = _first(devices) if is_whole(devices) else list(devices) if isinstance(devices, Sequence) else []
    good = all(isinstance(one, jax.Device) for one in chosen) and 0 < len(chosen) == len(set(chosen))
    wanted = "devices must be a whole number or a list of different devices of JAX"
    require(good, wanted, devices, "try devices=jax.devices()")
    return jax.make_mesh((len(chosen),), (AXIS,), axis_types=(AxisType.Auto,), devices=chosen)


def _first(count: Any) -> list[jax.Device]:
    """The first devices that JAX has."""
    found = jax.devices()
    on_cpu = found[0].platform == "cpu" and count > len(found)
    more = f"use fewer, or start Python with XLA_FLAGS=--xla_force_host_platform_device_count={count}"
    wanted = f"devices must be from 1 to {len(found)}, as many as JAX has here"
    require(1 <= count <= len(found), wanted, count, more if on_cpu else f"try devices={len(found)}")
    return found[: int(count)]


def at_work(mesh: Mesh | None) -> AbstractContextManager[object]:
    """While this lasts, what is compiled knows over how many devices its rows are spread."""
    return nullcontext() if mesh is None else jax.sharding.use_abstract_mesh(mesh.abstract_mesh)


def spread(run: Run, mesh: Mesh) -> Run:
    """The same run with its neurons, or its replicas, on the devices of a mesh."""
    old, view = run.plan, run.view
    if old is None or not isinstance(view, NeuronView):
        raise InputError("neurons and replicas are spread over devices, got cells or transport plans: drop devices.")
    by_replicas = old.replicas is not None and old.mapping != "shared"
    _check(run.state, old, view, mesh.size)

    def placed(values: State) -> State:
        return jax.tree.map(lambda x: jax.device_put(x, NamedSharding(mesh, PartitionSpec(AXIS))), values)

    weights = old.weights if by_replicas or old.weights is None else placed(old.weights)

    def legs(start: float, stop: float) -> Iterator[Leg]:
        for leg in old.legs(start, stop):
            beside = jax.tree.map(lambda x: weights if x is old.weights else x, leg.dynamics)
            yield leg._replace(dynamics=beside)

    keys = placed(old.keys) if by_replicas else old.keys
    plan = replace(old, legs=legs, keys=keys, mapping="together" if by_replicas else old.mapping, weights=weights)
    if old.replicas is None:
        view = replace(view, weights=placed(view.weights))
    twin = None if run.twin is None else spread(run.twin, mesh)
    return replace(run, state=placed(run.state), plan=plan, advance=plan.advance, view=view, twin=twin)


def _check(state: State, plan: Plan, view: NeuronView, count: int) -> None:
    """Refuse what cannot be spread evenly, or would have to be gathered at every step."""
    if plan.replicas is None:
        require(plan.mapping != "grouped", "SGD has its replicas spread over devices", "a single run", "add replicas")
        met = isinstance(view.land, FeatureLandscape)
        wanted = "neurons are spread over devices where they meet in features, as in reduced coordinates"
        require(met, wanted, f"pairs of neurons in {view.land.coordinates[-1]}", 'use coordinates="reduced"')
    for rows in {len(x) for x in jax.tree.leaves(state)}:
        what = "neurons" if plan.replicas is None else "replicas"
        fits = -(-rows // count) * count
        require(rows % count == 0, f"the number of {what} must be a multiple of that of devices, {count}", rows,
                f"try {fits}")  # fmt: skip
