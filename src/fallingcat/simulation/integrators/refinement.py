"""Step refinement: steps in which joints turn too far, or contact forces do not converge, are taken in quarter steps.

Products of velocities are explicit in steps of :class:`.Implicit` and :class:`.Moreau`.  They are stable as long as no
joint turns by a large angle in a step.  A compiled step counts those in which one does (:func:`coarse`), and those of
:class:`.Implicit` whose contact forces are not those of the law after the last sweep; the robots that took such steps
take them again in quarter steps, and if need be in quarters of these.  Every robot is refined by
itself and step by step, so its motion depends neither on the other robots nor on how many steps a call takes.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...arrays import less, where
from ...contact.rigid.joint_stops import joint_stops
from ...model import Model
from ..devices import Device

MAX_TURN = 0.3
"""rad: angle of a joint or the base in a step above which it is refined.  Of 512 humanoids under random torques at 4 ms
one becomes infinite at 0.5, none at 0.3."""
PARTS_PER_STEP, MAX_LEVELS = 4, 3
"""A step is refined to 4, 16 and at most 64 parts: at 4 ms joints may turn at up to 4,800 rad/s."""


NOBODY = np.zeros(0, dtype=int)


@functools.lru_cache(maxsize=64)
def turning_rates(model: Model) -> tuple[int, ...]:
    """Places of the joint rates that turn a link, but for those of continuous joints.

    Wheels, propellers and flywheels are continuous joints: symmetric about their axes, they may turn by any angle.
    """
    stopped, neutral = {stop.rate(model) for stop in joint_stops(model)}, model.neutral().joints
    found: set[int] = set()
    for joint, q, v in zip(model.joints, model.q_slices, model.v_slices, strict=True):
        turns = np.any(np.asarray(joint.motion_subspace(neutral[q]))[3:], axis=0)
        places = np.arange(v.start, v.stop)[turns].tolist()
        found.update(places if joint.nv > 1 else stopped & set(places))
    return tuple(sorted(found))


def coarse(model: Model, velocity: Any, dt: Any) -> Any:
    """1 if the base or a joint turns too far in a step of ``dt`` (s) that ends with a velocity (nv), else 0.

    That is where ``sum (dt v)^4`` over their angular velocities is not below :data:`MAX_TURN` to the fourth.
    """
    w = (model.base.selection @ velocity[: model.m])[3:]
    total = _squared(w @ w)
    for place in turning_rates(model):
        total = total + _squared(_squared(velocity[model.m + place]))
    return where(less(total * _squared(dt * dt), MAX_TURN**4), 0.0 * dt, 1.0 + 0.0 * dt)


def _squared(x: Any) -> Any:
    return x * x


def refined(on: Device, before: Any, after: Any, dt: float, steps: int, forces: Any, level: int = 0) -> Any:
    """``after``, in which robots that took coarse steps of ``dt`` (s) from ``before`` took them again, refined.

    The last number of a robot counts its coarse steps, the one before those that were refined.  What is refined counts
    as coarse only if its finest steps are.
    """
    which = coarser(on, before, after)
    if len(which) and level < MAX_LEVELS:
        part, x, given = on.part(which), on.kept(before, which), on.kept(forces, which)
        for _ in range(steps):
            x = _refined_step(part, x, dt, given, level)
        on.put(after, which, x)
    return after


def _refined_step(on: Device, x: Any, dt: float, forces: Any, level: int) -> Any:
    """A step of robots, in quarters where it is coarse."""
    after = on.iterated(x, np.array([dt]), forces, 1)
    which = coarser(on, x, after)
    if len(which):
        part, start, given, quarter = on.part(which), on.kept(x, which), on.kept(forces, which), dt / PARTS_PER_STEP
        part.rows(start)[:, 0] *= PARTS_PER_STEP  # steps are counted, and times are that count times the step
        end = part.iterated(start, np.array([quarter]), given, PARTS_PER_STEP)
        end = refined(part, start, end, quarter, PARTS_PER_STEP, given, level + 1)
        part.rows(end)[:, 0] *= 1.0 / PARTS_PER_STEP
        part.rows(end)[:, -2] += float(level == 0)
        on.put(after, which, end)
    return after


def coarser(on: Device, before: Any, after: Any) -> np.ndarray:
    """Places of the robots that took coarse steps, but for those whose numbers were not finite before."""
    start, end = on.rows(before), on.rows(after)
    if len(start) == 1 and end[0, -1] == start[0, -1]:
        return NOBODY
    return np.flatnonzero(on.fetched((end[:, -1] != start[:, -1]) & (start[:, 1] == start[:, 1])))
