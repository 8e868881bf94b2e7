"""Positions of contact points at many states at once, in machine code that depends on the robot alone."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ..arrays import concatenate
from ..compiler.compilation import compile_step
from ..dynamics.kinematics import world_poses
from ..model import Model, State
from .contact_points import Ground
from .ellipsoids import Around, ball_radii, depth_below, radii_and_margin

STATES_AT_ONCE: Final = 512
"""States whose link poses are found in one call: those of more would go through memory, not through caches."""


def point_coordinates(
    model: Model,
    poses: np.ndarray,
    joints: np.ndarray,
    points: Sequence[str],
    axes: np.ndarray,
    framed: Model | None = None,
) -> np.ndarray:
    """Coordinates of points along axes of the world.

    Args:
        model: Robot.
        poses: Poses of its base (N x 4 x 4), or their rows ``[R p]`` (N x 3 x 4).
        joints: Joint coordinates (N x k).
        points: Names of links or frames.
        axes: Directions (d x 3), one in each row.
        framed: The same robot with further frames, among which the points are; None: ``model`` has them.

    Returns:
        ``N x points x d`` (m).

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> neutral = arm.neutral()
        >>> tip = point_coordinates(arm, neutral.pose[None], neutral.joints[None], ("end_effector",), np.eye(3))
        >>> tip[0, 0].round(12) + 0.0
        array([0., 0., 4.])
    """
    return _coordinates(model, poses, joints, _points_on_links(framed or model, tuple(points)), axes)


def _coordinates(
    model: Model, poses: np.ndarray, joints: np.ndarray, on_links: tuple[np.ndarray, ...], axes: np.ndarray
) -> np.ndarray:
    """``N x points x d``: coordinates of ``places`` of links, which have four numbers each, along ``axes``."""
    own, which, places = on_links
    found = np.empty((len(poses), len(places), len(axes)))
    for k in range(0, len(poses), STATES_AT_ONCE):
        some = slice(k, k + STATES_AT_ONCE)
        links = _links_at(model, poses[some, :3], joints[some]).reshape(len(found[some]), -1, 3, 4)[:, own]
        along = np.einsum("ij,nljk->nlik", axes, links)
        found[some] = np.einsum("npik,pk->npi", along[:, which], places)
    return found


def level_heights(
    model: Model,
    ground: Ground,
    poses: np.ndarray,
    joints: np.ndarray,
    points: Sequence[str],
    radii: Sequence[Around],
    framed: Model | None = None,
) -> np.ndarray:
    """Heights of balls and rims over flat ground.

    Args:
        model: Robot.
        ground: Ground, the same everywhere.
        poses: Poses of the base (N x 4 x 4), or their rows ``[R p]`` (N x 3 x 4).
        joints: Joint coordinates (N x k).
        points: Names of links or frames.
        radii: Radius of the ball around each (m), or its rim.
        framed: The same robot with further frames, among which the points are; None: ``model`` has them.

    Returns:
        ``N x points`` (m), negative below the ground.

    Example:
        >>> import fallingcat as fc
        >>> ball = fc.robots.free_body()
        >>> start, ground = ball.neutral(), fc.contact.plane(ball, height=-1.0)
        >>> level_heights(ball, ground, start.pose[None], start.joints[None], ("body",), (0.25,))
        array([[0.75]])
    """
    origin = ground.site(np.zeros(3))
    along = point_coordinates(model, poses, joints, points, origin.axes[:1], framed)[..., 0]
    heights = np.asarray(origin.height - np.array(ball_radii(radii)) + along)
    ovals = {i: own for i, (own, _) in enumerate(map(radii_and_margin, radii)) if own is not None}
    if ovals:
        axes = _axes_on_links(framed or model, tuple(points[i] for i in ovals))
        normals = _coordinates(model, poses, joints, axes, origin.axes[:1]).reshape(len(poses), -1, 3)
        heights[:, [*ovals]] -= depth_below(np.array([*ovals.values()]), normals)
    return heights


def _links_at(model: Model, poses: np.ndarray, joints: np.ndarray) -> np.ndarray:
    """:func:`link_poses_at` of states (N rows); of one state, which starts ask for several times, found once."""
    if len(poses) != 1:
        return np.asarray(_link_poses(model)(poses, joints))
    return _links_of_one(model, *(np.asarray(x, dtype=float).tobytes() for x in (poses, joints)))


@functools.lru_cache(maxsize=8)
def _links_of_one(model: Model, poses: bytes, joints: bytes) -> np.ndarray:
    """The same of one state, given as its bytes."""
    links = _link_poses(model)(np.frombuffer(poses).reshape(1, 3, 4), np.frombuffer(joints)[None])
    links.flags.writeable = False
    return np.asarray(links)


@functools.lru_cache(maxsize=16)
def _link_poses(model: Model) -> Any:
    return compile_step(model, link_poses_at, {}, ["pose", "joints"])


def link_poses_at(model: Model, state: State) -> Any:
    """Rows ``[R p]`` of the poses of all links, one after the other."""
    return concatenate([H[:3].reshape(12) for H in world_poses(model, state)])


@functools.lru_cache(maxsize=32)
def _points_on_links(model: Model, points: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Indices of the links with points, which of these each point is on, and its place ``[p; 1]`` (m) in its frame."""
    frames = [model.frame(name) for name in points]
    links = [model.link_index(frame.link) for frame in frames]
    own = sorted({*links})
    places = np.array([[*frame.placement[:3, 3], 1.0] for frame in frames]).reshape(-1, 4)
    return np.array(own, dtype=int), np.array([own.index(link) for link in links], dtype=int), places


@functools.lru_cache(maxsize=32)
def _axes_on_links(model: Model, points: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """:func:`_points_on_links` with the three axes ``[a; 0]`` of each frame in place of its origin."""
    own, which, _ = _points_on_links(model, points)
    axes = [[*axis, 0.0] for name in points for axis in model.frame(name).placement[:3, :3].T]
    return own, np.repeat(which, 3), np.array(axes)
