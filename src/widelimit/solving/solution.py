"""The result of a run: a labelled dataset, and views of it as measures.

risk     (time)                       R(ρ_t)
risk_error  (time)                    how far it may be off
theta    (time, neuron, coordinate)   the neurons, in reduced coordinates unless asked otherwise
weights  (neuron)
final    (neuron, final_coordinate)   the last neurons in the coordinates the dynamics ran in

With replicas, risk, theta and final have a first dimension "replica". A density has instead of neurons

masses         (time, cell, …)        masses of the cells
edges_r, …     (time, edge)           of the cells of every coordinate
free_energy    (time)                 F(ρ_t)
"""

from __future__ import annotations

import math
import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import xarray as xr

from widelimit.arguments import record_path
from widelimit.errors import InputError, is_finite, is_whole, require
from widelimit.frozen import Value, public_names
from widelimit.measures import Cloud, Measure
from widelimit.problem.problem import Problem
from widelimit.solving.recorder import density_in
from widelimit.solving.settings import Settings
from widelimit.solving.whole_files import write_record


class Rerunnable(Protocol):
    """What a run was asked for, and the way to ask again."""

    @property
    def problem(self) -> Problem:
        """What was solved."""

    @property
    def method(self) -> Value:
        """How."""

    @property
    def settings(self) -> Settings:
        """How long, from which seed, with which saves."""

    def run(self, before: Solution | None = None) -> Solution:
        """Run it again, or go on from where an interrupted run stopped."""


