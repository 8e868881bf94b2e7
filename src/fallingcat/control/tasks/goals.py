"""Numbers of a task as a user gives them, checked: goals, rows, masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import array, is_numeric
from ...arrays.arguments import holds_numbers
from ...errors import ModelError, describe
from ...lie import SE3
from ...model.states import POSE_TOLERANCE

MAX_NUMBER = 1e100
"""Largest number of a task: products of numbers stay finite."""


def check_poses(goal: Any, what: str) -> None:
    """Raise an error unless numbers are one or many poses (..., 4, 4); other kinds of number are not checked."""
    if not is_numeric(goal):
        return
    goal = np.asarray(goal)
    if goal.shape[-2:] != (4, 4):
        raise ModelError(f"{what} must be a pose (4 x 4), got {describe(goal)}")
    if goal.ndim == 2 and _is_pose(goal.tolist()):
        return
    wrong = _pose_error(goal) > POSE_TOLERANCE
    if wrong.any():
        which = "" if goal.ndim == 2 else f" at index {int(np.argmax(wrong))}"
        raise ModelError(f"{what}{which} must be a pose [R p; 0 1] with a rotation R")


def _is_pose(rows: list[list[float]]) -> bool:
    """True for one pose; floats are faster than arrays for a single one."""
    (a, b, c, _), (d, e, f, _), (g, h, i, _), last = rows
    off = max(map(abs, _rotation_deviation(a, b, c, d, e, f, g, h, i)))
    return off <= POSE_TOLERANCE and last == [0.0, 0.0, 0.0, 1.0]


def _pose_error(goal: np.ndarray) -> np.ndarray:
    """Deviations (...) from poses."""
    parts = _rotation_deviation(*(goal[..., i, k] for i in range(3) for k in range(3)))
    last = goal[..., 3, :] - np.array([0.0, 0.0, 0.0, 1.0])
    return np.maximum(np.abs(last).max(axis=-1), np.abs(parts).max(axis=0))


def _rotation_deviation(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any, i: Any) -> tuple[Any, ...]:
    """Deviations from a rotation, whose first row is the cross product of the others, which are orthonormal."""
    product = (a - (e * i - f * h), b - (f * g - d * i), c - (d * h - e * g))
    return *product, d * d + e * e + f * f - 1.0, g * g + h * h + i * i - 1.0, d * g + e * h + f * i


def check_rotations(goal: Any, what: str) -> None:
    """Raise an error unless numbers are rotations (..., 3, 3), see :func:`check_poses`."""
    if is_numeric(goal):
        goal = np.asarray(goal)
        if goal.shape[-2:] != (3, 3):
            raise ModelError(f"{what} must be a rotation (3 x 3), got {describe(goal)}")
        poses = np.broadcast_to(SE3().identity(), (*goal.shape[:-2], 4, 4)).copy()
        poses[..., :3, :3] = goal
        check_poses(poses, what)


def as_numbers(x: Any, what: str) -> Any:
    """Number or array of any kind of number, of moderate size if its value is known; None stays."""
    if x is None or is_moderate(x):
        return x
    if isinstance(x, (list, tuple, range)):
        try:
            x = np.array(x, dtype=float) if is_numeric(np.array(x)) else array(x)
        except (TypeError, ValueError, OverflowError):
            raise ModelError(f"{what} must be made of numbers, got {describe(x)}") from None
    if not (hasattr(x, "__mul__") and holds_numbers(x)) or callable(x) or isinstance(x, (str, bytes)):
        raise ModelError(f"{what} must be made of numbers, got {describe(x)}")
    if not is_numeric(x):
        return x
    if np.asarray(x).dtype.kind not in "fiub" or not (np.abs(np.asarray(x, dtype=float)) <= MAX_NUMBER).all():
        raise ModelError(f"{what} must be real, finite and at most {MAX_NUMBER:g}, got {describe(x)}")
    return np.asarray(x, dtype=float) if np.ndim(x) else float(x)


def is_moderate(x: Any) -> bool:
    """True for plain floats that :func:`as_numbers` leaves unchanged; a quick test."""
    if type(x) is not np.ndarray or x.dtype != float or not x.ndim:
        return False
    flat = x.ravel()
    return bool(flat.dot(flat) <= MAX_NUMBER)  # not if one is no number


def as_mask(given: Any, name: str) -> tuple[bool, ...]:
    """True or False for each row."""
    rows = (
        list(given) if isinstance(given, (tuple, list)) or (isinstance(given, np.ndarray) and given.ndim == 1) else []
    )
    if not all(isinstance(x, (bool, int, float, np.number, np.bool_)) and x in (0, 1) for x in rows) or not any(rows):
        raise ModelError(
            f"mask of {name} must be True or False for each row, True at least once, got {describe(given)}"
        )
    return tuple(bool(x) for x in rows)
