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
from .compiled import acceleration

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
        return (*own, *(self.contact.ports if self.contact else ()), *([IMPACT] if self.contact else []))

    @property
    def compilable(self) -> bool:
        """Whether all forces are written for every kind of number."""
        return self.controller is None

    def applied(self, mode: Mode, t: Any, state: State) -> dict[str, Any]:
        """Generalised forces (nv) of laws and controller, by port."""
        touching = self.contact.touching(mode) if self.contact else frozenset()
        forces = {law.name: law.forces(self.model, t, state, touching) for law in self.laws}
        if self.controller is not None:
            given = np.asarray(self.controller(t, state), dtype=float)
            forces["controller"] = given if self.external else np.concatenate([np.zeros(self.model.m), given])
        return forces

    def forces(self, mode: Mode, t: Any, state: State, memory: Any) -> dict[str, Any]:
        """All generalised forces (nv), by port."""
        applied = self.applied(mode, t, state)
        if self.contact is None:
            return applied
        return applied | dict(self.contact.forces(self.model, mode, state, memory, self.total(applied)))

    def slope(self, mode: Mode, t: Any, state: State, memory: Any) -> Slope:
        """Acceleration, rate of the memory, and power through every port."""
        forces = self.forces(mode, t, state, memory)
        total = self.total(forces)
        a = acceleration(self.model)(state, total) if is_numeric(total) and is_numeric(state.pose) else None
        if a is None:
            a = forward_dynamics(self.model, state, total)
        m = self.model.m
        powers: list[Any] = [
            np.reshape(power, 1)
            for port in self.ports
            for F in [forces.get(port, np.zeros(self.model.nv))]
            for power in (F[:m] @ state.twist, F[m:] @ state.rates)
        ]
        return Slope(a, self._memory_rate(mode, t, state, memory), concatenate([np.zeros(0), *powers]))

    def guards(self, mode: Mode, t: Any, state: State, memory: Any) -> Any:
        """What must stay positive in this mode."""
        if self.contact is None:
            return np.zeros(0)
        return self.contact.guards(self.model, mode, state, memory, self.total(self.applied(mode, t, state)))

    def total(self, forces: dict[str, Any]) -> Any:
        """The sum (nv) over all ports."""
        return sum(forces.values(), start=np.zeros(self.model.nv))

    def _memory_rate(self, mode: Mode, t: Any, state: State, memory: Any) -> Any:
        if self.contact is None:
            return np.zeros(0)
        applied = self.total(self.applied(mode, t, state))
        return self.contact.memory_rate(self.model, mode, state, memory, applied)
