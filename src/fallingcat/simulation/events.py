"""Events: moments at which a function of the state crosses zero."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..model import State
from .integrator import Integrator, System

PRECISION = 1e-10
"""Events are located to this time (s)."""


class Event(NamedTuple):
    """``function(t, state)`` crosses zero; ``direction`` +1 upwards, -1 downwards, 0 either way."""

    name: str
    function: Callable[[float, State], float]
    direction: int = 0
    terminal: bool = False


class Found(NamedTuple):
    """An event that happened."""

    event: Event
    time: float
    state: State


def locate(
    system: System, method: Integrator, t: float, before: State, after: State, dt: float, events: Sequence[Event]
) -> list[Found]:
    """The events within one step, in the order of time, each to :data:`PRECISION`.

    A value of exactly zero at the start of a step does not fire again: it was found at the end of the one before.
    """
    found = []
    for event in events:
        start, end = event.function(t, before), event.function(t + dt, after)
        if not _crosses(start, end, event.direction):
            continue
        low, high, state = 0.0, dt, after
        while high - low > PRECISION:
            middle = 0.5 * (low + high)
            at = method.step(system, t, before, middle)
            value = event.function(t + middle, at)
            if _crosses(start, value, event.direction):
                high, state = middle, at
            else:
                low = middle
        found.append(Found(event, t + high, state))
    return sorted(found, key=lambda hit: hit.time)


def _crosses(start: float, end: float, direction: int) -> bool:
    up, down = start < 0.0 <= end, start > 0.0 >= end
    return up if direction > 0 else down if direction < 0 else up or down
