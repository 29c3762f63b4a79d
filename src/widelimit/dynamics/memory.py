"""How much memory a run takes, from its shapes alone.

    neurons   R n D numbers in several copies: the state before and after, and the stages of the solver
    saves     R n D' numbers for each, twice: as they come, and stacked
    pairs     n² numbers in several copies where the landscape is a sum over pairs; else n Q features in chunks; cells
              hold all their features, and transport between the cells of a grid n² numbers too. SGD, which needs the
              landscape for risks only, holds a bounded part of the n², and n numbers for every sample of a block

A run that cannot fit is refused before anything is computed.
"""

from __future__ import annotations

import contextlib
import math
import os
from pathlib import Path
from typing import NamedTuple

from widelimit.dynamics.block_layout import BLOCK_ROWS
from widelimit.dynamics.finite_volume import grid
from widelimit.dynamics.jko import entropic, points, quantiles
from widelimit.dynamics.methods import GD, JKO, SGD, FiniteVolume, Limit, MeanField, Method, Tangent, TangentSGD
from widelimit.errors import InputError
from widelimit.potentials.landscapes import landscape
from widelimit.potentials.pairwise_landscape import PAIRS, PairwiseLandscape
from widelimit.problem.problem import Problem
from widelimit.solving.replicas import GROUP
from widelimit.solving.settings import Settings
from widelimit.solving.threads import CORES

GIB = 2**30
COPIES = 4  # of the neurons in a discrete dynamics: before and after, samples and noise
IN_BLOCKS = 8  # in SGD: at both ends of a block and inside it, before and after; samples and noise
STAGES = 12  # of the neurons in an adaptive solver
MATRICES = 5  # of all pairs, or of the samples of a block and the neurons, at once
CHUNK = 2**22  # features of a chunk, at most
HELD = 2  # times the features of all cells: in chunks and joined
CGROUP = Path("/sys/fs/cgroup")


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
    reduced, saves = problem.reduced.D, len(settings.times)
    if isinstance(method, FiniteVolume) or (isinstance(method, JKO) and problem.is_noisy):
        rows = float(cells_of(problem, method))
        features = HELD * rows * landscape(problem, reduced=True).size
        plans = MATRICES * rows**2 if isinstance(method, JKO) and reduced > 1 else 0.0
        return Need(8 * STAGES * rows, 16 * saves * rows, 8 * (features + plans))
    n = _neurons(method)
    full = isinstance(method, SGD | TangentSGD) or (not isinstance(method, Limit) and method.coordinates == "full")
    columns = problem.D if full else reduced
    replicas, copies = settings.replicas or 1, STAGES * (1 + isinstance(method, Tangent))
    if isinstance(method, SGD | GD):
        copies = IN_BLOCKS if isinstance(method, SGD) else COPIES
    kept = problem.D if settings.keep == "full" else reduced
    land = landscape(problem, reduced=not full)
    pairs = min(3.0 * n * land.size, 3 * CHUNK)
    if isinstance(land, PairwiseLandscape):
        pairs = MATRICES * (min(float(n) ** 2, PAIRS) if isinstance(method, SGD) else float(n) ** 2)
    if isinstance(method, SGD):
        pairs += MATRICES * max(BLOCK_ROWS, method.batch) * float(n) * min(replicas, GROUP * CORES)
    each = float(replicas) * n
    return Need(8 * copies * each * columns, 16 * each * kept * saves, 8 * pairs)


def cells_of(problem: Problem, method: FiniteVolume | JKO) -> int:
    """Cells at the start of a run on cells; coordinates that do not move have one for each of their atoms."""
    if isinstance(method, JKO):
        one = problem.reduced.D == 1
        return method.cells or quantiles.CELLS if one else (method.cells or entropic.CELLS) ** 2
    axes = grid.initial_grid(problem, 1, method.box)[0].axes
    count = method.cells or grid.CELLS[len(axes)]
    return math.prod(axis.cells if axis.dimension == 0 else count for axis in axes)


def _neurons(method: Method) -> int:
    """Neurons, or points that stand for them."""
    if isinstance(method, JKO):
        return method.cells or points.POINTS
    return method.points if isinstance(method, MeanField) else method.n  # type: ignore[union-attr]


def require_room(problem: Problem, method: Method, settings: Settings) -> None:
    """Refuse a run that cannot fit in the memory of this machine."""
    wanted, free = need(problem, method, settings).total, available()
    if wanted > free:
        raise InputError(
            f"{type(method).__name__} must fit in the memory of this machine, {free / GIB:.3g} GiB, got a run that "
            f"needs {wanted / GIB:.3g} GiB: use fewer neurons, points, cells, replicas or saves."
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
        limit, used = (float((CGROUP / f"memory.{name}").read_text()) for name in ("max", "current"))
        parts = dict(line.split() for line in (CGROUP / "memory.stat").read_text().splitlines())
        found.append(limit - used + float(parts.get("inactive_file", 0)))  # files in the cache make room
    return min(found)
