"""Forward dynamics: the acceleration that forces cause (articulated bodies)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays import (
    any_nonzero,
    argument_sizes,
    block,
    concatenate,
    cross,
    is_numeric,
    mirror,
    rotate_matrix,
    scale,
    solve,
    solve_tree,
)
from ..arrays.types import Matrix, Pose, Twist, Vector, Vector_nv, Wrench
from ..errors import NumericsError
from ..lie.rotations import skew
from ..model import Model, State
from ..model.literals import Representation
from .checks import check_robot, vector
from .mass import composite_mass
from .spatial import RigidInertia, motion_to_child, rigid_inertias, wrench_to_parent
from .sweeps import Node, Places, accumulate_inward, nodes, places_above, propagate_outward
from .wrenches import in_link_frames

MIN_RELATIVE_INERTIA = 1e-14
"""Largest inertia that is rounding, relative to what the joint's motion does to the whole subtree."""


class _ArticulatedInertia(NamedTuple):
    """Articulated-body inertia and bias: a link with all it carries needs the wrench ``inertia a + bias`` (6x6, 6)."""

    inertia: Matrix
    bias: Vector
    symmetric: bool = True
    """True for the inertia of rigid bodies; False where forces depend on those of other joints"""

    def __add__(self, other: Any) -> _ArticulatedInertia:
        both = self.symmetric and other.symmetric
        return _ArticulatedInertia(self.inertia + other.inertia, self.bias + other.bias, both)


class _Joint(NamedTuple):
    """A joint's share of the answer: ``D rates_dot = u - V' a``."""

    U: Matrix
    """``I S``"""
    V: Matrix
    """``I' S``"""
    D: Matrix
    u: Vector
    c: Vector


@argument_sizes(forces="nv")
def forward_dynamics(
    model: Model,
    state: State,
    forces: Vector_nv,
    wrenches: Mapping[str, Wrench] | None = None,
    representation: Representation = "body",
) -> Vector_nv:
    """Acceleration under generalised forces, by the articulated-body algorithm.

    Solves ``M acceleration + C v + g = forces + sum J_j' wrench_j`` in O(n), without forming ``M`` unless joints follow
    others.  The inverse of :func:`inverse_dynamics`.

    Args:
        model: Robot.
        state: Configuration and velocity.
        forces: Generalised forces ``[base wrench; joint forces]``, ``nv`` (N, N m).
        wrenches: External wrenches ``[f; t]`` (N, N m) by names of links or frames; None: no wrenches.
        representation: Axes and point of the wrenches: ``body`` (those of the link), ``mixed`` (its origin, world axes)
            or ``inertial`` (the world's origin and axes).

    Returns:
        Time derivative of the quasi-velocity ``[twist; rates]``, ``nv`` (m/s^2, rad/s^2).

    Raises:
        NumericsError: The mass matrix is singular; the error names the joint.

    Example:
        >>> from fallingcat.model import robots
        >>> hopper = robots.revolute_hopper()
        >>> fall = forward_dynamics(hopper, hopper.neutral(), np.zeros(hopper.nv))
        >>> bool(np.allclose(fall, [0.0, hopper.gravity[1], *np.zeros(hopper.nv - 2)], atol=1e-12))
        True
    """
    check_robot(model, state)
    forces = vector(forces, model.nv, "forces")
    return response(model, state, forces, list(in_link_frames(model, state, wrenches, representation))).acceleration


class Response(NamedTuple):
    """Accelerations that forces cause."""

    acceleration: Vector
    """``nv``"""
    links: list[Vector]
    """acceleration of each link's origin less gravity, and angular acceleration, in the link frame (6)"""
    joint_accelerations: Vector
    """``n``: of the joints, beyond what was ``given``"""


