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

from ...arrays import array, less, where
from ...contact.rigid.joint_stops import joint_stops
from ...model import Model
from ..devices import Device

MAX_TURN = 0.3
"""rad: angle of a joint or the base in a step above which it is refined.  Of 512 humanoids under random torques at 4 ms
one becomes infinite at 0.5, none at 0.3."""
PARTS_PER_STEP, MAX_LEVELS = 4, 3
"""A step is refined to 4, 16 and at most 64 parts: at 4 ms joints may turn at up to 4,800 rad/s."""
MAX_PARTS = PARTS_PER_STEP**MAX_LEVELS
PACE_SIZE = 6
"""Numbers of a pace before the clock of its next try."""


NO_ROBOTS = np.zeros(0, dtype=int)


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


def refined(on: Device, before: Any, after: Any, clock: np.ndarray, steps: int, forces: Any) -> Any:
    """``after``, in which robots that took coarse steps of ``clock[0]`` (s) from ``before`` took them again, refined.

    The last number of a robot counts its coarse steps, the one before those that were refined.  What is refined counts
    as coarse only if its finest steps are.
    """
    which = coarser(on, before, after)
    if len(which):
        pace = on.sent(np.tile([steps, 1.0, 0.0, 0.0, 0.0, clock[0], *clock], (len(which), 1)))
        on.put(after, which, _in_parts(on.part(which), on.kept(before, which), pace, on.kept(forces, which)))
    return after


def _in_parts(on: Device, x: Any, pace: Any, forces: Any) -> Any:
    """Robots at the end of their steps, each at its own :func:`pace <settled>`."""
    size, width = on.rows(x).shape[1], on.rows(pace).shape[1]
    settle = on.function(settled, {"x": size, "tried": size, "pace": width})
    while True:
        for _ in range(on.calls_per_look):
            x, pace = on.split(settle(x, on.iterated(x, on.split(pace, PACE_SIZE)[1], forces, 1), pace), size)
        left = on.fetched(pace)[:, 0] > 0.0
        if not left.any():
            return x
        if 2 * np.count_nonzero(left) <= len(left):
            which = np.flatnonzero(left)
            rest = _in_parts(on.part(which), *(on.kept(each, which) for each in (x, pace, forces)))
            on.put(x, which, rest)
            return x


def settled(model: Model, x: Any, tried: Any, pace: Any) -> Any:
    """``[x; pace]`` of a robot after a try: where it was too coarse, the next one is a quarter of it.

    ``pace`` is the number of steps to go, in how many parts (1, 4, 16, 64) the present one is taken, how many quarters,
    sixteenths and finest parts of it are done, the step ``dt``, and the clock (s) of the next try.
    """
    left, parts, quarters, sixteenths, finest, dt = pace[:PACE_SIZE]
    zero, one = 0.0 * parts, 1.0 + 0.0 * parts
    sound = where(less(x[1] - x[1], 1.0), one, zero)  # what was not finite before is not mended by shorter steps
    coarse = sound * where(less(x[-1] + 0.5, tried[-1]), one, zero) * where(less(parts, MAX_PARTS - 0.5), one, zero)
    goes = where(less(0.5, left), one, zero)
    taken = goes * (1.0 - coarse)
    finest, carry = _counted(finest + taken * _equal(parts, 64.0))
    next_parts = where(less(0.5, carry), 16.0 * one, parts)
    sixteenths, carry = _counted(sixteenths + carry + taken * _equal(parts, 16.0))
    next_parts = where(less(0.5, carry), 4.0 * one, next_parts)
    quarters, carry = _counted(quarters + carry + taken * _equal(parts, 4.0))
    next_parts = where(less(0.5, carry), one, next_parts)
    left = left - carry - taken * _equal(parts, 1.0)
    next_parts = next_parts * (1.0 + 3.0 * goes * coarse)
    now = [where(less(0.5, taken), new, old) for new, old in zip(tried, x, strict=True)]
    # steps are counted, and times are that count times the step
    now[0], now[-2] = now[0] * (next_parts / parts), now[-2] + carry
    return array([*now, left, next_parts, quarters, sixteenths, finest, dt, dt / next_parts, *pace[PACE_SIZE + 1 :]])


def _equal(x: Any, y: float) -> Any:
    """1 if two whole numbers are equal, else 0."""
    return where(less((x - y) * (x - y), 0.25), 1.0 + 0.0 * x, 0.0 * x)


def _counted(parts: Any) -> tuple[Any, Any]:
    """Parts that are done, and 1 if they are four, which is one of the larger ones."""
    carry = _equal(parts, float(PARTS_PER_STEP))
    return parts - PARTS_PER_STEP * carry, carry


def coarser(on: Device, before: Any, after: Any) -> np.ndarray:
    """Places of the robots that took coarse steps, but for those whose numbers were not finite before."""
    start, end = on.rows(before), on.rows(after)
    if len(start) == 1 and end[0, -1] == start[0, -1]:
        return NO_ROBOTS
    return np.flatnonzero(on.fetched((end[:, -1] != start[:, -1]) & (start[:, 1] == start[:, 1])))
