"""Momentum-exact methods: free flight in which no momentum can be lost.

Seen from its center of mass a robot in free flight neither falls nor drifts: the center follows its parabola exactly,
and the angular momentum about it never changes.  What is left to integrate is the shape; the twist of the base follows
from momentum, shape and rates by reconstruction ([Mishra] (9)).

:class:`MomentumRungeKutta` integrates all velocities by an explicit method of order 5 and takes the twist of the base
from the momentum at the end of every step; joints stick and slide under dry friction
(:mod:`fallingcat.simulation.integrators.momentum.joint_friction`).

:class:`MomentumMidpoint` is variational: it makes the sum of ``dt l(w, (q0 + q1)/2, (q1 - q0)/dt)`` stationary, where
``l`` is the Lagrangian seen from the center of mass and ``R1 = R0 exp(dt w)``.  So it is symplectic, and keeps the
angular momentum ``k = R0 dexp(dt w)^-T dl/dw`` that belongs to that sum exactly.  Loops within the robot are equations
between its joints, ``e(q) = 0``.  The same sum, stationary among shapes that are closed, has impulses ``J' x`` of the
loops at both ends of a step (RATTLE): those at its start close the loops at its end, those at its end take away
velocities that would open them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np

from ....arrays import array, concatenate
from ....compiler import compile
from ....compiler.compilation import compile_step
from ....contact.base import Mode
from ....control.laws.base import acts_on_base
from ....control.laws.compliant_stops import STEP
from ....errors import ModelError, NumericsError, describe
from ....lie import Group
from ....lie.rotations import skew
from ....model import Model, State
from ...problem.compiled_dynamics import cached_kernel
from ...problem.law_memory import check_no_memory
from ...problem.problem import Problem, held
from ...problem.vector_field import layout_of
from ..base import FixedStepIntegrator, Step
from ..compiled_rule import RuleStepper
from ..implicit.integrator import steps_before
from ..implicit.step import dry_friction_law
from . import midpoint_derivatives
from . import runge_kutta_step as flight_step
from .midpoint_step import (
    CARRIED_SIZE,
    MAX_PASSES,
    UNROLLED_PASSES,
    Guess,
    Parabola,
    arrived,
    carried_at,
    flown,
    free_directions,
    stepped,
)
from .runge_kutta_derivatives import step_jacobian


@dataclass(frozen=True)
class MomentumRungeKutta(FixedStepIntegrator):
    """Runge-Kutta of order 5 in flight; momentum is exact to rounding.

    For robots whose base is free, or free in a plane, whose joints are angles and lengths, without loops, under gravity
    and joint forces.
    Dry friction is Coulomb's law itself: joints stick and slide, and come to rest exactly.  Such steps have at
    least so many parts as ``divisions`` says, of the default method so many that each of them resolves dampers.

    Example:
        >>> import fallingcat as fc
        >>> method = fc.simulation.MomentumRungeKutta()
        >>> method.name, method.order
        ('momentum', 5)
        >>> method.check(fc.simulation.Problem(fc.robots.two_cylinder_cat()))  # no error
    """

    divisions: int = 1
    name = "momentum"
    order = 5
    varies = True

    def resolved(self, problem: Problem, dt: float | None) -> Problem:
        """Problem with joint stops and dry friction for the parts of a step."""
        return problem if self.divisions == 1 or not dt else problem.resolved(max(STEP, dt / self.divisions))

    def stepper(self, problem: Problem, mode: Mode, memory: int) -> Step:
        """Machine code for whole flights, unless a controller is evaluated at every stage."""
        if problem.controller is None or problem.sampling is not None:
            return self.compiled_stepper(problem, memory)
        self.check(problem)
        return ControlledStages(problem, self.divisions)

    def compiled_stepper(self, problem: Problem, memory: int) -> Flight:
        """Machine code, for one robot or many."""
        self.check(problem, remembers=dry_friction_law(problem) is None)
        return Flight(problem, memory, **({} if self.divisions == 1 else {"divisions": self.divisions}))

    def check(self, problem: Problem, remembers: bool = False) -> None:
        """Refuse robots and forces that this method is not for, by name.

        Args:
            problem: Problem.
            remembers: True if laws may have a state of their own, as beside no dry friction and no function.
        """
        check(problem, remembers)
        if problem.model.loops:
            raise ModelError(f"{problem.model.name!r} has loops: take MomentumMidpoint(), which closes them")


@dataclass(frozen=True)
class MomentumMidpoint(FixedStepIntegrator):
    """Midpoint rule of order 2 in flight, symmetric in time; momentum is exact to rounding, energy has no trend.

    For robots whose base is free, or free in a plane, whose joints are angles and lengths, and on whose base no force
    acts but gravity; loops between their own links and joints are closed, to rounding, at the end of every step.

    Example:
        >>> import fallingcat as fc
        >>> method = fc.simulation.MomentumMidpoint()
        >>> method.name, method.order
        ('momentum', 2)
    """

    name = "momentum"
    order = 2
    damped = True

    def stepper(self, problem: Problem, mode: Mode, memory: int) -> Step:
        """Machine code for whole flights, unless a controller is evaluated within steps."""
        if problem.controller is None or problem.sampling is not None:
            return self.compiled_stepper(problem, memory)
        check(problem)
        return ControlledFlight(problem)

    def compiled_stepper(self, problem: Problem, memory: int) -> MidpointFlight:
        """Machine code, for one robot or many."""
        check(problem)
        return MidpointFlight(problem, memory)

    def unsolved(self, problem: Problem) -> str:
        """The equations of a step have no solution, or none that passes find."""
        if not problem.model.loops:
            return "the midpoint equations do not converge, however small the step: take 'rkmk4'"
        return (
            f"the loops of {problem.model.name!r} do not close, however small the step: take 'rkmk4' where one is flat"
        )


def carrying(model: Model, t: Any, dt: Any, state: State) -> Any:
    """``1 + CARRIED_SIZE``: how many steps of ``dt`` (s) a time is, and parabola and spin as they are at a state."""
    return concatenate([array([t / dt, t]), carried_at(model, state)])


class Flight(RuleStepper):
    """Steps that carry parabola and spin along instead of measuring them anew: ``x = [count; carried; packed]``."""

    code: Callable[..., Any] = staticmethod(flight_step.flown)
    jacobian: Callable[..., Any] | None = staticmethod(step_jacobian)
    head = 1 + CARRIED_SIZE
    head_at = staticmethod(carrying)

    def __init__(self, problem: Problem, memory: int, **how: Any) -> None:
        super().__init__(problem, memory, **how)
        self._carried = np.zeros(0)

    def on(self, target: str, dtype: str) -> list[Any]:
        """The same for another machine."""
        if dtype != "float64":
            raise ModelError(f"momentum is kept to rounding in float64, not in {describe(dtype)}: take 'rkmk4'")
        return super().on(target, dtype)

    def start_vector(self, many: State, packed: np.ndarray) -> np.ndarray:
        """``N x size``: robots that start now."""
        return np.hstack([np.zeros((len(packed), 1)), measured(self._model, 0.0, many), packed])

    def at(self, t: float, dt: float, packed: np.ndarray) -> np.ndarray:
        """``x`` of the one robot whose flight this is."""
        if not len(self._carried):
            start = self._layout.unpack(packed)[0]
            self._carried = measured(self._model, t, State(*(x[None] for x in start)))[0]
        return np.concatenate([[steps_before(t, dt)], self._carried, packed])


class MidpointFlight(Flight):
    """Steps of the midpoint rule; where one is too long, what is packed is infinite."""

    code = staticmethod(flown)
    jacobian = staticmethod(midpoint_derivatives.step_jacobian)
    iterates = True

    def __call__(self, packed: np.ndarray, clock: np.ndarray) -> np.ndarray:
        """``[packed; error]``."""
        out = super().__call__(packed, clock)
        if not np.isinf(out).any():
            return out
        check_loops(self._model, *clock)
        return np.append(packed, 2.0)


class ControlledStages:
    """Runge-Kutta steps at whose stages a controller is evaluated."""

    def __init__(self, problem: Problem, divisions: int) -> None:
        self.problem, self.layout, self.carried = problem, layout_of(problem, 0), np.zeros(0)
        self.size, model = flight_step.round_size(problem), problem.model
        inputs = {"packed": self.layout.size, "carried": CARRIED_SIZE, "clock": 3, "x": self.size, "given": model.n}
        self.kernel = compile(model, flight_step.one_round, inputs=inputs, laws=problem.laws, divisions=divisions)

    def __call__(self, packed: np.ndarray, clock: np.ndarray) -> np.ndarray:
        """``[packed; error]`` after the step."""
        model, (t, dt), k, n = self.problem.model, clock, self.size, self.layout.size
        state = self.layout.unpack(packed)[0]
        if not len(self.carried):
            self.carried = measured(model, t, State(*(x[None] for x in state)))[0]
        x, at, first, done = np.zeros(k), t, 1.0, 0.0
        while done <= 0.0:  # rounds are bounded: see Friction.rounds
            given = self.problem.asked(at, state)
            out = self.kernel(packed, self.carried, np.array([t, dt, first]), x, given)
            x, done, at, first = out[:k], out[k], out[k + 1], 0.0
            state = self.layout.unpack(out[k + 2 : k + 2 + n])[0]
        return np.append(out[k + 2 + n :], 0.0)


class ControlledFlight:
    """Steps within which a controller is evaluated at the midpoint."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.layout, self.carried = problem, layout_of(problem, 0), np.zeros(0)
        model, self.falls = problem.model, np.zeros(problem.model.n)
        sizes = {"guess": len(Guess.first(model, np.zeros(model.nv), self.falls)), "given": model.n}
        inputs = {"packed": self.layout.size, "carried": CARRIED_SIZE, "clock": 2, **sizes}
        self.kernel = compile(model, stepped, inputs=inputs, laws=problem.laws, driven=True)

    def __call__(self, packed: np.ndarray, clock: np.ndarray) -> np.ndarray:
        """``[packed; error]`` after the step."""
        model, (t, dt), k = self.problem.model, clock, self.layout.size
        start = self.layout.unpack(packed)[0]
        if not len(self.carried):
            self.carried = measured(model, t, State(*(x[None] for x in start)))[0]
        flying = start.velocity - Parabola(model, self.carried).seen(t, start.pose[:3, :3])
        first, ask = Guess.first(model, flying, self.falls), self.problem.asked
        out, guess, done = self._passes(packed, clock, first, start, lambda state: ask(t + 0.5 * dt, state))
        if not done and self.problem.feedback is None:  # a function that jumps is held
            held = ask(t, start)
            out, guess, _ = self._passes(packed, clock, first, start, lambda state: held)
        self.falls = Guess.of(model, guess).falls.copy()
        if out[k] > 1.0:
            check_loops(model, t, dt)
        return np.array(out[: k + 1])

    def _passes(self, packed: Any, clock: Any, guess: Any, state: State, forces: Callable[[State], Any]) -> Any:
        """Numbers and guess after the last pass, and whether it arrived; ``forces`` of the controller at a state."""
        k, given, arrives, changes = self.layout.size, forces(state), False, [guess[-1]]
        for i in range(MAX_PASSES):
            out = self.kernel(packed, self.carried, clock, guess, given)
            middle, guess = self.layout.unpack(out[k + 1 : 2 * k + 1])[0], out[2 * k + 1 :]
            arrives = arrived(self.problem.model, guess[-1], changes[-1], clock[1]) > 0.0
            changes.append(guess[-1])
            if arrives or (i > UNROLLED_PASSES and changes[-1] > 0.5 * changes[-UNROLLED_PASSES]):
                break  # passes that will arrive leave a hundredth of the change meanwhile; those of a jump go round
            given = forces(middle)
        return out, guess, arrives


