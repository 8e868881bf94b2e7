"""Velocities that do what tasks ask for, by priority, within limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..arrays import concatenate, inverse_root, is_numeric
from ..arrays.arguments import as_array
from ..arrays.types import Matrix, Twist, Vector
from ..dynamics import mass_matrix
from ..dynamics.checks import check_dynamic, check_state
from ..dynamics.sweeps import places_above
from ..errors import ModelError, NumericsError, told
from ..kernels import compile
from ..model import Model, State
from .active_set import limited
from .least_squares import LEAST, RANK, Level, hierarchical
from .limits import Limit, Rows
from .sorted_limits import sorted_out
from .tasks.task import Demand, Task, count, filled, packed, stacked

MET = 1e-9
"""A task is met where what it misses is below this, relative to what all tasks ask for."""
METRICS = ("energy", "rates")
Levels = tuple[tuple[Task, ...], ...]


@dataclass(frozen=True)
class Velocities:
    """What :func:`velocities` found."""

    twist: Twist
    """``m``: of the base, body-fixed"""
    rates: Vector
    """``n``"""
    status: str
    """``solved``: every task is met; ``compromise``: those of ``unmet`` are not, because of damping, limits, rank or
    tasks beside and above them; ``infeasible``: the limits of ``conflicts`` contradict each other, and those among them
    that standing still would break gave way, by the least sum of squares"""
    residuals: tuple[Vector, ...]
    """for each task, in the order given, ``J v`` less what it asks for"""
    ranks: tuple[int, ...]
    """for each level how many of its rows are independent of each other and of the levels before"""
    unmet: tuple[str, ...] = ()
    """names of the tasks that are not met"""
    active: dict[str, float] | None = None
    """limits that hold something back, with their multipliers: how fast half the weighted sum of squares of the first
    level that feels it would fall if the limit gave way; None where there are no limits"""
    conflicts: tuple[str, ...] = ()
    optimality: float = 0.0
    """the largest violation of the optimality conditions under limits, relative to the gradients"""

    @property
    def velocity(self) -> Vector:
        """``m + n``: the quasi-velocity ``[twist; rates]``."""
        return np.concatenate([self.twist, self.rates])


def velocities(
    model: Model,
    state: State,
    tasks: Sequence[Sequence[Task]],
    *,
    limits: Sequence[Limit] = (),
    damping: float = 0.0,
    metric: str | Matrix | None = None,
    last: Velocities | None = None,
) -> Velocities:
    """The velocity that meets ``tasks``: an outer list of priorities, each a list of tasks that share it.

    A task of a lower priority does not move what a higher one asks for; tasks of one priority share what cannot be met
    by their weights ([ETH] (2.214)-(2.220)).  ``limits`` are above all tasks.  ``damping`` keeps velocities small near
    singularities, at the cost of accuracy (2.208), and leaves priorities strict.

    What is left open is settled by the least norm: ``metric="rates"``, the sum of squares of joint rates, for a fixed
    base; ``"energy"``, the kinetic energy, for one that moves (there the first would depend on the frame of the base);
    or ``v' metric v`` for a matrix (nv x nv).  No answer depends on the base that was chosen.

    In a loop, give the ``last`` answer: the limits that held there are the first guess of those that hold now, which
    changes nothing but the time.  The first call for a robot and these kinds of tasks compiles what they ask for.

    >>> import fallingcat as fc
    >>> arm = fc.robots.planar_arm()
    >>> at = arm.state(joints=[np.pi / 6, np.pi / 3, np.pi / 3])
    >>> tip = fc.control.PositionTask("end_effector", velocity=[1.0, 0.0, 1.0], mask=(True, False, True))
    >>> still = fc.control.JointsTask(joints=("joint1", "joint2"))
    >>> fc.control.velocities(arm, at, [[tip], [still]]).rates.round(3)  # [ETH] (2.238)
    array([-0.169, -0.085, -1.07 ])
    """
    levels = checked_levels(model, state, tasks)
    damping, before = damped_by(damping), _held_before(last)
    metric, W = metric_of(model, metric)
    forms = tuple(tuple(task.form for task in level) for level in levels)
    numbers = packed(model, [task for level in levels for task in level])
    ask = _asking(model, forms, metric)
    problem, root = ask(state, numbers, W)
    v, ranks = hierarchical(problem, model.nv, damping, root)
    rows = _rows(model, state, limits)
    answer = _Answer(v, tuple(ranks), None if rows is None else {})
    if rows is not None and not (rows.G @ v <= rows.h + 1e-12 * (1.0 + np.abs(rows.h))).all():
        answer = _within(problem, rows, damping, root, answer, before)
    return _judged(model, levels, problem, answer)


class _Answer(NamedTuple):
    v: np.ndarray
    ranks: tuple[int, ...]
    active: dict[str, float] | None
    conflicts: tuple[str, ...] = ()
    optimality: float = 0.0


def prioritised(model: Model, state: State, numbers: Any, damping: Any, *, forms: Levels, metric: str) -> Any:
    """The velocity (nv) for tasks given by their form and numbers, without limits, on every kind of number.

    ``fc.compile(model, prioritised, inputs={"numbers": count, "damping": ()}, forms=..., metric="energy")`` is a whole
    controller as straight-line code.
    """
    problem = _problem(model, state, numbers, forms)
    return hierarchical(problem, model.nv, damping, root_of(model, state, metric, None)).x


def demanded(model: Model, state: State, numbers: Any, *, forms: Levels, metric: str) -> Any:
    """Flat: for each level ``J`` (rows x nv), what its rows ask for, their weights; for "energy" also ``M``."""
    parts = [x.reshape(-1) for level in _problem(model, state, numbers, forms) for x in level]
    return concatenate([*parts, *([mass_matrix(model, state).reshape(-1)] if metric == "energy" else [])])


def _problem(model: Model, state: State, numbers: Any, forms: Levels) -> list[Level]:
    tasks = iter(filled(model, [form for level in forms for form in level], numbers))
    return [_level(model, [next(tasks).demand(model, state) for _ in level]) for level in forms]


def _level(model: Model, demands: Sequence[Demand]) -> Level:
    return Level(
        stacked([d.J for d in demands], (0, model.nv)),
        stacked([d.velocity for d in demands], (0,)),
        stacked([d.weight for d in demands], (0,)),
    )


def root_of(model: Model, state: State, metric: str, W: Any) -> Any:
    """``R`` with ``|R^-1 v|`` the norm of the metric; None for plain rates."""
    if metric == "rates":
        return None
    if metric == "energy":
        return inverse_root(mass_matrix(model, state), places_above(model))
    return inverse_root(W, range(-1, model.nv - 1))


@lru_cache(maxsize=64)
def _asking(model: Model, forms: Levels, metric: str) -> Callable[[State, Any, Any], tuple[list[Level], Any]]:
    """``(state, numbers, W) -> levels, root``, from one kernel for a robot and these kinds of tasks."""
    inputs = {"numbers": count(model, [form for level in forms for form in level])}
    kernel = compile(model, demanded, inputs=inputs, state=("pose", "joints"), forms=forms, metric=metric)
    nv, heights = model.nv, [sum(form.rows(model) for form in level) for level in forms]
    sizes = [size for rows in heights for size in (rows * nv, rows, rows)]
    ends = np.cumsum(sizes)

    def ask(state: State, numbers: Any, W: Any) -> tuple[list[Level], Any]:
        found = kernel(state.pose[:3], state.joints, numbers)
        if not np.isfinite(found).all():
            raise NumericsError(f"what these tasks ask of {model.name!r} is not finite")
        *parts, last = np.split(found, ends)
        levels = [
            Level(_felt(parts[3 * i].reshape(n, nv)), *parts[3 * i + 1 : 3 * i + 3]) for i, n in enumerate(heights)
        ]
        W = last.reshape(nv, nv) if metric == "energy" else W
        return levels, None if metric == "rates" else inverse_root(W, ())

    return ask


def _felt(J: np.ndarray) -> np.ndarray:
    """``J`` without rows that are nothing but rounding."""
    J[np.abs(J).max(axis=1, initial=0.0) < RANK * LEAST] = 0.0
    return J


def _within(
    problem: Sequence[Level], rows: Rows, damping: float, root: Any, free: _Answer, before: frozenset[str]
) -> _Answer:
    """The same under limits, of which at least one is in the way, guessed by those that held ``before``."""
    n = len(free.v)
    root = np.eye(n) if root is None else root
    levels, G = [level._replace(A=level.A @ root) for level in problem], rows.G @ root
    held = np.array([name in before for name in rows.names])
    found = sorted_out(levels, G, rows.h, n, held) if damping == 0.0 and n else None
    if found is None:
        found = limited(levels, G, rows.h, n, damping)
    active = {rows.names[i]: float(found.multipliers[i]) for i in np.flatnonzero(found.multipliers)}
    conflicts = tuple(active) if found.excess.any() else ()
    return _Answer(root @ found.x, free.ranks, active, conflicts, found.residual)


def _held_before(last: Any) -> frozenset[str]:
    if last is not None and not isinstance(last, Velocities):
        raise ModelError(f"last is an answer of velocities, not {told(last)}")
    return frozenset() if last is None else frozenset(last.active or ())


# what was given, and what is said of the answer -----------------------------------------------------------------------


def _judged(model: Model, levels: Levels, problem: Sequence[Level], found: _Answer) -> Velocities:
    """With the status that the residuals say."""
    residuals: list[np.ndarray] = []
    for tasks, (A, b, _) in zip(levels, problem, strict=True):
        residuals += np.split(A @ found.v - b, np.cumsum([task.rows(model) for task in tasks])[:-1]) if tasks else []
    size = max(1.0, *(float(np.abs(x).max(initial=0.0)) for x in (found.v, *(level.b for level in problem))))
    names = [task.name for level in levels for task in level]
    missed = [float(np.abs(r).max(initial=0.0)) for r in residuals]
    unmet = tuple(name for name, x in zip(names, missed, strict=True) if x > MET * size)
    status = "infeasible" if found.conflicts else "compromise" if unmet else "solved"
    v, ranks, active, conflicts, optimality = found
    return Velocities(v[: model.m], v[model.m :], status, tuple(residuals), ranks, unmet, active, conflicts, optimality)


def checked_levels(model: Model, state: State, tasks: Any) -> Levels:
    """Tasks by priority, each of which fits the robot."""
    check_state(model, state)
    if not all(is_numeric(x) for x in state):
        raise ModelError("priorities are those of a state of plain numbers: compile `prioritised` for other kinds")
    if isinstance(tasks, (list, tuple)) and any(isinstance(level, Task) for level in tasks):
        raise ModelError("tasks are a list of priorities, each a list of tasks: [[task, ...], ...], not [task, ...]")
    listed = isinstance(tasks, (list, tuple)) and all(isinstance(level, (list, tuple)) for level in tasks)
    if not listed or not all(isinstance(task, Task) for level in tasks for task in level):
        raise ModelError(f"tasks are a list of priorities, each a list of tasks, [[task, ...], ...], not {told(tasks)}")
    levels = tuple(tuple(level) for level in tasks)
    for level in levels:
        for task in level:
            if task.is_packed_for(model):  # looked at before
                continue
            task.check(model)
            if task.aim is not None and np.ndim(task.aim) > len(task.goal_shape(model)):
                raise ModelError(f"{task.name} has {len(task.aim)} goals: a robot goes to one of them at a time")
    return levels


def damped_by(damping: Any) -> float:
    """A damping, looked at."""
    if isinstance(damping, bool) or not isinstance(damping, (int, float, np.number)) or not 0 <= damping <= 1e9:
        raise ModelError(f"damping is a number from 0 to 1e9, not {told(damping)}")
    return float(damping)


def metric_of(model: Model, metric: Any) -> tuple[str, np.ndarray]:
    """Its name, and the matrix where one was given."""
    if metric is None:
        metric = "energy" if model.m else "rates"
    if isinstance(metric, str):
        if metric not in METRICS:
            raise ModelError(f"metric is {' or '.join(METRICS)} or a matrix, not {told(metric)}")
        if metric == "rates" and model.m:
            raise ModelError(f"the rates of {model.name!r} say nothing of its base, which moves: use metric='energy'")
        if metric == "energy":
            check_dynamic(model)
        return metric, np.zeros((0, 0))
    W = as_array(metric, (model.nv, model.nv), "metric")
    if np.abs(W - W.T).max(initial=0.0) > 1e-12 * np.abs(W).max(initial=1.0) or not (np.linalg.eigvalsh(W) > 0.0).all():
        raise ModelError("metric is no symmetric positive definite matrix: it gives no norm")
    return "given", W


def _rows(model: Model, state: State, limits: Any) -> Rows | None:
    """The rows of all limits; None without any."""
    if not isinstance(limits, (list, tuple)) or not all(isinstance(limit, Limit) for limit in limits):
        raise ModelError(f"limits is a list of limits, such as [JointLimits()], not {told(limits)}")
    if not limits:
        return None
    found = [limit.rows(model, state) for limit in limits]
    names = tuple(name for rows in found for name in rows.names)
    return Rows(np.concatenate([r.G for r in found]), np.concatenate([r.h for r in found]), names)
