"""Body-fixed, mixed and inertial representation of the base velocity ([Traversaro] 2.4)."""

from __future__ import annotations

import numpy as np

from ..arrays.types import Matrix, Pose, Twist
from ..dynamics.checks import check_state
from ..dynamics.coordinate_rates import world_linear as linear_in_world
from ..lie import Group
from ..lie.rotations import block_diagonal, skew
from ..model import Model, State
from ..model.literals import Representation
from .velocity_change import VelocityChange


def body(model: Model, state: State) -> VelocityChange:
    """Body-fixed base twist: the identity.

    Args:
        model: Robot.
        state: Configuration and velocity.

    Returns:
        Change of velocity (nv x nv).

    Example:
        >>> import fallingcat as fc, numpy as np
        >>> cat = fc.robots.cat()
        >>> bool((fc.changes.body(cat, cat.neutral()).T == np.eye(cat.nv)).all())
        True
    """
    check_state(model, state)
    return _of_base(model, state, "body", "twist of the base, body-fixed")


def mixed(model: Model, state: State) -> VelocityChange:
    """Base velocity at the base's origin, along the world's axes: ``[R v; R w]``; [Traversaro]'s ``B[A]``.

    Args:
        model: Robot.
        state: Configuration and velocity.

    Returns:
        Change of velocity (nv x nv).

    Example:
        >>> import fallingcat as fc, numpy as np
        >>> cat = fc.robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> v = fc.changes.mixed(cat, state).velocity(state.velocity)
        >>> bool(np.allclose(v[:6], fc.link_twist(cat, state, cat.link_names[0], "mixed")))
        True
    """
    check_state(model, state)
    return _of_base(model, state, "mixed", "velocity of the base's origin and of the base, along the world's axes")


def inertial(model: Model, state: State) -> VelocityChange:
    """Base velocity at the world's origin, along the world's axes: ``Ad(H_wb) [v; w]`` (the spatial twist).

    Args:
        model: Robot.
        state: Configuration and velocity.

    Returns:
        Change of velocity (nv x nv).

    Example:
        >>> import fallingcat as fc, numpy as np
        >>> cat = fc.robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> v = fc.changes.inertial(cat, state).velocity(state.velocity)
        >>> bool(np.allclose(v[:6], fc.link_twist(cat, state, cat.link_names[0], "inertial")))
        True
    """
    check_state(model, state)
    return _of_base(model, state, "inertial", "spatial twist of the base")


def world_linear(model: Model, state: State) -> VelocityChange:
    """Velocity of the base's origin along the world's axes, angular velocity body-fixed: ``[R v; w]``.

    The ``u`` of [ETH] (2.261), MuJoCo's ``qvel``; :func:`fallingcat.dynamics.floating_base_map` ties it to rates of
    coordinates.

    Args:
        model: Robot.
        state: Configuration and velocity.

    Returns:
        Change of velocity (nv x nv).

    Example:
        >>> import fallingcat as fc, numpy as np
        >>> cat = fc.robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> v = fc.changes.world_linear(cat, state).velocity(state.velocity)
        >>> bool(np.allclose(v[3:6], state.twist[3:]))
        True
    """
    check_state(model, state)
    one, zero = np.eye(model.n), np.zeros((model.n, model.n))
    G, R = model.base, state.pose[:3, :3]
    W = skew((G.selection @ state.twist)[3:])
    X_dot = G.coselection @ block_diagonal([R @ W, np.zeros((3, 3))]) @ G.selection
    return VelocityChange.of(
        model,
        state,
        lambda at: block_diagonal([linear_in_world(G, at.pose[:3, :3]), one]),
        "world linear",
        "velocity of the base's origin along the world's axes, angular velocity of the base, body-fixed",
        T_dot=block_diagonal([X_dot, zero]),
        inverse=block_diagonal([linear_in_world(G, R.T), one]),
    )


def base_matrices(
    group: Group, representation: Representation, pose: Pose, twist: Twist
) -> tuple[Matrix, Matrix, Matrix]:
    """Adjoint ``X``, ``X^-1`` and ``dX/dt`` (m x m): body-fixed twist of a frame to the wanted representation."""
    if representation == "body":
        return np.eye(group.dim), np.eye(group.dim), np.zeros((group.dim, group.dim))
    if representation == "inertial":
        X, X_inverse = group.Ad(pose), group.Ad(group.inverse(pose))
        return X, X_inverse, X @ group.ad(twist)
    S, Sp, R = group.selection, group.coselection, pose[:3, :3]
    W = skew((S @ twist)[3:])
    X, X_inverse = (Sp @ block_diagonal([Q, Q]) @ S for Q in (R, R.T))
    return X, X_inverse, X @ (Sp @ block_diagonal([W, W]) @ S)


def _of_base(model: Model, state: State, representation: Representation, label: str) -> VelocityChange:
    one, zero = np.eye(model.n), np.zeros((model.n, model.n))

    def matrix(at: State) -> Matrix:
        return block_diagonal([base_matrices(model.base, representation, at.pose, at.twist)[0], one])

    _, X_inverse, X_dot = base_matrices(model.base, representation, state.pose, state.twist)
    T_dot, inverse = block_diagonal([X_dot, zero]), block_diagonal([X_inverse, one])
    return VelocityChange.of(model, state, matrix, representation, label, T_dot=T_dot, inverse=inverse)
