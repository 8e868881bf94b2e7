"""Events: moments at which a function of the state crosses zero."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import compress
from operator import is_not
from typing import Any, NamedTuple

import numpy as np

from ..contact import Contact
from ..contact.base import Mode
from ..errors import ModelError, NumericsError, describe
from ..model import State

TIME_TOLERANCE = 1e-10
"""Events are located to this time (s)."""
CROSSING_TIME_TOLERANCE = 0.5 * TIME_TOLERANCE
"""Each alone, so that all of one instant lie within :data:`TIME_TOLERANCE`."""


class Event(NamedTuple):
    """Event of a run: ``function(t, state)`` reaches zero.

    ``direction`` is +1 for crossings from below, -1 from above, 0 for both.  It happens where the value at the end of a
    step has reached or passed zero, relative to the value at its start.  So touching zero counts, once; a value that
    starts at zero, or stays there, has to leave it first; and two crossings within one step cancel and are not seen:
    ``dt`` bounds how close they may be.

    Args:
        name: Name in the list of events of a run.
        function: Function of time (s) and state that returns one number.
        direction: +1, -1 or 0.
        terminal: End the run at the event.

    Example:
        >>> Event("top", lambda t, state: state.twist[2], direction=-1).happens(0.1, -0.1)
        True
    """

    name: str
    function: Callable[[float, State], float]
    direction: int = 0
    terminal: bool = False

    def happens(self, start: float, end: float) -> bool:
        """True if the event lies between two values; a zero at the start belongs to the step before.

        Args:
            start: Value at the start of a step.
            end: Value at its end.

        Returns:
            True for a crossing in the direction of the event.
        """
        up, down = start < 0.0 <= end, start > 0.0 >= end
        return up if self.direction > 0 else down if self.direction < 0 else up or down

    def value(self, t: float, state: State) -> float:
        """Value of the function.

        Args:
            t: Time (s).
            state: Configuration and velocity.

        Returns:
            The number.

        Raises:
            ModelError: The function returned something else.
            NumericsError: The number is NaN.
        """
        given: Any = self.function(t, state)
        if isinstance(given, (bool, np.bool_)):
            rule = "gives a number that passes zero, t - 0.1 and not t > 0.1, say"
            raise ModelError(f"the event {self.name!r} {rule}, not True or False")
        try:
            value = float(given)
        except (TypeError, ValueError, OverflowError):
            raise ModelError(
                f"the event {self.name!r} gives one number at a time and state, not {describe(given)}"
            ) from None
        if np.isnan(value):
            raise NumericsError(f"the event {self.name!r} is not a number", time=t, value=value)
        return value


class EventRecord(NamedTuple):
    """An event of a run."""

    name: str
    time: float
    """s"""
    loss: float = 0.0
    """energy that an impact took (J)"""


def contact_events(times: np.ndarray, modes: Sequence[Mode], contact: Contact) -> tuple[EventRecord, ...]:
    """Touchdowns and lift-offs of runs that do not locate them: at the first sample after each.

    >>> from fallingcat.contact import HardContacts
    >>> contact_events(np.array([0.0, 0.1, 0.2]), [("open",), ("stick",), ("stick",)], HardContacts(("foot",)))
    (EventRecord(name='touchdown foot', time=0.1, loss=0.0),)
    """
    found, touching = list[EventRecord](), cache(contact.touching)
    for k in compress(range(1, len(modes)), map(is_not, modes[1:], modes)):  # equal ones in a row are one object
        before, after = touching(modes[k - 1]), touching(modes[k])
        for what, names in (("lift-off", before - after), ("touchdown", after - before)):
            if names:
                found.append(EventRecord(f"{what} {', '.join(sorted(names))}", float(times[k])))
    return tuple(found)


def checked_events(events: Event | Sequence[Event]) -> tuple[Event, ...]:
    """The events, or the one, unless one of them is none."""
    events = [events] if isinstance(events, Event) else events
    if not isinstance(events, (list, tuple)):
        raise ModelError(f"events is a list of events, not {describe(events)}")
    for event in events:
        if not isinstance(event, Event) or not callable(event.function) or not _is_direction(event.direction):
            raise ModelError(f"{event!r} is no event: fc.Event(name, function of time and state, direction -1, 0 or 1)")
    return tuple(events)


def _is_direction(x: Any) -> bool:
    return isinstance(x, (int, float)) and x in (-1, 0, 1)


def first_crossing(
    value: Callable[[float], float], before: float, after: float, dt: float, past: Callable[[float], bool]
) -> float:
    """The earliest known time in (0, dt] at which ``value`` is ``past`` zero, to :data:`CROSSING_TIME_TOLERANCE`.

    ``value(0) = before`` is not past it and ``value(dt) = after`` is.  Interpolates through the last three values, and
    halves where that did not (Brent's rule, in short); a guess is moved a hair away from the nearer end, so that the
    last two enclose the zero.
    """
    low, high, f_low, f_high = 0.0, dt, before, after
    third, f_third, halve = low, f_low, False
    while high - low > CROSSING_TIME_TOLERANCE:
        width, hair = high - low, 0.3 * CROSSING_TIME_TOLERANCE
        guess = 0.5 * (low + high)
        if not halve:
            guess = interpolated((low, f_low), (high, f_high), (third, f_third))
            guess += hair if guess - low < high - guess else -hair
            guess = min(max(guess, low + hair), high - hair)
        f = value(guess)
        if past(f):
            third, f_third, high, f_high = high, f_high, guess, f
        else:
            third, f_third, low, f_low = low, f_low, guess, f
        halve = high - low > 0.5 * width and not halve
    return high


def interpolated(low: tuple[float, float], high: tuple[float, float], third: tuple[float, float]) -> float:
    """Root of the curve ``t(f)`` through three pairs ``(t, f)``, by inverse quadratic interpolation.

    It is taken if it is between ``low`` and ``high``; else where their line has ``f = 0``, else their middle.

    >>> interpolated((0.0, -1.0), (2.0, 3.0), (1.0, 0.5))
    0.7000000000000001
    """
    (a, fa), (b, fb), (c, fc) = low, high, third
    with np.errstate(all="ignore"):
        p, q, r = np.float64(fa), np.float64(fb), np.float64(fc)
        curve = a * q * r / ((p - q) * (p - r)) + b * p * r / ((q - p) * (q - r)) + c * p * q / ((r - p) * (r - q))
        line = a - p * (b - a) / (q - p)
    return float(next((t for t in (curve, line) if a < t < b), 0.5 * (a + b)))
