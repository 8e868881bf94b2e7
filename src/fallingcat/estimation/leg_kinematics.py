"""Positions of the feet that the encoders give, as measurements of a filter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import scale, stack
from ..arrays.types import Matrix, Vector
from ..dynamics import jacobian, link_pose
from ..lie import SE3
from ..model import Model

if TYPE_CHECKING:
    from .contact_filter import ContactFilter

POSITION_FLOOR = 1e-4
"""m: standard deviation of a foot in the base beside that of the encoders: lengths of links, softness of soles."""

Legs = tuple[Matrix, Sequence[Matrix]]
"""Positions of the feet in the axes of the unit, and covariances of these."""


def leg_positions(filter: ContactFilter, model: Model, joints: Vector) -> Legs:
    """Positions (N x 3, m) of the feet in the axes of the unit, and the covariances of these measurements."""
    state = model.neutral()._replace(joints=joints)
    inverse = SE3().inverse(filter.imu.placement(model))
    positions, noises = [], []
    for foot in filter.feet:
        positions.append(inverse[:3, :3] @ link_pose(model, state, foot)[:3, 3] + inverse[:3, 3])
        J = inverse[:3, :3] @ jacobian(model, state, foot, "mixed")[:3, model.m :]
        noises.append(scale(filter.encoders.angles**2, J @ J.T) + POSITION_FLOOR**2 * np.eye(3))
    return (stack(positions) if positions else np.zeros((0, 3))), noises
