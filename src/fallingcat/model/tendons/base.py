"""Base class of tendons: a length as a function of the configuration, and the forces along it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import maximum, minimum
from ...arrays.types import Scalar
from ...errors import ModelError, describe
from ..body import Frozen
from ..force_elements import Arm, LinkMotion, finite


@dataclass(frozen=True, eq=False, kw_only=True)
class TendonForces:
    """Springs, damping, dry friction and limits along a tendon; none by default.

    Example:
        >>> float(TendonForces(stiffness=10.0, rest=(0.25, 0.5)).pull(0.75))
        -2.5
    """

    limits: tuple[float, float] = (-np.inf, np.inf)
    """shortest and longest length (m, or rad)"""
    stiffness: float = 0.0
    """N/m"""
    rest: tuple[float, float] = (0.0, 0.0)
    """lengths between which the spring does not pull (m)"""
    damping: float = 0.0
    """N s/m"""
    friction: float = 0.0
    """dry friction (N)"""

    def _check_forces(self, name: str) -> None:
        """Check the numbers of the tendon ``name``."""
        for part in ("stiffness", "damping", "friction"):
            x = finite(getattr(self, part), f"{part} of tendon {name!r}", 0.0)
            object.__setattr__(self, part, x)
        for part in ("limits", "rest"):
            ends = getattr(self, part)
            if not isinstance(ends, (tuple, list)) or len(ends) != 2 or not ends[0] <= ends[1]:
                raise ModelError(f"{part} of tendon {name!r} are two numbers in order, not {describe(ends)}")
            object.__setattr__(self, part, (float(ends[0]), float(ends[1])))
        if not np.isfinite(self.rest).all():
            raise ModelError(f"the rest of tendon {name!r} is finite, not {self.rest}")

    @property
    def limited(self) -> bool:
        """True if it has a shortest or a longest length."""
        return bool(np.isfinite(self.limits).any())

    def stretch(self, length: Scalar) -> Scalar:
        """Length beyond those at which the spring does not pull.

        Args:
            length: Of the tendon (m).

        Returns:
            Stretch (m), below zero where it is compressed.
        """
        low, high = self.rest
        return maximum(length - high, 0.0 * length) + minimum(length - low, 0.0 * length)

    def pull(self, length: Scalar) -> Scalar:
        """Force of the spring along the length.

        Args:
            length: Of the tendon (m).

        Returns:
            Force (N), below zero where it pulls.
        """
        return -self.stiffness * self.stretch(length)


class Tendon(TendonForces, Frozen, ABC):
    """Base class of tendons.

    Example:
        >>> from fallingcat.model.tendons import FixedTendon
        >>> FixedTendon("finger", ("knuckle", "tip"), (0.01, 0.008), limits=(0.0, 0.02)).joints
        ('knuckle', 'tip')
    """

    name: str
    """name of the tendon"""

    @property
    def joints(self) -> tuple[str, ...]:
        """Joints that it names."""
        return ()

    @property
    def places(self) -> tuple[str, ...]:
        """Links or frames that it names."""
        return ()

    @abstractmethod
    def arm(self, motion: LinkMotion) -> Arm:
        """Length and its derivative.

        Args:
            motion: Poses of the links, and joints.

        Returns:
            Length, forces of 1 N along it on links, and the part of the derivative by joint rates.
        """

    def renamed(self, name: str, joint: Mapping[str, str], place: Mapping[str, str]) -> Tendon:
        """Same tendon of a robot whose parts have other names.

        Args:
            name: New name.
            joint: New names of joints.
            place: New names of links and frames.

        Returns:
            Tendon.
        """
        raise NotImplementedError

    def locked(self, joints: Mapping[str, Any]) -> Tendon | None:
        """Same tendon of a robot whose joints are welded.

        Args:
            joints: Coordinates of the welded joints by name.

        Returns:
            Tendon, or None where nothing of it moves.
        """
        return self
