"""Records on disk: a saved run is read back with the problem and the method it belongs to."""

from __future__ import annotations

import os

from widelimit.dynamics.solve import DYNAMICS
from widelimit.errors import InputError
from widelimit.experiments.spec import Spec
from widelimit.solving.driver import Request
from widelimit.solving.solution import Solution, read_dataset


def load(path: str | os.PathLike) -> Solution:
    """Read what `Solution.save` wrote; its ``problem``, ``method`` and ``rerun()`` come from the spec inside it."""
    dataset = read_dataset(path)
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
