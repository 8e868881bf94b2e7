"""Trajectories of swinging feet."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import array, is_numeric, scale
from ..arrays.types import Scalar, Vector_3
from ..errors import ModelError, describe
from ..records import concise
from .footsteps import as_arrays, check_numbers

MAX_DURATION = 1e6
"""Longest duration (s) of a swing, and one over the shortest: squares of others are no numbers"""


@concise
class FootMotion(NamedTuple):
    """Position, velocity and acceleration of a foot at one time.

    Example:
        >>> FootMotion._fields
        ('position', 'velocity', 'acceleration')
    """

    position: Vector_3
    """3, world (m)"""
    velocity: Vector_3
    """3, world (m/s)"""
    acceleration: Vector_3
    """3, world (m/s^2)"""


def swing_foot(start: Vector_3, end: Vector_3, progress: Scalar, duration: float, clearance: Scalar) -> FootMotion:
    """Swing from ``start`` to ``end``, at rest at both ends, with no jump of the acceleration.

    ``p = start + (10 s^3 - 15 s^4 + 6 s^5) (end - start) + 64 s^3 (1 - s)^3 clearance e_z``.  The end may change while
    the foot swings.

    Args:
        start: Place of liftoff (3, world, m).
        end: Place of touchdown (3, world, m).
        progress: Share ``s`` of the swing, 0 to 1.
        duration: Time of the swing (s).
        clearance: Height above the straight line in the middle (m).

    Returns:
        Position, velocity and acceleration of the foot.

    Example:
        >>> import numpy as np
        >>> middle = swing_foot(np.zeros(3), np.array([0.2, 0.0, 0.0]), 0.5, 0.25, 0.06)
        >>> middle.position, middle.velocity
        (array([0.1 , 0.  , 0.06]), array([1.5, 0. , 0. ]))
    """
    start, end = as_arrays((3,), start=start, end=end)
    check_numbers(progress=progress, duration=duration, clearance=clearance)
    if is_numeric(duration) and not 1.0 / MAX_DURATION <= np.real(duration) <= MAX_DURATION:
        raise ModelError(f"duration of a swing must be positive (s), got {describe(duration)}")
    s, r, way = progress, 1.0 - progress, end - start
    along = s * s * s * (10.0 - 15.0 * s + 6.0 * s * s)
    along_rate = 30.0 * s * s * r * r
    along_bend = 60.0 * s * r * (1.0 - 2.0 * s)
    lift = 64.0 * s * s * s * r * r * r
    lift_rate = 192.0 * s * s * r * r * (1.0 - 2.0 * s)
    lift_bend = 384.0 * s * r * (1.0 - 5.0 * s * r)
    up = array([0.0, 0.0, 1.0])
    return FootMotion(
        start + scale(along, way) + scale(lift * clearance, up),
        scale(along_rate / duration, way) + scale(lift_rate * clearance / duration, up),
        scale(along_bend / duration**2, way) + scale(lift_bend * clearance / duration**2, up),
    )
