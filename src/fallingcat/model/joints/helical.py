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
    """Screw about ``axis`` that advances by ``pitch`` (m/rad) along it; the coordinate is the angle.

    Example:
        >>> Helical(pitch=0.5).transform([2.0])[:3, 3]
        array([0., 0., 1.])
    """

    pitch: float = 0.01
    """m/rad"""

    name = "helical"

    @classmethod
    def sample(cls, rng: np.random.Generator, *, planar: bool = False) -> Self:
        """Random joint of this kind; in the x-y plane if ``planar``."""
        return cls(random_axis(rng), rng.uniform(-0.2, 0.2))

    def __post_init__(self) -> None:
        super().__post_init__()
        HelicalGroup(self.axis, self.pitch)  # refuses a pitch that is none

    @cached_property
    def group(self) -> Group:
        """Group of screw motions."""
        return HelicalGroup(self.axis, self.pitch)
