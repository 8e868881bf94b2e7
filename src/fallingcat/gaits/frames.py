"""Frames in which curvature and displacement are expressed: the base's own, or the center of mass with its axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dynamics import center_of_mass
from ..errors import ModelError
from ..formulations import curvature
from ..lie import SE3
from ..lie.rotations import homogeneous
from ..model import Model, State

_SE3 = SE3()
FRAMES = ("base", "center_of_mass")


def check_frame(model: Model, frame: str) -> None:
    """Whether the frame exists, and moves in the base group."""
    if frame not in FRAMES:
        raise ModelError(f"frame is one of {', '.join(FRAMES)}, not {frame!r}")
    if frame == "center_of_mass" and not model.base.contains(_at(center_of_mass(model, model.neutral()))):
        raise ModelError(f"the center of mass of {model.name!r} does not move in the base group {model.base}")


def frame_pose(model: Model, joints: Any, frame: str) -> np.ndarray:
    """``4 x 4``: the frame, seen from the base, at a shape."""
    if frame == "base":
        return np.eye(4)
    return np.asarray(_at(center_of_mass(model, model.state(joints=joints))))


def framed_curvature(model: Model, state: State, x: Any, y: Any, frame: str = "base") -> Any:
    """``DA(x, y)`` (m) in a frame: ``Ad(H_cb) DA`` ([Mishra] Prop. 6)."""
    F = curvature(model, state, x, y)
    if frame == "base":
        return F
    G = model.base
    still = State(np.eye(4), state.joints, state.twist, state.rates)
    seen = _SE3.Ad(_at(-center_of_mass(model, still)))
    return G.coselection @ (seen @ (G.selection @ F))


def _at(position: Any) -> Any:
    return homogeneous(np.eye(3), position)
