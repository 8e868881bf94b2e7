"""Measures of hoppers that studies report, by the names that their files use: hops, turns, apexes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...model import State
from .hopper import FOOT
from .hopping_laws import virtual_leg
from .observed import Observed

LAST_HOPS: Final = 5
"""Number of hops at the end of a run over which a gait is averaged."""
LARGE_SWING: Final = 10.0
"""Turn of the leg in a flight that a reader of Figure 4.9 sees (degrees); the first of EXP II is 28."""
NAN: Final = float("nan")

Measure = Callable[[Observed], float]
MEASURES: Final[dict[str, Measure]] = {}
"""Name in a study's file: the function; its docstring says what and in which unit."""


def measure(function: Measure) -> Measure:
    """Register a measure of hoppers for study files, as a decorator.

    Args:
        function: Maps an :class:`Observed` run to a number; its name is that of the measure.

    Returns:
        The function, unchanged.
    """
    MEASURES[function.__name__] = function
    return function


def x_at(t: float, seen: Observed) -> float:
    """Place of the base at a time (m)."""
    return float(seen.run.at(t).pose[0, 3]) if seen.times[0] <= t <= seen.times[-1] else NAN


STATE_BEFORE_APEX: Final[dict[str, Callable[[State], Any]]] = {
    "theta": lambda state: np.arctan2(state.pose[1, 0], state.pose[0, 0]),
    "vx": lambda state: state.twist[0],
    "vy": lambda state: state.twist[1],
    "omega": lambda state: state.twist[2],
}
"""Quantities of ``NAME TIME ms before the apex``: rad, m/s along the axes of the base, rad/s."""


def before_apex(name: str, milliseconds: float, seen: Observed) -> float:
    """A quantity of :data:`STATE_BEFORE_APEX` that long before the last apex."""
    if not seen.hops:
        return NAN
    return float(STATE_BEFORE_APEX[name](seen.run.at(seen.apex_time(seen.hops[-1]) - 1e-3 * milliseconds)))


def mean(values: list[float] | np.ndarray) -> float:
    """Mean; not a number where there is nothing."""
    return float(np.mean(values)) if len(values) else NAN


@measure
def touchdowns(seen: Observed) -> float:
    """Flights that end on the floor, the first fall included, bounces of the foot not."""
    return float(len(seen.flights))


@measure
def touches(seen: Observed) -> float:
    """Touchdowns with all bounces of the foot."""
    return float(sum(event.name == f"touchdown {FOOT}" for event in seen.run.events))


@measure
def hop_period(seen: Observed) -> float:
    """Period from lift-off to lift-off (s), mean of the last hops."""
    return mean(np.diff(seen.times[seen.lift_offs])[-LAST_HOPS:])


@measure
def step_length(seen: Observed) -> float:
    """Way of the center of mass from lift-off to lift-off (m), mean of the last hops."""
    return mean(np.diff(seen["com_x"][seen.lift_offs])[-LAST_HOPS:])


@measure
def forward_speed(seen: Observed) -> float:
    """Forward speed of the center of mass (m/s), over the last hops."""
    return step_length(seen) / hop_period(seen)


@measure
def drift(seen: Observed) -> float:
    """Way of the center of mass in the whole run (m)."""
    return float(seen["com_x"][-1] - seen["com_x"][0])


@measure
def liftoff_extension(seen: Observed) -> float:
    """Extension of the radial spring beyond its rest length at lift-off (mm), mean of the last hops."""
    return mean(1e3 * (seen["r"][seen.lift_offs] - seen.spring.rest)[-LAST_HOPS:])


@measure
def liftoff_strain(seen: Observed) -> float:
    """Extension of the radial spring at lift-off, relative to the rest length (%)."""
    return 0.1 * liftoff_extension(seen) / seen.spring.rest


@measure
def liftoff_energy(seen: Observed) -> float:
    """Energy of the radial spring at lift-off (mJ), mean of the last hops."""
    return mean(1e3 * seen.spring_energy[seen.lift_offs][-LAST_HOPS:])


@measure
def stationarity(seen: Observed) -> float:
    """Largest change of period, step or lift-off extension between successive hops, in the last hops (%)."""
    n = seen.lift_offs[-LAST_HOPS - 2 :]
    series = [np.diff(seen.times[n]), np.diff(seen["com_x"][n]), (seen["r"][n] - seen.spring.rest)[1:]]
    if len(n) < 4:
        return NAN
    return 100.0 * max(float(np.abs(np.diff(x)).max() / np.abs(x).mean()) for x in series)


@measure
def convergence(seen: Observed) -> float:
    """Largest change of the hop period from hop to hop in the second half of a run, relative to that in the first."""
    changes = np.abs(np.diff(np.diff(seen.times[seen.lift_offs])))
    half = len(changes) // 2
    return float(changes[half:].max() / changes[:half].max()) if half else NAN


@measure
def settling_time(seen: Observed) -> float:
    """Time from which on the period of every hop is within 1 % of the last ones' (s)."""
    starts, periods = seen.times[seen.lift_offs], np.diff(seen.times[seen.lift_offs])
    if len(periods) <= LAST_HOPS:
        return NAN
    off = np.flatnonzero(np.abs(periods / mean(periods[-LAST_HOPS:]) - 1.0) > 0.01)
    if len(off) and off[-1] >= len(periods) - LAST_HOPS:
        return NAN
    return float(starts[off[-1] + 1]) if len(off) else float(starts[0])


