"""The commands that measure ourselves: ``widelimit bench`` (speed) and ``widelimit points`` (accuracy of the limit)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from widelimit.interfaces import tables
from widelimit.interfaces.options import Json, require_writable, show


@dataclass(frozen=True)
class BenchCommand:
    """Our speed beside the plain loops a user would write, in one run."""

    n: Annotated[int, typer.Option(help="Number of neurons N.")] = 800
    d: Annotated[int, typer.Option(help="Dimension of the data.")] = 320
    repeats: Annotated[int, typer.Option(help="Repeats, of which the best counts.")] = 15
    grid: Annotated[bool, typer.Option("--grid", help="The noisy PDE on a grid beside py-pde, instead of SGD.")] = False
    as_json: Json = False

    def run(self) -> int:
        """Measure and print the table."""
        if self.grid:
            from widelimit_benchmarks import grid_speed

            found = grid_speed.measure(repeats=self.repeats)
            show(found, self.as_json, lambda: tables.print_grid_speed(found))
            return 0
        from widelimit_benchmarks import sgd_speed

        results = [sgd_speed.measure(self.n, self.d, dtype, self.repeats) for dtype in ("float64", "float32")]
        show(results, self.as_json, lambda: tables.print_speed(results))
        return 0


@dataclass(frozen=True)
class PointsCommand:
    """The error of the mean-field limit against its number of points, for both placements (some minutes)."""

    out: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path("widelimit-points")
    as_json: Json = False

    def run(self) -> int:
        """Measure, draw the picture and print the errors."""
        from widelimit.experiments import point_convergence
        from widelimit.interfaces.canvas import save_picture

        require_writable(self.out)
        rows = point_convergence.measure()
        target = save_picture(point_convergence.draw(rows), self.out / "mean_field_points.png")

        def tell() -> None:
            for row in rows:
                errors = ", ".join(f"{m}: {e:.1e}" for m, e in zip(row.counts, row.errors, strict=True))
                print(f"{row.setting}, {row.placement}\n  {errors}")
            print(f"saved {target}")

        show({"rows": [asdict(row) for row in rows], "files": [str(target)]}, self.as_json, tell)
        return 0
