"""Actuation: some joints or all, each by a drive of its own, or mixes of joints by one drive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError, describe
from .joint import Joint
from .names import index

if TYPE_CHECKING:
    from .model import Model

Mix = tuple[tuple[str, float], ...]
"""Joints that one drive moves, and the force on each per force of the drive."""
Drives = tuple[str | Mix, ...]
RANK_TOLERANCE = 1e-10
"""Smallest singular value of independent drives."""


def drives(given: Any, joints: Sequence[Joint]) -> Drives | None:
    """User's drives in one form: names of joints, mixes ``{joint: factor}``, or a matrix ``k x n``."""
    if given is None:
        return None
    if isinstance(given, np.ndarray):
        given = _mixes(given, joints)
    if isinstance(given, str) or not isinstance(given, (list, tuple)):
        raise ModelError(
            f"driven is a list of names of joints, of mixes {{joint: factor}}, or a matrix, not {describe(given)}"
        )
    found = tuple(one if isinstance(one, str) else _mix(one) for one in given)
    for name in (name for one in found for name in _names(one)):
        joint = joints[index("joint", name, [joint.name for joint in joints])]
        if joint.mimic or not joint.nv:
            raise ModelError(f"joint {name!r} is not driven by itself: it has no coordinate of its own")
        if joint.nv > 1 and name not in found:
            raise ModelError(f"joint {name!r} is part of a mix, and has {joint.nv} degrees of freedom instead of one")
    return found


def matrix(model: Model) -> np.ndarray:
    """Actuation matrix ``S`` (k x nv), see :attr:`Model.actuation`."""
    places = {model.joints[i].name: model.v_slices[i] for i in set(model.leaders)}
    eye = np.eye(model.n)
    rows = [
        eye[places[one]] if isinstance(one, str) else sum(factor * eye[places[name]] for name, factor in one)
        for one in (_default_drives(model) if model.driven is None else model.driven)
    ]
    joints = np.concatenate([np.zeros((0, model.n)), *rows])
    if len(joints) and np.linalg.matrix_rank(joints, RANK_TOLERANCE) < len(joints):
        raise ModelError(f"two drives of {model.name!r} do the same: what they bring about together is one drive")
    return np.hstack([np.zeros((len(joints), model.m)), joints])


def drives_without(driven: Drives | None, still: Set[str]) -> Drives | None:
    """Drives of a robot whose joints ``still`` are welded."""
    if driven is None:
        return None
    kept = [one if isinstance(one, str) else tuple(pair for pair in one if pair[0] not in still) for one in driven]
    return tuple(one for one in kept if one and one not in still)


def _default_drives(model: Model) -> Drives:
    """The joints that actuators move, or those that lead them, and mixes of joints under fixed tendons.

    All joints, where there are no actuators.  Sites and spatial tendons have no constant row.
    """
    if not model.actuators:
        return model.joint_names
    moved = {model.leaders[model.joint_index(a.joint)] for a in model.actuators if a.transmission is None}
    alone = tuple(model.joints[i].name for i in sorted(moved))
    pulled = dict.fromkeys(a.tendon for a in model.actuators if a.tendon is not None)
    mixes = [_tendon_mix(model, tendon) for tendon in model.tendons if tendon.name in pulled and tendon.joints]
    return (*alone, *_independent(model, alone, mixes))


def _tendon_mix(model: Model, tendon: Any) -> Mix:
    """Forces on leading joints per force along a fixed tendon."""
    row: dict[str, float] = {}
    for name, c in zip(tendon.over, tendon.coefficients, strict=True):
        i = model.joint_index(name)
        mimic = model.joints[i].mimic
        leader = model.joints[model.leaders[i]].name
        row[leader] = row.get(leader, 0.0) + c * (mimic.ratio if mimic else 1.0)
    return tuple((name, c) for name, c in row.items() if c)


def _independent(model: Model, alone: Sequence[str], mixes: Sequence[Mix]) -> list[Mix]:
    """Mixes that do what no other drive does."""
    places = {name: i for i, name in enumerate(model.rate_joints)}
    eye, kept = np.eye(model.n), list[Mix]()
    rows = [eye[i] for name, i in places.items() if name in alone]
    for mix in mixes:
        row = sum((c * eye[places[name]] for name, c in mix), np.zeros(model.n))
        if np.linalg.matrix_rank(np.array([*rows, row]), RANK_TOLERANCE) > len(rows):
            rows.append(row)
            kept.append(mix)
    return kept


def _names(one: str | Mix) -> list[str]:
    return [one] if isinstance(one, str) else [name for name, _ in one]


def _mix(given: Any) -> Mix:
    pairs = (
        list(given.items() if isinstance(given, Mapping) else given)
        if isinstance(given, (Mapping, list, tuple))
        else []
    )
    if not pairs or not all(isinstance(p, (list, tuple)) and len(p) == 2 and _is_number(p[1]) for p in pairs):
        raise ModelError(
            f"a mix of joints is {{joint: factor, ...}} with factors that are not zero, not {describe(given)}"
        )
    if len({name for name, _ in pairs}) < len(pairs):
        raise ModelError(f"a mix of joints has a joint twice: {describe(given)}")
    return tuple((name, float(factor)) for name, factor in pairs)


def _mixes(S: np.ndarray, joints: Sequence[Joint]) -> list[Mix]:
    """The rows of a matrix by the names of joints."""
    names = [joint.name for joint in joints if joint.nv]
    if any(joint.nv > 1 for joint in joints):
        raise ModelError("drives as a matrix are those of joints with one degree of freedom: name the others")
    if S.ndim != 2 or S.shape[1] != len(names) or S.dtype.kind not in "fiub" or not np.isfinite(S).all():
        raise ModelError(f"drives as a matrix must have shape (k, {len(names)}) and finite numbers, got {describe(S)}")
    return [tuple((name, float(x)) for name, x in zip(names, row, strict=True) if x) for row in S]


def _is_number(x: Any) -> bool:
    return not isinstance(x, bool) and isinstance(x, (int, float, np.number)) and bool(np.isfinite(x)) and x != 0
