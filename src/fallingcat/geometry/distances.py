"""Distances between links by their collision shapes (extra ``coal``)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache, singledispatch
from itertools import combinations, product
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from ..arrays.types import Float_3, FloatArray
from ..dynamics.checks import check_model, check_robot
from ..dynamics.kinematics import world_poses
from ..errors import ExtraMissingError, ModelError, describe
from ..io.meshes.mesh_loading import read_vertices
from ..model import Model, State
from ..model.shapes import Box, Capsule, Cylinder, Ellipsoid, Mesh, Shape, Sphere
from ..records import concise


@concise
class Distance(NamedTuple):
    """Distance of two links, with their nearest points.

    Example:
        >>> Distance(("hand", "head"), 0.2, np.zeros((2, 3)), np.array([1.0, 0.0, 0.0])).distance
        0.2
    """

    links: tuple[str, str]
    distance: float
    """m; negative: depth of the overlap"""
    points: FloatArray
    """``2 x 3`` (m, world): nearest point of each"""
    normal: Float_3
    """3, world: from the first to the second"""


def distances(
    model: Model, state: State, pairs: Sequence[tuple[str, str]] | None = None, obstacles: Sequence[Shape] = ()
) -> tuple[Distance, ...]:
    """Distances between links, and between links and obstacles, by their collision shapes (extra ``coal``).

    Negative distances are collisions.  Along a run, call it at each of ``run.states``; shapes are made once for a
    model.

    Args:
        model: Robot; a mesh counts as its convex hull.
        state: Configuration; velocities are not used.
        pairs: Pairs of links; None: :func:`self_pairs`.
        obstacles: Shapes fixed in the world, called ``obstacle 0``, ...; their distances to all links with shapes
            follow.

    Returns:
        Distance (m), nearest points (2 x 3) and normal (3) of each pair.

    Example:
        >>> import fallingcat as fc
        >>> ball, along = fc.model.shapes.Sphere(0.1), fc.joints.Prismatic((1.0, 0.0, 0.0))
        >>> links = [fc.Link(name, collisions=(ball,)) for name in ("base", "upper", "lower")]
        >>> joints = [fc.Joint("first", along, "base", "upper"), fc.Joint("second", along, "upper", "lower")]
        >>> chain = fc.Model("chain", fc.lie.SE3(), links, joints)
        >>> [(d.links, round(d.distance, 9)) for d in distances(chain, chain.state(joints=[0.3, 0.3]))]
        [(('base', 'lower'), 0.4)]
    """
    check_robot(model, state)
    asked = self_pairs(model) if pairs is None else _check_pairs(model, pairs)
    around = _place_obstacles(obstacles)
    shaped = [link.name for link in model.links if link.collisions] if around else []
    poses, solids = world_poses(model, state), _solids(model)
    placed = around | {
        name: [(solid, _transform(poses[model.link_index(name)] @ H)) for solid, H in solids[name]]
        for name in {*shaped, *(name for pair in asked for name in pair)}
    }
    return tuple(_nearest((a, b), placed[a], placed[b]) for a, b in (*asked, *product(shaped, around)))


def self_pairs(model: Model) -> tuple[tuple[str, str], ...]:
    """Pairs of links with collision shapes that no joint and no loop closure connects.

    Args:
        model: Robot.

    Returns:
        Pairs of names.

    Example:
        >>> import fallingcat as fc
        >>> self_pairs(fc.robots.scara())[:2]
        (('post', 'forearm'), ('post', 'sleeve'))
    """
    check_model(model)
    shaped = [link.name for link in model.links if link.collisions]
    joined = {frozenset((joint.parent, joint.child)) for joint in model.joints}
    joined |= {frozenset(model.frame(place).link for place in loop.places) for loop in model.loops}
    return tuple(pair for pair in combinations(shaped, 2) if frozenset(pair) not in joined)


def check_obstacles(obstacles: Any) -> None:
    """An error unless these are shapes."""
    if not isinstance(obstacles, (list, tuple)) or not all(isinstance(shape, Shape) for shape in obstacles):
        raise ModelError(f"obstacles are shapes, such as [Sphere(0.1, placement=H)], not {describe(obstacles)}")


def _place_obstacles(obstacles: Any) -> dict[str, PlacedShapes]:
    check_obstacles(obstacles)
    return {f"obstacle {i}": [(solid(shape), _transform(shape.placement))] for i, shape in enumerate(obstacles)}


def check_pairs(pairs: Any) -> None:
    """An error unless these are pairs of names."""
    listed = isinstance(pairs, (list, tuple)) and all(isinstance(pair, (list, tuple)) for pair in pairs)
    if not listed or not all(len(pair) == 2 and all(isinstance(name, str) for name in pair) for pair in pairs):
        raise ModelError(f"pairs are pairs of names of links, not {describe(pairs)}")


def _check_pairs(model: Model, pairs: Any) -> list[tuple[str, str]]:
    check_pairs(pairs)
    shaped = {link.name for link in model.links if link.collisions}
    for name in (name for pair in pairs for name in pair):
        if name not in shaped:
            raise ModelError(f"{describe(name)} is no link of {model.name!r} with collision shapes")
    return [(a, b) for a, b in pairs]


PlacedShapes = list[tuple[Any, Any]]
"""Solids and their poses, both as coal has them."""


def _nearest(links: tuple[str, str], first: PlacedShapes, second: PlacedShapes) -> Distance:
    coal, best = _coal(), Distance(links, np.inf, np.zeros((2, 3)), np.zeros(3))
    for (a, H_a), (b, H_b) in product(first, second):
        found = coal.DistanceResult()
        distance = coal.distance(a, H_a, b, H_b, coal.DistanceRequest(), found)
        if distance < best.distance:
            points = np.array([found.getNearestPoint1(), found.getNearestPoint2()])
            best = Distance(links, distance, points, np.array(found.normal))
    return best


def _coal() -> ModuleType:
    try:
        import coal
    except ImportError:
        raise ExtraMissingError("coal", purpose="a distance between links") from None
    return coal


@lru_cache(maxsize=8)
def _solids(model: Model) -> dict[str, list[tuple[Any, np.ndarray]]]:
    """The collision shapes of every link, and where they are on it."""
    return {link.name: [(solid(shape), shape.placement) for shape in link.collisions] for link in model.links}


def _transform(H: np.ndarray) -> Any:
    return _coal().Transform3s(np.ascontiguousarray(H[:3, :3]), np.ascontiguousarray(H[:3, 3]))


@singledispatch
def solid(shape: Shape) -> Any:
    """A shape as coal has it; register your own kind of shape here."""
    raise ModelError(f"distances are those of solid shapes, not of a {shape.kind}")


@solid.register
def _(shape: Sphere) -> Any:
    return _coal().Sphere(shape.radius)


@solid.register
def _(shape: Ellipsoid) -> Any:
    return _coal().Ellipsoid(*shape.radii)


@solid.register
def _(shape: Capsule) -> Any:
    return _coal().Capsule(shape.radius, shape.length)


@solid.register
def _(shape: Cylinder) -> Any:
    return _coal().Cylinder(shape.radius, shape.length)


@solid.register
def _(shape: Box) -> Any:
    return _coal().Box(*shape.size)


@solid.register
def _(shape: Mesh) -> Any:
    coal, points = _coal(), _coal().StdVec_Vec3s()
    for vertex in read_vertices(shape):
        points.append(vertex)
    for exactly in ("Qt", "QJ"):  # coal takes no corner with many neighbours; by a hair moved, it has fewer
        with suppress(RuntimeError, ValueError):
            return coal.Convex.convexHull(points, False, exactly)
    raise ModelError(f"no convex hull of the mesh {shape.path!r} was found")
