"""States in the conventions of other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError
from ..lie import R1, SE3, SO2, SO3, Group, Trivial
from .state import State

if TYPE_CHECKING:
    from .model import Model

_KNOWN = (SE3, SO3, SO2, R1, Trivial)  # MuJoCo's free, ball, hinge and slide joints, and a welded body


def to_mujoco(model: Model, state: State) -> tuple[np.ndarray, np.ndarray]:
    """MuJoCo's ``qpos`` and ``qvel``: quaternions ``wxyz``; a free joint's linear velocity in its parent's frame.

    The joints keep the model's order, which is MuJoCo's when the model was read from the same file.
    """
    q, v = model.flatten(state)
    qpos, qvel = [np.zeros(0)], [np.zeros(0)]
    for group, q_place, v_place in _parts(model):
        part, rate = np.array(q[q_place], dtype=float), np.array(v[v_place], dtype=float)
        if isinstance(group, (SE3, SO3)):
            part[-4:] = np.roll(part[-4:], 1)
        if isinstance(group, SE3):
            rate[:3] = group.element(q[q_place])[:3, :3] @ rate[:3]
        qpos.append(part)
        qvel.append(rate)
    return np.concatenate(qpos), np.concatenate(qvel)


def from_mujoco(model: Model, qpos: Any, qvel: Any | None = None) -> State:
    """The state with MuJoCo's ``qpos`` and ``qvel`` (zero if left out)."""
    qpos = np.array(qpos, dtype=float)
    qvel = np.zeros(model.nv) if qvel is None else np.array(qvel, dtype=float)
    if qpos.shape != (model.nq,) or qvel.shape != (model.nv,):
        raise ModelError(
            f"qpos and qvel of {model.name!r} have shapes ({model.nq},) and ({model.nv},), "
            f"not {qpos.shape} and {qvel.shape}"
        )
    for group, q_place, v_place in _parts(model):
        if isinstance(group, (SE3, SO3)):
            qpos[q_place.stop - 4 : q_place.stop] = np.roll(qpos[q_place.stop - 4 : q_place.stop], -1)
        if isinstance(group, SE3):
            linear = slice(v_place.start, v_place.start + 3)
            qvel[linear] = group.element(qpos[q_place])[:3, :3].T @ qvel[linear]
    return model.unflatten(qpos, qvel)


def _parts(model: Model) -> list[tuple[Group, slice, slice]]:
    """The base and every joint: group, place in q, place in v."""
    nq, m = model.base.nq, model.m
    parts: list[tuple[Group, slice, slice]] = [(model.base, slice(0, nq), slice(0, m))]
    for joint, q, v in zip(model.joints, model.q_slices, model.v_slices, strict=True):
        parts.append((joint.kind.group, slice(q.start + nq, q.stop + nq), slice(v.start + m, v.stop + m)))
    for group, _, _ in parts:
        if not isinstance(group, _KNOWN):
            raise ModelError(f"MuJoCo has no joint with the group {group}")
    return parts
