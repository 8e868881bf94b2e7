"""Center of mass: position, Jacobian and bias acceleration."""

from __future__ import annotations

from ..arrays.types import Matrix_3_nv, Vector_3
from ..model import Model, State
from .checks import total_mass
from .kinematics import world_poses
from .momentum import momentum_matrix, momentum_matrix_derivative


def center_of_mass(model: Model, state: State) -> Vector_3:
    """Center of mass of the robot in the world.

    Args:
        model: Robot.
        state: Configuration; velocities are not used.

    Returns:
        Position, 3 (m).

    Example:
        >>> import fallingcat as fc
        >>> fc.center_of_mass(fc.robots.free_body(), fc.robots.free_body().neutral())
        array([0., 0., 0.])
    """
    poses = world_poses(model, state)
    moments = [
        link.body.mass * (H[:3, :3] @ link.body.center + H[:3, 3]) for H, link in zip(poses, model.links, strict=True)
    ]
    return sum(moments[1:], start=moments[0]) * (1.0 / total_mass(model))


def center_of_mass_jacobian(model: Model, state: State) -> Matrix_3_nv:
    """Jacobian of the center of mass.

    Maps the velocity ``[twist; rates]`` to the velocity of the center of mass in world axes.

    Args:
        model: Robot.
        state: Configuration; velocities are not used.

    Returns:
        ``3 x nv`` matrix (m/s per unit velocity).

    Example:
        >>> import numpy as np
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> p = cat.mass * fc.center_of_mass_jacobian(cat, state) @ state.velocity
        >>> bool(np.allclose(p, fc.momentum(cat, state, "world")[:3]))
        True
    """
    return momentum_matrix(model, state, "world")[:3] * (1.0 / total_mass(model))


def center_of_mass_bias(model: Model, state: State) -> Vector_3:
    """Acceleration of the center of mass at a constant quasi-velocity, ``dJ/dt v``.

    Args:
        model: Robot.
        state: Configuration and velocity.

    Returns:
        Acceleration in world axes, 3 (m/s^2).

    Example:
        >>> import fallingcat as fc
        >>> body = fc.robots.free_body()
        >>> fc.dynamics.center_of_mass_bias(body, body.state(twist=[1.0, 0, 0, 0, 0, 2.0]))  # w x v
        array([0., 2., 0.])
    """
    return (momentum_matrix_derivative(model, state, "world")[:3] @ state.velocity) * (1.0 / total_mass(model))
