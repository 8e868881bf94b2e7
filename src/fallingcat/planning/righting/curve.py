"""Curve of a righting manoeuvre: bend and tuck, carry the bend around, straighten and stretch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays.types import Float_n, FloatArray, Scalar, Vector, Vector_n
from ...errors import ModelError
from ...records import concise
from ..gaits.curve_arguments import finite
from ..gaits.curves import Circle, Curve, Jet


@concise
@dataclass(frozen=True, eq=False)
class RightingCurve(Curve):
    """Righting curve ``q = origin + w(s) (tuck + bend (cos a first + sin a second))``.

    The angle is ``a = start + 2 pi turns s``; ``w`` rises smoothly from 0 to 1 within ``ramp``, and falls again at the
    end: the motion starts and ends at rest in ``origin``, with any number of turns.

    Example:
        >>> curve = RightingCurve(np.zeros(2), np.array([1.0, 0.0]), np.array([0.0, 1.0]), bend=0.8)
        >>> curve.closed
        True
    """

    origin: Float_n
    """``n``: shape at both ends"""
    first: Float_n
    """``n``: first direction of the bend"""
    second: Float_n
    """``n``: second direction of the bend"""
    bend: float
    """rad"""
    tuck: Scalar | Vector_n = 0.0
    """``n`` (rad): posture taken up on the way"""
    turns: float = 1.0
    start: float = 0.0
    """rad"""
    ramp: float = 0.3
    """share of the time, up to one half"""

    def __post_init__(self) -> None:
        """Check shapes and values."""
        for name in ("origin", "first", "second"):
            object.__setattr__(self, name, finite(getattr(self, name), 1, name))
        for name in ("bend", "turns", "start", "ramp"):
            finite(getattr(self, name), 0, name)
        if not len(self.origin) == len(self.first) == len(self.second):
            raise ModelError("origin, first and second must have one number for each joint")
        if not 0.0 < self.ramp <= 0.5:
            raise ModelError(f"ramp must be above 0 and up to one half, got {self.ramp!r}")

    @property
    def size(self) -> int:
        """Number of joints n."""
        return len(self.origin)

    @property
    def breaks(self) -> tuple[float, ...]:
        """Ends of the ramps."""
        return (0.0, self.ramp, 1.0 - self.ramp, 1.0)

    @property
    def circle(self) -> Curve:
        """Once around, as large as in the middle of the motion: a closed curve that is repeated."""
        return Circle(self.bend).embedded(np.stack([self.first, self.second], axis=1), self.origin + self.tuck)

    def __call__(self, s: Vector) -> Jet:
        """Points and derivatives at ``s``."""
        s = np.atleast_1d(np.asarray(s, dtype=float))[:, None]
        rate = 2.0 * np.pi * self.turns
        a = self.start + rate * s
        w, dw, ddw = self._weight(s)
        along = self.bend * (np.cos(a) * self.first + np.sin(a) * self.second)
        across = rate * self.bend * (np.cos(a) * self.second - np.sin(a) * self.first)
        held = self.tuck + along
        q = self.origin + w * held
        dq = dw * held + w * across
        return Jet(q, dq, ddw * held + 2.0 * dw * across - w * rate**2 * along)

    def weight(self, s: Vector) -> FloatArray:
        """Weight ``w(s)`` of bend and tuck.

        Args:
            s: Parameters (N) in [0, 1], or one number.

        Returns:
            Weights (N) from 0 to 1.
        """
        return self._weight(np.atleast_1d(np.asarray(s, dtype=float)))[0]

    def _weight(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        falling = s > 0.5
        x = np.clip(np.where(falling, 1.0 - s, s) / self.ramp, 0.0, 1.0)
        sign = np.where(falling, -1.0, 1.0) / self.ramp
        w = x**3 * (10.0 - 15.0 * x + 6.0 * x**2)
        return w, sign * 30.0 * (x * (1.0 - x)) ** 2, 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / self.ramp**2
