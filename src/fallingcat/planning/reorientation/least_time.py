"""Least-time turn: the shape motion that turns the base without momentum in the least time that limits allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...arrays.types import FloatArray, Vector_3
from ...compiler import compile
from ...dynamics.checks import vector
from ...errors import ModelError, NumericsError, describe
from ...lie.rotations import exp, log
from ...model import Model
from ...records import tabulated
from ..gaits.displacement import Displacement, Reconstruction
from ..gaits.gait import Gait, Motion, check_motion, check_shape
from ..gaits.ipopt import INFEASIBLE_STATUSES
from ..gaits.splines import Spline
from .collocation import Bounds, Collocation, Solution, joint_forces

CHECKED_POINTS = 17
"""Number of points of an interval, its ends included, at which limits are validated in the end."""
LIMIT_DISTANCE = 0.01
"""Distance at which a joint counts as at its limit: relative for speeds and efforts, rad or m for shapes."""
ATTITUDE_TOLERANCE = 1e-4
"""Largest error of the final attitude (rad)."""
SOLVED_STATUS = "Solve_Succeeded"
"""Status of IPOPT where it has found an optimum."""
_STATUS = {SOLVED_STATUS: "optimal"} | dict.fromkeys(INFEASIBLE_STATUSES, "infeasible")


@tabulated
@dataclass(frozen=True, eq=False)
class LeastTime:
    """Fastest motion that was found, with its status.

    Example:
        >>> [*LeastTime.__dataclass_fields__][:4]
        ['curve', 'time', 'displacement', 'error']
    """

    curve: Spline
    """path of all joints, on the clock ``s = t / time``"""
    time: float
    """s: least time within speeds and efforts, between nodes too"""
    displacement: Displacement
    """displacement of the base, exact"""
    error: float
    """rad: error of the final attitude of the base"""
    at_limits: FloatArray
    """``3 x n``: share of the time that each joint is at its position, speed and effort limit, in the time of the
    solver, which holds efforts at its own points only
    """
    refined: tuple[tuple[int, float], ...]
    """numbers of intervals, from coarse to fine, and the time (s) found with each"""
    tried: tuple[float, ...]
    """s: time found from each start, on the coarsest intervals; NaN: no optimum"""
    status: str
    """``optimal`` (a local one), ``infeasible`` or ``unfinished``"""
    message: str
    """message of the solver"""
    iterations: int

    @property
    def optimal(self) -> bool:
        """True if it is a local optimum."""
        return self.status == "optimal"

    @property
    def gait(self) -> Gait:
        """Motion in its time."""
        return Gait(self.curve, self.time, "constant")


def least_time(
    model: Model,
    turn: Vector_3 | None,
    starts: Motion | Sequence[Motion],
    *,
    intervals: Sequence[int] = (16, 32),
    iterations: int = 300,
    tolerance: float = 1e-6,
    strict: bool = True,
) -> LeastTime:
    """Motion from rest to rest that turns the base in the least time within limits of shapes, speeds and efforts.

    The robot floats without momentum, or falls freely.  Forces are collocated on a cubic spline, and the fastest motion
    that was found is refined, from coarse to fine (see :mod:`fallingcat.planning.reorientation.collocation`).  It is a
    local optimum: other starts may lead to others.  Ctrl-C raises :class:`~fallingcat.errors.Interrupted`, whose
    ``result`` is the solver's answer so far. Needs CasADi.

    Args:
        model: Robot with a floating base, whose joints are angles and lengths, with limits of speed or effort.
        turn: Rotation vector (3, rad, body-fixed) of the base; None: any.
        starts: Motions with the wanted ends at which the search begins, one or several, such as a righting manoeuvre.
        intervals: Numbers of spline intervals, from coarse to fine.
        iterations: Iterations of the solver at most.
        tolerance: Tolerance of the solver.
        strict: Raise an error where no optimum was found; else return it with its ``status``.

    Returns:
        Curve of all joints, its time (s) and the exact displacement of the base.

    Raises:
        NumericsError: No optimum was found, and ``strict`` is True.

    Example:
        >>> from fallingcat.planning import Circle, Gait
        >>> from fallingcat.model import robots
        >>> least_time(robots.two_cylinder_cat(), [1.0, 0.0, 0.0], Gait(Circle(0.3)))
        Traceback (most recent call last):
        fallingcat.errors.ModelError: nothing bounds the time: no joint of 'two_cylinder_cat' has a limit of speed ...
    """
    check_shape(model, model.n)
    turn = None if turn is None else np.asarray(vector(turn, 3, "turn"), dtype=float)
    motions, grids = list(starts) if isinstance(starts, Sequence) else [starts], _grids(intervals)
    search = _Search(_weightless(model), turn)
    begun = [search.initial_spline(motion, grids[0]) for motion in motions]
    if not begun:
        raise ModelError("starts must be one motion or more")
    first = Collocation(search.model, search.bounds, turn, grids[0])
    solutions = [first.solve(spline, T, iterations, tolerance) for spline, T in begun]
    tried = [search.time(answer) if answer.message == SOLVED_STATUS else np.nan for answer in solutions]
    best = [solutions[int(np.nanargmin(tried)) if np.isfinite(tried).any() else 0]]
    for count in grids[1:]:
        finer = Collocation(search.model, search.bounds, turn, count)
        best.append(finer.solve(Spline.along(best[-1].spline, count), best[-1].time, iterations, tolerance))
    found = search.build_result(best, tuple(tried))
    if strict and not found.optimal:
        raise NumericsError(f"no least time was found: {found.message}")
    return found


def _grids(intervals: Any) -> list[int]:
    given = [intervals] if isinstance(intervals, int) else intervals
    fine = isinstance(given, Sequence) and all(isinstance(x, int) and not isinstance(x, bool) and x > 1 for x in given)
    if not fine or not given or list(given) != sorted(given):
        raise ModelError(f"intervals must be integers above one, from coarse to fine, got {describe(intervals)}")
    return list(given)


def _weightless(model: Model) -> Model:
    """Model without gravity, which loads no joint of a falling robot."""
    along = model.base.selection[:3]
    # projection on the directions in which the base falls freely
    if not np.allclose(along @ np.linalg.pinv(along) @ model.gravity, model.gravity, rtol=1e-9, atol=0.0):
        raise ModelError(f"the base of {model.name!r} cannot fall ({model.base}): gravity would load its joints")
    return replace(model, gravity=np.zeros(3))


class _Search:
    """Initial guesses, and validation of the solution."""

    def __init__(self, model: Model, turn: np.ndarray | None) -> None:
        self.model, self.turn, self.bounds = model, turn, Bounds.from_model(model)
        if not (np.isfinite(self.bounds.speed) | np.isfinite(self.bounds.effort)).any():
            raise ModelError(f"nothing bounds the time: no joint of {model.name!r} has a limit of speed or effort")
        stuck = (self.bounds.speed == 0.0) | (self.bounds.effort == 0.0)
        if stuck.any():
            raise ModelError(f"joint {model.joint_names[int(np.argmax(stuck))]!r} has a speed or effort of 0: lock it")
        n = model.n
        self._forces = compile(model, joint_forces, inputs={"joints": n, "slopes": n, "bends": n})

    def initial_spline(self, start: Motion, intervals: int) -> tuple[Spline, float]:
        """Spline of a start from rest to rest, and its time (s)."""
        check_motion(start)
        if start.size != self.model.n:
            raise ModelError(f"a start must move {self.model.n} joints of {self.model.name!r}, got {start.size}")
        jet = start(start.duration * np.arange(intervals + 1) / intervals)
        points, slopes = np.clip(jet.q, self.bounds.lower, self.bounds.upper), start.duration * jet.dq
        slopes[[0, -1]] = 0.0
        moved = np.abs(points - jet.q)[[0, -1]].max(axis=0)
        if moved.any():
            name = self.model.joint_names[int(np.argmax(moved))]
            raise ModelError(f"a start begins or ends beyond the limits of joint {name!r}")
        spline = Spline(points, slopes)
        return spline, self.bounds.time(*self.sample_motion(spline)[1:])

    def time(self, answer: Solution) -> float:
        """Least time (s) that keeps the limits between nodes too."""
        return self.bounds.time(*self.sample_motion(answer.spline)[1:])

    def sample_motion(self, spline: Spline) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Shapes, slopes and forces (N x n) of the motion in one second, on both sides of nodes too."""
        k, x = np.divmod(np.arange(spline.intervals * CHECKED_POINTS), CHECKED_POINTS)
        jet = spline.within(k, x / (CHECKED_POINTS - 1.0))
        return jet.q, jet.dq, np.asarray(self._forces(*jet))

    def build_result(self, solutions: Sequence[Solution], tried: tuple[float, ...]) -> LeastTime:
        """Result from the last of the solutions on finer and finer intervals."""
        times = [self.time(answer) for answer in solutions]
        last, refined = solutions[-1], zip((answer.spline.intervals for answer in solutions), times, strict=True)
        moved = Reconstruction(self.model).displacement(last.spline)
        wanted = moved.pose[:3, :3] if self.turn is None else np.asarray(exp(self.turn))
        error = float(np.linalg.norm(log(wanted.T @ moved.pose[:3, :3])))
        status, words = _STATUS.get(last.message, "unfinished"), last.message.replace("_", " ").lower()
        if status == "optimal" and error > ATTITUDE_TOLERANCE:
            status, words = "unfinished", f"{words}, but the base ends {error:.0e} rad off: use more intervals"
        shares = self._at_limits(last.spline, last.time)
        steps = sum(answer.iterations for answer in solutions)
        return LeastTime(last.spline, times[-1], moved, error, shares, tuple(refined), tried, status, words, steps)

    def _at_limits(self, spline: Spline, T: float) -> np.ndarray:
        """``3 x n``: shares of the time at limits of shapes, speeds and efforts."""
        low, high, speed, effort = self.bounds
        q, slopes, forces = self.sample_motion(spline)
        room = np.minimum(high - q, q - low)
        near = (
            room <= LIMIT_DISTANCE,
            np.abs(slopes) >= (1.0 - LIMIT_DISTANCE) * T * speed,
            np.abs(forces) >= (1.0 - LIMIT_DISTANCE) * T * T * effort,
        )
        return np.array([x.mean(axis=0) for x in near])
