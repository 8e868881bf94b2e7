"""Making states of a model, and refusing what is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import concatenate, is_numeric
from ..errors import ModelError
from ..lie import Group
from .state import State

if TYPE_CHECKING:
    from .model import Model

POSE_TOLERANCE = 1e-6  # a rotation with six printed digits passes


def make(model: Model, pose: Any, joints: Any, twist: Any, rates: Any) -> State:
    """The checked state; see :meth:`Model.state`."""
    pose = np.eye(4) if pose is None else _array(pose, (4, 4), "pose")
    if is_numeric(pose) and np.isrealobj(pose) and not model.base.contains(pose, POSE_TOLERANCE):
        raise ModelError(f"pose is no element of the base group {model.base} of {model.name!r}")
    joints = _by_name(model, joints, _neutral_joints(model), model.q_slices, "joints")
    joints = _checked_joints(model, _array(joints, (model.nq - model.base.nq,), "joints"))
    twist = np.zeros(model.m) if twist is None else _array(twist, (model.m,), "twist")
    rates = _by_name(model, rates, np.zeros(model.n), model.v_slices, "rates")
    return State(pose, joints, twist, _array(rates, (model.n,), "rates"))


def random(model: Model, rng: np.random.Generator) -> State:
    """A random state; see :meth:`Model.random_state`."""
    joints = [np.zeros(0)]
    for joint in model.joints:
        q = joint.kind.group.random_coordinates(rng)
        bounded = joint.kind.nq == 1 and np.isfinite([joint.limits.lower, joint.limits.upper]).all()
        joints.append(rng.uniform(joint.limits.lower, joint.limits.upper, size=1) if bounded else q)
    return State(model.base.random(rng), np.concatenate(joints), rng.normal(size=model.m), rng.normal(size=model.n))


def checked_coordinates(group: Group, q: np.ndarray, what: str) -> np.ndarray:
    """Flat coordinates of a group with its quaternion, if there is one, brought to length 1 exactly."""
    if "qw" not in group.coordinate_names or not np.isrealobj(q):
        return q
    start = group.coordinate_names.index("qx")
    length = float(np.linalg.norm(q[start : start + 4]))
    if not abs(length - 1.0) <= POSE_TOLERANCE:
        raise ModelError(f"{what}: the quaternion xyzw has length {length:.6g}, not 1")
    return np.concatenate([q[:start], q[start : start + 4] / length, q[start + 4 :]])


def _checked_joints(model: Model, q: Any) -> Any:
    if not is_numeric(q):
        return q
    parts = [np.zeros(0)]
    for joint, place in zip(model.joints, model.q_slices, strict=True):
        parts.append(checked_coordinates(joint.kind.group, q[place], f"joint {joint.name!r}"))
    return np.concatenate(parts)


def _neutral_joints(model: Model) -> np.ndarray:
    return np.concatenate([np.zeros(0), *(joint.kind.neutral() for joint in model.joints)])


def _by_name(model: Model, given: Any, neutral: np.ndarray, places: tuple[slice, ...], what: str) -> Any:
    """``given`` as one vector: an array as it is, a mapping spread over the joints, nothing for neutral."""
    if given is None:
        return neutral
    if not isinstance(given, Mapping):
        return given
    parts: list[Any] = [neutral[place] for place in places]
    for name, value in given.items():
        i = model.joint_index(name)
        value = np.atleast_1d(value) if is_numeric(value) or isinstance(value, (list, tuple)) else value
        parts[i] = _array(value, parts[i].shape, f"{what} of {name!r}")
    return concatenate([np.zeros(0), *parts])


def _array(x: Any, shape: tuple[int, ...], what: str) -> Any:
    """``x`` as an array of the given shape, floats made of anything float-like; finite if it holds numbers."""
    if isinstance(x, (int, float, list, tuple)):
        try:
            x = np.array(x, dtype=float)
        except (TypeError, ValueError):
            raise ModelError(f"{what} is an array of numbers of shape {shape}, not {x!r}") from None
    if np.shape(x) != shape:
        raise ModelError(f"{what} has shape {shape}, not {np.shape(x)}")
    if is_numeric(x):
        if x.dtype.kind not in "fc":
            x = x.astype(float)
        if not np.isfinite(x).all():
            raise ModelError(f"{what} holds a number that is not finite: {np.asarray(x).tolist()}")
    return x
