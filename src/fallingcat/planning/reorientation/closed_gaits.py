"""Reorientation of the base by a wanted rotation with joints alone: closed gaits, repeated, without momentum.

A small closed gait turns the base by the curvature times the area that it encloses.  An area is a bivector of the
joints; the smallest whose curvature gives the wanted turn is split into planes, one for each harmonic of a Fourier
series: many small cycles.  Every cycle begins at the same shape, so that turns about one body-fixed axis add up.

From there on cycles grow larger and fewer.  The displacement and its derivative are exact: when a closed curve changes
by ``dq``, its displacement changes by ``int Ad(g(1)^-1 g(s)) DA(q', dq) ds``, curvature again.  Newton's method on it
keeps the turn, and takes away what does not help it: at its end the gait is one of least effort for its turn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays.types import Float_3, Vector_3, Vector_n
from ...compiler.compilation import compile_step
from ...dynamics.checks import positive, vector
from ...errors import ModelError, NumericsError, describe
from ...formulations import curvature
from ...lie import SO3
from ...lie.rotations import exp, log
from ...model import Model
from ...records import tabulated
from ..gaits.curves import Fourier
from ..gaits.displacement import Displacement, Reconstruction
from ..gaits.gait import check_shape, turning_axes

TURN_TOLERANCE = 1e-10
"""Largest error of a cycle's share of the turn (rad)."""
MAX_STEPS, RELAXATION = 60, 0.5
"""Largest number of steps of a solution, and the share of the part that does not turn the base that each removes."""
FIRST_REACH = 0.3
"""Approximate reach of the first and smallest gait (rad)."""
CYCLE_RATIO = 0.7
"""Ratio of the number of cycles tried next to the last one that worked."""
REACH_POINTS = 400
"""Number of points of a cycle at which its reach is evaluated."""


@tabulated
class Reorientation(NamedTuple):
    """Result of :func:`reorient`: a gait that turns the base, and the number of cycles.

    Example:
        >>> Reorientation._fields[:3]
        ('gait', 'cycles', 'turn')
    """

    gait: Fourier
    """closed, of all joints, beginning and ending at the origin"""
    cycles: int
    turn: Float_3
    """``3`` (rad): wanted rotation vector of the base, in its own frame at the start"""
    cycle: Displacement
    """displacement of the base by one cycle, exact"""
    error: float
    """rad: the angle between the wanted attitude and that after all cycles"""
    reach: float
    """rad or m: the farthest that a joint goes from the origin"""

    @property
    def per_cycle(self) -> float:
        """Angle (rad) of one cycle."""
        return float(np.linalg.norm(log(self.cycle.pose[:3, :3])))


