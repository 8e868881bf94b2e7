"""Time stepping of Moreau: hard contacts in one code for all modes, in which nothing is located.

A step asks for velocities, and not for forces: with impulses ``P`` of all points, stops, loops and dry friction,
``M (v+ - v) = dt (forces - C v - g) + J' P``, and a point at the height ``h`` obeys ``u_n+ >= -h / dt``, ``P_n >= 0``,
one of both with equality, and Coulomb's law along the ground.  Landing, sliding, sticking and leaving are cases of that
law, so there are no modes, and an impact is a step like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from ....compiler import compile
from ....contact.base import Mode
from ....contact.capabilities import AdmissibleImpulses
from ....contact.rigid.solvers.proximal_newton import DIGITS
from ....errors import ModelError
from ....model import State
from ...problem.law_memory import initial_memories
from ...problem.problem import Problem
from ..base import FixedStepIntegrator
from ..implicit.integrator import CompiledStepper
from .derivatives import step_jacobian
from .step import COUNTED, further_rows, stepped


@dataclass(frozen=True)
class Moreau(FixedStepIntegrator):
    """Time stepping of order 1 for hard contacts, for long runs and for many at once: events are not located.

    Robots come to rest exactly, do not creep, and land on the ground and not in it; an impact is right to ``dt`` in
    time, and heights of bounces err by about ``dt`` times the speed.  Dry friction in joints holds them, loops stay
    closed.  The largest error of velocities against the contact law is kept with the run, and reported by its status.
    Steps in which joints turn far are taken again in quarter steps: see
    :mod:`fallingcat.simulation.integrators.refinement`.

    Example:
        >>> import fallingcat as fc
        >>> method = fc.simulation.Moreau()
        >>> method.name, method.order
        ('moreau', 1)
    """

    name = "moreau"
    order = 1
    implicit = True
    linearizes = True
    stable = True
    varies = True
    lag = 0.5
    needs = AdmissibleImpulses

    def suited(self, problem: Problem) -> Problem:
        """Problem with contacts that remember the forces of the last step."""
        problem = super().suited(problem)
        contact: Any = problem.contact
        if contact is None:
            raise ModelError(f"the integrator {self.name!r} needs a contact, such as HardContacts")
        contact = contact.time_stepping(further_rows(problem))
        return replace(problem, contact=contact, carried=len(COUNTED))

    def compiled_stepper(self, problem: Problem, memory: int) -> MoreauStepper:
        """Machine code for all modes."""
        return MoreauStepper(self.suited(problem), memory)


class MoreauStepper(CompiledStepper):
    """Steps as machine code: ``x = [count; packed]``."""

    code = staticmethod(stepped)
    jacobian = staticmethod(step_jacobian)
    solved: Mapping[str, Any] = MappingProxyType({})
    clock = 2
    middle = False
    counted = COUNTED

    @property
    def contact(self) -> Any:
        """Contact of :meth:`.AdmissibleImpulses.time_stepping`."""
        return self.problem.contact

    def on(self, target: str, dtype: str) -> list[Any]:
        """The same for another machine, to what its numbers resolve."""
        options = self._options | {"digits": DIGITS[dtype]}
        return [compile(self._model, self.code, inputs=self._inputs, target=target, dtype=dtype, **options)]

    def initial_memory(self, many: State) -> np.ndarray:
        """``N x memory``: nothing yet, of robots none of which starts below the ground."""
        self.contact.check_starts(self._model, many)
        own = initial_memories(self.problem, many)
        return np.hstack([np.zeros((len(own), self._layout.memory - own.shape[1])), own])

    def modes(self, packed: np.ndarray) -> tuple[Mode, ...]:
        """Points and stops that pushed in the step that led to each of ``N`` packed states."""
        return self.contact.modes(self._layout.series(packed).memory)
