"""Angles of a robot that add up: those about parallel axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..arrays import array, is_expression
from ..lie import Group
from ..model import Model


def angle_groups(model: Model, q: Sequence[Any]) -> dict[str, int]:
    """Number of the direction of each angle among the coordinates ``q``, by name.

    The axis of a hinge is followed towards the base as long as nothing turns it: through welds, sliders, and hinges
    about parallel axes.
    """
    names = [str(x) for x in q]
    groups: dict[str, int] = {}
    carried: list[tuple[np.ndarray, int] | None] = [None]  # of each link: the direction that is fixed in it
    if "angle" in model.base.coordinate_names:
        axis = model.base.selection[3:].sum(axis=1)
        carried[0] = (axis / np.linalg.norm(axis), 0)
        groups[names[model.base.coordinate_names.index("angle")]] = 0
    for i, (joint, place) in enumerate(zip(model.joints, model.q_slices, strict=True)):
        R, above = joint.placement[:3, :3], carried[model.parents[i]]
        S = joint.kind.motion_subspace(joint.kind.neutral())
        turns = S[3:].any(axis=0)
        axis = S[3:, 0] if S.shape[1] == 1 else None
        if any(map(is_expression, R.flat)) or (turns.any() and axis is None):
            carried.append(None)
            continue
        if axis is None or not turns.any():
            carried.append(None if above is None else (_axis_from_joint(R, above[0]), above[1]))
            continue
        # the opposite axis is the same one, with the other sign
        if above is None or 1.0 - abs(float(_axis_from_joint(R, above[0]) @ axis)) > 1e-12:
            above = (np.asarray(R, dtype=float) @ axis, i + 1)
        groups[names[model.base.nq + place.start]] = above[1]
        carried.append((axis, above[1]))
    return groups


def _axis_from_joint(R: Any, axis: np.ndarray) -> np.ndarray:
    """A direction of the parent, seen from the joint."""
    return np.asarray(R, dtype=float).T @ axis


def coordinate_rates(model: Model, q: Sequence[Any], v: Sequence[Any]) -> list[Any]:
    """``dq/dt`` of the flat coordinates when the robot moves with ``v``."""
    groups = [model.base, *(joint.kind.group for joint in model.joints if joint.nv)]
    found: list[Any] = []
    for group in groups:
        own, speed = list(q[len(found) : len(found) + group.nq]), list(v[: group.dim])
        v = v[group.dim :]
        found += own_rates(group, own, speed)
    return found


def own_rates(group: Group, q: Sequence[Any], v: Sequence[Any]) -> list[Any]:
    """Coordinate rates of one group: lengths and angles, positions, quaternions ``xyzw``."""
    if group.additive:
        return list(v)
    twist = group.selection @ array(list(v))
    linear = group.element(array(list(q)))[:3, :3] @ twist[:3]
    rates = dict(zip(group.coordinate_names, q, strict=True))
    rates |= {name: linear["xyz".index(name)] for name in rates if name in ("x", "y", "z")}
    if "angle" in rates:
        rates["angle"] = twist[5]
    if "qw" in rates:
        x, y, z, w = (rates[f"q{name}"] for name in "xyzw")
        a, b, c = 0.5 * twist[3:]
        turned = (w * a + y * c - z * b, w * b + z * a - x * c, w * c + x * b - y * a, -(x * a + y * b + z * c))
        rates |= dict(zip(("qx", "qy", "qz", "qw"), turned, strict=True))
    return list(rates.values())


def terms_of(model: Model, groups: Mapping[str, int], names: Sequence[str]) -> int:
    """Approximate number of terms that the inertias of all links have in the frame of the base.

    Each direction about which angles turn on the way multiplies them: by 5 (whole and double angles) for one angle, by
    4 more for every further one about the same direction, because these add up.  A joint that follows another by a
    ratio that is no whole number has an angle of its own.
    """
    ways: list[dict[int, int]] = [{}]
    for i, (joint, place) in enumerate(zip(model.joints, model.q_slices, strict=True)):
        way = dict(ways[model.parents[i]])
        adds_up = joint.mimic is None or float(joint.mimic.ratio).is_integer()
        for k in range(model.base.nq + place.start, model.base.nq + place.stop):
            direction = groups.get(names[k], -1 - k) if adds_up else -1 - len(names) - i
            way[direction] = way.get(direction, 0) + 1
        ways.append(way)
    return sum(10 * math.prod(1 + 4 * count for count in way.values()) for way in ways)
