"""Bending directions of a robot that turns over: the joints, and their shares of the bend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...arrays.types import Float_n
from ...dynamics.checks import check_model
from ...errors import ModelError, describe
from ...formulations import curvature
from ...lie import SE3
from ...model import Model
from ...model.joints import Revolute
from ...records import concise
from ..gaits.initial_guess import strongest_plane

UNLIMITED_BEND = 1.4
"""Largest bend of joints without limits (rad)."""
SPINE = ("spine_side", "spine_arch")
"""Joints of the spine of the sample cat."""
STRETCH_ANGLE = 1.4
"""Angle (rad) by which the sample cat stretches its legs along its body, forward and backward: where it bends, they
would hit its other half if it drew them in."""
MIN_BEND_SHARE = 0.05
"""Share of the largest bend below which a joint is locked."""


@concise
class Bending(NamedTuple):
    """Robot with unused joints locked, and two directions of its joints between which a bend is carried.

    Example:
        >>> import fallingcat as fc
        >>> bendings(fc.robots.two_cylinder_cat(), ["spine_z", "spine_y"])[0].names
        ('spine_z', 'spine_y')
    """

    model: Model
    first: Float_n
    """``n``: share of each joint in the bend; the largest share in the plane is 1"""
    second: Float_n
    """``n``: the same in the second direction"""
    tuck: dict[str, float]
    """rad: posture taken up on the way, by joint"""

    @property
    def names(self) -> tuple[str, str]:
        """Names of the two directions: joints, where there is one in each."""
        out = []
        for place, direction in enumerate((self.first, self.second)):
            used = np.flatnonzero(direction)
            alone = len(used) == 1 and direction[used[0]] == 1.0
            out.append(self.model.joint_names[used[0]] if alone else ("first bend", "second bend")[place])
        return out[0], out[1]


def bendings(model: Model, joints: Sequence[str] | None = None) -> list[Bending]:
    """Candidates for turning a robot over: the sample cat's spine, the named joints, or those of most curvature.

    Two named joints bend alone.  Of more, or of all hinges that can bend both ways if none is named, three planes are
    taken at the neutral shape: the one that turns most for the least joint rates, the one that turns most within the
    limits, and that one with every joint bent as far as it can; and the two joints that turn most.

    Args:
        model: Robot with a free base.
        joints: Names of two joints or more; None: chosen by the curvature.

    Returns:
        Bendings to be tried, see :func:`fastest_bending`.

    Raises:
        ModelError: The base is not free, or no two joints turn the robot.

    Example:
        >>> import fallingcat as fc
        >>> [len(bending.first) for bending in bendings(fc.robots.two_cylinder_cat())]
        [2]
    """
    _check(model, joints)
    if joints is None and set(SPINE) <= set(model.joint_names):
        legs = [name for name in model.joint_names if name.endswith("_leg")]
        return [
            _pair(model, SPINE, {name: -STRETCH_ANGLE if name.startswith("front") else STRETCH_ANGLE for name in legs})
        ]
    if joints is not None and len(joints) == 2:
        return [_pair(model, (joints[0], joints[1]), {})]
    names = hinges(model) if joints is None else tuple(joints)
    stiffest = min(names, key=lambda name: _bend_range(model, name))
    if not _bend_range(model, stiffest) > 0.0:
        raise ModelError(f"joint {stiffest!r} cannot bend both ways from the neutral shape")
    free = model.lock([name for name in model.joint_names if name not in names]).merge_fixed()
    room = np.array([_bend_range(model, name) for name in free.joint_names])
    planes = [_normalized_bending(free, first, second) for first, second in _planes(free, room)]
    return _distinct_bendings([*planes, _pair(free, strongest_pair(free), {})])


def _check(model: Model, joints: Sequence[str] | None) -> None:
    check_model(model)
    if isinstance(joints, str) or (joints is not None and (not isinstance(joints, Sequence) or len(joints) < 2)):
        raise ModelError(f"joints must be names of two joints or more, got {describe(joints)}")
    if not isinstance(model.base, SE3):
        raise ModelError(f"the base of {model.name!r} is not free ({model.base}): it does not fall")


def hinges(model: Model) -> tuple[str, ...]:
    """Names of the hinges that can bend both ways from the neutral shape."""
    found = [j.name for j in model.joints if isinstance(j.kind, Revolute) and j.nv and _bend_range(model, j.name) > 0.0]
    if len(found) < 2:
        raise ModelError(f"{model.name!r} has {len(found)} hinges that bend both ways: turning over needs two")
    return tuple(found)


def _bend_range(model: Model, name: str) -> float:
    i = model.joint_index(name)
    limits, at = model.limits[model.joint_names.index(name)], float(model.neutral().joints[model.q_slices[i]].sum())
    return float(min(UNLIMITED_BEND, limits.upper - at, at - limits.lower))


def _planes(model: Model, room: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    forms = np.einsum("pm,mij->pij", model.base.selection[3:], np.asarray(curvature(model, model.neutral())))
    if not np.abs(forms).max() > 1e-9:
        raise ModelError(f"no two joints of {model.name!r} turn it: its curvature is zero at the neutral shape")
    quick = strongest_plane(forms, np.ones(model.n))[:2]
    far = strongest_plane(forms, room)[:2]
    size = np.hypot(*far)
    wide = room / np.where(size > MIN_BEND_SHARE * size.max(), size, np.inf)
    return [quick, far, (far[0] * wide, far[1] * wide)]


def _normalized_bending(model: Model, first: np.ndarray, second: np.ndarray) -> Bending:
    """Bending with the joints that matter, whose largest share is 1."""
    size = np.hypot(first, second)
    keep = size > MIN_BEND_SHARE * size.max()
    names = [name for name, used in zip(model.joint_names, keep, strict=True) if not used]
    return Bending(model.lock(names).merge_fixed(), first[keep] / size.max(), second[keep] / size.max(), {})


def _pair(model: Model, names: tuple[str, str], tuck: dict[str, float]) -> Bending:
    if names[0] == names[1]:
        raise ModelError(f"a bend needs two joints, got {names[0]!r} alone")
    needed = {*names, *tuck}
    for name in names:
        model.leading_index(name)  # a name that does not exist is an error that says so
    left = model.lock([name for name in model.joint_names if name not in needed]).merge_fixed()
    return Bending(left, direction(left, {names[0]: 1.0}), direction(left, {names[1]: 1.0}), tuck)


def direction(model: Model, joints: Mapping[str, float]) -> np.ndarray:
    """Direction (n) of shapes from entries of named joints."""
    out = np.zeros(model.n)
    for name, value in joints.items():
        place = model.v_slices[model.leading_index(name)]
        if place.stop - place.start != 1:
            raise ModelError(f"joint {name!r} must have one degree of freedom, got {place.stop - place.start}")
        out[place] = value
    return out


def _distinct_bendings(found: list[Bending]) -> list[Bending]:
    """Bendings without those that span the same plane of the same joints as one before."""
    out: list[Bending] = []
    for one in found:
        P = _projection(one)
        same = [b for b in out if b.model.joint_names == one.model.joint_names and np.allclose(_projection(b), P)]
        if not same:
            out.append(one)
    return out


def _projection(bending: Bending) -> np.ndarray:
    Q = np.linalg.qr(np.stack([bending.first, bending.second], axis=1))[0]
    return np.asarray(Q @ Q.T)


def strongest_pair(model: Model) -> tuple[str, str]:
    """Two joints whose small gaits turn the robot most at the neutral shape: largest angular curvature.

    Example:
        >>> from fallingcat.model import robots
        >>> strongest_pair(robots.two_cylinder_cat())
        ('spine_z', 'spine_y')
    """
    F = np.asarray(curvature(model, model.neutral()))
    turning = np.linalg.norm((model.base.selection @ F.reshape(model.m, -1))[3:], axis=0).reshape(model.n, model.n)
    names = model.rate_joints
    i, j = np.unravel_index(int(np.argmax(np.triu(turning, 1))), turning.shape)
    if turning[i, j] <= 1e-9:
        raise ModelError(f"no two joints of {model.name!r} turn it: its curvature is zero at the neutral shape")
    return names[int(i)], names[int(j)]
