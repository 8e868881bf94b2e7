"""Linear inverted pendulum and its divergent component of motion (DCM), in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..arrays import exp, is_numeric, scale
from ..arrays.arguments import as_number, shape_of
from ..arrays.types import Scalar, Vector
from ..dynamics.checks import positive
from ..errors import ModelError, NumericsError, describe
from ..records import concise
from .footsteps import as_arrays, check_numbers

MAX_GROWTH = 300.0
"""Exponent of the largest growth of the divergent component"""


@concise
class PendulumMotion(NamedTuple):
    """Horizontal position and velocity of the center of mass of a pendulum.

    Example:
        >>> PendulumMotion._fields
        ('position', 'velocity')
    """

    position: Vector
    """m"""
    velocity: Vector
    """m/s"""


@concise
@dataclass(frozen=True)
class LinearPendulum:
    """Linear inverted pendulum: a center of mass at constant height above a point of zero moment.

    ``d2c/dt2 = w^2 (c - p)`` with ``w = sqrt(gravity / height)``.  The divergent component of motion (the instantaneous
    capture point) ``xi = c + dc/dt / w`` has ``dxi/dt = w (xi - p)``.  Positions are horizontal, with one to three
    axes.

    Args:
        height: Height of the center of mass (m).
        gravity: Acceleration of gravity (m/s^2).

    Example:
        >>> pendulum = LinearPendulum(0.8)
        >>> start = np.array([0.02, 0.0]), np.array([0.1, 0.0])
        >>> xi = pendulum.dcm(*start)
        >>> later = pendulum.motion(*start, zero_moment=np.zeros(2), t=0.3)
        >>> bool(np.allclose(pendulum.dcm(*later), pendulum.dcm_after(xi, np.zeros(2), 0.3)))
        True
    """

    height: float
    gravity: float = 9.81

    def __post_init__(self) -> None:
        """Check the fields."""
        positive(self.height, "height of a LinearPendulum")
        positive(self.gravity, "gravity of a LinearPendulum")

    @property
    def rate(self) -> float:
        """Rate ``w`` (1/s) at which the divergent component diverges."""
        return float(np.sqrt(self.gravity / self.height))

    def _growth(self, t: Scalar) -> Scalar:
        """Factor ``exp(rate t)`` of the divergent component."""
        grown = scale(self.rate, as_number(t, "t"))
        if is_numeric(grown) and abs(grown) > MAX_GROWTH:
            raise NumericsError(f"a pendulum of {self.height:g} m diverges beyond all numbers within {t:g} s")
        return exp(grown)

    def motion(self, position: Vector, velocity: Vector, zero_moment: Vector, t: Scalar) -> PendulumMotion:
        """Motion after a time with a constant point of zero moment.

        Args:
            position: Of the center of mass at the start (m).
            velocity: Of the center of mass at the start (m/s).
            zero_moment: Point of zero moment (m).
            t: Time (s).

        Returns:
            Position and velocity.
        """
        position, velocity, zero_moment = _points(position=position, velocity=velocity, zero_moment=zero_moment)
        grow, fade, w = self._growth(t), self._growth(-t), self.rate
        cosh, sinh, off = 0.5 * (grow + fade), 0.5 * (grow - fade), position - zero_moment
        return PendulumMotion(
            zero_moment + scale(cosh, off) + scale(sinh / w, velocity), scale(w * sinh, off) + scale(cosh, velocity)
        )

    def dcm(self, position: Vector, velocity: Vector) -> Vector:
        """Divergent component of motion: the point on which it comes to rest, if it steps there at once.

        Args:
            position: Of the center of mass (m).
            velocity: Of the center of mass (m/s).

        Returns:
            ``xi`` (m).
        """
        position, velocity = _points(position=position, velocity=velocity)
        return position + velocity * (1.0 / self.rate)

    def dcm_after(self, dcm: Vector, zero_moment: Vector, t: Scalar) -> Vector:
        """Divergent component after a time with a constant point of zero moment.

        Args:
            dcm: At the start (m).
            zero_moment: Point of zero moment (m).
            t: Time (s).

        Returns:
            ``xi(t)`` (m).
        """
        dcm, zero_moment = _points(dcm=dcm, zero_moment=zero_moment)
        return zero_moment + scale(self._growth(t), dcm - zero_moment)

    def dcm_after_ramp(self, dcm: Vector, start: Vector, end: Vector, t: Scalar, duration: float) -> Vector:
        """Divergent component while the point of zero moment moves evenly, as in double support.

        Args:
            dcm: At the start (m).
            start: Point of zero moment at the start (m).
            end: Point of zero moment after ``duration`` (m).
            t: Time since the start (s), at most the duration.
            duration: Time of the ramp (s).

        Returns:
            ``xi(t)`` (m).
        """
        dcm, start, end = _points(dcm=dcm, start=start, end=end)
        check_numbers(t=t, duration=duration)
        if is_numeric(duration) and not np.real(duration) > 0.0:
            raise ModelError(f"duration of a ramp must be positive (s), got {describe(duration)}")
        lead = (end - start) * (1.0 / (self.rate * duration))
        here = start + scale(t / duration, end - start)
        return here + lead + scale(self._growth(t), dcm - start - lead)

    def walking_offset(self, step: Vector, sway: Vector, single: float, double: float) -> Vector:
        """Offset of the divergent component from a foot at its touchdown, in a periodic walk.

        In each step the point of zero moment moves from the old foot to the new one in the time ``double`` and stays
        there for ``single``; steps are ``step + sway`` and ``step - sway`` in turn.  The walk with the offset of
        ``step + sway`` at that touchdown has the offset of ``step - sway`` at the next, without control.

        Args:
            step: Part of the steps that is equal for both feet (m).
            sway: Part that changes its sign (m); that of the foot that touches down.
            single: Time of single support (s).
            double: Time of double support (s), positive.

        Returns:
            Offset ``xi - foot`` (m).

        Example:
            >>> pendulum, sway = LinearPendulum(0.8), np.array([0.2])
            >>> begin = 0.2 + pendulum.walking_offset(np.zeros(1), sway, 0.5, 0.1)  # foot at 0.2 m, the other at 0
            >>> end = pendulum.dcm_after_ramp(begin, np.zeros(1), sway, 0.1, 0.1)
            >>> end = pendulum.dcm_after(end, sway, 0.5)
            >>> bool(np.allclose(end - 0.0, pendulum.walking_offset(np.zeros(1), -sway, 0.5, 0.1)))
            True
        """
        single, double = positive(single, "the time of single support"), positive(double, "the time of double support")
        step, sway = _points(step=step, sway=sway)
        w = self.rate
        grown = float(self._growth(single + double))
        lead = 1.0 / (w * double)
        moved = float(np.exp(w * single) * (lead + np.exp(w * double) * (1.0 - lead)))
        return step * ((1.0 - moved) / (grown - 1.0)) - sway * ((1.0 + moved) / (grown + 1.0))


def _points(**given: Any) -> list[Any]:
    """Horizontal places and velocities, all with the axes of the first."""
    name, first = next(iter(given.items()))
    shape = shape_of(first)
    if shape not in ((1,), (2,), (3,)):
        raise ModelError(f"{name} must be one to three numbers, got {describe(first)}")
    return as_arrays(shape, **given)
