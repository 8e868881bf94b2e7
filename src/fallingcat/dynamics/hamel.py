"""The Coriolis matrix of the Hamel equations, [Feurstein] (3.39), for joints of any group."""

from __future__ import annotations

import numpy as np

from ..arrays import concatenate, stack
from ..arrays.types import Matrix, Vector
from ..lie import SE3
from ..model import Model, State
from .geometry import Geometry, pairwise_symmetric, rate_of_mass, subtree_sums
from .spatial import RigidInertia
from .sweeps import ancestors

_SE3 = SE3()
ad = _SE3.ad


def hamel_matrix(model: Model, state: State, geo: Geometry, L: list[RigidInertia]) -> Matrix:
    """Coriolis matrix ``C = Mdot - ad(v)' M - E``: row i of ``E v`` is the energy's derivative along axis i.

    For the base this is the first row of (3.39); ``ad`` is the bracket of the base's and of each joint's own group,
    which (3.39) does not need because its joints are angles and lengths.  ``E`` splits the energy as (3.37) does:
    half of the base-base part, the whole of the base-joint part in the joint columns, half of the joint-joint part.
    """
    total = subtree_sums(geo, L)
    M = pairwise_symmetric(geo, (geo.axes, [inertia @ s for inertia, s in zip(total, geo.axes, strict=True)]))
    groups = [model.base, *(joint.kind.group for joint in model.joints)]
    speeds = [state.twist, *(node.rates for node in geo.tree)]
    starts = [0, *(model.m + v.start for v in model.v_slices)]
    rows = []
    for i, (group, speed, start) in enumerate(zip(groups, speeds, starts, strict=True)):
        row = -(group.ad(speed).T @ M[start : start + group.dim])
        rows.append(row - _energy_rows(model, state, geo, total, i) if i and group.dim else row)
    return rate_of_mass(geo, L) + concatenate(geo.places.add_followers(rows))


def _energy_rows(model: Model, state: State, geo: Geometry, total: list[RigidInertia], joint: int) -> Matrix:
    """The rows of ``E`` that belong to a joint, one for each of its axes."""
    base_twist = geo.axes[0] @ state.twist
    relative = geo.twists[geo.tree[joint - 1].parent] - base_twist
    above = ancestors(geo.tree, joint)[1:]
    below = _subtree(geo, joint)
    speeds = [state.twist, *(node.rates for node in geo.tree)]
    momenta = {k: total[k] @ geo.axes[k] for k in below}
    carried = sum((momenta[k] @ speeds[k] for k in below), start=np.zeros(6))
    rows = []
    for c in range(geo.places.sizes[joint]):
        s = geo.axes[joint][:, c]
        turn, N = ad(s), total[joint].rate(s)
        weight = base_twist + 0.5 * relative
        columns: dict[int, Vector] = {0: 0.5 * (geo.axes[0].T @ (N @ base_twist))}
        for k in above[:-1]:  # joints between this one and the base
            columns[k] = geo.axes[k].T @ (N @ weight - 0.5 * (turn.T @ carried))
        for k in below:
            columns[k] = -(momenta[k].T @ (turn @ weight))
        if not geo.tree[joint - 1].constant:
            _add_turning_axes(model, state, geo, total, joint, c, columns)
        rows.append(geo.places.vector([columns.get(k, np.zeros(size)) for k, size in enumerate(geo.places.sizes)]))
    return stack(rows)


def _add_turning_axes(
    model: Model, state: State, geo: Geometry, total: list[RigidInertia], joint: int, c: int, columns: dict[int, Vector]
) -> None:
    """Add the share of a joint's axes that turn within the child (universal and reversed joints)."""
    node, q = geo.tree[joint - 1], state.joints[model.q_slices[joint - 1]]
    unit = np.eye(geo.places.sizes[joint])[c]
    turned = _SE3.Ad(geo.poses[joint]) @ model.joints[joint - 1].motion_subspace_derivative(q, unit)
    slip = turned @ node.rates  # extra twist of the whole subtree
    base_twist = geo.axes[0] @ state.twist
    path = ancestors(geo.tree, joint)
    speeds = [state.twist, *(n.rates for n in geo.tree)]
    below = _subtree(geo, joint)
    for k in path[:-1]:
        columns[k] = columns[k] + 0.5 * (geo.axes[k].T @ (total[joint] @ slip))
    for k in below:
        if k != joint:
            columns[k] = columns[k] + 0.5 * (geo.axes[k].T @ (total[k] @ slip))
    relative = geo.twists[joint] - base_twist
    momentum = total[joint] @ (base_twist + 0.5 * relative)
    for k in below:
        if k != joint:
            momentum = momentum + 0.5 * (total[k] @ (geo.axes[k] @ speeds[k]))
    columns[joint] = columns[joint] + turned.T @ momentum


def _subtree(geo: Geometry, link: int) -> list[int]:
    inside = {link}
    for node in geo.tree[link:]:
        if node.parent in inside:
            inside.add(node.link)
    return sorted(inside)
