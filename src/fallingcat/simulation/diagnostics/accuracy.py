"""Error estimates of runs in fixed steps, by Richardson's method.

Parts of a run are repeated from their first state in steps twice as long.  With a method of order ``p`` the end of a
part is off by about ``|fine - coarse| / (2^p - 1)``; these errors are added up over the run.  Where steps are far
longer than an impact on a compliant floor takes, steps twice as long are wrong by as much; there parts are repeated in
shorter ones, with ``|coarse - fine| / (1 - r^p)`` for the ratio ``r`` of the steps.  What errors become later is not
followed, unless the run is short and one part is all of it: robots that come to rest forget most of them, so the
sum is mostly an upper bound, and in chaotic motion it is not one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...contact.capabilities import LinearizedForces, offers
from ...contact.effective_mass import touching_mobility
from ...model import Model, State
from ..events import TIME_TOLERANCE
from ..problem.problem import Problem
from ..problem.vector_field import Layout
from ..step_size import fastest
from .held_forces import HeldForces

STEPS_PER_PART = 250
"""Long enough for a robot that lands to forget errors that it will forget."""
MIN_STEPS_REPEATED = 100
"""Steps that are repeated of any run: a tenth of a millisecond of work."""
SHARE_REPEATED = 0.2
"""Part of longer runs that is repeated, which takes half as many steps: a tenth of the time.  Less is repeated where it
takes more of them."""
MAX_ROBOTS_REPEATED = 8
"""Robots of a batch whose errors are estimated: parts of them share SIMD lanes."""
MIN_MOTION = np.array([5e-3, 1e-2, 5e-3, 1e-2])
"""m, rad: motions that errors are compared with are at least this large, so that 0.1 mm and 0.2 mrad are 2 %."""
MAX_DEFAULT_ERROR = 0.02
"""Estimated error relative to the motion that default steps are chosen to meet."""
MAX_ERROR = 0.05
"""The same above which a run reports it."""
MAX_HALVINGS = 4
"""Default steps are at least a sixteenth of the first ones."""


MAX_UNRESOLVED_DECAY, MAX_PARTS_PER_STEP = 10.0, 16
"""Product of step and rate of decay on a floor up to which errors of impacts fall as the steps do (of 40 scenes with
boxes, all but one far above it), and parts at most into which steps are divided to see the others"""
MAX_UNRESOLVED_SLIP, MAX_SLIP_STEPS = 2.0, 64_000
"""The same on floors that damp sliding less than sinking in, where a point that lands sliding is stopped later than it
is caught, by friction that falls with the normal force, and in longer steps at once (91 scenes with boxes); and steps
that all parts take at most, a tenth of a second of a box"""
STEPS_SEEN = 500
"""Steps of a longer run that are repeated in parts: see :data:`.MIN_STEPS_REPEATED`"""
MIN_SLIP_DAMPING = 0.8
"""Ratio of tangential to normal damping above which that makes less than 2 % (the same scenes)"""


class ErrorEstimate(NamedTuple):
    """Estimated error of the configuration at the end of a run, caused by the size of its steps.

    >>> print(ErrorEstimate(1.2e-4, 3e-3, 0.004))
    0.12 mm, 3 mrad, 0.4 % of the motion
    """

    position: float
    """m: of the base, and of joints that slide"""
    angle: float
    """rad: of the base, and of joints that turn"""
    relative: float
    """the largest of them, relative to how far the base or the joints moved"""

    def __str__(self) -> str:
        return f"{1e3 * self.position:.2g} mm, {1e3 * self.angle:.2g} mrad, {100.0 * self.relative:.2g} % of the motion"


class Checkpoint(NamedTuple):
    """Robots of a run after a whole number of steps."""

    steps: int
    x: np.ndarray
    """``L x size``: see :class:`.CompiledStepper`"""


class Checkpoints:
    """States of the robots of a run from which its errors are estimated.

    They are those at the start, after every part of :data:`STEPS_PER_PART` steps of ``dt`` (s), and after the last one:
    not those that are kept, on which the choice of default steps should not depend.  Parts of runs in steps that were
    halved ``finer`` times have as many more steps: errors are followed as long as in whole steps.
    """

    def __init__(self, dt: float, finer: int = 0) -> None:
        self.dt, self.part, self._states = dt, STEPS_PER_PART * 2**finer, list[Checkpoint]()
        self._last: Checkpoint | None = None

    def see(self, t: float, x: np.ndarray) -> None:
        """Record the state of the run at a time; states within steps are passed over."""
        steps = self._steps(t)
        if abs(t - steps * self.dt) > TIME_TOLERANCE:
            return
        self._last = Checkpoint(steps, x)
        if steps % self.part == 0 and (not self._states or self._states[-1].steps < steps):
            self._states.append(self._last)

    def _steps(self, t: float) -> int:
        """Before ``t`` (s); a run of no duration has none."""
        return round(t / self.dt) if self.dt else 0

    def before_next(self, t: float) -> int:
        """Number of steps to the next checkpoint."""
        return self.part - self._steps(t) % self.part

    def __iter__(self) -> Iterator[Checkpoint]:
        yield from self._states
        if self._last is not None and self._states and self._last.steps > self._states[-1].steps:
            yield self._last


class Errors(NamedTuple):
    """Estimated errors of robots, and how far they moved: base (m, rad), joints that slide (m) and that turn (rad)."""

    errors: np.ndarray
    """``L x 4``"""
    motions: np.ndarray
    """``L x 4``"""

    @property
    def each(self) -> list[ErrorEstimate]:
        """Error estimate of every robot; numbers that are not finite count as infinite errors."""
        return [_largest(*rows) for rows in zip(self.errors.tolist(), self.motions.tolist(), strict=True)]

    def worst(self, sound: Any = True) -> ErrorEstimate | None:
        """The largest of them, of robots that are ``sound`` (truth values); None: of no robot."""
        each = self.each
        if sound is not True:
            each = [error for error, ends in zip(each, np.broadcast_to(sound, len(each)), strict=True) if ends]
        return ErrorEstimate(*map(max, zip(*each, strict=True))) if each else None


def _largest(errors: list[float], motions: list[float]) -> ErrorEstimate:
    """Error estimate of one robot: few numbers, of which arrays cost more."""
    errors = [error if math.isfinite(error) else math.inf for error in errors]
    pairs = zip(motions, MIN_MOTION.tolist(), strict=True)
    moved = [max(least, way) if math.isfinite(way) else least for way, least in pairs]
    relative = max(error / way for error, way in zip(errors, moved, strict=True))
    return ErrorEstimate(max(errors[::2]), max(errors[1::2]), relative)


def some_of(count: int) -> np.ndarray:
    """Up to :data:`MAX_ROBOTS_REPEATED` of ``count`` robots."""
    if count <= MAX_ROBOTS_REPEATED:
        return np.arange(count)
    return np.linspace(0, count - 1, MAX_ROBOTS_REPEATED).round().astype(int)


def estimate(
    stepper: Any,
    on: Any,
    layout: Layout,
    checkpoints: Checkpoints,
    order: int,
    parts_per_step: int = 1,
    held: HeldForces | None = None,
) -> Errors | None:
    """Errors of the robots on a device, in compiled steps of ``stepper``; None where there are not two steps.

    Parts are repeated in steps twice as long, or, with several ``parts_per_step``, so many times shorter; under forces
    that a controller has ``held``, in shorter ones, as it may have given others in every step.
    """
    parts_per_step = parts_per_step if held is None else max(2, parts_per_step)
    states, dt = list(checkpoints), checkpoints.dt
    if len(states) < 2 or states[-1].steps < 2:
        return None
    x, ends = np.array([state.x for state in states]), np.array([state.steps for state in states])
    nodes, model, lanes = x[..., stepper.head :], stepper.problem.model, range(x.shape[1])
    errors = np.zeros((len(lanes), 4))
    cost = float(parts_per_step) if parts_per_step > 1 else 0.5
    count, few = len(ends) - 1, _repeated_count(len(ends) - 1, ends[-1], cost)
    everything = [(part, 1.0) for part in range(count)]
    chosen = [_selected_parts(_activity(layout, nodes[:, i]), few) if few < count else everything for i in lanes]
    repeated = list[tuple[np.ndarray, ...]]()
    for parts, robots, weights in _repeated_parts(chosen, ends, apart=held is not None):
        steps = int(ends[parts[0] + 1] - ends[parts[0]])
        count, some = steps * parts_per_step if parts_per_step > 1 else max(1, steps // 2), on.part(robots)
        size = steps * dt / count
        if held is None:
            after = stepper.repeated(some, stepper.restarted(x[parts, robots], count / steps), size, count)
        else:
            start, end = (float(ends[parts[0] + i]) * dt for i in (0, 1))
            after = held.repeated(stepper, some, x[parts, robots], robots, start, end, dt, parts_per_step)
        other = np.asarray(some.fetched(after), dtype=float)[:, stepper.head :]
        repeated.append((parts, robots, weights, other))
    columns = zip(*repeated, strict=True)
    parts, robots, weights, others = repeated[0] if len(repeated) == 1 else map(np.concatenate, columns)
    ratio = 1.0 / parts_per_step if parts_per_step > 1 else 2.0  # of a little more where steps are odd
    apart, moved = others - nodes[parts + 1, robots], (nodes - nodes[0]).reshape(-1, nodes.shape[-1])
    found = distances(model, *layout.configuration(np.concatenate([apart, moved])))
    np.add.at(errors, robots, weights[:, None] * found[: len(apart)] / abs(ratio**order - 1.0))
    return Errors(errors, found[len(apart) :].reshape(*nodes.shape[:2], 4).max(axis=0))


def step_error(
    stepper: Any, on: Any, layout: Layout, x: Any, forces: Any, dt: float, steps: int, order: int
) -> ErrorEstimate | None:
    """Error of some ``steps`` that robots on a device take from ``x`` under ``forces``, by steps half as long.

    It is the largest one, of robots whose numbers stay finite; None: of no robot.
    """
    before = np.array(on.fetched(x), dtype=float)
    finer = on.sent(stepper.restarted(before, 2.0))
    ends = [stepper.taken(on, x, dt, steps, forces), stepper.taken(on, finer, 0.5 * dt, 2 * steps, forces)]
    first, coarse, fine = (np.array(on.fetched(each), dtype=float)[:, stepper.head :] for each in (x, *ends))
    model, sound = stepper.problem.model, np.isfinite(coarse).all(axis=1)
    off = _distances(model, layout, coarse, fine) / (1.0 - 0.5**order)
    return Errors(off, _distances(model, layout, first, coarse)).worst(sound)


def _repeated_parts(
    chosen: list[list[tuple[int, float]]], ends: np.ndarray, apart: bool
) -> Iterator[tuple[np.ndarray, ...]]:
    """Parts, robots and weights of the steps that are repeated in one call.

    These are parts of equal length, or, ``apart``, the same part of many robots; of one robot each alone, for which the
    code of single robots is there already.
    """
    jobs = [(part, robot, weight) for robot, own in enumerate(chosen) for part, weight in own]
    lengths = np.diff(ends)[[part for part, _, _ in jobs]]
    groups = [[job] for job in jobs]
    if len(chosen) > 1:
        kinds = np.array([part for part, _, _ in jobs]) if apart else lengths
        groups = [[jobs[i] for i in np.flatnonzero(kinds == kind)] for kind in sorted({*kinds.tolist()})]
    for group in groups:
        parts, robots, weights = zip(*group, strict=True)
        yield np.array(parts), np.array(robots), np.array(weights)


def parts_per_step(problem: Problem, start: Callable[[], State], dt: float, steps: int) -> int:
    """Parts of ``steps`` of ``dt`` (s), a power of 2, that resolve enough to see errors that do not fall as steps do.

    They are those of impacts on a floor, and of dampers under the forces of a sampled controller, which jump.
    """
    parts = 1
    if problem.sampling is not None:
        rate = fastest(replace(problem, contact=None), start(), 1.0 / dt)
        parts = min(MAX_PARTS_PER_STEP, 2 ** round(math.log2(max(1.0, rate * dt))))
    floor: Any = problem.contact
    if floor is None or not offers(floor, LinearizedForces):
        return parts
    damping = floor.point_impedance(problem.model)[1]
    rate = float(np.max(damping)) * touching_mobility(problem.model, floor)
    slips = 0.0 < damping[1:].min() < MIN_SLIP_DAMPING * damping[0]
    limit, most = MAX_UNRESOLVED_DECAY, MAX_PARTS_PER_STEP
    if slips:
        limit, most = MAX_UNRESOLVED_SLIP, 2 ** int(math.log2(MAX_SLIP_STEPS / max(1, min(steps, STEPS_SEEN))))
    return max(parts, min(most, 2 ** round(math.log2(max(1.0, rate * dt / limit)))))


def halvings(error: ErrorEstimate | None, limit: float = MAX_DEFAULT_ERROR) -> int:
    """Halvings of the steps to meet :data:`MAX_DEFAULT_ERROR` of an error above ``limit`` that falls as they do."""
    if error is None or error.relative <= limit:
        return 0
    return (
        MAX_HALVINGS
        if np.isinf(error.relative)
        else min(MAX_HALVINGS, math.ceil(math.log2(error.relative / MAX_DEFAULT_ERROR)))
    )


def _activity(layout: Layout, nodes: np.ndarray) -> np.ndarray:
    """Change of velocities from one node to the next: where it is large, so are errors."""
    change: np.ndarray = np.abs(np.diff(layout.velocity(nodes), axis=0)).sum(axis=1)
    return change


def _repeated_count(count: int, steps: int, cost: float = 0.5) -> int:
    """Number of the ``count`` parts of a run of so many ``steps`` to repeat, in ``cost`` times as many."""
    return max(1, math.ceil(max(MIN_STEPS_REPEATED, SHARE_REPEATED * 0.5 / cost * steps) * count / steps))


def _selected_parts(activity: np.ndarray, few: int) -> list[tuple[int, float]]:
    """Parts of a run to repeat, ``few`` of them, and how many parts each stands for.

    Half of several are the most active ones, the rest is spread evenly over the others, for which it stands by its
    activity: the first of them is often an impact that fades, and the last ones rest.
    """
    by_activity = np.argsort(-activity, kind="stable")
    if few == 1:
        part, whole = int(by_activity[0]), float(activity.sum())
        return [(part, whole / activity[part] if 0.0 < whole < np.inf else float(len(activity)))]
    most, others = by_activity[: few // 2], np.sort(by_activity[few // 2 :])
    spread = others[np.linspace(0, len(others) - 1, few - len(most)).round().astype(int)]
    seen, whole = activity[spread].sum(), activity[others].sum()
    weight = float(whole / seen) if 0.0 < seen < np.inf else len(others) / len(spread)
    return [(int(part), 1.0) for part in most] + [(int(part), weight) for part in spread]


def _distances(model: Model, layout: Layout, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """:func:`distances` of packed states."""
    return distances(model, *layout.configuration(b - a))


def distances(model: Model, pose: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """``... x 4``: of the base (m, rad), and of joints that slide (m) and turn (rad) at most.

    Args:
        model: Robot.
        pose: Differences of the rows ``[R p]`` of poses, ``... x 3 x 4``.
        moved: Differences of joint coordinates, ``... x j``.
    """
    way, chord = (np.sqrt((x * x).sum(axis=(-2, -1))) for x in (pose[..., 3:], pose[..., :3]))
    chord = chord / np.sqrt(8.0)
    turn = 2.0 * np.arcsin(np.minimum(chord, 1.0)) + 0.0 * chord  # |R - 1| = sqrt(8) sin(angle / 2); NaN stays
    moved, turns = np.abs(moved), turning_coordinates(model)
    slid, bent = (moved[..., which].max(axis=-1, initial=0.0) for which in (~turns, turns))
    return np.stack([way, turn, slid, bent], axis=-1)


@functools.lru_cache(maxsize=32)
def turning_coordinates(model: Model) -> np.ndarray:
    """Truth values of the joint coordinates that are angles or parts of quaternions, and not lengths."""
    kinds = [joint.kind for joint in model.joints if joint.nv]
    each = [
        np.any(kind.group.selection[3:], axis=0) if kind.nq == kind.nv else np.ones(kind.nq, dtype=bool)
        for kind in kinds
    ]
    return np.concatenate([np.zeros(0, dtype=bool), *each])
