"""The cores that processes side by side have together.

XLA and NumPy's linear algebra have a pool of threads as large as the machine in every process. Where several processes
share the cores there are then more threads than cores. So each is told its part.
"""

from __future__ import annotations

import os

VARIABLES = ("NPROC", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def part_of_cores(jobs: int) -> dict[str, str]:
    """The environment of each of some processes, so that they do not have more threads than there are cores.

    >>> part_of_cores(10_000)["NPROC"]
    '1'
    """
    return dict.fromkeys(VARIABLES, str(max(1, (os.cpu_count() or 1) // jobs)))