def _flight_turns(seen: Observed) -> list[float]:
    """Turn of the virtual leg in each flight after a lift-off (degrees)."""
    return [float(np.degrees(seen["alpha"][hop.end] - seen["alpha"][hop.start])) for hop in seen.hops]


@measure
def first_turn(seen: Observed) -> float:
    """Turn of the virtual leg in the first flight after a lift-off (degrees)."""
    return _flight_turns(seen)[0] if seen.hops else NAN


@measure
def flight_turn(seen: Observed) -> float:
    """Size of the turn of the virtual leg in a flight (degrees), mean of the last hops."""
    return mean(np.abs(_flight_turns(seen)[-LAST_HOPS:]))


@measure
def largest_turn(seen: Observed) -> float:
    """Largest size of the turn of the virtual leg in a flight after a lift-off (degrees)."""
    return float(np.abs(_flight_turns(seen)).max()) if seen.hops else NAN


@measure
def largest_later_turn(seen: Observed) -> float:
    """Largest size of the turn of the virtual leg in a flight after the first hop (degrees)."""
    later = np.abs(_flight_turns(seen)[1:])
    return float(later.max()) if len(later) else NAN


def _spins(seen: Observed) -> np.ndarray:
    """Angular momentum about the center of mass in each flight after a lift-off (N m s)."""
    return np.array([float(np.median(seen["spin"][seen.in_flight(hop)])) for hop in seen.hops])


@measure
def liftoff_spin(seen: Observed) -> float:
    """Angular momentum about the center of mass after the first lift-off (N m s)."""
    return float(_spins(seen)[0]) if seen.hops else NAN


@measure
def sign_changes(seen: Observed) -> float:
    """Share of hops in whose flight the angular momentum has another sign than in the flight before (%)."""
    spins = _spins(seen)
    return 100.0 * float(np.mean(spins[1:] * spins[:-1] < 0.0)) if len(spins) > 1 else NAN


@measure
def large_swings_alternate(seen: Observed) -> float:
    """Share of large swings whose angular momentum has another sign than in the flight before (%).

    Large swings are flights that turn the leg by :data:`LARGE_SWING` or more.
    """
    spins, turns = _spins(seen), np.abs(_flight_turns(seen))
    large = np.flatnonzero(turns[1:] >= LARGE_SWING) + 1
    return 100.0 * float(np.mean(spins[large] * spins[large - 1] < 0.0)) if len(large) else NAN


@measure
def hops_before_tilt(seen: Observed) -> float:
    """Touchdowns before the leg is 1 degree off the vertical; not a number if it never is."""
    off = np.flatnonzero(np.abs(seen["alpha"]) > np.radians(1.0))
    return float(sum(flight.end <= off[0] for flight in seen.flights)) if len(off) else NAN


@measure
def spin_growth(seen: Observed) -> float:
    """Factor by which the angular momentum in flight grows per hop, as long as it is small."""
    spins = np.abs(_spins(seen))
    small = np.flatnonzero((spins > 1e-17) & (spins < 1e-4))
    if len(small) < 4:
        return NAN
    return float(np.exp(np.polyfit(small, np.log(spins[small]), 1)[0]))


@measure
def largest_lean(seen: Observed) -> float:
    """Largest size of the angle of the virtual leg (degrees)."""
    return float(np.degrees(np.abs(seen["alpha"]).max()))


def at_last_apex(seen: Observed, value: Callable[[State], Any]) -> float:
    """Quantity of a state at the last apex; not a number where there is none."""
    return float(value(seen.apex(seen.hops[-1]))) if seen.hops else NAN


@measure
def apex_height(seen: Observed) -> float:
    """Height of the base at the last apex of the center of mass (m)."""
    return at_last_apex(seen, lambda state: state.pose[1, 3])


@measure
def apex_theta(seen: Observed) -> float:
    """Angle of the base at the last apex (rad)."""
    return at_last_apex(seen, lambda state: np.arctan2(state.pose[1, 0], state.pose[0, 0]))


@measure
def apex_vx(seen: Observed) -> float:
    """Velocity of the base at the last apex, along its own x axis (m/s)."""
    return at_last_apex(seen, lambda state: state.twist[0])


@measure
def apex_vy(seen: Observed) -> float:
    """Velocity of the base at the last apex, along its own y axis (m/s)."""
    return at_last_apex(seen, lambda state: state.twist[1])


@measure
def apex_joint(seen: Observed) -> float:
    """Joint coordinate at the last apex (rad or m)."""
    return at_last_apex(seen, lambda state: state.joints[0])


@measure
def apex_omega(seen: Observed) -> float:
    """Angular velocity of the base at the last apex (rad/s)."""
    return at_last_apex(seen, lambda state: state.twist[2])


@measure
def apex_alpha(seen: Observed) -> float:
    """Angle of the virtual leg at the last apex (degrees)."""
    return at_last_apex(seen, lambda state: np.degrees(virtual_leg(seen.run.model, state, FOOT).angle))
