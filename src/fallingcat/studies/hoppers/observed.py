"""Observed quantities of a hopper's run: its leg, momenta, energies and hops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...arrays import concatenate
from ...caching import cached_property
from ...dynamics import center_of_mass, kinetic_energy, momentum, potential_energy
from ...geometry.contact_points import point_jacobian, position
from ...model import Model, State
from ...simulation import Trajectory
from .hopper import FOOT
from .hopping_laws import RadialSpring, virtual_leg
from .parameters import HopperParameters

COLUMNS = (
    "com_x", "com_y", "p_x", "p_y", "spin", "kinetic", "gravity", "r", "alpha", "r_dot", "alpha_dot",
    "foot_x", "foot_y", "foot_vx", "foot_vy",
)  # fmt: skip
"""Columns of :func:`observed`: m, N s, N m s, J, rad and their rates."""


def observed(model: Model, state: State) -> Any:
    """The numbers of :data:`COLUMNS`, at one state."""
    leg, v = virtual_leg(model, state, FOOT), state.velocity
    h = momentum(model, state, "centroidal")
    parts = [
        center_of_mass(model, state)[:2], h[:2], h[5:6],
        *(np.reshape(x, 1) for x in (kinetic_energy(model, state), potential_energy(model, state))),
        *(np.reshape(x, 1) for x in (leg.length, leg.angle, leg.radial @ v, leg.polar @ v)),
        position(model, state, FOOT)[:2], (point_jacobian(model, state, FOOT) @ v)[:2],
    ]  # fmt: skip
    return concatenate(parts)


class Flight(NamedTuple):
    """Flight phase, from a lift-off to the next touchdown; the first may begin with the run."""

    start: int
    """sample"""
    end: int
    """sample"""


@dataclass(frozen=True, eq=False)
class Observed:
    """A run and what is seen of it, at every sample."""

    run: Trajectory
    parameters: HopperParameters
    numbers: Mapping[str, float] = field(default_factory=dict)
    """numbers of all runs of the study together, by the names that its rows use"""
    curves: Mapping[str, np.ndarray] = field(default_factory=dict)
    """curves of a scan: ``q1`` (rad), ``spin`` (N m s); of a basin: its axes, ``verdicts`` and ``periods`` over them;
    of a search: the parameters of gaits that were found, and their ``speed`` (m/s)
    """

    @cached_property
    def columns(self) -> dict[str, np.ndarray]:
        """Observed quantities by the names of :data:`COLUMNS`; angles are continuous in time."""
        values = self.run.measure(observed)
        out = {name: values[:, k] for k, name in enumerate(COLUMNS)}
        return out | {"alpha": np.unwrap(out["alpha"])}

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    @property
    def times(self) -> np.ndarray:
        """Sample times (s)."""
        return self.run.times

    @property
    def spring(self) -> RadialSpring:
        """The radial spring of the controller."""
        return next(law for law in self.run.problem.laws if isinstance(law, RadialSpring))

    @cached_property
    def spring_energy(self) -> np.ndarray:
        """Energy ``K_r (r - r_des)^2 / 2`` of the radial spring (J)."""
        return 0.5 * self.spring.stiffness * (self["r"] - self.spring.rest) ** 2

    @cached_property
    def energy(self) -> np.ndarray:
        """Kinetic, gravitational and radial spring energy (J), which the energy controller regulates."""
        return self["kinetic"] + self["gravity"] + self.spring_energy

    @cached_property
    def law_ports(self) -> list[int]:
        """Places of the controller's laws in the ledger."""
        own = {law.name for law in self.run.problem.laws}
        return [k for k, port in enumerate(self.run.ledger.ports) if port in own]

    @cached_property
    def floor_ports(self) -> list[int]:
        """Places of the floor in the ledger."""
        return [k for k in range(len(self.run.ledger.ports)) if k not in self.law_ports]

    # hops -----------------------------------------------------------------------------------------------------

    @cached_property
    def flights(self) -> tuple[Flight, ...]:
        """Flights that end with a touchdown and last at least ``shortest_flight``.

        A foot that bounces off the floor comes back within half a swing on its leg spring, ``pi sqrt(m / K_r)``, 15 ms:
        shorter flights belong to the stance around them.
        """
        contact, events = self.run.problem.contact, self.run.events
        flights, lift = [], 0 if contact is None or not contact.touching(self.run.modes[0]) else None
        samples = np.searchsorted(self.times, [event.time for event in events])
        for event, i in zip(events, samples.tolist(), strict=True):
            if event.name == f"lift-off {FOOT}":
                lift = i
            elif event.name == f"touchdown {FOOT}" and lift is not None:
                if self.times[i] - self.times[lift] >= self.parameters.shortest_flight:
                    flights.append(Flight(lift, i))
                lift = None
        return tuple(flights)

    @cached_property
    def hops(self) -> tuple[Flight, ...]:
        """Flights that began with a lift-off: not the fall at the beginning."""
        return tuple(flight for flight in self.flights if flight.start > 0)

    @property
    def lift_offs(self) -> np.ndarray:
        """Samples of the lift-offs."""
        return np.array([hop.start for hop in self.hops], dtype=int)

    def in_flight(self, flight: Flight) -> slice:
        """The samples of a flight."""
        return slice(flight.start, flight.end + 1)

    def apex_time(self, flight: Flight) -> float:
        """Time of the highest center of mass (s): where its vertical momentum is zero."""
        part = self.in_flight(flight)
        t, p_y = self.times[part], self["p_y"][part]
        k = int(np.argmax(p_y <= 0.0))
        if k == 0:  # falls from the beginning on
            return float(t[0])
        share = p_y[k - 1] / (p_y[k - 1] - p_y[k])  # falls freely: p_y is linear in time
        return float(t[k - 1] + share * (t[k] - t[k - 1]))

    def apex(self, flight: Flight) -> State:
        """The state at which the center of mass is highest."""
        return self.run.at(self.apex_time(flight))
