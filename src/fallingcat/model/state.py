"""Where a robot is and how it moves."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..arrays import concatenate


class State(NamedTuple):
    """A frozen record; being a tuple, it is a JAX pytree as it stands.

    Make one with :meth:`Model.state`, which fills in what is left out and checks what is given.
    """

    pose: Any
    """``4 x 4``, ``H_wb``: base coordinates to world coordinates (m)."""
    joints: Any
    """The flat coordinates of all joints, in the model's order (rad, m, unit quaternions)."""
    twist: Any
    """``m``: body-fixed velocity of the base in the algebra of its group; ``[v; w]`` for SE(3) (m/s, rad/s)."""
    rates: Any
    """``n``: velocities of all joints, in the model's order (rad/s, m/s)."""

    @property
    def velocity(self) -> Any:
        """``m + n``: the quasi-velocity ``[twist; rates]``."""
        return concatenate([self.twist, self.rates])
