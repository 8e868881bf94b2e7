"""Tasks of the robot as a whole: its center of mass and its momentum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

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
from .task import Motion, Task


@concise
@dataclass(frozen=True, eq=False)
class CenterOfMassTask(Task):
    """The center of mass goes straight to ``goal`` (3, world, m).

    >>> import fallingcat as fc
    >>> cat = fc.robots.cat()
    >>> CenterOfMassTask(fc.center_of_mass(cat, cat.neutral())).demand(cat, cat.neutral()).error
    array([0., 0., 0.])
    """

    goal: Any = None

    def goal_shape(self, model: Model) -> tuple[int, ...]:
        return (3,)

    def size(self, model: Model) -> int:
        return 3

    def here(self, model: Model, state: State) -> Any:
        return center_of_mass(model, state)

    def motion(self, model: Model, state: State) -> Motion:
        error = np.zeros(3) if self.goal is None else self.goal - center_of_mass(model, state)
        return Motion(error, center_of_mass_jacobian(model, state), center_of_mass_bias(model, state))


@concise
@dataclass(frozen=True, eq=False)
class CentroidalMomentumTask(Task):
    """The momentum ``[p; l]`` (6; N s, N m s) about the center of mass, along the world's axes, becomes ``velocity``.

    Momentum is a velocity: there is no place to go to, so that there is no error and no goal.  Its ``acceleration`` is
    the rate of momentum (N, N m).

    >>> import fallingcat as fc
    >>> cat = fc.robots.cat()
    >>> CentroidalMomentumTask(velocity=np.zeros(6)).demand(cat, cat.neutral()).J.shape == (6, cat.nv)
    True
    """

    goal: None = None

    def goal_shape(self, model: Model) -> tuple[int, ...]:
        return (0,)

    def size(self, model: Model) -> int:
        return 6

    def here(self, model: Model, state: State) -> Any:
        raise ModelError("a CentroidalMomentumTask has no goal to be at: momentum is a velocity")

    def motion(self, model: Model, state: State) -> Motion:
        rate = centroidal_momentum_matrix_derivative(model, state) @ state.velocity
        return Motion(np.zeros(6), centroidal_momentum_matrix(model, state), rate)
