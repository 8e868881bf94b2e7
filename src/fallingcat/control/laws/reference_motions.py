"""Reference motions of the joints, written for every kind of number, so that laws that track them compile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...arrays import clip, cos, sin
from ...arrays.types import Scalar
from ...dynamics.checks import positive
from ...errors import ModelError, describe
from ...records import concise

Rows = tuple[tuple[float, ...], ...]


class ReferenceMotion(NamedTuple):
    """Reference coordinates, rates and accelerations of the joints (n each)."""

    joints: Any
    rates: Any
    accelerations: Any


@concise
@dataclass(frozen=True)
class PeriodicReference:
    """Periodic reference motion of the joints, repeated ``count`` times from rest to rest.

    A Fourier series ``mean + sum_h cosines_h cos(2 pi h s) + sines_h sin(2 pi h s)`` with
    ``s = count (10 x^3 - 15 x^4 + 6 x^5)`` and ``x = t / duration``.

    Example:
        >>> around = PeriodicReference((0.0, 0.0), ((0.5, 0.0),), ((0.0, 0.5),), count=2, duration=4.0)
        >>> around(2.0).joints.round(12) + 0.0, bool(abs(around(9.0).rates).max() == 0.0)
        (array([0.5, 0. ]), True)
    """

    mean: tuple[float, ...]
    """``n`` (rad or m)"""
    cosines: Rows
    """``H x n``, one row for each harmonic"""
    sines: Rows
    """``H x n``"""
    count: int
    """number of cycles"""
    duration: float
    """s, of all cycles"""

    def __post_init__(self) -> None:
        """Check shapes and values; coefficients become tuples, so that motions can be compared."""
        for name, rank in (("mean", 1), ("cosines", 2), ("sines", 2)):
            try:
                x = np.array(getattr(self, name), dtype=float)
            except (TypeError, ValueError, OverflowError):
                x = np.array(np.nan)
            if x.ndim != rank or not np.isfinite(x).all():
                given = describe(getattr(self, name))
                raise ModelError(
                    f"{name} of a motion must be a {('row', 'matrix')[rank - 1]} of finite numbers, got {given}"
                )
            rows = tuple(map(float, x)) if rank == 1 else tuple(tuple(map(float, row)) for row in x)
            object.__setattr__(self, name, rows)  # so that motions, and laws that follow them, can be compared
        if np.shape(self.cosines) != np.shape(self.sines) or np.shape(self.cosines)[1:] != np.shape(self.mean):
            raise ModelError(
                "cosines and sines of a motion must have one row for each harmonic, of the size of its mean"
            )
        positive(self.duration, "duration of a motion")
        if isinstance(self.count, bool) or not isinstance(self.count, (int, np.integer)):
            raise ModelError(f"count of a motion must be an integer, got {describe(self.count)}")

    def __call__(self, t: Scalar) -> ReferenceMotion:
        """Reference motion at a time; at rest before 0 and after ``duration``.

        Args:
            t: Time (s).

        Returns:
            Coordinates, rates and accelerations (n each; rad or m, and per s and s^2).
        """
        x = clip(t / self.duration, 0.0, 1.0)
        s = self.count * (x * x * x * (10.0 - 15.0 * x + 6.0 * x * x))
        ds = (self.count / self.duration) * (30.0 * x * x * (1.0 - x) * (1.0 - x))
        dds = (self.count / self.duration**2) * (60.0 * x * (1.0 - x) * (1.0 - 2.0 * x))
        q, dq, ddq = np.array(self.mean), np.zeros(len(self.mean)), np.zeros(len(self.mean))
        for h, (c, b) in enumerate(zip(np.array(self.cosines), np.array(self.sines), strict=True)):
            w = 2.0 * np.pi * (h + 1)
            C, S = cos(w * s), sin(w * s)
            q = q + (C * c + S * b)
            dq = dq + w * (C * b - S * c)
            ddq = ddq - w * w * (C * c + S * b)
        return ReferenceMotion(q, dq * ds, ddq * (ds * ds) + dq * dds)
