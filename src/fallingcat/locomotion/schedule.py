"""Contact schedules: which feet stand at a time, and how far swinging feet are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import arctan2, array, clip, cos, is_numeric, less, scale, sin, where
from ..arrays.arguments import LARGEST_FLOAT, as_number, shape_of
from ..arrays.types import Scalar, Vector
from ..errors import ModelError, NumericsError, describe
from ..records import concise

MIN_STANCE = 1e-3
"""Smallest share of the period that a foot stands, and that a foot swings where it swings."""

MAX_PERIODS = 1e12
"""Number of periods after which rounding takes more than a ten thousandth of a period"""

MAX_FEET = 1000
"""Largest number of feet of a schedule"""

TOUCHDOWN_TOLERANCE = 1e-9
"""Share of the period by which a foot touches down early: sampled times may be below touchdown by rounding."""


@concise
@dataclass(frozen=True)
class Schedule:
    """Periodic contact schedule: each foot stands for a share of the period, then swings.

    A foot touches down at the times ``period (k + offset)``.  All methods take numbers of every kind, so that they
    compile.

    Args:
        period: Time of a stride (s).
        duty: Share of the period that a foot stands; 1: it always does.
        offsets: For each foot the phase of its touchdown, as a share of the period.

    Example:
        >>> gait = trot(period=0.4)
        >>> gait.contacts(0.1), gait.contacts(0.3)
        (array([1., 0., 0., 1.]), array([0., 1., 1., 0.]))
        >>> gait.swing(0.25).round(3)
        array([0.25, 0.  , 0.  , 0.25])
    """

    period: float
    duty: float
    offsets: tuple[float, ...]

    def __post_init__(self) -> None:
        """Check the fields."""
        object.__setattr__(self, "period", _number(self.period, "period", "positive (s)"))
        object.__setattr__(self, "duty", _number(self.duty, "duty", "in (0, 1]"))
        if self.duty > 1.0 or self.duty < MIN_STANCE or 1.0 - MIN_STANCE < self.duty < 1.0:
            raise ModelError(f"duty of a schedule must be in [{MIN_STANCE}, {1.0 - MIN_STANCE}] or 1, got {self.duty}")
        given: Any = self.offsets
        if (
            isinstance(given, str)
            or not isinstance(given, (Sequence, np.ndarray))
            or len(shape_of(given) or ()) != 1
            or not 1 <= len(given) <= MAX_FEET
        ):
            raise ModelError(f"offsets of a schedule must be one number for each foot, got {describe(given)}")
        for x in given:
            if (
                isinstance(x, bool)
                or not isinstance(x, (int, float, np.number))
                or not -LARGEST_FLOAT <= x <= LARGEST_FLOAT
            ):
                raise ModelError(f"offset of a schedule must be a finite number, got {describe(x)}")
        object.__setattr__(self, "offsets", tuple(float(x) for x in given))

    @property
    def stance(self) -> float:
        """Time that a foot stands in a period (s)."""
        return self.duty * self.period

    @property
    def flight(self) -> float:
        """Time that a foot swings in a period (s)."""
        return self.period - self.stance

    def phases(self, t: Scalar) -> Vector:
        """Phase of each foot since its touchdown.

        Args:
            t: Time (s).

        Returns:
            Number (k) for each foot, in [0, 1): share of the period.
        """
        if isinstance(t, float) and not np.isfinite(t):
            raise NumericsError(f"the time of a schedule must be finite (s), got {t}")
        as_number(t, "the time of a schedule (s)")
        if is_numeric(t) and abs(t) > MAX_PERIODS * self.period:
            raise NumericsError(f"{t:g} s are more than {MAX_PERIODS:.0e} periods: phases are lost to rounding")
        turns = array([scale(1.0 / self.period, t) + (TOUCHDOWN_TOLERANCE - offset) for offset in self.offsets])
        angle = turns * (2.0 * np.pi)
        return (arctan2(-sin(angle), -cos(angle)) + np.pi) * (0.5 / np.pi)  # remainder, for every kind of number

    def contacts(self, t: Scalar) -> Vector:
        """Mask of the feet that stand.

        Args:
            t: Time (s).

        Returns:
            Number (k) for each foot: 1 where it stands, 0 where it swings.
        """
        if self.duty == 1.0:
            return np.ones(len(self.offsets))
        return where(less(self.phases(t), self.duty), np.ones(len(self.offsets)), np.zeros(len(self.offsets)))

    def swing(self, t: Scalar) -> Vector:
        """Progress of the swing of each foot.

        Args:
            t: Time (s).

        Returns:
            Number (k) for each foot, in [0, 1]: share of its swing; 0 where it stands.
        """
        if self.duty == 1.0:
            return np.zeros(len(self.offsets))
        return clip((self.phases(t) - self.duty) * (1.0 / (1.0 - self.duty)), 0.0, 1.0)


def stand(feet: int = 4) -> Schedule:
    """All feet stand, always.

    Args:
        feet: Number of feet.

    Returns:
        Schedule.

    Example:
        >>> stand(2).contacts(0.3)
        array([1., 1.])
    """
    if isinstance(feet, bool) or not isinstance(feet, (int, np.integer)) or not 1 <= feet <= MAX_FEET:
        raise ModelError(f"feet must be a whole number from 1 to {MAX_FEET}, got {describe(feet)}")
    return Schedule(1.0, 1.0, (0.0,) * feet)


def trot(period: float = 0.4, duty: float = 0.5) -> Schedule:
    """Diagonal pairs take turns; feet in the order front left, front right, rear left, rear right.

    Args:
        period: Time of a stride (s).
        duty: Share of the period that a foot stands.

    Returns:
        Schedule of four feet.

    Example:
        >>> trot().contacts(0.0)
        array([1., 0., 0., 1.])
    """
    return Schedule(period, duty, (0.0, 0.5, 0.5, 0.0))


def pace(period: float = 0.3, duty: float = 0.5) -> Schedule:
    """Legs of one side take turns with those of the other, as :func:`trot`.

    Args:
        period: Time of a stride (s).
        duty: Share of the period that a foot stands.

    Returns:
        Schedule of four feet.

    Example:
        >>> pace().contacts(0.0)
        array([1., 0., 1., 0.])
    """
    return Schedule(period, duty, (0.0, 0.5, 0.0, 0.5))


def bound(period: float = 0.3, duty: float = 0.5) -> Schedule:
    """Front legs take turns with rear legs, as :func:`trot`.

    Args:
        period: Time of a stride (s).
        duty: Share of the period that a foot stands.

    Returns:
        Schedule of four feet.

    Example:
        >>> bound().contacts(0.0)
        array([1., 1., 0., 0.])
    """
    return Schedule(period, duty, (0.0, 0.0, 0.5, 0.5))


def gallop(period: float = 0.3, duty: float = 0.4) -> Schedule:
    """Transverse gallop: rear left, rear right, front left, front right in turn, with a flight, as :func:`trot`.

    Args:
        period: Time of a stride (s).
        duty: Share of the period that a foot stands.

    Returns:
        Schedule of four feet.

    Example:
        >>> gait = gallop()
        >>> gait.contacts(0.93 * gait.period)  # all feet are in the air
        array([0., 0., 0., 0.])
    """
    return Schedule(period, duty, (0.4, 0.5, 0.0, 0.1))


def walk(period: float = 0.8, duty: float = 0.75) -> Schedule:
    """Four-beat walk, one leg after the other: rear left, front left, rear right, front right, as :func:`trot`.

    Args:
        period: Time of a stride (s).
        duty: Share of the period that a foot stands.

    Returns:
        Schedule of four feet.

    Example:
        >>> walk().contacts(0.1).sum()
        np.float64(3.0)
    """
    return Schedule(period, duty, (0.25, 0.75, 0.0, 0.5))


def biped_walk(single: float = 0.5, double: float = 0.15) -> Schedule:
    """Two feet in turn, with double support in between; feet in the order left, right.

    Args:
        single: Time on one foot (s).
        double: Time on both feet after each touchdown (s).

    Returns:
        Schedule of two feet.

    Example:
        >>> gait = biped_walk(single=0.5, double=0.1)
        >>> gait.contacts(0.05), gait.contacts(0.3), gait.contacts(0.65), gait.contacts(0.9)
        (array([1., 1.]), array([1., 0.]), array([1., 1.]), array([0., 1.]))
    """
    single, double = _number(single, "single", "positive (s)"), _number(double, "double", "positive (s)")
    period = 2.0 * (single + double)
    return Schedule(period, 0.5 + double / period, (0.0, 0.5))


def _number(x: Any, name: str, rule: str) -> float:
    """Positive finite number."""
    if isinstance(x, bool) or not isinstance(x, (int, float, np.number)) or not 0.0 < x <= LARGEST_FLOAT:
        raise ModelError(f"{name} of a schedule must be {rule}, got {describe(x)}")
    return float(x)
