"""Frames of curvature and displacement: brackets are smallest where the robot moves least.

``base`` is the base's own; ``center_of_mass`` sits at the center of mass with the axes of the base; ``virtual_chassis``
sits there too and follows the principal axis of the frozen robot that stands out, a cat's long axis ([Mishra] V-B), by
the shortest turn from the axis of the base that is nearest to it at the neutral shape.  The two others are not
followed: where their moments cross, principal axes jump, and this frame does not. ``principal_axes`` sits at the center
of mass along all three principal axes, in which the locked inertia is diagonal; it jumps where moments
cross.  ``minimum_perturbation`` is the frame that moves least over the region of shapes in question
(:mod:`fallingcat.planning.curvature.perturbation`).  A frame of one's own is its pose on the base, ``H_bc`` (4 x 4), or
a function of the joints that returns it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import argument_sizes
from ...arrays.arguments import as_array
from ...arrays.types import Matrix, Pose, Vector
from ...dynamics import center_of_mass, locked_inertia, principal_axes
from ...dynamics.checks import choice
from ...dynamics.principal import standing_out
from ...errors import ModelError, describe
from ...formulations import curvature
from ...lie import SE3
from ...lie.rotations import homogeneous
from ...model import Model, State
from .perturbation import MinimumPerturbation, minimum_perturbation
from .regions import Region

_SE3 = SE3()
FRAMES = ("base", "center_of_mass", "virtual_chassis", "minimum_perturbation")
NAMED_FRAMES = (*FRAMES, "principal_axes")


@dataclass(frozen=True, eq=False)
class GivenFrame:
    """User-defined frame: its pose on the base as a function of the shape."""

    pose: Callable[[np.ndarray], Any]
    name: str


GaitFrame = str | MinimumPerturbation | GivenFrame | np.ndarray | Callable[[np.ndarray], Any]
"""One of :data:`NAMED_FRAMES`, minimum-perturbation coordinates that were found before, a pose on the base (4 x 4),
or a function ``joints -> pose``."""
KnownFrame = str | MinimumPerturbation | GivenFrame
"""Frames that :func:`check_frame` returns."""


def name_of(frame: KnownFrame) -> str:
    """Name of a frame."""
    return frame if isinstance(frame, str) else frame.name


def resolve_frame(model: Model, frame: GaitFrame, region: Callable[[], Region]) -> KnownFrame:
    """Checked frame; minimum-perturbation coordinates that are only named are computed over ``region()``."""
    known = check_frame(model, frame)
    return minimum_perturbation(model, region()) if known == "minimum_perturbation" else known


def check_frame(model: Model, frame: GaitFrame) -> KnownFrame:
    """Frame, if it exists and moves in the base group."""
    if isinstance(frame, MinimumPerturbation):
        other = frame.robot.model
        if other is not model:
            raise ModelError(f"the frame belongs to the model {other.name!r}, not to this model {model.name!r}")
        return frame
    if isinstance(frame, GivenFrame):
        return frame
    if not isinstance(frame, str):
        return _user_frame(model, frame)
    choice(frame, NAMED_FRAMES, "frame")
    _check_named(model, frame)
    return frame


def _user_frame(model: Model, frame: Any) -> GivenFrame:
    """User-defined frame from a pose or a function, checked at the neutral and a random shape."""
    if callable(frame):
        given = GivenFrame(frame, getattr(frame, "__name__", "given"))
        for q in (model.neutral().joints, model.random_state(np.random.default_rng(0)).joints):
            _pose_of(model, given, q)
        return given
    if not isinstance(frame, (np.ndarray, list, tuple)):
        raise ModelError(f"frame must be one of {', '.join(NAMED_FRAMES)}, a pose or a function, got {describe(frame)}")
    pose = as_array(frame, (4, 4), "the pose of the frame")
    given = GivenFrame(lambda joints: pose, "given pose")
    _pose_of(model, given, model.neutral().joints)
    return given


def _pose_of(model: Model, frame: GivenFrame, joints: Any) -> np.ndarray:
    try:
        H = np.asarray(as_array(frame.pose(joints), (4, 4), f"the pose of the frame {frame.name!r}"), dtype=float)
    except TypeError as error:
        raise ModelError(f"the frame {frame.name!r} must be a function of the joints: {error}") from error
    if not model.base.contains(H, 1e-6):
        raise ModelError(f"the frame {frame.name!r} must be a pose in the base's group {model.base}")
    return H


def _check_named(model: Model, frame: str) -> None:
    if frame in ("virtual_chassis", "principal_axes") and not isinstance(model.base, SE3):
        what = frame.replace("_", " ")
        raise ModelError(f"the {what} of {model.name!r} needs a free base (SE(3)), got {model.base}")
    if frame == "center_of_mass" and not _centers_stay(model):
        raise ModelError(f"the center of mass of {model.name!r} does not move in the base group {model.base}")


def frame_pose(model: Model, joints: Vector, frame: KnownFrame) -> np.ndarray:
    """Pose (4 x 4) of the frame on the base at a shape."""
    if isinstance(frame, GivenFrame):
        return _pose_of(model, frame, joints)
    if isinstance(frame, MinimumPerturbation):
        return frame.poses(joints)[0]
    if frame == "base":
        return np.eye(4)
    state = model.state(joints=joints)
    out = np.array(_translation(center_of_mass(model, state)), dtype=float)
    if frame == "virtual_chassis":
        inertia = np.asarray(locked_inertia(model, state, "centroidal"))[None, 3:, 3:]
        out[:3, :3] = chassis_axes(inertia, *standing_out(model))[0]
    if frame == "principal_axes":
        out[:3, :3] = principal_axes(model, state)
    return out


def frame_poses(model: Model, joints: np.ndarray, frame: KnownFrame) -> np.ndarray:
    """Poses (N x 4 x 4) of the frame on the base at shapes (N x n)."""
    if isinstance(frame, MinimumPerturbation):
        return frame.poses(joints)
    return np.array([frame_pose(model, q, frame) for q in joints])


@argument_sizes(x="n", y="n")
def framed_curvature(model: Model, state: State, x: Vector, y: Vector, frame: str = "base") -> Vector:
    """Curvature ``DA(x, y)`` (m) in the base, or at the center of mass: ``Ad(H_cb) DA`` ([Mishra] Prop. 6)."""
    F = curvature(model, state, x, y)
    if frame == "base":
        return F
    G = model.base
    still = State(np.eye(4), state.joints, state.twist, state.rates)
    seen = _SE3.Ad(_translation(-center_of_mass(model, still)))
    return G.coselection @ (seen @ (G.selection @ F))


def rotational_inertia(model: Model, state: State) -> Matrix:
    """Inertia (3 x 3) of the frozen robot about its center of mass, along the axes of the base."""
    still = State(np.eye(4), state.joints, state.twist, state.rates)
    return locked_inertia(model, still, "centroidal")[3:, 3:]


def chassis_axes(inertias: np.ndarray, rank: int = 0, nearest: int = 0) -> np.ndarray:
    """Rotations (N x 3 x 3), frame to base, that take the base's axis ``nearest`` to the principal axis ``rank``.

    >>> chassis_axes(np.diag([1.0, 3.0, 3.1])[None])[0].tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    axis, e = np.linalg.eigh(inertias)[1][:, :, rank], np.eye(3)[nearest]
    axis = axis * np.where(axis[:, nearest] < 0.0, -1.0, 1.0)[:, None]
    cosine = axis[:, nearest, None, None]
    K = np.cross(np.eye(3), np.cross(e, axis)[:, None, :])  # rows e_i x v: the skew matrix of v
    return np.asarray(np.eye(3) + K + K @ K / (1.0 + cosine)) + 0.0  # Rodrigues' formula for the shortest turn


def _centers_stay(model: Model) -> bool:
    """True if the base can translate to the center of mass, at the neutral and a random shape."""
    shapes = [model.neutral().joints, model.random_state(np.random.default_rng(0)).joints]
    return all(model.base.contains(_translation(center_of_mass(model, model.state(joints=q)))) for q in shapes)


def _translation(position: Vector) -> Pose:
    return homogeneous(np.eye(3), position)
