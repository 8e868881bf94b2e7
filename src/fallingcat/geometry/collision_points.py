"""The collision shapes of a robot's file as points and balls that may touch: several on a link, as many as it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ..dynamics.checks import check_model, check_robot, positive
from ..errors import ModelError, describe
from ..io.meshes.mesh_loading import read_vertices
from ..model import Frame, Model, State, Surface
from ..model.shapes import Box, Capsule, Cylinder, Ellipsoid, Mesh, Shape, Sphere
from ..records import concise
from .collision_pairs import joints_between
from .contact_points import plane, touches
from .ellipsoids import Around, ContactEllipsoid, rim, thicker

FACE_POINTS = 4
"""Points on each face of a cylinder, beside its rim: it stands on them, and turns on them against friction."""
FACE_RADIUS = 0.8
"""Distance of these from the axis, relative to the radius: while it rolls they are above the ground by the rest of it,
which is more than springs give way; a can that tips goes over the rim, which is lowest as soon as it tilts."""
EXTREME_DIRECTIONS = np.array([way for way in product((-1.0, 0.0, 1.0), repeat=3) if np.abs(way).sum() in (1.0, 3.0)])
"""``14 x 3``: along the axes and the diagonals of a box; the farthest points that way stand for what is not flat."""

Ball = tuple[np.ndarray, Around]
"""A center (3, m, in the frame of a shape) and a radius (m), or an ellipsoid in its axes."""


@concise
class CollisionPoints(NamedTuple):
    """Points and balls that may touch, and the model with their frames: give it to a floor, and simulate ``model``.

    Example:
        >>> import fallingcat as fc
        >>> from fallingcat.model.shapes import Sphere
        >>> body = fc.Link("body", fc.Body(1.0, (0, 0, 0), np.eye(3)), collisions=(Sphere(0.1),))
        >>> collision_points(fc.Model("ball", fc.lie.SE3(), (body,))).radii
        (0.1,)
    """

    model: Model
    """with a frame at each point"""
    points: tuple[str, ...]
    radii: tuple[Around, ...]
    """m; 0 for a corner; a :class:`.ContactEllipsoid` for an ellipsoid, and for each rim of a cylinder"""

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Points of each link, by its name."""
        links = [self.model.frame(point).link for point in self.points]
        pairs = list(zip(links, self.points, strict=True))
        return {link: tuple(point for one, point in pairs if one == link) for link in dict.fromkeys(links)}


def collision_points(model: Model, links: Sequence[str] | None = None) -> CollisionPoints:
    """The collision shapes of ``links`` (of all that have some and can move if left out) as points and balls.

    A sphere is a ball, a capsule two, a box its eight corners, a cylinder its two rims, on which it rolls, and four
    points on each face, an ellipsoid itself; a mesh is at most 14 of its vertices, those farthest along the axes and
    diagonals of its frame.  So a plane is touched where the shape itself touches it, by meshes up to the gaps between
    points.

    Args:
        model: Robot.
        links: Names of links; None: all with collision shapes.

    Returns:
        Model with a frame at each point, their names and radii (m).

    Example:
        >>> import fallingcat as fc
        >>> from fallingcat.model.shapes import Box, Capsule
        >>> shapes = Box((0.2, 0.1, 0.1)), Capsule(0.05, 0.3)
        >>> body = fc.Link("body", fc.Body(1.0, (0, 0, 0), np.eye(3)), collisions=shapes)
        >>> model, points, radii = collision_points(fc.Model("brick", fc.lie.SE3(), (body,)))
        >>> points[0], points[-1], radii[-2:]
        ('body_box1_1', 'body_capsule2_2', (0.05, 0.05))
    """
    check_model(model)
    known = {link.name: link for link in model.links}
    moving = [link.name for i, link in enumerate(model.links) if model.m or joints_between(model, 0, i)]
    wanted = [name for name in moving if known[name].collisions] if links is None else links
    if isinstance(wanted, str) or not isinstance(wanted, Sequence):
        raise ModelError(f"links are names of links of {model.name!r}, not {describe(links)}")
    for name in wanted:
        model.link_index(name)  # an error names one that is none
    frames, radii, ground = list[Frame](), list[Around](), model.ground or Surface()
    for name in wanted:
        for number, shape in enumerate(known[name].collisions, start=1):
            if not _touches_ground(shape, ground):
                continue
            parts, margin = balls(shape), 0.0 if shape.surface is None else shape.surface.mixed(ground).margin
            for k, (center, radius) in enumerate(parts, start=1):
                own = f"{name}_{shape.kind}{number}" + (f"_{k}" if len(parts) > 1 else "")
                H = np.eye(4)
                H[:3, 3] = center
                frames.append(Frame(own, name, shape.placement @ H))
                radii.append(thicker(radius, margin))
    if not frames:
        where = ", ".join(map(repr, links or [model.name]))
        raise ModelError(f"there are no collision shapes in {where}: name points yourself, or see corners()")
    return CollisionPoints(
        replace(model, frames=(*model.frames, *frames)), tuple(frame.name for frame in frames), tuple(radii)
    )


def _touches_ground(shape: Shape, ground: Surface) -> bool:
    """False for a shape that its file pairs with others alone."""
    return shape.surface is None or shape.surface.touches(ground)


