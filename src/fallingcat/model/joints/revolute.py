"""A hinge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ...lie import SO2, Group
from .axial import Axial


@dataclass(frozen=True)
class Revolute(Axial):
    """Rotation about ``axis``; the coordinate is the angle.

    >>> Revolute((0.0, 2.0, 0.0)).axis
    (0.0, 1.0, 0.0)
    """

    name = "revolute"

    @cached_property
    def group(self) -> Group:
        return SO2(self.axis)
