"""Trajectories in files: NumPy's ``.npz``, and netCDF with names and units through xarray.

Both carry the SHA-256 of the rest of the file: what was damaged is not looked into.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import numpy as np

from ...dynamics.checks import check_model
from ...errors import ExtraMissingError, FallingCatError, FileError, ModelError, describe
from ...io.archives import unpacked
from ...io.diagnostics import check_path
from ...io.files import write_bytes
from ...model import Model
from ...model.states import POSE_TOLERANCE
from ..diagnostics.accuracy import ErrorEstimate
from ..diagnostics.ledger import Ledger
from ..events import EventRecord
from ..outcome import StatusCode, as_data, from_data
from ..problem.problem import Problem

if TYPE_CHECKING:
    from .trajectory import Trajectory

SERIES = ("times", "poses", "joints", "twists", "rates", "memory")
WORKS = ("base_work", "joint_work")
EMPTY = b"0" * 64
"""Placeholder of the checksum."""
MARK = b"sha256\0\0" + bytes([0, 0, 0, 2, 0, 0, 0, 64])
"""netCDF's header of an attribute ``sha256`` of 64 characters, which follow."""


def save(run: Trajectory, path: str | os.PathLike[str]) -> None:
    """Write to ``.npz`` or ``.nc``, as a whole or not at all; model and laws are not part of it."""
    check_path(path)
    kinds = {".npz": _as_npz, ".nc": _as_nc}
    if Path(path).suffix not in kinds:
        raise FileError("a trajectory is written to .npz or .nc, its table by to_csv", file=path)
    write_bytes(path, kinds[Path(path).suffix](run))


def load(path: str | os.PathLike[str], model: Model, problem: Problem | None) -> dict[str, Any]:
    """The parts of a trajectory in a file; nothing in it is executed."""
    check_path(path)
    check_model(model)
    if problem is not None and not isinstance(problem, Problem):
        raise ModelError(f"problem is the Problem of a run, such as trajectory.problem, not {describe(problem)}")
    try:
        if not Path(path).is_file():  # a pipe would wait for somebody to write
            raise FileError("there is no such file", file=path)
        content = Path(path).read_bytes()
        data = _of_nc(content) if Path(path).suffix == ".nc" else _of_npz(content)
        parts = _parts(data)
    except FallingCatError:
        raise
    except Exception as error:  # zip, zlib, NumPy's headers, netCDF and JSON raise what they like
        raise FileError(f"is no trajectory of fallingcat ({error or type(error).__name__})", file=path) from None
    widths = {"joints": model.nq - model.base.nq, "twists": model.m, "rates": model.n}
    if any(parts[name].shape[1] != width for name, width in widths.items()):
        raise ModelError(f"the trajectory in {os.fspath(path)!r} is of another robot than {model.name!r}")
    return parts | {"model": model, "problem": problem or Problem(model)}


# what is in a file ----------------------------------------------------------------------------------------------------


def arrays(run: Trajectory) -> dict[str, Any]:
    """Everything as plain arrays and one text."""
    series = {name: getattr(run, name) for name in SERIES}
    series |= {"base_work": run.ledger.base, "joint_work": run.ledger.joints}
    text = {
        "shapes": {name: x.shape for name, x in series.items()},
        "modes": run.modes,
        "ports": run.ledger.ports,
        "events": run.events,
        "code": run.code.value,
        "reason": run.reason,
        "warnings": as_data(run.warnings),
        "integrator": run.integrator,
        "lag": run.lag,
        "error": None if run.error_estimate is None else [x if np.isfinite(x) else None for x in run.error_estimate],
        "unestimated": run.unestimated,
    }
    return series | {"text": json.dumps(text)}


def _parts(data: dict[str, Any]) -> dict[str, Any]:
    """Series, modes, works and events, if they are those of a run; a ``ValueError`` says what is not."""
    text = json.loads(str(data["text"]))
    series = {name: _series(data, text["shapes"], name) for name in (*SERIES, *WORKS)}
    count, ports = len(series["times"]), tuple(map(_text, text["ports"]))
    modes = tuple(map(_frozen, text["modes"]))
    events = tuple(EventRecord(_text(name), float(t), float(loss)) for name, t, loss in text["events"])
    rules = {
        "there are no samples": count > 0,
        "times go back": bool((np.diff(series["times"]) >= 0.0).all()),
        "series have different lengths": {*map(len, series.values()), len(modes)} == {count},
        "poses are no poses": _are_poses(series["poses"]),
        "a mode is a list": all(isinstance(mode, tuple) for mode in modes),
        "works are not of the ports": all(series[name].shape[1] == len(ports) == len(set(ports)) for name in WORKS),
        "an event is outside the run": all(series["times"][0] <= e.time <= series["times"][-1] for e in events),
        "an event's loss is not finite": all(np.isfinite(e.loss) for e in events),
    }
    for rule, kept in rules.items():
        if not kept:
            raise ValueError(rule)
    ledger = Ledger(ports, *(series.pop(name) for name in WORKS))
    about = {"events": events, "integrator": _text(text["integrator"]), "lag": float(text.get("lag", 0.0))}
    return series | {"modes": modes, "ledger": ledger} | about | _error(text) | _end(text)


