"""The command ``widelimit complexity``: how hard a target is to learn."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from widelimit.errors import require
from widelimit.interfaces.options import Json, require_writable, show
from widelimit.interfaces.tables import print_table

if TYPE_CHECKING:
    from widelimit.theory.learning.complexity import Complexity

SHOWN = 20  # rows of a table


@dataclass(frozen=True)
class ComplexityCommand:
    """How hard a target is to learn: its coefficients by degree, leap and staircase, and the samples they predict."""

    expression: Annotated[str, typer.Argument(help="The target, such as 'z1 + z1*z2' or 'He3(z)'.")]
    gauss: Annotated[bool, typer.Option("--gauss", help="Inputs x ~ N(0, I); the default.")] = False
    cube: Annotated[bool, typer.Option("--cube", help="Inputs uniform on {-1, 1}^d.")] = False
    sphere: Annotated[bool, typer.Option("--sphere", help="Inputs uniform on the sphere of radius √d.")] = False
    d: Annotated[int, typer.Option(help="Dimension of the sphere.")] = 100
    order: Annotated[
        int | None, typer.Option(help="Highest degree (default: all of a polynomial).", show_default=False)
    ] = None
    out: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path("widelimit-complexity")
    as_json: Json = False

    def run(self) -> int:
        """Compute, draw, show."""
        chosen = [law for law in ("gauss", "cube", "sphere") if getattr(self, law)]
        require(len(chosen) <= 1, "complexity takes one of --gauss, --cube and --sphere", chosen, "give one of them")
        from widelimit.theory.learning.complexity import complexity

        found = complexity(self.expression, (chosen or ["gauss"])[0], self.d, self.order)
        require_writable(self.out)
        picture = _picture(found, self.out)
        show({**found.document(), "files": [str(picture)]}, self.as_json, lambda: print_complexity(found, picture))
        return 0


def _picture(found: Complexity, folder: Path) -> Path:
    from widelimit.interfaces.canvas import Look, Page, save_picture
    from widelimit.interfaces.complexity_figures import complexity_figure

    look = Look()
    with look.context():
        picture = complexity_figure(found, Page(look))
    return save_picture(picture, folder / "complexity.png")


def print_complexity(found: Complexity, picture: Path) -> None:
    """The coefficients, the degrees, the staircase, the predictions."""
    from widelimit.theory.learning.spectrum import Spectrum, WithError

    if isinstance(found.spectrum, Spectrum):
        rows = [[found.spectrum.word(i), str(sum(i)), str(c)] for i, c in found.spectrum.nonzero.items()]
        _table(f"coefficients of {found.target}", ("basis", "degree", "coefficient"), rows)
    degrees = [
        [str(row["degree"]), str(WithError(row["norm"], row["norm_error"])),
         str(WithError(row["beyond"], row["beyond_error"]))]
        for row in found.left()
    ]  # fmt: skip
    _table("what the target has of each degree", ("ℓ", "‖P_ℓ f‖²", "‖P_{>ℓ} f‖²"), degrees)
    if found.staircase is not None and found.staircase.steps:
        word = found.staircase.word
        steps = [
            [word(step.at), ", ".join(step.new), str(step.length), ", ".join(map(word, step.enabled))]
            for step in found.staircase.steps
        ]
        _table("staircase", ("monomial", "new variables", "step", "enabled by"), steps)
        print(found.staircase.sentence)
    if found.predictions:
        predicted = [[row.method, row.scaling, row.reason] for row in found.predictions]
        _table("samples needed in dimension d", ("method", "samples", "because of"), predicted)
    for note in found.notes:
        print(f"note: {note}")
    print(f"saved {picture}")


def _table(title: str, headings: tuple[str, ...], rows: list[list[str]]) -> None:
    more = [[f"… {len(rows) - SHOWN} more", *("" for _ in headings[1:])]] if len(rows) > SHOWN else []
    print_table(title, headings, rows[:SHOWN] + more, left=headings)
