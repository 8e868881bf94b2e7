"""Inverse kinematics: where joints have to be so that tasks reach their goals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..arrays import absolute, concatenate, less, maximum, scale, solve_tree, sqrt, stack, where
from ..dynamics import mass_matrix
from ..dynamics.checks import check_dynamic, check_state, positive
from ..dynamics.sweeps import places_above
from ..errors import ModelError, told
from ..kernels import Kernel
from ..kernels.kernel import compile_step
from ..model import Model, State
from .limits import joint_bounds
from .tasks.task import Task, count, filled, packed, stacked

MANY = 64
"""Starts at once when few goals are left."""
CHUNK = 16
"""Steps of a batch until those that are done make room for others."""
STILL = 1e-9
"""Of the gradient ``J' W e``, relative to ``|J| |W e|``, below which a point is stationary."""
REACHED, STATIONARY = 1.0, 2.0
DAMPING, LEAST = 0.3, 1e-10
"""Of steps, relative to the mean of the diagonal of ``J W^-1 J'``: times the mean squared error, and at least.  For a
Panda half as much takes as many steps, ten times as much half as many again."""
PATIENT = ((10.0, 10), (100.0, 100))
"""Where no start reached the goal the best one comes to rest: times the damping, times the iterations."""


@dataclass(frozen=True)
class Reached:
    """What :func:`inverse_kinematics` found; for many goals every entry has one more axis in front."""

    state: State
    """at rest"""
    converged: Any
    """whether every error is within the tolerance"""
    status: Any
    """``converged``; ``out of reach``: no start came nearer than ``error``, and where the best came to rest
    ``J' W e = 0``; ``stationary``: the same without other starts, which may still reach it; ``limited``: the joints of
    ``limits`` hold it back; ``unfinished``: more iterations are needed"""
    iterations: Any
    """steps from the start, or from the restart, that led here"""
    error: Any
    """the largest that is left (m, rad)"""
    errors: tuple[Any, ...]
    """of each task, all rows that count (m, rad)"""
    limits: Any
    """names of joints that stand at a limit and are pushed against it; empty where it converged"""


