"""Error estimates of runs in fixed steps, by Richardson's method.

Parts of a run are repeated from their first state in steps twice as long.  With a method of order ``p`` the end of a
part is off by about ``|fine - coarse| / (2^p - 1)``; these errors are added up over the run.  What they grow or shrink
to later is not followed, unless the run is short and one part is all of it: robots that come to rest forget most of
them, so the sum is mostly an upper bound, and in chaotic motion it is not one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..model import Model
from .events import PRECISION
from .vector_field import Layout

STEPS_PER_PART = 250
"""Long enough for a robot that lands to forget errors that it will forget."""
WHOLE = 250
"""Steps that are repeated of any run: a millisecond of work."""
SHARE = 0.2
"""Part of longer runs that is repeated, which takes half as many steps: a tenth of the time."""
LANES = 8
"""Robots of a batch that are repeated: they share the SIMD lanes of one block."""
LEAST_MOTION = np.array([5e-3, 1e-2, 5e-3, 1e-2])
"""m, rad: motions that errors are compared with are at least this large, so that 0.1 mm and 0.2 mrad are 2 %."""
TOLERANCE = 0.02
"""Estimated error relative to the motion that default steps are chosen to meet."""
REPORTED = 0.05
"""The same above which a run reports it."""
MOST_HALVINGS = 4
"""Default steps are at least a sixteenth of the first ones."""


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
    """A state of a run after a whole number of steps."""

    steps: int
    packed: np.ndarray


class Checkpoints:
    """States of a run at the start, after every :data:`STEPS_PER_PART` steps of ``dt`` (s), and after the last one: not
    those that are kept, on which the choice of default steps should not depend.
    """

    def __init__(self, dt: float) -> None:
        self.dt, self._states = dt, list[Checkpoint]()
        self._last: Checkpoint | None = None

    def see(self, t: float, packed: np.ndarray) -> None:
        """The run is there now; states within steps are passed over."""
        steps = self._steps(t)
        if abs(t - steps * self.dt) > PRECISION:
            return
        self._last = Checkpoint(steps, packed)
        if steps % STEPS_PER_PART == 0 and (not self._states or self._states[-1].steps < steps):
            self._states.append(self._last)

    def _steps(self, t: float) -> int:
        """Before ``t`` (s); a run of no duration has none."""
        return round(t / self.dt) if self.dt else 0

    def before_next(self, t: float) -> int:
        """How many steps there are to the next of them."""
        return STEPS_PER_PART - self._steps(t) % STEPS_PER_PART

    def __iter__(self) -> Iterator[Checkpoint]:
        yield from self._states
        if self._last is not None and self._states and self._last.steps > self._states[-1].steps:
            yield self._last


def estimate(march: Any, model: Model, layout: Layout, checkpoints: Checkpoints, order: int) -> ErrorEstimate | None:
    """Error of a run by the compiled steps of ``march``; None where there are not two steps to compare."""
    states, dt = list(checkpoints), checkpoints.dt
    if len(states) < 2 or states[-1].steps < 2:
        return None
    nodes = np.array([state.packed for state in states])
    error = np.zeros(4)
    for part, weight in _chosen(_activity(layout, nodes), states[-1].steps):
        start, end = states[part], states[part + 1]
        steps = end.steps - start.steps
        half = max(1, steps // 2)  # of twice the size, or a little more
        coarse = march.rows(start.steps * dt, start.packed, steps * dt / half, 1, half)[-1]
        error = error + weight * _distances(model, layout, end.packed, coarse) / (2.0**order - 1.0)
    return _judged(error, _distances(model, layout, nodes[0], nodes).max(axis=0))


def worst_of_some(
    fleet: Any, begun: np.ndarray, dt: float, steps: int, order: int, ended: np.ndarray | None = None
) -> ErrorEstimate:
    """Largest error of up to eight robots of a batch after ``steps`` of ``dt`` (s), beside half as many longer ones.

    Where they have ``ended`` (N x size) may be known.
    """
    some, half = np.unique(np.linspace(0, len(begun) - 1, LANES).round().astype(int)), steps // 2
    start, model, layout = begun[some], fleet.system.model, fleet.layout
    end = fleet.ahead(some, start, dt, steps) if ended is None else ended[some]
    coarse = fleet.ahead(some, start, steps * dt / half, half)
    with np.errstate(all="ignore"):
        errors = _distances(model, layout, end, coarse) / (2.0**order - 1.0)
        return _judged(errors, _distances(model, layout, start, end))


def _judged(errors: np.ndarray, motions: np.ndarray) -> ErrorEstimate:
    """The largest of errors (... x 4), beside motions of the same kind; what is not finite is infinitely wrong."""
    errors = np.where(np.isfinite(errors), errors, np.inf)
    motions = np.where(np.isfinite(motions), np.maximum(LEAST_MOTION, motions), LEAST_MOTION)
    position, angle = (float(errors[..., which].max()) for which in ([0, 2], [1, 3]))
    return ErrorEstimate(position, angle, float((errors / motions).max()))


def halvings(error: ErrorEstimate | None) -> int:
    """How often steps are halved to meet :data:`TOLERANCE`, if errors fall as the steps do."""
    if error is None or error.relative <= TOLERANCE:
        return 0
    return (
        MOST_HALVINGS
        if np.isinf(error.relative)
        else min(MOST_HALVINGS, math.ceil(math.log2(error.relative / TOLERANCE)))
    )


def _activity(layout: Layout, nodes: np.ndarray) -> np.ndarray:
    """Change of velocities from one node to the next: where it is large, so are errors."""
    twists, rates = layout.series(nodes).states[2:]
    change: np.ndarray = np.abs(np.diff(np.hstack([twists, rates]), axis=0)).sum(axis=1)
    return change


def _chosen(activity: np.ndarray, steps: int) -> list[tuple[int, float]]:
    """Parts of a run of so many ``steps`` to repeat, and how many parts each stands for: half are the most active ones,
    the rest is spread evenly over the others.
    """
    count = len(activity)
    few = max(2, math.ceil(max(WHOLE, SHARE * steps) * count / steps))
    if count <= few:
        return [(part, 1.0) for part in range(count)]
    by_activity = np.argsort(-activity, kind="stable")
    most, others = by_activity[: few // 2], np.sort(by_activity[few // 2 :])
    spread = others[np.linspace(0, len(others) - 1, few - len(most)).round().astype(int)]
    weight = len(others) / len(spread)
    return [(int(part), 1.0) for part in most] + [(int(part), weight) for part in spread]


def _distances(model: Model, layout: Layout, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``... x 4``: between packed states, of the base (m, rad), and of joints that slide (m) and turn (rad) at most."""
    (pose_a, joints_a, *_), (pose_b, joints_b, *_) = layout.series(a).states, layout.series(b).states
    way = np.linalg.norm(pose_b[..., :3, 3] - pose_a[..., :3, 3], axis=-1)
    chord = np.linalg.norm(pose_b[..., :3, :3] - pose_a[..., :3, :3], axis=(-2, -1)) / np.sqrt(8.0)
    turn = 2.0 * np.arcsin(np.minimum(chord, 1.0)) + 0.0 * chord  # |R - 1| = sqrt(8) sin(angle / 2); NaN stays
    moved, turns = np.abs(joints_b - joints_a), turning_coordinates(model)
    slid, bent = (moved[..., which].max(axis=-1, initial=0.0) for which in (~turns, turns))
    return np.stack(np.broadcast_arrays(way, turn, slid, bent), axis=-1)


def turning_coordinates(model: Model) -> np.ndarray:
    """Which joint coordinates are angles or parts of quaternions, and not lengths."""
    kinds = [joint.kind for joint in model.joints if joint.nv]
    each = [
        np.any(kind.group.selection[3:], axis=0) if kind.nq == kind.nv else np.ones(kind.nq, dtype=bool)
        for kind in kinds
    ]
    return np.concatenate([np.zeros(0, dtype=bool), *each])
