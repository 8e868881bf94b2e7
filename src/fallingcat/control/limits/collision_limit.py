"""Distance limits between links, and between links and obstacles (extra ``coal``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...arrays import is_numeric, skew
from ...dynamics import jacobian, link_pose
from ...dynamics.checks import check_robot, positive
from ...errors import ModelError, describe
from ...geometry.distances import Distance, check_obstacles, check_pairs, distances
from ...model import Model, State
from ...model.shapes import Shape
from ...records import concise
from .joint_limits import Limit, Rows


@concise
@dataclass(frozen=True)
class CollisionLimit(Limit):
    """Collision avoidance: links approach each other and ``obstacles`` no faster than ``gain`` times the clearance.

    Along the normal ``n`` of the nearest points ``n' (v_b - v_a) >= -gain (distance - margin)``; pairs farther apart
    than ``near`` are left out.  Shapes are those of the model's ``collisions``, meshes by their convex hull; ``pairs``
    names the links (by default all that no joint connects), and obstacles are shapes fixed in the world.

    Example:
        >>> import fallingcat as fc
        >>> ball, along = fc.model.shapes.Sphere(0.1), fc.joints.Prismatic((1.0, 0.0, 0.0))
        >>> links = [fc.Link(name, fc.Body(1.0), collisions=(ball,)) for name in ("base", "upper", "lower")]
        >>> joints = [fc.Joint("first", along, "base", "upper"), fc.Joint("second", along, "upper", "lower")]
        >>> chain = fc.Model("chain", fc.lie.Trivial(), links, joints)
        >>> rows = CollisionLimit(near=1.0, gain=10.0).rows(chain, chain.state(joints=[0.3, 0.3]))
        >>> rows.G.round(9), rows.h.round(9), rows.names  # 0.4 m apart, of which 0.01 m are kept
        (array([[-1., -1.]]), array([3.9]), ("distance of 'base' and 'lower'",))
    """

    pairs: Sequence[tuple[str, str]] | None = None
    obstacles: Sequence[Shape] = ()
    margin: float = 0.01
    """m: smallest distance allowed"""
    near: float = 0.2
    """m: distance below which a pair is considered"""
    gain: float = 10.0
    """1/s; at most 1 over the time step"""

    def __post_init__(self) -> None:
        """Check the fields."""
        for part in ("near", "gain"):
            positive(getattr(self, part), f"{part} of CollisionLimit")
        if not isinstance(self.margin, (int, float)) or not 0.0 <= self.margin < self.near:
            raise ModelError(
                f"margin of CollisionLimit must be a number from 0 to below near, got {describe(self.margin)}"
            )
        if self.pairs is not None:
            check_pairs(self.pairs)
        check_obstacles(self.obstacles)

    def rows(self, model: Model, state: State) -> Rows:
        """One row for each pair nearer than ``near``; numeric states only."""
        check_robot(model, state)
        if not is_numeric(state.pose) or not is_numeric(state.joints):
            raise ModelError("a CollisionLimit needs a numeric state: it cannot be compiled")
        found = [d for d in distances(model, state, self.pairs, self.obstacles) if d.distance < self.near]
        G = np.array([-_approach(model, state, d) for d in found]).reshape(-1, model.nv)
        # pairs that nothing moves against each other: a row of zeros, which no velocity changes
        moves = np.flatnonzero(np.abs(G).max(axis=1, initial=0.0) > 1e-12)
        h = np.array([self.gain * (d.distance - self.margin) for d in found])
        names = tuple(f"distance of {found[i].links[0]!r} and {found[i].links[1]!r}" for i in moves)
        return Rows(G[moves], h[moves] if len(h) else np.zeros(0), names)


def _approach(model: Model, state: State, found: Distance) -> np.ndarray:
    """Jacobian (nv) of the distance of two links."""
    total = np.zeros(model.nv)
    for sign, name, point in zip((-1.0, 1.0), found.links, found.points, strict=True):
        if name in model.link_names:  # else an obstacle
            J, origin = jacobian(model, state, name, "mixed"), link_pose(model, state, name)[:3, 3]
            total = total + sign * (found.normal @ (J[:3] - skew(point - origin) @ J[3:]))
    return np.asarray(total)
