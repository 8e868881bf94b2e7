"""Measures of energy and disturbance of hoppers: works of controller and floor, losses, energies at an apex."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import argument_sizes, concatenate
from ...compiler.compilation import compile_step
from ...control import response
from ...dynamics import kinetic_energy, link_pose, potential_energy
from ...model import Model, State
from .hopping_laws import EnergyController, PolarLaw
from .measures import LAST_HOPS, NAN, at_last_apex, mean, measure
from .observed import Flight, Observed


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


@argument_sizes(forces="nv")
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
    ends = [hop.end for hop in seen.hops[-LAST_HOPS:] if seen.times[hop.end] + 1e-3 <= seen.times[-1]]
    after = [int(np.searchsorted(seen.times, seen.times[i] + 1e-3)) for i in ends]
    return mean([1e3 * float(floor[i] - floor[j]) for i, j in zip(ends, after, strict=True)])


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

    return at_last_apex(seen, potential) - potential(seen.run.at(seen.times[seen.lift_offs[-1]])) if seen.hops else NAN


@measure
def leg_mass(seen: Observed) -> float:
    """Mass of the last link, relative to the whole (%)."""
    model = seen.run.model
    return 100.0 * model.links[-1].body.mass / model.mass


@measure
def loss_per_hop(seen: Observed) -> float:
    """Energy that the floor dissipates per hop, relative to the desired energy of the controller (%)."""
    return -100.0 * floor_work(seen) / (len(seen.flights) * _desired_energy(seen)) if seen.flights else NAN


@measure
def energy_error(seen: Observed) -> float:
    """Largest distance of the energy at an apex, the spring's included, from the wanted energy (%)."""
    spring = [float(seen.spring.energy(seen.run.model, seen.apex(hop))) for hop in seen.hops]
    energies = np.array([_apex_energy(seen, hop) for hop in seen.hops]) + spring
    return 100.0 * float(np.abs(energies / _desired_energy(seen) - 1.0).max()) if seen.hops else NAN


def _desired_energy(seen: Observed) -> float:
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
