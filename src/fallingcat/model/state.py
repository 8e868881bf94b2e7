"""State of a robot: its configuration and its velocity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..arrays import concatenate, stack
from ..arrays.types import (
    Poses,
    Rotation,
    Twist,
    Vector,
    Vector_3,
    Vectors_3,
    Vectors_n,
    Vectors_nv,
)
from ..errors import ModelError
from ..lie.charts import EulerZYX
from ..lie.rotations import quaternion_from_matrix
from . import summary


class State(NamedTuple):
    """Configuration and velocity of a robot; being a tuple, it is a JAX pytree as it stands.

    Make one with :meth:`Model.state`, which fills in what is left out and checks what is given.  Its arrays may have
    axes in front, the same for all: then it is a batch of states, which compiled functions and rollouts take as it is.

    Example:
        >>> import numpy as np
        >>> from fallingcat.model import robots
        >>> cat = robots.cat()
        >>> states = cat.random_state(np.random.default_rng(0), 10_000)
        >>> states.batch, states.at(0).batch, states.at(slice(3)).joints.shape
        ((10000,), (), (3, 10))
    """

    pose: Poses
    """``4 x 4``, ``H_wb``: base coordinates to world coordinates (m)."""
    joints: Vector
    """The flat coordinates of all joints, in the model's order (rad, m, unit quaternions)."""
    twist: Twist
    """``m``: body-fixed velocity of the base in the algebra of its group; ``[v; w]`` for SE(3) (m/s, rad/s)."""
    rates: Vectors_n
    """``n``: velocities of all joints, in the model's order (rad/s, m/s)."""

    def __repr__(self) -> str:
        return summary.state_text(self)

    def _repr_html_(self) -> str:
        return summary.state_table(self)

    @property
    def position(self) -> Vectors_3:
        """Position of the base in the world (..., 3; m)."""
        return self.pose[..., :3, 3]

    @property
    def quaternion(self) -> Vector:
        """Orientation of the base, ``[x, y, z, w]`` with ``w >= 0``, of one state."""
        return quaternion_from_matrix(self._rotation)

    @property
    def rpy(self) -> Vector_3:
        """Roll, pitch and yaw of the base (3, rad), ``R = R_z(yaw) R_y(pitch) R_x(roll)``, of one state."""
        return EulerZYX().from_matrix(self._rotation)[::-1]

    @property
    def _rotation(self) -> Rotation:
        if self.batch:
            raise ModelError("the orientation of one state, states.at(i), has coordinates: a batch has poses")
        return self.pose[:3, :3]

    @property
    def velocity(self) -> Vectors_nv:
        """Quasi-velocity ``[twist; rates]`` (nv)."""
        return concatenate([self.twist, self.rates], axis=-1)

    # many ------------------------------------------------------------------------------------------------------

    @property
    def batch(self) -> tuple[int, ...]:
        """Axes in front: ``()`` for one state."""
        return tuple(self.pose.shape[:-2])

    def at(self, index: Any) -> State:
        """State, or states, at an index, a slice or a mask of the axes in front.

        ``states[3]`` would be the fourth field of the tuple, the rates of all: for a batch it is an error.

        Args:
            index: Index, slice or mask.

        Returns:
            State, or a batch of them.
        """
        if not self.batch and (not isinstance(index, tuple) or index):
            raise ModelError("this is one state, and no batch of which one could be taken")
        try:
            return State(*(x[index] for x in self))
        except IndexError:
            raise ModelError(f"there is no state at {index!r} of a batch of shape {self.batch}") from None

    def __getitem__(self, index: Any) -> Any:
        """Field of one state, as of any tuple; an error for a batch, where most who write so mean :meth:`at`."""
        if getattr(self.pose, "shape", ())[:-2]:
            raise ModelError(
                "in a batch states.at(i) is one state, and states.pose, .joints, .twist, .rates its fields"
            )
        return tuple.__getitem__(self, index)

    @classmethod
    def stack(cls, states: Sequence[State]) -> State:
        """Batch of several states, along a new first axis; the inverse of :meth:`at`.

        Args:
            states: States of one robot.

        Returns:
            Batch of states.
        """
        states = list(states)
        if not states:
            raise ModelError("a batch is made of one state or more, not of none")
        if len({tuple(x.shape for x in state) for state in states}) > 1:
            raise ModelError("the states of a batch are those of one robot, all of one shape")
        return cls(*(stack(fields) for fields in zip(*states, strict=True)))