def feet(model: Model, state: State | None = None, within: float = 0.01) -> CollisionPoints:
    """Lowest of :func:`collision_points`: the points on which a robot stands.

    A point is named as the frame of the model that is there, or else ``LINK_foot``, with a number where a link has
    several; :attr:`CollisionPoints.groups` lists them link by link.

    Args:
        model: Robot with collision shapes.
        state: Standing configuration; None: neutral.
        within: Height (m) above the lowest point up to which points are taken.

    Returns:
        Model with a frame at each point, their names and radii (m).

    Example:
        >>> import fallingcat as fc
        >>> from fallingcat.model.shapes import Box
        >>> body = fc.Link("body", fc.Body(1.0, (0, 0, 0), np.eye(3)), collisions=(Box((0.2, 0.1, 0.1)),))
        >>> feet(fc.Model("brick", fc.lie.SE3(), (body,))).points
        ('body_foot_1', 'body_foot_2', 'body_foot_3', 'body_foot_4')
    """
    whole, points, radii = collision_points(model)
    positive(within, "within")
    at = model.neutral() if state is None else state
    check_robot(model, at)
    bottoms = np.array([touch.site.height for touch in touches(whole, at, points, plane(model), radii)], dtype=float)
    low = np.flatnonzero(bottoms <= bottoms.min() + within)
    frames = _named_frames(model, [(whole.frame(points[i]), radii[i]) for i in low])
    known = {frame.name for frame in model.frames}
    new = tuple(frame for frame in frames if frame.name not in known)
    names = tuple(frame.name for frame in frames)
    return CollisionPoints(replace(model, frames=(*model.frames, *new)), names, tuple(radii[i] for i in low))


def _named_frames(model: Model, points: list[tuple[Frame, Around]]) -> list[Frame]:
    """Frames of points with readable names: those of the model at the same place, or new ones by their link."""
    taken = {*model.link_names, *(frame.name for frame in model.frames)}
    counts, numbers, out = Counter(frame.link for frame, _ in points), Counter[str](), list[Frame]()
    for frame, around in points:
        columns = slice(0 if isinstance(around, ContactEllipsoid) else 3, 4)  # a ball has no axes
        there = frame.placement[:3, columns]
        own = [x for x in model.frames if x.link == frame.link and np.allclose(x.placement[:3, columns], there)]
        if own and own[0].name not in {x.name for x in out}:
            out.append(own[0])
            continue
        numbers[frame.link] += 1
        stem = frame.link if "foot" in frame.link.lower() else f"{frame.link}_foot"
        name = stem if counts[frame.link] == 1 and stem not in taken else f"{stem}_{numbers[frame.link]}"
        while name in taken:
            name += "_"
        taken.add(name)
        out.append(Frame(name, frame.link, frame.placement))
    return out


def take_feet(contact: Any) -> CollisionPoints | None:
    """Names and radii of a contact whose ``points`` are :class:`CollisionPoints`, set in place; None: they are not."""
    feet = contact.points
    if not isinstance(feet, CollisionPoints):
        return None
    object.__setattr__(contact, "points", feet.points)
    if isinstance(contact.radius, float) and contact.radius == 0.0:
        object.__setattr__(contact, "radius", feet.radii)
    return feet


@singledispatch
def balls(shape: Shape) -> list[Ball]:
    """The balls and points that stand for a shape, in its frame; register your own kind of shape here."""
    raise ModelError(f"no points stand for a {shape.kind}: give the link a simpler collision shape, or name its points")


@balls.register
def _(shape: Sphere) -> list[Ball]:
    return [(np.zeros(3), shape.radius)]


@balls.register
def _(shape: Capsule) -> list[Ball]:
    return [(np.array([0.0, 0.0, z]), shape.radius) for z in (0.5 * shape.length, -0.5 * shape.length)]


@balls.register
def _(shape: Box) -> list[Ball]:
    return [(0.5 * np.array(corner) * shape.size, 0.0) for corner in product((1.0, -1.0), repeat=3)]


@balls.register
def _(shape: Cylinder) -> list[Ball]:
    angles, r = 2.0 * np.pi * np.arange(FACE_POINTS) / FACE_POINTS, FACE_RADIUS * shape.radius
    z, edge = 0.5 * shape.length, rim(shape.radius)
    inside = max(0.0, z - edge.radii[2])  # the ellipsoid touches the face from within
    rims: list[Ball] = [(np.array([0.0, 0.0, side * inside]), edge) for side in (1.0, -1.0)]
    faces = [np.array([r * np.cos(a), r * np.sin(a), side * z]) for side in (1.0, -1.0) for a in angles]
    return rims + [(p, 0.0) for p in faces]


@balls.register
def _(shape: Ellipsoid) -> list[Ball]:
    a, b, c = (float(r) for r in shape.radii)
    return [(np.zeros(3), ContactEllipsoid((a, b, c)))]


@balls.register
def _(shape: Mesh) -> list[Ball]:
    vertices = read_vertices(shape)
    farthest = dict.fromkeys(int(i) for i in np.argmax(vertices @ EXTREME_DIRECTIONS.T, axis=0))
    return [(vertices[i], 0.0) for i in farthest]