def response(
    model: Model,
    state: State,
    forces: Vector,
    wrenches: Sequence[tuple[int, Wrench]] = (),
    resisting: Sequence[tuple[int, Matrix]] = (),
    armature: Vector | None = None,
    given: Vector | None = None,
    symmetric: bool = True,
) -> Response:
    """Accelerations of joints and links under ``forces`` and wrenches on links, in their frames.

    ``resisting`` links have a further inertia (6x6), which gravity pulls; ``armature`` (n) is what further the joints
    feel: springs and dampers at the end of a step act so, see :class:`fallingcat.simulation.Implicit`.  It
    resists accelerations beyond those that are ``given`` (n): a joint with very much of it accelerates as given.  The
    further inertia of links need not be ``symmetric``, unless joints follow others.
    """
    tree = nodes(model, state)
    S0 = model.base.selection
    twist = S0 @ state.twist
    angular = _angular(tree, twist[3:])
    bodies = rigid_inertias(model)
    own = [_rigid_body_inertia(inertia, w) for inertia, w in zip(bodies, angular, strict=True)]
    for link, wrench in wrenches:
        own[link] = _ArticulatedInertia(own[link].inertia, own[link].bias - wrench)
    for link, inertia in resisting:
        own[link] = _ArticulatedInertia(own[link].inertia + inertia, own[link].bias, symmetric)

    fall = concatenate([cross(twist[3:], twist[:3]) - state.pose[:3, :3].T @ model.gravity, np.zeros(3)])
    if any(joint.mimic for joint in model.joints):
        M = composite_mass(model, tree, [_LinkInertia(body.inertia) for body in own] if resisting else bodies)
        return _coupled_response(
            model, tree, angular, own, fall, forces, M if armature is None else _with_armature(M, armature), given
        )

    joints: dict[int, _Joint] = {}

    def to_parent(node: Node, body: _ArticulatedInertia) -> _ArticulatedInertia:
        v = model.v_slices[node.link - 1]
        more = None if armature is None else armature[v]
        joint = _joint(model, node, body, forces[model.m :][v], angular[node.parent], more)
        joints[node.link] = joint = joint if given is None else _relative_joint(model, node, joint, given[v])
        return _seen_by_parent(node, body, joint)

    base = accumulate_inward(tree, own, to_parent)[0]
    U = base.inertia @ S0
    D = S0.T @ U
    _check_regular(D, U, f"the base of {model.name!r}")
    twist_dot = _solve(D, forces[: model.m] - S0.T @ (base.bias + base.inertia @ fall), base.symmetric)
    rates_dot: list[Vector] = []

    def step(node: Node, parent: Vector) -> Vector:
        joint = joints[node.link]
        a = motion_to_child(node.H, parent) + joint.c
        rates_dot.append(_solve(joint.D, joint.u - joint.V.T @ a, joint.U is joint.V))
        return a + node.S @ rates_dot[-1]

    links = propagate_outward(tree, S0 @ twist_dot + fall, step)
    beyond = Places.from_model(model).vector([twist_dot, *rates_dot])
    return Response(_total(model, beyond, given), links, beyond[model.m :])


def angular_velocities(model: Model, state: State) -> list[Vector]:
    """Angular velocity (3) of every link, in its frame."""
    return _angular(nodes(model, state), (model.base.selection @ state.twist)[3:])


def _angular(tree: Sequence[Node], base: Vector) -> list[Vector]:
    return propagate_outward(tree, base, lambda node, w: node.H[:3, :3].T @ w + (node.S @ node.rates)[3:])


def _relative_joint(model: Model, node: Node, joint: _Joint, acceleration: Vector) -> _Joint:
    """The same joint, whose ``rates_dot`` are those beyond an acceleration: the link has it, and the rotor."""
    rotor = model.joints[node.link - 1].armature
    return joint._replace(c=joint.c + node.S @ acceleration, u=joint.u - rotor * acceleration)


def _total(model: Model, beyond: Vector, given: Vector | None) -> Vector:
    """``nv``: what the joints are given, and all beyond it."""
    return beyond if given is None else beyond + concatenate([np.zeros(model.m), given])


def resisting_mass(model: Model, state: State, resisting: Sequence[tuple[int, Matrix]], armature: Vector) -> Matrix:
    """Mass matrix (nv x nv) of :func:`response`, with further inertia of links and armature (n) of joints."""
    own = [_LinkInertia(inertia.matrix()) for inertia in rigid_inertias(model)]
    for link, inertia in resisting:
        own[link] = own[link] + _LinkInertia(inertia)
    return _with_armature(composite_mass(model, nodes(model, state), own), armature)


