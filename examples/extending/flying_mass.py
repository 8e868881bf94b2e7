"""A change of velocity of one's own: the center of mass flies, the base turns, the joints move."""

from __future__ import annotations

from typing import Any

import numpy as np

import fallingcat as fc
from fallingcat.arrays import block, concatenate
from fallingcat.formulations import Claim, EquationsOfMotion, Evidence, VelocityChange, worst


def flying_mass(model: fc.Model, state: fc.State) -> VelocityChange:
    """``v = [velocity of the center of mass (world); spin of the base (body); rates]``, for robots with a free base.

    Its mass matrix is ``m 1`` for the center of mass, apart from all the rest.
    """

    def matrix(at: fc.State) -> Any:
        spin_and_rates = block([[np.zeros((model.nv - 3, 3)), np.eye(model.nv - 3)]])
        return concatenate([fc.center_of_mass_jacobian(model, at), spin_and_rates])

    base = "velocity of the center of mass (world), spin of the base (body)"
    return VelocityChange.of(model, state, matrix, "flying mass", base, claims=[APART])


def _apart(eom: EquationsOfMotion, seen: Evidence) -> float:
    wanted = eom.model.mass * np.eye(3, len(eom.v))
    return worst(eom.M[:3] - wanted, seen.M_size[:3])


APART = Claim("flying apart", "M = m 1 for the center of mass, alone", _apart)
