"""Tables on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console, OverflowMethod
from rich.table import Table

Words = Sequence[str]


def with_error(value: float | None, error: float | None, form: str = ".6f") -> str:
    """A number, and how far it may be off where that shows in its digits.

    >>> with_error(0.25, 1e-9), with_error(0.25, 2e-3), with_error(None, None), with_error(2e-4, 1e-5, ".2e")
    ('0.250000', '0.250000 ± 0.002', '', '2.00e-04 ± 1e-05')
    """
    if value is None:
        return ""
    shown = format(value, form)
    last = 5e-7 if form.endswith("f") else 5e-3 * abs(value)
    return f"{shown} ± {error:.1g}" if error and error >= last else shown


def print_table(
    title: str | None, headings: Words, rows: Iterable[Words], left: Words = (), fold: bool = False
) -> None:
    """A table with its columns aligned right, those in ``left`` left; words that are too long are folded, or cut."""
    table = Table(title=title)
    overflow: OverflowMethod = "fold" if fold else "ellipsis"
    for heading in headings:
        table.add_column(heading, justify="left" if heading in left else "right", overflow=overflow)
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def print_gap(rows: list[dict[str, float]]) -> None:
    """t, SGD, PDE and their gap."""
    cells = []
    for row in rows:
        risks = (with_error(row[name], row[f"{name}_error"]) for name in ("sgd", "pde"))
        cells.append((f"{row['t']:.3g}", *risks, with_error(row["gap"], row["gap_error"], "+.6f")))
    print_table("population risk R: SGD against the mean-field limit", ("t", "SGD", "PDE", "gap"), cells)


def print_parts(rows: list[dict[str, float]], parts: tuple[str, ...]) -> None:
    """The parts of the risk gap over time, and the distance of the neurons."""
    title, cells = "|gap| of the population risk, part by part, and mean distance of coupled neurons", []
    for row in rows:
        gaps = (with_error(row[part], row[f"{part}_error"], ".2e") for part in parts)
        cells.append((f"{row['t']:.3g}", *gaps, f"{row['distance']:.2e}"))
    print_table(title, ("t", *parts, "distance"), cells)


def print_grid_speed(result: dict[str, Any]) -> None:
    """Cost of the whole run of every peer, its lowest mass, and where it comes to rest."""
    title = f"the noisy PDE in one radius, {result['cells']} cells, to t = {result['t_end']:g}"
    headings, cells = ("", "seconds", "ours is faster by", "lowest mass when cold", "R above rest"), []
    for name, cost in result["seconds"].items():
        ratio = result["times_faster_than"].get(name)
        lowest, above = result["lowest_mass_when_cold"][name], result["risk_above_rest"][name]
        cells.append((name, f"{cost:.3f}", "" if ratio is None else f"{ratio:.0f}×", f"{lowest:.1e}", f"{above:+.1e}"))
    print_table(title, headings, cells)
    for peer, reason in result["skipped"].items():
        print(f"{peer} skipped: {reason}")


def print_speed(results: list[dict[str, Any]]) -> None:
    """Cost of a step of every peer, and how much faster ours is."""
    for result in results:
        cells = []
        for name, cost in result["microseconds_per_step"].items():
            ratio = result["times_faster_than"].get(name)
            cells.append((name, f"{cost:.1f}", "" if ratio is None else f"{ratio:.1f}×"))
        title = f"one step of SGD, N = {result['n']}, d = {result['d']}, {result['dtype']}"
        print_table(title, ("", "µs per step", "ours is faster by"), cells)
        print(f"ours / floor (two matrix products alone): {result['ours_over_floor']:.2f}")
        for peer, reason in result["skipped"].items():
            print(f"{peer} skipped: {reason}")
