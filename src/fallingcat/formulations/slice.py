"""One slice of the curvature, in O(n): two momentum-free motions and what their links disagree about."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import concatenate, cross, solve
from ..dynamics.spatial import RigidInertia, motion_to_child, wrench_to_parent
from ..dynamics.sweeps import Node, inward, nodes, outward
from ..model import Model, State


def curvature_slice(model: Model, state: State, x: Any, y: Any) -> Any:
    """``DA(x, y)`` (m) with ``Mb DA(x, y) = S' sum_k (ad(b)' L a - ad(a)' L b - L ad(a) b)``.

    ``a``, ``b`` (6) are the twists of link k for the shape velocities ``x``, ``y`` and zero momentum.
    """
    tree = nodes(model, state)
    own = [RigidInertia.of(link.body) for link in model.links]
    locked = inward(tree, own, lambda node, inertia: inertia.to_parent(node.H))[0]
    S = model.base.selection
    Mb = S.T @ (locked @ S)
    a = _without_momentum(model, tree, own, Mb, x)
    b = _without_momentum(model, tree, own, Mb, y)
    terms = [_disagreement(inertia, u, v) for inertia, u, v in zip(own, a, b, strict=True)]
    return solve(Mb, S.T @ inward(tree, terms, _to_parent)[0])


def _without_momentum(model: Model, tree: list[Node], own: list[RigidInertia], Mb: Any, x: Any) -> list[Any]:
    """The link twists when the shape moves along ``x`` and the base follows so that the momentum stays zero."""
    S = model.base.selection
    rates = [x[v] for v in model.v_slices]

    def twists(base: Any) -> list[Any]:
        return outward(tree, base, lambda node, nu: motion_to_child(node.H, nu) + node.S @ rates[node.link - 1])

    momenta = [inertia @ nu for inertia, nu in zip(own, twists(np.zeros(6)), strict=True)]
    return twists(-(S @ solve(Mb, S.T @ inward(tree, momenta, _to_parent)[0])))


def _to_parent(node: Node, wrench: Any) -> Any:
    return wrench_to_parent(node.H, wrench)


def _disagreement(inertia: RigidInertia, a: Any, b: Any) -> Any:
    """``ad(b)' L a - ad(a)' L b - L ad(a) b``, with ``ad(a)' [p; l] = [p x w; l x w + p x v]``."""
    return _pull(b, inertia @ a) - _pull(a, inertia @ b) - inertia @ _bracket(a, b)


def _pull(a: Any, h: Any) -> Any:
    v, w, p, angular = a[:3], a[3:], h[:3], h[3:]
    return concatenate([cross(p, w), cross(angular, w) + cross(p, v)])


def _bracket(a: Any, b: Any) -> Any:
    return concatenate([cross(a[3:], b[:3]) + cross(a[:3], b[3:]), cross(a[3:], b[3:])])
