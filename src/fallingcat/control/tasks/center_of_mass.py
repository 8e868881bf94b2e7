"""Tasks of the whole robot: center of mass and momentum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from ...arrays.types import Vector, Vector_3
from ...dynamics import (
    center_of_mass,
    center_of_mass_bias,
    center_of_mass_jacobian,
    centroidal_momentum_matrix,
    centroidal_momentum_matrix_derivative,
)
from ...errors import ModelError
from ...model import Model, State
from ...records import concise
from .demand import Motion
from .task import Task


@concise
@dataclass(frozen=True, eq=False)
class CenterOfMassTask(Task):
    """Position of the center of mass: it goes straight to ``goal`` (3, world, m).

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> CenterOfMassTask(fc.center_of_mass(cat, cat.neutral())).demand(cat, cat.neutral()).error
        array([0., 0., 0.])
    """

    goal: Vector | None = None

    def goal_shape(self, model: Model) -> tuple[int, ...]:
        """``(3,)``."""
        return (3,)

    def size(self, model: Model) -> int:
        """Three rows along the world's axes."""
        return 3

    def value(self, model: Model, state: State) -> Vector_3:
        """Center of mass (3, world, m)."""
        return center_of_mass(model, state)

    def motion(self, model: Model, state: State) -> Motion:
        """Position error, Jacobian and bias of the center of mass."""
        error = np.zeros(3) if self.goal is None else self.goal - center_of_mass(model, state)
        return Motion(error, center_of_mass_jacobian(model, state), center_of_mass_bias(model, state))


@concise
@dataclass(frozen=True, eq=False)
class CentroidalMomentumTask(Task):
    """Centroidal momentum ``[p; l]`` (6; N s, N m s), along the world's axes, that becomes ``velocity``.

    Momentum is linear in the velocity: there is no goal, and no error.  Its ``acceleration`` is the rate of momentum
    (N, N m).

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> CentroidalMomentumTask(velocity=np.zeros(6)).demand(cat, cat.neutral()).J.shape == (6, cat.nv)
        True
    """

    goal: None = None

    def goal_shape(self, model: Model) -> tuple[int, ...]:
        """``(0,)``: there is no goal."""
        return (0,)

    def size(self, model: Model) -> int:
        """Six rows: linear, then angular momentum, along the world's axes."""
        return 6

    def value(self, model: Model, state: State) -> NoReturn:
        """Raise an error: momentum has no configuration goal."""
        raise ModelError("a CentroidalMomentumTask has no configuration goal: momentum is linear in the velocity")

    def motion(self, model: Model, state: State) -> Motion:
        """Centroidal momentum matrix and its rate times the velocity; the error is zero."""
        rate = centroidal_momentum_matrix_derivative(model, state) @ state.velocity
        return Motion(np.zeros(6), centroidal_momentum_matrix(model, state), rate)
