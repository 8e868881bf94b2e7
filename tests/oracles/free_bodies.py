"""Newton-Euler for bodies cut free at the joints, [ETH] 3.3.2: one large linear system, solved as it stands.

Unknown are the acceleration of every body (of its center of mass, and angular: 6), the wrench that its joint puts on it
(6), and the acceleration of every joint.  Each body gives [ETH] (3.24)-(3.25) and the motion that the joints leave to
it (3.10), each joint the forces that drive it.  No recursion and no mass matrix.
"""

from __future__ import annotations

import numpy as np

from fallingcat.lie import skew
from fallingcat.model import Model, State

from .motion import STEP, Moving, moving_links, rotors
from .projected_newton_euler import Jacobians, jacobians


def forward_dynamics(model: Model, state: State, forces: np.ndarray) -> np.ndarray:
    """The acceleration (nv) under `forces` (nv); the base is a joint to the world."""
    count, nv, v = len(model.links), model.nv, state.velocity
    now, later = moving_links(model, state), moving_links(model, state, v, shift=v)
    J, size = jacobians(model, state), 12 * count + nv
    A, b = np.zeros((size, size)), np.zeros(size)
    places = [slice(0, model.m), *(slice(s.start + model.m, s.stop + model.m) for s in model.v_slices)]
    for i, body in enumerate(now):
        motion, wrench = slice(6 * i, 6 * i + 6), slice(6 * (count + i), 6 * (count + i) + 6)
        # (3.24)-(3.25): m a = m g + joint forces; Theta alpha + w x Theta w = joint torques about the center of mass
        A[motion, motion] = _blocks(body.mass * np.eye(3), body.inertia)
        A[motion, wrench] = -_about(body, body.position)
        b[motion] = [*body.mass * model.gravity, *-np.cross(body.spin, body.inertia @ body.spin)]
        # (3.10): a = J_P dv/dt + dJ_P/dt v, alpha = J_R dv/dt + dJ_R/dt v
        A[wrench, motion] = np.eye(6)
        A[wrench, 12 * count :] = -np.concatenate([J[i].position, J[i].rotation])
        b[wrench] = np.concatenate([np.imag(later[i].velocity), np.imag(later[i].spin)]) / STEP
    for i, place in enumerate(places):
        wrench = slice(6 * (count + i), 6 * (count + i) + 6)
        rows = slice(12 * count + place.start, 12 * count + place.stop)
        # on the joint's own motion of link i, its wrench does the work of the driving forces; the rest is constraint
        own = _about_world(J[i], now[i])[:, place]
        if i:  # relative to the parent, which moves too where a joint on its way leads this one
            own = own - _about_world(J[model.parents[i - 1]], now[model.parents[i - 1]])[:, place]
        A[rows, wrench] = own.T
        b[rows] = forces[place]
        if i:  # action and reaction
            p = model.parents[i - 1]
            A[6 * p : 6 * p + 6, wrench] += _about(now[p], now[p].position)
    for rotor in rotors(model):  # the driving forces turn the rotor too
        A[12 * count :, 12 * count :] += rotor.inertia * rotor.spin.T @ rotor.spin
    return np.linalg.solve(A, b)[12 * count :]


def _blocks(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.block([[a, np.zeros((3, 3))], [np.zeros((3, 3)), b]])


def _about(body: Moving, point: np.ndarray) -> np.ndarray:
    """World wrench `[f; t]` about the world's origin -> force in the world, torque about `point` in link axes."""
    R = body.rotation.T
    return np.block([[np.eye(3), np.zeros((3, 3))], [-R @ skew(point), R]])


def _about_world(J: Jacobians, body: Moving) -> np.ndarray:
    """Columns of a link (6 x nv), in world axes: velocity of what passes the world's origin, and angular velocity."""
    spin = body.rotation @ J.rotation
    return np.concatenate([J.position + skew(body.position) @ spin, spin])
