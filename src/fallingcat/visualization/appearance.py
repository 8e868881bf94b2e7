"""Appearance of a robot: the shapes of its file, or else as capsules from joint to joint."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..arrays.types import FloatArray
from ..model import Link, Model
from ..model import shapes as solid
from ..records import concise
from .meshes import Key, Pieces, Triangles, read_meshes
from .shapes import PALETTE, Box, Capsule, Shape, Solid

DEFAULT_COLOR = "#c3cbd8"
"""Color of shapes to which the file gives none."""
DENSITY = 1000.0
"""Density of capsules from joint to joint (kg/m^3): heavy links are thick."""
_SHOWN_GROUPS = 3  # names of files in a note


@concise
class Appearance(NamedTuple):
    """Shapes to draw on each link, and lines about what cannot be drawn.

    Example:
        >>> from fallingcat.model import robots
        >>> appearance(robots.cat()).notes
        []
    """

    shapes: dict[str, list[Shape]]
    """by name of the link"""
    notes: list[str]
    """one line for each reason"""


def appearance(model: Model) -> Appearance:
    """Shapes of the robot: its file's visuals; if there are none, what touches; if that is nothing either, capsules.

    Files of meshes are read here.  What cannot be drawn is said, and its link drawn by what touches, if it has that.

    Args:
        model: Robot.

    Returns:
        Shapes by link, and notes.

    Example:
        >>> from fallingcat.model import robots
        >>> appearance(robots.cat()).shapes["head"][0].radius
        0.045
    """
    shapes, lacking, notes = _of_file(model.links, "visuals")
    rest = [link for link in model.links if link.name in lacking] if any(shapes.values()) else model.links
    touching, _, more = _of_file(rest, "collisions")
    shapes |= {name: each for name, each in touching.items() if each}
    if any(shapes.values()):
        return Appearance(shapes, notes + more)
    rods = {link.name: _rods(model, link, PALETTE[i % len(PALETTE)]) for i, link in enumerate(model.links)}
    return Appearance(rods, notes + more)


def _of_file(links: Sequence[Link], kind: str) -> tuple[dict[str, list[Shape]], set[str], list[str]]:
    """Visuals or collisions of links by name, who lacks one that cannot be read, and lines that say so."""
    seen = {link.name: _visible(getattr(link, kind)) for link in links}
    shapes = [s for each in seen.values() for s in each]
    pieces, troubles = read_meshes([s for s in shapes if isinstance(s, solid.Mesh)])
    # in files without colors and meshes, colors tell links apart
    painted = any(s.color or isinstance(s, solid.Mesh) for s in shapes)
    drawn: dict[str, list[Shape]] = {}
    lacking: set[str] = set()
    for i, (name, own) in enumerate(seen.items()):
        color = DEFAULT_COLOR if painted else PALETTE[i % len(PALETTE)]
        drawn[name] = [d for s in own for d in _visible_pieces(s, color, pieces)]
        if any(isinstance(s, solid.Mesh) and not pieces[s.path, s.folder] for s in own):
            lacking.add(name)
    return drawn, lacking, _grouped_messages(troubles)


def _visible(shapes: Sequence[solid.Shape]) -> list[solid.Shape]:
    """Shapes that are not fully transparent."""
    return [s for s in shapes if s.color is None or s.color[3] > 0.0]


def model_shapes(model: Model) -> dict[str, list[Shape]]:
    """Shapes to draw on each link; see :func:`appearance`.

    Args:
        model: Robot.

    Returns:
        Shapes by name of the link.

    Example:
        >>> from fallingcat.model import robots
        >>> sorted(model_shapes(robots.two_cylinder_cat()))
        ['front', 'rear', 'spine']
    """
    return appearance(model).shapes


def _grouped_messages(troubles: list[tuple[str, str]]) -> list[str]:
    """One line for each reason."""
    files: dict[str, list[str]] = defaultdict(list)
    for file, why in troubles:
        files[why].append(file)
    lines = []
    for why, names in files.items():
        more = f" and {len(names) - _SHOWN_GROUPS} more" if len(names) > _SHOWN_GROUPS else ""
        lines.append(f"not drawn: {', '.join(names[:_SHOWN_GROUPS])}{more} ({why})")
    return lines


# shapes of files ----------------------------------------------------------------------------------------------------


def _visible_pieces(shape: solid.Shape, plain: str, pieces: Mapping[Key, Pieces]) -> Iterator[Shape]:
    color = plain if shape.color is None else _hex(shape.color)
    opacity = 1.0 if shape.color is None else shape.color[3]
    if not isinstance(shape, solid.Mesh):
        yield _KINDS[shape.kind](shape, color, opacity)
        return
    H = shape.placement @ np.diag([*shape.scale, 1.0])
    for triangles, own in pieces[shape.path, shape.folder]:
        yield Solid(triangles, H, color if own is None else _hex(own), opacity)  # as ROS does: the mesh knows best


def _hex(color: solid.Color) -> str:
    return "#" + "".join(f"{round(255 * x):02x}" for x in color[:3])


def _sphere(shape: Any, color: str, opacity: float) -> Shape:
    return Capsule(shape.placement[:3, 3], shape.placement[:3, 3], shape.radius, color, opacity)


def _ellipsoid(shape: Any, color: str, opacity: float) -> Shape:
    return _scale_triangles(ball(), shape, shape.radii, color, opacity)


def _cylinder(shape: Any, color: str, opacity: float) -> Shape:
    return _scale_triangles(tube(), shape, [shape.radius, shape.radius, shape.length], color, opacity)


def _capsule(shape: Any, color: str, opacity: float) -> Shape:
    way = 0.5 * shape.length * shape.placement[:3, 2]
    center = shape.placement[:3, 3]
    return Capsule(center - way, center + way, shape.radius, color, opacity)


def _box(shape: Any, color: str, opacity: float) -> Shape:
    H = shape.placement
    return Box(H[:3, 3], 0.5 * np.array(shape.size), H[:3, :3], color, opacity)


_KINDS: dict[str, Callable[[Any, str, float], Shape]] = {
    "sphere": _sphere,
    "ellipsoid": _ellipsoid,
    "cylinder": _cylinder,
    "capsule": _capsule,
    "box": _box,
}


def _scale_triangles(triangles: Triangles, shape: solid.Shape, scale: Any, color: str, opacity: float) -> Solid:
    return Solid(triangles, shape.placement @ np.diag([*scale, 1.0]), color, opacity)


@cache
def tube(sides: int = 32) -> Triangles:
    """Cylinder of radius 1 about z, from -1/2 to 1/2."""
    angle = 2.0 * np.pi * np.arange(sides) / sides
    ring = np.stack([np.cos(angle), np.sin(angle), np.full(sides, 0.5)], axis=1)
    points = np.concatenate([ring * (1, 1, -1), ring, [[0, 0, -0.5], [0, 0, 0.5]]])
    i = np.arange(sides)
    j, bottom, top = (i + 1) % sides, np.full(sides, 2 * sides), np.full(sides, 2 * sides + 1)
    sets = [(i, j, j + sides), (i, j + sides, i + sides), (bottom, j, i), (top, i + sides, j + sides)]
    return Triangles(points, np.concatenate([np.stack(each, axis=1) for each in sets]))


def surface(x: FloatArray, y: FloatArray, heights: FloatArray) -> Triangles:
    """Triangles of heights over a grid.

    Args:
        x: First coordinate of the grid (m).
        y: Second coordinate (m).
        heights: ``len(x) x len(y)`` (m).

    Returns:
        Triangles.

    Example:
        >>> surface(np.arange(3.0), np.arange(2.0), np.zeros((3, 2))).points.shape
        (6, 3)
    """
    points = np.stack([*np.meshgrid(x, y, indexing="ij"), heights], axis=-1).reshape(-1, 3)
    here = np.arange(heights.size).reshape(heights.shape)[:-1, :-1].ravel()
    right = here + len(y)
    faces = [np.stack([here, right, right + 1], axis=1), np.stack([here, right + 1, here + 1], axis=1)]
    return Triangles(points, np.concatenate(faces))


@cache
def ball(rings: int = 16, sides: int = 28) -> Triangles:
    """Ball of radius 1."""
    up, around = np.pi * np.arange(rings + 1) / rings, 2.0 * np.pi * np.arange(sides) / sides
    u, a = (x.ravel() for x in np.meshgrid(up, around, indexing="ij"))
    points = np.stack([np.sin(u) * np.cos(a), np.sin(u) * np.sin(a), np.cos(u)], axis=1)
    i, j = (x.ravel() for x in np.meshgrid(np.arange(rings), np.arange(sides), indexing="ij"))
    here, side, k = i * sides + j, i * sides + (j + 1) % sides, sides
    upper, lower = np.stack([here, here + k, side + k], axis=1), np.stack([here, side + k, side], axis=1)
    return Triangles(points, np.concatenate([upper, lower]))


# capsules -----------------------------------------------------------------------------------------------------------


def _rods(model: Model, link: Link, color: str) -> list[Shape]:
    """From where a link hangs to all that hangs on it: joints and frames; else to beyond its center of mass."""
    center, mass = link.body.center, link.body.mass
    ends = [joint.placement[:3, 3] for joint in model.joints if joint.parent == link.name]
    ends += [frame.placement[:3, 3] for frame in model.frames if frame.link == link.name]
    ends = [end for end in ends if np.linalg.norm(end) > 1e-6]
    if not ends and np.linalg.norm(center) > 1e-6:
        ends = [2.0 * center]
    length = float(sum(np.linalg.norm(end) for end in ends))
    if not length:
        radius = (mass / DENSITY / (4.0 / 3.0 * np.pi)) ** (1.0 / 3.0)
        return [Capsule(center, center, radius, color)] if mass else []
    longest = float(max(np.linalg.norm(end) for end in ends))
    radius = float(np.clip(np.sqrt(mass / (DENSITY * np.pi * length)), 0.025 * longest, 0.2 * longest))
    return [Capsule(np.zeros(3), end, radius, color) for end in ends]
