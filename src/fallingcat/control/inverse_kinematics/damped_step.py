"""Damped inverse-kinematics step, for every kind of number."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...arrays import absolute, concatenate, inverse_root, less, maximum, scale, solve_tree, sqrt, stack, where
from ...arrays.types import Matrix, Scalar, Vector
from ...compiler import Kernel
from ...compiler.compilation import compile_step
from ...dynamics import mass_matrix
from ...dynamics.checks import check_dynamic
from ...dynamics.sweeps import places_above
from ...model import Model, State
from ..limits.joint_limits import joint_bounds
from ..tasks.demand import Demand, stack_parts
from ..tasks.packing import count, fill_tasks, pack_tasks
from ..tasks.task import Task

Levels = tuple[tuple[Task, ...], ...]
LOWER_RELAXATION = 0.3
"""Share of the full step that lower priorities take: a full one overshoots where the Jacobian of the first priority
changes much over its length."""
MAX_LOWER_STEP = 0.3
"""Longest step of lower priorities (rad, m), for the same reason."""
STATIONARY_GRADIENT = 1e-9
"""Size of the gradient ``J' W e``, relative to ``|J| |W e|``, below which a point is stationary."""
REACHED, STATIONARY, STUCK = 1.0, 2.0, 3.0
"""Flags of :func:`step`."""
STEP_MEMORY = 2
"""Numbers that go from step to step beside coordinates: count of steps, and running average of the squared error."""
AVERAGED_STEPS = 3.0
"""Length of that running average (steps)."""
DAMPING_FACTOR = 0.3
"""Damping for each unit of the mean squared error (1/m^2, 1/rad^2), over the mean diagonal of ``J W^-1 J'``.  For a
Panda half as much takes as many steps, ten times as much half as many again."""
DAMPING_GROWTH = 0.5
"""Rate at which the damping grows with the error instead of its square."""
MIN_DAMPING = 1e-10
"""Least damping, over the same diagonal."""
LOWER_REGULARIZATION = 1e-4
"""Regularization of lower priorities, relative to the mean of what is damped."""
UPPER_REGULARIZATION = 1e-13
"""Regularization of the rows above them, of which some may depend on others."""
MIN_MOBILITY = 1e-14
"""Regularization where a rate moves nothing, as for a point on its axis (m^2/rad^2)."""


class Plan(NamedTuple):
    """Compiled step of a robot and kinds of tasks."""

    kernel: Kernel
    lower: np.ndarray
    upper: np.ndarray
    """bounds of the flat coordinates"""
    ends: np.ndarray
    """ends of the rows of the tasks but the last"""
    first_rows: int
    rows: int
    """rows of the first priority, and of all"""
    forms: tuple[Task, ...]
    """forms of all tasks"""
    has_limits: bool


def step(model: Model, x: Vector, numbers: Vector, settings: Vector, *, forms: Levels, limited: bool) -> Vector:
    """Damped step from ``x = [q; steps; lately]`` to ``[q; steps; lately; errors; pushed; flag]``.

    ``settings`` are the tolerance, the damping for each unit of the mean squared error, the step length below which
    lower priorities have converged, the rate at which the damping grows with the error instead of its square, and the
    share of ``lately`` above which the squared error hardly falls.  ``pushed`` is the gradient along each rate where a
    joint is at its limit and pushed against it, else 0.  The flag is 1 where the goal is reached, 2 where the gradient
    vanishes, 3 where the error hardly falls any more, else 0: a state with a flag does not move.
    """
    q, state = x[: model.nq], model.unflatten(x[: model.nq])
    tasks = iter(fill_tasks(model, [form for level in forms for form in level], numbers))
    first, *lower = ([next(tasks).demand(model, state) for _ in level] for level in forms)
    e, A, r, weight = _rows(model, first)
    gradient = A.T @ r
    held = _blocked_by_limit(model, state, gradient) if limited else [False] * model.nv
    A = _without_columns(A, held)
    cost, slope = (
        r @ r,
        _sum([g if h is False else where(h, 0.0, g) for g, h in zip(gradient * gradient, held, strict=True)]),
    )
    done = where(less(settings[0], _largest(e)), 0.0, REACHED)
    still = where(less(STATIONARY_GRADIENT**2 * cost * _sum(A.reshape(-1) * A.reshape(-1)), slope), 0.0, STATIONARY)
    dx = _damped_step(model, state, A, r, (cost, _sum(weight), settings[1], settings[3]), held)
    if lower:
        more = _null_space_step(model, state, A, dx, [_rows(model, level) for level in lower], held, limited)
        dx, done = dx + more, where(less(settings[2], _largest(more)), 0.0, done)
        e = concatenate([e, *(d.error for level in lower for d in level)])
        still = where(less(_largest(e[: len(r)]), settings[0]), 0.0, still)
    lately = where(less(0.0, x[model.nq + 1]), x[model.nq + 1], 2.0 * cost)
    slow = where(less(settings[4] * lately, cost), STUCK, 0.0)
    flag = where(less(done, 0.5), where(less(still, 0.5), slow, still), done)
    moves = less(flag, 0.5)
    moved = model.integrate(q, dx)
    moved = _clip_to_limits(model, moved) if limited else moved
    pushed = stack([0.0 * g if h is False else where(h, g, 0.0) for g, h in zip(gradient, held, strict=True)])
    head = stack([x[model.nq] + where(moves, 1.0, 0.0), lately + (cost - lately) * (1.0 / AVERAGED_STEPS)])
    return concatenate([where(moves, moved, q), head, e, pushed, stack([flag])])


