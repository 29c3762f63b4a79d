"""Colours, symbols, lines and styles of every figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from matplotlib import colormaps
from matplotlib.colors import to_hex

# Okabe and Ito's palette, told apart by every kind of colour vision
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
SYMBOLS = "osD^vP"
LINES = ("-", "--", ":", "-.")


def shades(count: int) -> list[str]:
    """As many colours as needed: those of the palette, or a range from dark to light."""
    if count <= len(COLOURS):
        return list(COLOURS[:count])
    return [to_hex(colormaps["viridis"](0.9 * i / (count - 1))) for i in range(count)]


@dataclass(frozen=True)
class Style:
    """How large a figure is and how heavy its lines are.

    width, height   of a panel, in inches
    rc              settings of matplotlib while the figure is drawn
    """

    width: float
    height: float
    rc: Mapping[Any, Any] = field(default_factory=dict)


def _sized(font: float, line: float, symbol: float) -> dict[str, object]:
    """Type in points, and what is in proportion to it."""
    small = 0.88 * font
    return {
        "font.size": font, "axes.titlesize": 1.1 * font, "axes.labelsize": font, "figure.titlesize": 1.2 * font,
        "xtick.labelsize": small, "ytick.labelsize": small, "legend.fontsize": small, "legend.title_fontsize": small,
        "lines.linewidth": line, "lines.markersize": symbol, "lines.markeredgewidth": 0.85 * line,
        "axes.linewidth": 0.5 * line, "grid.linewidth": 0.4 * line, "patch.linewidth": 0.6 * line,
        "xtick.major.width": 0.5 * line, "ytick.major.width": 0.5 * line,
        "xtick.minor.width": 0.35 * line, "ytick.minor.width": 0.35 * line,
    }  # fmt: skip


STYLES = {
    "screen": Style(5.0, 4.2, _sized(10.0, 1.6, 6.0)),
    "paper": Style(3.3, 2.6, {
        **_sized(8.0, 1.0, 3.5), "font.family": "STIXGeneral", "mathtext.fontset": "stix", "savefig.dpi": 300,
        "pdf.fonttype": 42, "ps.fonttype": 42, "xtick.direction": "in", "ytick.direction": "in",
    }),
    "slide": Style(6.4, 5.2, {**_sized(17.0, 3.0, 9.0), "savefig.dpi": 150}),
}  # fmt: skip
