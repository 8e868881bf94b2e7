"""Guards of hard contacts: functions of the state that turn negative where a mode ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....arrays import array, sqrt
from ....constraints.redundant_constraints import MAX_ACCELERATION_ERROR, ConstraintForces
from ....model import Model
from ...base import Mode
from .complementarity import OPEN, STICK
from .constraint_forces import Load, sliding_direction
from .contact_kinematics import ContactKinematics
from .contact_state import TOUCHDOWN_DEPTH, ContactState

if TYPE_CHECKING:
    from ..hard_contacts import HardContacts

ROUNDING_FORCE = 1e-10
"""Forces below this part of the robot's weight are rounding."""
ROUNDING_SPEED = 1e-9
"""Speeds (m/s) that are rounding."""


def guarded(contact: HardContacts, model: Model, mode: Mode) -> list[tuple[int, str]]:
    """Guards of a mode: index of a point and kind of its guard, for each."""
    found = []
    for i, (status, axes) in enumerate(zip(mode, contact.axes(model), strict=True)):
        found.append((i, "gap" if status == OPEN else "push"))
        if len(axes) > 1 and contact.coefficient(i) and status != OPEN:
            holds = ["cone"] if len(axes) > 2 else ["hold -", "hold +"]
            found += [(i, what) for what in (holds if status == STICK else ["stop"])]
    return found


def guard_values(
    contact: HardContacts,
    model: Model,
    mode: Mode,
    at: ContactKinematics,
    memory: Any,
    loads: dict[int, Load],
    held: ConstraintForces,
) -> Any:
    """Values of the guards of a mode, then the margin of the solution; each is positive within the mode."""
    values, rounding = [], rounding_force(model)
    for i, what in guarded(contact, model, mode):
        if what == "gap":
            value = gap(at, memory, i) + TOUCHDOWN_DEPTH
        elif what == "push":
            value = loads[i].push + rounding
        elif what == "stop":
            value = sliding_direction(contact, model, memory, i) @ (loads[i].J[1:] @ at.state.velocity) + ROUNDING_SPEED
        else:
            drag, limit = loads[i].drag, (contact.coefficient(i) or 0.0) * loads[i].push + rounding
            value = limit - (sqrt(drag @ drag) if what == "cone" else drag[0] if what == "hold -" else -drag[0])
        values.append(value)
    return array([*values, held.reserve + MAX_ACCELERATION_ERROR**2])


def gap(at: ContactKinematics, memory: Any, i: int) -> Any:
    """Distance (m) of an open point or stop from touchdown."""
    return at.places[i][0] - ContactState.of_point(memory, i).place[0]


def rounding_force(model: Model) -> float:
    """Largest force (N) that counts as rounding."""
    return ROUNDING_FORCE * model.mass * max(1.0, float(np.linalg.norm(model.gravity)))


def resolved(held: ConstraintForces) -> bool:
    """True if the accelerations of a solution are those that the contact demands; on numbers."""
    return bool(held.reserve + MAX_ACCELERATION_ERROR**2 >= 0.0)
