"""Differential inverse kinematics: velocities for prioritized tasks within limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from ...arrays import concatenate, inverse_root, is_numeric
from ...arrays.arguments import as_array
from ...arrays.types import Matrix, Matrix_nv_nv, Scalar, Twist, Vector, Vector_n, Vector_nv
from ...compiler import compile
from ...dynamics import mass_matrix
from ...dynamics.checks import check_dynamic, check_state
from ...dynamics.sweeps import places_above
from ...errors import ModelError, NumericsError, describe
from ...model import Model, State
from ...qp.hqp_reference import LimitedResult, limited_least_squares
from ...qp.least_squares import MIN_LEVEL_SIZE, RANK_TOLERANCE, Level, hierarchical
from ...qp.warm_started_hqp import Stack, WarmStartedResult, solve_warm_started
from ...records import tabulated
from ..limits.joint_limits import Limit, Rows, all_limits
from ..tasks.demand import Demand, stack_parts
from ..tasks.packing import count, fill_tasks, pack_tasks
from ..tasks.task import Task

TASK_TOLERANCE = 1e-9
"""Residual below which a task is met, relative to the largest desired velocity: rounding of the solver."""
METRICS = ("energy", "rates")
"""Measures of velocities that tasks leave open: kinetic energy, or squared rates."""
Levels = tuple[tuple[Task, ...], ...]


@tabulated
@dataclass(frozen=True)
class DifferentialIKResult:
    """Result of :func:`velocities`.

    Example:
        >>> DifferentialIKResult(np.zeros(6), np.ones(2), "solved", (), ()).velocity
        array([0., 0., 0., 0., 0., 0., 1., 1.])
    """

    twist: Twist
    """``m``: twist of the base, body-fixed (m/s, rad/s)"""
    rates: Vector_n
    """``n`` (rad/s or m/s)"""
    status: str
    """``solved``: every task is met; ``compromise``: those of ``unmet`` are not, because of damping, limits, rank or
    tasks beside and above them; ``infeasible``: the limits of ``conflicts`` contradict each other, and those among them
    that zero velocity violates were relaxed, by the least sum of squares"""
    residuals: tuple[Vector, ...]
    """for each task, in the order given, ``J v`` minus its desired velocity"""
    ranks: tuple[int, ...]
    """for each level the number of rows that are independent of each other and of the levels before"""
    unmet: tuple[str, ...] = ()
    """names of the tasks that are not met"""
    active: dict[str, float] | None = None
    """active limits, with their multipliers: the rate at which half the weighted sum of squares of the first level that
    depends on it would fall if the limit were relaxed; None where there are no limits"""
    conflicts: tuple[str, ...] = ()
    optimality: float = 0.0
    """the largest violation of the optimality conditions under limits, relative to the gradients"""

    @property
    def velocity(self) -> Vector_nv:
        """Quasi-velocity ``[twist; rates]`` (nv)."""
        return np.concatenate([self.twist, self.rates])


def velocities(
    model: Model,
    state: State,
    tasks: Sequence[Sequence[Task]],
    *,
    limits: Sequence[Limit] = (),
    damping: float = 0.0,
    metric: str | Matrix_nv_nv | None = None,
    last: DifferentialIKResult | None = None,
) -> DifferentialIKResult:
    """Velocity that meets prioritized tasks within limits (differential inverse kinematics).

    A task of a lower priority does not disturb one of a higher priority; tasks of one priority share what cannot be met
    by their weights ([ETH] (2.214)-(2.220)).  No answer depends on the link that was chosen as base.  The first call
    for
    a robot and these kinds of tasks compiles code.

    Args:
        model: Robot.
        state: Configuration and velocity.
        tasks: List of priorities, the highest first, each a list of tasks that share it.
        limits: Limits above all tasks.
        damping: Keeps velocities small near singularities, at the cost of accuracy (2.208); priorities stay strict.
        metric: Norm that settles what tasks leave open: ``"rates"``, the sum of squares of joint rates, for a fixed
            base; ``"energy"``, the kinetic energy, for a floating one (there the first would depend on the frame of
            the base); or ``v' metric v`` for a matrix (nv x nv).
        last: Result of the last tick of a loop; its active limits are the first guess, which saves time.

    Returns:
        Twist (m; m/s, rad/s) and rates (n; rad/s or m/s), with status, residuals and active limits.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> at = arm.state(joints=[np.pi / 6, np.pi / 3, np.pi / 3])
        >>> tip = fc.control.PositionTask("end_effector", velocity=[1.0, 0.0, 1.0], mask=(True, False, True))
        >>> still = fc.control.JointsTask(joints=("joint1", "joint2"))
        >>> fc.control.velocities(arm, at, [[tip], [still]]).rates.round(3)  # [ETH] (2.238)
        array([-0.169, -0.085, -1.07 ])
    """
    levels = checked_levels(model, state, tasks)
    damping, before = damped_by(damping), _last_active_set(last)
    metric, W = metric_of(model, metric)
    forms = tuple(tuple(task.form for task in level) for level in levels)
    numbers = pack_tasks(model, [task for level in levels for task in level])
    plan = _plan_of(model, forms, metric)
    stack, W = plan.ask(state, numbers, W)
    rows = _rows(model, state, limits)
    answer = _warm_started(stack, W, rows, before) if damping == 0.0 and model.nv else None
    return _result(model, levels, plan.ends, stack, answer or _reference_solution(stack, W, rows, damping))


class _Solution(NamedTuple):
    v: np.ndarray
    misses: np.ndarray
    ranks: tuple[int, ...]
    active: dict[str, float] | None
    conflicts: tuple[str, ...] = ()
    optimality: float = 0.0


def prioritised_velocity(
    model: Model, state: State, numbers: Vector, damping: Scalar, *, forms: Levels, metric: str
) -> Vector:
    """Velocity (nv) for tasks given by their forms and numbers, without limits, for every kind of number.

    ``fc.compile(model, prioritised_velocity, inputs={"numbers": count, "damping": ()}, forms=..., metric="energy")`` is
    a whole controller as straight-line code.
    """
    problem = _problem(model, state, numbers, forms)
    return hierarchical(problem, model.nv, damping, root_of(model, state, metric, None)).x


def stack_demands(model: Model, state: State, numbers: Vector, *, forms: Levels, metric: str) -> Vector:
    """Flat array of ``J`` (rows x nv), desired velocities and weights of all levels; for "energy" also ``M``."""
    levels = _problem(model, state, numbers, forms)
    parts = [x.reshape(-1) for kind in zip(*levels, strict=True) for x in kind]
    return concatenate([*parts, *([mass_matrix(model, state).reshape(-1)] if metric == "energy" else [])])


def _problem(model: Model, state: State, numbers: Vector, forms: Levels) -> list[Level]:
    tasks = iter(fill_tasks(model, [form for level in forms for form in level], numbers))
    return [_level(model, [next(tasks).demand(model, state) for _ in level]) for level in forms]


def _level(model: Model, demands: Sequence[Demand]) -> Level:
    return Level(
        stack_parts([d.J for d in demands], (0, model.nv)),
        stack_parts([d.velocity for d in demands], (0,)),
        stack_parts([d.weight for d in demands], (0,)),
    )


def root_of(model: Model, state: State, metric: str, W: Matrix) -> Matrix:
    """Matrix ``R`` with ``|R^-1 v|`` the norm of the metric; None for plain rates."""
    if metric == "rates":
        return None
    if metric == "energy":
        return inverse_root(mass_matrix(model, state), places_above(model))
    return inverse_root(W, range(-1, model.nv - 1))


class _Plan(NamedTuple):
    """Compiled problem of a robot and kinds of tasks."""

    ask: Callable[[State, Any, Any], tuple[Stack, Any]]
    """``(state, numbers, W) -> levels, W``, from one kernel"""
    ends: tuple[int, ...]
    """end of the rows of each task, after a zero"""


@lru_cache(maxsize=64)
def _plan_of(model: Model, forms: Levels, metric: str) -> _Plan:
    flat = [form for level in forms for form in level]
    kernel = compile(
        model,
        stack_demands,
        inputs={"numbers": count(model, flat)},
        state=("pose", "joints"),
        forms=forms,
        metric=metric,
    )
    ends = (0, *accumulate(form.rows(model) for form in flat))
    of_levels = tuple(ends[i] for i in (0, *accumulate(map(len, forms))))
    nv, k = model.nv, ends[-1]

    def ask(state: State, numbers: Any, W: Any) -> tuple[Stack, Any]:
        found = kernel(state.pose[:3], state.joints, numbers)
        if not np.isfinite(found).all():
            raise NumericsError(f"desired velocities of these tasks of {model.name!r} are not finite")
        A, b, weight, M = (found[i:j] for i, j in pairwise((0, k * nv, k * nv + k, k * nv + 2 * k, len(found))))
        W = M.reshape(nv, nv) if metric == "energy" else W
        return Stack(_without_rounding(A.reshape(k, nv)), b, weight, of_levels), None if metric == "rates" else W

    return _Plan(ask, ends)


def _without_rounding(J: np.ndarray) -> np.ndarray:
    """``J`` with rows that are rounding errors set to zero."""
    J[np.abs(J).max(axis=1, initial=0.0) < RANK_TOLERANCE * MIN_LEVEL_SIZE] = 0.0
    return J


def _warm_started(stack: Stack, W: Any, rows: Rows | None, before: frozenset[str]) -> _Solution | None:
    """Compiled solution, first without limits, then with those active ``before`` as a guess; None where that fails."""
    n = stack.A.shape[1]
    norm = np.eye(n) if W is None else np.linalg.cholesky(W).T
    free = solve_warm_started(stack, norm, np.zeros((0, n)), np.zeros(0), False)
    if free is None or rows is None:
        return free and _Solution(free.x, free.misses, free.ranks, None)
    if _satisfies_limits(rows, free.x):
        return _Solution(free.x, free.misses, free.ranks, {})
    found = solve_warm_started(stack, norm, rows.G, rows.h, [name in before for name in rows.names])
    return found and _Solution(found.x, found.misses, free.ranks, _active(rows, found), (), found.residual)


def _reference_solution(stack: Stack, W: Any, rows: Rows | None, damping: float) -> _Solution:
    """Reference solution by singular values, and by a primal active set where limits are active."""
    n, problem = stack.A.shape[1], stack.levels
    root = None if W is None else inverse_root(W, ())
    v, ranks = hierarchical(problem, n, damping, root)
    if rows is None or _satisfies_limits(rows, v):
        return _Solution(v, stack.A @ v - stack.b, tuple(ranks), None if rows is None else {})
    root = np.eye(n) if root is None else root
    found = limited_least_squares(
        [level._replace(A=level.A @ root) for level in problem], rows.G @ root, rows.h, n, damping
    )
    active, v = _active(rows, found), root @ found.x
    conflicts = tuple(active) if found.excess.any() else ()
    return _Solution(v, stack.A @ v - stack.b, tuple(ranks), active, conflicts, found.residual)


def _satisfies_limits(rows: Rows, v: np.ndarray) -> bool:
    # 1 +: a limit of zero has no size of its own
    return bool((rows.G @ v <= rows.h + 1e-12 * (1.0 + np.abs(rows.h))).all())


def _active(rows: Rows, found: WarmStartedResult | LimitedResult) -> dict[str, float]:
    return {rows.names[i]: float(found.multipliers[i]) for i in np.flatnonzero(found.multipliers)}


def _last_active_set(last: Any) -> frozenset[str]:
    if last is not None and not isinstance(last, DifferentialIKResult):
        raise ModelError(f"last must be a result of velocities, got {describe(last)}")
    return frozenset() if last is None else frozenset(last.active or ())


# checks and status ----------------------------------------------------------------------------------------------------


def _result(
    model: Model, levels: Levels, ends: tuple[int, ...], stack: Stack, found: _Solution
) -> DifferentialIKResult:
    """Result with the status that follows from the residuals."""
    v, misses, ranks, active, conflicts, optimality = found
    residuals = tuple(misses[i:j] for i, j in pairwise(ends))
    size = max(1.0, float(np.abs(v).max(initial=0.0)), float(np.abs(stack.b).max(initial=0.0)))
    missed, flat = np.abs(misses) > TASK_TOLERANCE * size, [task for level in levels for task in level]
    unmet = tuple(task.name for task, (i, j) in zip(flat, pairwise(ends), strict=True) if missed[i:j].any())
    status = "infeasible" if conflicts else "compromise" if unmet else "solved"
    return DifferentialIKResult(
        v[: model.m], v[model.m :], status, residuals, ranks, unmet, active, conflicts, optimality
    )


def checked_levels(model: Model, state: State, tasks: Any) -> Levels:
    """Tasks by priority, each of which fits the robot."""
    check_state(model, state)
    if not all(is_numeric(x) for x in state):
        raise ModelError("the state must be numeric: compile `prioritised` for other kinds of number")
    if isinstance(tasks, (list, tuple)) and any(isinstance(level, Task) for level in tasks):
        raise ModelError(
            "tasks must be a list of priorities, each a list of tasks: [[task, ...], ...], got [task, ...]"
        )
    listed = isinstance(tasks, (list, tuple)) and all(isinstance(level, (list, tuple)) for level in tasks)
    if not listed or not all(isinstance(task, Task) for level in tasks for task in level):
        raise ModelError(f"tasks must be a list of priorities, each a list: [[task, ...], ...], got {describe(tasks)}")
    levels = tuple(tuple(level) for level in tasks)
    for level in levels:
        for task in level:
            if task.is_packed_for(model):  # checked before
                continue
            task.check(model)
            if task.aim is not None and np.ndim(task.aim) > len(task.goal_shape(model)):
                raise ModelError(f"{task.name} must have one goal, got {len(task.aim)}")
    return levels


def damped_by(damping: Any) -> float:
    """Checked damping."""
    if isinstance(damping, bool) or not isinstance(damping, (int, float, np.number)) or not 0 <= damping <= 1e9:
        raise ModelError(f"damping must be a number from 0 to 1e9, got {describe(damping)}")
    return float(damping)


def metric_of(model: Model, metric: Any) -> tuple[str, np.ndarray]:
    """Name of the metric, and the matrix where one was given."""
    if metric is None:
        metric = "energy" if model.m else "rates"
    if isinstance(metric, str):
        if metric not in METRICS:
            raise ModelError(f"metric must be {' or '.join(METRICS)} or a matrix, got {describe(metric)}")
        if metric == "rates" and model.m:
            raise ModelError(f"metric='rates' leaves out the floating base of {model.name!r}: use metric='energy'")
        if metric == "energy":
            check_dynamic(model)
        return metric, np.zeros((0, 0))
    W = as_array(metric, (model.nv, model.nv), "metric")
    if np.abs(W - W.T).max(initial=0.0) > 1e-12 * np.abs(W).max(initial=1.0) or not (np.linalg.eigvalsh(W) > 0.0).all():
        raise ModelError("metric must be a symmetric positive definite matrix")
    return "given", W


def _rows(model: Model, state: State, limits: Any) -> Rows | None:
    """Rows of all limits; None without any."""
    if not all_limits(limits, "[JointLimits()]"):
        return None
    found = [limit.rows(model, state) for limit in limits]
    names = tuple(name for rows in found for name in rows.names)
    return Rows(np.concatenate([r.G for r in found]), np.concatenate([r.h for r in found]), names)
