"""A lead screw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from ...caching import cached_property
from ...lie import Group
from ...lie import Helical as HelicalGroup
from .axial import Axial, random_axis


@dataclass(frozen=True)
class Helical(Axial):
    """A turn about ``axis`` that advances by ``pitch`` (m/rad) along it; the coordinate is the angle."""

    pitch: float = 0.01

    name = "helical"

    @classmethod
    def sample(cls, rng: np.random.Generator, *, planar: bool = False) -> Self:
        return cls(random_axis(rng), rng.uniform(-0.2, 0.2))

    def __post_init__(self) -> None:
        super().__post_init__()
        HelicalGroup(self.axis, self.pitch)  # refuses a pitch that is none

    @cached_property
    def group(self) -> Group:
        return HelicalGroup(self.axis, self.pitch)
