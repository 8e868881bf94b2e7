"""Evaluation of policies: falls and errors of many robots."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..errors import ModelError, describe
from ..records import concise
from ..simulation.problem.arguments import seconds as checked_seconds
from .environment import Environment


@concise
class Evaluation(NamedTuple):
    """Falls and errors of robots under a policy.

    Example:
        >>> Evaluation(4096, 10.0, 0.99, 0, {"speed error (m/s)": 0.05}).standing
        0.99
    """

    robots: int
    seconds: float
    """time (s) of each robot"""
    standing: float
    """share of the robots that neither fell nor broke"""
    broken: int
    """robots that broke"""
    metrics: dict[str, float]
    """means over robots that stand, and over the second half of the time"""


def evaluate(environment: Environment, act: Callable[[Any], Any], seconds: float = 10.0, seed: int = 1) -> Evaluation:
    """Let all robots act for some time, and count those that fall.

    Args:
        environment: Environment; its horizon must be longer.
        act: Policy as a function of arrays of the environment's library, as of :meth:`.Policy.on`.
        seconds: Time (s).
        seed: Seed of starts, commands and parameters.

    Returns:
        Share of robots that stand, and errors.

    Example:
        >>> import fallingcat as fc
        >>> world = fc.learning.Environment(fc.learning.Walk(fc.robots.quadruped()), 8)
        >>> evaluate(world, lambda seen: 0.0 * seen[:, :12], 0.2).standing
        1.0
    """
    if not isinstance(environment, Environment) or not callable(act):
        raise ModelError(f"evaluate takes an Environment and a function, not {describe(environment)}, {describe(act)}")
    period, horizon = environment.task.period, environment.task.horizon
    if checked_seconds(seconds, "seconds") > horizon + 0.5 * period:
        raise ModelError(f"the horizon of the task must be longer than {seconds:g} s, and is {horizon:g} s")
    seen, alive = environment.reset(seed, level=1.0), None
    steps = max(1, round(seconds / period))
    sums: dict[str, Any] = {}
    broken: Any = 0
    for k in range(steps):
        late = k >= steps // 2
        result = environment.step(act(seen), details=late)
        seen = result.observations
        stays = ~result.terminated
        alive = stays if alive is None else alive & stays
        broken = broken + result.broken.sum()
        for name, x in result.metrics.items():
            total, count = sums.get(name, (0.0, 0.0))
            good = environment.library.xp.where(alive, x, 0.0 * x)
            sums[name] = total + good.sum(), count + alive.sum()
    metrics = {name: float(total) / max(float(count), 1.0) for name, (total, count) in sums.items()}
    standing = float(alive.sum()) / environment.robots if alive is not None else 1.0
    return Evaluation(environment.robots, steps * environment.task.period, standing, int(broken), metrics)
