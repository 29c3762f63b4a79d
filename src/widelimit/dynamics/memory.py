"""How much memory a run takes, from its shapes alone.

    neurons   R n D numbers in several copies: the state before and after, and the stages of the solver
    saves     R n D' numbers for each, twice: as they come, and stacked
    pairs     n² numbers in several copies where the landscape is a sum over pairs, else n Q features in chunks

A run that cannot fit is refused before anything is computed.
"""

from __future__ import annotations

import contextlib
import math
import os
from pathlib import Path
from typing import NamedTuple

from widelimit.dynamics.methods import GD, JKO, SGD, FiniteVolume, MeanField, Method, Tangent, TangentSGD
from widelimit.errors import InputError
from widelimit.potentials.landscapes import landscape
from widelimit.potentials.pairwise_landscape import PairwiseLandscape
from widelimit.problem.problem import Problem
from widelimit.solving.settings import Settings

GIB = 2**30
COPIES = 4  # of the neurons in a discrete dynamics: before and after, samples and noise
STAGES = 12  # of the neurons in an adaptive solver
PAIRS = 5  # matrices of all pairs at once
CHUNK = 2**22  # features of a chunk, at most
CELLS = 400


class Need(NamedTuple):
    """Bytes that a run needs."""

    neurons: float
    saves: float
    pairs: float

    @property
    def total(self) -> float:
        """All together."""
        return sum(self)


def need(problem: Problem, method: Method, settings: Settings) -> Need:
    """What a run needs at least."""
    reduced = problem.reduced.D
    if isinstance(method, FiniteVolume | JKO):
        rows = (method.cells or CELLS) ** min(reduced, 2) if isinstance(method, FiniteVolume) else method.cells or CELLS
        return Need(8.0 * STAGES * rows, 16.0 * len(settings.times) * rows, 8.0 * min(rows * 100, CHUNK))
    n = method.points if isinstance(method, MeanField) else method.n
    full = isinstance(method, SGD | TangentSGD) or (not isinstance(method, MeanField) and method.coordinates == "full")
    columns = problem.D if full else reduced
    replicas, copies = (
        settings.replicas or 1,
        COPIES if isinstance(method, SGD | GD) else STAGES * (1 + isinstance(method, Tangent)),
    )
    kept = problem.D if settings.keep == "full" else reduced
    land = landscape(problem, reduced=not full)
    pairs = PAIRS * float(n) ** 2 if isinstance(land, PairwiseLandscape) else min(3.0 * n * land.size, 3 * CHUNK)
    each = float(replicas) * n
    return Need(8 * copies * each * columns, 16 * each * kept * len(settings.times), 8 * pairs)


def require_room(problem: Problem, method: Method, settings: Settings) -> None:
    """Refuse a run that cannot fit in the memory of this machine."""
    wanted, free = need(problem, method, settings).total, available()
    if wanted > free:
        raise InputError(
            f"{type(method).__name__} must fit in the memory of this machine, {free / GIB:.3g} GiB, got a run that "
            f"needs {wanted / GIB:.3g} GiB: use fewer neurons, points, replicas or saves."
        )


def available() -> float:
    """Bytes of memory that are free here; infinite where nobody says."""
    found = [math.inf]
    with contextlib.suppress(OSError, ValueError, AttributeError):
        found = [float(os.sysconf("SC_AVPHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")]
    with contextlib.suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        found = [1024 * float(line.split()[1]) for line in lines if line.startswith("MemAvailable")] or found
    with contextlib.suppress(OSError, ValueError):  # the limit of a container
        limit, used = (float(Path(f"/sys/fs/cgroup/memory.{name}").read_text()) for name in ("max", "current"))
        found.append(limit - used)
    return min(found)
