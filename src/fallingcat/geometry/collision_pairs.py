"""Pairs of shapes of a robot that may push each other: by its file, by their closed forms, and by their reach."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import combinations, product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .._deprecated import former_attribute
from ..arrays import concatenate, is_numeric, map_each
from ..arrays.types import Pose, Scalar, Vector
from ..arrays.vectorize import vectorize
from ..dynamics.checks import check_model
from ..dynamics.sweeps import nodes, propagate_outward
from ..errors import ModelError, describe
from ..model import Joint, Model
from ..records import concise
from .signed_distance import Proximity, Solid, proximity_function, solid_of_shape


class Side(NamedTuple):
    """A shape that may push another."""

    link: int
    """place in ``model.links``"""
    placement: np.ndarray
    """``4 x 4``: in the frame of the link"""
    solid: Solid

    def place_solid(self, poses: Sequence[Any]) -> tuple[Pose, Vector, Scalar]:
        """Pose, half sizes and radius, given the poses of links."""
        return poses[self.link] @ self.placement, np.array(self.solid.half_sizes), self.solid.radius


Couple = tuple[Side, Side]
"""Two shapes, of which the first is no less a box than the second."""


@concise
class SelfPairs(NamedTuple):
    """Pairs of shapes that may collide, and the reasons for those left out.

    Example:
        >>> import fallingcat as fc
        >>> pushing_pairs(fc.robots.scara()).unknown
        ()
    """

    pairs: tuple[Couple, ...]
    overlapping: tuple[tuple[str, str], ...]
    """links with shapes that overlap where all joints are neutral, and so do not push"""
    unreachable: int
    """pairs of shapes that cannot reach each other, whatever the joints do"""
    unknown: tuple[str, ...]
    """links with meshes or ellipsoids, which have no closed form and do not push"""
    excluded: int
    """pairs of links that do not push by the robot's file: see ``model.contact_exclusions``"""

    def links(self, model: Model) -> tuple[tuple[str, str], ...]:
        """Pairs of links that may collide, by name.

        Args:
            model: Robot.

        Returns:
            Pairs of names.

        Example:
            >>> import fallingcat as fc
            >>> arm = fc.robots.scara()
            >>> pushing_pairs(arm).links(arm)[:2]
            (('post', 'forearm'), ('post', 'sleeve'))
        """
        found = {(min(a.link, b.link), max(a.link, b.link)) for a, b in self.pairs}
        return tuple((model.link_names[a], model.link_names[b]) for a, b in sorted(found))


for _old, _new in (("never", "unreachable"), ("apart", "excluded")):
    setattr(SelfPairs, _old, former_attribute(_old, _new))


def pushing_pairs(model: Model, pairs: Sequence[tuple[str, str]] | None = None) -> SelfPairs:
    """Pairs of shapes that collide in runs with :class:`fallingcat.control.SelfContact`.

    Shapes that provably cannot reach each other are left out: hinges between them, turned as they may be, keep the
    balls around them apart.

    Args:
        model: Robot.
        pairs: Pairs of links; None: all links that more than one moving joint keeps apart, less those that the file
            excludes (``model.contact_exclusions``), and less shapes that overlap in the neutral configuration.

    Returns:
        Pairs of shapes, and the reasons for those left out.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.scara()
        >>> len(pushing_pairs(arm, [("post", "sleeve")]).pairs) > 0
        True
    """
    check_model(model)
    return _default_pairs(model, None if pairs is None else _check_pairs(model, pairs))


