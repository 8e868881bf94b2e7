"""Linearly implicit midpoint rule, in one sweep of articulated bodies: stable on stiff floors at any step, O(n).

A step moves for its first half with the velocity before, for its second with the one after it, and all forces are those
of the place between.  The force of a spring or a damper there is linear in the acceleration of the step: a point on
a compliant floor feels ``f - dt G a``, with the force ``f`` at the velocity before and ``G = D / 2 + dt K / 4``, more
where steps do not resolve them (:class:`.ThetaWeights`).  So ``(M + dt sum J' G J) a = forces - C u - g + sum J' f`` is
forward dynamics of a robot whose links have a little more inertia where they touch, and joints with springs a little
more armature.  Products of velocities are those of ``u = v + dt a' / 2`` with the acceleration ``a'`` of the last step.

Which points touch, stick and slide follows from the velocities ahead, by cases: one code serves all modes, and nothing
is located.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from ....arrays import array
from ....caching import cached_property
from ....compiler import compile
from ....compiler.compilation import compile_step
from ....contact.base import Mode
from ....contact.capabilities import LinearizedForces
from ....geometry.contact_points import checked_points
from ....model import Model, State
from ...devices import Cpu
from ...problem.arguments import whole
from ...problem.compiled_dynamics import cached_kernel
from ...problem.law_memory import initial_memories
from ...problem.problem import Problem
from ...problem.step_numbers import step_numbers
from ...problem.vector_field import layout_of
from ..base import FixedStepIntegrator
from ..drive_speeds import speed_limit_law
from ..refinement import NO_ROBOTS, coarser, refined
from ..single_steps import SingleSteps
from ..step_arguments import StepArguments, of_arguments
from .contact_start import anchors, modes_of
from .derivatives import DERIVATIVE_MISMATCH, step_jacobian
from .end import end_step
from .step import FORCE_TOLERANCE, begin_step, carried, converged, dry_friction_law, predicted


@dataclass(frozen=True)
class Implicit(FixedStepIntegrator):
    """Linearly implicit midpoint rule for compliant floors: order 2, and 1 where points land and slide.

    Steps in which joints turn far are taken again in quarter steps: see
    :mod:`fallingcat.simulation.integrators.refinement`.

    A step is linear in the velocities at its end as long as points do not begin to slide, stick, land or lift off.  It
    is solved again, linearized there, until the forces are those of the contact law: ``sweeps`` is how often, None as
    often as it takes, after the first time by Newton's method with all derivatives of the contact forces.

    Example:
        >>> import fallingcat as fc
        >>> method = fc.simulation.Implicit(sweeps=2)
        >>> method.name, method.stable
        ('implicit', True)
    """

    sweeps: int | None = None
    name = "implicit"
    order = 1
    implicit = True
    linearizes = True
    stable = True
    varies = True
    needs = LinearizedForces

    def __post_init__(self) -> None:
        if self.sweeps is not None:
            whole(self.sweeps, "sweeps")

    def suited(self, problem: Problem) -> Problem:
        """Problem whose steps carry their last acceleration, and counts."""
        suited, count = super().suited(problem), carried(problem.model)
        return suited if suited.carried == count else replace(suited, carried=count)

    def compiled_stepper(self, problem: Problem, memory: int) -> CompiledStepper:
        """Machine code for all modes."""
        for part in problem.contact.parts if problem.contact is not None else ():
            checked_points(problem.model, () if part.pairs else part.points)
        return CompiledStepper(self.suited(problem), memory, sweeps=self.sweeps)


def counted(model: Model, t: Any, dt: Any, state: State) -> Any:
    """``1``: how many steps of ``dt`` (s) a time is."""
    return array([t / dt])


class CompiledStepper:
    """Steps as machine code: one when it is called, as a :data:`.Step`; many by :meth:`rows`.

    A controller is asked once a step, in its :attr:`middle` or at its start, and what it says is held.
    """

    code: Callable[..., Any]
    """``(model, x, clock, numbers, forces) -> x`` later, with ``x = [head; packed]``"""
    jacobian: Callable[..., Any] | None = None
    """``(model, x, clock, numbers, forces, wanted=, whole=) -> StepJacobian``; None: its steps have no derivatives"""
    solved: Mapping[str, Any] = MappingProxyType({"tolerance": DERIVATIVE_MISMATCH})
    """options of :attr:`code` with which steps are solved as far as their derivatives are"""
    head = 1
    """numbers of a robot before its packed state: how many steps it has taken"""
    head_at: Callable[..., Any] = staticmethod(counted)
    """``(model, t, dt, state) -> head``, of any kind of number"""
    clock = 1
    """numbers that say how far to go: the step (s), and where that matters the one of which it is a part"""
    middle = True
    """True if all forces act in the middle of a step"""
    counted: tuple[str, ...] = ("unconverged", "refined", "coarse")
    """Counts of steps, the last numbers of a packed state: those whose contact forces did not converge, those that were
    taken again in smaller ones, and those that are coarse even so; see
    :mod:`fallingcat.simulation.integrators.refinement`"""

    def __init__(self, problem: Problem, memory: int, **how: Any) -> None:
        laws, self.numbers = step_numbers(problem)
        self.problem, self._layout, self._model = problem, layout_of(problem, memory), problem.model
        predicted = 0 if problem.feedback is None else 2 * problem.model.n
        forces = 0 if problem.controller is None else problem.model.nv + predicted
        size, count = self.head + self._layout.size, len(self.numbers)
        self._inputs = {"x": size, "clock": self.clock, "numbers": count, "forces": forces}
        self._options: dict[str, Any] = {"laws": laws, "contact": problem.contact, "memory": memory, **how}
        if problem.varied:
            self._options["varied"] = problem.varied

    @property
    def iterates(self) -> bool:
        """True if a step repeats something until it has converged."""
        problem = self.problem
        return any(x is not None for x in (problem.contact, dry_friction_law(problem), speed_limit_law(problem)))

    @cached_property
    def kernel(self) -> Any:
        """``(x, clock, numbers, forces) -> x`` later, as machine code."""
        about = (self.code, self._model, *self._inputs.values(), *self._options.values())
        return cached_kernel(about, lambda: compile_step(self._model, self.code, self._inputs, **self._options))

    def on(self, target: str, dtype: str) -> list[Any]:
        """Kernels for another device: one, or the :func:`prediction` and the :func:`conclusion` that takes its result.

        There, work done twice is cheaper than what it would take to remember between the two.
        """
        about, options = {"target": target, "dtype": dtype}, dict(self._options)
        if options.pop("sweeps") in (None, 1) or not self.iterates:
            return [compile(self._model, stepped, inputs=self._inputs, **about, **self._options)]
        first = compile(self._model, prediction, inputs=self._inputs, **about, **self._options)
        inputs = self._inputs | {"prediction": first.size}
        return [first, compile(self._model, conclusion, inputs=inputs, **about, **options)]

    def initial_memory(self, many: State) -> np.ndarray:
        """``N x memory``: what ``N`` robots remember that start now."""
        return np.hstack([anchors(self.problem, many), initial_memories(self.problem, many)])

    def start_vector(self, many: State, packed: np.ndarray) -> np.ndarray:
        """``N x size``: ``x`` of robots that start now."""
        return np.hstack([np.zeros((len(packed), self.head)), packed])

    def taken(self, on: Any, x: Any, dt: float, steps: int, forces: Any) -> Any:
        """``x`` some steps later, on the machine ``on`` which it is: see :class:`.BatchSimulator`."""
        after = on.iterated(x, np.full(self.clock, dt), forces, steps)
        return refined(on, x, after, np.full(self.clock, dt), steps, forces) if self._layout.carried else after

    def repeated(self, on: Any, x: np.ndarray, dt: float, steps: int) -> Any:
        """:meth:`taken` from ``x`` (N x size); a function, of a single robot, is asked before every step."""
        if self.problem.controller is None:
            return self.taken(on, on.sent(x), dt, steps, on.sent(np.zeros((len(x), 0))))
        step = copy(self)
        if self.problem.feedback is not None:
            step.problem = replace(self.problem, feedback=self.problem.feedback.elsewhere())
        return on.sent(SingleSteps(self.problem, step, self.head).repeated(on, x, dt, steps))

    def rows(self, on: Any, x: Any, dt: float, rows: int, every: int, forces: Any) -> tuple[Any, np.ndarray]:
        """``x`` after ``rows * every`` steps, and ``rows x N x size``: after every ``every``-th of them."""
        after, found = on.recorded(x, np.full(self.clock, dt), forces, rows, every)
        which = coarser(on, x, after) if self._layout.carried else NO_ROBOTS
        if len(which):
            part, some, given = on.part(which), on.kept(x, which), on.kept(forces, which)
            for row in found:
                some = self.taken(part, some, dt, every, given)
                row[which] = part.fetched(some)
            on.put(after, which, some)
        return after, found

    def restarted(self, x: np.ndarray, times: float) -> np.ndarray:
        """``N x size``: ``x`` before steps so many times shorter."""
        out = x.copy()
        out[:, 0] *= times  # which counts steps
        return out

    def timed(self, x: np.ndarray, t: float, dt: float) -> np.ndarray:
        """``x`` (N x size) of robots at a time (s), before steps of ``dt`` (s); it is overwritten."""
        x[:, 0] = steps_before(t, dt)
        return x

    def __call__(self, packed: np.ndarray, clock: np.ndarray) -> np.ndarray:
        """One step of one robot, as a :data:`.Step`."""
        t, dt = float(clock[0]), float(clock[1])
        forces = self.held(t, dt, packed)
        after = self.taken(self.alone, self.at(t, dt, packed)[None], dt, 1, forces[None])
        return np.append(after[0, self.head :], 0.0)  # no guards, no error

    @cached_property
    def alone(self) -> Cpu:
        """Device of one robot."""
        return Cpu(self.kernel, self.numbers)

    def stepping(self, on: Cpu) -> Callable[[], None]:
        """Function that steps one robot in the memory of its device: :attr:`.Cpu.single`."""
        go, out, x, clock, _, forces = on.single

        def refining() -> None:
            go()
            if out[-1] != x[-1]:  # it counts coarse steps
                out[:] = refined(on, x[None].copy(), out[None].copy(), clock.copy(), 1, forces[None].copy())[0]

        return refining if self._layout.carried else go

    def held(self, t: float, dt: float, packed: np.ndarray) -> np.ndarray:
        """``nv`` or 0: what a controller, if there is one, says in a step of ``dt`` (s), and how stiff it is, if known.

        A function sees time and place where a step acts, as laws do: springs that it is made of would gain energy in
        steps that move with the mean of the velocities under forces of their start.
        """
        if self.problem.controller is None:
            return np.zeros(0)
        state, half = self._layout.unpack(packed)[0], 0.5 * dt
        if self.middle and self.problem.sampling is None:
            t, state = t + half, self._model.configuration.displace(state, half * state.velocity)
        asked, feedback = self.problem.asked(t, state), self.problem.feedback
        gains = np.zeros(0) if feedback is None else feedback.gains(t, state, asked[-self._model.n :])
        return np.concatenate([np.zeros(self._model.nv - len(asked)), asked, gains])

    def counts(self, packed: Any) -> dict[str, Any]:
        """Number of steps of each kind that robots with packed states (..., size) have taken, by :attr:`counted`."""
        counted = self.counted if self._layout.carried else ()
        return {name: packed[..., i - len(counted)] for i, name in enumerate(counted)}

    def modes(self, packed: np.ndarray) -> tuple[Mode, ...]:
        """Mode of the contact at each of ``N`` packed states."""
        return modes_of(self.problem, self._layout.memory, packed)

    def stalled(self, on: Any, x: Any) -> np.ndarray:
        """``N`` truth values: none gives up, in fixed steps."""
        return np.zeros(len(on.rows(x)), dtype=bool)

    def at(self, t: float, dt: float, packed: np.ndarray) -> np.ndarray:
        """``size``: ``x`` of a robot at a time, before steps of ``dt`` (s)."""
        return np.concatenate([[steps_before(t, dt)], packed])

    def times(self, on: Any, x: Any, dt: float) -> Any:
        """``N`` (s): of robots on a machine."""
        return on.times(x) * dt


def steps_before(t: float, dt: float) -> float:
    """Number of steps of ``dt`` (s) in a time: times are counted, as sums of steps would not end where laws switch.

    >>> steps_before(3 * 0.1, 0.1), steps_before(0.25, 0.1), 0.1 + 0.1 + 0.1 == 0.3
    (3.0, 2.5, False)
    """
    count = t / dt
    near = float(round(count)), count, math.nextafter(count, math.inf), math.nextafter(count, 0.0)
    return next((n for n in near if n * dt == t), count)


@of_arguments
def stepped(source: StepArguments, *, sweeps: int | None, tolerance: float = FORCE_TOLERANCE) -> Any:
    """``x = [count; packed]`` a step later, under held ``forces`` if there are any.

    Contact forces are those of the law but for a ``tolerance``, relative to the normal forces.
    """
    start, prediction = begin_step(source, sweeps != 1)
    last = (
        converged(start, prediction, tolerance) if sweeps is None else start.sweep(predicted(start, prediction, sweeps))
    )
    return end_step(start, last)


@of_arguments
def prediction(source: StepArguments, *, sweeps: int) -> Any:
    """:class:`Prediction` (flat) that :func:`stepped` would find in all sweeps but the last."""
    return predicted(*begin_step(source), sweeps).flat


@of_arguments
def conclusion(source: StepArguments, prediction: Any) -> Any:
    """:func:`stepped`, given the :func:`prediction`."""
    start, first = begin_step(source)
    return end_step(start, start.sweep(first.read(prediction)))


CompiledStepper.code = staticmethod(stepped)
CompiledStepper.jacobian = staticmethod(step_jacobian)
