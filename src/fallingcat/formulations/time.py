"""A moment later: the independent clock of the certificates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import concatenate, scale
from ..arrays.differentiate import STEP as STEP
from ..arrays.types import Matrix, Scalar, Vector
from ..dynamics import displace
from ..model import Model, State


def state_after(model: Model, state: State, step: Scalar, acceleration: Vector | None = None) -> State:
    """State after the infinitesimal time ``step`` along its own velocity, and acceleration if given.

    It is right to first order in ``step``: for derivatives, by complex step and of expressions.
    """
    pose = state.pose @ (np.eye(4) + model.base.hat(scale(step, state.twist)))
    joints = displace(model, state, concatenate([np.zeros(model.m), scale(step, state.rates)])).joints
    moved = State(pose, joints, state.twist, state.rates)
    if acceleration is None:
        return moved
    return moved._replace(
        twist=state.twist + step * acceleration[: model.m], rates=state.rates + step * acceleration[model.m :]
    )


def is_rate(rate: Matrix, at: Callable[[Scalar], Matrix], speed: float) -> bool:
    """True if ``rate`` is, to two digits, that of the matrix ``at(time)`` by differences.

    Complex steps miss what a function does that drops imaginary parts.
    """
    # Central differences err by step^2 of the curvature and by rounding / step, 1e-10: two digits are safe.
    step = 1e-6 / max(1.0, speed)
    before, after = at(-step), at(step)
    difference = (after - before) / (2.0 * step)
    rounding = 1e-4 * max(1.0, speed) * np.abs(after).max(axis=1, keepdims=True, initial=0.0)
    return bool((np.abs(difference - rate) <= 1e-2 * (np.abs(difference) + np.abs(rate)) + rounding).all())
