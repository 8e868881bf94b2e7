"""Making states of a model, and refusing what is none."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import absolute, concatenate, is_numeric, maximum
from ..arrays.arguments import as_array, check_rng, of_shape, shape_of
from ..arrays.types import Matrix, Pose, Scalar, Vector
from ..arrays.vectorize import vectorize
from ..errors import ModelError, describe
from ..lie import SO3, Group
from ..lie.charts import EulerZYX
from ..lie.rotations import homogeneous, matrix_from_quaternion
from .joint import Joint, Limits
from .state import State

if TYPE_CHECKING:
    from .model import Model

MAX_NUMBERS = 10**10
"""Largest number of entries of a field of many states: 80 GB, more than machines have where they run."""
POSE_TOLERANCE = 1e-6  # a rotation with six printed digits passes
_SO3 = SO3()
QUATERNION_TOLERANCE = 1e-2  # three printed digits, single precision: a quaternion is brought to length 1 exactly


def make(model: Model, pose: Any, joints: Any, twist: Any, rates: Any, element: bool = False) -> State:
    """Checked state; see :meth:`Model.state`.  An ``element`` of the base group is not checked to be one."""
    given = State(
        model.neutral_pose.copy() if pose is None else pose,
        _by_name(model, joints, model.neutral_joints.copy(), model.q_slices, "joints"),
        np.zeros(model.m) if twist is None else twist,
        _by_name(model, rates, np.zeros(model.n), model.v_slices, "rates"),
    )
    made = [
        checked_field(x, shape, name) for name, x, shape in zip(State._fields, given, shapes_of(model), strict=True)
    ]
    if not element:
        check_pose(model, made[0])
    made[1] = _checked_joints(model, made[1])
    return State(*_broadcast_fields(model, made))


def pose_of(
    model: Model, pose: Pose | None, position: Vector | None, quaternion: Vector | None, rpy: Vector | None
) -> Pose | None:
    """Pose of the base (4 x 4) as it is given, or made of its parts; None where nothing is given.

    Args:
        model: Robot, whose neutral pose has the part that is left out.
        pose: ``4 x 4``, without the others.
        position: ``3`` (m).
        quaternion: ``4``, ``xyzw``, not with ``rpy``.
        rpy: ``3`` (rad): roll, pitch and yaw, ``R = R_z(yaw) R_y(pitch) R_x(roll)``.
    """
    if position is None and quaternion is None and rpy is None:
        return pose
    if pose is not None:
        raise ModelError("pose says where the base is and how it is turned: leave out position, quaternion and rpy")
    if quaternion is not None and rpy is not None:
        raise ModelError("quaternion and rpy both turn the base: give one of them")
    neutral = model.neutral_pose
    p = checked_field(neutral[:3, 3] if position is None else position, (3,), "position")
    if rpy is not None:
        turn = checked_field(rpy, (3,), "rpy")
    else:
        own = _SO3.coordinates(homogeneous(neutral[:3, :3], np.zeros(3)))
        turn = checked_field(own if quaternion is None else quaternion, (4,), "quaternion")
        turn = checked_coordinates(_SO3, turn, "quaternion") if is_numeric(turn) else turn

    def placed(p: Any, turn: Any) -> Any:
        R = matrix_from_quaternion(turn) if rpy is None else EulerZYX().to_matrix(turn[::-1])
        return homogeneous(R, p)

    return placed(p, turn) if p.ndim == turn.ndim == 1 else vectorize(placed, p, turn)


def shapes_of(model: Model) -> tuple[tuple[int, ...], ...]:
    """Shapes of the fields of one state."""
    return ((4, 4), (model.nq - model.base.nq,), (model.m,), (model.n,))


def checked_field(x: Any, shape: tuple[int, ...], what: str) -> Any:
    """``x`` as an array of this shape, or of many of it: axes in front, plain numbers."""
    given = shape_of(x) or ()
    lead = given[: len(given) - len(shape)]
    if not lead:
        return as_array(x, shape, what)
    if math.prod(given) > MAX_NUMBERS:
        raise ModelError(f"{what} holds {math.prod(given):.3g} numbers, and states at most {MAX_NUMBERS:.0e}")
    x = of_shape(x, (*lead, *shape), what)
    if not is_numeric(x):
        raise ModelError(f"many states are plain numbers, and {what} is not: map other kinds, jax.vmap(model.state)")
    _check_all(np.isfinite(x).all(axis=tuple(range(len(lead), x.ndim))), f"{what} holds a number that is not finite")
    return x


def _broadcast_fields(model: Model, parts: list[Any]) -> list[Any]:
    """The fields of many states, each as often as the most numerous; those of one state as they are."""
    shapes = shapes_of(model)
    leads = {x.shape[: x.ndim - len(shape)] for x, shape in zip(parts, shapes, strict=True)}
    if leads == {()}:
        return parts
    try:
        lead = np.broadcast_shapes(*leads)
    except (ValueError, RuntimeError):  # the latter: NumPy broadcasts 32 axes at most
        told_leads = ", ".join(f"{name} {x.shape}" for name, x in zip(State._fields, parts, strict=True))
        raise ModelError(f"the fields hold different numbers of states: {told_leads}") from None
    whole = [(x, (*lead, *shape)) for x, shape in zip(parts, shapes, strict=True)]
    return [x if x.shape == shape else np.broadcast_to(x, shape).copy() for x, shape in whole]


def check_pose(model: Model, pose: Pose) -> None:
    """Raise an error unless this is an element of the base group, or many are."""
    if not is_numeric(pose) or not np.isrealobj(pose):
        return
    group = model.base
    if pose.ndim == 2:
        fine = np.array(group.contains(pose, POSE_TOLERANCE))
    else:
        off = vectorize(lambda g: _largest(group.element(group.coordinates(g)) - g), pose, rank=2)
        fine = off <= POSE_TOLERANCE * np.maximum(1.0, vectorize(_largest, pose, rank=2))
    _check_all(fine, f"pose is no element of the base group {group} of {model.name!r}")


def _largest(matrix: Matrix) -> Scalar:
    """Largest absolute value of the entries."""
    return functools.reduce(maximum, absolute(matrix).ravel())


def _check_all(fine: np.ndarray, rule: str) -> None:
    """Raise an error with this rule unless all states are ``fine``; of many, it says which is not."""
    if not fine.all():
        which = ", ".join(map(str, np.argwhere(~fine)[0]))
        raise ModelError(f"state {which}: {rule}" if which else rule)


def neutral_pose(model: Model) -> np.ndarray:
    """Pose at which the base starts, or the identity where there is none in its group."""
    given = None if model.start is None else model.start.pose
    neutral = np.eye(4) if given is None or not model.base.contains(given, POSE_TOLERANCE) else given.copy()
    neutral.setflags(write=False)
    return neutral


def neutral_joints(model: Model) -> np.ndarray:
    """Coordinates at which joints start, or the identity of every group; beyond a stop, the stop."""
    neutral = model.configuration.neutral.joints.copy()
    for joint, place, limits in _moving(model):
        given = None if model.start is None else model.start.joints.get(joint.name)
        if given is not None and given.shape == (joint.nq,):
            neutral[place] = given
        if joint.nq == 1:
            neutral[place] = neutral[place].clip(limits.lower, limits.upper)
    neutral.setflags(write=False)
    return neutral


def standing(model: Model, ground: Any, state: State) -> State:
    """See :meth:`Model.standing`."""
    if not callable(getattr(ground, "place", None)):
        raise ModelError(f"ground is a contact, such as fc.contact.CompliantFloor(...), not {describe(ground)}")
    placed: State = ground.place(model, state)
    return placed


def _moving(model: Model) -> Iterator[tuple[Joint, slice, Limits]]:
    """Each joint with coordinates, their place, and what it may do."""
    own = [(joint, place) for joint, place in zip(model.joints, model.q_slices, strict=True) if joint.nv]
    return ((joint, place, limits) for (joint, place), limits in zip(own, model.limits, strict=True))


def check_record(model: Model, state: Any) -> None:
    """Raise an error unless ``state`` is a :class:`State` with the shapes of the model, one or many."""
    if not isinstance(state, State):
        raise ModelError(
            f"pass a State of {model.name!r}, not {describe(state)}: model.state(...), model.unflatten(q, v)"
        )
    lead = (shape_of(state.pose) or ())[:-2]
    for name, x, shape in zip(State._fields, state, shapes_of(model), strict=True):
        if shape_of(x) != (*lead, *shape):
            given = shape_of(x) or describe(x)
            raise ModelError(f"{name} must have shape {(*lead, *shape)} for {model.name!r}, got {given}")


def of_arrays(state: State) -> State:
    """Same state; what was written as lists, as arrays."""
    return State(*(np.array(x, dtype=float) if isinstance(x, (list, tuple)) else x for x in state))


def random(model: Model, rng: np.random.Generator, *batch: int) -> State:
    """Random state, or many; see :meth:`Model.random_state`."""
    q = random_coordinates(model, rng, *batch)
    coordinates, joints = q[..., : model.base.nq], q[..., model.base.nq :]
    pose = vectorize(model.base.element, coordinates) if batch else np.asarray(model.base.element(coordinates))
    return State(pose, joints, rng.normal(size=(*batch, model.m)), rng.normal(size=(*batch, model.n)))


def random_coordinates(model: Model, rng: np.random.Generator, *batch: int) -> np.ndarray:
    """Random flat configurations (*batch, nq); see :meth:`Model.random`."""
    check_rng(rng, batch)
    joints = [np.zeros((*batch, 0))]
    for joint, _, limits in _moving(model):
        q = joint.kind.group.random_coordinates(rng, *batch)
        joints.append(_uniform_within_limits(limits, q, rng) if joint.nq == 1 else q)
    return np.concatenate([model.base.random_coordinates(rng, *batch), *joints], axis=-1)


def _uniform_within_limits(limits: Limits, q: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Uniform between two stops; mirrored at a single one."""
    if np.isfinite([limits.lower, limits.upper]).all():
        return rng.uniform(limits.lower, limits.upper, size=q.shape)
    return np.minimum(np.maximum(q, 2.0 * limits.lower - q), 2.0 * limits.upper - q)


