"""A Cardan joint: two hinges whose axes meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from ...arrays import array, concatenate, scale, stack
from ...arrays.types import Matrix, Matrix_6_nv, Pose, Vector, Vector_nq, Vector_nv
from ...caching import cached_property
from ...errors import ModelError
from ...lie import SO2, Group, Product, skew
from ...lie.rotations import about, embed
from .axial import checked_axis, random_axis
from .kind import JointKind


@dataclass(frozen=True)
class Universal(JointKind):
    """Rotation about ``axis``, then about ``axis2`` (which ``axis`` carries along); coordinates ``[angle, angle2]``.

    The configuration is a point of SO(2) x SO(2), which is no subgroup of SE(3): the motion subspace turns with it.

    Example:
        >>> Universal().motion_subspace([0.0, 0.0])[3:].tolist()
        [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    """

    axis: tuple[float, float, float] = (1.0, 0.0, 0.0)
    """unit vector of the joint frame"""
    axis2: tuple[float, float, float] = (0.0, 1.0, 0.0)
    """unit vector, seen from what the first rotation carries"""

    name = "universal"

    @classmethod
    def sample(cls, rng: np.random.Generator, *, planar: bool = False) -> Self:
        """Random joint of this kind; in the x-y plane if ``planar``."""
        return cls(random_axis(rng), random_axis(rng))

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", checked_axis(self.axis))
        object.__setattr__(self, "axis2", checked_axis(self.axis2))
        if np.linalg.norm(np.cross(self.axis, self.axis2)) < 1e-9:
            raise ModelError("the two axes of a universal joint are parallel: use a revolute joint")

    @cached_property
    def group(self) -> Group:
        """Group SO(2) x SO(2) of configurations."""
        return Product((SO2(self.axis), SO2(self.axis2)))

    def transform(self, q: Vector_nq) -> Pose:
        """Pose of the outer side in the inner one (4 x 4)."""
        return embed(about(self.axis, q[0]) @ about(self.axis2, q[1]))

    def motion_subspace(self, q: Vector_nq) -> Matrix_6_nv:
        """Motion subspace (6 x nv), in the outer frame."""
        first = about(self.axis2, q[1]).T @ np.array(self.axis)
        return self._angular(first, np.array(self.axis2))

    def motion_subspace_derivative(self, q: Vector_nq, rates: Vector_nv) -> Matrix_6_nv:
        """Time derivative of :meth:`motion_subspace` along ``rates`` (6 x nv)."""
        turning = scale(rates[1], np.array(self.axis2))
        return self._angular(-(skew(turning) @ (about(self.axis2, q[1]).T @ np.array(self.axis))), np.zeros(3))

    def _angular(self, first: Vector, second: Vector) -> Matrix:
        return concatenate([np.zeros((3, 2)), stack([array(list(first)), second], axis=1)])
