"""What a figure is drawn on: its look, its panels, and a figure that needs no window until it is shown."""

from __future__ import annotations

import io
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from widelimit.errors import require, require_keywords, require_known
from widelimit.interfaces.finishing import place_legends
from widelimit.interfaces.palette import STYLES, Style
from widelimit.on_first_use import OnFirstUse
from widelimit.solving.whole_files import write_whole

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from matplotlib import pyplot
else:
    pyplot = OnFirstUse("matplotlib.pyplot")

MOST_COLUMNS = 3  # panels in a row
LOGS = ("", "x", "y", "xy")


class LookOptions(TypedDict, total=False):
    """The look of a figure, as keywords; see `figure`."""

    labels: str | Sequence[str]
    title: str
    log: str
    style: str


@dataclass(frozen=True)
class Look:
    """The look of a figure.

    labels  names of the runs; by default what differs between them
    title   above all panels
    log     axes that are logarithmic: "x", "y", "xy", or "" for none; by default as the numbers ask for
    style   "screen", "paper" or "slide"
    """

    labels: tuple[str, ...] | None = None
    title: str | None = None
    log: str | None = None
    style: str = "screen"

    @classmethod
    def of(cls, options: LookOptions) -> Look:
        """A look from keywords; an unknown one is refused."""
        require_keywords(options, LookOptions.__annotations__)
        given: dict[str, Any] = {**options}
        labels, title = given.get("labels"), given.get("title")
        if labels is not None:
            words = [labels] if isinstance(labels, str) else labels
            good = isinstance(words, Sequence) and all(isinstance(word, str) for word in words)
            require(good, "labels must be a list of words, one for each run", labels, 'try labels=["small", "large"]')
            given["labels"] = tuple(words)
        require(title is None or isinstance(title, str), "title must be a text", title, 'try title="Two starts"')
        if given.get("log") is not None:
            good = isinstance(given["log"], str) and given["log"] in LOGS
            require(good, 'log must be "x", "y", "xy" or ""', given["log"], 'try log="y"')
        require_known("style", given.get("style", "screen"), STYLES)
        return cls(**given)

    @property
    def sizes(self) -> Style:
        """Sizes of panels, type and lines."""
        return STYLES[self.style]

    def context(self) -> AbstractContextManager[None]:
        """Everything inside is drawn in this look."""
        return rc_context({**self.sizes.rc})


class Picture(Figure):
    """A figure that pyplot does not know: any number of them may be made, and none stays behind.

    ``show`` opens a window, which pyplot then knows, until it is closed; a notebook shows the figure as a value.
    """

    look = Look()

    def draw(self, renderer: Any) -> None:
        """Draw in the look of the figure: what matplotlib makes late, such as ticks, follows it too."""
        with self.look.context():
            super().draw(renderer)

    def savefig(self, *arguments: Any, **options: Any) -> None:
        """Write a file, see matplotlib."""
        with self.look.context():
            super().savefig(*arguments, **options)

    def show(self, warn: bool = True) -> None:
        """Open a window; in a notebook show the picture."""
        manager = self.canvas.manager
        if manager is None or not pyplot.fignum_exists(manager.num):
            pyplot.figure(FigureClass=lambda *_, **__: self)  # type: ignore[arg-type]
        has_window = self.canvas.required_interactive_framework is not None
        if has_window or "IPython" not in sys.modules:
            super().show(warn)
        else:
            sys.modules["IPython"].display.display(self)
        if not has_window:
            pyplot.close(self)

    def _repr_png_(self) -> bytes:
        page = io.BytesIO()
        self.savefig(page, format="png")
        return page.getvalue()


def save_picture(picture: Figure, target: Path) -> Path:
    """Write a picture in the format that the ending of its file names, whole or not at all."""
    form = target.suffix.removeprefix(".")
    return write_whole(target, lambda path: picture.savefig(path, dpi=150, format=form))


@dataclass(frozen=True)
class Page:
    """Where a figure is drawn: on panels of its own, or on axes that are given.

    given    axes, in the order of the panels; None for a new figure
    """

    look: Look
    given: tuple[Axes, ...] | None = None

    @classmethod
    def of(cls, look: Look, ax: Axes | Sequence[Axes] | None) -> Page:
        """A page from what a user gives."""
        if ax is None:
            return cls(look)
        flat: Any = getattr(ax, "flat", ax)
        given = list(flat) if isinstance(ax, Sequence) or flat is not ax else [ax]
        good = bool(given) and all(isinstance(one, Axes) for one in given)
        require(good, "ax must be one or more axes of matplotlib", type(ax).__name__, "try ax=plt.subplots()[1]")
        return cls(look, tuple(given))

    def panels(self, names: Sequence[str], wide: float = 1.0) -> list[Axes]:
        """Axes for panels side by side, in rows of at most three, each ``wide`` times as wide as usual."""
        count, style = len(names), self.look.sizes
        if self.given is not None:
            require(len(self.given) == count, f"ax must hold {count} axes ({', '.join(names)})", len(self.given),
                    "choose the panels with show, or leave ax out")  # fmt: skip
            return list(self.given)
        rows = math.ceil(count / MOST_COLUMNS)
        columns = math.ceil(count / rows)
        canvas = Picture(figsize=(wide * style.width * columns, style.height * rows), layout="constrained")
        canvas.look = self.look
        canvas.get_layout_engine().set(w_pad=0.08, wspace=0.02)  # type: ignore[call-arg, union-attr]
        return [canvas.add_subplot(rows, columns, place + 1) for place in range(count)]

    def finished(self, panels: Sequence[Axes]) -> Figure:
        """The figure with its title, and no legend on a curve."""
        canvas = panels[0].figure
        if self.look.title is not None:
            if self.given is not None and len(panels) == 1:
                panels[0].set_title(self.look.title)
            else:
                canvas.suptitle(self.look.title)
        taller = place_legends(panels)
        if self.given is None and taller:  # the panels keep their size
            width, height = canvas.get_size_inches()  # type: ignore[union-attr]
            canvas.set_size_inches(width, height + taller)  # type: ignore[union-attr]
        return canvas.figure  # of a part of a figure, all of it
