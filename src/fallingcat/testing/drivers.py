"""Law of entry points: every driver of the simulation integrates a problem in the same way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..caching import cached_property
from ..contact import Contact
from ..control import Law
from ..errors import ModelError, describe
from ..formulations import Check
from ..model import Model, State
from ..simulation import (
    BatchSimulator,
    Integrator,
    Rollout,
    Simulator,
    Trajectory,
    build_problem,
    default_method,
    rollout,
    simulate,
    step,
)
from ..simulation.defaults import takes_fixed_steps
from ..simulation.problem.arguments import starts
from .report import Report, Requirement, of_type, relative_difference, require_complete

ROUNDING_TOLERANCE = 1e-12
"""Tolerance of methods that share one step code: they take the same operations in every entry point"""
TOLERANCES = 1e3
"""by how many times the tolerance per step methods that choose their steps may differ after a run"""


def check_drivers_agree(
    model: Model,
    states: Sequence[State] | State,
    laws: Law | Sequence[Law] | None = None,
    contact: Contact | None = None,
    *,
    duration: float = 0.05,
    dt: float = 1e-3,
    passive: bool = True,
) -> Report:
    """Run a problem through every entry point with default settings and compare the motions.

    :func:`fallingcat.simulate` and :func:`fallingcat.rollout` take the same method; so do :class:`.Simulator`,
    :class:`.BatchSimulator` and :func:`fallingcat.simulation.step`, which take that of the runs unless it locates
    events or chooses its steps.  Where no step is given, runs and rollouts of one robot choose the same.

    Args:
        model: Robot.
        states: Initial states, a list or one state of arrays.
        laws: Force laws.
        contact: Contact of the robot; None: none.
        duration: Duration of the runs (s), a whole number of steps.
        dt: Step size (s).
        passive: Add the passive joint forces of the model.

    Returns:
        Report of the laws.

    Raises:
        BrokenLawError: Two entry points give different motions.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.two_cylinder_cat()
        >>> print(check_drivers_agree(cat, [cat.state(rates=[1.0, 0.5])], duration=0.01))
        entry points, two_cylinder_cat: passed
          rollout           0.00e+00  holds        a rollout moves as single runs do
          default steps     0.00e+00  holds        a rollout chooses the steps of a single run
          batch             0.00e+00  holds        a robot moves as it would alone, to the last bit
          simulator         0.00e+00  holds        a BatchSimulator moves as a Simulator, to the last bit
          step              ...  holds        the step as a function moves as a Simulator
          simulator         0.00e+00  holds        a Simulator moves as a run does
    """
    of_type(model, Model, "model must be a Model")
    if abs(duration / dt - round(duration / dt)) > 1e-9:
        raise ModelError(f"duration must be a whole number of steps of {dt:g} s, got {describe(duration)}")
    trial = _Trial(model, starts(model, states), laws, contact, duration, dt, passive)
    subject = f"entry points, {model.name}"
    return Report.of(subject, (check for check in trial.checks(subject)))


@dataclass(frozen=True)
class _Trial:
    model: Model
    states: State
    laws: Any
    contact: Contact | None
    duration: float
    dt: float
    passive: bool

    @cached_property
    def method(self) -> Integrator:
        """Integrator of single runs."""
        problem = build_problem(self.model, self.states, self.laws, self.contact, dt=self.dt, passive=self.passive)
        return default_method(problem, self.states.at(0), self.dt)

    @cached_property
    def stepped_alike(self) -> bool:
        """True if drivers that are stepped from outside use that integrator too."""
        problem = build_problem(
            self.model, self.states, self.laws, self.contact, dt=self.dt, passive=self.passive, driven=True
        )
        return takes_fixed_steps(self.method, problem)

    @property
    def count(self) -> int:
        """Number of steps."""
        return len(self.states.pose)

    @cached_property
    def runs(self) -> list[Trajectory]:
        """Single runs."""
        about: dict[str, Any] = {"dt": self.dt, "passive": self.passive}
        given = (self.duration, self.laws, self.contact)
        return [require_complete(simulate(self.model, self.states.at(i), *given, **about)) for i in range(self.count)]

    def rollout_of(self, which: Sequence[int]) -> Rollout:
        """Rollout of some of the states."""
        states = [self.states.at(i) for i in which]
        return rollout(self.model, states, self.duration, self.laws, self.contact, dt=self.dt, passive=self.passive)

    @cached_property
    def simulators(self) -> list[np.ndarray]:
        """Final states of single robots that are stepped from outside."""
        ends = []
        for i in range(self.count):
            about: dict[str, Any] = {"dt": self.dt, "state": self.states.at(i), "passive": self.passive}
            sim = Simulator(self.model, self.contact, self.laws, **about)
            sim.step(steps=round(self.duration / self.dt))
            ends.append(_flat_state(sim.state))
        return ends

    def checks(self, subject: str) -> Any:
        """Checks of all laws."""
        agreed = ROUNDING_TOLERANCE if self.method.tolerance is None else TOLERANCES * self.method.tolerance
        robots = [(i,) for i in range(self.count)]
        yield Requirement("rollout", "a rollout moves as single runs do", agreed, self._rollout).check_cases(
            subject, robots
        )
        text = "a rollout chooses the steps of a single run"
        yield Requirement("default steps", text, agreed, self._default_steps).check_cases(subject, robots)
        yield Requirement("batch", "a robot moves as it would alone, to the last bit", 0.0, self._batch).check_cases(
            subject, robots
        )
        text = "a BatchSimulator moves as a Simulator, to the last bit"
        yield Requirement("simulator", text, 0.0, self._batch_simulator).check_cases(subject, [()])
        yield Requirement(
            "step", "the step as a function moves as a Simulator", ROUNDING_TOLERANCE, self._function
        ).check_cases(subject, robots)
        yield self._simulator(subject, robots)

    @cached_property
    def _full_rollout(self) -> Rollout:
        return self.rollout_of(range(self.count))

    def _rollout(self, i: int) -> float:
        run, many = self.runs[i], self._full_rollout
        ends = zip(_ends(run), _ends_of(many, i), strict=True)
        return max(relative_difference(a, b) for a, b in ends)

    def _default_steps(self, i: int) -> float:
        given = (self.duration, self.laws, self.contact)
        run = simulate(self.model, self.states.at(i), *given, passive=self.passive)
        many = rollout(self.model, [self.states.at(i)], *given, passive=self.passive)
        return max(relative_difference(a, b) for a, b in zip(_ends(run), _ends_of(many, 0), strict=True))

    def _batch(self, i: int) -> float:
        alone = self.rollout_of([i])
        return max(
            relative_difference(a, b) for a, b in zip(_ends_of(alone, 0), _ends_of(self._full_rollout, i), strict=True)
        )

    def _batch_simulator(self) -> float:
        about: dict[str, Any] = {"dt": self.dt, "passive": self.passive, "driven": True}
        simulator = BatchSimulator(self.model, self.states, self.laws, self.contact, **about)
        simulator.step(round(self.duration / self.dt), forces=np.zeros((self.count, self.model.n)))
        return max(
            relative_difference(_flat_state(simulator.state.at(i)), end) for i, end in enumerate(self.simulators)
        )

    def _function(self, i: int) -> float:
        start = self.states.at(i)
        about: dict[str, Any] = {"dt": self.dt, "passive": self.passive, "state": start}
        one = step(self.model, self.laws, self.contact, **about)
        at, memory, none = start, one.begin(start), np.zeros(self.model.n)
        for k in range(round(self.duration / self.dt)):
            known = {"memory": memory, "forces": none, "t": k * self.dt}
            found = one(at, **{name: x for name, x in known.items() if name in one.arguments})
            at, memory = found if "memory" in one.arguments else (found, memory)
        return relative_difference(_flat_state(at), self.simulators[i])

    def _simulator(self, subject: str, robots: list[tuple[int]]) -> Check:
        law = Requirement("simulator", "a Simulator moves as a run does", ROUNDING_TOLERANCE, self._simulator_residual)
        if not self.stepped_alike:
            return law.unproved_check(f"runs take {self.method.name!r}, which is not of fixed steps in one code", False)
        return law.check_cases(subject, robots)

    def _simulator_residual(self, i: int) -> float:
        return relative_difference(self.simulators[i], np.concatenate([np.ravel(x) for x in _ends(self.runs[i])]))


def _flat_state(state: State) -> np.ndarray:
    return np.concatenate([np.ravel(x) for x in state])


def _ends(run: Trajectory) -> tuple[np.ndarray, ...]:
    return run.poses[-1], run.joints[-1], run.twists[-1], run.rates[-1]


def _ends_of(many: Rollout, i: int) -> tuple[np.ndarray, ...]:
    return many.poses[-1, i], many.joints[-1, i], many.twists[-1, i], many.rates[-1, i]