class _LinkInertia(NamedTuple):
    """Inertia of a link (6x6), as :func:`composite_mass` adds it up."""

    matrix: Matrix

    def to_parent(self, H: Pose) -> _LinkInertia:
        """Inertia in the parent frame."""
        return _LinkInertia(_inertia_to_parent(H, self.matrix))

    def __add__(self, other: Any) -> _LinkInertia:
        return _LinkInertia(self.matrix + other.matrix)

    def __matmul__(self, motion: Twist) -> Matrix:
        return self.matrix @ motion


def _with_armature(M: Matrix, armature: Vector) -> Matrix:
    """The mass matrix with more armature (n)."""
    return M + concatenate([np.zeros(len(M) - len(armature)), armature])[:, None] * np.eye(len(M))


def _coupled_response(
    model: Model,
    tree: Sequence[Node],
    angular: Sequence[Vector],
    own: Sequence[_ArticulatedInertia],
    fall: Vector,
    forces: Vector,
    M: Matrix,
    given: Vector | None,
) -> Response:
    """Response where joints follow others, so that branches are coupled: ``M acceleration = forces - bias``."""
    check_mass(model, M)
    S0 = model.base.selection
    drifts = [np.zeros(6), *(_coriolis(node, angular[node.parent]) for node in tree)]
    if given is not None:
        drifts = drifts[:1] + [
            c + node.S @ given[model.v_slices[node.link - 1]] for c, node in zip(drifts[1:], tree, strict=True)
        ]
        forces = forces - concatenate([np.zeros(model.m), model.armature * given])
    drift = propagate_outward(tree, fall, lambda node, a: motion_to_child(node.H, a) + drifts[node.link])
    needed = [body.inertia @ a + body.bias for body, a in zip(own, drift, strict=True)]
    needed = accumulate_inward(tree, needed, lambda node, wrench: wrench_to_parent(node.H, wrench))
    bias = Places.from_model(model).vector([S0.T @ needed[0], *(node.S.T @ needed[node.link] for node in tree)])
    acceleration = solve_tree(M, forces - bias, places_above(model))
    rates_dot = [acceleration[model.m :][v] for v in model.v_slices]

    def step(node: Node, a: Vector) -> Vector:
        return motion_to_child(node.H, a) + drifts[node.link] + node.S @ rates_dot[node.link - 1]

    links = propagate_outward(tree, S0 @ acceleration[: model.m] + fall, step)
    return Response(_total(model, acceleration, given), links, acceleration[model.m :])


def check_mass(model: Model, M: Matrix) -> None:
    """Raise an error that names the joint that a motion without inertia moves most; on real numbers only."""
    if not (len(M) and is_numeric(M) and np.isrealobj(M)):
        return
    # in units of the diagonal: metres, radians and heavy links count alike
    unit = np.sqrt(np.diag(M))
    unit[unit == 0.0] = 1.0
    values, vectors = np.linalg.eigh(M / np.outer(unit, unit))
    if values[0] <= MIN_RELATIVE_INERTIA:
        worst = int(np.abs(vectors[:, 0]).argmax()) - model.m
        what = "the joint" if worst >= 0 else f"the base of {model.name!r}"
        joint = model.rate_joints[worst] if worst >= 0 else None
        raise NumericsError(f"{what} moves nothing that has inertia: the mass matrix is singular", joint=joint)


def _rigid_body_inertia(inertia: RigidInertia, w: Vector) -> _ArticulatedInertia:
    """A body alone: the bias is what its turning needs, ``[w x (w x h); w x I w]`` (classical accelerations)."""
    W = skew(w)
    return _ArticulatedInertia(inertia.matrix(), concatenate([W @ (W @ inertia.moment), W @ (inertia.inertia @ w)]))