def _rows(model: Model, demands: list[Demand]) -> tuple[Any, Any, Any, Any]:
    """Error, weighted Jacobian, weighted error and weights; the numbers of a step hold the roots of the weights."""
    e, w = (stack_parts([getattr(d, name) for d in demands], (0,)) for name in ("error", "weight"))
    return e, stack_parts([d.J for d in demands], (0, model.nv)) * w[:, None], e * w, w * w


def numbers_of(model: Model, tasks: Sequence[Task]) -> np.ndarray:
    """Arguments of :func:`step` for tasks: their numbers, with square roots of weights, which are costly in a step."""
    numbers, end = pack_tasks(model, tasks), 0
    for task in tasks:
        end += task.packed(model).shape[-1]
        weights = numbers[..., end - task.size(model) : end]  # they come last
        np.sqrt(weights, out=weights)
    return numbers


def _damped_step(
    model: Model, state: State, A: Any, r: Any, damping: tuple[Any, Any, Any, Any], held: list[Any]
) -> Any:
    """Damped step ``W^-1 A' (A W^-1 A' + l)^-1 r``.

    ``l = d e^2 m / (1 + b d e m^1/2)``: ``e`` the error, ``m`` the mean of the diagonal of the damped matrix.  Large
    errors are damped in proportion to ``e``, because the Jacobian changes over a step by the error times the length of
    the arm.
    """
    cost, weight, d, b = damping
    Y = solve_tree(_metric(model, state, held), A.T, places_above(model)) if model.m else A.T
    G = A @ Y
    m = _sum([G[i, i] for i in range(len(G))]) * (1.0 / len(G))
    e = sqrt(cost * (1.0 / weight))
    bent = 1.0 + b * d * e * sqrt(m * (len(G) / weight))
    most = d * e * e * m / bent + MIN_DAMPING * m + MIN_MOBILITY
    return Y @ solve_tree(G + scale(most, np.eye(len(G))), r, range(-1, len(G) - 1))


def _null_space_step(
    model: Model, state: State, A: Any, dx: Any, lower: list[Any], held: list[Any], limited: bool
) -> Any:
    """Step of lower priorities in the null space of the first, no longer than its linearization is valid."""

    def step_holding(held: list[Any]) -> Any:
        metric = _metric(model, state, held) if model.m else np.eye(model.nv)
        above, more = [_without_columns(A, held)], np.zeros(model.nv)
        for _, rows, r, _ in lower:
            rows = _without_columns(rows, held)
            more = more + _gauss_newton_step(metric, concatenate(above), rows, r - rows @ (dx + more))
            above.append(rows)
        return more

    more = step_holding(held)
    if limited:  # again without the joints that the first solution pushes against their limits
        also = _blocked_by_limit(model, state, more)
        more = step_holding([a if a is False else _logical_or(a, b) for a, b in zip(held, also, strict=True)])
    # at most MAX_LOWER_STEP: beyond, the null space of the first level is no longer that of the linearization
    return scale(LOWER_RELAXATION / maximum(1.0, _largest(more) * (LOWER_RELAXATION / MAX_LOWER_STEP)), more)


