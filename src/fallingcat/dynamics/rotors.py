"""The inertia of drives: rotors behind gears, which joint rates alone move.

A rotor is a body in the joint's own group with the inertia ``a = diag(armature)``.  It adds ``rates' a rates / 2`` to
the kinetic energy, ``a`` to the mass matrix and ``a rates_dot`` to the forces; nothing to momenta, to the connection or
to rates of inertias.  Where no joint has a rotor, every function here gives back what it was given.
"""

from __future__ import annotations

import numpy as np

from ..arrays import any_nonzero, concatenate
from ..arrays.types import Matrix, Scalar, Vector
from ..lie.rotations import block_diagonal
from ..model import Joint, Model
from ..model.literals import Factorization


def with_rotors(model: Model, M: Matrix) -> Matrix:
    """Mass matrix of the bodies (nv x nv), with the rotors on its diagonal."""
    if not any_nonzero(model.armature):
        return M
    return M + np.diag(np.concatenate([np.zeros(model.m), model.armature]))


def with_rotor_forces(model: Model, forces: Vector, rates_dot: Vector) -> Vector:
    """Forces of the bodies (nv), with those that give the rotors their accelerations (n)."""
    if not any_nonzero(model.armature):
        return forces
    return forces + concatenate([np.zeros(model.m), model.armature * rates_dot])


def with_rotor_coriolis(model: Model, C: Matrix, rates: Vector, factorization: Factorization) -> Matrix:
    """Coriolis matrix of the bodies (nv x nv), with that of rotors in groups that turn, as balls have them.

    It gives no force, ``C rates = 0``, but makes the matrix what its factorization says: torsion-free, say.
    """
    if not any_nonzero(model.armature):
        return C
    joints = [(joint, v) for joint, v in zip(model.joints, model.v_slices, strict=True) if not joint.mimic]
    own = [_coriolis(joint, rates[v], factorization) for joint, v in joints]
    return C + block_diagonal([np.zeros((len(C) - model.n,) * 2), *own])


def _coriolis(joint: Joint, rates: Vector, factorization: Factorization) -> Matrix:
    """``-ad' a``, ``a ad - ad' a``, ``-adt(a rates)`` or, of the last two, the mean: as links have it in SE(3)."""
    group, a = joint.kind.group, np.diag(joint.armature)
    if not any_nonzero(joint.armature) or not group.dim:
        return np.zeros((group.dim, group.dim))
    ad = group.ad(rates)
    left, coadjoint = -(ad.T @ a), -group.adt(joint.armature * rates)
    passive = a @ ad + left
    matrices = {"passive": passive, "coadjoint": coadjoint, "christoffel": 0.5 * (passive + coadjoint)}
    return matrices.get(factorization, left)


def rotor_energy(model: Model, rates: Vector) -> Scalar:
    """Energy of the rotors ``rates' a rates / 2`` (J), or 0.0 where there are none."""
    return 0.5 * (rates @ (model.armature * rates)) if any_nonzero(model.armature) else 0.0
