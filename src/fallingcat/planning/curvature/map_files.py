"""Curvature maps in files: CSV, or netCDF with names and units through xarray."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ExtraMissingError, FileError
from ...io.diagnostics import check_path
from ...io.files import write_bytes

if TYPE_CHECKING:
    from .maps import CurvatureMap


def write(found: CurvatureMap, path: str | Path) -> None:
    """Write to ``.csv`` or ``.nc``, as a whole or not at all."""
    check_path(path)
    kinds = {".csv": _as_csv, ".nc": _as_nc}
    if Path(path).suffix not in kinds:
        raise FileError("a curvature map must be written to .csv or .nc", file=path)
    write_bytes(path, kinds[Path(path).suffix](found))


def dataset(found: CurvatureMap) -> Any:
    """Map as an ``xarray.Dataset``."""
    try:
        import xarray
    except ImportError:
        raise ExtraMissingError("data", package="xarray", purpose="a labelled map") from None
    dims = {"r1": found.first, "r2": found.second, "component": np.arange(found.values.shape[2])}
    described = {"long_name": f"curvature DA(e1, e2) of the connection, in the frame {found.frame}"}
    curvature = (tuple(dims), found.values, described)
    plane = {
        "directions": (("joint", "direction"), found.plane.directions, {"long_name": "joints per coordinate"}),
        "origin": (("joint",), found.plane.origin, {"long_name": "joints where both coordinates are 0"}),
    }
    attributes = {"frame": found.frame, "source": "[Mishra] Algorithm 1"}
    return xarray.Dataset({"curvature": curvature, **plane}, coords=dims, attrs=attributes)


def _as_csv(found: CurvatureMap) -> bytes:
    m = found.values.shape[2]
    r1, r2 = np.meshgrid(found.first, found.second, indexing="ij")
    rows = np.column_stack([r1.ravel(), r2.ravel(), found.values.reshape(-1, m)])
    text = io.StringIO()
    np.savetxt(text, rows, "%.17g", ",", header=",".join(["r1", "r2", *(f"c{k + 1}" for k in range(m))]), comments="")
    return text.getvalue().encode()


def _as_nc(found: CurvatureMap) -> bytes:
    return bytes(dataset(found).to_netcdf(engine="scipy"))
