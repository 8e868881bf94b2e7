"""Training: a policy of a task within some seconds, with a learning curve, interrupted and resumed at any time."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..dynamics.checks import choice
from ..errors import FileError, Interrupted, ModelError, describe
from ..io.diagnostics import check_path
from ..progress import report_progress
from ..records import concise
from ..simulation.problem.arguments import seconds as checked_seconds
from ..simulation.problem.arguments import whole
from ..visualization import Page
from .curve_page import curve_page
from .environment import Environment
from .policy import Policy, read_arrays
from .settings import Settings
from .task import Task

DEFAULT_ROBOTS = {"cpu": 256, "cuda": 8192}
"""Number of robots, unless another is given."""
DEFAULT_SETTINGS = {
    "cpu": Settings(hidden=(128, 64), deviation=0.4, divergence=0.03),
    "cuda": Settings(steps=8, discount=0.98, deviation=1.0),
}
"""Numbers of the learner, unless others are given: for a quadruped in minutes of a core, and for robots on two or four
feet in seconds of a GPU."""
SAVE_PERIOD = 30.0
"""s between two files"""


@concise
@dataclass(frozen=True, eq=False)
class Training:
    """Policy and its learning curve.

    Example:
        >>> policy = Policy(((np.eye(1), np.zeros(1)),), {"robot": "arm", "task": "reach"})
        >>> Training(policy, [{"seconds": 1.0, "actions": 64.0, "reward": 0.5}]).page().title
        'arm learns to reach'
    """

    policy: Policy
    curve: list[dict[str, float]]
    """a row for each round: ``seconds``, ``actions`` of all robots so far, and the figures of the learner"""

    def page(self) -> Page:
        """Learning curve.

        Returns:
            Page.
        """
        return curve_page(self.policy, self.curve)


def learn(
    task: Task,
    seconds: float = 120.0,
    *,
    robots: int | None = None,
    target: str = "cpu",
    seed: int = 0,
    threads: int = 1,
    settings: Settings | None = None,
    file: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Callable[[dict[str, float]], None] | None = None,
) -> Training:
    """Learn a policy of a task by proximal policy optimization.

    Args:
        task: Task.
        seconds: Wall time (s) after which it ends; rounds are always finished.
        robots: Number of robots; None: 256 on the CPU, 8,192 on a GPU.
        target: ``cpu`` or ``cuda``.
        seed: Seed: the same seed, device and number of rounds give the same policy.
        threads: Threads of the simulation and of Torch on the CPU; more than the machine has free are slower.
        settings: :class:`.Settings` of the learner; None: the usual ones, with smaller layers and
            longer rounds on the CPU.
        file: File, ``.npz``, to which the policy and the state of the learner are written, now and then and at the end.
        resume: Go on from ``file``.
        progress: Function that is given each row of the curve.

    Returns:
        Policy and learning curve.

    Raises:
        Interrupted: By Ctrl-C; its ``result`` is the training so far, which ``file`` keeps.

    Example:
        >>> import fallingcat as fc
        >>> from fallingcat.learning import Settings
        >>> task = fc.learning.Walk(fc.robots.quadruped())
        >>> found = learn(task, 0.1, robots=8, settings=Settings(hidden=(16,), steps=4))  # doctest: +SKIP
        >>> found.policy  # doctest: +SKIP
        <Policy 48-16-12 of 'quadruped'>
    """
    from .ppo import Learner

    limit = checked_seconds(seconds, "seconds")
    if resume and file is None:
        raise ModelError("resume=True takes the file from which to go on")
    choice(target, tuple(DEFAULT_ROBOTS), "target")
    if settings is not None and not isinstance(settings, Settings):
        raise ModelError(f"settings must be fc.learning.Settings, got {describe(settings)}")
    if file is not None:
        check_path(file)
    threads = whole(threads, "threads")
    settings = DEFAULT_SETTINGS[target] if settings is None else settings
    begun = time.monotonic()
    environment = Environment(
        task,
        DEFAULT_ROBOTS[target] if robots is None else robots,
        target=target,
        library="torch",
        seed=seed,
        threads=threads,
    )
    learner = Learner(environment, settings, seed)
    curve: list[dict[str, float]] = _restore(learner, file) if resume else []
    before, saved = (curve[-1]["seconds"] if curve else 0.0), begun
    try:
        with _torch_threads(threads), report_progress("learning", None if progress is None else False) as tell:
            while True:
                row = learner.iterate()
                spent = time.monotonic() - begun
                curve.append({"seconds": before + spent, "actions": float(learner.actions_taken), **row})
                if progress is not None:
                    progress(curve[-1])
                if tell is not None:
                    tell(min(1.0, spent / limit))
                if spent >= limit:
                    break
                if file is not None and time.monotonic() - saved > SAVE_PERIOD:
                    saved = time.monotonic()
                    _save(learner, curve, file)
    except KeyboardInterrupt:
        found = Training(learner.policy(), curve)
        kept = "" if file is None else f"; {_save(learner, curve, file)} goes on with resume=True"
        raise Interrupted(f"interrupted in round {learner.rounds}{kept}", found) from None
    if file is not None:
        _save(learner, curve, file)
    return Training(learner.policy(), curve)


@contextmanager
def _torch_threads(count: int) -> Iterator[None]:
    """Threads of Torch for a while: its own default, all cores, is ten times slower on cores that are not free."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _save(learner: Any, curve: list[dict[str, float]], file: str | os.PathLike[str]) -> Path:
    numbers = {f"learner_{k}": x.detach().cpu().numpy() for k, x in enumerate(learner.state)}
    numbers["learner_rounds"] = np.array([learner.rounds, learner.actions_taken])
    policy: Policy = learner.policy()
    return policy.save(file, curve=np.array(json.dumps(curve)), **numbers)