def _check_pairs(model: Model, pairs: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(pairs, Sequence) or not all(isinstance(pair, Sequence) and len(pair) == 2 for pair in pairs):
        raise ModelError(f"pairs are pairs of names of links, not {describe(pairs)}")
    for first, second in pairs:
        for name in (first, second):
            if not any(solid_of_shape(shape) for shape in model.links[model.link_index(name)].collisions):
                raise ModelError(f"link {name!r} has no sphere, capsule, box or cylinder that could push another")
        if not joints_between(model, model.link_index(first), model.link_index(second)):
            raise ModelError(f"no joint moves {first!r} and {second!r} against each other")
    return tuple((first, second) for first, second in pairs)


@lru_cache(maxsize=16)
def _default_pairs(model: Model, named: tuple[tuple[str, str], ...] | None) -> SelfPairs:
    sides = [_sides(model, i) for i in range(len(model.links))]
    unknown = tuple(
        link.name for link, known in zip(model.links, sides, strict=True) if len(known) < len(link.collisions)
    )
    names, excluded = model.link_names, {frozenset(pair) for pair in model.contact_exclusions}
    if named is None:
        shaped = combinations([i for i, own in enumerate(sides) if own], 2)
        hinged = [pair for pair in shaped if len(joints_between(model, *pair)) > 1]
        couples = [(i, j) for i, j in hinged if frozenset((names[i], names[j])) not in excluded]
    else:
        hinged = couples = [(model.link_index(a), model.link_index(b)) for a, b in named]
    shapes = [_ordered_pair(a, b) for i, j in couples for a, b in product(sides[i], sides[j])]
    poses = propagate_outward(nodes(model, model.neutral()), np.eye(4), lambda node, H: H @ node.H)
    depths = [-1.0 * met.distance if named is None else 0.0 for met in meetings(shapes, poses)]
    clear = [pair for pair, depth in zip(shapes, depths, strict=True) if depth <= 0.0]
    overlapping = dict.fromkeys(
        tuple(sorted((a.link, b.link))) for (a, b), depth in zip(shapes, depths, strict=True) if depth > 0.0
    )
    kept = tuple(pair for pair in clear if reachable(model, *pair))
    by_name = tuple((names[i], names[j]) for i, j in overlapping)
    return SelfPairs(kept, by_name, len(clear) - len(kept), unknown, len(hinged) - len(couples))


def _sides(model: Model, i: int) -> list[Side]:
    solids = [(shape.placement, solid_of_shape(shape)) for shape in model.links[i].collisions]
    return [Side(i, placement, solid) for placement, solid in solids if solid is not None]


def _ordered_pair(a: Side, b: Side) -> Couple:
    return (a, b) if a.solid.extent >= b.solid.extent else (b, a)


def meetings(pairs: Sequence[Couple], poses: Sequence[Any]) -> list[Proximity]:
    """Nearest points of pairs of shapes, given the poses of links in one frame, in which the results are."""
    given = [(*a.place_solid(poses), *b.place_solid(poses)) for a, b in pairs]
    return [Proximity(x[0], x[1:4], x[4:]) for x in for_all(pairs, _meeting_vector, given)]


def _meeting_vector(kind: Callable[..., Proximity], *given: Any) -> Any:
    distance, normal, point = kind(*given)
    return concatenate([np.reshape(distance, 1), normal, point])


def for_all(pairs: Sequence[Couple], function: Callable[..., Any], given: Sequence[tuple[Any, ...]]) -> list[Any]:
    """The vectors ``function(kind, *given)`` of all pairs, with the :func:`~.overlaps.meeting` of each as its ``kind``.

    Pairs of a kind are worked out together: numbers at once, expressions in one loop.
    """
    found: list[Any] = [None] * len(pairs)
    kinds: dict[Any, list[int]] = {}
    for i, (a, b) in enumerate(pairs):
        kinds.setdefault(proximity_function(a.solid, b.solid), []).append(i)
    for kind, members in kinds.items():
        rows = [given[i] for i in members]
        together = _evaluated_together if all(is_numeric(x) for row in rows for x in row) else _evaluated_each
        for i, result in zip(members, together(partial(function, kind), rows), strict=True):
            found[i] = result
    return found


def _evaluated_each(function: Callable[..., Any], rows: Sequence[tuple[Any, ...]]) -> list[Any]:
    return map_each(function, *zip(*rows, strict=True))


def _evaluated_together(function: Callable[..., Any], rows: Sequence[tuple[Any, ...]]) -> list[Any]:
    shapes = [np.shape(x) for x in rows[0]]
    ends = np.cumsum([prod(shape) for shape in shapes])[:-1]
    flat = np.array([np.concatenate([np.ravel(x) for x in row]) for row in rows])

    def of_row(row: Any) -> Any:
        parts = np.split(row, ends)
        return function(*(part.reshape(shape) if shape else part[0] for part, shape in zip(parts, shapes, strict=True)))

    return list(vectorize(of_row, flat))


# joints between links -----------------------------------------------------------------------------------------------


def _paths_to_common_link(model: Model, i: int, j: int) -> tuple[list[Joint], list[Joint]]:
    """The joints from each of two links inward, up to what both hang on."""

    def path_to_base(k: int) -> list[int]:
        way = []
        while k > 0:
            way.append(k)
            k = model.parents[k - 1]
        return way

    first, second = path_to_base(i), path_to_base(j)
    return (
        [model.joints[k - 1] for k in first if k not in second],
        [model.joints[k - 1] for k in second if k not in first],
    )


def joints_between(model: Model, i: int, j: int) -> list[Joint]:
    """The joints that move two links against each other."""
    first, second = _paths_to_common_link(model, i, j)
    return [joint for joint in (*first, *second) if joint.kind.nv]


def reachable(model: Model, a: Side, b: Side, margin: float = 0.0) -> bool:
    """True if two shapes may come nearer than a margin (m): balls that hold them, wherever hinges turn them, do."""
    (p, r), (q, s) = (
        _ball(way, side) for way, side in zip(_paths_to_common_link(model, a.link, b.link), (a, b), strict=True)
    )
    return bool(np.linalg.norm(p - q) <= r + s + margin)


def _ball(way: Sequence[Joint], side: Side) -> tuple[np.ndarray, float]:
    """Center and radius of a ball that holds a shape at all angles of the hinges on a way; all of space beyond others.

    A ball that turns about an axis stays in the one around its foot on the axis.
    """
    center, radius = side.placement[:3, 3], side.solid.reach
    for joint in way:
        q = joint.kind.group.coordinates(joint.kind.group.identity())
        S = np.asarray(joint.motion_subspace(q))
        if joint.kind.nv:
            if joint.kind.nv > 1 or S[:3].any():
                return np.zeros(3), np.inf
            axis = S[3:, 0] / np.linalg.norm(S[3:, 0])
            foot = axis * (axis @ center)
            center, radius = foot, radius + float(np.linalg.norm(center - foot))
        H = joint.transform(q)
        center = H[:3, :3] @ center + H[:3, 3]
    return center, radius
