"""Fastest righting with many joints at once, such as four legs that each draw a circle.

All joints go around together, ``q = middle + first cos a + second sin a``, from a posture and back to it
(:class:`.RightingCurve`).  Within a period a joint that is as fast as it can be goes around with a certain amplitude;
among all motions within these amplitudes and the joints' limits the one that turns most is looked for.  The derivative
of the turn is exact: when a curve with fixed ends changes by ``dq``, its displacement changes by
``int Ad(g(1)^-1 g(s)) DA(q', dq) ds`` - curvature.  The set of motions is convex, a product of one small set for each
joint, on which the maximum of a linear function is known: steps go towards it (Frank and Wolfe).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np

from ..._deprecated import former_arguments
from ...arrays.types import Float_3, Vector, Vector_n
from ...compiler.compilation import compile_step
from ...dynamics.checks import positive, vector
from ...errors import ModelError, describe
from ...formulations import curvature
from ...lie import SE3, SO3
from ...lie.rotations import log
from ...model import Model
from ...records import concise
from ..gaits.displacement import Displacement, Reconstruction
from ..gaits.gait import check_shape
from ..gaits.time_parametrization import TimeParametrization, time_parametrization
from .curve import RightingCurve
from .limb_clearance import Limbs
from .plan import smallest_bend

SIDE_TURN_PENALTY = 10.0
"""Penalty of the square of a turn about other axes (1/rad)."""
OVERLAP_PENALTY = 50.0
"""Penalty of overlapping limbs, per pair of points (rad)."""
LIMIT_MARGIN = 0.02
"""Distance of joints from their limits (rad)."""
EFFORT_SHARE = 0.9
"""Share of efforts and speeds that the plan uses; the tracking controller needs the rest."""
RANDOM_MOTIONS, SEARCH_STEPS, FINAL_STEPS = 8, 20, 40
"""Number of random motions from which the search begins, of its steps from each, and of more from the best."""
COMPARED_TURNS, COMPARED_RAMP = (2.0, 1.0, 0.5), 0.2
"""Numbers of turns, and ramp, with which motions are compared: the first whose best is clear of 180 degrees."""
MAX_CLEAR_TURN = 0.85 * np.pi
"""rad; at a half turn the rotation vector jumps, and the search stops"""
RAMP_TURNS = (0.25, 0.5)
"""Turns within which the motion is taken up, and left again, at the end."""
MAX_TURNS, POINTS = 12, 80
"""Largest number of turns of a motion, and grid points on each of its three pieces, up to three turns."""
MAX_PERIOD_COUNT = 8
"""Largest number of periods that are tried."""
SEARCH_TOLERANCE, RESULT_TOLERANCE = 1e-6, 1e-11
"""Tolerances of displacements while searching, and of the result."""


@concise
class QuickRighting(NamedTuple):
    """Motion from rest to rest, from a posture and back to it, that turns a robot over without momentum.

    Example:
        >>> QuickRighting._fields
        ('curve', 'motion', 'moved')
    """

    curve: RightingCurve
    motion: TimeParametrization
    """the curve in the least time that drives allow"""
    moved: Displacement
    """displacement of the base, exact"""

    @property
    def turn(self) -> Float_3:
        """Rotation vector (3, rad) of the base, in its own frame."""
        return np.asarray(log(self.moved.pose[:3, :3]), dtype=float)


@former_arguments(angle="turn", apart="clearance")
def quickest(
    model: Model,
    turn: float,
    origin: Vector_n,
    *,
    axis: Sequence[float] = (1.0, 0.0, 0.0),
    period: float | None = 0.28,
    tips: Sequence[str] = (),
    clearance: float = 0.1,
    seed: int = 0,
) -> QuickRighting:
    """Fastest motion from a shape and back that turns the base by an angle, within limits of joints and drives.

    Joints whose file gives them no speed, no effort or no range rest.

    Args:
        model: Robot with a free base.
        turn: Angle (rad, up to pi).
        origin: Shape (n) at the start and the end.
        axis: Axis of the turn (3, base frame), reached approximately.
        period: Time (s) of one turn, from which amplitudes follow by the speeds of the drives; None: the best of those
            from the longest, in which every joint uses its whole range, downwards.
        tips: Links or frames at the ends of limbs that keep apart.
        clearance: Distance (m) between the center lines of these limbs, kept approximately.
        seed: Seed of the random motions at which the search begins.

    Returns:
        Curve, its motion in the least time, and the displacement of the base.

    Raises:
        ModelError: The base is not free, or no motion turns the robot that far.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.two_cylinder_cat()
        >>> quickest(cat, 4.0, np.zeros(2))
        Traceback (most recent call last):
        fallingcat.errors.ModelError: turn must be above zero and up to pi, got 4.0
    """
    if not isinstance(turn, (int, float, np.number)) or not 0.0 < turn <= np.pi:
        raise ModelError(f"turn must be above zero and up to pi, got {describe(turn)}")
    search = _Search(model, origin, axis)
    if tips:
        search.limbs, search.clearance = Limbs(model, tips), positive(clearance, "clearance")
    if period is not None:
        return search.limited_to_period(positive(period, "period")).quickest(seed, float(turn))
    return _best_period(search, seed, float(turn))


def largest_turn(
    model: Model, origin: Vector_n, *, axis: Sequence[float] = (1.0, 0.0, 0.0), seed: int = 0
) -> RightingCurve:
    """Motion of all joints within their ranges, of any speed, that turns the base most about an axis.

    Args:
        model: Robot with a free base.
        origin: Shape (n) at the start and the end.
        axis: Axis of the turn (3, base frame), reached approximately.
        seed: Seed of the random motions at which the search begins.

    Returns:
        Curve from the shape and back to it; :attr:`.RightingCurve.circle` is once around, without the way there and
        back.

    Raises:
        ModelError: The base is not free, or no motion turns the robot about this axis.

    Example:
        >>> from dataclasses import replace
        >>> import fallingcat as fc
        >>> cat = fc.robots.two_cylinder_cat()
        >>> bends = [replace(joint, limits=fc.model.Limits(-1.0, 1.0)) for joint in cat.joints]
        >>> curve = largest_turn(replace(cat, joints=bends), [0.0, 0.0])
        >>> moved = fc.planning.displacement(cat, curve.circle)
        >>> bool(np.degrees(np.linalg.norm(log(moved.pose[:3, :3]))) > 60.0)
        True
    """
    search = _Search(model, origin, axis).limited_to_period(np.inf)
    return search.curve(search.largest_rotation(seed), search.turns, COMPARED_RAMP)


def _best_period(search: _Search, seed: int, angle: float) -> QuickRighting:
    """Fastest motion over periods, each half the one before, until they take longer."""
    found: QuickRighting | None = None
    for period in search.longest_period() * 0.5 ** np.arange(MAX_PERIOD_COUNT):
        try:
            new = search.limited_to_period(float(period)).quickest(seed, angle)
        except ModelError:
            if found is None:
                raise
            break
        if found is not None and new.motion.duration >= found.motion.duration:
            break
        found = new
    assert found is not None  # the first period gave a motion, or raised
    return found


class _Search:
    """Search over motions by their three parts ``[middle, first, second]`` (3 x n)."""

    limbs: Limbs | None = None
    clearance: float = 0.0
    turns: float = COMPARED_TURNS[0]

    def __init__(self, model: Model, origin: Vector, axis: Sequence[float]) -> None:
        check_shape(model, model.n)
        if not isinstance(model.base, SE3):
            raise ModelError(f"the base of {model.name!r} is not free ({model.base}): it does not fall")
        about = np.asarray(vector(axis, 3, "axis"), dtype=float)
        if not np.linalg.norm(about) > 0.0:
            raise ModelError("axis must not be zero")
        self.model, self.axis = model, about / np.linalg.norm(about)
        self.origin = start = np.asarray(vector(origin, model.n, "origin"), dtype=float)
        self.reconstruction = Reconstruction(model)
        self._curvature = compile_step(model, curvature, {}, ["joints"])
        lower, upper, self.speed, effort = (
            np.array([getattr(x, name) for x in model.limits]) for name in ("lower", "upper", "velocity", "effort")
        )
        outside = (start < lower) | (start > upper)
        if outside.any():
            raise ModelError(f"joint {model.joint_names[int(np.argmax(outside))]!r} is beyond its limits at the origin")
        rests = (self.speed == 0.0) | (effort == 0.0) | (upper - lower <= 2.0 * LIMIT_MARGIN)
        self.low = np.where(rests, start, np.maximum(lower + LIMIT_MARGIN, start - np.pi))
        self.high = np.where(rests, start, np.minimum(upper - LIMIT_MARGIN, start + np.pi))
        self.max_amplitude = self.amplitude = 0.5 * (self.high - self.low)

    def limited_to_period(self, period: float) -> Self:
        """The same with the amplitudes that the drives reach in a period (s)."""
        amplitude = np.inf if np.isinf(period) else EFFORT_SHARE * self.speed * period / (2.0 * np.pi)
        self.max_amplitude = np.minimum(amplitude, self.amplitude)
        return self

    def longest_period(self) -> float:
        """Period (s) in which each joint with a limit of speed uses its whole range, at most four of the median's."""
        limited = (self.amplitude > 0.0) & np.isfinite(self.speed)
        if not limited.any():
            return np.inf
        periods = 2.0 * np.pi * self.amplitude[limited] / (EFFORT_SHARE * self.speed[limited])
        return float(min(periods.max(), 4.0 * np.median(periods)))

    def curve(self, parts: np.ndarray, turns: float, ramp: float, bend: float = 1.0) -> RightingCurve:
        middle, first, second = parts
        return RightingCurve(self.origin, first, second, bend, middle - self.origin, turns, 0.0, ramp)

    # which motion -------------------------------------------------------------------------------------------------

    def largest_rotation(self, seed: int) -> np.ndarray:
        """Motion that turns most about the axis, of those found from random ones."""
        for self.turns in COMPARED_TURNS:
            rng = np.random.default_rng(seed)
            found = [self.ascend(self.random(rng), SEARCH_STEPS) for _ in range(RANDOM_MOTIONS)]
            turn, parts = self.ascend(max(found, key=lambda x: x[0])[1], FINAL_STEPS)
            if turn < MAX_CLEAR_TURN:
                break
        if not turn > 1e-3:
            raise ModelError(f"no motion of its joints was found that turns {self.model.name!r} about this axis")
        return parts

    def random(self, rng: np.random.Generator) -> np.ndarray:
        phase = rng.uniform(0.0, 2.0 * np.pi, self.model.n)
        low, high = self.low + self.max_amplitude, self.high - self.max_amplitude
        return np.array(
            [
                rng.uniform(low, np.maximum(low, high)),
                self.max_amplitude * np.cos(phase),
                self.max_amplitude * np.sin(phase),
            ]
        )

    def ascend(self, parts: np.ndarray, steps: int) -> tuple[float, np.ndarray]:
        """Turn about the axis (rad) after ascent, and the motion."""
        turn, slope = self.rotation_and_slope(parts)
        for _ in range(steps):
            way = self.farthest(slope) - parts
            gain, share = float(np.sum(slope * way)), 1.0
            # backtracking (Armijo): the maximum of the linear function need not turn more, as the turn is not concave
            while share > 1e-3:
                ahead, slope_ahead = self.rotation_and_slope(parts + share * way)
                if ahead > turn + 0.1 * share * gain:
                    break
                share *= 0.5
            else:
                break
            parts, turn, slope = parts + share * way, ahead, slope_ahead
        return turn, parts

    def farthest(self, slope: np.ndarray) -> np.ndarray:
        """Maximizer of a linear function with this ``slope`` (3 x n): joints go as far as they can, or stay."""
        size = np.hypot(slope[1], slope[2])
        reach = np.where(size > np.abs(slope[0]), self.max_amplitude, 0.0)
        # 1e-300: where both slopes are zero the reach is zero, and any direction serves
        way = slope[1:] / np.maximum(size, 1e-300)
        return np.vstack([np.where(slope[0] > 0.0, self.high - reach, self.low + reach), reach * way])

    def rotation_and_slope(self, parts: np.ndarray) -> tuple[float, np.ndarray]:
        """Turn about the axis (rad), less penalties of other axes and of clearance; its derivative by the parts."""
        curve = self.curve(parts, self.turns, COMPARED_RAMP)
        moved = self.reconstruction.displacement(curve, tolerance=SEARCH_TOLERANCE)
        s, R = moved.times, moved.path[:, :3, :3]
        jet, turn = curve(s), np.asarray(log(R[-1]), dtype=float)
        aside = turn - (self.axis @ turn) * self.axis
        seen = (
            (self.axis - SIDE_TURN_PENALTY * aside) @ np.asarray(SO3().dexp_right_inverse(turn)) @ (R[-1].T @ R)
        )  # N x 3
        rule = _simpson(s, curve.breaks)
        pushes = np.einsum("s,sk,skab,sa->sb", rule, seen, self._rotational_curvature(jet.q), jet.dq)
        w, a = curve.weight(s), 2.0 * np.pi * curve.turns * s
        value = self.axis @ turn - 0.5 * SIDE_TURN_PENALTY * aside @ aside
        if self.limbs is not None:
            near = self.limbs.clearance(jet.q, self.clearance)
            value, pushes = (
                value - OVERLAP_PENALTY * rule @ near.cost,
                pushes - OVERLAP_PENALTY * rule[:, None] * near.slope,
            )
        return float(value), np.stack([w, w * np.cos(a), w * np.sin(a)]) @ pushes

    def _rotational_curvature(self, joints: np.ndarray) -> np.ndarray:
        """``N x 3 x n x n``: the rotational part of the curvature."""
        return np.einsum("im,sm...->si...", self.model.base.selection[3:], np.asarray(self._curvature(joints)))

    # how often, and how fast --------------------------------------------------------------------------------------

    def quickest(self, seed: int, angle: float) -> QuickRighting:
        """Fastest of the motions that turn by ``angle`` (rad): once around with large circles, or more often."""
        found: list[QuickRighting] = []
        parts = self.largest_rotation(seed)
        for turns in range(1, MAX_TURNS + 1):
            for ramp in RAMP_TURNS:
                fitting = self.scale_to_angle(parts, angle, float(turns), min(0.5, ramp / turns))
                found += [] if fitting is None else [fitting]
            if len(found) > 2 * len(RAMP_TURNS):  # more often with smaller circles takes longer
                break
        if not found:
            far = f"{np.degrees(angle):.0f} degrees"
            raise ModelError(f"{self.model.name!r} does not turn by {far} when its joints go around {MAX_TURNS} times")
        return min(found, key=lambda x: x.motion.duration)

    def scale_to_angle(self, parts: np.ndarray, angle: float, turns: float, ramp: float) -> QuickRighting | None:
        """Motion with circles as large as the angle needs; None where they would be too large."""

        def pose(bend: float) -> np.ndarray:
            curve = self.curve(parts, turns, ramp, bend)
            return self.reconstruction.displacement(curve, tolerance=SEARCH_TOLERANCE).pose

        bend = smallest_bend(pose, 1.0, angle)[0]
        if bend is None:
            return None
        curve = self.curve(parts, turns, ramp, bend)
        points = int(POINTS * max(1.0, turns / 3.0))  # on each of three pieces
        motion = time_parametrization(self.model, curve, share=EFFORT_SHARE, points=points)
        return QuickRighting(curve, motion, self.reconstruction.displacement(curve, tolerance=RESULT_TOLERANCE))


def _simpson(s: np.ndarray, breaks: Sequence[float]) -> np.ndarray:
    """Weights of Simpson's rule at points that are equally far apart between breaks, an even number of times."""
    w = np.zeros(len(s))
    # breaks are points of the grid up to rounding
    for i, j in pairwise(np.searchsorted(s, np.unique(breaks) - 1e-12)):
        piece = np.full(j - i + 1, 2.0)
        piece[1::2], piece[0], piece[-1] = 4.0, 1.0, 1.0
        w[i : j + 1] += piece * (s[j] - s[i]) / (3.0 * (j - i))
    return w
