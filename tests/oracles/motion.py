"""Where the links are and how fast they move, from the definition of the quasi-velocity alone.

A group element moves by `dg/dt = g hat(x)`.  Two derivatives are wanted at once, and each has a carrier of its own:

- time, by dual numbers: the 8 x 8 block matrix `[[H, dH/dt], [0, H]]` multiplies as the product rule does;
- a displacement of the configuration, by complex step: `g exp(i STEP d) = g (1 + i STEP hat(d))`, exactly in floats.

No Jacobian, no adjoint, no motion subspace: a chain of joints is a product of blocks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fallingcat.lie import Group, Product
from fallingcat.model import JointKind, Model, Reversed, State
from fallingcat.model.joints import Fixed

STEP = 1e-40


class Moving(NamedTuple):
    """The center of mass and the turning of one link."""

    mass: float
    inertia: np.ndarray
    """3 x 3, about the center of mass, link axes."""
    position: np.ndarray
    """of the center of mass, in the world."""
    velocity: np.ndarray
    """of the center of mass, in the world."""
    spin: np.ndarray
    """Angular velocity, in link axes."""
    rotation: np.ndarray
    """3 x 3: link axes to world axes."""


def moving_links(model: Model, state: State, velocity: Any = None, shift: Any = None) -> list[Moving]:
    """Every link, at the configuration moved by `i STEP shift` (nv), with the quasi-velocity `velocity` (nv)."""
    velocity = state.velocity if velocity is None else velocity
    shift = np.zeros(model.nv) if shift is None else shift
    base = dual(model.base, state.pose, velocity[: model.m], shift[: model.m])
    blocks = {model.links[0].name: base}
    for joint, q, v in zip(model.joints, model.q_slices, model.v_slices, strict=True):
        ratio, offset = (joint.mimic.ratio, joint.mimic.offset) if joint.mimic else (1.0, 0.0)
        rates, moved = ratio * velocity[model.m :][v], ratio * shift[model.m :][v]
        inside = across(joint.kind, ratio * state.joints[q] + offset, rates, moved)
        blocks[joint.child] = blocks[joint.parent] @ still(joint.placement) @ inside @ still(joint.offset)
    return [_moving(link.body, blocks[link.name]) for link in model.links]


def across(kind: JointKind, q: Any, rates: Any, shift: Any) -> np.ndarray:
    """The block matrix of a joint; a product of groups is a chain of motions, a reversed joint the inverse one."""
    if isinstance(kind, Reversed):
        return np.linalg.inv(across(kind.kind, q, rates, shift))
    if isinstance(kind, Fixed):
        return np.eye(8)
    if not isinstance(kind.group, Product):
        return dual(kind.group, kind.group.element(q), rates, shift)
    out = np.eye(8)
    for i, factor in enumerate(kind.group.factors):  # universal, cylindrical: one coordinate each
        out = out @ dual(factor, factor.element(q[i : i + 1]), rates[i : i + 1], shift[i : i + 1])
    return out


def dual(group: Group, g: Any, rates: Any, shift: Any) -> np.ndarray:
    """`[[g, g hat(rates)], [0, g]]` with `g` moved by `i STEP shift`."""
    if np.any(shift):
        g = g @ (np.eye(4) + 1j * STEP * group.hat(shift))
    return np.block([[g, g @ group.hat(rates)], [np.zeros((4, 4)), g]])


def still(H: np.ndarray) -> np.ndarray:
    """The block matrix of a pose that does not change."""
    return np.block([[H, np.zeros((4, 4))], [np.zeros((4, 4)), H]])


class Rotor(NamedTuple):
    """A ball that a joint's drive turns: no mass, the same inertia about every axis, and it does not see the robot."""

    inertia: float
    spin: np.ndarray
    """3 x nv: its angular velocity per quasi-velocity."""


def rotors(model: Model) -> list[Rotor]:
    """One for each rate that feels an armature, about an axis of its own; about the joint's axes where those turn."""
    out = []
    for joint, place in zip(model.joints, model.v_slices, strict=True):
        rates = np.eye(model.nv)[model.m :][place] * (joint.mimic.ratio if joint.mimic else 1.0)
        if not joint.armature.any():
            continue
        if joint.kind.group.additive:
            out += [Rotor(a, np.outer([0.0, 0.0, 1.0], rate)) for a, rate in zip(joint.armature, rates, strict=True)]
        else:
            out.append(Rotor(joint.armature.max(), (joint.kind.group.selection @ rates)[3:]))
    return out


def bracket(model: Model, v: Any, w: Any) -> np.ndarray:
    """`[v, w]` (nv): commutators of matrices in the base's and in every joint's group; zero between different ones."""
    parts = [_commutator(model.base, v[: model.m], w[: model.m])]
    for joint, place in zip(model.joints, model.v_slices, strict=True):
        if joint.mimic:
            continue
        parts.append(_commutator(joint.kind.group, v[model.m :][place], w[model.m :][place]))
    return np.concatenate(parts)


def _commutator(group: Group, x: Any, y: Any) -> Any:
    if not group.dim:
        return np.zeros(0)
    X, Y = group.hat(x), group.hat(y)
    return group.vee(X @ Y - Y @ X)


def _moving(body: Any, block: np.ndarray) -> Moving:
    H, rate = block[:4, :4], block[:4, 4:]
    center, turning = np.append(body.center, 1.0), H[:3, :3].T @ rate[:3, :3]
    spin = np.array([turning[2, 1], turning[0, 2], turning[1, 0]])
    return Moving(body.mass, body.inertia, (H @ center)[:3], (rate @ center)[:3], spin, H[:3, :3])
