"""The index of a store: what is known of every record, in SQLite, so that ten thousand of them list at once.

    record   name of the file
    stamp    its size and time of change: a record with another stamp is read again
    entry    what is known of it, as JSON

The index is a cache. It is brought up to date whenever it is read; one that is missing, damaged or of another format is
made anew from the records, and where none can be written it is made in memory.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from widelimit.experiments.run_fields import Entry, entry_of

INDEX = "index.sqlite"
VERSION = 1  # of what an entry holds
WAIT = 10.0  # seconds for another process that writes
TABLE = "CREATE TABLE IF NOT EXISTS runs (record TEXT PRIMARY KEY, stamp TEXT, entry TEXT)"


def entries(folder: Path, ending: str) -> dict[str, Entry]:
    """The entries of all records in a folder whose names have this ending, by the name of the file."""
    with contextlib.suppress(sqlite3.Error, OSError):
        return _entries(folder, ending, folder / INDEX)
    with contextlib.suppress(OSError):
        (folder / INDEX).unlink()
    with contextlib.suppress(sqlite3.Error, OSError):
        return _entries(folder, ending, folder / INDEX)
    return _entries(folder, ending, None)


def _entries(folder: Path, ending: str, index: Path | None) -> dict[str, Entry]:
    with _opened(index) as table:
        known = {record: (stamp, entry) for record, stamp, entry in table.execute("SELECT * FROM runs")}
        there = dict(_records(folder, ending))
        new = {record: stamp for record, stamp in there.items() if known.get(record, ("", ""))[0] != stamp}
        rows = {record: json.dumps(entry_of(folder / record).document()) for record in new}
        changes = [(record, stamp, rows[record]) for record, stamp in new.items()]
        gone = [(record,) for record in known if record not in there]
        if changes or gone:
            table.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?)", changes)
            table.executemany("DELETE FROM runs WHERE record = ?", gone)
            table.commit()
    found = {record: rows[record] if record in rows else known[record][1] for record in sorted(there)}
    return {record: Entry(**json.loads(entry)) for record, entry in found.items()}


@contextlib.contextmanager
def _opened(index: Path | None) -> Iterator[sqlite3.Connection]:
    """The table, on the disk or in memory; one of another version is emptied."""
    connection = sqlite3.connect(":memory:" if index is None else index, timeout=WAIT)
    try:
        if connection.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            connection.execute("DROP TABLE IF EXISTS runs")
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute(TABLE)
        yield connection
    finally:
        connection.close()


def _records(folder: Path, ending: str) -> Iterator[tuple[str, str]]:
    """The records in a folder with their stamps."""
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as files:
        for file in files:
            if file.name.endswith(ending) and not file.name.startswith("."):
                with contextlib.suppress(OSError):  # removed by another process
                    about = file.stat()
                    yield file.name, f"{about.st_size} {about.st_mtime_ns}"
