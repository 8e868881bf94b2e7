"""Time parametrization of a curve of shapes without momentum: the least time within limits of the drives.

Along ``q(s)`` the joints have rates ``q' ds/dt`` and, the base floating along, forces ``a(s) u + b(s) x`` with
``x = (ds/dt)^2`` and ``u = d^2s/dt^2 = (dx/ds) / 2``: both are linear in ``(x, u)``.  So on a grid of the curve the
largest ``x`` from which the end can still be reached at rest follows backward, point by point, from a linear program of
two unknowns; and going forward with the largest ``u`` within that is the motion that takes least time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays.types import FloatArray, Vector
from ...compiler import compile
from ...dynamics.checks import positive
from ...errors import ModelError, NumericsError, describe
from ...model import Model
from ...records import concise
from .curve_arguments import at_once
from .curves import Curve, Jet
from .displacement import Reconstruction
from .gait import check_shape
from .shape_forces import shape_forces

GRID_POINTS = 200
"""Number of grid points for each smooth piece of a curve."""


@concise
class TimeParametrization(NamedTuple):
    """Curve with a time parametrization; a :class:`.Motion`, as a :class:`.Gait` is.

    Example:
        >>> from fallingcat.planning import Segment
        >>> grid, times = np.linspace(0.0, 1.0, 3), np.array([0.0, 1.0, 2.0])
        >>> speeds, accelerations = np.array([0.0, 1.0, 0.0]), np.array([1.0, -1.0])
        >>> TimeParametrization(Segment((0.0,), (1.0,)), grid, times, speeds, accelerations)(1.0).q
        array([[0.5]])
    """

    curve: Curve
    grid: FloatArray
    """``N + 1``: from 0 to 1"""
    times: FloatArray
    """``N + 1`` (s): times of the grid points"""
    speeds: FloatArray
    """``N + 1`` (1/s): ``ds/dt`` there; at rest at both ends"""
    gains: FloatArray
    """``N`` (1/s^2): ``d^2s/dt^2`` from there to the next"""

    @property
    def duration(self) -> float:
        """Duration (s)."""
        return float(self.times[-1])

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.curve.size

    @property
    def breaks(self) -> tuple[float, ...]:
        """Times (s) between which the curve is smooth; its accelerations jump in between, too."""
        return tuple(float(x) for x in np.interp(self.curve.breaks, self.grid, self.times))

    def __call__(self, t: Vector) -> Jet:
        """Shapes, rates and accelerations; at rest before and after.

        Args:
            t: Times (N; s), or one number.

        Returns:
            Shapes, rates and accelerations (N x k each).
        """
        given = at_once(t, "t")
        at = np.clip(given, 0.0, self.duration)
        i = np.clip(np.searchsorted(self.times, at, side="right") - 1, 0, len(self.gains) - 1)
        since, moving = at - self.times[i], (given >= 0.0) & (given <= self.duration)
        dds = np.where(moving, self.gains[i], 0.0)
        ds = np.where(moving, self.speeds[i] + self.gains[i] * since, 0.0)
        jet = self.curve(np.minimum(self.grid[i] + (self.speeds[i] + 0.5 * self.gains[i] * since) * since, 1.0))
        ds, dds = ds[:, None], dds[:, None]
        return Jet(jet.q, jet.dq * ds, jet.ddq * ds**2 + jet.dq * dds)


def time_parametrization(
    model: Model, curve: Curve, *, share: float = 1.0, points: int = GRID_POINTS
) -> TimeParametrization:
    """Least-time parametrization of a curve from rest to rest, without momentum.

    Args:
        model: Robot with a floating base, with limits of effort or speed.
        curve: Curve of all joints, without corners.
        share: Share of the efforts and speeds of the model's joints that may be used.
        points: Grid points for each smooth piece; between them the limits hold up to the square of their distance.

    Returns:
        Curve with times (s), speeds and accelerations.

    Example:
        >>> from fallingcat.planning import Circle
        >>> import fallingcat as fc
        >>> cat = fc.robots.two_cylinder_cat()
        >>> time_parametrization(cat, Circle(0.3))
        Traceback (most recent call last):
        fallingcat.errors.ModelError: nothing limits how fast 'two_cylinder_cat' moves: its joints have no effort ...
    """
    check_shape(model, curve.size if isinstance(curve, Curve) else model.n)
    if not isinstance(curve, Curve):
        raise ModelError(f"curve must be a Curve of shapes, got {describe(curve)}")
    if curve.corners:
        raise ModelError("curve must have no corners: at a corner the motion would have to rest")
    share = positive(share, "share")
    edges = np.unique(curve.breaks)
    steps = np.diff(edges)[:, None] * np.arange(points) / points
    grid = np.append((edges[:-1, None] + steps).ravel(), edges[-1])
    return _result(curve, grid, *_fastest(_Demand.from_curve(model, curve, grid, share), np.diff(grid)))


class _Demand(NamedTuple):
    """Constraints of the grid points, relative to the limits: ``|a u + b x| <= 1`` and ``x <= max_squared_speed``."""

    a: np.ndarray
    """``(N + 1) x n``"""
    b: np.ndarray
    max_squared_speed: np.ndarray
    """``N + 1``; zero at both ends, unless the curve itself rests there"""

    @classmethod
    def from_curve(cls, model: Model, curve: Curve, grid: np.ndarray, share: float) -> _Demand:
        effort, speed = (share * np.array([getattr(x, what) for x in model.limits]) for what in ("effort", "velocity"))
        jet = curve(grid)
        used = np.abs(jet.dq).max(axis=0) > 0.0
        for what, most in (("effort", effort), ("speed", speed)):
            if not (most[used] > 0.0).all():
                raise ModelError(f"joint {model.joint_names[int(np.argmin(most))]!r} has no {what}: it cannot move")
        if not (np.isfinite(effort[used]).any() or np.isfinite(speed[used]).any()):
            raise ModelError(f"nothing limits how fast {model.name!r} moves: its joints have no effort or speed")
        forces = compile(model, shape_forces, state=["joints", "twist", "rates"])
        twists = -np.einsum("kmn,kn->km", Reconstruction(model).connection(jet.q), jet.dq)
        still = np.zeros_like(jet.dq)
        a, b = forces(jet.q, 0.0 * twists, still, jet.dq), forces(jet.q, twists, jet.dq, jet.ddq)
        fast = (np.abs(jet.dq[:, used]) / speed[used]).max(axis=1)
        most = np.full(len(grid), np.inf)
        np.divide(1.0, fast**2, out=most, where=fast > 0.0)
        rests = ~np.any(jet.dq[[0, -1]], axis=1)
        # where the curve itself rests at an end, ds/dt need not be zero: the limit of its neighbour holds
        most[[0, -1]] = np.where(rests, most[[1, -2]], 0.0)
        return cls(a / effort, b / effort, most)


def _fastest(demand: _Demand, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Largest ``x`` (N + 1) at the points and ``u`` (N) between them."""
    bounds = [_Bounds.from_step(demand, i, step) for i, step in enumerate(steps)]
    most = demand.max_squared_speed.copy()  # from which the end can be reached
    for i in range(len(steps) - 1, -1, -1):
        most[i] = min(most[i], bounds[i].largest(most[i + 1], steps[i]))
    x, u = np.zeros(len(steps) + 1), np.zeros(len(steps))
    x[0] = most[0]
    for i, step in enumerate(steps):
        u[i] = min(bounds[i].upper(x[i]), (most[i + 1] - x[i]) / (2.0 * step))
        # clipped against rounding alone: the bounds keep x within these
        x[i + 1] = min(max(x[i] + 2.0 * step * u[i], 0.0), most[i + 1])
    if not (x[1:-1] > 0.0).all():
        raise NumericsError("the curve cannot be followed: at a point of it joints would have to rest")
    return x, np.diff(x) / (2.0 * steps)


