"""How SGD cuts its samples into blocks, blocks into sub-blocks, and a run into compiled calls."""

from __future__ import annotations

from dataclasses import dataclass

from jax import Array

BLOCK_ROWS = 128
SUB_ROWS = 16
WORK_PER_CALL = 2e10  # multiplications in one compiled call; progress is reported after each


@dataclass(frozen=True)
class Layout:
    """How one block is cut: ``subs`` sub-blocks of ``units`` batches of ``batch`` samples."""

    batch: int
    units: int
    subs: int

    @property
    def steps(self) -> int:
        """Steps in a block."""
        return self.units * self.subs

    @property
    def sub_rows(self) -> int:
        """Samples in a sub-block."""
        return self.units * self.batch


def layout_for(batch: int, rows: int | None = None) -> Layout:
    """Blocks of about BLOCK_ROWS samples, at most ``rows``, in sub-blocks of about SUB_ROWS, whole batches each."""
    most = min(BLOCK_ROWS, BLOCK_ROWS if rows is None else rows)
    units = max(1, min(SUB_ROWS, most) // batch)
    return Layout(batch, units, max(1, most // (units * batch)))


def chunk_steps(layout: Layout, theta: Array) -> int:
    """A whole number of blocks that takes about a second."""
    work = 2 * theta.size * layout.batch * layout.steps
    return layout.steps * max(1, int(WORK_PER_CALL / work))
