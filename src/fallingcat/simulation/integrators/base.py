"""Base classes for integrators: an order, and a way to step a problem."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ...contact.base import Mode
from ...contact.capabilities import Capability, HybridModes, check_offers
from ...errors import ModelError
from ..problem.problem import Problem

Step = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""``(packed, [t, dt]) -> [packed after; guards; error]``: see :class:`Layout` for what is packed.

The error is in units of what is allowed, by the method's tolerance or by what a contact holds: above 1 the step is too
long.
"""
MAX_STEP_HALVINGS = 12
"""Largest number of halvings of a step of given size."""


class Integrator(ABC):
    """Base class for integrators: data, plus the order that its tests measure.

    Example:
        >>> import fallingcat as fc
        >>> method = fc.simulation.RKMK4()
        >>> isinstance(method, fc.simulation.Integrator), method.name, method.order
        (True, 'rkmk4', 4)
    """

    name: str
    order: int
    tolerance: float | None = None
    """the error allowed per step, relative to ``1 + |y|``; None: steps have the size that the caller wants"""

    implicit: bool = False
    """True if steps need not resolve stiff laws: they get them as they are, :meth:`.Law.for_implicit_steps`"""
    linearizes: bool = False
    """True if steps take forces as linear in the velocity at their end"""
    stable: bool = False
    """True if steps of any size follow springs and dampers, however stiff: the default step does not look at them"""

    damped: bool = False
    """True if steps of any size follow dampers alone, however strong, under forces that do not jump: the default step
    looks at what swings"""

    lag: float = 0.0
    """part of a step by which velocities are behind places: energies balance at that time"""

    needs: Capability = HybridModes
    """capability that it needs of a contact"""

    def at(self, problem: Problem, dt: float) -> Integrator:
        """Integrator for steps of a given size.

        Args:
            problem: Problem.
            dt: Step (s).

        Returns:
            The integrator itself by default.
        """
        return self

    def suited(self, problem: Problem) -> Problem:
        """Problem as the integrator steps it, with a contact that offers, and remembers, what such steps need.

        Args:
            problem: Problem.

        Returns:
            The problem, with stiff laws as they are if this method need not resolve them; an error names a contact
            without the capability of :attr:`needs`.
        """
        if problem.contact is not None:
            check_offers(problem.contact, self.needs, self.name)
            refused = self.needs is HybridModes and problem.contact.unlocated_reason(problem.model)
            if refused:
                raise ModelError(refused)
        if not self.implicit:
            return problem
        laws = [law.for_implicit_steps() for law in problem.laws]
        if self.linearizes:
            laws = [law.for_linearized_steps(problem.model) for law in laws]
        same = all(law is other for law, other in zip(laws, problem.laws, strict=True))
        return problem if same else replace(problem, laws=tuple(laws))

    def resolved(self, problem: Problem, dt: float | None) -> Problem:
        """Problem with the joint stops and dry friction of the model for the steps that the integrator takes.

        Args:
            problem: Problem, with those for steps of ``dt``.
            dt: Step (s) of the caller, for integrators with step size control but the longest one; None: default steps.

        Returns:
            The problem.
        """
        return problem if self.tolerance is None else problem.resolved()

    def unsolved(self, problem: Problem) -> str:
        """Message where no step of a given size, however often it is halved, has an error that is allowed.

        Args:
            problem: Problem.

        Returns:
            Text.
        """
        return "no step, however small, meets the tolerance"

    @abstractmethod
    def stepper(self, problem: Problem, mode: Mode, memory: int) -> Step:
        """Step of a problem in one mode of its contacts.

        Args:
            problem: Problem.
            mode: Mode of the contact.
            memory: Size of the memory of contact and laws.

        Returns:
            Function ``(packed, [t, dt]) -> [packed after; guards; error]``, see :data:`Step`.
        """


class FixedStepIntegrator(Integrator):
    """Base class for integrators with one code for all modes: many steps, and many robots, in one call."""

    varies = False
    """True if robots may have numbers of their own: see :mod:`fallingcat.simulation.problem.robot_parameters`"""

    def stepper(self, problem: Problem, mode: Mode, memory: int) -> Step:
        """Machine code for all modes."""
        found: Step = self.compiled_stepper(problem, memory)
        return found

    @abstractmethod
    def compiled_stepper(self, problem: Problem, memory: int) -> Any:
        """Compiled steps for all modes.

        Args:
            problem: Problem.
            memory: Size of the memory of contact and laws.

        Returns:
            A :class:`.CompiledStepper`, or an object with the same methods for a :class:`.BatchSimulator`.
        """
