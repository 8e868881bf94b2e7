"""The robot's forward dynamics for integrators: native code, taken at a pose instead of a quaternion."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..dynamics import forward_dynamics
from ..kernels import compile
from ..lie.rotations import homogeneous
from ..model import Model, State


def at_pose(model: Model, state: State, forces: Any, pose: Any) -> Any:
    """Forward dynamics at the pose with the rows ``[R p]`` given flat (12)."""
    rows = pose.reshape(3, 4)
    return forward_dynamics(model, state._replace(pose=homogeneous(rows[:, :3], rows[:, 3])), forces)


@functools.lru_cache(maxsize=8)
def acceleration(model: Model) -> Callable[[State, np.ndarray], np.ndarray]:
    """``(state, forces) -> d/dt [twist; rates]`` (nv)."""
    kernel, neutral = compile(model, at_pose, sizes={"pose": 12}), model.flatten(model.neutral())[0][: model.base.nq]

    def at(state: State, forces: np.ndarray) -> np.ndarray:
        pose = np.ascontiguousarray(state.pose[:3]).reshape(12)
        return kernel(np.concatenate([neutral, state.joints]), state.velocity, forces, pose)

    return at