def check_loops(model: Model, t: float, dt: float) -> None:
    """Raise an error if the model has loops, which do not close in this step.

    Half a step might lead across a place where they could go on in two ways.
    """
    if model.loops:
        rule = f"the loops of {model.name!r} do not close in a step of {dt:g} s: take a smaller one, or 'rkmk4'"
        raise NumericsError(f"{rule} where a loop is flat", time=t)


def measured(model: Model, t: float, many: State) -> np.ndarray:
    """``N x 10``: the time ``t`` (s), and what :func:`carried_at` says of ``N`` states."""
    # one code for any N: worked out in NumPy, a single robot would differ from one of a batch in the last bit
    kernel = cached_kernel((carried_at, model), lambda: compile_step(model, carried_at, {}, State._fields))
    poses, *rest = many
    return np.hstack([np.full((len(poses), 1), t), kernel(poses[:, :3], *rest)])


@functools.lru_cache(maxsize=32)
def keeps_momentum(base: Group) -> bool:
    """True if a robot on a base keeps its momentum about the center of mass along the axes about which it turns.

    Forces of what guides the base are normal to its translations: they have no moment about an axis if the base moves
    in all directions normal to that, as in space, in a plane, or without turning.
    """
    linear, angular = base.selection[:3], base.selection[3:]
    turns, blocked = angular.any(axis=0), np.eye(3) - free_directions(base)
    guided = linear[:, turns].any() or any(np.abs(blocked @ skew(axis)).max() > 1e-12 for axis in angular[:, turns].T)
    return not (turns.all() or guided)


