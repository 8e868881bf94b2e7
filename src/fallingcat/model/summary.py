"""Short text and HTML tables of models and states."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..arrays import is_numeric
from ..errors import NumericsError
from ..records import LONGEST_VALUE, html_table, short_text

if TYPE_CHECKING:
    from .model import Model
    from .state import State


def model_text(model: Model) -> str:
    """Name, base, number of links and joint degrees of freedom, and mass, in one line."""
    parts = f"{len(model.links)} links, {model.n} joint dof, {_mass(model)}"
    return f"<Model {short_text(model.name)}: {f'base {model.base}' if model.m else 'fixed base'}, {parts}>"


def base_text(model: Model) -> str:
    """Base group in words: a fixed base moves in the trivial group, which is called 1."""
    return str(model.base) if model.m else "fixed"


def model_table(model: Model) -> str:
    """HTML table of a model and of its joints."""
    counts = [(name, str(len(getattr(model, name)))) for name in ("links", "frames", "loops", "tendons", "actuators")]
    rows = [("base", base_text(model)), ("joint dof", str(model.n)), ("mass", _mass(model)), *counts]
    joints = [
        (
            joint.name,
            joint.kind.name,
            joint.parent,
            joint.child,
            f"{joint.limits.lower:.4g} ... {joint.limits.upper:.4g}",
        )
        for joint in model.joints
    ]
    header = ("joint", "kind", "parent", "child", "limits")
    return html_table(model.name[:LONGEST_VALUE], rows) + (html_table("joints", joints, header) if joints else "")


def state_text(state: State) -> str:
    """Position, roll, pitch and yaw instead of the pose, then the other fields, in one line."""
    return f"State({', '.join(f'{name}={value}' for name, value in _rows(state))})"


def state_table(state: State) -> str:
    """HTML table of a state."""
    return html_table("State" if not state.batch else f"batch of {state.batch} states", _rows(state))


def _rows(state: State) -> list[tuple[str, str]]:
    pose: list[tuple[str, Any]] = [("pose", state.pose)]
    with suppress(NumericsError):  # not a rotation: a run that diverged
        if getattr(state.pose, "shape", ()) == (4, 4) and is_numeric(state.pose):
            pose = [("position", state.position), ("rpy", state.rpy)]
    rest = zip(("joints", "twist", "rates"), (state.joints, state.twist, state.rates), strict=True)
    return [(name, short_text(value)) for name, value in (*pose, *rest)]


def _mass(model: Model) -> str:
    return f"{model.mass:.4g} kg" if is_numeric(model.mass) else f"{short_text(model.mass)} kg"
