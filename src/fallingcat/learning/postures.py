"""Joint angles at which legged robots stand, and whether they stand there in balance."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..arrays.arguments import as_array, as_number
from ..dynamics import center_of_mass, link_pose
from ..errors import ModelError
from ..model import Model, State

POSTURES: dict[str, dict[str, float]] = {
    "quadruped": {"roll": 0.0, "hip": 0.6, "knee": -1.2},
    "humanoid": {"hip_pitch": -0.35, "knee_pitch": 0.7, "ankle_pitch": -0.35},
}
"""Joint angles (rad) at which the sample robots stand, by the ends of joint names."""
BY_NAMES = (
    {"hip_joint": 0.0, "thigh_joint": 0.8, "calf_joint": -1.5},
    {"HAA": 0.0, "LF_HFE": 0.4, "RF_HFE": 0.4, "LH_HFE": -0.4, "RH_HFE": -0.4}
    | {"LF_KFE": -0.8, "RF_KFE": -0.8, "LH_KFE": 0.8, "RH_KFE": 0.8},
)
"""Joint angles (rad) of robots all of whose joints are named so, as those of Unitree and ANYbotics are."""
BALANCE = 0.25
"""Distance of the center of mass from the middle of the feet, as a part of the size of the stance, that is warned of"""


class BalanceWarning(UserWarning):
    """A robot stands where it will tip over.

    Example:
        >>> issubclass(BalanceWarning, UserWarning)
        True
    """


def driven_joints(model: Model) -> tuple[str, ...]:
    """Names of joints that are angles or lengths and follow no other.

    Args:
        model: Robot.

    Returns:
        Names.

    Example:
        >>> import fallingcat as fc
        >>> len(driven_joints(fc.robots.quadruped()))
        12
    """
    return tuple(
        joint.name
        for i, joint in enumerate(model.joints)
        if model.leaders[i] == i and joint.nv == 1 and joint.kind.group.additive
    )


def standing_posture(model: Model, given: Any = None) -> np.ndarray:
    """Joint coordinates at which a robot stands.

    Args:
        model: Robot.
        given: Coordinates, or a mapping by names of joints or their ends; None: the keyframe ``home`` or ``stand``,
            known angles, or the middle of the ranges.

    Returns:
        Joint coordinates (rad, m).

    Example:
        >>> import fallingcat as fc
        >>> standing_posture(fc.robots.quadruped())[:3]
        array([ 0. ,  0.6, -1.2])
    """
    if given is None:
        known = [name for name in ("home", "stand", "standing") if name in model.keyframes]
        if known:
            return np.array(model.keyframes[known[0]].joints, dtype=float)
        known_ends = POSTURES.get(model.name, {})
        named = all(any(_ends_in(joint.name, end) for joint in model.joints) for end in known_ends)
        given = known_ends if known_ends and named else _by_names(model)
    if not isinstance(given, Mapping):
        return np.array(as_array(given, model.neutral().joints.shape, "posture"), dtype=float)
    posture = np.array(model.neutral().joints, dtype=float)
    used = set()
    for joint, limits, place in zip(model.joints, model.limits, model.q_slices, strict=True):
        ends = [end for end in given if _ends_in(joint.name, end)]
        used.update(ends)
        if ends:
            end = max(ends, key=len)
            posture[place] = as_number(given[end], f"posture of {end!r}")
        elif joint.nv == 1 and not limits.lower <= posture[place.start] <= limits.upper:
            posture[place] = 0.5 * (limits.lower + limits.upper)
    for name in given:
        if name not in used:
            raise ModelError(f"posture names {name!r}, but no joint of {model.name!r} ends in it")
    return posture


def _by_names(model: Model) -> dict[str, float]:
    """Known angles of a robot whose driven joints all have known names; else none."""
    names = driven_joints(model)
    for angles in BY_NAMES:
        ends = [{end for end in angles if _ends_in(name, end)} for name in names]
        if names and all(ends) and set.union(*ends) == {*angles}:
            return angles
    return {}


def _ends_in(name: str, end: str) -> bool:
    return name == end or name.endswith(f"_{end}")


def check_balance(model: Model, stance: State, feet: Sequence[str]) -> None:
    """Warn of a stance in which the center of mass is not above the feet.

    Args:
        model: Robot.
        stance: Standing state.
        feet: Names of links or frames that touch the ground.
    """
    if len(feet) < 2:
        return
    points = np.array([link_pose(model, stance, foot)[:2, 3] for foot in feet])
    middle, size = points.mean(axis=0), np.linalg.norm(np.ptp(points, axis=0))
    off = float(np.linalg.norm(center_of_mass(model, stance)[:2] - middle))
    if off > BALANCE * size:
        warnings.warn(
            f"{model.name!r} stands with its center of mass {off:.2f} m beside the middle of its feet, which are "
            f"{size:.2f} m apart, and will tip over: give posture=, joint angles at which it stands",
            BalanceWarning,
            stacklevel=4,
        )
