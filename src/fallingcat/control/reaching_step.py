"""One damped step towards the goals of tasks, for every kind of number."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..arrays import absolute, concatenate, less, maximum, scale, solve_tree, sqrt, stack, where
from ..dynamics import mass_matrix
from ..dynamics.checks import check_dynamic
from ..dynamics.sweeps import places_above
from ..kernels import Kernel
from ..kernels.kernel import compile_step
from ..model import Model, State
from .limits import joint_bounds
from .tasks.task import Task, count, filled, stacked

STILL = 1e-9
"""Of the gradient ``J' W e``, relative to ``|J| |W e|``, below which a point is stationary."""
REACHED, STATIONARY = 1.0, 2.0
DAMPING, LEAST = 0.3, 1e-10
"""Of steps, relative to the mean of the diagonal of ``J W^-1 J'``: times the mean squared error, and at least.  For a
Panda half as much takes as many steps, ten times as much half as many again."""


class Plan(NamedTuple):
    """What is known of a robot and kinds of tasks before any number is."""

    kernel: Kernel
    lower: np.ndarray
    upper: np.ndarray
    """of each flat coordinate"""
    ends: np.ndarray
    """where the rows of one task end and those of the next begin"""


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
    return sum(terms, start=0.0)


def _largest(e: Any) -> Any:
    largest: Any = 0.0
    for x in e:
        largest = maximum(largest, absolute(x))
    return largest


@lru_cache(maxsize=64)
def plan_of(model: Model, forms: tuple[Task, ...], limited: bool) -> Plan:
    """The step as machine code, made once for a robot and kinds of tasks."""
    if model.m:
        check_dynamic(model)
    inputs: dict[str, int | tuple[int, ...]] = {"x": model.nq + 1, "numbers": count(model, forms), "settings": 2}
    kernel = compile_step(model, step, inputs, forms=forms, limited=limited)
    lower, upper, bounds = np.full(model.nq, -np.inf), np.full(model.nq, np.inf), joint_bounds(model)
    if limited:
        lower[bounds.coordinates + model.base.nq] = bounds.lower
        upper[bounds.coordinates + model.base.nq] = bounds.upper
    return Plan(kernel, lower, upper, np.cumsum([form.rows(model) for form in forms])[:-1])
