"""Which shapes of a scene may touch each other: objects, robots, and the links of one robot."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np

from ..dynamics.checks import check_model
from ..dynamics.sweeps import nodes, propagate_outward
from ..errors import ModelError
from ..lie.rotations import homogeneous
from ..model import Model, Surface
from ..model.shapes import Mesh, Shape
from .collision_pairs import Couple, Side, joints_between, reachable
from .collision_points import EXTREME_DIRECTIONS, balls
from .distances import check_pairs
from .ellipsoids import radii_and_margin
from .hulls import mesh_hull
from .manifold import point_count
from .signed_distance import Solid, proximity, solid_of_shape

FREE_JOINT_DIMENSION = 6
"""Degrees of freedom of a joint that moves a body on its own."""


class BodyPair(NamedTuple):
    """Two shapes of two links that may touch.

    Example:
        >>> BodyPair("finger", "cube", (0, 0), 4).names[:2]
        ('finger-cube 1', 'finger-cube 2')
    """

    first: str
    """name of a link, whose shape is no less a box than the other"""
    second: str
    """name of the link on which the contact force acts, and its opposite on the first"""
    shapes: tuple[int, int]
    """places among the collision shapes of their links; each point of a mesh counts as a shape"""
    points: int
    """contact points: 4 of two boxes, 2 of a box and a capsule, else 1"""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the contact points: ``finger-cube``, or ``finger-cube 1`` and so on where there are several.

        >>> BodyPair("ball", "table", (0, 0), 1).names, BodyPair("rod", "table", (0, 1), 2).names
        (('ball-table',), ('rod-table 1-2 1', 'rod-table 1-2 2'))
        """
        shapes = "" if self.shapes == (0, 0) else " {}-{}".format(*(i + 1 for i in self.shapes))
        name = f"{self.first}-{self.second}{shapes}"
        return (name,) if self.points == 1 else tuple(f"{name} {k + 1}" for k in range(self.points))


def body_pairs(model: Model, links: Sequence[tuple[str, str]] | None = None) -> tuple[BodyPair, ...]:
    """Pairs of shapes that may touch, for :class:`.BodyContacts`.

    Args:
        model: Scene: robots and free objects.
        links: Names of pairs of links.  Left out: all that a free joint or several joints move against each other,
            without ``model.contact_exclusions``, and without shapes of one robot that overlap (are nearer than their
            margin) in its neutral configuration or cannot reach each other.

    Returns:
        One entry for each pair of shapes.

    Example:
        >>> import fallingcat as fc
        >>> box = fc.model.shapes.Box((0.1, 0.1, 0.1))
        >>> links = [fc.Link(name, fc.Body(1.0, (0, 0, 0), np.eye(3)), collisions=(box,)) for name in ("table", "cube")]
        >>> free = fc.Joint("free", fc.joints.Free(), "table", "cube")
        >>> body_pairs(fc.Model("scene", fc.lie.Trivial(), links, [free]))
        (BodyPair(first='table', second='cube', shapes=(0, 0), points=4),)
    """
    check_model(model)
    if links is not None:
        check_pairs(links)
        links = tuple((a, b) for a, b in links)
    return _pairs_of_links(model.nominal, links)


@lru_cache(maxsize=16)
def _pairs_of_links(model: Model, links: tuple[tuple[str, str], ...] | None) -> tuple[BodyPair, ...]:
    named = _candidate_pairs(model) if links is None else [_link_indices(model, *pair) for pair in links]
    poses = propagate_outward(nodes(model, model.neutral()), np.eye(4), lambda node, H: H @ node.H)
    found = []
    for i, j in named:
        own, other = (_sides(model, k) for k in (i, j))
        surfaces = [[shape.surface or Surface() for shape in side_shapes(model, k)] for k in (i, j)]
        alone = _is_free_between(model, i, j)
        for (m, a), (n, b) in product(enumerate(own), enumerate(other)):
            if a.solid.reach + b.solid.reach == 0.0:  # two points of meshes never meet
                continue
            first_surface, second_surface = surfaces[0][m], surfaces[1][n]
            if not first_surface.touches(second_surface):
                continue
            margin = first_surface.mixed(second_surface).margin
            if alone or links is not None or (_are_separated(a, b, poses, margin) and reachable(model, a, b, margin)):
                swapped = a.solid.extent < b.solid.extent  # what is more of a box comes first
                first, second = ((j, n), (i, m)) if swapped else ((i, m), (j, n))
                names = model.link_names[first[0]], model.link_names[second[0]]
                found.append(BodyPair(*names, (first[1], second[1]), point_count(a.solid, b.solid)))
    if not found:
        raise ModelError(f"no links of {model.name!r} can touch each other: name pairs of links with collision shapes")
    return tuple(found)


def overlap_advice(model: Model, pairs: Sequence[BodyPair], point: int) -> str:
    """Advice to a user whose bodies start in each other, at one of the points of all pairs."""
    pair = [pair for pair in pairs for _ in range(pair.points)][point]
    between = joints_between(model, model.link_index(pair.first), model.link_index(pair.second))
    joint = next((joint.name for joint in reversed(between) if joint.kind.nv == FREE_JOINT_DIMENSION), between[-1].name)
    given = (
        "[x, y, z, 0, 0, 0, 1]"
        if any(x.name == joint and x.kind.nv == FREE_JOINT_DIMENSION for x in between)
        else "..."
    )
    call = f"model.state(joints={{{joint!r}: {given}}})"
    near = "overlap, or are nearer than their margin, there" if any(pair_margins(model, (pair,))) else "overlap there"
    return f"{pair.first!r} and {pair.second!r} {near}, start in touch or apart, as {call} says"