def checked_coordinates(group: Group, q: np.ndarray, what: str) -> np.ndarray:
    """Flat coordinates (..., nq) of a group with its quaternion, if there is one, brought to length 1.

    It may miss it by 0.01.
    """
    if "qw" not in group.coordinate_names or not np.isrealobj(q):
        return q
    start = group.coordinate_names.index("qx")
    turn = q[..., start : start + 4]
    length = np.sqrt((turn * turn).sum(axis=-1, keepdims=True))
    fine = np.abs(length[..., 0] - 1.0) <= QUATERNION_TOLERANCE
    if not fine.all():
        _check_all(fine, f"{what}: the quaternion xyzw has length {length[..., 0][~fine][0]:.6g}, not 1")
    return np.concatenate([q[..., :start], turn / length, q[..., start + 4 :]], axis=-1)


def _checked_joints(model: Model, q: Vector) -> Vector:
    if not is_numeric(q):
        return q
    if not _has_quaternions(model):
        return q.copy()
    parts = [q[..., :0]]
    for joint, place, _ in _moving(model):
        parts.append(checked_coordinates(joint.kind.group, q[..., place], f"joint {joint.name!r}"))
    return np.concatenate(parts, axis=-1)


@functools.lru_cache(maxsize=32)
def _has_quaternions(model: Model) -> bool:
    return any("qw" in joint.kind.group.coordinate_names for joint, _, _ in _moving(model))


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


def _at_least_1d(x: Any) -> Vector:
    """A single number of any kind as an array of one."""
    if isinstance(x, (list, tuple)):
        return x
    return [x] if not hasattr(x, "ndim") else x[None] if x.ndim == 0 else x