class _Bounds(NamedTuple):
    """Bounds of both ends of a step as ``|u - center x| <= half_width`` and ``x <= max_squared_speed``."""

    center: np.ndarray
    half_width: np.ndarray
    max_squared_speed: float

    @classmethod
    def from_step(cls, demand: _Demand, i: int, step: float) -> _Bounds:
        b = np.concatenate([demand.b[i], demand.b[i + 1]])
        a = np.concatenate([demand.a[i], demand.a[i + 1] + 2.0 * step * demand.b[i + 1]])  # x there is x + 2 step u
        weak = np.abs(a) * (2.0 * step) <= 1e-9 * np.abs(
            b
        )  # forces that hardly depend on u: dividing by a would amplify rounding
        level = np.abs(b[weak]).max(initial=0.0)
        a, b = a[~weak], b[~weak]
        return cls(-b / a, 1.0 / np.abs(a), 1.0 / level if level else np.inf)

    def upper(self, x: float) -> float:
        """Largest ``u`` at ``x``."""
        return float((self.center * x + self.half_width).min(initial=np.inf))

    def largest(self, then: float, step: float) -> float:
        """Largest ``x`` with a ``u`` within the bounds that takes it to between 0 and ``then``.

        Each lower bound of ``u`` is compared with each upper one.
        """
        back = -1.0 / (2.0 * step)
        low, low_slope = np.append(-self.half_width, 0.0), np.append(self.center, back)
        high, high_slope = np.append(self.half_width, -back * then), np.append(self.center, back)
        room, closing = high - low[:, None], low_slope[:, None] - high_slope
        meet = closing > 0.0
        return float(min(self.max_squared_speed, (room[meet] / closing[meet]).min(initial=np.inf)))


def _result(curve: Curve, grid: np.ndarray, x: np.ndarray, u: np.ndarray) -> TimeParametrization:
    speeds = np.sqrt(x)
    # exact for constant d^2s/dt^2 in each interval, also from rest
    spent = 2.0 * np.diff(grid) / (speeds[:-1] + speeds[1:])
    return TimeParametrization(curve, grid, np.concatenate([np.zeros(1), np.cumsum(spent)]), speeds, u)
