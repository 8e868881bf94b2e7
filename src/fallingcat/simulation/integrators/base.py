"""What every integrator is: an order, and a way to step a system."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from ...contact.base import Mode
from ...contact.capabilities import Capability, HybridModes, check_offers
from ..system import System

Step = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""``(packed, [t, dt]) -> [packed after; guards; error]``: see :class:`Layout` for what is packed.

The error is in units of what is allowed, by the method's tolerance or by what a contact holds: above 1 the step is too
long.
"""
MAX_STEP_HALVINGS = 12
"""How often a step of given size is halved at most."""


class Integrator(ABC):
    """A method: data, plus the order that its tests measure."""

    name: str
    order: int
    tolerance: float | None = None
    """the error allowed per step, relative to ``1 + |y|``; None: steps have the size that the caller wants"""

    stable: bool = False
    """whether steps of any size follow springs and dampers, however stiff: the default step does not look at them"""

    damped: bool = False
    """whether steps of any size follow dampers alone, however strong, under forces that do not jump: the default step
    looks at what swings"""

    lag: float = 0.0
    """part of a step by which velocities are behind places: the books are those of then"""

    needs: Capability = HybridModes
    """what it asks of a contact"""

    def at(self, system: System, dt: float) -> Integrator:
        """The method as it suits steps of ``dt`` (s) of a system."""
        return self

    def suited(self, system: System) -> System:
        """The system as the method steps it: with a contact that offers, and remembers, what such steps need."""
        if system.contact is not None:
            check_offers(system.contact, self.needs, self.name)
        return system

    def unsolved(self, system: System) -> str:
        """What to say where no step of a given size, however often it is halved, has an error that is allowed."""
        return "no step, however small, meets the tolerance"

    @abstractmethod
    def stepper(self, system: System, mode: Mode, memory: int) -> Step:
        """The step of a system in one mode of its contacts, with ``memory`` remembered numbers."""


class Marching(Integrator):
    """A method whose steps have one code, whatever touches: many steps, and many robots, in one call."""

    varies = False
    """whether robots may have numbers of their own: see :mod:`fallingcat.simulation.robot_parameters`"""

    def stepper(self, system: System, mode: Mode, memory: int) -> Step:
        """Machine code for all modes."""
        found: Step = self.march(system, memory)
        return found

    @abstractmethod
    def march(self, system: System, memory: int) -> Any:
        """Machine code for all modes: a :class:`.CompiledStepper`, or what does as one for a :class:`.BatchSimulator`."""
