"""Optimal gaits: most displacement per cycle, or least effort for a wanted one, within the limits of the joints.

Fourier series of the joints are the unknowns; CasADi differentiates the exact displacement, and IPOPT looks for a
local optimum: several starts make it likely to be the best one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._deprecated import former_arguments
from ...arrays.types import Vector_n
from ...dynamics.checks import positive, vector
from ...errors import Interrupted, ModelError, NumericsError
from ...model import Model
from ...records import tabulated
from .curves import Curve, Fourier
from .displacement import Displacement, Reconstruction
from .gait import check_shape
from .initial_guess import strongest_bends
from .ipopt import GaitProblem, Solution, Solver
from .objectives import Aim
from .transcription import EFFORTS

UNLIMITED_REACH = 1.5
"""Reach of starts where joints have no limits (rad, m)."""
CIRCLE_SHARE = 0.6
"""Share of the room around a start that its circle takes."""
VALUE_TOLERANCE = 1e-6
"""Largest error of the discrete value, compared with the exact gait."""
LIMIT_TOLERANCE = 1e-9
"""Largest violation of limits by the exact gait (rad, m)."""
WARM_BARRIER = 1e-7
"""Barrier parameter of IPOPT where it continues from a solution to another weight."""
_RANKS = {"optimal": 0, "unfinished": 1, "interrupted": 2, "infeasible": 3}
"""Order of results, the best first."""


@tabulated
@dataclass(frozen=True, eq=False)
class Optimum:
    """Result of :func:`optimize`: a gait, with its status.

    Example:
        >>> [*Optimum.__dataclass_fields__][:4]
        ['gait', 'series', 'joints', 'value']
    """

    gait: Curve
    """closed, over all joints of the model, for s in [0, 1]"""
    series: Fourier
    """Fourier series of the joints that move"""
    joints: tuple[str, ...]
    value: float
    """value of the objective (m, rad), exact"""
    displacement: Displacement
    """displacement of the base, exact"""
    effort: float
    """over a cycle of 1 s"""
    status: str
    """``optimal``, ``infeasible``, ``unfinished`` or ``interrupted``"""
    message: str
    """message of the solver"""
    iterations: int
    gradient: float
    """largest entry of the gradient of the Lagrangian: zero at an optimum"""
    violation: float
    """largest amount (rad, m) by which a joint leaves its limits, or the value its target"""

    @property
    def optimal(self) -> bool:
        """True if it is a local optimum."""
        return self.status == "optimal"


@former_arguments(limits="joint_limits")
def optimize(
    model: Model,
    maximize: str = "turn",
    joints: Sequence[str] | None = None,
    *,
    target: float | None = None,
    effort: str = "rates",
    weight: float = 1e-3,
    budget: float | None = None,
    joint_limits: bool = True,
    reach: float | None = None,
    harmonics: int = 3,
    start: Curve | None = None,
    starts: int = 2,
    origin: Vector_n | None = None,
    iterations: int = 500,
    tolerance: float = 1e-8,
    strict: bool = True,
) -> Optimum:
    """Optimal gait of some joints: most of ``maximize`` minus ``weight`` times effort.

    The search prefers gaits that go around once where it can: twice around is twice as far.  Ctrl-C ends it after an
    iteration: it raises :class:`~fallingcat.errors.Interrupted`, a ``KeyboardInterrupt`` whose ``result`` is the best
    gait so far.  Needs CasADi.

    Args:
        model: Robot with a floating base, whose joints are angles and lengths.
        maximize: One of :data:`~fallingcat.planning.gaits.objectives.AIMS`, or minus one of its coordinates.
        joints: Names of the joints that move; None: all.
        target: Value (m, rad) of ``maximize`` as a constraint: the gait with least effort that reaches it; None:
            maximize.
        effort: Squares of joint ``"rates"`` (rad^2/s) or ``"forces"`` (N^2 m^2 s) over a cycle of 1 s.
        weight: Weight of the effort.
        budget: Bound of the effort; None: none.
        joint_limits: Keep joints within the limits of the model.
        reach: Largest distance (rad, m) of joints from ``origin``; None: any.
        harmonics: Harmonics of the Fourier series.
        start: Closed curve of the moving joints, or of all, at which the search begins; None: circles.
        starts: Number of most promising circles at which the search begins.
        origin: Shape (n) of the joints that do not move; None: neutral.
        iterations: Iterations of the solver at most.
        tolerance: Tolerance of the solver.
        strict: Raise an error where no optimum was found; else return it with its ``status``.

    Returns:
        Gait of all joints for s in [0, 1], its value and the exact displacement of the base.

    Raises:
        NumericsError: No optimum was found, and ``strict`` is True; the message gives the reason, and the largest value
            within reach.

    Example:
        >>> from fallingcat.model import robots
        >>> best = optimize(robots.two_cylinder_cat(), "turn", reach=0.5, harmonics=1)
        >>> best.status, best.violation < 1e-8
        ('optimal', True)
    """
    check_shape(model, model.n)
    aim = Aim.parse(maximize)
    if effort not in EFFORTS:
        raise ModelError(f"effort must be one of {', '.join(EFFORTS)}, got {effort!r}")
    if harmonics < 1 or not (np.isfinite(weight) and weight >= 0.0):
        raise ModelError("harmonics must be 1 or more, and weight finite and not negative")
    positive(tolerance, "tolerance")
    part = Part.from_joints(model, joints, origin)
    low, high = part.bounds(joint_limits, reach)
    question = GaitProblem(part.reduced_model, aim, target, effort, weight, budget, low, high, harmonics)
    if not question.is_bounded:
        raise ModelError("the gait is unbounded: give a weight of effort, a budget, joint_limits or a reach")
    search = _Search(part, question, iterations, tolerance)
    found = search.best_optimum(search.initial_guesses(start, starts))
    if strict and not found.optimal:
        raise NumericsError(f"no optimal gait was found: {found.message}")
    return found


@dataclass(frozen=True, eq=False)
class Part:
    """Some joints of a robot, with the others welded."""

    model: Model
    reduced_model: Model
    places: np.ndarray
    """indices of its joints among those of the model"""
    origin: np.ndarray
    """``n``: of all joints"""

    @classmethod
    def from_joints(cls, model: Model, joints: Sequence[str] | None, origin: Any | None) -> Part:
        """Part of the named joints, or of all."""
        at = np.asarray(model.neutral().joints if origin is None else vector(origin, model.n, "origin"), dtype=float)
        names = list(model.joint_names if joints is None else joints)
        places = np.sort([model.v_slices[model.leading_index(name)].start for name in names])
        if len(set(names)) < max(len(names), 2):
            raise ModelError(f"a gait needs two different joints or more, got {', '.join(names) or 'none'}")
        rest = {
            j.name: at[place]
            for j, place in zip(model.joints, model.q_slices, strict=True)
            if j.name not in names and j.nv
        }
        return cls(model, model.lock(rest).merge_fixed() if rest else model, places, at)

    @property
    def middle(self) -> np.ndarray:
        """Moving joints at the origin (k)."""
        return np.asarray(self.origin[self.places])

    def bounds(self, joint_limits: bool, reach: float | None) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest shape (k)."""
        own = self.reduced_model.limits
        low, high = (np.array([getattr(x, side) for x in own]) for side in ("lower", "upper"))
        if not joint_limits:
            low, high = np.full(len(own), -np.inf), np.full(len(own), np.inf)
        if reach is not None:
            if not reach > 0.0:
                raise ModelError(f"reach must be positive, got {reach!r}")
            low, high = np.maximum(low, self.middle - reach), np.minimum(high, self.middle + reach)
        if not (low < high).all():
            raise ModelError(
                f"joint {self.reduced_model.joint_names[int(np.argmin(low < high))]!r} has no room to move"
            )
        return low, high

    def full_curve(self, series: Fourier) -> Curve:
        """A series of the moving joints as a curve of all joints."""
        rest = self.origin.copy()
        rest[self.places] = 0.0
        return series.embedded(np.eye(self.model.n)[:, self.places], rest)


