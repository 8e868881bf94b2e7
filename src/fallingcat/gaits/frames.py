"""Frames in which curvature and displacement are expressed: brackets are smallest where the robot moves least.

``base`` is the base's own; ``center_of_mass`` sits at the center of mass with the axes of the base;
``virtual_chassis`` sits there too and follows the principal axis of the frozen robot that stands out, a cat's long axis
([Mishra] V-B), by the shortest turn from the nearest axis of the base.  The two others are not followed: where their
moments cross, principal axes jump, and this frame does not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dynamics import center_of_mass, locked_inertia
from ..errors import ModelError
from ..formulations import curvature
from ..lie import SE3
from ..lie.rotations import homogeneous
from ..model import Model, State

_SE3 = SE3()
FRAMES = ("base", "center_of_mass", "virtual_chassis")


def check_frame(model: Model, frame: str) -> None:
    """Whether the frame exists, and moves in the base group."""
    if frame not in FRAMES:
        raise ModelError(f"frame is one of {', '.join(FRAMES)}, not {frame!r}")
    if frame == "virtual_chassis" and not isinstance(model.base, SE3):
        raise ModelError(f"the virtual chassis of {model.name!r} needs a free base, not {model.base}")
    if frame == "center_of_mass" and not model.base.contains(_at(center_of_mass(model, model.neutral()))):
        raise ModelError(f"the center of mass of {model.name!r} does not move in the base group {model.base}")


def frame_pose(model: Model, joints: Any, frame: str) -> np.ndarray:
    """``4 x 4``: the frame, seen from the base, at a shape."""
    if frame == "base":
        return np.eye(4)
    state = model.state(joints=joints)
    out = np.array(_at(center_of_mass(model, state)), dtype=float)
    if frame == "virtual_chassis":
        out[:3, :3] = chassis_axes(np.asarray(locked_inertia(model, state, "centroidal"))[None, 3:, 3:])[0]
    return out


def framed_curvature(model: Model, state: State, x: Any, y: Any, frame: str = "base") -> Any:
    """``DA(x, y)`` (m) in the base, or at the center of mass: ``Ad(H_cb) DA`` ([Mishra] Prop. 6)."""
    F = curvature(model, state, x, y)
    if frame == "base":
        return F
    G = model.base
    still = State(np.eye(4), state.joints, state.twist, state.rates)
    seen = _SE3.Ad(_at(-center_of_mass(model, still)))
    return G.coselection @ (seen @ (G.selection @ F))


def rotational_inertia(model: Model, state: State) -> Any:
    """``3 x 3``: inertia of the frozen robot about its center of mass, along the axes of the base."""
    still = State(np.eye(4), state.joints, state.twist, state.rates)
    return locked_inertia(model, still, "centroidal")[3:, 3:]


def chassis_axes(inertias: np.ndarray) -> np.ndarray:
    """Rotations (N x 3 x 3), frame to base, that take the nearest axis to the principal axis that stands out.

    >>> chassis_axes(np.diag([1.0, 3.0, 3.1])[None])[0].tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    moments, axes = np.linalg.eigh(inertias)
    slender = moments[:, 1] - moments[:, 0] > moments[:, 2] - moments[:, 1]
    axis = np.where(slender[:, None], axes[:, :, 0], axes[:, :, 2])
    nearest = np.argmax(np.abs(axis), axis=1)
    e = np.eye(3)[nearest]
    axis = axis * np.sign(np.einsum("ki,ki->k", axis, e))[:, None]
    cosine = np.einsum("ki,ki->k", axis, e)[:, None, None]
    K = np.cross(np.eye(3), np.cross(e, axis)[:, None, :])  # rows e_i x v: the skew matrix of v
    return np.asarray(np.eye(3) + K + K @ K / (1.0 + cosine)) + 0.0  # Rodrigues' formula for the shortest turn


def _at(position: Any) -> Any:
    return homogeneous(np.eye(3), position)
