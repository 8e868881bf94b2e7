"""A run as one table: a row for each sample, a column for each number, with names and units."""

from __future__ import annotations

import csv
import io
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import concatenate
from ...errors import ExtraMissingError
from ...io.diagnostics import check_path
from ...io.files import write_bytes
from ...model import Joint, Model, State

if TYPE_CHECKING:
    from .trajectory import Trajectory

_UNITS = {"x": "x (m)", "y": "y (m)", "z": "z (m)", "distance": "distance (m)", "angle": "angle (rad)"}


def columns(run: Trajectory) -> dict[str, np.ndarray]:
    """Name with unit, and values (N): time, base, joints, their rates, works by port, contact forces."""
    model, base = run.model, run.model.base
    joints = [joint for joint in model.joints if joint.nv]
    table: dict[str, np.ndarray] = {"time (s)": run.times}

    def add(names: list[str], values: np.ndarray) -> None:
        table.update(zip(names, values.T, strict=True))

    if base.nq:
        add([f"base {_UNITS.get(name, name)}" for name in base.coordinate_names], run.measure(base_coordinates))
    add([f"{name} ({unit})" for joint in joints for name, unit in _coordinates(joint)], run.joints)
    add([_velocity(column, i) for i, column in enumerate(base.selection.T)], run.twists)
    add([f"{name} ({unit}/s)" for joint in joints for name, unit in _rates(joint)], run.rates)
    add([f"work: {port} (J)" for port in run.ledger.ports], run.ledger.works)
    if run.problem.ports == run.ledger.ports:  # else the contact is not known
        names = [f"{point} force {axis} (N)" for point in run.contact_points for axis in "xyz"]
        add(names, run.contact_forces.reshape(len(run), -1))
    return table


def base_coordinates(model: Model, state: State) -> Any:
    """The flat coordinates of the base."""
    return concatenate([np.zeros(0), model.base.coordinates(state.pose)])


def _velocity(column: np.ndarray, i: int) -> str:
    """The name of a rate of the base that moves it by this twist: along or about an axis, else its number."""
    kind, unit = ("angular velocity", "rad/s") if column[3:].any() else ("velocity", "m/s")
    (moved,) = np.nonzero(column)
    name = "xyz"[moved[0] % 3] if len(moved) == 1 and column[moved[0]] == 1.0 else str(i)
    return f"base {kind} {name} ({unit})"


def _unit(joint: Joint, i: int) -> str:
    return "rad" if np.any(joint.kind.group.selection[3:, i]) else "m"


def _coordinates(joint: Joint) -> list[tuple[str, str]]:
    names, simple = joint.kind.group.coordinate_names, joint.kind.nq == joint.kind.nv
    if len(names) == 1:
        return [(joint.name, _unit(joint, 0))]
    return [(f"{joint.name}[{name}]", _unit(joint, i) if simple else "1") for i, name in enumerate(names)]


def _rates(joint: Joint) -> list[tuple[str, str]]:
    if joint.kind.nv == 1:
        return [(joint.name, _unit(joint, 0))]
    return [(f"{joint.name}[{i}]", _unit(joint, i)) for i in range(joint.kind.nv)]


def save_table(run: Trajectory, path: str | os.PathLike[str]) -> None:
    """Comma-separated values in UTF-8, as a whole or not at all; numbers to their last bit."""
    check_path(path)
    table, text = columns(run), io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([_harmless(name) for name in table])
    writer.writerows(zip(*(values.tolist() for values in table.values()), strict=True))
    write_bytes(path, text.getvalue().encode("utf-8"))


def _harmless(name: str) -> str:
    """A name that no spreadsheet takes for a formula."""
    return f"'{name}" if name[:1] in "=+-@\t\r" else name


def dataframe(run: Trajectory) -> Any:
    """A ``pandas.DataFrame`` with the time (s) as its index."""
    try:
        import pandas as pd
    except ImportError:
        raise ExtraMissingError("data", package="pandas", purpose="a data frame") from None
    table = columns(run)
    return pd.DataFrame({name: x for name, x in table.items() if name != "time (s)"},
                        index=pd.Index(run.times, name="time (s)"))  # fmt: skip