def reorient(
    model: Model,
    turn: Vector_3,
    *,
    origin: Vector_n | None = None,
    reach: float = 0.5,
    harmonics: int = 3,
    most: int = 200,
    start: Fourier | None = None,
) -> Reorientation:
    """Gait that turns the base by a rotation in fewest cycles.

    Any turn is within reach of a robot whose curvature spans the rotations, with enough cycles.

    Args:
        model: Robot with a floating base, whose joints are angles and lengths.
        turn: Rotation vector (3, rad, body-fixed), of an angle up to pi.
        origin: Shape (n) at which the gait starts and ends; None: neutral.
        reach: Largest distance (rad or m) of joints from the origin, beside their limits.
        harmonics: Harmonics of the Fourier series.
        most: Largest number of cycles.
        start: Gait at which the search begins, where the curvature at the origin is zero; None: from this curvature.

    Returns:
        Gait of all joints, number of cycles, and the error of the final attitude (rad).

    Raises:
        NumericsError: The turn needs more than ``most`` cycles.

    Example:
        >>> from fallingcat.model import robots
        >>> found = reorient(robots.two_cylinder_cat(), [0.0, 0.0, 0.0])
        Traceback (most recent call last):
        fallingcat.errors.ModelError: turn must be a rotation vector with an angle above zero, up to pi
    """
    check_shape(model, model.n)
    reach, turn = positive(reach, "reach"), np.asarray(vector(turn, 3, "turn"), dtype=float)
    if not 0.0 < np.linalg.norm(turn) <= np.pi:
        raise ModelError("turn must be a rotation vector with an angle above zero, up to pi")
    if harmonics < 1 or most < 1:
        raise ModelError("harmonics and most must be 1 or more")
    at = np.asarray(model.neutral().joints if origin is None else vector(origin, model.n, "origin"), dtype=float)
    room = np.minimum(reach, [min(x.upper - q, q - x.lower) for x, q in zip(model.limits, at, strict=True)])
    if not (room > 0.0).all():
        raise ModelError(f"joint {model.joint_names[int(np.argmin(room))]!r} is at its limit: it has no room to move")
    search = _Search(model, at, harmonics, room)
    good, x = search.initial_cycle(turn, most, None if start is None else search.coefficients(start))
    bad = 0  # cycles that are too few
    while good - bad > 1:
        cycles = max(bad + 1, min(good - 1, int(CYCLE_RATIO * good) if bad == 0 else (good + bad) // 2))
        # turns are areas to leading order: fewer cycles need radii larger by the root
        found = search.least_effort_cycle(turn / cycles, np.sqrt(good / cycles) * x)
        if found is None:
            bad = cycles
        else:
            good, x = cycles, found
    return search.evaluate(x, turn, good)


class _Search:
    """Gaits ``q(s) = origin + sum_h c_h (cos 2 pi h s - 1) + s_h sin 2 pi h s``, by their coefficients (2 H n)."""

    def __init__(self, model: Model, origin: np.ndarray, harmonics: int, room: np.ndarray) -> None:
        self.model, self.origin, self.harmonics, self.room = model, origin, harmonics, room
        self.reconstruction = Reconstruction(model)
        self._curvature = compile_step(model, curvature, {}, ["joints"])
        self.axes = turning_axes(model)
        h = np.arange(1, harmonics + 1)
        self.waves = 2.0 * np.pi * h
        self.lightness = np.tile(np.repeat(1.0 / h**2, model.n), 2)  # over effort: squares of rates

    def initial_cycle(self, turn: np.ndarray, most: int, start: np.ndarray | None) -> tuple[int, np.ndarray]:
        """Many small cycles, from the curvature at the origin; or few, from a gait that is known."""
        cycles = 1
        small = min(FIRST_REACH, float(self.room.min()))
        while start is None and cycles <= most and np.abs(self.guess(turn / cycles)).max() > small:
            cycles = 2 * cycles
        while cycles <= most:
            x = self.least_effort_cycle(turn / cycles, self.guess(turn / cycles) if start is None else start)
            if x is not None:
                return cycles, x
            cycles = 2 * cycles
        raise NumericsError(f"{most} cycles within reach do not turn the base of {self.model.name!r} that far")

    def rotational_curvature(self, joints: np.ndarray) -> np.ndarray:
        """``N x 3 x n x n``: the rotational part of the curvature at shapes (N x n)."""
        F = np.asarray(self._curvature(np.atleast_2d(joints)))
        return np.einsum("im,sm...->si...", self.model.base.selection[3:], F)

    def guess(self, turn: np.ndarray) -> np.ndarray:
        """Circles in the planes of the smallest area: ``c_h ^ s_h = area_h / (pi h)``."""
        pairs = np.triu_indices(self.model.n, 1)
        tensor, area = self.rotational_curvature(self.origin)[0][:, *pairs], np.zeros((self.model.n, self.model.n))
        # areas of least norm: a turn that is a millionth as strong as the strongest would need huge circles
        area[pairs] = np.linalg.pinv(tensor, rcond=1e-6) @ turn
        if not np.allclose(tensor @ area[pairs], turn, rtol=0.0, atol=1e-6 * np.linalg.norm(turn)):
            raise ModelError(
                f"small gaits of {self.model.name!r} around this shape do not turn the base about this axis: its "
                "curvature has no such part; take another origin"
            )
        area = area - area.T
        U, sizes, _ = np.linalg.svd(area)
        x = np.zeros((2, self.harmonics, self.model.n))
        for h in range(min(self.harmonics, len(sizes) // 2)):
            # a pair of rounding spans no plane
            if sizes[2 * h] > 1e-9 * sizes[0]:
                across = area @ U[:, 2 * h] / sizes[2 * h]  # sizes come in pairs: the other axis of the plane
                radius = np.sqrt(sizes[2 * h] / (np.pi * (h + 1)))
                x[0, h], x[1, h] = radius * U[:, 2 * h], radius * across
        return x.ravel()

    def coefficients(self, start: Fourier) -> np.ndarray:
        """Coefficients of a given gait, truncated to the harmonics of the search."""
        if not isinstance(start, Fourier) or start.size != self.model.n:
            raise ModelError(f"start must be a Fourier series of {self.model.n} joints, got {describe(start)}")
        x = np.zeros((2, self.harmonics, self.model.n))
        count = min(self.harmonics, len(start.cosines))
        x[0, :count], x[1, :count] = start.cosines[:count], start.sines[:count]
        return x.ravel()

    def gait(self, x: np.ndarray) -> Fourier:
        cosines, sines = x.reshape(2, self.harmonics, self.model.n)
        return Fourier(self.origin - cosines.sum(axis=0), cosines, sines)

    def cycle_rotation(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``3``: rotation vector of one cycle, and its derivative (3 x 2 H n)."""
        gait = self.gait(x)
        moved = self.reconstruction.displacement(gait)
        s, R = moved.times, moved.path[:, :3, :3]
        jet, w = gait(s), _simpson(s)
        pushes = np.einsum("s,sik,skab,sa->sib", w, R[-1].T @ R, self.rotational_curvature(jet.q), jet.dq)
        angles = s[:, None] * self.waves
        shapes = np.concatenate([np.cos(angles) - 1.0, np.sin(angles)], axis=1)  # dq of each coefficient
        slopes = np.einsum("sib,sh->ihb", pushes, shapes).reshape(3, -1)
        turn = np.asarray(log(R[-1]), dtype=float)
        return turn, np.asarray(SO3().dexp_right_inverse(turn)) @ slopes

    def least_effort_cycle(self, turn: np.ndarray, x: np.ndarray) -> np.ndarray | None:
        """Coefficients of a cycle of least effort that turns by ``turn``, near ``x``; None: there is none in reach."""
        for _ in range(MAX_STEPS):
            now, J = self.cycle_rotation(x)
            J, missed = self.axes @ J, self.axes @ (turn - now)
            light = J * self.lightness
            gram = light @ J.T
            # a Newton step through a singular Gramian leaves every region in which the linearization holds
            if not np.isfinite(x).all() or np.linalg.cond(gram) > 1e12 or (self.farthest(x) > 3.0 * self.room).any():
                return None
            # what of x does not turn the base, in the metric of the effort
            idle = x - light.T @ np.linalg.solve(gram, J @ x)
            if np.linalg.norm(missed) <= TURN_TOLERANCE and (np.linalg.norm(idle) < 1e-3 * np.linalg.norm(x)):
                break
            # first the turn, then the effort: the part that does not turn is reduced near the solution alone
            settled = np.linalg.norm(missed) < 1e-3 * np.linalg.norm(turn)
            toward = light.T @ np.linalg.solve(gram, missed)
            toward *= min(
                1.0, 0.5 * float(np.linalg.norm(x)) / max(float(np.linalg.norm(toward)), TURN_TOLERANCE)
            )  # limit the step: the linearization holds nearby only
            x = x + toward - settled * RELAXATION * idle
        for _ in range(MAX_STEPS):  # now the turn alone
            now, J = self.cycle_rotation(x)
            if np.linalg.norm(turn - now) <= TURN_TOLERANCE:
                return x if (self.farthest(x) <= self.room).all() else None
            J = self.axes @ J
            x = x + (J * self.lightness).T @ np.linalg.solve((J * self.lightness) @ J.T, self.axes @ (turn - now))
        return None

    def farthest(self, x: np.ndarray) -> np.ndarray:
        """Largest distance (n) of each joint from the origin."""
        return np.asarray(np.abs(self.gait(x)(np.linspace(0.0, 1.0, REACH_POINTS)).q - self.origin).max(axis=0))

    def evaluate(self, x: np.ndarray, turn: np.ndarray, cycles: int) -> Reorientation:
        """Result of all cycles, multiplied out."""
        moved = self.reconstruction.displacement(self.gait(x))
        whole = np.linalg.matrix_power(moved.pose[:3, :3], cycles)
        error = float(np.linalg.norm(log(np.asarray(exp(turn)).T @ whole)))
        return Reorientation(self.gait(x), cycles, turn, moved, error, float(self.farthest(x).max()))


def _simpson(s: np.ndarray) -> np.ndarray:
    """Weights of Simpson's rule at equal distances, an even number of them."""
    w = np.full(len(s), 2.0)
    w[1::2], w[0], w[-1] = 4.0, 1.0, 1.0
    return w * (s[1] - s[0]) / 3.0
