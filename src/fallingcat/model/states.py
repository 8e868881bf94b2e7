"""Making states of a model, and refusing what is none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import concatenate, is_numeric
from ..arrays.arguments import as_array, check_rng, shape_of
from ..errors import ModelError, told
from ..lie import Group
from .joint import Joint, Limits
from .state import State

if TYPE_CHECKING:
    from .model import Model

POSE_TOLERANCE = 1e-6  # a rotation with six printed digits passes
QUATERNION_TOLERANCE = 1e-2  # three printed digits, single precision: a quaternion is brought to length 1 exactly


def make(model: Model, pose: Any, joints: Any, twist: Any, rates: Any) -> State:
    """The checked state; see :meth:`Model.state`."""
    pose = np.eye(4) if pose is None else as_array(pose, (4, 4), "pose")
    if is_numeric(pose) and np.isrealobj(pose) and not model.base.contains(pose, POSE_TOLERANCE):
        raise ModelError(f"pose is no element of the base group {model.base} of {model.name!r}")
    joints = _by_name(model, joints, model.neutral_joints.copy(), model.q_slices, "joints")
    joints = _checked_joints(model, as_array(joints, (model.nq - model.base.nq,), "joints"))
    twist = np.zeros(model.m) if twist is None else as_array(twist, (model.m,), "twist")
    rates = _by_name(model, rates, np.zeros(model.n), model.v_slices, "rates")
    return State(pose, joints, twist, as_array(rates, (model.n,), "rates"))


def neutral_joints(model: Model) -> np.ndarray:
    """The identity of every joint's group, or the nearest stop."""
    neutral = model.configuration.neutral.joints.copy()
    for joint, place, limits in _moving(model):
        if joint.nq == 1:
            neutral[place] = neutral[place].clip(limits.lower, limits.upper)
    neutral.setflags(write=False)
    return neutral


def _moving(model: Model) -> Iterator[tuple[Joint, slice, Limits]]:
    """Each joint with coordinates, their place, and what it may do."""
    own = [(joint, place) for joint, place in zip(model.joints, model.q_slices, strict=True) if joint.nv]
    return ((joint, place, limits) for (joint, place), limits in zip(own, model.limits, strict=True))


def check_record(model: Model, state: Any) -> None:
    """An error unless ``state`` is a :class:`State` with the shapes of the model."""
    if not isinstance(state, State):
        raise ModelError(f"pass a State of {model.name!r}, not {told(state)}: model.state(...), model.unflatten(q, v)")
    shapes = ((4, 4), (model.nq - model.base.nq,), (model.m,), (model.n,))
    for name, x, shape in zip(State._fields, state, shapes, strict=True):
        if shape_of(x) != shape:
            given = shape_of(x) or told(x)
            raise ModelError(f"{name} has shape {shape} for {model.name!r}, not {given}")


def random(model: Model, rng: np.random.Generator) -> State:
    """A random state; see :meth:`Model.random_state`."""
    q = random_coordinates(model, rng)
    pose = np.asarray(model.base.element(q[: model.base.nq]))
    return State(pose, q[model.base.nq :], rng.normal(size=model.m), rng.normal(size=model.n))


def random_coordinates(model: Model, rng: np.random.Generator, *batch: int) -> np.ndarray:
    """Random flat configurations (*batch, nq); see :meth:`Model.random`."""
    check_rng(rng, batch)
    joints = [np.zeros((*batch, 0))]
    for joint, _, limits in _moving(model):
        q = joint.kind.group.random_coordinates(rng, *batch)
        joints.append(_within(limits, q, rng) if joint.nq == 1 else q)
    return np.concatenate([model.base.random_coordinates(rng, *batch), *joints], axis=-1)


def _within(limits: Limits, q: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Uniform between two stops; mirrored at a single one."""
    if np.isfinite([limits.lower, limits.upper]).all():
        return rng.uniform(limits.lower, limits.upper, size=q.shape)
    return np.minimum(np.maximum(q, 2.0 * limits.lower - q), 2.0 * limits.upper - q)


def checked_coordinates(group: Group, q: np.ndarray, what: str) -> np.ndarray:
    """Flat coordinates of a group with its quaternion, if there is one, brought to length 1; it may miss it by 0.01."""
    if "qw" not in group.coordinate_names or not np.isrealobj(q):
        return q
    start = group.coordinate_names.index("qx")
    length = float(np.linalg.norm(q[start : start + 4]))
    if not abs(length - 1.0) <= QUATERNION_TOLERANCE:
        raise ModelError(f"{what}: the quaternion xyzw has length {length:.6g}, not 1")
    return np.concatenate([q[:start], q[start : start + 4] / length, q[start + 4 :]])


def _checked_joints(model: Model, q: Any) -> Any:
    if not is_numeric(q):
        return q
    parts = [np.zeros(0)]
    for joint, place, _ in _moving(model):
        parts.append(checked_coordinates(joint.kind.group, q[place], f"joint {joint.name!r}"))
    return np.concatenate(parts)


def _by_name(model: Model, given: Any, neutral: np.ndarray, places: tuple[slice, ...], what: str) -> Any:
    """``given`` as one vector: an array as it is, a mapping spread over the joints, nothing for neutral."""
    if given is None:
        return neutral
    if not isinstance(given, Mapping):
        return given
    parts: dict[int, Any] = {i: neutral[place] for i, place in enumerate(places) if model.leaders[i] == i}
    for name, value in given.items():
        i = model.leading_index(name)
        parts[i] = as_array(_at_least_1d(value), parts[i].shape, f"{what} of {name!r}")
    return concatenate([np.zeros(0), *parts.values()])


def _at_least_1d(x: Any) -> Any:
    """A single number of any kind as an array of one."""
    if isinstance(x, (list, tuple)):
        return x
    return [x] if not hasattr(x, "ndim") else x[None] if x.ndim == 0 else x
