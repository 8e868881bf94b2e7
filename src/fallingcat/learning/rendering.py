"""Page with some robots of an environment in motion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import ModelError, describe
from ..model import State
from ..simulation.problem.arguments import seconds as checked_seconds
from ..visualization import Fact, Page
from ..visualization.scenes import stage
from .environment import Environment

ROW_DISTANCE = 1.5
"""Distance between robots that start at one place and are shown in a row, in sizes of a robot"""


def render(
    environment: Environment,
    act: Callable[[Any], Any],
    seconds: float = 5.0,
    robots: Sequence[int] = (0,),
    seed: int = 0,
) -> Page:
    """Let all robots act for some time, and show some of them in one scene.

    Robots that start at one place are shown in a row, a robot and a half apart.

    Args:
        environment: Environment.
        act: Policy as a function of arrays of the environment's library, as of :meth:`.Policy.on`.
        seconds: Time (s).
        robots: Numbers of the robots that are shown.
        seed: Seed of starts, commands and parameters.

    Returns:
        Page; ``page.write("robots.html")`` keeps it, ``page.video("robots.mp4")`` makes a video.

    Example:
        >>> import fallingcat as fc
        >>> world = fc.learning.Environment(fc.learning.Walk(fc.robots.quadruped()), 8)
        >>> render(world, lambda seen: 0.0 * seen[:, :12], 0.1, robots=(0, 5))
        <Page 'quadruped: Walk': Scene>
    """
    if not isinstance(environment, Environment) or not callable(act):
        raise ModelError(f"render takes an Environment and a function, not {describe(environment)}, {describe(act)}")
    shown = _choose_robots(robots, environment.robots)
    steps = max(1, round(checked_seconds(seconds, "seconds") / environment.task.period))
    seen, falls = environment.reset(seed, level=1.0), 0
    rows = [_states(environment, shown)]
    for _ in range(steps):
        result = environment.step(act(seen))
        seen = result.observations
        falls += int(environment.library.to_numpy(result.terminated)[shown].sum())
        rows.append(_states(environment, shown))
    return _page(environment, shown, rows, falls)


def _choose_robots(robots: Any, count: int) -> list[int]:
    given = list(robots) if isinstance(robots, (Sequence, np.ndarray)) and not isinstance(robots, str) else []
    whole = all(isinstance(k, (int, np.integer)) and not isinstance(k, bool) for k in given)
    if not given or not whole or not all(0 <= k < count for k in given) or len({*given}) < len(given):
        raise ModelError(f"robots must be different numbers from 0 to {count - 1}, got {describe(robots)}")
    return [int(k) for k in given]


def _states(environment: Environment, shown: list[int]) -> list[State]:
    """States of the robots that are shown, fetched from the device."""
    now, model = environment.now, environment.task.model
    parts = [environment.library.to_numpy(x)[shown].astype(float) for x in (now.rotation, now.position, now.joints)]
    poses = np.tile(np.eye(4), (len(shown), 1, 1))
    poses[:, :3, :3], poses[:, :3, 3] = parts[:2]
    rest = model.neutral()
    return [State(pose, joints, rest.twist, rest.rates) for pose, joints in zip(poses, parts[2], strict=True)]


def _page(environment: Environment, shown: list[int], rows: list[list[State]], falls: int) -> Page:
    task = environment.task
    times = task.period * np.arange(len(rows))
    stages = [stage(task.model, [row[k] for row in rows], times, ground=task.contact) for k in range(len(shown))]
    starts = np.array([state.pose[:3, 3] for state in rows[0]])
    crowded = bool(np.ptp(starts, axis=0).max() < ROW_DISTANCE * stages[0].size)
    poses: dict[str, Any] = {}
    shapes: dict[str, Any] = {}
    for place, (robot, one) in enumerate(zip(shown, stages, strict=True)):
        aside = np.zeros((4, 4))
        aside[1, 3] = place * ROW_DISTANCE * one.size if crowded else 0.0
        poses |= {f"{robot} {name}": x + aside for name, x in one.scene.poses.items()}
        shapes |= {f"{robot} {name}": x for name, x in one.scene.shapes.items()}
    follow = stages[0].scene.follow if len(shown) == 1 else False
    scene = replace(stages[0].scene, poses=poses, shapes=shapes, follow=follow)
    facts = [Fact("robots", f"{len(shown)} of {environment.robots:,}"), Fact("falls", str(falls))]
    return Page(f"{task.model.name}: {type(task).__name__}", facts=facts, blocks=(scene,))