def inverse_kinematics(
    model: Model,
    tasks: Sequence[Task],
    start: State | None = None,
    *,
    limited: bool = True,
    tolerance: float = 1e-6,
    iterations: int = 40,
    restarts: int = 20,
    seed: int = 0,
) -> Reached:
    """The state nearest to ``start``, in the sense of small damped steps, at which all ``tasks`` reach their goals.

    A goal may be one of many: ``PoseTask("hand", poses)`` with ``poses`` (count x 4 x 4).  Tasks without a goal stay
    where they are at the start.  Errors are weighed by the weights of the tasks; gains do not matter.  Joints stay
    within their limits unless ``limited`` is False.

    Each step is ``dx = W^-1 J' (J W^-1 J' + l)^-1 e`` with a damping ``l`` that vanishes with the error, so that the
    last steps converge quadratically, and without joints that are pushed against their limits.  A start that does not
    lead to the goal is followed by up to ``restarts`` rounds of random ones.

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
    start = model.neutral() if start is None else start
    aims = _checked(model, tasks, start)
    settings = np.array([positive(tolerance, "tolerance"), DAMPING])
    rules = _Rules(settings, _whole(iterations, 1), _whole(restarts, 0), seed)
    numbers = packed(model, aims)
    plan = _plan(model, tuple(task.form for task in aims), bool(limited))
    q = model.base.coordinates(start.pose) if model.m else _NOTHING
    q = np.minimum(np.maximum(np.concatenate([q, start.joints]), plan.lower), plan.upper)
    if numbers.ndim == 1:
        return _one(model, plan, _search(model, plan.kernel, q, numbers[None], rules, single=True)[0], rules)
    return _many(model, plan, _search(model, plan.kernel, q, numbers, rules, single=False), rules)


_NOTHING = np.zeros(0)


class _Rules(NamedTuple):
    settings: np.ndarray
    iterations: int
    restarts: int
    seed: int


class _Plan(NamedTuple):
    """What is known of a robot and kinds of tasks before any number is."""

    kernel: Kernel
    lower: np.ndarray
    upper: np.ndarray
    """of each flat coordinate"""
    ends: np.ndarray
    """where the rows of one task end and those of the next begin"""


# one step -------------------------------------------------------------------------------------------------------------


def step(model: Model, x: Any, numbers: Any, settings: Any, *, forms: tuple[Task, ...], limited: bool) -> Any:
    """One damped step from ``x = [q; steps so far]``: ``[q; steps; errors; pushed; flag]``, of any kind of number.

    ``settings`` are the tolerance, and the damping for each unit of the mean squared error.  ``pushed`` is the gradient
    along each rate where a joint stands at its limit and is pushed against it, else 0.  The flag is 1 where the goal is
    reached, 2 where the gradient vanishes, else 0: a state with a flag stays as it is.
    """
    q, state = x[: model.nq], model.unflatten(x[: model.nq])
    demands = [task.demand(model, state) for task in filled(model, forms, numbers)]
    e, weight = (stacked([getattr(d, name) for d in demands], (0,)) for name in ("error", "weight"))
    w = sqrt(weight)
    A, r = stacked([d.J for d in demands], (0, model.nv)) * w[:, None], e * w
    gradient = A.T @ r
    held = _held(model, state, gradient) if limited else [False] * model.nv
    free = [g if h is False else where(h, 0.0, g) for g, h in zip(gradient, held, strict=True)]
    A = stack([A[:, i] if h is False else where(h, 0.0, A[:, i]) for i, h in enumerate(held)], axis=1)
    cost, slope = r @ r, _sum([g * g for g in free])
    largest = _largest(e)
    done = where(less(settings[0], largest), 0.0, REACHED)
    size = _sum(A.reshape(-1) * A.reshape(-1))
    still = where(less(STILL**2 * cost * size, slope), 0.0, STATIONARY)
    flag = where(less(done, 0.5), still, done)
    dx = _damped(model, state, A, r, settings[1] * cost / _sum(weight) + LEAST, held)
    moves = less(flag, 0.5)
    moved = model.integrate(q, dx)
    moved = _clipped(model, moved) if limited else moved
    pushed = stack([0.0 * g if h is False else where(h, g, 0.0) for g, h in zip(gradient, held, strict=True)])
    steps = x[model.nq] + where(moves, 1.0, 0.0)
    return concatenate([where(moves, moved, q), stack([steps]), e, pushed, stack([flag])])


def _damped(model: Model, state: State, A: Any, r: Any, damping: Any, held: list[Any]) -> Any:
    """``W^-1 A' (A W^-1 A' + l)^-1 r``, with ``l`` as large as ``damping`` times the mean of the diagonal before it."""
    if model.m:  # kinetic energy is the norm of a base that moves, see velocities
        M = mass_matrix(model, state)
        heavy = stack([M[i, i] if h is False else where(h, 1e9 * M[i, i], M[i, i]) for i, h in enumerate(held)])
        M = M + np.eye(model.nv) * (heavy - stack([M[i, i] for i in range(model.nv)]))
        Y = solve_tree(M, A.T, places_above(model))
    else:
        Y = A.T
    G = A @ Y
    mean = _sum([G[i, i] for i in range(len(G))]) * (1.0 / len(G))
    return Y @ solve_tree(G + scale(damping * mean + 1e-300, np.eye(len(G))), r, range(-1, len(G) - 1))


def _held(model: Model, state: State, gradient: Any) -> list[Any]:
    """For each rate whether its joint stands at a limit and is pushed against it; False where it has none."""
    held: list[Any] = [False] * model.nv
    bounds = joint_bounds(model)
    for k, (rate, place) in enumerate(zip(bounds.rates, bounds.coordinates, strict=True)):
        lower, upper, q, g = bounds.lower[k], bounds.upper[k], state.joints[place], gradient[model.m + rate]
        if np.isfinite(upper) or np.isfinite(lower):
            above = where(less(q, upper), 0.0, where(less(0.0, g), 1.0, 0.0)) if np.isfinite(upper) else 0.0
            below = where(less(lower, q), 0.0, where(less(g, 0.0), 1.0, 0.0)) if np.isfinite(lower) else 0.0
            held[model.m + rate] = less(0.5, above + below)
    return held


def _clipped(model: Model, q: Any) -> Any:
    entries, bounds = list(q), joint_bounds(model)
    for k, place in enumerate(bounds.coordinates + model.base.nq):
        lower, upper = float(bounds.lower[k]), float(bounds.upper[k])
        if np.isfinite(upper):
            entries[place] = where(less(upper, entries[place]), upper, entries[place])
        if np.isfinite(lower):
            entries[place] = where(less(entries[place], lower), lower, entries[place])
    return stack(entries)


def _sum(terms: Any) -> Any:
    return sum(terms[1:], start=terms[0])


def _largest(e: Any) -> Any:
    largest: Any = 0.0
    for x in e:
        largest = maximum(largest, absolute(x))
    return largest


@lru_cache(maxsize=64)
def _plan(model: Model, forms: tuple[Task, ...], limited: bool) -> _Plan:
    if model.m:
        check_dynamic(model)
    inputs: dict[str, int | tuple[int, ...]] = {"x": model.nq + 1, "numbers": count(model, forms), "settings": 2}
    kernel = compile_step(model, step, inputs, forms=forms, limited=limited)
    lower, upper, bounds = np.full(model.nq, -np.inf), np.full(model.nq, np.inf), joint_bounds(model)
    if limited:
        lower[bounds.coordinates + model.base.nq] = bounds.lower
        upper[bounds.coordinates + model.base.nq] = bounds.upper
    return _Plan(kernel, lower, upper, np.cumsum([form.rows(model) for form in forms])[:-1])


# many steps, many starts ----------------------------------------------------------------------------------------------


def _search(
    model: Model, kernel: Kernel, q: np.ndarray, numbers: np.ndarray, rules: _Rules, single: bool
) -> np.ndarray:
    """The last outputs of :func:`step` (count x outputs) of the best of all starts."""
    x = np.zeros((len(numbers), model.nq + 1))
    x[:, :-1] = q
    if single:
        best = kernel.until(x[0], numbers[0], rules.settings, most=rules.iterations)[None]
    else:
        best = _steps(kernel, x, numbers, rules)
    todo = np.flatnonzero(best[:, -1] != REACHED)
    rng = np.random.default_rng(rules.seed) if len(todo) else None
    for round_ in range(rules.restarts):
        if rng is None or not len(todo):
            return best
        # of few goals many at once, which takes hardly longer: first the lanes of one block, then more
        tries = max(1, (kernel.lanes if round_ == 0 else MANY) // len(todo))
        which = np.repeat(todo, tries)
        x = np.zeros((len(which), model.nq + 1))
        x[:, :-1] = model.random(rng, len(which))
        found = _steps(kernel, x, numbers[which], rules).reshape(len(todo), tries, -1)
        chosen = found[np.arange(len(todo)), np.argmin(_cost(model, found), axis=1)]
        better = _cost(model, chosen) < _cost(model, best[todo])
        best[todo[better]] = chosen[better]
        todo = todo[best[todo, -1] != REACHED]
    for damping, times in PATIENT:
        todo = todo[best[todo, -1] == 0.0]
        patient = rules._replace(settings=rules.settings * [1.0, damping], iterations=times * rules.iterations)
        best[todo] = _steps(kernel, best[todo, : model.nq + 1], numbers[todo], patient)
    return best


def _steps(kernel: Kernel, x: np.ndarray, numbers: np.ndarray, rules: _Rules) -> np.ndarray:
    """Up to ``iterations`` steps of each; those that are done leave the batch now and then."""
    left, size = np.arange(len(x)), x.shape[1]
    out = np.empty((0, 0))
    for taken in range(0, rules.iterations, CHUNK):
        now = kernel.until(x[left], numbers[left], rules.settings, most=min(CHUNK, rules.iterations - taken))
        out = now if not taken else out
        out[left] = now
        x[left] = now[:, :size]
        left = left[now[:, -1] == 0.0]
        if not len(left):
            break
    return out


def _cost(model: Model, found: np.ndarray) -> Any:
    """The largest error; a flag that says reached comes first."""
    e = found[..., model.nq + 1 : -1 - model.nv]
    largest = np.abs(e).max(axis=-1, initial=0.0)
    return np.where(np.isnan(largest), np.inf, largest)


# what was given, and what is said of it -------------------------------------------------------------------------------


def _checked(model: Model, tasks: Any, start: Any) -> list[Task]:
    """The tasks, each with a goal."""
    check_state(model, start)
    if not isinstance(tasks, (list, tuple)) or not tasks or not all(isinstance(task, Task) for task in tasks):
        raise ModelError(f"tasks is a list of at least one task, such as [PoseTask('hand', H)], not {told(tasks)}")
    aims = []
    for task in tasks:
        task.check(model)
        aims.append(task if task.aim is not None else task.replaced(goal=task.here(model, start)))
    counts = {len(task.aim) for task in aims if np.ndim(task.aim) > len(task.goal_shape(model))}
    if len(counts) > 1:
        raise ModelError(f"tasks have {' and '.join(map(str, sorted(counts)))} goals: as many for all, or one")
    return aims


def _whole(x: Any, least: int) -> int:
    if isinstance(x, bool) or not isinstance(x, (int, np.integer)) or x < least:
        raise ModelError(f"iterations and restarts are whole numbers from {least} on, not {told(x)}")
    return int(x)


def _one(model: Model, plan: _Plan, found: np.ndarray, rules: _Rules) -> Reached:
    nq, nv, flag = model.nq, model.nv, float(found[-1])
    errors = found[nq + 1 : -1 - nv]
    limits = () if flag == REACHED else _pushed(model, found)
    pose = np.asarray(model.base.element(found[: model.base.nq])) if model.m else np.eye(4)
    state = State(pose, found[model.base.nq : nq], np.zeros(model.m), np.zeros(model.n))
    worst, parts = float(np.abs(errors).max()), tuple(np.split(errors, plan.ends)) if len(plan.ends) else (errors,)
    return Reached(state, flag == REACHED, _status(flag, limits, rules), int(found[nq]), worst, parts, limits)


def _many(model: Model, plan: _Plan, found: np.ndarray, rules: _Rules) -> Reached:
    nq, nv, flags = model.nq, model.nv, found[:, -1]
    errors, converged = found[:, nq + 1 : -1 - nv], flags == REACHED
    status = np.full(len(found), "converged", dtype="<U12")
    limits: list[tuple[str, ...]] = [()] * len(found)
    for i in np.flatnonzero(~converged):
        limits[i] = _pushed(model, found[i])
        status[i] = _status(flags[i], limits[i], rules)
    poses = np.broadcast_to(np.eye(4), (len(found), 4, 4))
    if model.m:
        poses = np.array([model.base.element(row) for row in found[:, : model.base.nq]]).reshape(-1, 4, 4)
    state = State(poses, found[:, model.base.nq : nq], *(np.zeros((len(found), size)) for size in (model.m, model.n)))
    parts = tuple(np.split(errors, plan.ends, axis=1))
    return Reached(state, converged, status, found[:, nq].astype(int), np.abs(errors).max(axis=1), parts, limits)


def _pushed(model: Model, found: np.ndarray) -> tuple[str, ...]:
    """Joints that stand at a limit and are pushed against it."""
    rates = found[-1 - model.n : -1]
    return tuple(name for name, push in zip(model.rate_joints, rates, strict=True) if push != 0.0)


def _status(flag: float, stopped: tuple[str, ...], rules: _Rules) -> str:
    if flag == REACHED:
        return "converged"
    if flag != STATIONARY:
        return "unfinished"
    return "limited" if stopped else "out of reach" if rules.restarts else "stationary"
