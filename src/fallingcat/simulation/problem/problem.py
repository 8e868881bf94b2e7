"""Problem of a simulation: a robot with its force laws, controller and contact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ...arrays import concatenate, is_numeric
from ...arrays.types import Float_n, Float_nv, Scalar, Vector, Vector_nv
from ...caching import cached_property
from ...contact import Contact
from ...contact.base import Mode, Touch
from ...control import Law
from ...control.laws.passive_joints import STEP
from ...dynamics import forward_dynamics
from ...errors import ModelError
from ...model import Model, State
from ...records import concise
from .applied_forces import applied_forces, compiled_forces
from .arguments import answered, controller_forces
from .compiled_dynamics import acceleration, touch
from .feedback import Feedback
from .loop_closure import LOOPS, closed_motion
from .sampling import Sampling

Controller = Callable[[float, State], Any]
"""Joint forces (n), or forces on base and joints (nv), at a time (s) and state; plain Python, called as it is."""


def held(t: float, state: State) -> Any:
    """Controller of steps that are given their forces, :attr:`Problem.given`: it raises an error if they were not."""
    raise ModelError("a step that is given the forces of its controller was not")


def given_size(problem: Problem) -> int:
    """Number of forces that a compiled step of a problem is given: those of a sampled controller."""
    return 0 if problem.sampling is None else problem.sampling.size


def with_given(model: Model, laws: tuple[Law, ...], contact: Contact | None, given: Any) -> Problem:
    """Problem whose controller, if there is one, has returned ``given``, of any kind of number."""
    if not len(given):
        return Problem(model, laws, contact)
    return Problem(model, laws, contact, held, external=len(given) == model.nv and model.m > 0, given=given)


IMPACT = "impact"
"""The port of the energy that impacts take."""


class Slope(NamedTuple):
    """Time derivatives of a problem."""

    acceleration: Any
    """``nv``"""
    memory: Any
    """rate of what contact and laws remember"""
    powers: Any
    """W, two for each port: through the base, through the joints"""


@concise
@dataclass(frozen=True, eq=False)
class Problem:
    """Model with its force laws, controller and contact.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> problem = Problem(arm, (fc.control.JointSpring(2.0), fc.control.JointDamper(0.1)))
        >>> problem.ports
        ('joint springs', 'joint dampers')
        >>> problem.slope((), 0.0, arm.neutral(), np.zeros(0)).acceleration.shape
        (3,)
    """

    model: Model
    laws: tuple[Law, ...] = ()
    contact: Contact | None = None
    controller: Controller | None = None
    external: bool = False
    """True if the controller has forces on the base too"""
    ledger: bool = True
    """True if the work through every port is integrated; without it there are no ports"""
    given: Vector = None
    """Forces of the controller (n or nv), of any kind of number; None: it is asked"""
    varied: tuple[str, ...] = ()
    """Numbers that differ from robot to robot, by name: see :mod:`fallingcat.simulation.problem.robot_parameters`"""
    carried: int = 0
    """Numbers that the integrator carries from step to step, beside the state"""
    feedback: Feedback | None = None
    """Stiffness and damping of the controller, if it is a function that was asked; see :meth:`linearized`"""
    passive: int = 0
    """Number of laws, the last ones, that are the model's own: :func:`fallingcat.control.laws.passive_joints`"""

    def __post_init__(self) -> None:
        names = self.ports
        if len({*names}) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ModelError(f"two things that act are named {twice!r}, so their work could not be told apart")

    @cached_property
    def ports(self) -> tuple[str, ...]:
        """Ways in which energy passes, in the order of :attr:`Slope.powers`."""
        if not self.ledger:
            return ()
        own = [law.name for law in self.laws]
        return (*own, *self.controller_ports, *((LOOPS,) if self.model.loops else ()), *self.contact_ports)

    @property
    def driven_ports(self) -> tuple[str, ...]:
        """Ports of drives: of laws that are commanded, and of the controller."""
        return (*(law.name for law in self.laws if law.commanded), *self.controller_ports)

    @property
    def controller_ports(self) -> tuple[str, ...]:
        """Port of the controller, if there is one."""
        return (getattr(self.controller, "name", "controller"),) if self.controller else ()

    @property
    def sampling(self) -> Sampling | None:
        """The controller, if it is a sampled one."""
        return self.controller if isinstance(self.controller, Sampling) else None

    def linearized(self, state: State) -> Problem:
        """Problem with the :attr:`feedback` of its function at the start of a run, if it has one.

        Args:
            state: Start of the run.

        Returns:
            Problem with stiffness and damping of its controller.
        """
        if self.controller is None or self.sampling is not None or self.given is not None:
            return self
        return replace(self, feedback=Feedback.of(self.model, self.asked_of_joints, 0.0, state))

    def resolved(self, step: float = STEP) -> Problem:
        """Problem with joint stops and dry friction of the model as for default steps, however long ``dt`` is.

        It is that of methods that choose or divide their steps.

        Args:
            step: Step (s) that these laws are made for.

        Returns:
            Problem with other passive laws.
        """
        ends = len(self.laws) - self.passive
        own = tuple(replace(law, step=step) if hasattr(law, "step") else law for law in self.laws[ends:])  # type: ignore[type-var]
        return replace(self, laws=(*self.laws[:ends], *own))

    def asked_of_joints(self, t: float, state: State) -> Float_n:
        """Joint forces of the controller.

        Args:
            t: Time (s).
            state: Configuration and velocity.

        Returns:
            ``n`` forces (N m or N).
        """
        asked = np.asarray(self.asked(t, state))
        return asked[len(asked) - self.model.n :]

    @property
    def contact_ports(self) -> tuple[str, ...]:
        """Ports of the contact, which come last; impacts are the very last, and all theirs counts as through joints."""
        return (*self.contact.ports, IMPACT) if self.contact else ()

    @property
    def compilable(self) -> bool:
        """True if whole steps are compiled: forces are held, or written for every kind of number."""
        return self.controller is None or self.sampling is not None

    # what contact and laws remember, one after the other -------------------------------------------------------

    def begin(self, state: State) -> tuple[Mode, np.ndarray]:
        """Mode and memory at a state from which a run starts.

        Args:
            state: Initial state.

        Returns:
            Mode of the contact, and memory of contact and laws, one after the other.
        """
        if self.contact:
            self.contact.check_start(self.model, state)
        mode, memory = self.contact.begin(self.model, state) if self.contact else ((), np.zeros(0))
        return mode, np.concatenate([memory, *(law.begin(self.model, state) for law in self.laws)])

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Size of the memory of each law."""
        return tuple(law.memory_size(self.model) for law in self.laws)

    def with_memory(self, memory: Vector) -> tuple[Problem, Vector]:
        """Problem whose laws have their parts of a memory.

        Args:
            memory: Memory of contact and laws (k).

        Returns:
            Problem, and the part (k) of the memory that is left for the contact.
        """
        if not any(self.sizes):
            return self, memory
        ends = np.cumsum([len(memory) - sum(self.sizes), *self.sizes])
        parts = [memory[a:b] for a, b in pairwise(ends.tolist())]
        laws = tuple(law.with_memory(part) for law, part in zip(self.laws, parts, strict=True))
        return replace(self, laws=laws), memory[: ends[0]]

    def later(self, memory: Vector, t: Scalar, state: State, dt: Scalar) -> Vector:
        """Memory of the laws some time later; see :meth:`.Law.after`.

        Args:
            memory: Memory of contact and laws (k).
            t: Time (s).
            state: Configuration and velocity.
            dt: Time (s) that passes.

        Returns:
            Memory (k) of the laws alone.
        """
        laws = zip(self.with_memory(memory)[0].laws, self.sizes, strict=True)
        return concatenate([np.zeros(0), *(law.after(self.model, t, state, dt) for law, size in laws if size)])

    def applied(self, mode: Mode, t: Scalar, state: State, given: Vector | None = None) -> dict[str, Vector_nv]:
        """Generalized forces of laws and controller by port.

        Args:
            mode: Mode of the contact.
            t: Time (s).
            state: Configuration and velocity.
            given: Forces (n or nv) of the controller, if it was asked already.

        Returns:
            Forces (nv) for each port.
        """
        touching = self.contact.touching(mode) if self.contact else frozenset()
        if self.controller is None:
            return self._applied(touching, t, state, None)
        asked = self.given is None and self.sampling is None and given is None
        given = self.asked(t, state) if given is None else given
        plain = all(law.ignores_contact for law in self.laws) and not any(self.sizes)
        if asked and self.laws and plain and is_numeric(state.pose):
            compiled = compiled_forces(self.model, self.laws, self.controller_ports, self.external)
            return compiled(t, state, given)
        return self._applied(touching, t, state, given)

    def _applied(self, touching: frozenset[str], t: Any, state: State, given: Any) -> dict[str, Any]:
        ports = self.controller_ports
        return applied_forces(self.model, self.laws, ports, self.external, touching, t, state, given)

    def asked(self, t: float, state: State) -> Vector:
        """Forces of the controller, which sees the state and cannot change it, checked.

        Args:
            t: Time (s).
            state: Configuration and velocity.

        Returns:
            ``n`` or ``nv`` forces.
        """
        assert self.controller is not None
        if self.given is not None:
            return self.given
        if self.sampling is not None:
            return self.sampling(t)
        size = self.model.nv if self.external else self.model.n
        return controller_forces(self.model, answered(self.controller, t, state), size, t)

    def applied_at(self, mode: Mode, t: float, state: State) -> Float_nv:
        """Sum of the forces of laws and controller at an event, of a problem that recalls its memory.

        Args:
            mode: Mode of the contact.
            t: Time (s).
            state: Configuration and velocity.

        Returns:
            Generalized forces (nv) for contacts that ask for them, else zero.
        """
        asked = self.contact is not None and self.contact.needs_applied_forces
        return np.asarray(self.total(self.applied(mode, t, state) if asked else {}), dtype=float)

    def forces(self, mode: Mode, t: Scalar, state: State, memory: Vector) -> dict[str, Vector_nv]:
        """Generalized forces of all ports.

        Args:
            mode: Mode of the contact.
            t: Time (s).
            state: Configuration and velocity.
            memory: Memory of contact and laws (k).

        Returns:
            Forces (nv) by port.
        """
        problem, memory = self.with_memory(memory)
        applied = problem.applied(mode, t, state)
        forces = applied | dict(self.touch(mode, state, memory, self.total(applied)).forces)
        if self.model.loops:
            forces[LOOPS] = closed_motion(self.model, state, self.total(forces))[1]
        return forces

    def slope(self, mode: Mode, t: Scalar, state: State, memory: Vector) -> Slope:
        """Acceleration, rate of the memory, and power through every port.

        Args:
            mode: Mode of the contact.
            t: Time (s).
            state: Configuration and velocity.
            memory: Memory of contact and laws (k).

        Returns:
            The three as a :class:`Slope`.
        """
        problem, memory = self.with_memory(memory)
        applied = problem.applied(mode, t, state)
        there = self.touch(mode, state, memory, self.total(applied))
        forces = applied | dict(there.forces)
        if self.model.loops:
            a, forces[LOOPS] = closed_motion(self.model, state, self.total(forces))
        else:
            a = self._accelerated(state, self.total(forces)) if there.motion is None else there.motion
        m, zero = self.model.m, np.zeros(self.model.nv)
        powers: list[Any] = [
            np.reshape(power, 1)
            for F in (forces.get(port, zero) for port in self.ports)
            for power in (F[:m] @ state.twist, F[m:] @ state.rates)
        ]
        memory_rates = (law.memory_rate(self.model, t, state) for law in problem.laws)
        return Slope(a, concatenate([there.memory_rate, *memory_rates]), concatenate([np.zeros(0), *powers]))

    def _accelerated(self, state: State, total: Any) -> Any:
        numeric = is_numeric(total) and is_numeric(state.pose)
        return acceleration(self.model)(state, total) if numeric else forward_dynamics(self.model, state, total)

    def touch(self, mode: Mode, state: State, memory: Vector, applied: Vector_nv) -> Touch:
        """Forces, memory rate and guards of the contact under applied forces.

        Args:
            mode: Mode of the contact.
            state: Configuration and velocity.
            memory: Memory of the contact (:attr:`.Contact.memory_size` numbers).
            applied: Generalized forces (nv) of everything else.

        Returns:
            The three as a :class:`.Touch`; empty without a contact.
        """
        if self.contact is None:
            return Touch({}, np.zeros(0), np.zeros(0))
        numeric, asked = is_numeric(applied) and is_numeric(state.pose), (mode, state, memory, applied)
        if numeric and self.controller is not None:
            return touch(self.model, self.contact, mode, len(memory))(state, memory, applied)
        return self.contact.touch(self.model, *asked)

    def touched(self, mode: Mode, t: Scalar, state: State, memory: Vector) -> Touch:
        """Forces, memory rate and guards of the contact beside laws and controller.

        Args:
            mode: Mode of the contact.
            t: Time (s).
            state: Configuration and velocity.
            memory: Memory of contact and laws (k).

        Returns:
            The three as a :class:`.Touch`; empty without a contact.
        """
        problem, memory = self.with_memory(memory)
        applied = self.total(problem.applied(mode, t, state)) if self.contact else np.zeros(self.model.nv)
        return self.touch(mode, state, memory, applied)

    def total(self, forces: dict[str, Vector_nv]) -> Vector_nv:
        """Sum of forces over all ports.

        Args:
            forces: Generalized forces (nv) by port.

        Returns:
            Generalized forces (nv).
        """
        return sum(forces.values(), start=np.zeros(self.model.nv))
