"""A slider."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ...lie import R1, Group
from .axial import Axial


@dataclass(frozen=True)
class Prismatic(Axial):
    """Translation along ``axis``; the coordinate is the distance in meters."""

    name = "prismatic"

    @cached_property
    def group(self) -> Group:
        return R1(self.axis)
