"""Flat feet: the wrench cone of a sole, its margins, and the wrench that holds a foot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._deprecated import former_arguments
from ..arrays import concatenate, cross
from ..arrays.arguments import shape_of
from ..arrays.types import Float_6_6, Matrix_points_3, Vector_n, Wrench
from ..dynamics import link_pose
from ..dynamics.checks import check_robot
from ..errors import ModelError, describe
from ..formulations import fixed_at
from ..geometry.contact_points import named_points, positions
from ..lie.group import constant
from ..lie.rotations import skew
from ..model import Model, State
from ..records import concise


@concise
class Margins(NamedTuple):
    """Margins of wrenches on a sole to its cone; for many wrenches ``(..., 6)`` each has their shape in front.

    Example:
        >>> sole = WrenchCone("foot", along=(-0.1, 0.1), across=(-0.05, 0.05))
        >>> bool(sole.margins([0.0, 0.0, 100.0, 0.0, 0.0, 0.0]).inside)
        True
    """

    normal: Any
    """N: normal force"""
    sliding: Any
    """share of the friction cone: below 1 it does not slide"""
    turning: Any
    """share of what friction at the corners leaves for turning about the normal: below 1 it does not turn"""
    center: Any
    """``2`` (m): the center of pressure, in the frame of the sole"""
    room: Any
    """m: distance from the center of pressure to the nearest edge, negative outside"""

    @property
    def inside(self) -> Any:
        """True if the foot presses, does not slide, does not turn and does not tip."""
        return (self.normal > 0.0) & (self.sliding <= 1.0) & (self.turning <= 1.0) & (self.room >= 0.0)


@former_arguments(place="link")
@dataclass(frozen=True)
class WrenchCone:
    """Rectangular sole with friction, in the x-y plane of a link or frame.

    Its z axis points from the ground into the foot.  Wrenches ``[f; tau]`` on it are about the origin of that frame,
    along its axes.

    Example:
        >>> import fallingcat as fc
        >>> walker = fc.robots.humanoid()
        >>> left = WrenchCone("left_sole", along=(-0.06, 0.14), across=(-0.05, 0.05), friction=0.6)
        >>> weight = fc.formulations.fixed_at(walker, walker.neutral(), "left_sole").g  # torques that carry it
        >>> found = left.margins(left.wrench(walker, walker.neutral(), weight))
        >>> print(found.center.round(3), bool(found.inside))  # straight on one foot it tips: its center is 0.1 m aside
        [ 0.002 -0.1  ] False
    """

    link: str
    along: tuple[float, float]
    """m: x from heel to toe"""
    across: tuple[float, float]
    """m: y from right to left"""
    friction: float = 0.6

    def __post_init__(self) -> None:
        if not isinstance(self.link, str):
            raise ModelError(f"the link of a sole is the name of a link or frame, not {describe(self.link)}")
        for what in ("along", "across"):
            object.__setattr__(self, what, _interval(getattr(self, what), f"{what} of the sole {self.link!r}"))
        try:
            mu = float(self.friction)
        except (TypeError, ValueError, OverflowError):
            mu = np.nan
        if not 0.0 < mu < 1e6:
            raise ModelError(
                f"friction of the sole {self.link!r} is a number above zero, not {describe(self.friction)}"
            )
        object.__setattr__(self, "friction", mu)

    @property
    def outline(self) -> tuple[tuple[float, float], ...]:
        """Corners (4 x 2, m), as :func:`.corners` takes them."""
        (back, front), (right, left) = self.along, self.across
        return (front, left), (back, left), (back, right), (front, right)

    @property
    def half(self) -> tuple[float, float]:
        """Half length and half width (m)."""
        return 0.5 * (self.along[1] - self.along[0]), 0.5 * (self.across[1] - self.across[0])

    @property
    def centered(self) -> Float_6_6:
        """Matrix (6 x 6) from wrenches to wrenches about the middle of the rectangle."""
        X = np.eye(6)
        X[3:, :3] = -skew(np.array([0.5 * sum(self.along), 0.5 * sum(self.across), 0.0]))
        return constant(X)

    @property
    def cone(self) -> np.ndarray:
        """``A`` (16 x 6): the wrenches with ``A w <= 0`` are those of forces at the corners, each inside a pyramid.

        The pyramids lie inside the friction cones: ``|f_x|, |f_y| <= k f_z`` with ``k = friction / sqrt 2``.  About the
        middle of a rectangle of half lengths X, Y that is ``|f_x|, |f_y| <= k f_z``, ``|tau_x| <= Y f_z``,
        ``|tau_y| <= X f_z`` and ``|Y f_x +- k tau_x| + |X f_y +- k tau_y| +- tau_z <= k (X + Y) f_z``: all that forces
        at corners can do, and no more.
        """
        k, (X, Y) = self.friction / np.sqrt(2.0), self.half
        fx, fy, fz, tx, ty, tz = np.eye(6)
        rows = [s * f - k * fz for f in (fx, fy) for s in (1.0, -1.0)]
        rows += [s * tau - arm * fz for tau, arm in ((tx, Y), (ty, X)) for s in (1.0, -1.0)]
        for way in (1.0, -1.0):
            one, two = Y * fx + way * k * tx, X * fy + way * k * ty
            rows += [way * tz + s * one + r * two - k * (X + Y) * fz for s in (1.0, -1.0) for r in (1.0, -1.0)]
        return constant(np.array(rows) @ self.centered)

    @property
    def spread(self) -> Float_6_6:
        """``L`` (6 x 6): ``|L w|^2`` is the least sum of squares of forces at the four corners that make up ``w``."""
        X, Y = self.half
        return constant(0.5 * np.diag([1.0, 1.0, 1.0, 1.0 / Y, 1.0 / X, 1.0 / np.hypot(X, Y)]) @ self.centered)

    def wrench(
        self, model: Model, state: State, torques: Vector_n, wrenches: Mapping[str, Wrench] | None = None
    ) -> Wrench:
        """Wrench of the ground that holds the foot under joint torques: [Traversaro] (48).

        The foot is the base, and at rest.

        Args:
            model: Robot.
            state: Configuration and velocity.
            torques: Joint torques (n).
            wrenches: Further wrenches (link or frame -> 6, body-fixed), such as that on the other foot.

        Returns:
            Wrench (6; N, N m) in the frame of the sole.
        """
        return fixed_at(model, state, self.link, wrenches=wrenches).wrench(torques)

    def gathered(self, model: Model, state: State, forces: Matrix_points_3, points: Sequence[str]) -> Wrench:
        """Wrench on the sole of forces at points.

        Args:
            model: Robot.
            state: Configuration; velocities are not used.
            forces: Forces (points x 3, N, world).
            points: Links or frames at which they act.

        Returns:
            Wrench (6; N, N m) in the frame of the sole.
        """
        check_robot(model, state)
        if shape_of(forces) != (len(named_points(points)), 3) or not points:
            raise ModelError(
                f"forces must have shape ({len(points)}, 3), one row for each point, got {describe(forces)}"
            )
        H, places = link_pose(model, state, self.link), positions(model, state, named_points(points))
        parts = [concatenate([f, cross(p - H[:3, 3], f)]) for p, f in zip(places, forces, strict=True)]
        whole = sum(parts[1:], start=parts[0])
        return concatenate([H[:3, :3].T @ whole[:3], H[:3, :3].T @ whole[3:]])

    def margins(self, wrench: Wrench) -> Margins:
        """Margins of wrenches to the cone.

        Args:
            wrench: Wrenches (..., 6; N, N m) in the frame of the sole.

        Returns:
            Normal force, shares of friction, center of pressure and distance to the edge.
        """
        try:
            w = np.asarray(wrench, dtype=float)
        except (TypeError, ValueError, OverflowError):
            w = np.zeros(0)
        if w.shape[-1:] != (6,):
            raise ModelError(f"a wrench on the sole {self.link!r} has 6 numbers, not {describe(wrench)}")
        normal = w[..., 2]
        presses = normal > 0.0
        least = np.where(presses, normal, 1.0)
        k, (X, Y) = self.friction / np.sqrt(2.0), self.half
        turning = 1.0 + (w @ self.cone[8:].T).max(axis=-1) / (k * (X + Y) * least)
        sliding = np.linalg.norm(w[..., :2], axis=-1) / (self.friction * least)
        x, y = -w[..., 4] / least, w[..., 3] / least
        edges = (x - self.along[0], self.along[1] - x, y - self.across[0], self.across[1] - y)
        return Margins(
            normal,
            np.where(presses, sliding, np.inf),
            np.where(presses, turning, np.inf),
            np.stack([x, y], axis=-1),
            np.where(presses, np.min(edges, axis=0), -np.inf),
        )


def _interval(given: Any, what: str) -> tuple[float, float]:
    try:
        ends = np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        ends = np.zeros(0)
    if ends.shape != (2,) or not (np.isfinite(ends).all() and ends[0] < ends[1]):
        wrong = f"({ends[0]:g}, {ends[1]:g})" if ends.shape == (2,) else describe(given)
        raise ModelError(f"{what} is a pair of coordinates (m), the smaller first, not {wrong}")
    return float(ends[0]), float(ends[1])
