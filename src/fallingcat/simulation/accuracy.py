"""Error estimates of runs in fixed steps, by Richardson's method.

Parts of a run are repeated from their first state in steps twice as long.  With a method of order ``p`` the end of a
part is off by about ``|fine - coarse| / (2^p - 1)``; these errors are added up over the run.  What they grow or shrink
to later is not followed, unless the run is short and one part is all of it: robots that come to rest forget most of
them, so the sum is mostly an upper bound, and in chaotic motion it is not one.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..model import Model
from .events import PRECISION
from .field import Layout

STEPS_PER_PART = 250
"""Long enough for a robot that lands to forget errors that it will forget."""
WHOLE = 250
"""Steps that are repeated of any run: a millisecond of work."""
SHARE = 0.2
"""Part of longer runs that is repeated, which takes half as many steps: a tenth of the time."""
LANES = 8
"""Robots of a batch that are repeated: they share the SIMD lanes of one block."""
LEAST_MOTION = np.array([5e-3, 1e-2, 5e-3, 1e-2])
"""m, rad: motions that errors are compared with are at least this large, so that 0.25 mm and 0.5 mrad are 5 %."""
TOLERANCE = 0.05
"""Estimated error relative to the motion that default steps are chosen to meet, and above which a run reports it."""
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


class Samples(NamedTuple):
    """Packed states of a run at every ``every``-th of its steps of ``dt`` (s), in a row from the start."""

    packed: np.ndarray
    """``N x size``"""
    every: int
    dt: float

    @classmethod
    def of(cls, times: np.ndarray, packed: np.ndarray, every: int, dt: float) -> Samples:
        """Those of a record that may have more, at events; first and last, if it has no others."""
        steps = np.rint(times / (every * dt)).astype(int)
        steps[np.abs(times - steps * every * dt) > PRECISION] = -1
        _, first = np.unique(steps, return_index=True)
        first = first[steps[first] >= 0]
        whole = steps[first] == np.arange(len(first))
        found = packed[first[: len(first) if whole.all() else int(whole.argmin())]]
        all_steps = round(float(times[-1]) / dt)
        if len(found) < 2 and abs(times[-1] - all_steps * dt) <= PRECISION:
            return cls(packed[[0, -1]], all_steps, dt)
        return cls(found, every, dt)


def estimate(march: Any, model: Model, layout: Layout, samples: Samples, order: int) -> ErrorEstimate | None:
    """Error of a run by the compiled steps of ``march``; None where there are not two steps to compare."""
    nodes, every, dt = samples
    intervals = len(nodes) - 1
    if intervals * every < 2:
        return None
    length = intervals if intervals * every <= WHOLE else min(intervals, max(1, round(STEPS_PER_PART / every)))
    steps, error = length * every, np.zeros(4)
    half = steps // 2  # of twice the size, or a little more
    for part, weight in _chosen(_activity(layout, nodes, length), steps):
        start, end = nodes[part * length], nodes[(part + 1) * length]
        coarse = march.rows(part * steps * dt, start, steps * dt / half, 1, half)[-1]
        error = error + weight * _distances(model, layout, end, coarse) / (2.0**order - 1.0)
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


def _activity(layout: Layout, nodes: np.ndarray, length: int) -> np.ndarray:
    """Change of velocities within each part of ``length`` intervals: where it is large, so are errors."""
    parts = (len(nodes) - 1) // length
    twists, rates = layout.series(nodes).states[2:]
    change = np.abs(np.diff(np.hstack([twists, rates]), axis=0)).sum(axis=1)
    return change[: parts * length].reshape(parts, length).sum(axis=1)


def _chosen(activity: np.ndarray, steps: int) -> list[tuple[int, float]]:
    """Parts of so many ``steps`` to repeat, and how many parts each stands for: half are the most active ones, the rest
    is spread evenly over the others.
    """
    count = len(activity)
    few = max(2, math.ceil(max(WHOLE, SHARE * count * steps) / steps))
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
