"""Packed states of many robots and the compiled step that advances them, on this processor or on a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np

from ...errors import ModelError, describe
from ...model import State
from ..devices import Cpu, Device, Gpu
from ..integrators.base import FixedStepIntegrator, Integrator
from ..integrators.compiled_rule import smooth
from ..integrators.event_located import EventLocator
from ..problem.arguments import whole
from ..problem.problem import Problem
from ..problem.robot_parameters import Parameters, checked, masses
from ..problem.step_numbers import numbers_of_each
from ..problem.vector_field import Layout, layout_of
from .law_inputs import LawInputs

TARGETS = ("cpu", "cuda")


class CompiledBatch:
    """``N`` robots of one problem, and the compiled step of an integrator that advances all of them.

    Entry points (:class:`.BatchSimulator`, :func:`fallingcat.simulate`, :func:`fallingcat.rollout`) differ in what they
    let a caller do between steps; states, steps and records are these.
    """

    problem: Problem
    layout: Layout
    """Layout of packed states."""
    stepper: Any
    """Compiled steps, a :class:`.CompiledStepper`."""
    dt: float
    """Step (s)."""
    parameters: Parameters
    """Numbers that differ from robot to robot."""
    _on: Device
    _x: Any
    _inputs: LawInputs
    _order: int
    """Order of the method."""

    @classmethod
    def alone(cls, problem: Problem, stepper: Any, layout: Layout, dt: float) -> Self:
        """Batch of the one robot of a run, in its compiled steps; :meth:`place` sets its state.

        Args:
            problem: Problem.
            stepper: Compiled steps, a :class:`.CompiledStepper`.
            layout: Layout of packed states.
            dt: Step (s).

        Returns:
            The batch.
        """
        batch = cls.__new__(cls)
        batch.problem, batch.stepper, batch.layout = problem, stepper, layout
        batch.dt, batch._on = dt, stepper.alone
        batch.parameters = Parameters((), np.zeros((1, 0)))
        return batch

    def place(self, t: float, packed: np.ndarray) -> None:
        """Set the state of one robot at a time.

        Args:
            t: Time (s).
            packed: Packed state, see :class:`.Layout`.
        """
        self._x = self.stepper.at(t, self.dt, packed)[None]

    def _begin(
        self,
        problem: Problem,
        many: State,
        wanted: Integrator,
        dt: float,
        each: list[list[float]],
        target: str,
        dtype: str,
        threads: int,
        parameters: Mapping[str, Any] | None,
    ) -> None:
        """Compile the step and put the robots where they start."""
        if target not in TARGETS:
            raise ModelError(f"target is one of {', '.join(map(repr, TARGETS))}, not {describe(target)}")
        self.parameters = checked(problem.model, problem.contact, parameters, len(many.pose))
        self.problem = problem
        method: Any = smooth(wanted, problem)
        if not isinstance(method, FixedStepIntegrator):
            which = "Implicit(), EventLocator() or Moreau(), in flight a rule such as RKMK4()"
            raise ModelError(f"the integrator of a BatchSimulator is {which}, not {describe(wanted)}")
        if self.parameters.names and not method.varies:
            raise ModelError(f"parameters of each robot take 'implicit', 'moreau' or 'located', not {method.name!r}")
        self.problem = method.resolved(self.problem, dt)
        self.problem = replace(method.suited(self.problem), varied=self.parameters.names)
        method = method.at(self._lightest, dt)
        if not problem.ledger and not isinstance(method, EventLocator):
            name = type(method).__name__
            raise ModelError(f"steps of the integrator {name}() always have a ledger, which costs them little")
        contact = self.problem.contact
        size = (0 if contact is None else contact.memory_size or 0) + sum(self.problem.sizes)
        self.dt, self.layout, self.stepper = (
            dt,
            layout_of(self.problem, size),
            method.compiled_stepper(self.problem, size),
        )
        if target == "cpu" and dtype != "float64":
            raise ModelError(f"a BatchSimulator on the CPU counts in float64, not {describe(dtype)}")
        numbers, threads = numbers_of_each(each, self.parameters, self.stepper.numbers), whole(threads, "threads")
        cpu = target == "cpu"
        self._on = Cpu(self.stepper.kernel, numbers, threads) if cpu else Gpu(self.stepper.on(target, dtype), numbers)
        self._inputs, self._order = LawInputs(self.problem, method, dt), method.order
        self._x = self._on.sent(self._fresh(many))

    def _fresh(self, many: State) -> np.ndarray:
        return self.stepper.start_vector(many, self.layout.table(tuple(many), self.stepper.initial_memory(many)))

    # states -----------------------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """Number of robots."""
        return len(self._on.rows(self._x))

    @property
    def times(self) -> Any:
        """``N`` (s): since each started, or was reset."""
        return self.stepper.times(self._on, self._x, self.dt)

    @property
    def state(self) -> State:
        """State of all robots: ``N x 4 x 4``, ``N x joints``, ``N x m``, ``N x n``."""
        return State(*self._series().states)

    @property
    def works(self) -> Any:
        """``N x ports``: work (J) since the start; :attr:`ports` names them."""
        series = self._series()
        return series.base_works + series.joint_works

    @property
    def ports(self) -> tuple[str, ...]:
        """The ways in which energy passes."""
        return self.problem.ports

    @property
    def stalled(self) -> np.ndarray:
        """``N`` truth values: robots that ended as NaN because contacts switch, or steps shrink, without end."""
        return self.stepper.stalled(self._on, self._x)

    def packed(self) -> np.ndarray:
        """Packed states of all robots, as floats in this computer's memory; see :class:`.Layout`.

        Returns:
            ``N x size`` numbers.
        """
        return np.asarray(self._on.fetched(self._x), dtype=float)[:, self.stepper.head :]

    def fetched(self, x: Any) -> np.ndarray:
        """Array of the simulator, or of your own beside it, in this computer's memory.

        Args:
            x: Array on CPU or GPU.

        Returns:
            NumPy array.
        """
        return self._on.fetched(x)

    @property
    def _lightest(self) -> Problem:
        """The problem of the robot that weighs the least: what steps resolve for it they resolve for all."""
        if not self.parameters.names:
            return self.problem
        i = int(np.argmin(masses(self.parameters, self.problem.model)))
        return replace(self.problem, model=self.parameters.of(self.problem.model, None, i)[0])

    def _series(self) -> Any:
        return self.layout.series(self._on.rows(self._x)[:, self.stepper.head :])

    # steps ------------------------------------------------------------------------------------------------------

    def advance(self, steps: int, applied: Any) -> None:
        """Take steps under forces on bases and joints, as the device keeps them; else like :meth:`step`.

        Args:
            steps: Number of steps.
            applied: Forces (N x nv or N x 0).
        """
        self._x = self.stepper.taken(self._on, self._x, self.dt, steps, applied)

    def step_between(self, start: float, end: float, dt: float, applied: Any) -> None:
        """Take one step of another size.

        Args:
            start: Time (s) of all robots.
            end: Time (s) after the step.
            dt: Its size (s).
            applied: Forces, as :meth:`advance` takes them.
        """
        x = self.stepper.taken(self._on, self._on.sent(self.stepper.timed(self.whole(), start, dt)), dt, 1, applied)
        self._x = self._on.sent(self.stepper.timed(np.array(self._on.fetched(x), dtype=float), end, self.dt))

    def rows(self, rows: int, every: int, applied: Any) -> np.ndarray:
        """Take ``rows * every`` steps, and record the robots after every ``every``-th of them.

        Args:
            rows: Number of records.
            every: Steps between two of them.
            applied: Forces, as :meth:`advance` takes them.

        Returns:
            ``rows x N x size`` numbers, in this computer's memory.
        """
        self._x, found = self.stepper.rows(self._on, self._x, self.dt, rows, every, applied)
        return found

    def some(self, which: np.ndarray) -> np.ndarray:
        """Some robots as they are kept, in this computer's memory.

        Args:
            which: Indices of ``k`` robots.

        Returns:
            ``k x size`` numbers.
        """
        return np.array(self._on.fetched(self._on.kept(self._x, which)), dtype=float)

    def whole(self) -> np.ndarray:
        """All robots as they are kept, in this computer's memory.

        Returns:
            ``N x size`` numbers.
        """
        return np.array(self._on.fetched(self._x), dtype=float)
