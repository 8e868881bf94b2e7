"""The robot's dynamics for integrators: native code where it can be had, taken at a pose instead of a quaternion."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import concatenate
from ..dynamics import bias_forces, forward_dynamics, mass_matrix, mass_matrix_derivative
from ..kernels import compile
from ..lie.rotations import homogeneous
from ..model import Model, State

Function = Callable[..., np.ndarray]


def _at(state: State, pose: Any) -> State:
    """``state`` at the pose with the rows ``[R p]`` given flat (12)."""
    rows = pose.reshape(3, 4)
    return state._replace(pose=homogeneous(rows[:, :3], rows[:, 3]))


@functools.lru_cache(maxsize=8)
def acceleration(model: Model) -> Function:
    """``(state, forces) -> d/dt [twist; rates]`` (nv)."""

    def at(model: Model, state: State, forces: Any, pose: Any) -> Any:
        return forward_dynamics(model, _at(state, pose), forces)

    kernel, neutral = compile(model, at, sizes={"pose": 12}), model.flatten(model.neutral())[0][: model.base.nq]
    return lambda state, forces: kernel(_q(neutral, state), _v(state), forces, _pose(state))


@functools.lru_cache(maxsize=8)
def shape_mechanics(model: Model) -> Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """``(joints, v) -> M`` (nv x nv) and the slope ``dT/dq`` (n) of the kinetic energy along the joints."""
    nv, m = model.nv, model.m
    weightless = replace(model, gravity=np.zeros(3))

    def at(model: Model, state: State) -> Any:
        slope = mass_matrix_derivative(model, state) @ state.velocity - bias_forces(model, state)
        return concatenate([mass_matrix(model, state).reshape(nv * nv), slope[m:]])

    kernel, neutral = compile(weightless, at), model.flatten(model.neutral())[0][: model.base.nq]

    def both(joints: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        flat = kernel(np.concatenate([neutral, joints]), v)
        return flat[: nv * nv].reshape(nv, nv), flat[nv * nv :]

    return both


def _q(neutral: np.ndarray, state: State) -> np.ndarray:
    return np.concatenate([neutral, state.joints])


def _v(state: State) -> np.ndarray:
    return np.concatenate([state.twist, state.rates])


def _pose(state: State) -> np.ndarray:
    return np.ascontiguousarray(state.pose[:3]).reshape(12)
