"""Forces of closed hard contacts: those that give the held rows the acceleration that the contact demands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....arrays import concatenate, scale, sqrt
from ....arrays.types import Vector
from ....constraints.redundant_constraints import ConstraintForces, check_consistent, solve_constraint_forces
from ....geometry.contact_points import stack_rows
from ....model import Model
from ...base import Mode
from .complementarity import OPEN, STICK
from .contact_kinematics import ContactKinematics
from .contact_state import ContactState

if TYPE_CHECKING:
    from ..hard_contacts import HardContacts

FRICTION_TURNING_SPEED = 2e-3
"""Below about this speed (m/s) the direction of friction is slow to turn: it keeps the equations from being stiff."""


class Load(NamedTuple):
    """Force of the ground on a closed point."""

    J: Any
    """``rows x nv``: the normal first, then the tangents along which the point can move"""
    push: Any
    """N, out of the ground"""
    drag: Any
    """N, along the ground, one for each tangential row"""


def constraint_forces(
    contact: HardContacts, model: Model, mode: Mode, at: ContactKinematics, memory: Vector, applied: Vector
) -> tuple[dict[int, Load], ConstraintForces]:
    """Forces of the closed points, and the acceleration under all forces.

    Args:
        contact: Hard contacts.
        model: Robot.
        mode: Mode.
        at: Contact kinematics.
        memory: Memory of the contact.
        applied: Generalized forces (nv) of everything else.

    Returns:
        Loads by index of the point, and the solution with its residual.
    """
    J_of: dict[int, Any] = {}
    held, pulled, biases, errors = [], [], [np.zeros(0)], [np.zeros(0)]
    for i, (status, axes) in enumerate(zip(mode, contact.axes(model), strict=True)):
        if status == OPEN:
            continue
        J_of[i] = J = at.J[i][axes]
        count = len(J) if status == STICK else 1
        held.append(J[:count])
        pulled.append(J if status == STICK else J[:1] - _friction_row(contact, model, memory, i, J))
        biases.append(at.biases[i][axes[:count]])
        errors.append((at.places[i] - ContactState.of_point(memory, i).place)[axes[:count]])
    J, K = stack_rows(held, model.nv), stack_rows(pulled, model.nv)
    bias = concatenate(biases) + drift(contact, J @ at.state.velocity, concatenate(errors))
    found = solve_constraint_forces(at.respond, J, K, at.respond(applied - at.bias_forces), -bias)
    return _split(contact, model, mode, memory, J_of, found.forces), found


def drift(contact: HardContacts, speeds: Vector, errors: Vector) -> Vector:
    """Acceleration of the stabilization: ``2 damping frequency speeds + frequency^2 errors`` of held rows (m/s, m)."""
    return 2.0 * contact.damping * contact.frequency * speeds + contact.frequency**2 * errors


def _split(
    contact: HardContacts, model: Model, mode: Mode, memory: Any, J_of: dict[int, Any], x: Any
) -> dict[int, Load]:
    """Forces ``x`` of all held rows as the load of each point."""
    loads, start = {}, 0
    for i, J in J_of.items():
        if mode[i] == STICK:
            loads[i] = Load(J, x[start], x[start + 1 : start + len(J)])
            start += len(J)
        else:
            w = sliding_direction(contact, model, memory, i)[: len(J) - 1]
            loads[i] = Load(J, x[start], scale(-(contact.coefficient(i) or 0.0) * x[start], w))
            start += 1
    return loads


def _friction_row(contact: HardContacts, model: Model, memory: Any, i: int, J: Any) -> Any:
    """``friction w' J_t`` (1 x nv): generalized friction for each newton of normal force."""
    w = sliding_direction(contact, model, memory, i)[: len(J) - 1]
    return np.reshape((contact.coefficient(i) or 0.0) * (w @ J[1:]), (1, model.nv)) if len(J) > 1 else 0.0 * J


def sliding_direction(contact: HardContacts, model: Model, memory: Vector, i: int) -> Vector:
    """Unit vector along which a point slides, with one entry for each tangent along which it can move."""
    w, axes = ContactState.of_point(memory, i).way, contact.axes(model)[i]
    if contact.coefficient(i) == 0.0 or len(axes) < 3:
        return w[np.array(axes[1:], dtype=int) - 1]
    return scale(1.0 / sqrt(w @ w), w)


def direction_rate(contact: HardContacts, model: Model, at: ContactKinematics, memory: Any, i: int, a: Any) -> Any:
    """Rate of the sliding direction ``w`` under accelerations ``a``: ``(1 - w w') (dv/dt + frequency v) / |v|``."""
    v, w = at.speed(i)[1:], sliding_direction(contact, model, memory, i)
    change = at.J[i][1:] @ a + at.biases[i][1:] + contact.frequency * v
    across = change - scale(w @ change, w)
    return scale(1.0 / sqrt(v @ v + FRICTION_TURNING_SPEED**2), across)


def check_constraint_accelerations(contact: HardContacts, model: Model, mode: Mode, at: ContactKinematics) -> None:
    """Raise an error that names closed points whose accelerations cannot all be zero."""
    held = _constrained_axes(contact, model, mode)
    biases = np.concatenate([np.zeros(0), *(at.biases[i][axes] for i, axes in held)])
    names = [contact.names[i] for i, axes in held for _ in axes]
    check_consistent(constraint_rows(contact, model, mode, at), biases, names, "the contacts")


def constraint_rows(contact: HardContacts, model: Model, mode: Mode, at: ContactKinematics) -> Any:
    """Jacobian (rows x nv) of the closed points along the axes in which they are held."""
    return stack_rows([at.J[i][axes] for i, axes in _constrained_axes(contact, model, mode)], model.nv)


def _constrained_axes(contact: HardContacts, model: Model, mode: Mode) -> list[tuple[int, np.ndarray]]:
    pairs = enumerate(zip(mode, contact.axes(model), strict=True))
    return [(i, axes if status == STICK else axes[:1]) for i, (status, axes) in pairs if status != OPEN]
