"""The command ``widelimit sweep``: a grid of runs as one dataset."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from widelimit.errors import Interrupted
from widelimit.interfaces.options import Json, Out, require_writable, show
from widelimit.interfaces.run_command import room_in

if TYPE_CHECKING:
    from widelimit.experiments.sweep import Sweep

RECORD, PICTURE, RUNS = "sweep.nc", "sweep.png", "runs"


@dataclass(frozen=True)
class SweepCommand:
    """Run a spec over the grid of its table sweep: one dataset, a picture, and a record of every point."""

    spec: Annotated[Path, typer.Argument(help="The spec file with a table sweep, see docs/sweeps.md.")]
    out: Out = None
    store: Annotated[
        Path | None, typer.Option(help="Store of the points (default: runs in the folder).", show_default=False)
    ] = None
    workers: Annotated[
        int | None, typer.Option(help="Run on so many processes of this machine, of one core each.", show_default=False)
    ] = None
    scheduler: Annotated[
        str | None, typer.Option(help="Run on the Dask cluster of the scheduler at this address.", show_default=False)
    ] = None
    retries: Annotated[int, typer.Option(help="How often points are sent again that a worker has lost.")] = 2
    together: Annotated[int, typer.Option(help="Most points in one compiled call; 1 runs each by itself.")] = 256
    yes: Annotated[bool, typer.Option("--yes", help="Also run more than ten thousand points.")] = False
    as_json: Json = False

    def run(self) -> int:
        """Run what is missing, write the dataset and the picture."""
        from widelimit.experiments.engine import Engine
        from widelimit.experiments.store import Store
        from widelimit.experiments.sweep import read_sweep, sweep

        spec, axes = read_sweep(self.spec)
        folder = Path(self.spec.stem) if self.out is None else self.out
        engine = Engine(self.workers, self.scheduler, self.retries, self.together)
        require_writable(folder)
        interrupted = ""
        with room_in(folder):
            try:
                store = Store(self.store or folder / RUNS)
                found = sweep(spec, axes or {}, store=store, engine=engine, yes=self.yes)
            except Interrupted as stop:
                found, interrupted = stop.solution, str(stop)
            files = [str(path) for path in _written(found, folder)]
        failed = [] if interrupted else found.failures()

        def tell() -> None:
            print(found)
            print("\n".join([*failed, *(f"saved {file}" for file in files)]))

        sizes = {name: found.dataset.sizes[name] for name in found.axes}
        show({"axes": sizes, "counts": found.counts, "failures": failed, "files": files}, self.as_json, tell)
        if interrupted:
            print(f"widelimit: {interrupted}", file=sys.stderr)
            return 130
        return 0 if set(found.counts) == {"done"} else 1


def _written(found: Sweep, folder: Path) -> list[Path]:
    """The dataset, and the picture where the axes have one."""
    from widelimit.errors import InputError
    from widelimit.interfaces.canvas import save_picture
    from widelimit.interfaces.figures import figure

    files = [found.save(folder / RECORD)]
    try:
        picture = figure(found)
    except InputError:  # more axes than a page has
        return files
    return [*files, save_picture(picture, folder / PICTURE)]
