"""Inverse kinematics: joint configurations at which tasks reach their goals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ..._deprecated import former_arguments
from ...arrays.types import FloatArray
from ...compiler import Kernel
from ...dynamics.checks import check_fields, check_model, check_state, positive
from ...errors import ModelError, describe
from ...model import Model, State
from ...records import of_robot
from ..limits.joint_limits import Limit
from ..tasks.goals import as_numbers, is_moderate
from ..tasks.packing import count
from ..tasks.task import Task
from .constrained import constrained_inverse_kinematics
from .damped_step import DAMPING_FACTOR, DAMPING_GROWTH, REACHED, STEP_MEMORY, Plan, numbers_of, plan_of
from .restarts import all_steps, best_over_starts, from_random_starts
from .result import InverseKinematicsResult, Rules, batch_result, one

MAX_ERROR_RATIO = 0.7
"""Squared error, relative to its average over the last steps, above which a start is left for another: of those that do
not lead to the goal nine of ten, after half of their iterations; of those that would two of a hundred."""


@former_arguments(limited="joint_limits")
def inverse_kinematics(
    model: Model,
    tasks: Sequence[Task] | Sequence[Sequence[Task]],
    start: State | None = None,
    *,
    joint_limits: bool = True,
    tolerance: float = 1e-6,
    iterations: int = 30,
    restarts: int = 20,
    seed: int = 0,
    limits: Sequence[Limit] = (),
) -> InverseKinematicsResult:
    """Inverse kinematics: a state near ``start`` at which all tasks reach their goals.

    Each step is ``dx = W^-1 J' (J W^-1 J' + l)^-1 e`` with a damping ``l`` that vanishes with the error, so that the
    last steps converge quadratically, and without joints that are pushed against their limits.  A start that does not
    lead to the goal, or hardly comes nearer any more, is followed by up to ``restarts`` rounds of random ones.

    Args:
        model: Robot.
        tasks: Tasks; errors are weighted by their weights, gains are not used.  A goal may be one of many:
            ``PoseTask("hand", poses)`` with ``poses`` (count x 4 x 4).  Tasks without a goal stay where they are at the
            start.  A list of lists gives priorities, as in :func:`.velocities`: the first is reached, the others come
            as near as it lets them, such as a posture that a redundant arm prefers.
        start: Initial configuration; None: the neutral one.
        joint_limits: Keep joints within their limits.
        tolerance: Largest error at which a goal is reached (m, rad).
        iterations: Steps from each start at most.
        restarts: Rounds of random starts at most.
        seed: Seed of the random starts.
        limits: Limits beside those of joints, such as :class:`.CollisionLimit`, kept all the way by small steps of
            :func:`.velocities`, for one goal at a time; that takes about a hundred times as long.

    Returns:
        State at rest, with status and errors; for many goals every entry has one more axis in front.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> tip = fc.control.PositionTask("end_effector", [1.5, 0.0, 2.0])
        >>> found = fc.control.inverse_kinematics(arm, [tip], arm.state(joints=[0.1, 0.2, 0.3]))
        >>> found.status, fc.link_pose(arm, found.state, "end_effector")[:3, 3].round(6)
        ('converged', array([1.5, 0. , 2. ]))
        >>> far = fc.control.inverse_kinematics(arm, [tip.replaced(goal=[5.0, 0.0, 1.0])])
        >>> far.status, round(far.error, 6)
        ('out of reach', 2.0)
    """
    if isinstance(limits, (list, tuple)) and not limits and isinstance(start, State):
        options = {"joint_limits": joint_limits, "tolerance": tolerance, "iterations": iterations}
        found = _solved_by_cached(model, tasks, start, options | {"restarts": restarts, "seed": seed})
        if found is not None:
            return found
    levels, start = _check_goals(model, tasks, start)
    rules = _rules(tolerance, iterations, restarts, seed)
    numbers = numbers_of(model, [task for level in levels for task in level])
    if numbers.ndim > 2:
        raise ModelError(f"many goals must have one batch axis, got {numbers.ndim - 1}: {numbers.shape[:-1]}")
    if not isinstance(limits, (list, tuple)) or limits:
        if numbers.ndim > 1:
            raise ModelError("inverse kinematics with limits takes one goal at a time")
        return constrained_inverse_kinematics(model, levels, start, limits, _flag(joint_limits), rules)
    plan = plan_of(model, tuple(tuple(task.form for task in level) for level in levels), _flag(joint_limits))
    if numbers.ndim == 1:

        def steps_from(q: np.ndarray) -> np.ndarray:
            return plan.kernel.until(
                np.append(q, np.zeros(STEP_MEMORY)), numbers, rules.settings, most=rules.iterations
            )

        return _solve_goal(model, plan, start, numbers, rules, steps_from)
    x = np.zeros((len(numbers), model.nq + STEP_MEMORY))
    x[..., : model.nq] = _coordinates(model, plan, start)
    first = all_steps(plan.kernel, x[:, None], numbers[:, None], rules)[:, 0]
    return batch_result(model, plan, start, best_over_starts(model, plan, first, numbers, rules), numbers, rules)


@of_robot
@former_arguments(limited="joint_limits")
class InverseKinematics:
    """Inverse kinematics prepared for a loop: ``found = reach(start, goal, ...)``, one goal for each task.

    Arguments are checked once, and a call is one call of machine code.

    Args:
        model: Robot.
        tasks: Tasks as of :func:`inverse_kinematics`; they need no goals here.
        joint_limits: Keep joints within their limits.
        tolerance: Largest error at which a goal is reached (m, rad).
        iterations: Steps from each start at most.
        restarts: Rounds of random starts at most.
        seed: Seed of the random starts.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> reach = InverseKinematics(arm, [fc.control.PositionTask("end_effector")])
        >>> found = reach(arm.state(joints=[0.1, 0.2, 0.3]), [1.5, 0.0, 2.0])
        >>> found.status, found.iterations
        ('converged', 5)
    """

    def __init__(
        self,
        model: Model,
        tasks: Sequence[Task] | Sequence[Sequence[Task]],
        *,
        joint_limits: bool = True,
        tolerance: float = 1e-6,
        iterations: int = 30,
        restarts: int = 20,
        seed: int = 0,
    ) -> None:
        """See the class."""
        levels, _ = _check_goals(model, tasks, None)
        aims = [task for level in levels for task in level]
        self.model, self.tasks = model, tuple(aims)
        options: dict[str, Any] = {"tolerance": tolerance, "iterations": iterations, "restarts": restarts, "seed": seed}
        self._made_of = (model, tuple(map(tuple, levels))), {"joint_limits": joint_limits, **options}
        self._rules = _rules(tolerance, iterations, restarts, seed)
        self._plan = plan_of(model, tuple(tuple(task.form for task in level) for level in levels), _flag(joint_limits))
        self._numbers, self._x = numbers_of(model, aims), np.zeros(model.nq + STEP_MEMORY)
        if self._numbers.ndim > 1:
            raise ModelError("tasks of an InverseKinematics must have one goal each; give goals to its calls")
        self._places = _goal_places(model, aims)
        self._shapes = ((4, 4), (model.nq - model.base.nq,), (model.m,), (model.n,))
        self._iterate, self._outputs = self.kernel.repeater(
            self._x, self._numbers, self._rules.settings, most=self._rules.iterations
        )

    @property
    def kernel(self) -> Kernel:
        """Kernel of one step: ``k.until(x, numbers, settings, most=...)``.

        ``x = [q; 0; 0]``, ``settings = [tolerance, damping, rest, bend, hope]``.
        """
        return self._plan.kernel

    def __reduce__(self) -> Any:
        """Pickle by its arguments: a copy, here or in another process, has memory and code of its own."""
        arguments, options = self._made_of
        made: Any = partial(type(self), **options)
        return made, arguments

    def numbers(self, *goals: Any) -> FloatArray:
        """Arguments of the kernel for goals.

        Args:
            *goals: One goal for each task, in order.

        Returns:
            Numbers (k) of all tasks; the array is used again by the next call.
        """
        if len(goals) != len(self.tasks):
            raise ModelError(f"an InverseKinematics needs one goal for each task, {len(self.tasks)}, got {len(goals)}")
        for task, place, goal in zip(self.tasks, self._places, goals, strict=True):
            if not is_moderate(goal):
                goal = as_numbers(goal, f"goal of {task.name}")
            if np.shape(goal) != task.aim.shape:
                raise ModelError(f"goal of {task.name} must have shape {task.aim.shape}, got {np.shape(goal)}")
            task.check_goal(goal)
            self._numbers[place] = goal.reshape(-1)
        return self._numbers

    def __call__(self, start: State, *goals: Any) -> InverseKinematicsResult:
        """State that reaches the goals, found from ``start``; one call at a time.

        Args:
            start: Initial configuration.
            *goals: One goal for each task, in order.

        Returns:
            State at rest, with status and errors.
        """
        numbers = self.numbers(*goals)
        if not self._accepts(start):
            check_fields(self.model, start)
        return _solve_goal(self.model, self._plan, start, numbers, self._rules, self._iterated_from)

    def like(self, tasks: Sequence[Task], start: State) -> InverseKinematicsResult:
        """State that reaches the goals of tasks that differ from its own only in their goals.

        Args:
            tasks: Tasks of the same kinds, in order.
            start: Initial configuration.

        Returns:
            State at rest, with status and errors.
        """
        for task, place in zip(tasks, self._places, strict=True):
            self._numbers[place] = task.aim.reshape(-1)
        return _solve_goal(self.model, self._plan, start, self._numbers, self._rules, self._iterated_from)

    def _accepts(self, start: Any) -> bool:
        """True for a numeric state of the right shapes; a quick test."""
        if type(start) is not State:
            return False
        a, b, c, d = start
        if not type(a) is type(b) is type(c) is type(d) is np.ndarray:
            return False
        return (
            a.shape,
            b.shape,
            c.shape,
            d.shape,
        ) == self._shapes and a.dtype == b.dtype == c.dtype == d.dtype == float

    def _iterated_from(self, q: np.ndarray) -> np.ndarray:
        """Last outputs of the steps from flat coordinates."""
        self._x[:-STEP_MEMORY], self._x[-STEP_MEMORY:] = q, 0.0
        self._iterate()
        return self._outputs.copy()


def _solved_by_cached(
    model: Model, tasks: Any, start: State, options: dict[str, Any]
) -> InverseKinematicsResult | None:
    """Result of a solver that an earlier call has prepared for tasks like these.

    None where tasks have no goal, many goals or a number for each row, or where an argument is invalid.
    """
    levels = _levels(tasks)
    usual = isinstance(model, Model) and all(isinstance(level, (list, tuple)) and level for level in levels)
    aims = [task for level in levels for task in level] if usual else []
    keys = [task.key if isinstance(task, Task) else None for task in aims]
    if not keys or None in keys:
        return None
    check_state(model, start)
    try:
        idle = _idle_solvers(model, *keys, *map(len, levels), *options.values())
    except TypeError:  # unhashable: lists instead of numbers
        return None
    try:
        solver = idle.pop()
    except IndexError:  # the first call, or another thread has it
        if any(task.aim.shape != task.goal_shape(model) for task in aims):
            return None
        solver = InverseKinematics(model, tasks, **options)
    found = solver.like(aims, start)
    idle.append(solver)
    return found


@lru_cache(maxsize=64, typed=True)
def _idle_solvers(*about: Any) -> list[InverseKinematics]:
    """Idle solvers of one robot, kinds of tasks and settings."""
    return []


def _solve_goal(
    model: Model,
    plan: Plan,
    start: State,
    numbers: np.ndarray,
    rules: Rules,
    steps: Callable[[np.ndarray], np.ndarray],
) -> InverseKinematicsResult:
    """Result for one goal, where ``steps`` maps flat coordinates to the last outputs."""
    found = steps(_coordinates(model, plan, start))
    if found[-1] != REACHED:
        found = from_random_starts(model, found, steps, rules)
    if found[-1] != REACHED or plan.first_rows < plan.rows:
        found = best_over_starts(model, plan, found[None], numbers[None], rules)[0]
    return one(model, plan, start, found, numbers, rules)


def _rules(tolerance: float, iterations: int, restarts: int, seed: int) -> Rules:
    hope = MAX_ERROR_RATIO if _integer(restarts, 0) else np.inf
    settings = np.array([positive(tolerance, "tolerance"), DAMPING_FACTOR, np.inf, DAMPING_GROWTH, hope])
    return Rules(settings, _integer(iterations, 1), restarts, _integer(seed, 0))


def _coordinates(model: Model, plan: Plan, start: State) -> np.ndarray:
    """Flat coordinates within the limits."""
    q = np.concatenate([model.base.coordinates(start.pose), start.joints]) if model.m else start.joints
    return np.minimum(np.maximum(q, plan.lower), plan.upper)


def _goal_places(model: Model, tasks: Sequence[Task]) -> list[slice]:
    """Slices of the goals among the numbers; a goal comes first among those of its task."""
    starts = np.cumsum([0, *(count(model, (task,)) for task in tasks)])
    sizes = [int(np.prod(task.goal_shape(model), dtype=int)) for task in tasks]
    return [slice(int(start), int(start) + size) for start, size in zip(starts, sizes, strict=False)]


# checks of arguments --------------------------------------------------------------------------


def _check_goals(model: Model, tasks: Any, start: Any) -> tuple[list[list[Task]], State]:
    """The tasks by priority, each with a goal, and where to start."""
    check_model(model)
    start = model.neutral() if start is None else start
    check_state(model, start)
    levels = _levels(tasks)
    for level in levels:
        if not isinstance(level, (list, tuple)) or not level or not all(isinstance(task, Task) for task in level):
            raise ModelError(
                f"tasks must be a list of at least one task, such as [PoseTask('hand', H)], got {describe(tasks)}"
            )
    if not model.nv:
        raise ModelError(f"{model.name!r} has no degrees of freedom: its joints and base are fixed")
    found: list[list[Task]] = []
    for level in levels:
        found.append([])
        for task in level:
            task.check(model)
            found[-1].append(task if task.aim is not None else task.replaced(goal=task.value(model, start)))
    aims = [task for level in found for task in level]
    counts = {len(task.aim) for task in aims if np.ndim(task.aim) > len(task.goal_shape(model))}
    if len(counts) > 1:
        raise ModelError(f"tasks must have equally many goals, or one, got {' and '.join(map(str, sorted(counts)))}")
    return found, start


def _levels(tasks: Any) -> Any:
    """Tasks by priority, unchecked."""
    nested = isinstance(tasks, (list, tuple)) and tasks and isinstance(tasks[0], (list, tuple))
    return tasks if nested else [tasks]


def _flag(joint_limits: Any) -> bool:
    if not isinstance(joint_limits, (bool, np.bool_)):
        raise ModelError(f"joint_limits must be True or False, got {describe(joint_limits)}")
    return bool(joint_limits)


def _integer(x: Any, least: int) -> int:
    if isinstance(x, bool) or not isinstance(x, (int, np.integer)) or x < least:
        raise ModelError(f"iterations, restarts and seed must be integers of at least {least}, got {describe(x)}")
    return int(x)
