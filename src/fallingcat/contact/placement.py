"""Robots placed on the ground, at rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError
from ..geometry.contact_points import touches
from ..model import Free, Model, State

if TYPE_CHECKING:
    from .base import Contact

HEIGHT_TOLERANCE = 1e-9
"""m: how far the height of a robot on uneven ground may be off."""
MAX_SHIFTS = 50
"""Shifts along the normal that uneven ground may need."""


def rest_on(contact: Contact, model: Model, state: State) -> State:
    """State, or batch of states, at rest on the ground of a contact; see :meth:`.Contact.place`."""
    model, contact = contact.on_robot(model)
    if state.batch:
        flat = State(*(x.reshape(-1, *x.shape[len(state.batch) :]) for x in state))
        placed = State.stack([rest_on(contact, model, flat.at(i)) for i in range(len(flat.pose))])
        return State(*(x.reshape(like.shape) for x, like in zip(placed, state, strict=True)))
    if not contact.points:
        raise ModelError(f"{type(contact).__name__} has no points that a robot could stand on")
    ground: Any = contact.ground(model)
    normal = getattr(ground, "plane", ground).normal
    for _ in range(MAX_SHIFTS):
        found = touches(model, state, contact.points, ground, contact.radii)
        heights = [float(touch.site.height) for touch in found]
        shift = contact.resting_shift(model, np.array(heights))
        pose = np.array(state.pose)
        pose[:3, 3] -= shift * normal
        if not model.base.contains(pose, 1e-9):
            rule = f"the base {model.base} of {model.name!r} does not move along the normal of the ground"
            free = next((joint.name for joint in model.joints if isinstance(joint.kind, Free)), None)
            call = f"model.state(joints={{{free!r}: [x, y, z, 0, 0, 0, 1]}})"
            raise ModelError(rule if free is None else f"{rule}: give poses of its free bodies, as {call}")
        state = model.state(pose, state.joints)
        if abs(shift) <= HEIGHT_TOLERANCE:
            return state
    raise ModelError(f"no height was found at which {model.name!r} rests on this ground")
