"""Methods of :class:`Model` for flat vectors: configurations and velocities as plain arrays, here and elsewhere."""

# ruff: noqa: D417 (methods of a class in another file: nobody passes `self`)
from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import concatenate, is_numeric, scale
from ..arrays.arguments import shape_of
from ..arrays.types import (
    Float_nq,
    Float_nv,
    FloatArray,
    Floats_nq,
    Scalar,
    Vector,
    Vector_nq,
    Vector_nv,
    Vectors_nq,
    Vectors_nv,
)
from ..arrays.vectorize import vectorize
from ..errors import ModelError, describe
from . import exchange
from .exchange.pinocchio import free_followers
from .state import State
from .states import check_record, checked_coordinates, checked_field, make, of_arrays, random_coordinates

if TYPE_CHECKING:
    from .model import Model


def flatten(self: Model, state: State) -> tuple[Vectors_nq, Vectors_nv]:
    """Flat vectors ``q = [base coordinates, joints]`` and ``v = [twist, rates]``.

    For an SE(3) base ``q`` starts with position and quaternion ``xyzw``, as in Pinocchio and ROS.

    Args:
        state: State, or many.

    Returns:
        ``q`` (..., nq) and ``v`` (..., nv).
    """
    check_record(self, state)
    state = of_arrays(state)
    if not state.batch:
        return concatenate([self.base.coordinates(state.pose), state.joints]), state.velocity
    if not is_numeric(state.pose):
        raise ModelError("many states are plain numbers: map other kinds, jax.vmap(model.flatten)")
    q = np.concatenate([vectorize(self.base.coordinates, state.pose, rank=2), state.joints], axis=-1)
    return q, state.velocity


def unflatten(self: Model, q: Vectors_nq, v: Vectors_nv | None = None) -> State:
    """State with flat vectors, or as many states as their axes in front say; the inverse of :meth:`flatten`.

    Args:
        q: Flat coordinates, (..., nq).
        v: Velocities, (..., nv); None: zero.

    Returns:
        State of this robot.
    """
    v, given = np.zeros(self.nv) if v is None else v, []
    for name, x, size in (("q", q, self.nq), ("v", v, self.nv)):
        if (shape_of(x) or ())[-1:] != (size,):
            raise ModelError(f"{name} must have shape ({size},) for {self.name!r}, got {shape_of(x) or describe(x)}")
        given.append(checked_field(x, (size,), name))
    q, v = given
    coordinates = q[..., : self.base.nq]
    if is_numeric(q):
        coordinates = checked_coordinates(self.base, coordinates, "q (base)")
    pose = self.base.element(coordinates) if q.ndim == 1 else vectorize(self.base.element, coordinates)
    return make(self, pose, q[..., self.base.nq :], v[..., : self.m], v[..., self.m :], element=is_numeric(q))


def integrate(self: Model, q: Vectors_nq, x: Vectors_nv) -> Vectors_nq:
    """Flat coordinates moved along a tangent: the base by ``exp`` of its body-fixed part, joints alike.

    Args:
        q: Flat coordinates, (..., nq).
        x: Tangent vector, (..., nv) (m, rad).

    Returns:
        Flat coordinates, (..., nq).

    Example:
        >>> from fallingcat.model import robots
        >>> cat = robots.cat()
        >>> q, _ = cat.flatten(cat.neutral())
        >>> cat.integrate(q, np.eye(cat.nv)).shape
        (16, 17)
        >>> cat.difference(q, cat.integrate(q, np.ones(cat.nv)))[:3].round(12)
        array([1., 1., 1.])
    """
    return self.configuration.integrate(q, x)


def difference(self: Model, q: Vectors_nq, p: Vectors_nq) -> Vectors_nv:
    """Shortest ``x`` with ``integrate(q, x) = p``; angles and lengths simply subtract.

    Args:
        q: Flat coordinates, (..., nq).
        p: Flat coordinates, (..., nq).

    Returns:
        Tangent vector, (..., nv) (m, rad).
    """
    return self.configuration.between(q, p)


def interpolate(self: Model, q: Vectors_nq, p: Vectors_nq, s: Scalar) -> Vectors_nq:
    """Point on the one-parameter path from ``q`` to ``p``.

    Args:
        q: Flat coordinates at ``s = 0``, (..., nq).
        p: Flat coordinates at ``s = 1``, (..., nq).
        s: Number from 0 to 1.

    Returns:
        Flat coordinates, (..., nq).
    """
    return self.integrate(q, scale(s, self.difference(q, p)))


def random(self: Model, rng: np.random.Generator, *batch: int) -> Floats_nq:
    """Random flat coordinates, by the law of :meth:`random_state`.

    Args:
        rng: Random generator.
        *batch: Axes in front.

    Returns:
        ``batch x nq``.

    Example:
        >>> from fallingcat.model import robots
        >>> robots.cat().random(np.random.default_rng(0), 10_000).shape
        (10000, 17)
    """
    return random_coordinates(self, rng, *batch)


def to_mujoco(self: Model, state: State) -> tuple[Float_nq, Float_nv]:
    """Flat vectors ``qpos, qvel`` in MuJoCo's conventions: quaternions ``wxyz``, linear velocity in the world.

    Joints keep the model's order, which is MuJoCo's when the model was read from the same file.  For many states
    at once, and for Drake and ROS, see :mod:`fallingcat.exchange`.

    Args:
        state: State of this robot.

    Returns:
        Vectors ``qpos`` (nq) and ``qvel`` (nv).
    """
    return exchange.mujoco(self).to(*self.flatten(state))


def from_mujoco(self: Model, qpos: Vector_nq, qvel: Vector_nv | None = None) -> State:
    """State with MuJoCo's ``qpos`` and ``qvel``; the inverse of :meth:`to_mujoco`.

    Args:
        qpos: MuJoCo's coordinates (nq).
        qvel: MuJoCo's velocities (nv); None: zero.

    Returns:
        State of this robot.
    """
    return self.unflatten(*exchange.mujoco(self).from_(qpos, qvel))


def to_pinocchio(self: Model, state: State, like: Any) -> tuple[FloatArray, FloatArray]:
    """Flat vectors ``q, v`` in the order and the conventions of Pinocchio.

    Args:
        state: State of this robot.
        like: ``pinocchio.Model`` of the same robot.

    Returns:
        Vectors ``q`` (its nq) and ``v`` (nv).
    """
    peer = exchange.pinocchio(self, like)
    if free := free_followers(self, like):
        names, more = ", ".join(map(repr, free[:5])), len(free) - 5
        warnings.warn(
            f"joints of {self.name!r} that follow others here are free in the Pinocchio model: {names}"
            f"{f' and {more} more' if more > 0 else ''}; its mass matrix is larger: read it with mimic=True, or take "
            "T' M T, T = fc.exchange.pinocchio(model, like).velocity_map(q)",
            UserWarning,
            stacklevel=2,
        )
    return peer.to(*self.flatten(state))


def from_pinocchio(self: Model, q: Vector, v: Vector_nv | None = None, *, like: Any) -> State:
    """State with Pinocchio's ``q`` and ``v``; the inverse of :meth:`to_pinocchio`.

    Args:
        q: Pinocchio's coordinates (its nq).
        v: Pinocchio's velocities (nv); None: zero.
        like: ``pinocchio.Model`` of the same robot.

    Returns:
        State of this robot.
    """
    return self.unflatten(*exchange.pinocchio(self, like).from_(q, v))
