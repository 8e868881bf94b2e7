"""Many simulations one by one: of methods that locate their events, which have no one code for all modes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import Interrupted
from ..model import State
from .arguments import MAX_STEPS, carry
from .batch import Rollout
from .integrators.base import Integrator
from .outcome import Code, Diagnostic, Kind
from .output.trajectory import Trajectory
from .problem import Problem
from .run import Run

SERIES = ("poses", "joints", "twists", "rates", "works", "memory")


def separate_runs(
    problem: Problem,
    method: Integrator,
    many: State,
    times: np.ndarray,
    dt: float | None,
    progress: Callable[[float], None] | None,
) -> Rollout:
    """Runs of :func:`fallingcat.simulate` from ``N`` states, at common times.

    Args:
        problem: Problem.
        method: Integrator.
        many: States from which they start, with a first axis over them.
        times: Times (K, s) of the samples, the first is 0.
        dt: Step (s), or the longest one of a method that chooses them; None: as long as it likes.
        progress: Called with the share that is done.
    """
    runs: list[Trajectory] = []
    count = len(many.pose)
    try:
        for robot in range(count):
            own = _with_own_controller(problem, many.at(robot), robot)
            run = Run(own, method, many.at(robot), float(times[-1]), dt, MAX_STEPS, stops=times[1:])
            runs.append(run.result())
            if progress is not None:
                progress((robot + 1) / count)
    except KeyboardInterrupt as stop:
        partial = [*runs, *_so_far(stop)]
        reason = f"interrupted in simulation {len(runs)} of {count}"
        found = replace(_gathered(problem, method, many, times, partial), code=Code.INTERRUPTED, reason=reason)
        raise Interrupted(reason, found) from None
    except Exception as error:
        partial = [*runs, *_so_far(error)]
        error.__dict__.pop("result", None)  # that of the one run
        reason = f"stopped in simulation {len(runs)} of {count}: {error!r}"
        found = replace(_gathered(problem, method, many, times, partial), code=Code.FAILED, reason=reason)
        carry(error, float(times[-1]), found)
        raise
    return _gathered(problem, method, many, times, runs)


def _so_far(error: BaseException) -> list[Trajectory]:
    """The run in which an exception was raised."""
    result = getattr(error, "result", None)
    return [result] if isinstance(result, Trajectory) else []


def _with_own_controller(problem: Problem, state: State, robot: int) -> Problem:
    """A sampled controller has a record, and noise, of its own in every run."""
    return problem if problem.sampling is None else replace(problem, controller=problem.sampling.of_robot(state, robot))


def _gathered(
    problem: Problem, method: Integrator, many: State, times: np.ndarray, runs: Sequence[Trajectory]
) -> Rollout:
    """Runs side by side at common times; those that stopped early, or never began, are NaN from then on."""
    count, none = len(many.pose), np.zeros((1, 0))
    nothing = dict(zip(SERIES, (many.pose, many.joints, many.twist, many.rates, none, none), strict=True))
    columns = [_sampled(run, times) for run in runs]
    whole: dict[str, Any] = {
        name: np.full((len(times), count, *x.shape[1:]), np.nan) for name, x in (columns or [nothing])[0].items()
    }
    codes, residual = np.full(count, Code.INTERRUPTED, dtype=object), np.full(count, np.nan)
    for robot, (run, column) in enumerate(zip(runs, columns, strict=True)):
        codes[robot] = run.code
        if run.code is Code.FINISHED:
            residual[robot] = run.energy_residual
        for name, x in column.items():
            whole[name][:, robot] = x
    warnings = _merged(runs, count)
    return Rollout(
        times, ports=problem.ports, residual=residual, codes=codes, warnings=warnings, integrator=method.name, **whole
    )


def _sampled(run: Trajectory, times: np.ndarray) -> dict[str, np.ndarray]:
    """The series of a run at these times (K); NaN after its end."""
    last = np.searchsorted(run.times, times + 1e-10, side="right") - 1
    late = times > run.times[-1] + 1e-10
    memory = np.hstack([run.memory[last], _looked(run, times)])
    series = (run.poses, run.joints, run.twists, run.rates, run.ledger.works)
    out = dict(zip(SERIES, (*(x[last] for x in series), memory), strict=True))
    return {name: np.where(late.reshape(-1, *[1] * (x.ndim - 1)), np.nan, x) for name, x in out.items()}


def _looked(run: Trajectory, times: np.ndarray) -> np.ndarray:
    """``K x k``: what sampled laws remember before their next sample, at these times."""
    sampling = run.problem.sampling
    if sampling is None or not sampling.looked:
        return np.zeros((len(times), 0))
    memories = np.array([*sampling.memories, sampling.memory[0]])
    return memories[np.searchsorted(sampling.looked, times - 1e-10, side="left")]


def _merged(runs: Sequence[Trajectory], count: int) -> tuple[Diagnostic, ...]:
    """One warning of each kind, with the robots that it concerns and the words of the worst."""
    found: dict[Any, list[tuple[int, Diagnostic]]] = {}
    for robot, run in enumerate(runs):
        for warning in run.warnings:
            found.setdefault(warning.kind, []).append((robot, warning))
    merged = []
    for some in found.values():
        worst = max((warning for _, warning in some), key=lambda warning: np.nan_to_num(warning.value))
        message = f"in {len(some)} of {count} simulations {worst.message}"
        merged.append(replace(worst, message=message, robots=np.array([robot for robot, _ in some])))
    return (*_ended(runs, count), *merged)


def _ended(runs: Sequence[Trajectory], count: int) -> list[Diagnostic]:
    """Warnings of runs that stopped early: the first of them says why."""
    out = []
    for code, kind in ((Code.STALLED, Kind.STALLED), (Code.FAILED, Kind.NOT_FINITE)):
        robots = [robot for robot, run in enumerate(runs) if run.code is code]
        if robots:
            why = runs[robots[0]].reason.removeprefix("stopped ")
            message = f"{len(robots)} of {count} simulations stopped, the first {why}"
            out.append(Diagnostic(kind, message, robots=np.array(robots)))
    return out
