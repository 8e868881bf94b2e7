"""Actuators of joints: motors, and servos for position and velocity; data of the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from ...model import Actuator, Joint
from ...model.actuator import ActuatorKind
from ..numbers import number, vector
from ..safe_xml import Element
from .defaults import SERVOS, SHARED, Defaults
from .files import FilesReader
from .parts import fresh
from .settings import choice
from .tally import Tally

_INF: Final = float("inf")
_READ: Final = {"name", "class", "group", "user", "joint", *SHARED}
_GAINS: Final[dict[str, dict[str, float]]] = {
    "motor": {},
    "position": {"kp": 1.0, "kv": 0.0},
    "velocity": {"kv": 1.0},
}
_DATA: Final = "actuators are data of the model: no function here applies them"


def is_kept(element: Element) -> bool:
    """Whether an actuator pulls on a joint in a way that is read: no tendons, sites, filters, muscles."""
    return element.tag in SERVOS and "joint" in element.attributes and _only_known(element)


def read_actuators(
    root: Element, joints: Sequence[Joint], defaults: Defaults, reader: FilesReader, tally: Tally
) -> list[Actuator]:
    """The actuators of joints with one degree of freedom, in MuJoCo's order."""
    sizes = {joint.name: joint.kind.nv for joint in joints}
    given = [element for section in root.all("actuator") for element in section if is_kept(element)]
    taken = {element.get("name") for element in given}
    found = []
    for element in given:
        full, joint = defaults.applied(element, "main"), element.get("joint")
        if joint not in sizes:  # of a body that is no part of the robot
            continue
        if sizes[joint] != 1 or not _only_known(full):
            tally.note(f"this kind of <{element.tag}> is not read", element)
            continue
        found.append(_actuator(full, element.get("name") or fresh(f"{joint}_{element.tag}", taken), reader))
        tally.note(_DATA, element)
    return found


def _only_known(element: Element) -> bool:
    return not set(element.attributes) - _READ - set(_GAINS[element.tag])


def _actuator(element: Element, name: str, reader: FilesReader) -> Actuator:
    gains = {key: number(reader, element, key, default=usual) for key, usual in _GAINS[element.tag].items()}
    return Actuator(
        name,
        element.get("joint"),
        cast(ActuatorKind, element.tag),
        float(vector(reader, element, "gear", (1, 6), default=(1.0,))[0]),
        control_range=_range(element, "ctrl", reader),
        force_range=_range(element, "force", reader),
        **gains,
    )


def _range(element: Element, what: str, reader: FilesReader) -> tuple[float, float]:
    """A range counts where ``limited`` says so, or says nothing."""
    limited = choice(reader, element, f"{what}limited", ("true", "false", "auto"), "auto")
    lower, upper = vector(reader, element, f"{what}range", 2, default=(0.0, 0.0)).tolist()
    if limited == "false" or (limited == "auto" and (lower, upper) == (0.0, 0.0)):
        return -_INF, _INF
    if lower >= upper:
        reader.fail(element, f"the lower end of '{what}range' lies below the upper end", f"{lower:g} and {upper:g}")
    return lower, upper
