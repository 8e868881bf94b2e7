"""Kinetic and potential energy."""

from __future__ import annotations

from ..arrays.types import Scalar
from ..model import Model, State
from .checks import check_dynamic, check_state
from .kinematics import world_poses
from .rotors import rotor_energy
from .spatial import motion_to_child, rigid_inertias
from .sweeps import nodes, outward


def kinetic_energy(model: Model, state: State) -> Scalar:
    """``T = sum nu_j' L_j nu_j / 2 + sum armature_i rates_i^2 / 2`` (J), from the twists of the links and the rotors.

    >>> import numpy as np
    >>> from fallingcat.model import robots
    >>> body = robots.free_body()
    >>> bool(kinetic_energy(body, body.state(twist=[1.0, 0, 0, 0, 0, 0])) == body.mass / 2)
    True
    """
    check_state(model, state)
    base = model.base.selection @ state.twist
    twists = outward(nodes(model, state), base, lambda node, nu: motion_to_child(node.H, nu) + node.S @ node.rates)
    terms = [nu @ (inertia @ nu) for nu, inertia in zip(twists, rigid_inertias(model), strict=True)]
    return 0.5 * sum(terms[1:], start=terms[0]) + rotor_energy(model, state.rates)


def potential_energy(model: Model, state: State) -> Scalar:
    """``U = -sum m_j g . c_j`` (J), zero with every center of mass at the height of the world's origin."""
    check_dynamic(model)
    terms = [
        (link.body.mass * model.gravity) @ (H[:3, :3] @ link.body.center + H[:3, 3])
        for H, link in zip(world_poses(model, state), model.links, strict=True)
    ]
    return -sum(terms[1:], start=terms[0])
