"""The commands on two Gaussian classes: ``widelimit demo`` and ``widelimit compare``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from widelimit.errors import Diverged, InputError, Interrupted
from widelimit.interfaces import tables
from widelimit.interfaces.options import Json, Seed, advise, dimension, require_writable, show

if TYPE_CHECKING:
    import numpy as np

    from widelimit.experiments.demo import TwoClasses
    from widelimit.solving.solution import Solution
    from widelimit.theory.gap.coupling import Comparison


@dataclass(frozen=True)
class OnTwoClasses:
    """The options that state the problem."""

    d: Annotated[str, typer.Option(help="Dimension of the data.")] = "40"
    delta: Annotated[float, typer.Option(help="Contrast Δ of the two classes, in (0, 1).")] = 0.8
    informative: Annotated[
        int | None, typer.Option(help="Number of informative directions (default: all).", show_default=False)
    ] = None
    activation: Annotated[str, typer.Option(help="Activation σ, by name or as an expression.")] = "ramp"
    scale: Annotated[float, typer.Option(help="κ of the start w ~ N(0, κ²/d I).")] = 0.8

    def setting(self, start: np.ndarray | None = None) -> TwoClasses:
        """The problem these options state."""
        from widelimit.experiments.demo import TwoClasses

        return TwoClasses(dimension(self.d), self.delta, self.informative, self.activation, self.scale, start)


@dataclass(frozen=True)
class DemoCommand(OnTwoClasses):
    """Two Gaussian classes: SGD against its mean-field limit, a table and a picture."""

    initial: Annotated[
        Path | None, typer.Option(help="Start from the neurons in this .npy file, shape (n, d).", show_default=False)
    ] = None
    n: Annotated[int, typer.Option(help="Number of neurons N.")] = 800
    step: Annotated[float, typer.Option(help="Step ε of SGD.")] = 1e-4
    t_end: Annotated[float, typer.Option(help="Horizon in time t = kε.")] = 10.0
    seed: Seed = 0
    out: Annotated[Path, typer.Option(help="Folder for the picture and the records.")] = Path("widelimit-demo")
    as_json: Json = False

    def run(self) -> int:
        """Run SGD and its limit, save both, show the gap."""
        from widelimit.dynamics.methods import SGD
        from widelimit.experiments.demo import Demo, table

        demo = Demo(self.setting(_neurons(self.initial)).problem, SGD(self.n, self.step), self.t_end, self.seed)
        require_writable(self.out)
        kept: dict[str, Solution] = {}
        try:
            kept["sgd"] = demo.run_finite()
            kept["mean_field"] = demo.run_limit(kept["sgd"])
        except (Diverged, Interrupted) as stop:
            kept["mean_field" if kept else "sgd"] = stop.solution
            files = _save(kept, self.out)
            found = {"outcome": stop.solution.outcome, "advice": stop.solution.advice, "files": files}
            show(found, self.as_json, lambda: None)
            raise
        files, rows = _save(kept, self.out), table(kept["sgd"], kept["mean_field"])

        def tell() -> None:
            tables.print_gap(rows)
            print("\n".join(f"saved {name}" for name in files))

        advice = kept["sgd"].advice
        show({"outcome": kept["sgd"].outcome, "advice": advice, "rows": rows, "files": files}, self.as_json, tell)
        advise(advice)
        return 0


@dataclass(frozen=True)
class CompareCommand(OnTwoClasses):
    """The five dynamics from the same neurons: where the gap between SGD and the PDE comes from."""

    n: Annotated[int, typer.Option(help="Number of neurons N.")] = 200
    step: Annotated[float, typer.Option(help="Step ε of SGD and GD.")] = 1e-3
    t_end: Annotated[float, typer.Option(help="Horizon in time t = kε.")] = 1.0
    replicas: Annotated[
        int | None, typer.Option(help="Independent couplings, averaged (default: one).", show_default=False)
    ] = None
    seed: Seed = 0
    out: Annotated[Path, typer.Option(help="Folder for the picture and the records.")] = Path("widelimit-compare")
    as_json: Json = False

    def run(self) -> int:
        """Run all five, take the gap apart."""
        from widelimit.theory.gap.coupling import compare

        problem = self.setting().problem
        require_writable(self.out)
        try:
            result = compare(problem, self.n, self.step, self.t_end, seed=self.seed, replicas=self.replicas)
        except (Diverged, Interrupted) as stop:
            self.tell(stop.solution)
            raise
        self.tell(result)
        advise(result.advice)
        return 0

    def tell(self, result: Comparison) -> None:
        """Keep the records and the picture, show the table."""
        from widelimit.interfaces.canvas import save_picture
        from widelimit.interfaces.figures import figure

        files = [str(solution.save(self.out / f"{name.lower()}.nc")) for name, solution in result.solutions.items()]
        if len(result.times) >= 2 and result.parts:
            files.append(str(save_picture(figure(result), self.out / "compare.png")))

        def tell() -> None:
            tables.print_parts(result.table(), result.parts)
            print("\n".join(f"saved {name}" for name in files))

        found = {"outcome": result.outcome, "advice": result.advice, "rows": result.table(), "files": files}
        show(found, self.as_json, tell)


def _neurons(path: Path | None) -> np.ndarray | None:
    if path is None:
        return None
    import numpy as np

    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        raise InputError(
            f"--initial must be a .npy file with numbers, got {str(path)!r}: write one with numpy.save."
        ) from None


def _save(solutions: dict[str, Solution], out: Path) -> list[str]:
    from widelimit.interfaces.canvas import save_picture
    from widelimit.interfaces.figures import figure

    files = [str(s.save(out / f"{name}.nc")) for name, s in solutions.items()]
    if all(len(s.times) for s in solutions.values()):
        files.append(str(save_picture(figure(*solutions.values()), out / "demo.png")))
    return files
