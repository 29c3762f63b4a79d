"""Datasets as the groups of a NetCDF file, in memory, by HDF5 itself: a small record is written and read in few calls.

    variable    a dataset of HDF5 with its attributes, in the form that xarray gives it (its ``conventions``)
    dimension   a scale, attached to the axes that have it: the coordinate of its name, or else an empty stand-in

What is written here any reader of NetCDF reads, and what xarray writes through h5netcdf is read here.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from widelimit.on_first_use import OnFirstUse

if TYPE_CHECKING:
    import h5py  # type: ignore[import-untyped]
    import xarray as xr
else:
    h5py, xr = OnFirstUse("h5py"), OnFirstUse("xarray")

STAND_IN = "This is a netCDF dimension but not a netCDF variable."
OF_THE_FORMAT = {"CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates",
                 "_NCProperties"}  # fmt: skip
Datasets = Mapping[str, "xr.Dataset"]  # by the name of their group; the first group is "/"


class Dimension(NamedTuple):
    """A dimension of a file: its name, how many values it has, and its number among those of the file."""

    name: str
    size: int
    number: int


def netcdf_of(datasets: Datasets) -> bytes:
    """The file that holds these datasets."""
    body, numbers = io.BytesIO(), itertools.count()  # on no disk: HDF5 ends the process if one is full under it
    with h5py.File(body, "w", track_order=True) as file:
        file.attrs["_NCProperties"] = np.bytes_(f"version=2,h5py={h5py.version.version}")
        for name, dataset in datasets.items():
            group = file if name == "/" else file.create_group(name, track_order=True)
            _write(group, dataset, numbers)
    return body.getvalue()


def datasets_in(contents: bytes) -> dict[str, xr.Dataset]:
    """The datasets that a file holds."""
    with h5py.File(io.BytesIO(contents), "r") as file:
        return dict(_read(file))


def _write(group: h5py.Group, dataset: xr.Dataset, numbers: Iterator[int]) -> None:
    """Fill a group; the dimensions of a file are numbered."""
    variables, attributes = xr.conventions.cf_encoder(*xr.conventions.encode_dataset_coordinates(dataset))
    for key, value in attributes.items():
        _tell(group, key, value)
    made = {str(name): _made(group, str(name), variable) for name, variable in variables.items()}
    sizes = {str(name): size for name, size in dataset.sizes.items()}
    scales = {name: _scale(group, made.get(name), Dimension(name, size, next(numbers))) for name, size in sizes.items()}
    for name, variable in variables.items():
        if variable.dims != (name,):
            for axis, dimension in enumerate(variable.dims):
                h5py.h5ds.attach_scale(made[str(name)].id, scales[str(dimension)], axis)


def _made(group: h5py.Group, name: str, variable: xr.Variable) -> h5py.Dataset:
    """A variable and its attributes; texts have any length."""
    values = np.asarray(variable.values)
    text = values.dtype.kind in "OU"
    made = group.create_dataset(name, data=values.astype(object) if text else values, track_order=True,
                                dtype=h5py.string_dtype() if text else None)  # fmt: skip
    for key, value in variable.attrs.items():
        _tell(made, key, value)
    return made


def _tell(of: h5py.HLObject, key: Hashable, value: object) -> None:
    """An attribute; NetCDF knows no single numbers."""
    of.attrs[str(key)] = np.atleast_1d(value) if isinstance(value, int | float | np.generic) else value


def _scale(group: h5py.Group, made: h5py.Dataset | None, of: Dimension) -> h5py.h5d.DatasetID:
    """The scale of a dimension: the variable of its name, or a stand-in of its length."""
    scale = made or group.create_dataset(of.name, (of.size,), ">f4", track_order=True)
    h5py.h5ds.set_scale(scale.id, (of.name if made else f"{STAND_IN}{of.size:10}").encode())
    scale.attrs["_Netcdf4Dimid"] = np.int32(of.number)
    return scale.id


def _read(group: h5py.Group) -> Iterator[tuple[str, xr.Dataset]]:
    """The dataset of a group, and those of the groups in it, by their names."""
    items = dict(group.items())
    stored = {name: item for name, item in items.items() if isinstance(item, h5py.Dataset) and not _is_stand_in(item)}
    variables = {name: xr.Variable(_axes(name, item), _values(item), _told(item)) for name, item in stored.items()}
    decoded, attributes, coordinates = xr.conventions.decode_cf_variables(variables, _told(group))
    yield group.name, xr.Dataset(decoded, attrs=attributes).set_coords(set(coordinates) & set(decoded))
    for item in items.values():
        if isinstance(item, h5py.Group):
            yield from _read(item)


def _is_stand_in(item: h5py.Dataset) -> bool:
    return h5py.h5ds.is_scale(item.id) and h5py.h5ds.get_scale_name(item.id).startswith(STAND_IN.encode())


def _axes(name: str, item: h5py.Dataset) -> tuple[str, ...]:
    """The dimensions of a variable; a scale is its own."""
    if not item.ndim or "DIMENSION_LIST" not in item.attrs:
        return (name,) * item.ndim
    scales = [h5py.h5r.get_name(attached[-1], item.id) for attached in item.attrs["DIMENSION_LIST"]]
    return tuple(scale.decode().rpartition("/")[2] for scale in scales)


def _values(item: h5py.Dataset) -> np.ndarray:
    return np.asarray((item.asstr() if h5py.check_string_dtype(item.dtype) else item)[()])


def _told(of: h5py.HLObject) -> dict[str, object]:
    """Its attributes, single numbers as such."""
    attributes = of.attrs
    return {key: _single(attributes[key]) for key in attributes if key not in OF_THE_FORMAT}


def _single(value: object) -> object:
    return value[0] if isinstance(value, np.ndarray) and len(value) == 1 else value