def _gauss_newton_step(metric: Matrix, above: Matrix, A: Matrix, r: Vector) -> Vector:
    """Minimizer ``z`` of ``|A z - r|^2 + d z' metric z`` under ``above z = 0``: almost a Gauss-Newton step.

    With ``R' H R = 1`` of ``H = A' A + d metric`` it is ``R (1 - F' (F F')^-1 F) R' A' r``, ``F = above R``.
    """
    H = A.T @ A
    H = H + (LOWER_REGULARIZATION * _trace(H) / _trace(metric) + MIN_MOBILITY) * metric
    R = inverse_root(H, range(-1, len(H) - 1))
    y, F = R.T @ (A.T @ r), above @ R
    S = F @ F.T
    S = S + scale(UPPER_REGULARIZATION * _trace(S) + MIN_MOBILITY, np.eye(len(S)))
    for _ in range(2):  # twice: dependent rows lose accuracy in the first projection
        y = y - F.T @ solve_tree(S, F @ y, range(-1, len(S) - 1))
    return R @ y


def _trace(M: Matrix) -> Scalar:
    return _sum([M[i, i] for i in range(len(M))])


def _logical_or(a: Any, b: Any) -> Any:
    return less(0.5, where(a, 1.0, 0.0) + where(b, 1.0, 0.0))


def _metric(model: Model, state: State, held: list[Any]) -> Matrix:
    """Kinetic energy metric of a floating base (see velocities), with held joints too heavy to move."""
    M = mass_matrix(model, state)
    # a billion times heavier: such a joint hardly moves, and the metric keeps its size and its inverse
    more = [0.0 if h is False else where(h, 1e9 * M[i, i], 0.0) for i, h in enumerate(held)]
    return M + np.eye(model.nv) * stack(more)


def _without_columns(A: Matrix, held: list[Any]) -> Matrix:
    """``A`` with the columns of held joints set to zero."""
    return stack([A[:, i] if h is False else where(h, 0.0, A[:, i]) for i, h in enumerate(held)], axis=1)


def _blocked_by_limit(model: Model, state: State, gradient: Vector) -> list[Any]:
    """Condition for each rate that its joint is at a limit and pushed against it; False where it has none."""
    held: list[Any] = [False] * model.nv
    bounds = joint_bounds(model)
    for k, (rate, place) in enumerate(zip(bounds.rates, bounds.coordinates, strict=True)):
        lower, upper, q, g = bounds.lower[k], bounds.upper[k], state.joints[place], gradient[model.m + rate]
        if np.isfinite(upper) or np.isfinite(lower):
            above = where(less(q, upper), 0.0, where(less(0.0, g), 1.0, 0.0)) if np.isfinite(upper) else 0.0
            below = where(less(lower, q), 0.0, where(less(g, 0.0), 1.0, 0.0)) if np.isfinite(lower) else 0.0
            held[model.m + rate] = less(0.5, above + below)
    return held


def _clip_to_limits(model: Model, q: Vector) -> Vector:
    entries, bounds = list(q), joint_bounds(model)
    for k, place in enumerate(bounds.coordinates + model.base.nq):
        lower, upper = float(bounds.lower[k]), float(bounds.upper[k])
        if np.isfinite(upper):
            entries[place] = where(less(upper, entries[place]), upper, entries[place])
        if np.isfinite(lower):
            entries[place] = where(less(entries[place], lower), lower, entries[place])
    return stack(entries)


def _sum(terms: Any) -> Any:
    return sum(terms, start=0.0)


def _largest(e: Vector) -> Scalar:
    largest: Any = 0.0
    for x in e:
        largest = maximum(largest, absolute(x))
    return largest


@lru_cache(maxsize=64)
def plan_of(model: Model, forms: Levels, limited: bool) -> Plan:
    """Compiled step, made once for a robot and kinds of tasks."""
    if model.m:
        check_dynamic(model)
    flat = [form for level in forms for form in level]
    inputs: dict[str, int | tuple[int, ...]] = {
        "x": model.nq + STEP_MEMORY,
        "numbers": count(model, flat),
        "settings": 5,
    }
    kernel = compile_step(model, step, inputs, forms=forms, limited=limited)
    lower, upper, bounds = np.full(model.nq, -np.inf), np.full(model.nq, np.inf), joint_bounds(model)
    if limited:
        lower[bounds.coordinates + model.base.nq] = bounds.lower
        upper[bounds.coordinates + model.base.nq] = bounds.upper
    rows = [form.rows(model) for form in flat]
    return Plan(kernel, lower, upper, np.cumsum(rows)[:-1], sum(rows[: len(forms[0])]), sum(rows), tuple(flat), limited)