def _error(text: dict[str, Any]) -> dict[str, Any]:
    """Error estimate, which files of older versions do not have; a number that is not finite is null."""
    error = text.get("error")
    if error is None:
        return {"unestimated": _text(text.get("unestimated", "the file has no error estimate"))}
    return {"error_estimate": ErrorEstimate(*(np.inf if x is None else float(x) for x in error))}


def _end(text: dict[str, Any]) -> dict[str, Any]:
    """End of the run; files of older versions have one line of text."""
    if "code" in text:
        warnings = from_data(text["warnings"])
        return {"code": StatusCode(text["code"]), "reason": _text(text["reason"]), "warnings": warnings}
    status = _text(text["status"])
    starts = {"finished": StatusCode.FINISHED, "stopped by": StatusCode.EVENT, "interrupted": StatusCode.INTERRUPTED}
    code = next((code for start, code in starts.items() if status.startswith(start)), StatusCode.FAILED)
    return {"code": code, "reason": "" if status == "finished" else status}


def _series(data: dict[str, Any], shapes: dict[str, Any], name: str) -> np.ndarray:
    """Finite floats of the shape that was written; empty ones may be left out."""
    shape = tuple(int(n) for n in shapes[name])
    x = np.asarray(data[name], dtype=float) if 0 not in shape else np.zeros(shape)
    ranks = {"times": 1, "poses": 3}
    if x.shape != shape or x.ndim != ranks.get(name, 2) or not np.isfinite(x).all():
        raise ValueError(f"{name} are not numbers of shape {shape}")
    return x


def _are_poses(poses: np.ndarray) -> bool:
    if poses.shape[1:] != (4, 4):
        return False
    R = poses[:, :3, :3]
    odd = np.abs(np.einsum("kji,kjl->kil", R, R) - np.eye(3)).max(initial=0.0)
    bottom = np.abs(poses[:, 3] - [0.0, 0.0, 0.0, 1.0]).max(initial=0.0)
    return bool(max(odd, bottom) <= 1e3 * POSE_TOLERANCE and (np.linalg.det(R) > 0.0).all())


def _text(x: Any) -> str:
    if not isinstance(x, str):
        raise ValueError(f"{x!r} is no text")
    return x


def _frozen(x: Any) -> Any:
    """Lists as tuples, all the way down."""
    return tuple(map(_frozen, x)) if isinstance(x, list) else x


# npz ------------------------------------------------------------------------------------------------------------------


def _as_npz(run: Trajectory) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays(run))
    with ZipFile(stream, "a") as archive:
        archive.comment = EMPTY  # the very end of the file
    content = stream.getvalue()
    return _signed(content, len(content) - len(EMPTY))


def _of_npz(content: bytes) -> dict[str, Any]:
    _check(content, len(content) - len(EMPTY))
    return unpacked(content)


def _signed(content: bytes, place: int) -> bytes:
    """``content`` with the checksum of all the rest at ``place``, where there were zeros."""
    return content[:place] + _checksum(content, place) + content[place + len(EMPTY) :]


def _check(content: bytes, place: int) -> None:
    if content[max(place, 0) : place + len(EMPTY)] != _checksum(content, max(place, 0)):
        raise ValueError("damaged: its checksum does not fit")


def _checksum(content: bytes, place: int) -> bytes:
    rest = hashlib.sha256(content[:place] + EMPTY + content[place + len(EMPTY) :])
    return rest.hexdigest().encode("ascii")


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
    rates = [joint.name if joint.nv == 1 else f"{joint.name}[{i}]" for joint in model.joints
             for i in range(joint.nv)]  # fmt: skip
    joints = [name for joint in model.joints if joint.nv for name in _coordinates(joint)]
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


def _as_nc(run: Trajectory) -> bytes:
    data = dataset(run).assign_attrs(sha256=EMPTY.decode("ascii"))
    data = data.drop_dims([name for name, size in data.sizes.items() if not size])  # netCDF takes these for endless
    content = bytes(data.to_netcdf(engine="scipy"))
    return _signed(content, _marked(content))


def _of_nc(content: bytes) -> dict[str, Any]:
    _check(content, _marked(content))
    with _xarray().open_dataset(io.BytesIO(content), engine="scipy") as data:
        there = {name: data[name].values for name in (*SERIES[1:], *WORKS) if name in data}
        return there | {"times": data["time"].values, "text": data.attrs["text"]}


def _marked(content: bytes) -> int:
    return content.index(MARK) + len(MARK)
