"""Kinetic and potential energy."""

from __future__ import annotations

import numpy as np

from ..arrays.types import Scalar, Vector
from ..model import Model, State
from .checks import check_dynamic, check_state
from .kinematics import world_poses
from .rotors import rotor_energy
from .spatial import coadjoint_action, motion_to_child, rigid_inertias, wrench_to_parent
from .sweeps import Places, accumulate_inward, nodes, propagate_outward


def kinetic_energy(model: Model, state: State) -> Scalar:
    """Kinetic energy of the links and the rotors.

    ``T = sum nu_j' L_j nu_j / 2 + sum armature_i rates_i^2 / 2``.

    Args:
        model: Robot.
        state: Configuration and velocity.

    Returns:
        Energy (J).

    Example:
        >>> import numpy as np
        >>> from fallingcat.model import robots
        >>> body = robots.free_body()
        >>> bool(kinetic_energy(body, body.state(twist=[1.0, 0, 0, 0, 0, 0])) == body.mass / 2)
        True
    """
    check_state(model, state)
    base = model.base.selection @ state.twist
    twists = propagate_outward(
        nodes(model, state), base, lambda node, nu: motion_to_child(node.H, nu) + node.S @ node.rates
    )
    terms = [nu @ (inertia @ nu) for nu, inertia in zip(twists, rigid_inertias(model), strict=True)]
    return 0.5 * sum(terms[1:], start=terms[0]) + rotor_energy(model, state.rates)


def potential_energy(model: Model, state: State) -> Scalar:
    """Potential energy of gravity, ``U = -sum m_j g . c_j``.

    It is zero with every center of mass at the height of the world's origin.

    Args:
        model: Robot.
        state: Configuration; velocities are not used.

    Returns:
        Energy (J).

    Example:
        >>> import fallingcat as fc
        >>> body = fc.robots.free_body()
        >>> bool(fc.potential_energy(body, body.neutral()) == 0.0)
        True
    """
    check_dynamic(model)
    terms = [
        (link.body.mass * model.gravity) @ (H[:3, :3] @ link.body.center + H[:3, 3])
        for H, link in zip(world_poses(model, state), model.links, strict=True)
    ]
    return -sum(terms[1:], start=terms[0])


def kinetic_slope(model: Model, state: State) -> Vector:
    """Derivative ``dT/dq`` (n) along the joints' axes at constant twist and rates: ``dM/dt v - C v`` on the joints.

    In O(n).  With the momentum ``F_i`` of all that joint ``i`` carries, ``dT/dq_i = S_i' ad(nu_i)' F_i + dS_i/dt'
    F_i``: a joint that moves turns what it carries against the velocity that it is carried with.
    """
    tree = nodes(model, state)
    step = lambda node, nu: motion_to_child(node.H, nu) + node.S @ node.rates  # noqa: E731
    twists = propagate_outward(tree, model.base.selection @ state.twist, step)
    own = [L @ nu for L, nu in zip(rigid_inertias(model), twists, strict=True)]
    momenta = accumulate_inward(tree, own, lambda node, F: wrench_to_parent(node.H, F))
    moving = [(node, twists[node.link], momenta[node.link]) for node in tree]
    slopes = [node.S.T @ coadjoint_action(nu, F) + node.S_dot.T @ F for node, nu, F in moving]
    return Places.from_model(model).vector([np.zeros(model.m), *slopes])[model.m :]
