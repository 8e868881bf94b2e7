"""A lead screw."""

from __future__ import annotations

from dataclasses import dataclass

from ...lie import Group
from ...lie import Helical as HelicalGroup
from .axial import Axial


@dataclass(frozen=True)
class Helical(Axial):
    """A turn about ``axis`` that advances by ``pitch`` (m/rad) along it; the coordinate is the angle."""

    pitch: float = 0.01

    name = "helical"

    @property
    def group(self) -> Group:
        return HelicalGroup(self.axis, self.pitch)