def check(problem: Problem, remembers: bool = False) -> None:
    """Refuse robots and forces that this rule is not for, by name."""
    model = problem.model
    if not remembers:
        check_no_memory(problem, "momentum")
    for loop in model.loops:
        if not loop.internal:
            raise ModelError(
                f"loop {loop.name!r} holds more than the robot's shape, so that momentum is not kept: take 'rkmk4'"
            )
    driven = problem.external and problem.controller is not held  # forces that a batch is given are on joints alone
    if driven or problem.contact is not None:
        raise ModelError("the momentum-exact integrator takes joint forces only: nothing may pull on the base")
    if not keeps_momentum(model.base):
        base = f"the base {model.base}" if model.m else "one that is fixed"
        why = "the forces that guide it change the momentum about the center of mass, take 'rkmk4'"
        raise ModelError(
            f"the momentum-exact integrator needs a base that is free or moves in a plane, not {base}: {why}"
        )
    if not np.allclose(free_directions(model.base) @ model.gravity, model.gravity, atol=0.0):
        raise ModelError(f"the momentum-exact integrator needs gravity along directions in which {model.base} moves")
    on_base = cached_kernel(
        (acts_on_base, model, *problem.laws), lambda: [acts_on_base(model, law) for law in problem.laws]
    )
    for law in compress(problem.laws, on_base):
        raise ModelError(f"the momentum-exact integrator takes joint forces only: {law.name!r} pulls on the base")
    for joint in model.joints:
        if not joint.kind.group.additive:
            raise ModelError(f"joint {joint.name!r}: the momentum-exact integrator takes angles and lengths only")
