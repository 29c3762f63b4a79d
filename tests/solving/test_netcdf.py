"""Records are plain NetCDF: what we write xarray reads, what xarray writes we read, and nothing is lost on the way."""

import numpy as np
import pytest
import xarray as xr

from widelimit.solving.netcdf import datasets_in, netcdf_of

KINDS = {
    "numbers over a coordinate": xr.Dataset(
        {"risk": ("time", [1.0, np.nan, -np.inf], {"long_name": "population risk", "symbol": "δR"})},
        {"time": ("time", [0.0, 0.1, 1 / 3], {"units": "1"})},
    ),
    "axes without coordinates": xr.Dataset({"theta": (("time", "neuron", "u"), np.arange(24.0).reshape(2, 3, 4))}),
    "one number": xr.Dataset({"state_at": ((), np.float64(0.3)), "flag": ((), np.bool_(True))}),
    "keys and flags": xr.Dataset(
        {"key": ("k", np.array([1, 2**32 - 1], np.uint32)), "on": ("k", [True, False]), "n": ("k", [3, -4]),
         "half": ("k", np.array([0.1, 0.2], np.float32))}
    ),
    "texts": xr.Dataset({"reason": (("x", "y"), [["", "κ = 0.4\n"], ["a", "long " * 40]])}, {"x": ["r_1", "θ"]}),
    "texts and gaps of a table": xr.Dataset({"name": ("id", np.array(["SGD", ""], object))}, {"id": ["a", "b"]}),
    "coordinates beside their axis": xr.Dataset(
        {"masses": (("time", "coordinate"), np.ones((2, 2)))},
        {"coordinate": ["a", "r"], "dimension": ("coordinate", [np.nan, 19.0])},
    ),
    "nothing saved yet": xr.Dataset(
        {"risk": ("time", np.empty(0)), "theta": (("time", "neuron"), np.empty((0, 3)))}, {"time": np.empty(0)}
    ),
    "attributes": xr.Dataset(
        attrs={"spec": "[problem]\nβ = inf\n" * 10_000, "advice": "", "seed": 7, "wall_time": 0.1, "list": ["a", "b"]}
    ),
}  # fmt: skip


def same(one, other):
    """Identical, and of the same types."""
    xr.testing.assert_identical(one, other)
    for name, variable in one.variables.items():
        kinds = {variable.dtype.kind, other.variables[name].dtype.kind}
        assert kinds <= set("OUT") or variable.dtype == other.variables[name].dtype, name
    assert list(one.attrs) == list(other.attrs)


@pytest.mark.parametrize("name", KINDS)
def test_what_is_written_is_read_here_and_by_xarray(name, tmp_path):
    contents = netcdf_of({"/": KINDS[name]})
    same(datasets_in(contents)["/"], KINDS[name])
    (tmp_path / "run.nc").write_bytes(contents)
    with xr.open_dataset(tmp_path / "run.nc", engine="h5netcdf") as found:
        same(found.load(), KINDS[name])


@pytest.mark.parametrize("name", KINDS)
def test_what_xarray_writes_is_read_here(name, tmp_path):
    KINDS[name].to_netcdf(tmp_path / "run.nc", engine="h5netcdf")
    same(datasets_in((tmp_path / "run.nc").read_bytes())["/"], KINDS[name])


def test_every_group_has_its_own_dimensions(tmp_path):
    one, two = KINDS["numbers over a coordinate"], KINDS["nothing saved yet"]
    contents = netcdf_of({"/": one, "SGD": two, "a/b": one})
    found = datasets_in(contents)
    assert list(found) == ["/", "/SGD", "/a", "/a/b"]
    same(found["/SGD"], two), same(found["/a/b"], one)
    (tmp_path / "run.nc").write_bytes(contents)
    groups = xr.open_groups(tmp_path / "run.nc", engine="h5netcdf")
    assert list(groups) == list(found)
    for name, dataset in groups.items():
        with dataset:
            same(dataset.load(), found[name])
    one.to_netcdf(tmp_path / "by_xarray.nc", engine="h5netcdf")
    two.to_netcdf(tmp_path / "by_xarray.nc", engine="h5netcdf", group="SGD", mode="a")
    same(datasets_in((tmp_path / "by_xarray.nc").read_bytes())["/SGD"], two)


def test_the_same_datasets_are_the_same_bytes():
    both = {"/": KINDS["texts"], "SGD": KINDS["keys and flags"]}
    assert netcdf_of(both) == netcdf_of(both)
