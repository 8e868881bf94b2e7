"""Fixed tendons: a length that is a sum of joint coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import ModelError, describe
from ...records import concise
from ..force_elements import Arm, LinkMotion, finite
from .base import Tendon


@concise
@dataclass(frozen=True, eq=False)
class FixedTendon(Tendon):
    """Length ``offset + sum(coefficients q)`` of joints with one degree of freedom: MuJoCo's ``<fixed>``.

    Example:
        >>> finger = FixedTendon("finger", ("knuckle", "tip"), (0.01, 0.008), stiffness=100.0)
        >>> finger.coefficients
        (0.01, 0.008)
    """

    name: str
    """name of the tendon"""
    over: tuple[str, ...]
    """joints"""
    coefficients: tuple[float, ...]
    """length per coordinate of each joint (m/rad, or 1)"""
    offset: float = 0.0
    """length where all coordinates are zero (m)"""

    def __post_init__(self) -> None:
        self._check_forces(self.name)
        given: Any = self.over
        if isinstance(given, str) or not all(isinstance(joint, str) for joint in given):
            raise ModelError(f"tendon {self.name!r} goes over names of joints, not {describe(given)}")
        numbers = tuple(finite(c, f"coefficient of tendon {self.name!r}") for c in self.coefficients)
        if not numbers or len(numbers) != len(tuple(self.over)):
            raise ModelError(f"tendon {self.name!r} has one coefficient for each of its joints, not {numbers}")
        if len({*self.over}) < len(numbers):
            raise ModelError(f"tendon {self.name!r} goes over a joint twice: {describe(self.over)}")
        object.__setattr__(self, "over", tuple(self.over))
        object.__setattr__(self, "coefficients", numbers)
        object.__setattr__(self, "offset", finite(self.offset, f"offset of tendon {self.name!r}"))

    @property
    def joints(self) -> tuple[str, ...]:
        """Joints that it names."""
        return self.over

    def arm(self, motion: LinkMotion) -> Arm:
        """Sum of the coordinates, and the coefficients as its derivative."""
        length: Any = self.offset
        row: Any = 0.0
        for joint, coefficient in zip(self.over, self.coefficients, strict=True):
            q, _, picks = motion.joint(joint)
            length, row = length + coefficient * q, row + coefficient * np.asarray(picks)
        return Arm(length, (), row)

    def renamed(self, name: str, joint: Mapping[str, str], place: Mapping[str, str]) -> FixedTendon:
        """Same tendon over joints with other names."""
        return replace(self, name=name, over=tuple(joint[each] for each in self.over))

    def locked(self, joints: Mapping[str, Any]) -> FixedTendon | None:
        """Same tendon, with welded joints in its ``offset``; None where nothing of it moves."""
        pairs = list(zip(self.over, self.coefficients, strict=True))
        moving = [(joint, c) for joint, c in pairs if joint not in joints]
        offset = self.offset + sum(c * float(joints[joint]) for joint, c in pairs if joint in joints)
        if not moving:
            return None
        return replace(self, over=tuple(j for j, _ in moving), coefficients=tuple(c for _, c in moving), offset=offset)
