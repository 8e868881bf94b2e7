"""Trajectories in files: NumPy's ``.npz``, and netCDF with names and units through xarray."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from ..errors import ExtraMissingError, FileError, ModelError
from ..model import Model
from .events import Happened
from .ledger import Ledger
from .system import System

if TYPE_CHECKING:
    from .trajectory import Trajectory

SERIES = ("times", "poses", "joints", "twists", "rates", "memory")


def save(run: Trajectory, path: str | os.PathLike[str]) -> None:
    """Write to ``.npz`` or ``.nc``, atomically; model and laws are not part of it."""
    target = Path(path)
    if target.suffix == ".nc":
        data = dataset(run)
        _atomically(target, lambda name: data.to_netcdf(name, engine="scipy"))
    elif target.suffix == ".npz":
        with_suffix: Callable[[str], None] = lambda name: _write_npz(name, arrays(run))  # noqa: E731
        _atomically(target, with_suffix)
    else:
        raise FileError("a trajectory is written to .npz or .nc", file=path)


def load(path: str | os.PathLike[str], model: Model, system: System | None) -> dict[str, Any]:
    """The parts of a trajectory in a file; nothing in it is executed."""
    try:
        data = _read_nc(path) if Path(path).suffix == ".nc" else _read_npz(path)
        parts = _parts(data)
    except (OSError, ValueError, KeyError, TypeError, IndexError, EOFError, BadZipFile) as error:
        raise FileError(f"is no trajectory of fallingcat ({error})", file=path) from None
    if parts["rates"].shape[1:] != (model.n,) or parts["twists"].shape[1:] != (model.m,):
        raise ModelError(f"the trajectory in {os.fspath(path)!r} is of another robot than {model.name!r}")
    return parts | {"model": model, "system": system or System(model)}


def arrays(run: Trajectory) -> dict[str, Any]:
    """Everything as plain arrays and one text."""
    return {name: getattr(run, name) for name in SERIES} | {
        "base_work": run.ledger.base,
        "joint_work": run.ledger.joints,
        "text": json.dumps(
            {
                "modes": run.modes,
                "ports": run.ledger.ports,
                "events": run.events,
                "status": run.status,
                "integrator": run.integrator,
            }
        ),
    }


def _parts(data: dict[str, Any]) -> dict[str, Any]:
    text = json.loads(str(data["text"]))
    series = {name: np.asarray(data[name], dtype=float) for name in SERIES}
    if len({len(x) for x in series.values()}) != 1:
        raise ValueError("series of different lengths")
    return series | {
        "modes": tuple(tuple(mode) for mode in text["modes"]),
        "ledger": Ledger(tuple(text["ports"]), np.asarray(data["base_work"]), np.asarray(data["joint_work"])),
        "events": tuple(Happened(str(name), float(t), float(loss)) for name, t, loss in text["events"]),
        "status": str(text["status"]),
        "integrator": str(text["integrator"]),
    }


def _write_npz(name: str, content: dict[str, Any]) -> None:
    with open(name, "wb") as file:
        np.savez_compressed(file, **content)


def _read_npz(path: str | os.PathLike[str]) -> dict[str, Any]:
    with open(path, "rb") as file, np.load(file, allow_pickle=False) as data:
        return {name: data[name] for name in data.files}


def _atomically(target: Path, write: Callable[[str], Any]) -> None:
    handle, temporary = tempfile.mkstemp(dir=target.parent, suffix=".part")
    os.close(handle)
    try:
        write(temporary)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


# xarray ---------------------------------------------------------------------------------------------------------------


def _xarray() -> Any:
    try:
        import xarray
    except ImportError:
        raise ExtraMissingError("data", package="xarray", purpose="a labelled dataset") from None
    return xarray


def dataset(run: Trajectory) -> Any:
    """An ``xarray.Dataset``: every series with its dimensions, names and units."""
    model = run.model
    rates = [joint.name if joint.kind.nv == 1 else f"{joint.name}[{i}]" for joint in model.joints
             for i in range(joint.kind.nv)]  # fmt: skip
    joints = [name for joint in model.joints for name in _coordinates(joint)]
    kinetic, potential = run.energies()
    momenta = run.momenta("centroidal")
    time = ("time",)
    variables = {
        "poses": ((*time, "row", "column"), run.poses, {"units": "m", "long_name": "base to world, homogeneous"}),
        "joints": ((*time, "joint_coordinate"), run.joints, {"units": "rad or m"}),
        "twists": ((*time, "base_axis"), run.twists, {"units": "m/s, rad/s", "long_name": "base twist, body-fixed"}),
        "rates": ((*time, "joint"), run.rates, {"units": "rad/s or m/s"}),
        "forces": ((*time, "velocity"), run.forces, {"units": "N, N m", "long_name": "generalised forces, all ports"}),
        "memory": ((*time, "remembered"), run.memory, {"units": "m"}),
        "kinetic_energy": (time, kinetic, {"units": "J"}),
        "potential_energy": (time, potential, {"units": "J"}),
        "momentum": (
            (*time, "momentum_axis"),
            momenta,
            {"units": "N s, N m s", "long_name": "about the center of mass"},
        ),
        "base_work": ((*time, "port"), run.ledger.base, {"units": "J"}),
        "joint_work": ((*time, "port"), run.ledger.joints, {"units": "J"}),
    }
    coordinates = {
        "time": (time, run.times, {"units": "s"}),
        "joint": rates,
        "joint_coordinate": joints,
        "port": list(run.ledger.ports),
        "momentum_axis": ["px", "py", "pz", "lx", "ly", "lz"],
    }
    return _xarray().Dataset(variables, coordinates, {"model": model.name, "text": arrays(run)["text"]})


def _coordinates(joint: Any) -> list[str]:
    names = joint.kind.group.coordinate_names
    return [joint.name] if len(names) == 1 else [f"{joint.name}[{name}]" for name in names]


def _read_nc(path: str | os.PathLike[str]) -> dict[str, Any]:
    with _xarray().open_dataset(path, engine="scipy") as data:
        names = [*SERIES[1:], "base_work", "joint_work"]
        return {name: data[name].values for name in names} | {"times": data["time"].values, "text": data.attrs["text"]}
