"""States in the conventions of other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays.types import Vector
from ..errors import ModelError
from ..lie import R1, SE3, SO2, SO3, Group, Product, Trivial
from .state import State
from .states import checked_coordinates

if TYPE_CHECKING:
    from .model import Model

_KNOWN = (SE3, SO3, SO2, R1, Trivial)  # MuJoCo's free, ball, hinge and slide joints, and a welded body


def to_mujoco(model: Model, state: State) -> tuple[np.ndarray, np.ndarray]:
    """MuJoCo's ``qpos`` and ``qvel``: quaternions ``wxyz``; a free joint's linear velocity in its parent's frame.

    The joints keep the model's order, which is MuJoCo's when the model was read from the same file.
    """
    qpos, qvel = (np.array(x, dtype=float) for x in model.flatten(state))
    for group, q, v in _parts(model, qpos, qvel):
        if isinstance(group, SE3):
            v[:3] = group.element(q)[:3, :3] @ v[:3]
        if isinstance(group, (SE3, SO3)):
            q[-4:] = np.roll(q[-4:], 1)
    return qpos, qvel


def from_mujoco(model: Model, qpos: Vector, qvel: Vector | None = None) -> State:
    """The state with MuJoCo's ``qpos`` and ``qvel`` (zero if left out)."""
    try:
        qpos = np.array(qpos, dtype=float)
        qvel = np.zeros(model.nv) if qvel is None else np.array(qvel, dtype=float)
    except (TypeError, ValueError):
        raise ModelError("qpos and qvel are arrays of numbers") from None
    if qpos.shape != (model.nq,) or qvel.shape != (model.nv,):
        raise ModelError(
            f"qpos and qvel of {model.name!r} have shapes ({model.nq},) and ({model.nv},), "
            f"not {qpos.shape} and {qvel.shape}"
        )
    for group, q, v in _parts(model, qpos, qvel):
        if isinstance(group, (SE3, SO3)):
            q[-4:] = np.roll(q[-4:], -1)
            q[:] = checked_coordinates(group, q, "qpos")
        if isinstance(group, SE3):
            v[:3] = group.element(q)[:3, :3].T @ v[:3]
    return model.unflatten(qpos, qvel)


def _parts(model: Model, q: np.ndarray, v: np.ndarray) -> list[tuple[Group, np.ndarray, np.ndarray]]:
    """The base and every joint: group, its part of ``q`` and of ``v`` (views)."""
    whole = Product((model.base, *model.configuration.shape.factors))
    for group in whole.factors:
        if not isinstance(group, _KNOWN):
            raise ModelError(f"MuJoCo has no joint with the group {group}")
    return list(zip(whole.factors, whole.split_coordinates(q), whole.split(v), strict=True))
