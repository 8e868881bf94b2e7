"""Joints that follow others: where their leaders stand, and what they ask of them."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ModelError
from .joint import Joint, Limits

if TYPE_CHECKING:
    from .model import Model


def leaders(joints: tuple[Joint, ...]) -> tuple[int, ...]:
    """Place of the joint that leads each joint: its own, where it follows none."""
    at = {joint.name: i for i, joint in enumerate(joints)}
    return tuple(i if joint.mimic is None else at[joint.mimic.leader] for i, joint in enumerate(joints))


def slices(sizes: list[int], leaders: tuple[int, ...]) -> tuple[slice, ...]:
    """Places of coordinates side by side, ``sizes`` of each joint; a follower's are its leader's."""
    own = [slice(end - size, end) for size, end in zip(sizes, accumulate(sizes), strict=True)]
    return tuple(own[i] for i in leaders)


def armature(model: Model) -> np.ndarray:
    """Rotor inertia (n) that each rate feels, with those of followers."""
    rotors = [joint.rotor for joint in model.joints]
    felt = np.zeros(model.n, dtype=np.result_type(float, *rotors))
    for rotor, place in zip(rotors, model.v_slices, strict=True):
        felt[place] += rotor
    felt.setflags(write=False)
    return felt


def limits(model: Model) -> tuple[Limits, ...]:
    """Limits of each joint with coordinates, in order: within those of all that follow it; its own effort."""
    found = {joint.name: joint.limits for joint in model.joints if joint.nv}
    for joint in model.joints:
        if joint.mimic is None:
            continue
        mine = found[joint.mimic.leader]
        lower, upper = room(mine, joint)
        if lower > upper:
            raise ModelError(
                f"the limits of joint {joint.name!r}, which follows {joint.mimic.leader!r}, leave that one no room"
            )
        said = [v for v in (mine.velocity, joint.limits.velocity / abs(joint.mimic.ratio)) if v > 0.0]
        speed = min(said, default=mine.velocity)  # a limit of 0 says nothing, as in many files
        found[joint.mimic.leader] = Limits(lower, upper, speed, mine.effort)
    return tuple(found.values())


def room(leader: Limits, follower: Joint) -> tuple[float, float]:
    """Lowest and highest coordinate of a leader within its limits and its follower's; crossed where there is none."""
    assert follower.mimic is not None
    if follower.limits.lower == follower.limits.upper:  # equal stops say nothing, as in many files
        return leader.lower, leader.upper
    ratio, offset = follower.mimic.ratio, follower.mimic.offset
    low, high = sorted((stop - offset) / ratio for stop in (follower.limits.lower, follower.limits.upper))
    return max(leader.lower, low), min(leader.upper, high)
