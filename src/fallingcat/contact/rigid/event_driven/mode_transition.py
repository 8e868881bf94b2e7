"""Mode transitions of hard contacts: an impact, or another share of the load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ....errors import ModelError, NumericsError
from ....model import Model, State
from ...base import Jump, Mode
from .complementarity import OPEN, SLIDE, STICK
from .constraint_forces import Load, constraint_forces
from .contact_kinematics import ContactKinematics
from .contact_state import ContactState
from .guards import ROUNDING_SPEED, gap, guarded
from .impacts import pushing, touching
from .mode_selection import REVERSAL_SPEED, ModeSelection, RestState, rest_state

if TYPE_CHECKING:
    from ..hard_contacts import HardContacts

IMPACT_GAP = 2e-8
"""Points nearer to the plane than this (m) take part in an impact."""
VERBS = {OPEN: "lift-off", STICK: "stick", SLIDE: "slip"}
"""Name of the event that begins each status."""


@dataclass
class ModeTransition:
    """Transition from a mode to the next, with the memory of the old mode and the applied forces (nv)."""

    contact: HardContacts
    model: Model
    mode: Mode
    at: ContactKinematics
    memory: np.ndarray
    applied: np.ndarray

    def ended(self, guard: int) -> Jump:
        """Event of guard number ``guard`` of the mode, which has become negative."""
        guards = guarded(self.contact, self.model, self.mode)
        if guard == len(guards):
            return self._lift_dependent_point()
        if guard > len(guards):
            raise ModelError(f"there is no guard {guard}: this mode has {len(guards) + 1}")
        i, what = guards[guard]
        if what == "gap":
            return self.landed(i)
        if what == "push":
            return self.settled("lift-off", i)
        if what == "stop":
            return (
                self._sliding_reversal(i)
                if np.linalg.norm(self.at.speed(i)[1:]) > REVERSAL_SPEED
                else self.settled("stick", i)
            )
        return self._slip_onset(i)

    def settled(self, verb: str, i: int) -> Jump:
        """No impact: points at rest share the load anew, and what is slower than rounding stops."""
        resting = [k for k, s in enumerate(self.mode) if s != OPEN or self._is_unloaded_contact(k)]
        slow, loss = self._rest_state(self.at, resting) if verb == "stick" else RestState(self.at.state, 0.0)
        jump = self._next_mode(self.mode, slow, resting, resting)
        changed = [k for k in resting if jump.mode[k] != self.mode[k] and VERBS.get(jump.mode[k]) == verb] or [i]
        return self._with_event_name(jump, verb, changed, loss)

    def landed(self, i: int) -> Jump:
        """An impact of all points that touch: each sticks, slides or leaves."""
        c = self.contact
        hit = [k for k, s in enumerate(self.mode) if s != OPEN or k == i or self._is_touching(k)]
        before = {k: self.at.speed(k)[0] for k in hit}
        bounces = np.array([before[k] < -c.rest_speed for k in hit])
        elastic = np.where(bounces, c.restitutions[hit], 0.0)
        after, lost = self._struck(hit, elastic)
        limits = dict(zip(hit, np.where(elastic > 0.0, ROUNDING_SPEED, c.rest_speed), strict=True))
        resting, slow, loss = self._resting_velocity(c.see(self.model, after), limits)
        ended = tuple(OPEN if k in hit and k not in resting else s for k, s in enumerate(self.mode))
        jump = self._next_mode(ended, slow, resting, hit)
        landed = [k for k in hit if self.mode[k] == OPEN and before[k] < 0.0] or [i]
        verb = "touchdown" if set(landed) & set(resting) else "bounce"
        return self._with_event_name(jump, verb, landed, lost + loss)

    def _sliding_reversal(self, i: int) -> Jump:
        """A sliding point that does not move along its way any more, and has not stopped: it has another way."""
        memory = self.memory.copy()
        own, new = ContactState.of_point(memory, i), self.contact.remembered(SLIDE, self.at, i)
        own.place[:], own.way[:] = new.place, new.way
        return Jump(f"turn {self.contact.names[i]}", self.mode, self.at.state, memory)

    def _slip_onset(self, i: int) -> Jump:
        """A sticking point that friction cannot hold: its force is at the bound."""
        load = self._loads()[i]
        # located events end a hair before the bound or behind it
        if np.linalg.norm(load.drag) < (self.contact.coefficient(i) or 0.0) * load.push * (1.0 - 1e-6):
            raise NumericsError(f"{self.contact.names[i]!r} slips under other forces than those given to its jump")
        return self.settled("slip", i)

    def _lift_dependent_point(self) -> Jump:
        """Points that have come to depend on each other, and demand different things: one of them lifts off."""
        loads = self._loads()
        least = min(loads, key=lambda i: float(loads[i].push))
        try:
            return self.settled("lift-off", least)
        except NumericsError:
            held = ", ".join(name for name, s in zip(self.contact.names, self.mode, strict=True) if s != OPEN)
            raise NumericsError(
                f"the forces that hold {held} cannot be resolved: masses or levers differ too much"
            ) from None

    def _loads(self) -> dict[int, Load]:
        """The closed points of the old mode."""
        return constraint_forces(self.contact, self.model, self.mode, self.at, self.memory, self.applied)[0]

    def _struck(self, hit: list[int], elastic: np.ndarray) -> tuple[State, float]:
        """The state after an impact, and the kinetic energy (J) that it took."""
        c, at = self.contact, self.at
        axes = c.axes(self.model)
        parts, directions = ([rows[k][axes[k]] for k in hit] for rows in (at.J, at.axes))
        those = touching(self.model, [c.names[k] for k in hit], parts, directions)
        found = pushing(self.model, at.state, at.respond, those, elastic, [c.coefficient(k) for k in hit])
        return found.state, float(found.loss)

    def _with_event_name(self, jump: Jump, verb: str, points: list[int], loss: float) -> Jump:
        name = f"{verb} {', '.join(self.contact.names[k] for k in points)}{jump.name}"
        return jump._replace(name=name, loss=jump.loss + loss)

    def _next_mode(self, ended: Mode, state: State, resting: list[int], touched: list[int]) -> Jump:
        """Event that follows the mode ``ended``; points that no forces let slide on (Painleve) jam: they stop."""
        c, name, loss = self.contact, "", 0.0
        at = c.see(self.model, state)
        found = self._mode_selection(at, resting, touched).settle(ended)
        if found is None:
            names = ", ".join(c.names[k] for k in resting)
            stopped, loss = self._rest_state(at, resting, jammed=True)
            at, name = c.see(self.model, stopped), f", jam {names}"
            found = self._mode_selection(at, resting, touched).settle(ended)
        if found is None:
            raise NumericsError(f"no forces were found with which {names} rest on the ground")
        return Jump(name, found[0], at.state, found[1], loss)

    def _mode_selection(self, at: ContactKinematics, resting: list[int], touched: list[int]) -> ModeSelection:
        return ModeSelection(self.contact, self.model, at, self.applied, resting, self.mode, self.memory, touched)

    def _resting_velocity(self, at: ContactKinematics, limits: dict[int, float]) -> tuple[list[int], State, float]:
        """Points that rest, the state in which they do, and the kinetic energy that it took.

        Points that leave slower than ``limits`` (m/s) do not leave: so impacts that follow each other ever faster come
        to an end.
        """
        resting: list[int] = []
        slow, loss = at.state, 0.0
        while True:
            speeds = {k: at.J[k] @ slow.velocity for k in limits if k not in resting}
            more = [k for k, v in speeds.items() if v[0] <= limits[k] and self._can_rest(k, v, limits[k])]
            if not more:
                return sorted(resting), slow, loss
            resting += more
            slow, loss = self._rest_state(at, resting)

    def _can_rest(self, k: int, v: np.ndarray, limit: float) -> bool:
        """Without bounds of friction a point that slides can only leave."""
        return self.contact.coefficient(k) is not None or bool(np.linalg.norm(v[1:]) <= limit)

    def _rest_state(self, at: ContactKinematics, resting: list[int], jammed: bool = False) -> RestState:
        """At rest come normals, and tangents of points that do not slide, or of all that are jammed."""
        rows = [np.zeros((0, self.model.nv))]
        for k in resting:
            friction = self.contact.coefficient(k)
            J = at.J[k][self.contact.axes(self.model)[k]]
            still = jammed or friction is None or np.linalg.norm(J[1:] @ at.state.velocity) <= REVERSAL_SPEED
            rows.append(J if still and friction != 0.0 else J[:1])
        return rest_state(self.model, at, np.concatenate(rows))

    def _is_touching(self, k: int) -> bool:
        return bool(gap(self.at, self.memory, k) <= IMPACT_GAP)

    def _is_unloaded_contact(self, k: int) -> bool:
        """True if an open point touches and is at rest."""
        v = self.at.speed(k)
        return bool(self._is_touching(k) and abs(v[0]) <= REVERSAL_SPEED and self._can_rest(k, v, REVERSAL_SPEED))
