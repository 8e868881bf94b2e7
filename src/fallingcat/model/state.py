"""Where a robot is and how it moves."""

from __future__ import annotations

from typing import NamedTuple

from ..arrays import concatenate
from ..arrays.types import Pose, Twist, Vector


class State(NamedTuple):
    """A frozen record; being a tuple, it is a JAX pytree as it stands.

    Make one with :meth:`Model.state`, which fills in what is left out and checks what is given.
    """

    pose: Pose
    """``4 x 4``, ``H_wb``: base coordinates to world coordinates (m)."""
    joints: Vector
    """The flat coordinates of all joints, in the model's order (rad, m, unit quaternions)."""
    twist: Twist
    """``m``: body-fixed velocity of the base in the algebra of its group; ``[v; w]`` for SE(3) (m/s, rad/s)."""
    rates: Vector
    """``n``: velocities of all joints, in the model's order (rad/s, m/s)."""

    @property
    def velocity(self) -> Vector:
        """``m + n``: the quasi-velocity ``[twist; rates]``."""
        return concatenate([self.twist, self.rates])
