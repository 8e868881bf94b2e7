"""The numbers that studies report, by the names that their files use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...arrays import concatenate, takes
from ...compiler.kernel import compile_step
from ...control import response
from ...dynamics import kinetic_energy, link_pose, potential_energy
from ...model import Model, State
from .hopper import FOOT
from .hopping_laws import EnergyController, PolarLaw, virtual_leg
from .observed import Flight, Observed

LAST: Final = 5
"""Hops at the end of a run over which a gait is averaged."""
LARGE_SWING: Final = 10.0
"""Degrees: turns of the leg in a flight that a reader of Figure 4.9 sees; the first of EXP II is 28."""
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


# what laws do to each other's velocity ------------------------------------------------------------------------------


def disturbances(seen: Observed) -> dict[str, np.ndarray]:
    """Accelerations by which radial and polar laws disturb each other.

    ``N`` each: joint acceleration (rad/s^2 or m/s^2) by the polar law, and acceleration of the locked velocity (largest
    of m/s^2 and rad/s^2) by the radial laws: both zero where laws do not disturb each other.
    """
    run, polar = seen.run, [law.name for law in seen.run.problem.laws if isinstance(law, PolarLaw)]
    radial = [law.name for law in run.problem.laws if law.name not in polar]
    forces = [sum((run.port_forces[k] for k in some), start=np.zeros((len(run), 4))) for some in (polar, radial)]
    kernel = compile_step(run.model, responses, {}, State._fields)
    by_polar, by_radial = (np.asarray(kernel(run.poses[:, :3], run.joints, run.twists, run.rates, F)) for F in forces)
    return {
        "joint, by the polar law": np.abs(by_polar[:, 3]),
        "whole robot, by radial laws": np.abs(by_radial[:, :3]).max(axis=1),
        "joint, by radial laws": np.abs(by_radial[:, 3]),
        "whole robot, by the polar law": np.abs(by_polar[:, :3]).max(axis=1),
    }


@takes(forces="nv")
def responses(model: Model, state: State, forces: Any) -> Any:
    """External and internal accelerations, one after the other."""
    return concatenate(list(response(model, state, forces)))


@measure
def joint_by_polar(seen: Observed) -> float:
    """Largest joint acceleration by the polar law, relative to the largest by radial laws."""
    found = disturbances(seen)
    return float(found["joint, by the polar law"].max() / found["joint, by radial laws"].max())


@measure
def whole_by_radial(seen: Observed) -> float:
    """Largest acceleration of the locked velocity by radial laws, relative to the largest by the polar law."""
    found = disturbances(seen)
    return float(found["whole robot, by radial laws"].max() / found["whole robot, by the polar law"].max())


# books of energy ----------------------------------------------------------------------------------------------------


@measure
def external_work(seen: Observed) -> float:
    """Work of the controller through the base (J)."""
    return float(seen.run.ledger.base[-1, seen.law_ports].sum())


@measure
def joint_work(seen: Observed) -> float:
    """Work of the controller through the joint (J)."""
    return float(seen.run.ledger.joints[-1, seen.law_ports].sum())


@measure
def controller_work(seen: Observed) -> float:
    """Work of the controller through base and joint (J)."""
    return external_work(seen) + joint_work(seen)


@measure
def floor_work(seen: Observed) -> float:
    """Work of the floor on the robot (J); negative: the floor takes."""
    ledger = seen.run.ledger
    return float((ledger.base[-1] + ledger.joints[-1]).sum()) - controller_work(seen)


@measure
def touchdown_loss(seen: Observed) -> float:
    """Energy that the floor dissipates in the first millisecond of a stance (mJ), mean of the last hops."""
    ledger, ports = seen.run.ledger, seen.floor_ports
    floor = (ledger.base[:, ports] + ledger.joints[:, ports]).sum(axis=1)
    ends = [hop.end for hop in seen.hops[-LAST:] if seen.times[hop.end] + 1e-3 <= seen.times[-1]]
    after = [int(np.searchsorted(seen.times, seen.times[i] + 1e-3)) for i in ends]
    return _mean([1e3 * float(floor[i] - floor[j]) for i, j in zip(ends, after, strict=True)])


@measure
def touchdown_losses(seen: Observed) -> float:
    """Touchdown losses of all hops together (J)."""
    return 1e-3 * touchdown_loss(seen) * len(seen.flights)


@measure
def floor_loss_after(seen: Observed) -> float:
    """Energy that the floor dissipates beside the touchdown losses (J)."""
    return -floor_work(seen) - touchdown_losses(seen)


@measure
def touchdown_share(seen: Observed) -> float:
    """Touchdown losses, relative to the work of the controller (%)."""
    return 100.0 * touchdown_losses(seen) / controller_work(seen)


@measure
def floor_share_after(seen: Observed) -> float:
    """Energy that the floor dissipates beside the touchdown losses, relative to the work of the controller (%)."""
    return 100.0 * floor_loss_after(seen) / controller_work(seen)


@measure
def damper_share(seen: Observed) -> float:
    """Energy that the radial damper dissipates, relative to the work of the controller (%)."""
    ledger = seen.run.ledger
    port = ledger.ports.index("radial damper")
    return -100.0 * float(ledger.base[-1, port] + ledger.joints[-1, port]) / controller_work(seen)


@measure
def initial_energy(seen: Observed) -> float:
    """Kinetic, gravitational and spring energy at the start (J)."""
    return float(seen.energy[0])


@measure
def initial_length(seen: Observed) -> float:
    """Distance from the center of mass to the foot at the start (m)."""
    return float(seen["r"][0])


@measure
def initial_lean(seen: Observed) -> float:
    """Angle of the virtual leg at the start (degrees)."""
    return float(np.degrees(seen["alpha"][0]))


@measure
def leg_rise(seen: Observed) -> float:
    """Gravitational energy that the last link gains from the last lift-off to the apex (mJ)."""
    model = seen.run.model
    body, name = model.links[-1].body, model.links[-1].name

    def potential(state: State) -> float:
        pose = link_pose(model, state, name)
        return -1e3 * float(body.mass * model.gravity @ (pose[:3, :3] @ body.center + pose[:3, 3]))

    return _at_apex(seen, potential) - potential(seen.run.at(seen.times[seen.lift_offs[-1]])) if seen.hops else NAN


@measure
def leg_mass(seen: Observed) -> float:
    """Mass of the last link, relative to the whole (%)."""
    model = seen.run.model
    return 100.0 * model.links[-1].body.mass / model.mass


@measure
def loss_per_hop(seen: Observed) -> float:
    """Energy that the floor dissipates per hop, relative to the desired energy of the controller (%)."""
    return -100.0 * floor_work(seen) / (len(seen.flights) * _wanted(seen)) if seen.flights else NAN


@measure
def energy_error(seen: Observed) -> float:
    """Largest distance of the energy at an apex, the spring's included, from the wanted energy (%)."""
    spring = [float(seen.spring.energy(seen.run.model, seen.apex(hop))) for hop in seen.hops]
    energies = np.array([_apex_energy(seen, hop) for hop in seen.hops]) + spring
    return 100.0 * float(np.abs(energies / _wanted(seen) - 1.0).max()) if seen.hops else NAN


