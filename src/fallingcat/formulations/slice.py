"""One slice of the curvature, in O(n): the area that two motions without momentum sweep."""

from __future__ import annotations

import numpy as np

from ..arrays import argument_sizes, concatenate, cross, scale, solve
from ..arrays.types import Matrix, Twist, Vector, Wrench
from ..dynamics.spatial import RigidInertia, motion_to_child, rigid_inertias, wrench_to_parent
from ..dynamics.sweeps import Node, accumulate_inward, nodes, propagate_outward
from ..model import Model, State


@argument_sizes(x="n", y="n")
def curvature_slice(model: Model, state: State, x: Vector, y: Vector) -> Vector:
    """Curvature ``DA(x, y)`` (m): ``Mb DA(x, y) = S' [0; 2 sum m u_x x u_y]`` over all points of the robot.

    ``u_x``, ``u_y`` are the point velocities when the shape moves along ``x``, ``y`` and the base follows without
    momentum: the curvature is the area that the masses sweep.  (Summing ``ad(b)' L a - ad(a)' L b - L ad(a) b`` over
    the links gives the same: its linear part vanishes by Jacobi's identity.)
    """
    tree = nodes(model, state)
    own = rigid_inertias(model)
    locked = accumulate_inward(tree, own, lambda node, inertia: inertia.to_parent(node.H))[0]
    S = model.base.selection
    Mb = S.T @ (locked @ S)
    a = _without_momentum(model, tree, own, Mb, x)
    b = _without_momentum(model, tree, own, Mb, y)
    areas = [_area(inertia, u, v) for inertia, u, v in zip(own, a, b, strict=True)]
    area = accumulate_inward(tree, areas, lambda node, swept: node.H[:3, :3] @ swept)[0]
    return solve(Mb, S.T @ concatenate([np.zeros(3), 2.0 * area]))


def _without_momentum(model: Model, tree: list[Node], own: list[RigidInertia], Mb: Matrix, x: Vector) -> list[Twist]:
    """The link twists when the shape moves along ``x`` and the base follows so that the momentum stays zero."""
    S = model.base.selection
    rates = [x[v] for v in model.v_slices]

    def twists(base: Vector) -> list[Twist]:
        return propagate_outward(
            tree, base, lambda node, nu: motion_to_child(node.H, nu) + node.S @ rates[node.link - 1]
        )

    momenta = [inertia @ nu for inertia, nu in zip(own, twists(np.zeros(6)), strict=True)]
    return twists(-(S @ solve(Mb, S.T @ accumulate_inward(tree, momenta, _to_parent)[0])))


def _to_parent(node: Node, wrench: Wrench) -> Wrench:
    return wrench_to_parent(node.H, wrench)


def _area(inertia: RigidInertia, a: Twist, b: Twist) -> Vector:
    """``sum m u_a x u_b`` (3) over the points of a body with twists ``a`` and ``b``, where ``u = v + w x r``."""
    h = inertia.moment
    (va, wa), (vb, wb) = (a[:3], a[3:]), (b[:3], b[3:])
    swept = cross(va, scale(inertia.mass, vb) + cross(wb, h)) + cross(cross(wa, h), vb)
    return swept + inertia.second_moment @ cross(wa, wb)
