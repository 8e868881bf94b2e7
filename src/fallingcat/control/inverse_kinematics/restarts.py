"""Random starts of inverse kinematics: steps from many of them, and the best of what they reach."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ...compiler import Kernel
from ...lie.group import constant
from ...model import Model
from ..limits.joint_limits import joint_bounds
from .damped_step import DAMPING_GROWTH, REACHED, STATIONARY, STEP_MEMORY, Plan
from .result import Rules

STARTS_AT_ONCE = 128
"""Number of starts evaluated at once when few goals are left: they take hardly longer than one."""
RANDOM_STARTS = 2048
"""Number of random starts before they repeat."""
START_SPREAD = 0.75
"""Largest distance of random starts from the middle of the joint range, relative to the limits: from there 47 instead
of 40 of a hundred goals of a Panda are reached that are not from the middle."""
SERIAL_STARTS = 8
"""Number of starts that are tried one after the other: for one or two that is faster than all at once."""
LOWER_STEP_TOLERANCE = 1e-6
"""Step length below which lower priorities have converged (rad, m)."""
FINAL_ROUNDS = ((10.0, 30), (100.0, 300))
"""Factors of damping and of iterations with which the best start is iterated to rest where none reached the goal."""


def best_over_starts(model: Model, plan: Plan, best: np.ndarray, numbers: np.ndarray, rules: Rules) -> np.ndarray:
    """Best last outputs of :func:`.step` (count x outputs) over all starts, ``best`` being the first.

    Lower priorities are then iterated to rest.
    """
    found = _nearest(model, plan, best, numbers, rules)
    there = found[:, -1] == REACHED
    if plan.first_rows == plan.rows or not there.any():
        return found
    resting = rules._replace(
        settings=np.array([*rules.settings[:2], LOWER_STEP_TOLERANCE, DAMPING_GROWTH, np.inf]),
        iterations=FINAL_ROUNDS[0][1] * rules.iterations,
    )
    x, aims = found[there, None, : model.nq + STEP_MEMORY], numbers[there, None]
    x = all_steps(plan.kernel, x, aims, resting)[..., : model.nq + STEP_MEMORY]
    best = all_steps(plan.kernel, x, aims, rules)[:, 0]
    found[there] = np.where(best[:, -1:] == REACHED, best, found[there])
    return found


def from_random_starts(
    model: Model, found: np.ndarray, steps: Callable[[np.ndarray], np.ndarray], rules: Rules
) -> np.ndarray:
    """Outputs from the first random start that reaches the goal; ``found`` where none of a few does.

    One after the other, which for one or two is faster than all at once.
    """
    for q in _random_starts(model, rules.seed)[:SERIAL_STARTS] if rules.restarts else ():
        there = steps(q)
        if there[-1] == REACHED:
            return there
    return found


def _nearest(model: Model, plan: Plan, best: np.ndarray, numbers: np.ndarray, rules: Rules) -> np.ndarray:
    """Best of all starts for the first priority."""
    kernel = plan.kernel
    todo, starts, used = np.flatnonzero(best[:, -1] != REACHED), _random_starts(model, rules.seed), 0
    if not len(todo):
        return best
    least = _cost(model, plan, best[todo])
    for round_ in range(rules.restarts):
        # of few goals many at once, which takes hardly longer: first the lanes of one block, then more
        tries = max(1, (kernel.lanes if round_ == 0 else STARTS_AT_ONCE) // len(todo))
        x = np.zeros((len(todo), tries, model.nq + STEP_MEMORY))
        x[..., : model.nq] = starts[np.arange(used, used + tries) % RANDOM_STARTS]
        used += tries
        aims = numbers[todo, None] if tries == 1 else np.repeat(numbers[todo, None], tries, axis=1)
        found = all_steps(kernel, x, aims, rules)
        costs = _cost(model, plan, found)
        chosen = np.argmin(costs, axis=1)
        better = np.flatnonzero(costs[np.arange(len(todo)), chosen] < least)
        best[todo[better]] = found[better, chosen[better]]
        least[better] = costs[better, chosen[better]]
        left = best[todo, -1] != REACHED
        todo, least = todo[left], least[left]
        if not len(todo):
            return best
    for damping, times in FINAL_ROUNDS:
        todo = todo[(best[todo, -1] != REACHED) & (best[todo, -1] != STATIONARY)]
        settings = np.array([rules.settings[0], damping * rules.settings[1], *rules.settings[2:4], np.inf])
        patient = rules._replace(settings=settings, iterations=times * rules.iterations)
        best[todo] = all_steps(kernel, best[todo, None, : model.nq + STEP_MEMORY], numbers[todo, None], patient)[:, 0]
    return best


@lru_cache(maxsize=32)
def _random_starts(model: Model, seed: int) -> np.ndarray:
    """Random flat coordinates: the same for every goal, so that none depends on the others of its batch.

    Joints are a little nearer to the middle between their limits, from where goals are reached more often.
    """
    q, bounds = model.random(np.random.default_rng(seed), RANDOM_STARTS), joint_bounds(model)
    both = np.flatnonzero(np.isfinite(bounds.lower) & np.isfinite(bounds.upper))
    places, middle = bounds.coordinates[both] + model.base.nq, 0.5 * (bounds.lower[both] + bounds.upper[both])
    q[:, places] = middle + START_SPREAD * (q[:, places] - middle)
    return constant(q)


def all_steps(kernel: Kernel, x: np.ndarray, numbers: np.ndarray, rules: Rules) -> np.ndarray:
    """Up to ``iterations`` steps of each (goals x starts x ...)."""
    shape, rows = x.shape[:2], [each.reshape(-1, each.shape[-1]) for each in (x, numbers)]
    if len(rows[0]) == 1:  # for the code that one goal alone has made already
        rows = [each[0] for each in rows]
    out = kernel.until(*rows, rules.settings, most=rules.iterations)
    return out.reshape(*shape, out.shape[-1])


def _cost(model: Model, plan: Plan, found: np.ndarray) -> Any:
    """The largest error of the first priority."""
    e = found[..., model.nq + STEP_MEMORY : model.nq + STEP_MEMORY + plan.first_rows]
    largest = np.abs(e).max(axis=-1, initial=0.0)
    # argmin would choose a start that ended as NaN
    return np.where(np.isnan(largest), np.inf, largest)