@dataclass(frozen=True, eq=False)
class Solution:
    """What `solve` returns: everything is in ``dataset``, and this class reads it.

    source   the record in a store that it was read from; None if it was computed just now

    >>> import widelimit as wl
    >>> problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("erf"), wl.initial.gaussian(1.0))
    >>> wl.solve(problem, wl.SGD(n=10, step=0.01), t_end=0.1, save=3).final.n
    10
    """

    dataset: xr.Dataset
    request: Rerunnable | None = None
    source: Path | None = None

    def __post_init__(self) -> None:
        good = isinstance(self.dataset, xr.Dataset)
        require(good, "a Solution needs an xarray.Dataset", type(self.dataset).__name__, "use wl.solve or wl.load")

    def __dir__(self) -> list[str]:
        return public_names(super().__dir__())

    @property
    def times(self) -> np.ndarray:
        """Save times t, (time,)."""
        return self.dataset["time"].values

    @property
    def risk(self) -> np.ndarray:
        """R(ρ_t), (time,), or (replica, time)."""
        return self.dataset["risk"].values

    @property
    def error(self) -> np.ndarray:
        """How far the risk may be off, (time,), or (replica, time); NaN where that was not measured.

        It covers the nodes, orders and draws that stand for the data law, slopes that are not exact, and the points,
        cells or steps that carry the limit: these need ``check`` of the method, without which the error is NaN. Draws
        that neurons descend on count by the distance to a run on half as many. The step of SGD and GD does not count:
        it is part of what they are.
        """
        return self.dataset["risk_error"].values if "risk_error" in self.dataset else np.full_like(self.risk, np.nan)

    @property
    def name(self) -> str:
        """Name of the dynamics, such as "SGD"."""
        return self.dataset.attrs["method"]

    @property
    def problem(self) -> Problem:
        """The problem that was solved."""
        return self._asked().problem

    @property
    def method(self) -> Value:
        """The method it was solved with."""
        return self._asked().method

    @property
    def settings(self) -> Settings:
        """Horizon, seed, saves, replicas."""
        return self._asked().settings

    @property
    def spec(self) -> str:
        """The whole run as the text of a spec file; an InputError says what has no form in a file."""
        if not self.dataset.attrs["spec"]:
            raise InputError(self.dataset.attrs["spec_error"])
        return self.dataset.attrs["spec"]

    def rerun(self) -> Solution:
        """The same run again, from its problem, method and settings."""
        return self._asked().run()

    def _asked(self) -> Rerunnable:
        if self.request is None:
            raise InputError(
                self.dataset.attrs.get("spec_error")
                or "a run can be rebuilt from its spec, got a record without one: solve it again."
            )
        return self.request

    @property
    def outcome(self) -> str:
        """ "done", "diverged", "stopped" if the solver gave up on the way, or "interrupted"."""
        return self.dataset.attrs["outcome"]

    @property
    def advice(self) -> str:
        """What to do about an outcome other than "done"; of a run that is done, about a step longer than the run, one
        that lets the risk end above its start, one of SGD that is stable but large for d, or steps of JKO whose minimum
        was not found; else empty."""
        return self.dataset.attrs["advice"]

    @property
    def notes(self) -> str:
        """How it was solved where that is not obvious: from when on a flow was stiff."""
        return self.dataset.attrs.get("notes", "")

    @property
    def replicas(self) -> int | None:
        """Number of replicas, None for a single run."""
        return self.dataset.sizes.get("replica")

    def replica(self, r: int) -> Solution:
        """One of the replicas, as a single run."""
        count = self.replicas
        if count is None:
            raise InputError(f"replica needs a solution with replicas, got {self!r}: solve with replicas=16.")
        good = is_whole(r) and -count <= r < count
        require(good, f"the number of a replica must be whole, from 0 to {count - 1}", r, "try replica(0)")
        return Solution(self.dataset.isel(replica=r), self.request, self.source)

    @property
    def is_density(self) -> bool:
        """Whether ρ is a `Density` over cells instead of a cloud of neurons."""
        return "masses" in self.dataset

    @property
    def final(self) -> Measure:
        """The last measure, in the coordinates the dynamics ran in."""
        self._require_single()
        if self.is_density:
            return density_in(self.dataset.isel(time=-1))
        names = tuple(str(c) for c in self.dataset["final_coordinate"].values)
        return Cloud(self.dataset["final"].values, self.dataset["weights"].values, names)

    def at(self, t: float) -> Measure:
        """The measure at the save time nearest to t, which must not lie beyond the last one."""
        self._require_single()
        last = self.times[-1] if len(self.times) else -1.0
        wanted = f"a time must lie within the saved ones, from 0 to {last:g}"
        require(is_finite(t) and t >= 0, wanted, t, f"try at({max(last, 0.0):g})")
        require(t <= last * (1 + 1e-9), wanted, t, "solve with a larger t_end")
        if self.is_density:
            return density_in(self.dataset.sel(time=t, method="nearest"))
        names = tuple(str(c) for c in self.dataset["coordinate"].values)
        return Cloud(self.dataset["theta"].sel(time=t, method="nearest").values, self.dataset["weights"].values, names)

    def _require_single(self) -> None:
        require(self.replicas is None, "a measure belongs to one replica", f"{self.replicas} of them",
                "choose one with solution.replica(0)")  # fmt: skip

    def to_dataframe(self) -> pd.DataFrame:
        """Risk, its error and every observed number over time: a row for each save, and for each replica of it."""
        over = {"time", "replica"} & set(self.dataset["risk"].dims)
        names = [name for name, values in self.dataset.data_vars.items() if set(values.dims) == over]
        return self.dataset[names].to_dataframe().reset_index()

    def save(self, path: str | os.PathLike) -> Path:
        """Write a NetCDF file (.nc), whole or not at all; its folder is made if need be. If the problem has
        no form in a file, a warning says so: the record can then be loaded, but not run again."""
        if not self.dataset.attrs["spec"]:
            warnings.warn(self.dataset.attrs["spec_error"], UserWarning, stacklevel=2)
        return write_record(record_path(path), {"/": self.dataset})

    def __repr__(self) -> str:
        risk = np.mean(self.risk[..., -1]) if len(self.times) else math.nan
        last = f"risk {risk:.6g} at t = {self.times[-1]:g}" if len(self.times) else "nothing saved"
        many = f" {self.replicas} replicas," if self.replicas else ""
        read = "" if self.source is None else f", read from {self.source}"
        return f"<Solution {self.name}:{many} {len(self.times)} saves, {last}, {self.outcome}{read}>"
