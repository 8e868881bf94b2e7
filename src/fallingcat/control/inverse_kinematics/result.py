"""Inverse-kinematics result and status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...arrays.types import BoolArray, FloatArray
from ...model import Model, State
from ...records import tabulated
from ..tasks import BaseTask
from .damped_step import REACHED, STATIONARY, STEP_MEMORY, Plan
from .reach_bound import is_beyond

NOTED_BASE_MOTION = 1e-3
"""Base motion above which the result has a note (m)."""


@tabulated
@dataclass(frozen=True)
class InverseKinematicsResult:
    """Inverse-kinematics result and status; for many goals every entry has one more axis in front.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> found = fc.control.inverse_kinematics(arm, [fc.control.JointsTask([0.1, 0.2, 0.3])])
        >>> found.status, found.state.joints.round(6)
        ('converged', array([0.1, 0.2, 0.3]))
    """

    state: State
    """at rest"""
    converged: bool | BoolArray
    """True if every error is within the tolerance"""
    status: Any
    """``converged``; ``out of reach``: no start came nearer than ``error``, and the best ended where ``J' W e = 0``, or
    the goal is farther away than the stretched arm is long; ``stationary``: the same without restarts, which may still
    reach it; ``limited``: the joints of ``limits`` hold it back; ``unfinished``: more iterations are needed"""
    iterations: Any
    """number of steps from the start, or from the restart, that led here"""
    error: Any
    """largest remaining error of the first priority (m, rad)"""
    errors: tuple[FloatArray, ...]
    """remaining errors of each task, all rows that its mask keeps (m, rad)"""
    limits: Any
    """names of joints at a limit that are pushed against it; empty where it converged"""
    note: str = ""
    """a warning, such as a floating base that moved to the goal"""


class Rules(NamedTuple):
    """Settings of the search."""

    settings: np.ndarray
    iterations: int
    restarts: int
    seed: int


def one(
    model: Model, plan: Plan, start: State, found: np.ndarray, numbers: np.ndarray, rules: Rules
) -> InverseKinematicsResult:
    """Result for one goal from the last outputs of :func:`.step`."""
    nq, nv, flag = model.nq, model.nv, float(found[-1])
    errors = found[nq + STEP_MEMORY : -1 - nv]
    limits: tuple[str, ...] = ()
    status = "converged"
    if flag != REACHED:
        limits = _joints_at_limits(model, found)
        status = _status(flag, limits, rules, _is_beyond(model, plan, numbers, rules))
    pose = np.asarray(model.base.element(found[: model.base.nq])) if model.m else np.eye(4)
    state = State(pose, found[model.base.nq : nq], np.zeros(model.m), np.zeros(model.n))
    worst = max(map(abs, errors[: plan.first_rows].tolist()))
    parts = tuple(np.split(errors, plan.ends)) if len(plan.ends) else (errors,)
    note = _base_motion_note(model, plan, start, pose[None]) if model.m else ""
    return InverseKinematicsResult(state, flag == REACHED, status, int(found[nq]), worst, parts, limits, note)


def batch_result(
    model: Model, plan: Plan, start: State, found: np.ndarray, numbers: np.ndarray, rules: Rules
) -> InverseKinematicsResult:
    """Result for many goals from the last outputs of :func:`.step`."""
    nq, nv, flags = model.nq, model.nv, found[:, -1]
    errors, converged = found[:, nq + STEP_MEMORY : -1 - nv], flags == REACHED
    status = np.full(len(found), "converged", dtype="<U12")
    limits: list[tuple[str, ...]] = [()] * len(found)
    for i in np.flatnonzero(~converged):
        limits[i] = _joints_at_limits(model, found[i])
        status[i] = _status(flags[i], limits[i], rules, _is_beyond(model, plan, numbers[i], rules))
    poses = np.broadcast_to(np.eye(4), (len(found), 4, 4))
    if model.m:
        poses = np.array([model.base.element(row) for row in found[:, : model.base.nq]]).reshape(-1, 4, 4)
    state = State(poses, found[:, model.base.nq : nq], *(np.zeros((len(found), size)) for size in (model.m, model.n)))
    parts = tuple(np.split(errors, plan.ends, axis=1))
    worst = np.abs(errors[:, : plan.first_rows]).max(axis=1)
    note = _base_motion_note(model, plan, start, poses) if model.m else ""
    return InverseKinematicsResult(state, converged, status, found[:, nq].astype(int), worst, parts, limits, note)


def _joints_at_limits(model: Model, found: np.ndarray) -> tuple[str, ...]:
    """Joints at a limit that are pushed against it."""
    rates = found[-1 - model.n : -1]
    return tuple(name for name, push in zip(model.rate_joints, rates, strict=True) if push != 0.0)


def _is_beyond(model: Model, plan: Plan, numbers: np.ndarray, rules: Rules) -> bool:
    return is_beyond(model, plan.forms, numbers, float(rules.settings[0]), plan.has_limits)


def _status(flag: float, stopped: tuple[str, ...], rules: Rules, beyond: bool) -> str:
    if beyond:
        return "out of reach"
    if flag != STATIONARY:
        return "unfinished"
    return "limited" if stopped else "out of reach" if rules.restarts else "stationary"


def _base_motion_note(model: Model, plan: Plan, start: State, poses: np.ndarray) -> str:
    """Note where the base moved to the goals, and no task holds it."""
    if not len(poses) or any(isinstance(form, BaseTask) for form in plan.forms):
        return ""
    way = max(float(np.linalg.norm(pose[:3, 3] - start.pose[:3, 3])) for pose in poses)
    turn = max(float(np.linalg.norm(pose[:3, :3] - start.pose[:3, :3])) for pose in poses)
    if max(way, turn) < NOTED_BASE_MOTION:
        return ""
    much = f"by {way:.3g} m" if way >= NOTED_BASE_MOTION else "around"
    return f"the base moved {much}: if it should not, load the robot with base='fixed', or give a BaseTask"
