"""The mechanical connection, its curvature, and whether it can be integrated.

Everything comes from composite inertias in the frame that coincides with the base, in O(n^2) (THEORY: "the geometry in
O(n^2)"): ``s_i`` the axes, ``I_i`` the inertia of all that joint i carries, ``h_i = I_i s_i`` and one 6x6 matrix per axis,
``N_i = -(ad(s_i)' I_i + I_i ad(s_i))``, the derivative of the locked inertia.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import concatenate, is_numeric, solve, stack
from ..dynamics.checks import vector
from ..dynamics.geometry import Geometry, geometry, inertias, subtree_sums
from ..dynamics.sweeps import ancestors, mirror
from ..errors import ModelError, NumericsError
from ..lie import SE2, SE3
from ..model import Model, State

_SE3 = SE3()
ad = _SE3.ad


class Shape(NamedTuple):
    """How the locked inertia and the momenta of the joints change with the shape, in the base's group (m, n)."""

    Mb: Any
    """``m x m``: locked inertia"""
    Mbq: Any
    """``m x n``: momentum of the base per joint rate"""
    A: Any
    """``m x n``: mechanical connection, ``Mb^-1 Mbq``"""
    N: list[Any]
    """``m x m`` for each joint rate: derivative of ``Mb`` along it"""
    geometry: Geometry
    total: list[Any]
    """``6 x 6`` for each link: composite inertia of its subtree"""


def shape(model: Model, state: State) -> Shape:
    """Locked inertia, connection and their ingredients at a state's shape."""
    if not model.m:
        raise ModelError(f"the base of {model.name!r} is fixed: there is no connection")
    geo = geometry(model, state)
    total = subtree_sums(geo, inertias(model, geo))
    S = model.base.selection
    Mb = mirror(S.T @ total[0] @ S)
    joints = range(1, len(total))
    Mbq = concatenate([np.zeros((model.m, 0)), *(S.T @ (total[k] @ geo.axes[k]) for k in joints)], axis=1)
    N = []
    for k in joints:
        for c in range(geo.sizes[k]):
            half = total[k] @ ad(geo.axes[k][:, c])
            N.append(mirror(-(S.T @ (half + half.T) @ S)))
    return Shape(Mb, Mbq, solve(Mb, Mbq), N, geo, total)


def connection(model: Model, state: State) -> Any:
    """The mechanical connection ``A = Mb^-1 Mbq`` (m x n): with zero momentum, ``twist = -A rates`` ([Mishra] Def. 4).

    >>> from fallingcat.model import robots
    >>> cat = robots.two_cylinder_cat()
    >>> connection(cat, cat.neutral()).shape == (cat.m, cat.n)
    True
    """
    return shape(model, state).A


def locked_velocity(model: Model, state: State) -> Any:
    """``mu = twist + A rates`` (m): the base twist of the frozen robot with the same momentum ([Feurstein] (3.66))."""
    return state.twist + connection(model, state) @ state.rates


def connection_derivative(model: Model, state: State) -> Any:
    """``dA/dt`` (m x n) along the state's joint rates: ``Mb^-1 (dMbq/dt - dMb/dt A)``."""
    return _rate(model, state, shape(model, state))


def _rate(model: Model, state: State, parts: Shape) -> Any:
    columns = [solve_sum(x, state.rates) for x in momentum_derivatives(model, state, parts)]
    P = locked_inertia_rate(parts, state.rates)
    if not columns:
        return np.zeros((model.m, 0))
    return solve(parts.Mb, stack(columns, axis=1) - P @ parts.A)


def solve_sum(columns: list[Any], rates: Any) -> Any:
    """``sum columns[i] rates[i]``."""
    return stack(columns, axis=1) @ rates


def locked_inertia_rate(parts: Shape, x: Any) -> Any:
    """``P(x) = sum N_i x_i`` (m x m), symmetric: [Mishra] (15)."""
    out = np.zeros(np.shape(parts.Mb))
    for i, N in enumerate(parts.N):
        out = out + N * x[i]
    return out