def _restore(learner: Any, file: Any) -> list[dict[str, float]]:
    """Curve so far; the learner goes on where the one of the file was."""
    arrays, state = read_arrays(file), learner.state
    found = [arrays.get(f"learner_{k}", np.zeros(0)) for k in range(len(state))]
    if not {"curve", "learner_0", "learner_rounds"} <= {*arrays}:
        raise ModelError(f"{os.fspath(file)} holds a policy, but no learner that could go on")
    if found[0].shape != tuple(state[0].shape):
        raise ModelError(f"the file has {found[0].size} parameters, the learner {learner.network.size}")
    for k, (x, own) in enumerate(zip(found, state, strict=True)):
        if x.shape != tuple(own.shape) or x.dtype.kind not in "fiu" or not np.isfinite(x).all():
            raise FileError(f"learner_{k} must be finite numbers of shape {tuple(own.shape)}", file=file)
    counts = arrays["learner_rounds"]
    if counts.shape != (2,) or counts.dtype.kind not in "iu" or (counts < 0).any():
        raise FileError("learner_rounds must be two counts", file=file)
    learner.take([own.new_tensor(x) for x, own in zip(found, state, strict=True)])
    learner.rounds, learner.actions_taken = (int(x) for x in counts)
    learner.random.manual_seed(learner.rounds)
    return _rows(arrays, file)


def load_curve(file: str | os.PathLike[str]) -> list[dict[str, float]]:
    """Learning curve of a file that :func:`learn` wrote.

    Args:
        file: File.

    Returns:
        Rows of the curve; empty where the file has none.
    """
    arrays = read_arrays(file)
    return _rows(arrays, file) if "curve" in arrays else []


def _rows(arrays: Mapping[str, np.ndarray], file: Any) -> list[dict[str, float]]:
    """Rows of the curve in a file."""
    try:
        rows: Any = json.loads(str(arrays["curve"]))
    except (ValueError, RecursionError):
        rows = None
    numbers = isinstance(rows, list) and all(
        isinstance(row, dict) and "seconds" in row and all(isinstance(x, (int, float)) for x in row.values())
        for row in rows
    )
    if not numbers:
        raise FileError("the learning curve is not one of rows of numbers", file=file)
    return list(rows)
