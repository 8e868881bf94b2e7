"""Derivatives of the dynamics, on the tangent of the configuration.

A configuration is moved by a tangent vector ``d`` (nv): the base pose becomes ``pose exp(d_b)``, each joint's element
``g exp(d_j)``, which for angles and lengths is plain addition.  In the frame that coincides with the base, moving a
joint carries everything behind it along a rigid motion: the forces behind it answer as if their parent's motion had
changed instead, by one composite matrix per link, in O(n x depth).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import concatenate, is_numeric, solve
from ..errors import ModelError
from ..lie import SE3, Group
from ..lie.rotations import block_diagonal
from ..model import Model, State
from .checks import vector
from .forward import forward_dynamics
from .geometry import Geometry, geometry, inertias, pairwise_matrix, subtree_sums
from .inverse import inverse_dynamics
from .mass import mass_matrix
from .spatial import pull
from .sweeps import outward

_SE3 = SE3()
ad, adt = _SE3.ad, _SE3.adt


class InverseDerivatives(NamedTuple):
    """Derivatives of :func:`inverse_dynamics` (each nv x nv)."""

    configuration: Any
    """with respect to the configuration, on the tangent"""
    velocity: Any
    """with respect to ``[twist; rates]``"""
    acceleration: Any
    """with respect to the acceleration: the mass matrix"""


class ForwardDerivatives(NamedTuple):
    """Derivatives of :func:`forward_dynamics` (each nv x nv)."""

    configuration: Any
    velocity: Any
    forces: Any
    """with respect to the forces: the inverse of the mass matrix"""


def inverse_dynamics_derivatives(model: Model, state: State, acceleration: Any) -> InverseDerivatives:
    """How the forces of :func:`inverse_dynamics` change with configuration, velocity and acceleration.

    >>> from fallingcat.model import robots
    >>> arm = robots.planar_arm()
    >>> inverse_dynamics_derivatives(arm, arm.neutral(), np.zeros(arm.nv)).configuration.shape == (arm.nv, arm.nv)
    True
    """
    acceleration = vector(acceleration, model.nv, "acceleration")
    geo = geometry(model, state)
    if not all(node.constant for node in geo.tree):
        return _by_complex_step(model, state, acceleration)
    L = inertias(model, geo)
    a = _accelerations(model, state, geo, acceleration)
    momenta = [Lj @ nu for Lj, nu in zip(L, geo.twists, strict=True)]
    own_forces = [Lj @ aj - pull(nu, h) for Lj, aj, nu, h in zip(L, a, geo.twists, momenta, strict=True)]
    own_gains = [Lj.rate(nu).matrix() - adt(h) for Lj, nu, h in zip(L, geo.twists, momenta, strict=True)]
    force, gain, total = (subtree_sums(geo, x) for x in (own_forces, own_gains, L))
    parent = [0, *(node.parent for node in geo.tree)]
    by_q, by_v = [], []
    for k in range(len(L)):
        s = geo.axes[k]
        nu, ap = (geo.twists[parent[k]], a[parent[k]]) if k else (np.zeros(6), _gravity(model, state))
        dnu = ad(nu) @ s  # a moved joint, seen from behind it: its parent's twist changes by this
        by_q.append((ad(ap) @ s + ad(nu) @ dnu, dnu))
        by_v.append((geo.axes_dot[k] + dnu, s))

    rows = [((Lk @ s).T, s.T @ Gk) for Lk, Gk, s in zip(total, gain, geo.axes, strict=True)]

    def matrix(changes: list[tuple[Any, Any]], moved: bool) -> Any:
        behind = [Lk @ da + Gk @ dnu for Lk, Gk, (da, dnu) in zip(total, gain, changes, strict=True)]
        before = behind
        if moved:  # seen from before the joint, the force behind it has moved along
            before = [x - _turned(s, f) for x, s, f in zip(behind, geo.axes, force, strict=True)]

        def entry(i: int, k: int) -> tuple[Any, Any]:
            (da, dnu), (sL, sG) = changes[i], rows[k]
            return geo.axes[i].T @ (behind if i == k else before)[k], sL @ da + sG @ dnu

        return pairwise_matrix(geo, entry)

    return InverseDerivatives(matrix(by_q, True), matrix(by_v, False), mass_matrix(model, state))


def forward_dynamics_derivatives(model: Model, state: State, forces: Any) -> ForwardDerivatives:
    """How the acceleration of :func:`forward_dynamics` changes: ``-M^-1`` times the derivatives of the inverse."""
    a = forward_dynamics(model, state, forces)
    by_q, by_v, M = inverse_dynamics_derivatives(model, state, a)
    solved = solve(M, concatenate([-by_q, -by_v, np.eye(model.nv)], axis=1))
    n = model.nv
    return ForwardDerivatives(solved[:, :n], solved[:, n : 2 * n], solved[:, 2 * n :])


def linearize(model: Model, state: State, forces: Any) -> tuple[Any, Any]:
    """``A`` (2nv x 2nv) and ``B`` (2nv x nv) of ``d/dt [x; dv] = A [x; dv] + B dF`` about a state and its forces.

    ``x`` is the deviation of the configuration on the tangent, which the robot's own motion turns:
    ``dx/dt = dv - ad(v) x`` with the bracket of the base's and of each joint's group.
    """
    by_q, by_v, by_f = forward_dynamics_derivatives(model, state, vector(forces, model.nv, "forces"))
    one, zero = np.eye(model.nv), np.zeros((model.nv, model.nv))
    A = concatenate([concatenate([-_brackets(model, state), one], axis=1), concatenate([by_q, by_v], axis=1)])
    return A, concatenate([zero, by_f])


def displace(model: Model, state: State, tangent: Any) -> State:
    """The state moved by the tangent vector ``tangent`` (nv): ``pose exp(d_b)``, ``g_j exp(d_j)``; velocities stay."""
    tangent = vector(tangent, model.nv, "tangent")
    pose = state.pose @ model.base.exp(tangent[: model.m])
    parts = [np.zeros(0)]
    for joint, q, v in zip(model.joints, model.q_slices, model.v_slices, strict=True):
        parts.append(_retract(joint.kind.group, state.joints[q], tangent[model.m :][v]))
    return State(pose, concatenate(parts), state.twist, state.rates)


def _retract(group: Group, q: Any, d: Any) -> Any:
    if group.nq == group.dim and not np.any(group.ad(np.ones(group.dim))):
        return q + d  # angles and lengths: keeps whole turns
    return group.coordinates(group.compose(group.element(q), group.exp(d)))


def _accelerations(model: Model, state: State, geo: Geometry, acceleration: Any) -> list[Any]:
    """``a_j`` (6) of each link in the standing frame, less gravity."""
    rates_dot = [acceleration[: model.m], *(acceleration[model.m :][v] for v in model.v_slices)]
    speeds = [state.twist, *(node.rates for node in geo.tree)]
    own = [s @ x + s_dot @ v for s, x, s_dot, v in zip(geo.axes, rates_dot, geo.axes_dot, speeds, strict=True)]
    return outward(geo.tree, own[0] + _gravity(model, state), lambda node, a: a + own[node.link])


def _gravity(model: Model, state: State) -> Any:
    return concatenate([-(state.pose[:3, :3].T @ model.gravity), np.zeros(3)])


def _turned(axes: Any, force: Any) -> Any:
    """``ad(s)' F`` for each column ``s``: ``adt(F) s``."""
    return adt(force) @ axes


def _brackets(model: Model, state: State) -> Any:
    groups = [(model.base, state.twist)]
    groups += [(j.kind.group, state.rates[v]) for j, v in zip(model.joints, model.v_slices, strict=True)]
    return block_diagonal([group.ad(v) for group, v in groups if group.dim])


def _by_complex_step(model: Model, state: State, acceleration: Any) -> InverseDerivatives:
    """Joints whose axes turn within the child (universal, reversed): exact to rounding, on numbers only."""
    if not all(is_numeric(x) for x in (*state, acceleration)):
        raise ModelError("derivatives of universal and reversed joints are taken by complex step, on numbers only")
    columns, step = np.eye(model.nv), 1e-40

    def forces(moved: State) -> np.ndarray:
        return np.imag(inverse_dynamics(model, moved, acceleration)) / step

    by_q = [forces(displace(model, state, 1j * step * d)) for d in columns]
    by_v = [
        forces(
            state._replace(twist=state.twist + 1j * step * d[: model.m], rates=state.rates + 1j * step * d[model.m :])
        )
        for d in columns
    ]
    return InverseDerivatives(np.stack(by_q, axis=1), np.stack(by_v, axis=1), mass_matrix(model, state))