def _candidate_pairs(model: Model) -> list[tuple[int, int]]:
    """Pairs of links that may touch."""
    excluded = {frozenset(pair) for pair in model.contact_exclusions}
    shaped = [i for i, link in enumerate(model.links) if link.collisions]
    moving = [
        pair
        for pair in combinations(shaped, 2)
        if _is_free_between(model, *pair) or len(joints_between(model, *pair)) > 1
    ]
    return [(i, j) for i, j in moving if frozenset((model.link_names[i], model.link_names[j])) not in excluded]


def _link_indices(model: Model, first: str, second: str) -> tuple[int, int]:
    i, j = model.link_index(first), model.link_index(second)
    for k in (i, j):
        if not model.links[k].collisions:
            raise ModelError(f"link {model.link_names[k]!r} has no collision shape, so it cannot touch another")
    if not joints_between(model, i, j):
        raise ModelError(f"no joint moves {first!r} and {second!r} against each other")
    return i, j


def _is_free_between(model: Model, i: int, j: int) -> bool:
    """True if a free joint is between two links."""
    return any(joint.kind.nv == FREE_JOINT_DIMENSION for joint in joints_between(model, i, j))


@lru_cache(maxsize=64)
def side_shapes(model: Model, i: int) -> list[Shape]:
    """Shape of each solid of a link, to which :attr:`BodyPair.shapes` refers.

    Args:
        model: Scene.
        i: Index of the link.

    Returns:
        A shape for each solid: the same one for all points of an ellipsoid.
    """
    return [
        shape
        for shape in model.links[i].collisions
        for _ in (range(1) if isinstance(shape, Mesh) or solid_of_shape(shape) is not None else _small_balls(shape))
    ]


@lru_cache(maxsize=32)
def pair_margins(model: Model, pairs: tuple[BodyPair, ...]) -> tuple[float, ...]:
    """Distance (m) at which contact of each pair of shapes begins; zero where a surface is not known.

    Args:
        model: Scene.
        pairs: Shapes that may touch.

    Returns:
        An entry for each pair.
    """
    return tuple(surface.margin if surface else 0.0 for surface in pair_surfaces(model, pairs))


def pair_surfaces(model: Model, pairs: tuple[BodyPair, ...]) -> list[Surface | None]:
    """Parameters of contact of each pair of shapes; None where a surface is not known.

    Args:
        model: Scene.
        pairs: Shapes that may touch.

    Returns:
        An entry for each pair.
    """
    found = []
    for pair in pairs:
        names = zip((pair.first, pair.second), pair.shapes, strict=True)
        first, second = (side_shapes(model, model.link_index(name))[k].surface for name, k in names)
        found.append(None if first is None or second is None else first.mixed(second))
    return found


@lru_cache(maxsize=64)
def _sides(model: Model, i: int) -> list[Side]:
    """Collision shapes of a link: of a mesh its convex hull, of an ellipsoid the points that stand for it."""
    sides = []
    for shape in model.links[i].collisions:
        solid = solid_of_shape(shape)
        if solid is not None:
            sides.append(Side(i, shape.placement, solid))
            continue
        if isinstance(shape, Mesh):
            middle, hull = mesh_hull(shape)
            placement = shape.placement @ homogeneous(np.eye(3), middle)
            sides.append(Side(i, placement, hull))  # type: ignore[arg-type]  # it has all that a Solid has
            continue
        for center, radius in _small_balls(shape):
            placement = np.array(shape.placement)
            placement[:3, 3] += placement[:3, :3] @ center
            sides.append(Side(i, placement, Solid((0.0, 0.0, 0.0), radius)))
    return sides


def _small_balls(shape: Shape) -> list[tuple[np.ndarray, float]]:
    """Balls that stand for a shape between bodies: of an ellipsoid its ends along axes and diagonals."""
    found = list[tuple[np.ndarray, float]]()
    ways = EXTREME_DIRECTIONS / np.linalg.norm(EXTREME_DIRECTIONS, axis=1)[:, None]
    for center, around in balls(shape):
        radii, margin = radii_and_margin(around)
        found += [(center, margin)] if radii is None else [(center + way * radii, margin) for way in ways]
    return found


def _are_separated(a: Side, b: Side, poses: Sequence[Any], margin: float) -> bool:
    """True if two shapes are no nearer than a margin (m) where links have these poses."""
    (H, *_), (G, *_) = a.place_solid(poses), b.place_solid(poses)
    return bool(proximity(H, a.solid, G, b.solid).distance >= margin)


@lru_cache(maxsize=16)
def couples(model: Model, pairs: tuple[BodyPair, ...]) -> tuple[Couple, ...]:
    """The shapes of pairs."""
    links = [(model.link_index(pair.first), model.link_index(pair.second)) for pair in pairs]
    return tuple(
        (_sides(model, i)[pair.shapes[0]], _sides(model, j)[pair.shapes[1]])
        for (i, j), pair in zip(links, pairs, strict=True)
    )
