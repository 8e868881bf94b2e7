"""What every integrator is: an order, and a way to step a system."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from ..contact.contact import Mode
from .system import System

Step = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""``(packed, [t, dt]) -> [packed after; guards; error]``: see :class:`Layout` for what is packed.

The error is in units of what is allowed, by the method's tolerance or by what a contact holds: above 1 the step is too
long.
"""
HALVINGS = 12
"""How often a step of given size is halved at most."""


class Integrator(ABC):
    """A method: data, plus the order that its tests measure."""

    name: str
    order: int
    tolerance: float | None = None
    """the error allowed per step, relative to ``1 + |y|``; None: steps have the size that the caller wants"""

    stable: bool = False
    """whether steps of any size follow springs and dampers, however stiff: the default step does not look at them"""

    def at(self, system: System, dt: float) -> Integrator:
        """The method as it suits steps of ``dt`` (s) of a system."""
        return self

    @abstractmethod
    def stepper(self, system: System, mode: Mode, memory: int) -> Step:
        """The step of a system in one mode of its contacts, with ``memory`` remembered numbers."""
