"""Velocity commands of walking robots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._deprecated import former_arguments
from ..arrays import clip, scale
from ..arrays.arguments import LARGEST_FLOAT, as_number
from ..arrays.types import FloatArray, Scalar, Vector_3
from ..errors import ModelError, describe
from ..records import concise
from .footsteps import as_arrays


@concise
@dataclass(frozen=True)
class VelocityCommand:
    """Wanted velocity of a walking robot, along its heading.

    Args:
        forward: m/s.
        sideways: To the left (m/s).
        turning: Rate of the heading (rad/s).

    Example:
        >>> VelocityCommand(0.5, turning=0.2).array
        array([0.5, 0. , 0.2])
    """

    forward: float = 0.0
    sideways: float = 0.0
    turning: float = 0.0

    def __post_init__(self) -> None:
        """Check the fields."""
        for name, unit in (("forward", "m/s"), ("sideways", "m/s"), ("turning", "rad/s")):
            x: Any = getattr(self, name)
            if (
                isinstance(x, bool)
                or not isinstance(x, (int, float, np.number))
                or not -LARGEST_FLOAT <= x <= LARGEST_FLOAT
            ):
                raise ModelError(f"{name} of a VelocityCommand must be finite ({unit}), got {describe(x)}")

    @property
    def array(self) -> FloatArray:
        """``[forward, sideways, turning]``."""
        return np.array([self.forward, self.sideways, self.turning], dtype=float)


@former_arguments(wanted="command")
def approach(before: Vector_3, command: Vector_3, most: Vector_3, dt: Scalar) -> Vector_3:
    """Command that follows another one with bounded rates.

    Args:
        before: Command at the last tick (3; m/s, m/s, rad/s).
        command: Command to follow (3).
        most: Largest rates (3; m/s^2, m/s^2, rad/s^2).
        dt: Time since the last tick (s).

    Returns:
        Command now (3).

    Example:
        >>> approach(np.zeros(3), np.array([1.0, 0.0, -0.01]), np.array([2.0, 2.0, 4.0]), 0.01)
        array([ 0.02,  0.  , -0.01])
    """
    before, command, most = as_arrays((3,), before=before, command=command, most=most)
    room = scale(as_number(dt, "dt"), most)
    return before + clip(command - before, -room, room)
