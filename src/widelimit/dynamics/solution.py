"""The result of a run: a labelled dataset, and views of it as measures.

risk     (time)                       R(ρ_t)
theta    (time, neuron, coordinate)   the neurons, in reduced coordinates unless asked otherwise
weights  (neuron)
final    (neuron, full coordinate)    the last neurons in the coordinates the dynamics ran in
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from widelimit.errors import InputError
from widelimit.measures import Cloud

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, eq=False)
class Solution:
    """What `solve` returns: everything is in ``dataset``, and this class reads it."""

    dataset: xr.Dataset

    @property
    def times(self) -> np.ndarray:
        """Save times t, (time,)."""
        return self.dataset["time"].values

    @property
    def risk(self) -> np.ndarray:
        """R(ρ_t), (time,)."""
        return self.dataset["risk"].values

    @property
    def method(self) -> str:
        """Name of the dynamics."""
        return self.dataset.attrs["method"]

    @property
    def spec(self) -> dict[str, Any]:
        """Problem, method, horizon and seed, as text."""
        return json.loads(self.dataset.attrs["spec"])

    @property
    def outcome(self) -> str:
        """ "done", "diverged" or "interrupted"."""
        return self.dataset.attrs["outcome"]

    @property
    def advice(self) -> str:
        """What to do about an outcome other than "done"."""
        return self.dataset.attrs["advice"]

    @property
    def final(self) -> Cloud:
        """The last measure, in the coordinates the dynamics ran in."""
        names = tuple(str(c) for c in self.dataset["final_coordinate"].values)
        return Cloud(self.dataset["final"].values, self.dataset["weights"].values, names)

    def at(self, t: float) -> Cloud:
        """The measure at the save time nearest to t."""
        names = tuple(str(c) for c in self.dataset["coordinate"].values)
        return Cloud(self.dataset["theta"].sel(time=t, method="nearest").values, self.dataset["weights"].values, names)

    def save(self, path: str | os.PathLike) -> Path:
        """Write a NetCDF file, whole or not at all; its folder is made if need be."""
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}.part")
        self.dataset.to_netcdf(partial, engine="h5netcdf")
        partial.replace(target)
        return target

    def __repr__(self) -> str:
        last = f"risk {self.risk[-1]:.6g} at t = {self.times[-1]:g}" if len(self.times) else "nothing saved"
        return f"<Solution {self.method}: {len(self.times)} saves, {last}, {self.outcome}>"


def load(path: str | os.PathLike) -> Solution:
    """Read what `Solution.save` wrote."""
    import xarray as xr

    if not Path(path).is_file():
        raise InputError(f"load needs a file written by Solution.save, got {str(path)!r}: check the path.")
    try:
        dataset = xr.load_dataset(path, engine="h5netcdf")
    except OSError as error:
        raise InputError(f"load needs a NetCDF file, got {str(path)!r}: it cannot be read ({error}).") from error
    if "risk" not in dataset or "outcome" not in dataset.attrs:
        raise InputError(f"load needs a file written by Solution.save, got {str(path)!r}: it has no risk or outcome.")
    return Solution(dataset)