def momentum_derivatives(model: Model, state: State, parts: Shape) -> list[list[Any]]:
    """``d_i Mbq[:, j]`` (m) as ``[j][i]``: the momentum of axis j as the shape moves along axis i.

    ``-ad(s_i)' h_j`` if joint i carries joint j (or is it), ``N_i s_j`` if joint j carries joint i, else zero.
    """
    geo, S = parts.geometry, model.base.selection
    owner = [k for k, size in enumerate(geo.sizes) if k for _ in range(size)]
    axes = [geo.axes[k][:, c] for k, size in enumerate(geo.sizes) if k for c in range(size)]
    turns = [ad(s) for s in axes]
    momenta = [parts.total[k] @ s for k, s in zip(owner, axes, strict=True)]
    above = {k: set(ancestors(geo.tree, k)) for k in set(owner)}
    extra = turning_axes(model, state, geo)
    out: list[list[Any]] = []
    for j, kj in enumerate(owner):
        row = []
        for i, ki in enumerate(owner):
            if ki in above[kj]:
                change = -(turns[i].T @ momenta[j])
                if (i, j) in extra:
                    change = change + parts.total[kj] @ extra[i, j]
                row.append(S.T @ change)
            elif kj in above[ki]:
                carried = parts.total[ki]
                row.append(-(S.T @ (turns[i].T @ (carried @ axes[j]) + carried @ (turns[i] @ axes[j]))))
            else:
                row.append(np.zeros(model.m))
        out.append(row)
    return out


def turning_axes(model: Model, state: State, geo: Geometry) -> dict[tuple[int, int], Any]:
    """For joints whose axes turn within the child: the extra change (6) of axis j along axis i of the same joint."""
    out: dict[tuple[int, int], Any] = {}
    start = 0
    for k, size in enumerate(geo.sizes):
        if k == 0:
            continue
        if not geo.tree[k - 1].constant:
            q, X = state.joints[model.q_slices[k - 1]], _SE3.Ad(geo.poses[k])
            for c in range(size):
                turned = X @ model.joints[k - 1].motion_subspace_derivative(q, np.eye(size)[c])
                for d in range(size):
                    out[start + c, start + d] = turned[:, d]
        start += size
    return out


def curvature(model: Model, state: State, x: Any | None = None, y: Any | None = None) -> Any:
    """The curvature of the mechanical connection ([Mishra] Theorem 2, Def. 5; [Feurstein] (3.72): the same tensor).

    ``DA(x, y) = (d_x A) y - (d_y A) x - ad(A x) A y`` for two shape directions, m numbers; without them the whole tensor
    ``F[:, i, j] = DA(e_i, e_j)`` (m x n x n).  On joints of several degrees of freedom, ``- A [x, y]`` joins it, with the
    bracket of the joints' own groups.  A small closed gait around the area ``x ^ y`` turns the robot by ``-DA(x, y)``
    to leading order.
    """
    if (x is None) != (y is None):
        raise ModelError("curvature takes two shape directions, or none")
    if x is not None:
        return _curvature_slice(model, state, vector(x, model.n, "x"), vector(y, model.n, "y"))
    parts = shape(model, state)
    return curvature_tensor(model, state, parts)


def curvature_tensor(model: Model, state: State, parts: Shape) -> Any:
    """The whole tensor ``F[:, i, j]`` (m x n x n), skew in i and j."""
    m, n = model.m, model.n
    moved = momentum_derivatives(model, state, parts)
    columns = [parts.A[:, j] for j in range(n)]
    brackets = _shape_brackets(model)
    lifted = []
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    for i, j in pairs:
        change = moved[j][i] - moved[i][j] - parts.N[i] @ columns[j] + parts.N[j] @ columns[i]
        if (i, j) in brackets:
            change = change - parts.Mbq @ brackets[i, j]
        lifted.append(change)
    if not pairs:
        return np.zeros((m, n, n))
    solved = solve(parts.Mb, stack(lifted, axis=1))
    entries = {pair: solved[:, p] - model.base.ad(columns[pair[0]]) @ columns[pair[1]] for p, pair in enumerate(pairs)}
    zero = np.zeros(m)
    rows = [
        stack([entries[i, j] if i < j else -entries[j, i] if j < i else zero for j in range(n)], axis=1)
        for i in range(n)
    ]
    return stack(rows, axis=1)