def _joint(
    model: Model, node: Node, body: _ArticulatedInertia, tau: Vector, w_parent: Vector, more: Vector | None
) -> _Joint:
    U = body.inertia @ node.S
    V = U if body.symmetric else body.inertia.T @ node.S
    joint, D = model.joints[node.link - 1], node.S.T @ U
    D = mirror(D) if body.symmetric else D
    if any_nonzero(joint.armature):
        D = D + np.diag(joint.armature)
    if more is not None:
        D = D + more[:, None] * np.eye(len(D))
    c = _coriolis(node, w_parent)
    _check_regular(D, U, "the joint", joint.name)
    return _Joint(U, V, D, tau - node.S.T @ body.bias, c)


def _coriolis(node: Node, w_parent: Vector) -> Vector:
    """The acceleration of the child that neither the parent's nor the joint's acceleration explains."""
    R, p = node.H[:3, :3], node.H[:3, 3]
    relative = node.S @ node.rates
    v, w_joint = relative[:3], relative[3:]
    w = R.T @ w_parent
    a = R.T @ cross(w_parent, cross(w_parent, p)) + cross(w + w + w_joint, v)
    c = concatenate([a, cross(w, w_joint)])
    return c if node.constant else c + node.S_dot @ node.rates


def _seen_by_parent(node: Node, body: _ArticulatedInertia, joint: _Joint) -> _ArticulatedInertia:
    """The body behind the joint: what the joint lets through is taken off, then moved to the parent frame."""
    inertia, bias, symmetric = body
    if len(joint.D):
        gain = _solve(joint.D.T, joint.U.T, symmetric).T
        inertia = inertia - gain @ joint.V.T
        # rounding leaves the difference of two symmetric matrices not quite symmetric
        inertia = mirror(inertia) if symmetric else inertia
        bias = bias + gain @ joint.u
    bias = bias + inertia @ joint.c
    moved = _inertia_to_parent(node.H, inertia) if symmetric else _full_to_parent(node.H, inertia)
    return _ArticulatedInertia(moved, wrench_to_parent(node.H, bias), symmetric)


def _full_to_parent(H: Any, inertia: Any) -> Any:
    """:func:`_inertia_to_parent` of a matrix that is not symmetric."""
    R, P = H[:3, :3], skew(H[:3, 3])
    mass, right, left, turning = (
        rotate_matrix(R, inertia[rows, columns])
        for rows in (slice(3), slice(3, 6))
        for columns in (slice(3), slice(3, 6))
    )
    shifted = right - mass @ P
    return block([[mass, shifted], [left + P @ mass, turning - left @ P + P @ shifted]])


def _inertia_to_parent(H: Pose, inertia: Matrix) -> Matrix:
    """``Ad(H^-1)' I Ad(H^-1)``: rotate the four blocks, then shift by ``p``; symmetric, so half of it is computed."""
    R, P = H[:3, :3], skew(H[:3, 3])
    mass, coupling, turning = (rotate_matrix(R, b) for b in (inertia[:3, :3], inertia[:3, 3:], inertia[3:, 3:]))
    mass, turning = mirror(mass), mirror(turning)
    shifted = coupling - mass @ P
    turning = mirror(turning + P @ shifted - coupling.T @ P)
    return block([[mass, shifted], [shifted.T, turning]])


def _check_regular(D: Matrix, U: Matrix, what: str, joint: str | None = None) -> None:
    """An error unless the inertia ``D = S' U`` that a joint or the base feels is positive; on real numbers only."""
    if not (len(D) and is_numeric(D) and is_numeric(U) and np.isrealobj(U)):
        return
    # D is what is left of the subtree's inertia: relative to it, not to D itself, it is seen to be rounding
    if np.linalg.eigvalsh(D)[0] <= MIN_RELATIVE_INERTIA * np.abs(U).max(initial=0.0):
        raise NumericsError(f"{what} moves nothing that has inertia: the mass matrix is singular", joint=joint)


def _solve(D: Matrix, u: Vector, symmetric: bool = True) -> Vector:
    if len(D) == 0:
        return u
    if len(D) == 1:
        return scale(1.0 / D[0, 0], u)
    return solve_tree(mirror(D), u, range(-1, len(D) - 1)) if symmetric else solve(D, u)
