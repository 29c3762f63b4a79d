"""Write docs/cli.md from the command line itself: python docs/make_cli.py."""

from collections.abc import Iterator
from pathlib import Path

import typer
import typer.core

from widelimit.interfaces.cli import app

HEAD = """# Command line

Made by `python docs/make_cli.py`; a test keeps it in step with the program.

Exit codes: 0 done, 1 a claim failed, or a run diverged or stopped, 2 bad input (one sentence on stderr), 130
interrupted with what was finished kept.

Compiled functions are kept in the user's cache folder for the next process. `WIDELIMIT_CACHE=FOLDER` keeps them
elsewhere, `WIDELIMIT_CACHE=off` keeps none.
"""


def commands(group: typer.core.TyperGroup, front: str = "") -> Iterator[tuple[str, typer.core.TyperCommand]]:
    """Every command by its name, those of groups too."""
    for name, command in sorted(group.commands.items()):
        if hasattr(command, "commands"):
            yield from commands(command, f"{front}{name} ")
        else:
            yield f"{front}{name}", command


def render() -> str:
    """The reference as Markdown."""
    group = typer.main.get_command(app)
    parts = [HEAD]
    for name, command in commands(group):
        rows = [f"## widelimit {name}", "", command.help.strip(), "", "| option | default | meaning |", "|---|---|---|"]
        for option in command.params:
            shown = "" if option.default is None or isinstance(option.default, bool) else f"`{option.default}`"
            rows.append(f"| `{option.opts[0]}` | {shown} | {option.help} |")
        parts.append("\n".join(rows) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    Path(__file__).with_name("cli.md").write_text(render(), encoding="utf-8")