class _Search:
    """Search that validates the exact gait of each solution, and refines until it keeps its limits."""

    def __init__(self, part: Part, question: GaitProblem, iterations: int, tolerance: float) -> None:
        self.part, self.gait_problem, self.iterations, self.tolerance = part, question, iterations, tolerance
        self.reconstruction = Reconstruction(part.reduced_model)
        self.solvers: dict[int, Solver] = {}

    def initial_guesses(self, start: Curve | None, count: int) -> list[np.ndarray]:
        """Coefficients of the initial guesses."""
        asked, s = self.gait_problem, np.arange(256) / 256.0
        if start is not None:
            chosen = start.size == asked.model.n
            if not start.closed or not (chosen or start.size == self.part.model.n):
                raise ModelError(f"the start must be a closed curve of {asked.model.n} joints, or of all")
            return [self._series(start(s).q if chosen else start(s).q[:, self.part.places])]
        middle = np.clip(self.part.middle, asked.low, asked.high)
        low, high = np.maximum(asked.low, middle - UNLIMITED_REACH), np.minimum(asked.high, middle + UNLIMITED_REACH)
        found = strongest_bends(asked.model, self._direction() * asked.aim.rows(asked.model), low, high, middle)
        # so written, NaN counts as no strength
        if not found[0].strength > 1e-9:
            raise ModelError(f"small gaits of these joints do not change {asked.aim.name!r}: the curvature is zero")
        return [self._series(bend.circle(CIRCLE_SHARE)(s).q) for bend in found[: max(count, 1)]]

    def _direction(self) -> float:
        asked = self.gait_problem
        return asked.aim.sign if asked.target is None else (-1.0 if asked.target < 0.0 else 1.0)

    def _series(self, samples: np.ndarray) -> np.ndarray:
        spectrum = np.fft.rfft(samples, axis=0)[: self.gait_problem.harmonics + 1] / len(samples)
        return np.vstack([spectrum[:1].real, 2.0 * spectrum[1:].real, -2.0 * spectrum[1:].imag]).ravel()

    def best_optimum(self, starts: list[np.ndarray]) -> Optimum:
        """Best result from all starts."""
        found: list[Optimum] = []
        try:
            for x in starts:
                found.append(self._solved_from(x))  # noqa: PERF401  Ctrl-C leaves what was found
            return self._with_reach(self._best_result(found))
        except Interrupted as stop:
            best = self._best_result([*found, self._result(stop.result)[0]])
            words = f"interrupted after {len(found)} of {len(starts)} starts"
            raise Interrupted(words, replace(best, status="interrupted", message=f"{words}; {best.message}")) from None

    def _best_result(self, found: list[Optimum]) -> Optimum:
        return min(found, key=lambda one: (_RANKS[one.status], self._cost(one)))

    def _with_reach(self, best: Optimum) -> Optimum:
        if best.optimal or self.gait_problem.target is None:
            return best
        return replace(best, message=f"{best.message}; {self._reach_message(best)}")

    def _cost(self, one: Optimum) -> float:
        asked = self.gait_problem
        return one.effort if asked.target is not None else asked.weight * one.effort - asked.aim.sign * one.value

    def _reach_message(self, stuck: Optimum) -> str:
        """Message about the largest value within reach, when a target is not."""
        asked = replace(
            self.gait_problem, target=None, weight=1e-6, aim=Aim(self.gait_problem.aim.name, self._direction())
        )
        other = _Search(self.part, asked, self.iterations, self.tolerance)
        most = other._solved_from(self._series(stuck.series(np.arange(256) / 256.0).q))
        if not most.optimal:
            return "the largest value within reach is not known"
        size = f"{np.degrees(most.value):.4g} degrees" if asked.aim.is_angle else f"{most.value:.4g} m"
        return f"{asked.aim.name} of {size} is within reach"

    def _solved_from(self, x: np.ndarray) -> Optimum:
        steps, margin, weight = 12 + 4 * self.gait_problem.harmonics, 0.0, self.gait_problem.weight
        solver, answer = self._solver(steps), None
        weights = self._weights(solver, x)
        for once in weights:
            # answers on the way only start the next one: exact ones would cost and gain nothing
            enough = self.tolerance if once == weights[-1] else max(self.tolerance, 1e-4)
            here = x if answer is None else answer.x
            answer = solver.solve(here, once, 0.0, self.iterations, enough, answer, near=WARM_BARRIER)
        assert answer is not None
        for _ in range(8):
            found, gap, excess = self._result(answer)
            if not found.optimal or (gap <= VALUE_TOLERANCE and excess <= LIMIT_TOLERANCE):
                break
            if gap > VALUE_TOLERANCE:
                steps, solver = 2 * steps, self._solver(2 * steps)
            margin += 1.1 * excess
            answer = solver.solve(answer.x, weight, margin, self.iterations, self.tolerance, answer)
        return found

    def _solver(self, steps: int) -> Solver:
        if steps not in self.solvers:
            self.solvers[steps] = Solver(self.gait_problem, steps)
        return self.solvers[steps]

    def _weights(self, solver: Solver, x: np.ndarray) -> list[float]:
        """Weights of a continuation from one at which going around once is best, down to the wanted one.

        Otherwise gaits may wind several times.
        """
        asked = self.gait_problem
        value, effort = (float(y) for y in solver.outcome(x))
        first = 0.3 * abs(value) / effort
        if asked.target is not None or asked.budget is not None or not asked.weight < first:
            return [asked.weight]
        # continuation from small gaits, where effort dominates, in at most eight solves
        count = int(np.ceil(np.log(max(asked.weight / first, 1e-4)) / np.log(0.3)))
        return [*(first * 0.3**k for k in range(count)), asked.weight]

    def _result(self, answer: Solution) -> tuple[Optimum, float, float]:
        """Gait of a solution, the error of its discrete value, and its violation of the limits."""
        asked, H = self.gait_problem, self.gait_problem.harmonics
        table = answer.x.reshape(-1, asked.model.n)
        series = Fourier(table[0], table[1 : 1 + H], table[1 + H :])
        moved = self.reconstruction.displacement(series)
        value = asked.aim.of_pose(moved.pose, answer.value)
        q = series(np.linspace(0.0, 1.0, 4001)).q
        excess = float(max((q - asked.high).max(), (asked.low - q).max(), 0.0))
        miss = 0.0 if asked.target is None else abs(value - asked.target)
        found = Optimum(
            self.part.full_curve(series),
            series,
            asked.model.joint_names,
            value,
            moved,
            answer.effort,
            answer.status,
            self._message(answer, value),
            answer.iterations,
            answer.gradient,
            max(excess, miss),
        )
        return found, abs(value - answer.value), excess

    def _message(self, answer: Solution, value: float) -> str:
        words, asked = answer.message.replace("_", " ").lower(), self.gait_problem
        if answer.status != "optimal":
            words += f"; the last gait reaches {value:.4g} with an effort of {answer.effort:.4g}"
            return words + ("" if asked.target is None else f", {asked.target:.4g} was wanted")
        if asked.target is None and abs(value) < 1e-6:
            return words + "; near here effort outweighs displacement, and the best gait is to stay"
        return words
