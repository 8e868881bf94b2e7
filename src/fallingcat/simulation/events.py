"""Events: moments at which a function of the state crosses zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..model import State

PRECISION = 1e-10
"""Events are located to this time (s)."""


class Event(NamedTuple):
    """``function(t, state)`` crosses zero; ``direction`` +1 upwards, -1 downwards, 0 either way."""

    name: str
    function: Callable[[float, State], float]
    direction: int = 0
    terminal: bool = False

    def happens(self, start: float, end: float) -> bool:
        """Whether it lies between two values; a zero at the start was found at the end of the step before."""
        up, down = start < 0.0 <= end, start > 0.0 >= end
        return up if self.direction > 0 else down if self.direction < 0 else up or down


class Happened(NamedTuple):
    """An event of a run."""

    name: str
    time: float
    """s"""
    loss: float = 0.0
    """energy that an impact took (J)"""


def first_crossing(value: Callable[[float], float], before: float, after: float, dt: float) -> float:
    """The earliest known time in (0, dt] at which ``value`` has changed sign, to :data:`PRECISION`.

    ``value(0) = before`` and ``value(dt) = after`` have different signs, or ``before`` is zero.  Interpolates, and
    halves where that does not gain (the Illinois rule, with bisection as a guard).
    """
    low, high, f_low, f_high = 0.0, dt, before, after
    halve = False
    while high - low > PRECISION:
        guess = 0.5 * (low + high) if halve or f_low == f_high else low - f_low * (high - low) / (f_high - f_low)
        margin = 0.3 * PRECISION
        guess = min(max(guess, low + margin), high - margin)
        f, width = value(guess), high - low
        if ((f > 0.0) == (after > 0.0) and f != 0.0) or (f == 0.0 and after == 0.0):
            high, f_high, f_low = guess, f, 0.5 * f_low
        else:
            low, f_low, f_high = guess, f, 0.5 * f_high
        halve = high - low > 0.5 * width
    return high
