"""A robot and everything that pulls on it: what an integrator integrates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..arrays import concatenate, is_numeric
from ..contact import Contact
from ..contact.contact import Mode
from ..control import Law
from ..dynamics import forward_dynamics
from ..model import Model, State
from .arguments import controller_forces, read_only
from .compiled import acceleration, touch

Controller = Callable[[float, State], Any]
"""Joint forces (n), or forces on base and joints (nv), at a time (s) and state; plain Python, called as it is."""

IMPACT = "impact"
"""The port of the energy that impacts take."""


class Slope(NamedTuple):
    """How everything changes."""

    acceleration: Any
    """``nv``"""
    memory: Any
    """rate of what the contact remembers"""
    powers: Any
    """W, two for each port: through the base, through the joints"""


@dataclass(frozen=True, eq=False)
class System:
    """A model, the laws and the controller that move it, and what it touches."""

    model: Model
    laws: tuple[Law, ...] = ()
    contact: Contact | None = None
    controller: Controller | None = None
    external: bool = False
    """Whether the controller gives forces on the base too"""

    @property
    def ports(self) -> tuple[str, ...]:
        """The ways in which energy passes, in the order of :attr:`Slope.powers`."""
        own = [law.name for law in self.laws] + (["controller"] if self.controller else [])
        return (*own, *self.contact_ports)

    @property
    def contact_ports(self) -> tuple[str, ...]:
        """Those of the contact, which come last; impacts are the very last, and all theirs counts as through joints."""
        return (*self.contact.ports, IMPACT) if self.contact else ()

    @property
    def compilable(self) -> bool:
        """Whether all forces are written for every kind of number."""
        return self.controller is None

    def applied(self, mode: Mode, t: Any, state: State) -> dict[str, Any]:
        """Generalised forces (nv) of laws and controller, by port."""
        touching = self.contact.touching(mode) if self.contact else frozenset()
        forces = {law.name: law.forces(self.model, t, state, touching) for law in self.laws}
        if self.controller is not None:
            given = self.asked(t, state)
            forces["controller"] = given if self.external else np.concatenate([np.zeros(self.model.m), given])
        return forces

    def asked(self, t: float, state: State) -> np.ndarray:
        """What the controller gives, which sees the state and cannot change it: n or nv numbers, checked."""
        assert self.controller is not None
        size = self.model.nv if self.external else self.model.n
        return controller_forces(self.model, self.controller(t, read_only(state)), size, t)

    def applied_at(self, mode: Mode, t: float, state: State) -> np.ndarray:
        """Their sum (nv) at an event, for contacts that ask; else zero."""
        asked = self.contact is not None and self.contact.asks_forces
        return np.asarray(self.total(self.applied(mode, t, state) if asked else {}), dtype=float)

    def forces(self, mode: Mode, t: Any, state: State, memory: Any) -> dict[str, Any]:
        """All generalised forces (nv), by port."""
        applied = self.applied(mode, t, state)
        return applied | self.touch(mode, state, memory, self.total(applied))[0]

    def slope(self, mode: Mode, t: Any, state: State, memory: Any) -> Slope:
        """Acceleration, rate of the memory, and power through every port."""
        applied = self.applied(mode, t, state)
        touched, rate = self.touch(mode, state, memory, self.total(applied))
        forces = applied | touched
        total = self.total(forces)
        numeric = is_numeric(total) and is_numeric(state.pose)
        a = acceleration(self.model)(state, total) if numeric else forward_dynamics(self.model, state, total)
        m, zero = self.model.m, np.zeros(self.model.nv)
        powers: list[Any] = [
            np.reshape(power, 1)
            for F in (forces.get(port, zero) for port in self.ports)
            for power in (F[:m] @ state.twist, F[m:] @ state.rates)
        ]
        return Slope(a, rate, concatenate([np.zeros(0), *powers]))

    def touch(self, mode: Mode, state: State, memory: Any, applied: Any) -> tuple[dict[str, Any], Any]:
        """Forces of the contact by port, and the rate of what it remembers, beside the ``applied`` forces (nv)."""
        if self.contact is None:
            return {}, np.zeros(0)
        if self._numeric(state, applied):
            there = touch(self.model, self.contact, mode, len(memory))(state, memory, applied)
            return there.forces, there.memory_rate
        forces = self.contact.forces(self.model, mode, state, memory, applied)
        return dict(forces), self.contact.memory_rate(self.model, mode, state, memory, applied)

    def guards(self, mode: Mode, t: Any, state: State, memory: Any) -> Any:
        """What must stay positive in this mode."""
        if self.contact is None:
            return np.zeros(0)
        applied = self.total(self.applied(mode, t, state))
        if self._numeric(state, applied):
            return touch(self.model, self.contact, mode, len(memory))(state, memory, applied).guards
        return self.contact.guards(self.model, mode, state, memory, applied)

    def total(self, forces: dict[str, Any]) -> Any:
        """The sum (nv) over all ports."""
        return sum(forces.values(), start=np.zeros(self.model.nv))

    def _numeric(self, state: State, applied: Any) -> bool:
        """Whether the contact's own kernel can be asked: plain numbers, beside a controller in plain Python."""
        return self.controller is not None and is_numeric(applied) and is_numeric(state.pose)