def _curvature_slice(model: Model, state: State, x: Any, y: Any) -> Any:
    """``DA(x, y)`` in O(n): ``Mb^-1 sum_k (ad(b)' L a - ad(a)' L b - L ad(a) b)``.

    ``a`` and ``b`` are the twists of link k when the shape moves along ``x`` and ``y`` and the base follows without
    momentum.
    """
    from .slice import curvature_slice

    return curvature_slice(model, state, x, y)


def _shape_brackets(model: Model) -> dict[tuple[int, int], np.ndarray]:
    """``[e_i, e_j]`` (n) of the joints' groups, where it is not zero."""
    out: dict[tuple[int, int], np.ndarray] = {}
    for joint, v in zip(model.joints, model.v_slices, strict=True):
        one = np.eye(joint.kind.nv)
        for c in range(joint.kind.nv):
            for d in range(c + 1, joint.kind.nv):
                bracket = joint.kind.group.ad(one[c]) @ one[d]
                if bracket.any():
                    whole = np.zeros(model.n)
                    whole[v] = bracket
                    out[v.start + c, v.start + d] = whole
    return out


class Integrability(NamedTuple):
    """Whether the locked velocity is the velocity of a frame that depends on the shape alone ([Feurstein] (3.72))."""

    residual: float
    """largest curvature entry, relative to the connection's size squared (or 1)"""
    integrable: bool
    curvature: Any


def integrability(model: Model, state: State, tolerance: float = 1e-9) -> Integrability:
    """The integrability condition [Feurstein] (3.72) at a shape: the curvature vanishes.

    With one joint of one degree of freedom it always does, and on a base R^3 too.
    """
    parts = shape(model, state)
    F = curvature_tensor(model, state, parts)
    scale = max(1.0, float(np.abs(parts.A).max(initial=0.0)) ** 2)
    residual = float(np.abs(F).max(initial=0.0)) / scale
    return Integrability(residual, residual <= tolerance, F)


def theta_bc(model: Model, joints: Any, reference: Any | None = None, tolerance: float = 1e-9) -> Any:
    """The angle (rad) of the locked-velocity frame relative to the base of a planar robot, [Feurstein] (3.76).

    ``theta_bc(q) - theta_bc(reference) = integral of A_w dq`` along the straight line between the shapes, where the
    angular part of the curvature vanishes; refused where it does not.
    """
    if not isinstance(model.base, SE2):
        raise ModelError(f"theta_bc is the angle of a planar robot, not of one with base {model.base}")
    end = vector(joints, model.n, "joints")
    start = np.zeros(model.n) if reference is None else vector(reference, model.n, "reference")
    nodes, weights = np.polynomial.legendre.leggauss(48)
    total: Any = 0.0
    for s, weight in zip(0.5 * (nodes + 1.0), 0.5 * weights, strict=True):
        parts = shape(model, model.state(joints=start + s * (end - start)))
        if is_numeric(parts.A) and model.n > 1:
            F = curvature_tensor(model, model.state(joints=start + s * (end - start)), parts)
            worst = float(np.abs(F[2]).max())
            if worst > tolerance * max(1.0, float(np.abs(parts.A).max()) ** 2):
                raise NumericsError(
                    "the orientation of the locked velocity depends on the path: the curvature is not zero", value=worst
                )
        total = total + weight * (parts.A[2] @ (end - start))
    return total


