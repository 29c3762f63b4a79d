"""What an engine with two workers takes beside the runs themselves, for many tiny runs.

wall       seconds of the whole sweep, from the start of the workers to the dataset
compute    seconds that the runs took, as their records say
overhead   (wall − compute / workers) / runs, milliseconds
busy       seconds of the processor that driver and workers took, their start included; on as many cores as workers the
           wall has at least busy / workers, however busy the machine is with other things
peak       most memory of the process that drives the sweep, MiB

python -m widelimit_benchmarks.engine_speed 200 1000      each number of runs in a process of its own
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time

from widelimit.dynamics.methods import SGD
from widelimit.experiments.engine import Engine
from widelimit.experiments.spec import Spec
from widelimit.experiments.store import Store
from widelimit.experiments.sweep import sweep
from widelimit.problem.activations import polynomial
from widelimit.problem.data import gaussian_classes
from widelimit.problem.initial import gaussian
from widelimit.problem.neurons import ridge
from widelimit.problem.problem import Problem

WORKERS = 2


def spec() -> Spec:
    """Six neurons, thirty steps."""
    problem = Problem(gaussian_classes(20, 0.5), ridge(polynomial([0.2, 1.0, 0.3])), gaussian(0.8))
    return Spec(problem, (SGD(6, 0.003),), t_end=0.1, save=3)


def measure(runs: int) -> dict[str, float]:
    """A sweep over so many seeds, into an empty store, in this process."""
    began, before = time.perf_counter(), busy()
    with tempfile.TemporaryDirectory() as folder:
        found = sweep(spec(), {"seed": {"seeds": runs}}, store=Store(folder), engine=Engine(workers=WORKERS)).dataset
        wall, spent = time.perf_counter() - began, busy() - before
    compute = float(found["wall_time"].sum())
    assert (found["outcome"] == "done").all()
    return {"runs": runs, "wall": wall, "compute": compute, "busy": spent,
            "overhead": 1e3 * (wall - compute / WORKERS) / runs,
            "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10}  # fmt: skip


def busy() -> float:
    """Seconds of the processor that this process and those it has started and seen end have taken."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def measure_apart(runs: int) -> dict[str, float]:
    """The same in a process of its own, whose memory is that of this sweep alone."""
    code = f"import json; from {__spec__.name} import measure; print(json.dumps(measure({runs})))"
    told = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(told)


if __name__ == "__main__":
    print(json.dumps([measure_apart(int(runs)) for runs in sys.argv[1:] or ("200", "1000")], indent=2))
