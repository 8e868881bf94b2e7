"""A rod in a sleeve."""

from __future__ import annotations

from dataclasses import dataclass

from ...arrays.types import Pose, Vector_nq
from ...caching import cached_property
from ...lie import R1, SO2, Group, Product
from .axial import Axial


@dataclass(frozen=True)
class Cylindrical(Axial):
    """Rotation about and translation along one ``axis``; coordinates ``[angle, distance]``.

    Example:
        >>> Cylindrical().transform([0.0, 2.0])[:3, 3]
        array([0., 0., 2.])
    """

    name = "cylindrical"
    fixed_axes = True  # a turn and a shift along one axis commute

    @cached_property
    def group(self) -> Group:
        """Group SO(2) x R of configurations."""
        return Product((SO2(self.axis), R1(self.axis)))

    def transform(self, q: Vector_nq) -> Pose:
        """Pose of the outer side in the inner one (4 x 4)."""
        return SO2(self.axis).element(q[:1]) @ R1(self.axis).element(q[1:])
