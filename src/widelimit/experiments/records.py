"""Records on disk: a saved run is read back with its problem and its method, a comparison with its runs."""

from __future__ import annotations

import os

import xarray as xr

from widelimit.arguments import path_of
from widelimit.dynamics.solve import DYNAMICS
from widelimit.errors import InputError
from widelimit.experiments.spec import Spec
from widelimit.solving.driver import Request
from widelimit.solving.solution import Solution
from widelimit.solving.whole_files import read_record
from widelimit.theory.gap.coupling import Comparison


def load(path: str | os.PathLike) -> Solution | Comparison:
    """Read what `Solution.save` or `Comparison.save` wrote; a file that is damaged in any way is refused.

    The ``problem``, ``method`` and ``rerun()`` of a solution come from the spec inside it.

    >>> import tempfile
    >>> import widelimit as wl
    >>> problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("erf"), wl.initial.gaussian(1.0))
    >>> run = wl.solve(problem, wl.SGD(n=10, step=0.01), t_end=0.1, save=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(wl.load(run.save(f"{folder}/run.nc")).method)
    SGD(n=10, step=0.01)
    """
    whole, *others = read_record(path_of("load", path)).items()
    solutions = {group.strip("/"): dataset for group, dataset in others}
    for dataset in solutions.values() if "dynamics" in whole[1] else (whole[1],):
        if "risk" not in dataset or "outcome" not in dataset.attrs:
            raise InputError(f"load needs a file written by save, got {str(path)!r}: it has no risk or outcome.")
    if "dynamics" not in whole[1]:
        return _solution(whole[1])
    names = [str(name) for name in whole[1]["dynamics"].values]
    return Comparison(whole[1], {name: _solution(solutions[name]) for name in names})


def _solution(dataset: xr.Dataset) -> Solution:
    text = dataset.attrs.get("spec", "")
    if not text:
        return Solution(dataset)
    try:
        spec = Spec.from_toml(text)
    except InputError as error:  # such as a data file that is gone: the numbers are still there
        dataset.attrs["spec_error"] = str(error)
        return Solution(dataset)
    (method,) = spec.methods
    return Solution(dataset, Request(spec.problem, method, spec.plain(), DYNAMICS[type(method)]))
