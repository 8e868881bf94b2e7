"""A rod in a sleeve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...caching import cached_property
from ...lie import R1, SO2, Group, Product
from .axial import Axial


@dataclass(frozen=True)
class Cylindrical(Axial):
    """Rotation about and translation along one ``axis``; coordinates ``[angle, distance]``."""

    name = "cylindrical"
    fixed_axes = True  # a turn and a shift along one axis commute

    @cached_property
    def group(self) -> Group:
        return Product((SO2(self.axis), R1(self.axis)))

    def transform(self, q: Any) -> Any:
        return SO2(self.axis).element(q[:1]) @ R1(self.axis).element(q[1:])