def _wanted(seen: Observed) -> float:
    """Desired energy of the energy controller (J)."""
    return next(law.energy for law in seen.run.problem.laws if isinstance(law, EnergyController))


@measure
def energy_left(seen: Observed) -> float:
    """Kinetic, gravitational and spring energy at the end, relative to the start (%)."""
    return 100.0 * float(seen.energy[-1] / seen.energy[0])


@measure
def apex_energy(seen: Observed) -> float:
    """Kinetic and gravitational energy at the last apex (J)."""
    return _apex_energy(seen, seen.hops[-1]) if seen.hops else NAN


def _apex_energy(seen: Observed, flight: Flight) -> float:
    state, model = seen.apex(flight), seen.run.model
    return float(kinetic_energy(model, state) + potential_energy(model, state))


@measure
def spring_energy_trend(seen: Observed) -> float:
    """Growth per hop of the mean spring energy in flight (mJ)."""
    means = [float(np.mean(seen.spring_energy[seen.in_flight(hop)])) for hop in seen.hops]
    return 1e3 * float(np.polyfit(np.arange(len(means)), means, 1)[0]) if len(means) > 2 else NAN


# hops ---------------------------------------------------------------------------------------------------------------


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
    return _mean(np.diff(seen.times[seen.lift_offs])[-LAST:])


