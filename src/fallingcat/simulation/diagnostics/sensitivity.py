"""Sensitivity of a motion to its start, where steps had to be refined.

Points of a robot that hits hard ground at once push each other: the order in which they do decides how it goes on, and
a tiny change of the start changes that order.  Errors of steps do the same, so that no steps make the end certain.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ...model import Model, State
from ..outcome import Diagnostic, DiagnosticKind
from .accuracy import MAX_ERROR, Errors, distances

START_CHANGE = 1e-5
"""m/s and rad/s, of all velocities at the start: steps of 0.06 ms, the finest by default, make errors of such a size
where a point hits the ground at a fraction of 1 m/s"""
MIN_MOTION = np.array([0.1, 0.2, 0.1, 0.2])
"""m, rad: motions that ends are compared with are at least this large: a body that lands flat tilts by milliradians,
either way"""
ADVICE = "no steps make this end certain, judge many starts in a rollout"

R = TypeVar("R")


def changed(model: Model, start: State, change: float) -> State:
    """Start whose velocities are larger by ``change``; those of joints in closed loops stay."""
    rates = start.rates if model.loops else start.rates + change
    return start._replace(twist=start.twist + change, rates=rates) if change else start


def with_sensitivity(model: Model, run: R, changed_run: R) -> R:
    """Result of a run or a batch, which says so where no steps would make its end certain.

    Args:
        model: Robot.
        run: Result.
        changed_run: The same from a start whose velocities differ by :data:`START_CHANGE`.
    """
    found: Any = run
    apart = end_distances(model, run, changed_run).each
    relative = np.array([each.relative for each in apart])
    robots = np.flatnonzero(np.isfinite(relative) & (relative > MAX_ERROR))
    if not len(robots):
        return run
    worst = robots[relative[robots].argmax()]
    message = f"a start that is faster by {START_CHANGE:g} (m/s, rad/s) ends elsewhere, by {apart[worst]}"
    sensitive = Diagnostic(DiagnosticKind.SENSITIVE, message, float(relative[worst]), MAX_ERROR, ADVICE)
    if found.poses.ndim == 4:
        message = f"in {len(robots)} of {len(apart)} simulations {message}"
        sensitive = replace(sensitive, message=message, robots=robots)
    others = (warning for warning in found.warnings if warning.kind is not DiagnosticKind.STEP_ERROR)
    return replace(found, warnings=(*others, sensitive))


def end_distances(model: Model, run: Any, other: Any) -> Errors:
    """Distances of the ends of two runs, or of the robots of two batches, and how far the first one moved."""
    poses, joints = run.poses[..., :3, :], run.joints
    apart = distances(model, other.poses[-1, ..., :3, :] - poses[-1], other.joints[-1] - joints[-1])
    motions = distances(model, poses - poses[0], joints - joints[0]).max(axis=0)
    return Errors(np.atleast_2d(apart), np.maximum(MIN_MOTION, np.atleast_2d(motions)))
