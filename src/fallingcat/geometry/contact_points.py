"""Points of the robot that may touch, and balls around them; and the plane that they touch."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._deprecated import former_arguments
from ..arrays import concatenate, cross, skew
from ..arrays.types import Matrix, Matrix_3_nv, Vector, Vector_3
from ..dynamics import jacobian, jacobian_derivative, link_pose
from ..dynamics.checks import check_model
from ..dynamics.geometry import geometry
from ..dynamics.kinematics import world_poses
from ..dynamics.sweeps import ancestors
from ..errors import ModelError, describe
from ..lie.group import constant
from ..model import Model, State
from ..records import concise
from .ellipsoids import (
    Around,
    ContactEllipsoid,
    check_ellipsoid,
    lowest_place,
    lowest_rate,
    radii_and_margin,
)


@concise
class Plane(NamedTuple):
    """Plane ``normal . p = height`` (world).

    Example:
        >>> level = Plane(np.array([0.0, 0.0, 1.0]), np.eye(3)[:2], 0.5)
        >>> float(level.site(np.array([0.0, 0.0, 2.0])).height)
        1.5
    """

    normal: np.ndarray
    """``3``: unit vector out of the ground"""
    tangents: np.ndarray
    """``2 x 3``: unit vectors along it"""
    height: float

    @property
    def axes(self) -> np.ndarray:
        """Normal and tangents as rows (3 x 3)."""
        return np.concatenate([self.normal[None], self.tangents])

    @property
    def flat(self) -> bool:
        """True: :attr:`Site.axes` are the same everywhere."""
        return True

    def site(self, p: Vector_3, radius: float = 0.0) -> Site:
        """Ground below a ball.

        Args:
            p: Center (3, world, m).
            radius: Radius (m).

        Returns:
            Height of the lowest point over the plane, and axes.
        """
        return Site(self.normal @ p - self.height - radius, self.axes)

    def place(self, p: Vector_3) -> Vector_3:
        """Coordinates of a point relative to the plane.

        Args:
            p: Position (3, world, m).

        Returns:
            Height, and coordinates along the tangents (3, m).
        """
        return self.axes @ p - np.array([self.height, 0.0, 0.0])


class Ground(Protocol):
    """Ground that balls and points touch: a plane or terrain."""

    @property
    def flat(self) -> bool:
        """True if :attr:`Site.axes` are the same everywhere."""

    def site(self, p: Vector, radius: float = 0.0) -> Site:
        """Ground below a ball of ``radius`` (m) around ``p`` (3, world)."""

    def place(self, p: Vector) -> Vector:
        """Height of ``p`` over the ground, and where along it a held point stays (3, m); 0 where that is not known."""


class Site(NamedTuple):
    """The ground below a point or ball."""

    height: Any
    """m: how far its lowest point is above the ground"""
    axes: Any
    """``3 x 3``: the normal there, then two tangents, as rows (world)"""


class Touch(NamedTuple):
    """Where a ball or an ellipsoid around a point is lowest."""

    site: Site
    lever: Any
    """``3``: from the point to that place (m, world)"""


def touching(ground: Ground, pose: Any, around: Around) -> Touch:
    """Lowest place of what is around a point.

    Args:
        ground: Ground.
        pose: Pose of the point (world, m); its axes are those of an ellipsoid.
        around: Radius of a ball (m), or an ellipsoid.

    Returns:
        Ground below it, and vector from the point to it.
    """
    p, (radii, margin) = pose[:3, 3], radii_and_margin(around)
    shift = np.zeros(3) if radii is None else lowest_place(around, pose[:3, :3], ground.site(p).axes[0])
    site = ground.site(p + shift, margin)
    return Touch(site, shift - margin * site.axes[0])


def lowest_on_link(ground: Ground, pose: Any, placement: np.ndarray, around: Around) -> Any:
    """From the center of an ellipsoid to its lowest place (3, m, in the frame of its link); zeros for a ball.

    The link has a ``pose`` in the world, and ``placement`` is that of the point in its frame.
    """
    if radii_and_margin(around)[0] is None:
        return np.zeros(3)
    R = pose[:3, :3]
    return lowest_place(around, placement[:3, :3], ground.site(R @ placement[:3, 3] + pose[:3, 3]).axes[0] @ R)


def touches(model: Model, state: State, points: Sequence[str], ground: Ground, around: Sequence[Around]) -> list[Touch]:
    """:func:`touching` of several points of a robot, from one sweep over it."""
    poses, frames = world_poses(model, state), [model.frame(link) for link in points]
    places = [poses[model.link_index(frame.link)] @ frame.placement for frame in frames]
    return [touching(ground, H, one) for H, one in zip(places, around, strict=True)]


def plane(model: Model, normal: tuple[float, ...] | None = None, height: float = 0.0) -> Plane:
    """Ground plane, against gravity by default.

    Args:
        model: Robot, for the direction of gravity.
        normal: Normal of the plane (3, world); None: against gravity.
        height: Height (m) along the normal.

    Returns:
        Plane with unit normal and tangents.

    Example:
        >>> from fallingcat.model import robots
        >>> plane(robots.revolute_hopper()).tangents[0]
        array([1., 0., 0.])
    """
    check_model(model)
    if not isinstance(height, (int, float, np.number)) or not abs(height) < np.inf:
        raise ModelError(f"the height of the ground is a finite number, not {describe(height)}")
    return _plane(model, floor_normal(normal), height)


def floor_normal(normal: Any) -> tuple[float, ...] | None:
    """The normal of a floor as three numbers, or None: against gravity."""
    try:
        n = np.zeros(0) if normal is None else np.array(normal, dtype=float)
    except (TypeError, ValueError, OverflowError):
        n = np.zeros(0)
    if normal is not None and not (n.shape == (3,) and 0.0 < np.linalg.norm(n) < np.inf):
        raise ModelError(f"the normal of the ground is a vector of length 3 that is not zero, not {describe(normal)}")
    return None if normal is None else tuple(n.tolist())


@functools.lru_cache(maxsize=32)
def _plane(model: Model, normal: tuple[float, ...] | None, height: float) -> Plane:
    n = np.array(normal if normal is not None else -model.gravity, dtype=float)
    size = float(np.linalg.norm(n))
    n = n / size if size else np.array([0.0, 0.0, 1.0])
    x = np.array([1.0, 0.0, 0.0]) if abs(n[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    first = x - (x @ n) * n
    first = first / np.linalg.norm(first)
    return Plane(constant(n), constant(np.array([first, np.cross(n, first)])), float(height))


@former_arguments(place="link")
def position(model: Model, state: State, link: str) -> Vector_3:
    """Position of the origin of a link or frame.

    Args:
        model: Robot.
        state: Configuration; velocities are not used.
        link: Link or frame.

    Returns:
        Position (3, world, m).

    Example:
        >>> from fallingcat.model import robots
        >>> arm = robots.planar_arm()
        >>> position(arm, arm.neutral(), "end_effector")
        array([0., 0., 4.])
    """
    return link_pose(model, state, link)[:3, 3]


def positions(model: Model, state: State, places: Sequence[str]) -> list[Vector]:
    """:func:`position` of several, from one sweep over the robot."""
    poses, frames = world_poses(model, state), [model.frame(link) for link in places]
    return [(poses[model.link_index(frame.link)] @ frame.placement)[:3, 3] for frame in frames]


@former_arguments(place="link")
def point_jacobian(model: Model, state: State, link: str) -> Matrix_3_nv:
    """Jacobian of the origin of a link or frame.

    Args:
        model: Robot.
        state: Configuration; velocities are not used.
        link: Link or frame.

    Returns:
        ``3 x nv`` matrix: maps ``[twist; rates]`` to the velocity in world axes (m/s).

    Example:
        >>> from fallingcat.model import robots
        >>> arm = robots.planar_arm()
        >>> point_jacobian(arm, arm.neutral(), "end_effector")[0]
        array([3., 2., 1.])
    """
    return jacobian(model, state, link, "mixed")[:3]


def touch_jacobian(model: Model, state: State, link: str, lever: Vector) -> Matrix:
    """Jacobian ``J`` (3 x nv) of the place of a link at a ``lever`` (3, world) from its origin: ``v + w x lever``."""
    J = jacobian(model, state, link, "mixed")
    return J[:3] - skew(lever) @ J[3:]


def point_bias(model: Model, state: State, link: str) -> Vector:
    """``dJ/dt v`` (3): its acceleration when the quasi-velocity is constant."""
    return jacobian_derivative(model, state, link, "mixed")[:3] @ state.velocity


class PointMotion(NamedTuple):
    """Point in the world: position (3), ``J`` (3 x nv) and ``dJ/dt v`` (3).

    Beside them ``J`` and ``dJ/dt v`` of the angular velocity of its link, this velocity, and the axes of its frame.
    """

    position: Any
    J: Any
    bias: Any
    J_turn: Any
    bias_turn: Any
    spin: Any
    axes: Any

    def touch(self, ground: Ground, around: Around) -> Touch:
        """Lowest place of a ball or an ellipsoid around the point."""
        pose = concatenate([self.axes, np.reshape(self.position, (3, 1))], axis=1)
        return touching(ground, pose, around)

    def jacobian_at(self, lever: Vector) -> Matrix:
        """``J`` of the place of the body at a ``lever`` (3, m, world) from the point: ``u = v + w x lever``."""
        return self.J - skew(lever) @ self.J_turn

    def bias_at(self, lever: Vector, rate: Vector) -> Vector:
        """``dJ/dt v`` of the place that touches: it moves over the body, ``lever`` changes at a ``rate`` (3, m/s)."""
        return self.bias - skew(lever) @ self.bias_turn + cross(self.spin, rate)

    def lever_rate(self, around: Around, normal: Vector, normal_rate: Vector) -> Vector:
        """Rate (3, m/s) of the vector from the point to the lowest place of what is around it."""
        _, margin = radii_and_margin(around)
        return lowest_rate(around, self.axes, normal, self.spin, normal_rate) - margin * normal_rate


def point_motions(model: Model, state: State, places: Sequence[str]) -> list[PointMotion]:
    """:func:`position`, :func:`point_jacobian` and :func:`point_bias` of several points, from one sweep over the robot.

    In the world-fixed frame at the base, the twist of a link is ``s v`` and its rate ``a = ds/dt v``: a point at ``p``
    has the velocity ``u = s_v v + (s_w v) x p`` and, at constant ``v``, the acceleration
    ``a_v + a_w x p + (s_w v) x u``.
    """
    geo, R = geometry(model, state), state.pose[:3, :3]
    rates = [state.twist, *(node.rates for node in geo.tree)]
    motions, of_links = [], dict[int, tuple[Any, Any]]()
    for name in places:
        frame = model.frame(name)
        link = model.link_index(frame.link)
        if link not in of_links:
            path = sorted(set(ancestors(geo.tree, link)))
            bias = sum((geo.axes_dot[i] @ rates[i] for i in path), start=np.zeros(6))
            of_links[link] = geo.places.columns(geo.mask_moving_joints(link, geo.axes)), bias
        s, a = of_links[link]
        p = (geo.poses[link] @ frame.placement)[:3, 3]
        J = s[:3] - skew(p) @ s[3:]
        w = geo.twists[link][3:]
        bias = a[:3] + cross(a[3:], p) + cross(w, geo.twists[link][:3] + cross(w, p))
        axes = geo.poses[link][:3, :3] @ frame.placement[:3, :3]
        turn = R @ s[3:], R @ a[3:], R @ w
        motions.append(PointMotion(R @ p + state.pose[:3, 3], R @ J, R @ bias, *turn, R @ axes))
    return motions


def stack_rows(parts: list[Any], width: int) -> Matrix:
    """Rows under each other; none at all gives an empty matrix of ``width`` columns."""
    return concatenate(parts) if parts else np.zeros((0, width))


def named_points(points: Any) -> tuple[str, ...]:
    """The names of points: several, in order, not one text whose letters would be taken for points."""
    if isinstance(points, str) or not isinstance(points, Sequence):
        raise ModelError(f"points are the names of links and frames, such as ('foot',), not {describe(points)}")
    return tuple(points)


def floor_points(points: Any) -> tuple[str, ...]:
    """:func:`named_points` of a floor, which has at least one."""
    names = named_points(points)
    if not names or not all(isinstance(name, str) for name in names):
        raise ModelError(
            f"points are the names of at least one link or frame, such as ('foot',), not {describe(points)}"
        )
    return names


def each_radius(radius: Any, points: Sequence[str]) -> tuple[Around, ...]:
    """One radius (m) or ellipsoid for each point, finite and not negative."""
    if isinstance(radius, ContactEllipsoid):
        return (check_ellipsoid(radius),) * len(points)
    ovals = isinstance(radius, (tuple, list)) and any(isinstance(one, ContactEllipsoid) for one in radius)
    balls = [0.0 if isinstance(one, ContactEllipsoid) else one for one in radius] if ovals else radius
    try:
        given = np.array(balls, dtype=float)
    except (TypeError, ValueError, OverflowError):
        given = np.array(np.nan)
    if given.shape not in ((), (len(points),)) or not ((given >= 0.0) & (given < np.inf)).all():
        raise ModelError(f"radius is not negative, one number or one for each of {len(points)} points, not {radius!r}")
    found: tuple[float, ...] = tuple(np.broadcast_to(given, (len(points),)).tolist())
    if not ovals:
        return found
    pairs = zip(radius, found, strict=True)
    return tuple(check_ellipsoid(own) if isinstance(own, ContactEllipsoid) else r for own, r in pairs)


def check_point_mode(mode: Any, points: tuple[str, ...], known: tuple[Any, ...]) -> None:
    """Refuse a mode that does not have one of ``known`` for each point."""
    each = isinstance(mode, tuple) and len(mode) == len(points)
    told = each and all(issubclass(kind, (bool, str)) for kind in {*map(type, mode)}) and {*mode} <= {*known}
    if not told:
        said = " or ".join(map(str, known))
        raise ModelError(f"a mode is a tuple that says {said} of each of {', '.join(points)}, not {describe(mode)}")


def checked_points(model: Model, points: tuple[str, ...]) -> None:
    """Refuse points that are no link or frame of the model, and points named twice."""
    check_model(model)
    for point in points:
        try:
            model.frame(point)
        except ModelError as error:
            way = "points of feet = fc.contact.feet(...) are frames of feet.model"
            raise ModelError(f"{error} ({way}: simulate that one)") from None
    if len(set(points)) != len(points):
        raise ModelError(f"a contact point is named twice: {', '.join(points)}")
