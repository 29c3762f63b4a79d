"""Files that are whole or not there, and records that are whole or refused.

    .NAME.HOST.PROCESS.COUNT.part   what a writer fills before it is moved to NAME; no two writers share one. Another
                                    ending may follow, for a writer that tells the format by it
    record                          NetCDF groups, and behind them a seal: the SHA-256 of all the bytes before it

A part is on the disk before it is moved, and its new name before the writer goes on, so that a power cut leaves the old
file or the new one. NetCDF readers stop before the seal. It is checked before anything is read, so that a damaged file
cannot mislead the reader of its format. What writers that were killed have left is removed by the next one to the
same name.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import platform
import re
from collections.abc import Callable
from pathlib import Path

from widelimit.errors import InputError
from widelimit.solving.netcdf import Datasets, datasets_in, netcdf_of

MARK = b"\nwidelimit record, sha256 "
SEAL = len(MARK) + 64
COUNT = itertools.count()
PART = re.compile(r"\.(?P<name>.+?)(\.(?P<host>[^.]*)\.(?P<process>\d+)\.\d+\.part(\.\w+)?|\.part)")


def write_whole(target: Path, write: Callable[[Path], object], ending: str = "") -> Path:
    """Let ``write`` fill a file beside the target, whose name has this ending, then move it there; make its folder."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = part_beside(target, ending)
    try:
        write(partial)
        _settle(partial)
        os.replace(partial, target)
        _settle(target.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
    return target


def part_beside(target: Path, ending: str = "") -> Path:
    """A new name for a part of the target; parts that processes which are gone have left are removed."""
    with os.scandir(target.parent) as files:
        parts = [Path(file.path) for file in files if file.name.startswith(f".{target.name}.")]
    for path in parts:
        if part_of(path) == target.name and _is_stale(path):
            path.unlink(missing_ok=True)
    return target.with_name(f".{target.name}.{_host()}.{os.getpid()}.{next(COUNT)}.part{ending}")


def _settle(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk; where a folder cannot be asked nothing is lost."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def part_of(path: Path) -> str | None:
    """The name of the file that a part was to become; None for any other file."""
    found = PART.fullmatch(path.name)
    return found["name"] if found else None


def _host() -> str:
    return re.sub(r"[^\w-]", "-", platform.node())


def _is_stale(path: Path) -> bool:
    """Whether the writer of a part is gone; of a writer on another machine nobody knows."""
    found = PART.fullmatch(path.name)
    if found is None or found["process"] is None:
        return True
    if found["host"] != _host() or int(found["process"]) == os.getpid():
        return False
    try:
        os.kill(int(found["process"]), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def write_record(target: Path, datasets: Datasets) -> Path:
    """Write datasets as the groups of one NetCDF file with a seal, whole or not at all."""
    contents = netcdf_of(datasets)
    digest = hashlib.sha256(contents).hexdigest()

    def write(path: Path) -> None:
        with path.open("wb") as file:
            file.write(contents)
            file.write(MARK + digest.encode())

    return write_whole(target, write)


def read_record(path: str | os.PathLike) -> Datasets:
    """What `write_record` wrote; anything else, and any damage, is an InputError."""
    contents = sealed(path)
    try:
        return datasets_in(contents)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise _unreadable(path, f"it is no NetCDF file ({str(error).partition(chr(10))[0]})") from None


def sealed(path: str | os.PathLike) -> bytes:
    """The bytes of a record; an InputError unless they are those it was written with."""
    try:
        contents = Path(path).read_bytes()
    except OSError as error:
        raise _unreadable(path, error.strerror or "it cannot be read") from None
    whole = memoryview(contents)
    body, seal = whole[:-SEAL], bytes(whole[-SEAL:])
    if not seal.startswith(MARK):
        raise _unreadable(path, "it has no seal at its end, so it is cut short, or another program wrote it")
    if hashlib.sha256(body).hexdigest().encode() != seal[len(MARK) :]:
        raise _unreadable(path, "it is damaged, its bytes do not have the checksum they were written with")
    return contents


def _unreadable(path: str | os.PathLike, why: str) -> InputError:
    return InputError(f"load needs a file written by save, got {str(path)!r}: {why}.")
