"""Runs of a store in one file.

    .csv, .parquet   a table: a row for each save of each run (and replica), and a column for each field in which they
                     differ
    .nc              NetCDF groups: a table of the runs in "/", and every run with all its numbers in a group of its ID

Parquet needs pyarrow, which is no part of widelimit.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import pandas as pd  # type: ignore[import-untyped]
import xarray as xr

from widelimit.errors import InputError, require, require_known
from widelimit.experiments.run_fields import Entry, Plain
from widelimit.experiments.store import Store
from widelimit.solving.whole_files import write_record, write_whole

ENDINGS = (".csv", ".parquet", ".nc")
ALWAYS = ("method.name", "outcome")


def export(store: Store, runs: Sequence[Entry], target: Path) -> Path:
    """Write runs of a store into one file, whose ending says how; returns its path."""
    require_known("ending of an export", target.suffix, ENDINGS)
    if target.suffix == ".parquet" and importlib.util.find_spec("pyarrow") is None:
        raise InputError("a .parquet file needs pyarrow, got none installed: run pip install pyarrow, or write a .csv.")
    readable = [run for run in runs if not run.reason]
    require(bool(readable), "an export needs runs that can be read", len(readable), "see widelimit runs list")
    if target.suffix == ".nc":
        summary = xr.Dataset.from_dataframe(summary_of(readable).set_index("id"))
        return write_record(target, {"/": summary, **{run.id: store.load(run.id).dataset for run in readable}})
    rows = over_time(store, readable)
    if target.suffix == ".csv":
        return write_whole(target, lambda path: rows.to_csv(path, index=False))
    return write_whole(target, lambda path: rows.to_parquet(path, index=False))


def over_time(store: Store, runs: Sequence[Entry]) -> pd.DataFrame:
    """Every save of every run, with the fields in which the runs differ."""
    names, parts = differing(runs), []
    for run in runs:
        rows = store.load(run.id).to_dataframe()
        about = {"id": run.id, **{name: run.fields.get(name) for name in names}}
        parts.append(pd.concat([pd.DataFrame([about] * len(rows)), rows], axis=1))
    return pd.concat(parts, ignore_index=True)


def summary_of(runs: Sequence[Entry]) -> pd.DataFrame:
    """A row for each run: how it ended, and the fields in which the runs differ."""
    names = [*differing(runs), "t", "risk", "wall_time"]
    return pd.DataFrame([{"id": run.id, **{name: _cell(run.fields.get(name)) for name in names}} for run in runs])


def differing(runs: Sequence[Entry]) -> list[str]:
    """The fields of the specs in which runs differ, and those that are always told."""
    names = dict.fromkeys(
        name for run in runs for name in run.fields if name.startswith(("problem.", "run.", "method."))
    )
    return [*ALWAYS, *(n for n in names if n not in ALWAYS and len({run.fields.get(n) for run in runs}) > 1)]


def _cell(value: Plain) -> Plain:
    """A field that a run does not have is an empty text or NaN, as NetCDF knows no None."""
    return float("nan") if value is None else value
