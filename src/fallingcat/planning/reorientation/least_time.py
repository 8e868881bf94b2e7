"""The quickest turn: the motion of a shape that turns the base without momentum in the least time that limits allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...compiler import compile
from ...dynamics.checks import vector
from ...errors import ModelError, NumericsError, describe
from ...lie.rotations import exp, log
from ...model import Model
from ...records import tabulated
from ..gaits.displacement import Displacement, Reconstruction
from ..gaits.gait import Gait, Motion, check_motion, check_shape
from ..gaits.ipopt import HOPELESS
from ..gaits.splines import Spline
from .collocation import Answer, Bounds, Collocation, demanded

LOOKS = 17
"""Places in an interval, its ends included, at which limits are looked at in the end."""
NEAR = 0.01
"""Of a limit of speeds and efforts, and rad or m of one of shapes: what is as near is taken to be at it."""
SLACK = 1e-4
"""rad: how far the base may end from where it shall"""
SOLVED = "Solve_Succeeded"
_STATUS = {SOLVED: "optimal"} | dict.fromkeys(HOPELESS, "infeasible")


@tabulated
@dataclass(frozen=True, eq=False)
class LeastTime:
    """The quickest motion that was found, and what it takes."""

    curve: Spline
    """of all joints, on the clock ``s = t / time``"""
    time: float
    """s: the least within speeds and efforts, between nodes too"""
    displacement: Displacement
    """of the base, exact"""
    error: float
    """rad: how far the base ends from where it shall"""
    at_limits: np.ndarray
    """``3 x n``: the share of the time that each joint is at its lower or upper limit, speed and effort, at the pace of
    the solver, which holds efforts at its own places only
    """
    refined: tuple[tuple[int, float], ...]
    """numbers of intervals, from coarse to fine, and the time (s) found with each"""
    tried: tuple[float, ...]
    """s: where each start led to, on the coarsest intervals; NaN: to no optimum"""
    status: str
    """``optimal`` (a local one), ``infeasible`` or ``unfinished``"""
    message: str
    """what the solver says"""
    iterations: int

    @property
    def optimal(self) -> bool:
        """Whether no small change is quicker."""
        return self.status == "optimal"

    @property
    def gait(self) -> Gait:
        """The motion in its time."""
        return Gait(self.curve, self.time, "constant")


def least_time(
    model: Model,
    turn: Any,
    starts: Motion | Sequence[Motion],
    *,
    intervals: Sequence[int] = (16, 32),
    iterations: int = 300,
    tolerance: float = 1e-6,
    strict: bool = True,
) -> LeastTime:
    """The motion from rest to rest that turns the base by the rotation vector ``turn`` (3, rad, body-fixed; None: by
    any) in the least time within the model's limits of shapes, speeds and efforts.

    The robot floats, without momentum, or falls freely.  The search begins at every one of the ``starts``, motions with
    the wanted ends, such as a righting manoeuvre; forces are collocated on a cubic spline of so many ``intervals``, and
    the quickest motion that was found is refined, from coarse to fine (see :mod:`fallingcat.planning.reorientation.collocation`).  It is a local
    optimum: other starts may lead to others.  What is none raises a :class:`~fallingcat.errors.NumericsError`; with
    ``strict=False`` it is returned, and its ``status`` says so.  Ctrl-C raises
    :class:`~fallingcat.errors.Interrupted`, whose ``result`` is the solver's answer so far.  Needs CasADi.

    >>> from fallingcat.planning import Circle, Gait
    >>> from fallingcat.model import robots
    >>> least_time(robots.two_cylinder_cat(), [1.0, 0.0, 0.0], Gait(Circle(0.3)))
    Traceback (most recent call last):
    fallingcat.errors.ModelError: nothing bounds the time: no joint of 'two_cylinder_cat' has a limit of speed or effort
    """
    check_shape(model, model.n)
    turn = None if turn is None else np.asarray(vector(turn, 3, "turn"), dtype=float)
    motions, grids = list(starts) if isinstance(starts, Sequence) else [starts], _grids(intervals)
    search = _Search(_weightless(model), turn)
    begun = [search.begun(motion, grids[0]) for motion in motions]
    if not begun:
        raise ModelError("starts are motions, one or more")
    first = Collocation(search.model, search.bounds, turn, grids[0])
    answers = [first.solve(spline, T, iterations, tolerance) for spline, T in begun]
    tried = [search.time(answer) if answer.words == SOLVED else np.nan for answer in answers]
    best = [answers[int(np.nanargmin(tried)) if np.isfinite(tried).any() else 0]]
    for count in grids[1:]:
        finer = Collocation(search.model, search.bounds, turn, count)
        best.append(finer.solve(Spline.along(best[-1].spline, count), best[-1].time, iterations, tolerance))
    found = search.judged(best, tuple(tried))
    if strict and not found.optimal:
        raise NumericsError(f"no least time was found: {found.message}")
    return found


def _grids(intervals: Any) -> list[int]:
    given = [intervals] if isinstance(intervals, int) else intervals
    fine = isinstance(given, Sequence) and all(isinstance(x, int) and not isinstance(x, bool) and x > 1 for x in given)
    if not fine or not given or list(given) != sorted(given):
        raise ModelError(f"intervals are numbers above one, from coarse to fine, not {describe(intervals)}")
    return list(given)


def _weightless(model: Model) -> Model:
    """Without gravity, which asks nothing of the joints of what falls."""
    along = model.base.selection[:3]
    if not np.allclose(along @ np.linalg.pinv(along) @ model.gravity, model.gravity, rtol=1e-9, atol=0.0):
        raise ModelError(f"the base of {model.name!r} cannot fall ({model.base}): gravity would pull on its joints")
    return replace(model, gravity=np.zeros(3))


class _Search:
    """Where to begin, and how to judge what was found."""

    def __init__(self, model: Model, turn: np.ndarray | None) -> None:
        self.model, self.turn, self.bounds = model, turn, Bounds.of(model)
        if not (np.isfinite(self.bounds.speed) | np.isfinite(self.bounds.effort)).any():
            raise ModelError(f"nothing bounds the time: no joint of {model.name!r} has a limit of speed or effort")
        stuck = (self.bounds.speed == 0.0) | (self.bounds.effort == 0.0)
        if stuck.any():
            raise ModelError(f"joint {model.joint_names[int(np.argmax(stuck))]!r} has a speed or effort of 0: lock it")
        n = model.n
        self._forces = compile(model, demanded, inputs={"joints": n, "slopes": n, "bends": n})

    def begun(self, start: Motion, intervals: int) -> tuple[Spline, float]:
        """A start from rest to rest, and the time (s) that it takes."""
        check_motion(start)
        if start.size != self.model.n:
            raise ModelError(f"a start moves {start.size} joints, but {self.model.name!r} has {self.model.n}")
        jet = start(start.duration * np.arange(intervals + 1) / intervals)
        points, slopes = np.clip(jet.q, self.bounds.lower, self.bounds.upper), start.duration * jet.dq
        slopes[[0, -1]] = 0.0
        moved = np.abs(points - jet.q)[[0, -1]].max(axis=0)
        if moved.any():
            name = self.model.joint_names[int(np.argmax(moved))]
            raise ModelError(f"a start begins or ends beyond the limits of joint {name!r}")
        spline = Spline(points, slopes)
        return spline, self.bounds.time(*self.taken(spline)[1:])

    def time(self, answer: Answer) -> float:
        """s: the least that keeps the limits between nodes too."""
        return self.bounds.time(*self.taken(answer.spline)[1:])

    def taken(self, spline: Spline) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Shapes, slopes and forces (N x n) of the motion in one second, on both sides of nodes too."""
        k, x = np.divmod(np.arange(spline.intervals * LOOKS), LOOKS)
        jet = spline.within(k, x / (LOOKS - 1.0))
        return jet.q, jet.dq, np.asarray(self._forces(*jet))

    def judged(self, answers: Sequence[Answer], tried: tuple[float, ...]) -> LeastTime:
        """The last of those on finer and finer intervals, and how it was found."""
        times = [self.time(answer) for answer in answers]
        last, refined = answers[-1], zip((answer.spline.intervals for answer in answers), times, strict=True)
        moved = Reconstruction(self.model).displacement(last.spline)
        wanted = moved.pose[:3, :3] if self.turn is None else np.asarray(exp(self.turn))
        error = float(np.linalg.norm(log(wanted.T @ moved.pose[:3, :3])))
        status, words = _STATUS.get(last.words, "unfinished"), last.words.replace("_", " ").lower()
        if status == "optimal" and error > SLACK:
            status, words = "unfinished", f"{words}, but the base ends {error:.0e} rad off: take more intervals"
        shares = self._at_limits(last.spline, last.time)
        steps = sum(answer.iterations for answer in answers)
        return LeastTime(last.spline, times[-1], moved, error, shares, tuple(refined), tried, status, words, steps)

    def _at_limits(self, spline: Spline, T: float) -> np.ndarray:
        """``3 x n``: shares of the time at limits of shapes, speeds and efforts."""
        low, high, speed, effort = self.bounds
        q, slopes, forces = self.taken(spline)
        room = np.minimum(high - q, q - low)
        near = room <= NEAR, np.abs(slopes) >= (1.0 - NEAR) * T * speed, np.abs(forces) >= (1.0 - NEAR) * T * T * effort
        return np.array([x.mean(axis=0) for x in near])
