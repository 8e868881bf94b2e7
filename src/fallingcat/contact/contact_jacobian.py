"""Stacked contact Jacobian, and its ranks of base and joints ([ETH] 2.10.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..arrays import is_numeric
from ..arrays.types import Matrix
from ..dynamics.checks import check_state
from ..errors import ModelError
from ..geometry.contact_points import checked_points, named_points, point_jacobian, stack_rows
from ..model import Model, State
from ..records import concise


@concise
class ContactJacobian(NamedTuple):
    """Stacked Jacobian of contact points; ranks are numeric, singular values below 1e-9 of the largest count as zero.

    Example:
        >>> from fallingcat.model import robots
        >>> dog = robots.quadruped()
        >>> contact_jacobian(dog, dog.neutral(), ["front_left_foot"]).base.shape
        (3, 6)
    """

    J: Matrix
    """``3 points x nv``: ``J [twist; rates]`` are the velocities of the points (m/s, world), one after the other"""
    base: Matrix
    """``3 points x m``: its columns of the base, ``J_c,b`` (2.272)"""
    joints: Matrix
    """``3 points x n``: its columns of the joints, ``J_c,j``"""

    @property
    def rank(self) -> int:
        """Number of independent constraints."""
        return _rank(self.J)

    @property
    def base_rank(self) -> int:
        """Number of base motions that the points constrain; where all, the joints can move the base at will."""
        return _rank(self.base)

    @property
    def internal(self) -> int:
        """Number of constraints between the joints: ``rank - base_rank``."""
        return self.rank - self.base_rank


def contact_jacobian(model: Model, state: State, points: Sequence[str]) -> ContactJacobian:
    """Stacked contact Jacobian, [ETH] (2.271)-(2.272).

    Args:
        model: Robot.
        state: Configuration; velocities are not used.
        points: Links or frames whose origins stay in place.

    Returns:
        Jacobian (3 points x nv), with its columns of base and joints.

    Example:
        >>> from fallingcat.model import robots
        >>> dog = robots.quadruped()
        >>> two = contact_jacobian(dog, dog.neutral(), ["front_left_foot", "rear_right_foot"])
        >>> two.rank, two.base_rank, two.internal  # on two feet it may turn about their line
        (6, 5, 1)
    """
    check_state(model, state)
    points = named_points(points)
    checked_points(model, points)
    J = stack_rows([point_jacobian(model, state, place) for place in points], model.nv)
    return ContactJacobian(J, J[:, : model.m], J[:, model.m :])


def _rank(J: Matrix) -> int:
    if not is_numeric(J):
        raise ModelError("ranks are those of numbers: this Jacobian holds expressions")
    # relative to the largest, because rows are in m and columns in m or rad
    sizes = np.linalg.svd(J, compute_uv=False)
    return int((sizes > 1e-9 * sizes.max(initial=0.0)).sum())
