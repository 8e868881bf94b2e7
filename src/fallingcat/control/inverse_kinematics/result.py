"""What is said of an answer of inverse kinematics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...model import Model, State
from ...records import tabulated
from ..tasks import BaseTask
from .damped_step import HEAD, REACHED, STATIONARY, Plan
from .reach_bound import is_beyond

MOVED = 1e-3
"""m: a base that moves by more is noted."""


@tabulated
@dataclass(frozen=True)
class InverseKinematicsResult:
    """What :func:`inverse_kinematics` found; for many goals every entry has one more axis in front."""

    state: State
    """at rest"""
    converged: Any
    """whether every error is within the tolerance"""
    status: Any
    """``converged``; ``out of reach``: no start came nearer than ``error``, and where the best came to rest
    ``J' W e = 0``, or the goal is farther away than the stretched arm is long; ``stationary``: the same without other
    starts, which may still reach it; ``limited``: the joints of ``limits`` hold it back; ``unfinished``: more
    iterations are needed"""
    iterations: Any
    """steps from the start, or from the restart, that led here"""
    error: Any
    """the largest that is left, of the first priority (m, rad)"""
    errors: tuple[Any, ...]
    """of each task, all rows that count (m, rad)"""
    limits: Any
    """names of joints that stand at a limit and are pushed against it; empty where it converged"""
    note: str = ""
    """what one may not have meant: a base that flew to the goal"""


class Rules(NamedTuple):
    """How to look for it."""

    settings: np.ndarray
    iterations: int
    restarts: int
    seed: int


def one(
    model: Model, plan: Plan, start: State, found: np.ndarray, numbers: np.ndarray, rules: Rules
) -> InverseKinematicsResult:
    """What is said of the last outputs of :func:`.step` for one goal."""
    nq, nv, flag = model.nq, model.nv, float(found[-1])
    errors = found[nq + HEAD : -1 - nv]
    limits: tuple[str, ...] = ()
    status = "converged"
    if flag != REACHED:
        limits = _pushed(model, found)
        status = _status(flag, limits, rules, _is_beyond(model, plan, numbers, rules))
    pose = np.asarray(model.base.element(found[: model.base.nq])) if model.m else np.eye(4)
    state = State(pose, found[model.base.nq : nq], np.zeros(model.m), np.zeros(model.n))
    worst = max(map(abs, errors[: plan.first].tolist()))
    parts = tuple(np.split(errors, plan.ends)) if len(plan.ends) else (errors,)
    note = _flown(model, plan, start, pose[None]) if model.m else ""
    return InverseKinematicsResult(state, flag == REACHED, status, int(found[nq]), worst, parts, limits, note)


def many(
    model: Model, plan: Plan, start: State, found: np.ndarray, numbers: np.ndarray, rules: Rules
) -> InverseKinematicsResult:
    """What is said of those for many goals."""
    nq, nv, flags = model.nq, model.nv, found[:, -1]
    errors, converged = found[:, nq + HEAD : -1 - nv], flags == REACHED
    status = np.full(len(found), "converged", dtype="<U12")
    limits: list[tuple[str, ...]] = [()] * len(found)
    for i in np.flatnonzero(~converged):
        limits[i] = _pushed(model, found[i])
        status[i] = _status(flags[i], limits[i], rules, _is_beyond(model, plan, numbers[i], rules))
    poses = np.broadcast_to(np.eye(4), (len(found), 4, 4))
    if model.m:
        poses = np.array([model.base.element(row) for row in found[:, : model.base.nq]]).reshape(-1, 4, 4)
    state = State(poses, found[:, model.base.nq : nq], *(np.zeros((len(found), size)) for size in (model.m, model.n)))
    parts = tuple(np.split(errors, plan.ends, axis=1))
    worst = np.abs(errors[:, : plan.first]).max(axis=1)
    note = _flown(model, plan, start, poses) if model.m else ""
    return InverseKinematicsResult(state, converged, status, found[:, nq].astype(int), worst, parts, limits, note)


def _pushed(model: Model, found: np.ndarray) -> tuple[str, ...]:
    """Joints that stand at a limit and are pushed against it."""
    rates = found[-1 - model.n : -1]
    return tuple(name for name, push in zip(model.rate_joints, rates, strict=True) if push != 0.0)


def _is_beyond(model: Model, plan: Plan, numbers: np.ndarray, rules: Rules) -> bool:
    return is_beyond(model, plan.forms, numbers, float(rules.settings[0]), plan.limited)


def _status(flag: float, stopped: tuple[str, ...], rules: Rules, beyond: bool) -> str:
    if beyond:
        return "out of reach"
    if flag != STATIONARY:
        return "unfinished"
    return "limited" if stopped else "out of reach" if rules.restarts else "stationary"


def _flown(model: Model, plan: Plan, start: State, poses: np.ndarray) -> str:
    """A line where the base went to the goals, and no task holds it."""
    if not len(poses) or any(isinstance(form, BaseTask) for form in plan.forms):
        return ""
    way = max(float(np.linalg.norm(pose[:3, 3] - start.pose[:3, 3])) for pose in poses)
    turn = max(float(np.linalg.norm(pose[:3, :3] - start.pose[:3, :3])) for pose in poses)
    if max(way, turn) < MOVED:
        return ""
    much = f"by {way:.3g} m" if way >= MOVED else "around"
    return f"the base moved {much}: if it should not, load the robot with base='fixed', or give a BaseTask"
