"""Compiled control loop of whole-body controllers, and the result of a tick."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from ..._deprecated import former_attribute
from ...arrays.types import (
    Float_n,
    Float_N_n,
    Float_N_nq,
    Float_N_nv,
    Float_nv,
    FloatArray,
    Scalar,
    Vector,
    Vector_nq,
    Vector_nv,
)
from ...caching import cached_property
from ...compiler import Kernel, compile
from ...errors import ModelError, NumericsError, describe
from ...model import Model, State
from ...model.states import check_record
from ...records import of_robot, tabulated
from ..inverse_kinematics.differential import TASK_TOLERANCE, Levels
from ..tasks.goals import as_numbers
from ..tasks.packing import count, pack_tasks
from ..tasks.task import Task
from .solver import Solution, Solver


class LevelStatus(Enum):
    """Outcome of one priority level of a tick.

    Example:
        >>> [status.value for status in LevelStatus]
        ['met', 'compromised', 'interrupted']
    """

    MET = "met"
    """every task of the level is met"""
    COMPROMISED = "compromised"
    """as near as levels above, limits and rank allow"""
    INTERRUPTED = "interrupted"
    """not met, and perhaps not as near as it could be: the rounds of the tick were used up"""


@tabulated
@dataclass(frozen=True)
class WholeBodyResult:
    """Result of :func:`torques`.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> found = fc.control.torques(arm, arm.neutral(), [[fc.control.JointsTask(np.zeros(3))]])
        >>> found.status, found.forces.shape
        ('solved', (0, 3))
    """

    torques: Float_n
    """``n``: joint forces (N m or N)"""
    acceleration: Float_nv
    """``nv``: of the quasi-velocity ``[twist; rates]``; of a :class:`.Stance` the twist is that of its first foot"""
    forces: FloatArray
    """``contacts x 3``: on the robot, along the world's axes (N); of a :class:`.Stance` ``feet x 6``, in the frames of
    its soles"""
    status: str
    """``solved``: every task is met; ``compromise``: those of ``unmet`` are not, because of limits, rank or tasks
    beside and above them; ``infeasible``: the limits of ``conflicts`` contradict each other, and some were relaxed, by
    the least sum of squares, those of velocities before drives and friction, or contacts contradict each other;
    ``interrupted``: the rounds of the tick were used up, and the limits of ``conflicts`` are violated"""
    levels: tuple[LevelStatus, ...]
    """outcome of each level, the highest priority first"""
    residuals: tuple[FloatArray, ...]
    """for each task, in the order given, ``J a + dJ/dt v``, or the contact force (N, N m), minus the desired one"""
    ranks: tuple[int, ...]
    """for each level the number of rows that are independent of each other and of all before, active limits too"""
    unmet: tuple[str, ...]
    active: dict[str, float]
    """active limits with their multipliers, of the first level that depends on them; of a friction cone their sum"""
    conflicts: tuple[str, ...]
    optimality: float
    """the largest violation of the optimality conditions, relative to the gradients"""
    rounds: int
    """iterations of the active set; 1: the first guess was right; 0: the slow reference solver was needed"""


@of_robot
class WholeBodyLoop:
    """Compiled whole-body controller with its memory: each tick starts from the limits active in the last one.

    Made by :meth:`WholeBody.compile` and :meth:`.Stance.compile`.

    Args:
        model: Robot.
        levels: Tasks by priority.
        solver: Compiled problem.
        late: Longest time (s) between two ticks; None: any.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> loop = fc.control.WholeBody(arm, [[fc.control.JointsTask(np.zeros(3))]]).compile()
        >>> loop(np.zeros(3), np.zeros(3)).shape
        (3,)
    """

    def __init__(self, model: Model, levels: Levels, solver: Solver, late: float | None) -> None:
        """See the class."""
        self.model, self.levels, self._solver, self.late = model, levels, solver, late
        flat = [task for level in levels for task in level]
        self._numbers = np.append(pack_tasks(model, flat), np.ones(solver.plan.setup.switches))
        starts = np.cumsum([0, *(count(model, (task,)) for task in flat)]).tolist()
        self._places = [(task, start) for task, start in zip(flat, starts, strict=False)]
        self._last_time: float | None = None
        self._answer: Solution | None = None
        self._active_sides = np.zeros((0, 0), np.int64)

    def __call__(self, q: Vector_nq, v: Vector_nv | State, t: Scalar = 0.0) -> Float_n:
        """Joint torques of one tick.

        Given a time and a state instead, it is a controller of :func:`fallingcat.simulate`.

        Args:
            q: Measured coordinates (nq), flat (see :meth:`.Model.flatten`); or the time (s).
            v: Measured velocity (nv); or the state.
            t: Time (s).

        Returns:
            Joint torques (n; N m or N).
        """
        if isinstance(v, State):
            t, (q, v) = q, self.model.flatten(v)
        if self.late is not None:
            self._check_time(t, self.late)
        self._answer = self._solver.solve(q, v, self._numbers)
        return self._solver.torques(self._answer)

    def batch_forces(self, t: float, states: State) -> Float_N_n:
        """Joint torques of many robots at once.

        :func:`fallingcat.rollout` calls a :class:`.SampledController` loop in this way.  Each robot starts from the
        limits active in its own last tick.  A robot whose state is not finite gets torques that are not finite.

        Args:
            t: Time (s).
            states: States whose fields have a first axis over the robots, as those of a
                :class:`fallingcat.simulation.BatchSimulator`.

        Returns:
            Joint torques (N x n).
        """
        if self.late is not None:
            self._check_time(t, self.late)
        return self.each(*self.flattened(states), self._numbers)

    together = former_attribute("together", "batch_forces")

    def flattened(self, states: State) -> tuple[Float_N_nq, Float_N_nv]:
        """Coordinates and velocities of many robots.

        Args:
            states: States whose fields have a first axis over the robots.

        Returns:
            ``q`` (N x nq) and ``v`` (N x nv).
        """
        check_record(self.model, states)
        if len(states.batch) != 1:
            raise ModelError(f"states of many robots must have one batch axis, got {len(states.batch)}")
        poses, joints, twists, rates = states
        return self._coordinates(poses[:, :3], joints), np.hstack([twists, rates])

    def each(self, q: Float_N_nq, v: Float_N_nv, numbers: FloatArray) -> Float_N_n:
        """Joint torques of many robots, with numbers of their own.

        Args:
            q: Coordinates (N x nq).
            v: Velocities (N x nv).
            numbers: As :attr:`numbers`, of all robots or of each (N x count).

        Returns:
            Joint torques (N x n).
        """
        if len(self._active_sides) != len(q):
            self._active_sides = np.zeros((len(q), len(self._solver.solution.active_sides)), np.int64)
        return self._solver.solve_batch(q, v, numbers, self._active_sides)

    @cached_property
    def _coordinates(self) -> Kernel:
        kernel: Kernel = compile(self.model, coordinates, state=("pose", "joints"))
        return kernel

    def __copy__(self) -> WholeBodyLoop:
        """Loop with a memory of its own, for the same robot and tasks."""
        return copy.deepcopy(self, {id(x): x for x in (self.model, *(task for task, _ in self._places))})

    def change(self, task: Task, **numbers: Any) -> None:
        """Change numbers of one of the loop's tasks: ``loop.change(hand, goal=H, velocity=v)``.

        Only numbers that it had from the start can change.  A loop that was copied or came from another process
        identifies the task by its numbers at the start.

        Args:
            task: Task of the loop.
            **numbers: New ``goal``, ``velocity``, ``acceleration``, ``gain`` or ``weight``.

        Raises:
            ModelError: The task is not of this loop, or it began without this number.
        """
        named = [start for own, start in self._places if own is task]
        start = next(iter(named or [start for own, start in self._places if own == task]), None)
        if start is None:
            raise ModelError(f"{task.name if isinstance(task, Task) else describe(task)} is not a task of this loop")
        shapes = task.number_shapes(self.model)
        for name, given in numbers.items():
            if name not in shapes:
                raise ModelError(f"{task.name} has no {name}: a loop changes only numbers that it had from the start")
            x = as_numbers(given, f"{name} of {task.name}")
            if np.shape(x) != shapes[name] and (name == "goal" or np.shape(x) != ()):
                raise ModelError(f"{name} of {task.name} must have shape {shapes[name]}, got {np.shape(x)}")
            if name == "goal":
                task.check_goal(x)
            before = [int(np.prod(shapes[k], dtype=int)) for k in list(shapes)[: list(shapes).index(name)]]
            place = start + sum(before)
            self._numbers[place : place + int(np.prod(shapes[name], dtype=int))] = np.reshape(x, -1)

    @property
    def contacts(self) -> tuple[str, ...]:
        """Names of the contacts."""
        return tuple(self._solver.plan.setup.contacts)

    @property
    def numbers(self) -> FloatArray:
        """Numbers that the next tick reads, and that may be written: those of tasks, in order, then the mask."""
        return self._numbers

    def switch(self, contacts: Sequence[bool]) -> None:
        """Close and open contacts: ``loop.switch([True, False, False, True])``, from the next tick on.

        Nothing is compiled.  An open contact holds nothing and exerts no force; a problem with this mask has the
        solution of the problem of the closed contacts alone.

        Args:
            contacts: For each contact of the controller True where it is closed, in their order.

        Raises:
            ModelError: The controller is not ``switched``, or the mask does not fit its contacts.
        """
        places = self._solver.plan.setup.contacts
        if not self._solver.plan.setup.switches:
            raise ModelError("contacts of this loop are constant: make it by WholeBody(..., switched=True)")
        mask = np.asarray(contacts)
        if mask.shape != (len(places),) or not np.isin(mask, (0, 1)).all():
            raise ModelError(f"a mask of contacts must be {len(places)} truth values, got {describe(contacts)}")
        self._numbers[len(self._numbers) - len(places) :] = mask

    @property
    def found(self) -> WholeBodyResult:
        """Full result of the last tick."""
        if self._answer is None:
            raise ModelError("this loop has not been called yet")
        return result_with_status(self.model, self.levels, self._solver, self._answer)

    def _check_time(self, t: Scalar, late: float) -> None:
        """Raise an error where a tick comes too late."""
        if not np.isfinite(t):
            raise NumericsError(f"the time of a tick must be finite (s), got {describe(t)}")
        gap, self._last_time = 0.0 if self._last_time is None else t - self._last_time, t
        if gap < 0.0 or gap > late:
            raise NumericsError(f"t = {t:.6g} s must be at most {late:g} s after the last tick, got {gap:.6g} s")


def coordinates(model: Model, state: State) -> Vector:
    """Flat coordinates (nq), for kernels."""
    return model.flatten(state)[0]


def result_with_status(model: Model, levels: Levels, solver: Solver, found: Solution) -> WholeBodyResult:
    """Result with the status that follows from the residuals."""
    setup, shape, x = solver.plan.setup, solver.plan.shape, found.x
    acceleration = setup.motion(model, x)
    asked = solver.value[shape.equations : shape.equations + shape.ends[len(levels)]]
    flat = [task for level in levels for task in level]
    ends = np.cumsum([task.rows(model) for task in flat])[:-1]
    residuals = np.split(found.misses[: len(asked)].copy(), ends) if flat else []
    weighs = solver.root[: len(asked)] > 0.0
    size = max(1.0, float(np.abs(acceleration).max(initial=0.0)), float(np.abs(asked[weighs]).max(initial=0.0)))
    missed = np.split((np.abs(found.misses[: len(asked)]) > TASK_TOLERANCE * size) & weighs, ends) if flat else []
    unmet = tuple(task.name for task, miss in zip(flat, missed, strict=True) if miss.any())
    active: dict[str, float] = {}
    for i in np.flatnonzero(found.multipliers):
        active[shape.limits[i]] = active.get(shape.limits[i], 0.0) + abs(float(found.multipliers[i]))
    return WholeBodyResult(
        torques=solver.torques(found),
        acceleration=acceleration,
        forces=setup.contact_forces(model, x, found.misses[len(asked) :]),
        status=_status(found, bool(unmet)),
        levels=_outcomes(levels, missed, found.interrupted),
        residuals=tuple(residuals),
        ranks=found.ranks[: len(levels)],
        unmet=unmet,
        active=active,
        conflicts=_conflicts(solver, found, active),
        optimality=found.optimality,
        rounds=found.rounds,
    )


def _status(found: Solution, unmet: bool) -> str:
    if found.interrupted:
        return "interrupted"
    if found.contradiction or found.excess.any():
        return "infeasible"
    return "compromise" if unmet else "solved"


def _outcomes(levels: Levels, missed: Sequence[Any], interrupted: bool) -> tuple[LevelStatus, ...]:
    """Outcome of each level; ``missed``: for each task the rows that are not met."""
    below = LevelStatus.INTERRUPTED if interrupted else LevelStatus.COMPROMISED
    tasks = iter(missed)
    return tuple(below if any(next(tasks).any() for _ in level) else LevelStatus.MET for level in levels)


def _conflicts(solver: Solver, found: Solution, active: dict[str, float]) -> tuple[str, ...]:
    """Names of violated limits, or of those that contradict each other, and of contradictory contacts."""
    contacts = [f"contact of {place!r}" for place in solver.plan.setup.contacts] if found.contradiction else []
    if found.interrupted:
        beyond = np.flatnonzero(solver.excess(found.x))
        return (*contacts, *dict.fromkeys(solver.plan.shape.limits[i] for i in beyond))
    return (*contacts, *(active if found.excess.any() else ()))
