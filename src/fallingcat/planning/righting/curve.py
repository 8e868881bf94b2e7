"""The curve of a righting manoeuvre: bend and tuck, carry the bend around, straighten and stretch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ModelError
from ...records import concise
from ..gaits.curves import Curve, Jet, finite


@concise
@dataclass(frozen=True, eq=False)
class RightingCurve(Curve):
    """``q = origin + w(s) (tuck + bend (cos a first + sin a second))`` with the angle ``a = start + 2 pi turns s``.

    ``w`` rises smoothly from 0 to 1 within ``ramp``, and falls again at the end: the motion starts and ends at rest in
    ``origin``, with any number of turns.

    >>> curve = RightingCurve(np.zeros(2), np.array([1.0, 0.0]), np.array([0.0, 1.0]), bend=0.8)
    >>> curve.closed
    True
    """

    origin: np.ndarray
    first: np.ndarray
    second: np.ndarray
    bend: float
    tuck: Any = 0.0
    turns: float = 1.0
    start: float = 0.0
    ramp: float = 0.3

    def __post_init__(self) -> None:
        for name in ("origin", "first", "second"):
            object.__setattr__(self, name, finite(getattr(self, name), 1, name))
        for name in ("bend", "turns", "start", "ramp"):
            finite(getattr(self, name), 0, name)
        if not len(self.origin) == len(self.first) == len(self.second):
            raise ModelError("origin, first and second have one number for each joint")
        if not 0.0 < self.ramp <= 0.5:
            raise ModelError(f"ramp is a share of the time, above 0 and up to one half, not {self.ramp!r}")

    @property
    def size(self) -> int:
        return len(self.origin)

    @property
    def breaks(self) -> tuple[float, ...]:
        return (0.0, self.ramp, 1.0 - self.ramp, 1.0)

    def __call__(self, s: Any) -> Jet:
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

    def weight(self, s: Any) -> np.ndarray:
        """``w(s)`` (N)."""
        return self._weight(np.atleast_1d(np.asarray(s, dtype=float)))[0]

    def _weight(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        falling = s > 0.5
        x = np.clip(np.where(falling, 1.0 - s, s) / self.ramp, 0.0, 1.0)
        sign = np.where(falling, -1.0, 1.0) / self.ramp
        w = x**3 * (10.0 - 15.0 * x + 6.0 * x**2)
        return w, sign * 30.0 * (x * (1.0 - x)) ** 2, 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / self.ramp**2