@measure
def step_length(seen: Observed) -> float:
    """Way of the center of mass from lift-off to lift-off (m), mean of the last hops."""
    return _mean(np.diff(seen["com_x"][seen.lift_offs])[-LAST:])


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
    return _mean(1e3 * (seen["r"][seen.lift_offs] - seen.spring.rest)[-LAST:])


@measure
def liftoff_strain(seen: Observed) -> float:
    """Extension of the radial spring at lift-off, relative to the rest length (%)."""
    return 0.1 * liftoff_extension(seen) / seen.spring.rest


@measure
def liftoff_energy(seen: Observed) -> float:
    """Energy of the radial spring at lift-off (mJ), mean of the last hops."""
    return _mean(1e3 * seen.spring_energy[seen.lift_offs][-LAST:])


@measure
def stationarity(seen: Observed) -> float:
    """Largest change of period, step or lift-off extension between successive hops, in the last hops (%)."""
    n = seen.lift_offs[-LAST - 2 :]
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
    off = np.flatnonzero(np.abs(periods / _mean(periods[-LAST:]) - 1.0) > 0.01) if len(periods) > LAST else None
    if off is None or (len(off) and off[-1] >= len(periods) - LAST):
        return NAN
    return float(starts[off[-1] + 1]) if len(off) else float(starts[0])


# turning ------------------------------------------------------------------------------------------------------------


def _turns(seen: Observed) -> list[float]:
    """Turn of the virtual leg in each flight after a lift-off (degrees)."""
    return [float(np.degrees(seen["alpha"][hop.end] - seen["alpha"][hop.start])) for hop in seen.hops]


@measure
def first_turn(seen: Observed) -> float:
    """Turn of the virtual leg in the first flight after a lift-off (degrees)."""
    return _turns(seen)[0] if seen.hops else NAN


@measure
def flight_turn(seen: Observed) -> float:
    """Size of the turn of the virtual leg in a flight (degrees), mean of the last hops."""
    return _mean(np.abs(_turns(seen)[-LAST:]))


@measure
def largest_turn(seen: Observed) -> float:
    """Largest size of the turn of the virtual leg in a flight after a lift-off (degrees)."""
    return float(np.abs(_turns(seen)).max()) if seen.hops else NAN


@measure
def largest_later_turn(seen: Observed) -> float:
    """Largest size of the turn of the virtual leg in a flight after the first hop (degrees)."""
    later = np.abs(_turns(seen)[1:])
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
    spins, turns = _spins(seen), np.abs(_turns(seen))
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


# the state at the last apex, as in Table 4.13 ------------------------------------------------------------------------


def _at_apex(seen: Observed, value: Callable[[State], Any]) -> float:
    return float(value(seen.apex(seen.hops[-1]))) if seen.hops else NAN


@measure
def apex_height(seen: Observed) -> float:
    """Height of the base at the last apex of the center of mass (m)."""
    return _at_apex(seen, lambda state: state.pose[1, 3])


@measure
def apex_theta(seen: Observed) -> float:
    """Angle of the base at the last apex (rad)."""
    return _at_apex(seen, lambda state: np.arctan2(state.pose[1, 0], state.pose[0, 0]))


@measure
def apex_vx(seen: Observed) -> float:
    """Velocity of the base at the last apex, along its own x axis (m/s)."""
    return _at_apex(seen, lambda state: state.twist[0])


@measure
def apex_vy(seen: Observed) -> float:
    """Velocity of the base at the last apex, along its own y axis (m/s)."""
    return _at_apex(seen, lambda state: state.twist[1])


@measure
def apex_joint(seen: Observed) -> float:
    """Joint coordinate at the last apex (rad or m)."""
    return _at_apex(seen, lambda state: state.joints[0])


@measure
def apex_omega(seen: Observed) -> float:
    """Angular velocity of the base at the last apex (rad/s)."""
    return _at_apex(seen, lambda state: state.twist[2])


@measure
def apex_alpha(seen: Observed) -> float:
    """Angle of the virtual leg at the last apex (degrees)."""
    return _at_apex(seen, lambda state: np.degrees(virtual_leg(seen.run.model, state, FOOT).angle))


def _mean(values: list[float] | np.ndarray) -> float:
    return float(np.mean(values)) if len(values) else NAN
