"""Laws on the external and on the internal velocity that do not disturb each other ([Feurstein] 3.3.4).

The external velocity is the locked velocity, ``mu = twist + A rates``: how the robot moves as a whole.  The internal
velocity of a place is what it does when there is no momentum, ``J_int rates`` (3.96).  In these velocities the mass
matrix has no coupling.  So a force on the external velocity, ``F = [f; A' f]``, accelerates no joint, and a force on an
internal velocity, ``F = [0; J_int' f]``, changes no momentum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..._deprecated import former_arguments
from ...arrays import argument_sizes, concatenate, cross, solve, sqrt
from ...arrays.types import Scalar, Vector_n, Vector_nv, Wrench
from ...dynamics import center_of_mass, center_of_mass_jacobian, mass_matrix
from ...dynamics.checks import vector
from ...errors import ModelError
from ...formulations import connection
from ...geometry.contact_points import checked_points, point_jacobian, position
from ...lie.rotations import log
from ...model import Model, State
from ...records import concise
from .base import Law


@concise
class Response(NamedTuple):
    """Accelerations of the external and internal velocities under generalized forces.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> response(cat, cat.neutral(), np.zeros(cat.nv)).external
        array([0., 0., 0., 0., 0., 0.])
    """

    external: Any
    """``m``: acceleration of the locked velocity"""
    internal: Any
    """``n``: accelerations of the joints, of which every internal velocity is made"""


@argument_sizes(forces="nv")
def response(model: Model, state: State, forces: Vector_nv) -> Response:
    """Accelerations that generalized forces add: ``[1, A] M^-1 F`` and the joints' part of ``M^-1 F``.

    Args:
        model: Robot.
        state: Configuration; velocities are not used.
        forces: Generalized forces ``[base wrench; joint forces]`` (nv).

    Returns:
        Acceleration of the locked velocity (m), and of the joints (n).

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> joints_only = np.concatenate([np.zeros(6), np.ones(cat.n)])
        >>> bool(abs(response(cat, state, joints_only).external).max() < 1e-10)
        True
    """
    a = solve(mass_matrix(model, state), forces)
    return Response(a[: model.m] + connection(model, state) @ a[model.m :], a[model.m :])


def external_forces(model: Model, state: State, wrench: Wrench) -> Vector_nv:
    """Generalized forces ``[f; A' f]`` of a wrench on the external velocity, which accelerates no joint.

    Args:
        model: Robot.
        state: Configuration; velocities are not used.
        wrench: ``f`` (m; N, N m) in the frame of the base.

    Returns:
        ``[f; A' f]`` (nv).

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> forces = external_forces(cat, state, np.ones(6))
        >>> bool(abs(response(cat, state, forces).internal).max() < 1e-10)
        True
    """
    return concatenate([wrench, connection(model, state).T @ wrench])


@concise
@former_arguments(place="position")
@dataclass(frozen=True)
class ExternalLaw(Law):
    """Spring and damper on the external velocity: holds the center of mass and the attitude of the base.

    ``F_c = -K (c - position) - D dc/dt`` and ``tau = -K_turn log R - D_turn w_locked``, as one wrench at the center of
    mass.  It needs drives on the base, such as thrusters; :func:`external_forces` keeps the joints out of it.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> center = tuple(fc.center_of_mass(cat, cat.neutral()).tolist())
        >>> hold = ExternalLaw(stiffness=10.0, turn_stiffness=1.0, position=center)
        >>> bool(np.allclose(hold.forces(cat, 0.0, cat.neutral(), frozenset()), 0.0))
        True
    """

    stiffness: float = 0.0
    """``K`` (N/m)"""
    damping: float = 0.0
    """``D`` (N s/m)"""
    turn_stiffness: float = 0.0
    """``K_turn`` (N m/rad)"""
    turn_damping: float = 0.0
    """``D_turn`` (N m s/rad)"""
    position: tuple[float, ...] = (0.0, 0.0, 0.0)
    """desired position of the center of mass (m, world)"""
    name: str = "external law"

    def check(self, model: Model) -> None:
        """Check that the base moves and that ``place`` is a point."""
        if not model.m:
            raise ModelError(f"law {self.name!r} moves a robot as a whole; the base of {model.name!r} is fixed")
        vector(self.position, 3, f"position of {self.name!r}")

    def forces(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector_nv:
        """Wrench of springs and dampers at the center of mass, by :func:`external_forces`."""
        S, R = model.base.selection, state.pose[:3, :3]
        center = center_of_mass(model, state)
        velocity = center_of_mass_jacobian(model, state) @ state.velocity
        push = R.T @ (-self.stiffness * (center - np.array(self.position)) - self.damping * velocity)
        spin = (S @ (state.twist + connection(model, state) @ state.rates))[3:]
        torque = -self.turn_stiffness * log(R) - self.turn_damping * spin
        arm = R.T @ (center - state.pose[:3, 3])
        return external_forces(model, state, S.T @ concatenate([push, torque + cross(arm, push)]))


@former_arguments(place="link")
@dataclass(frozen=True)
class InternalLaw(Law):
    """Spring and damper between the center of mass and a point of the robot, exerted by joints alone.

    ``f = -K (r - rest) - D dr/dt`` along the distance ``r`` between the center of mass and ``link`` (link or frame),
    on the internal velocity: the radial laws of [Feurstein] 4.1.5, for any robot.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> law = InternalLaw("front", stiffness=100.0, damping=1.0, rest=0.2)
        >>> law.forces(cat, 0.0, cat.neutral(), frozenset())[:6]  # no wrench on the base
        array([0., 0., 0., 0., 0., 0.])
    """

    link: str
    stiffness: float
    """``K`` (N/m)"""
    damping: float
    """``D`` (N s/m)"""
    rest: float
    """m"""
    name: str = "internal law"

    def check(self, model: Model) -> None:
        """Check that ``place`` is a link or frame."""
        checked_points(model, (self.link,))

    def forces(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector_nv:
        """Joint forces of spring and damper; no wrench on the base."""
        row, r = self.distance(model, state)
        f = -self.stiffness * (r - self.rest) - self.damping * (row @ state.rates)
        return concatenate([np.zeros(model.m), row * f])

    def distance(self, model: Model, state: State) -> tuple[Vector_n, Scalar]:
        """Distance between center of mass and ``place``, and its Jacobian.

        Args:
            model: Robot.
            state: Configuration; velocities are not used.

        Returns:
            Row (n) with ``dr/dt = row . rates``, whatever the momentum, and ``r`` (m).
        """
        o = position(model, state, self.link) - center_of_mass(model, state)
        J = point_jacobian(model, state, self.link) - center_of_mass_jacobian(model, state)
        r = sqrt(o @ o)
        whole = J.T @ (o / r)  # a turn of the whole leaves r as it is: its base part is zero, and so is that of A
        return whole[model.m :], r

    def energy(self, model: Model, state: State) -> Scalar:
        """Energy ``K (r - rest)^2 / 2`` of the spring.

        Args:
            model: Robot.
            state: Configuration; velocities are not used.

        Returns:
            Energy (J).
        """
        stretch = self.distance(model, state)[1] - self.rest
        return 0.5 * self.stiffness * stretch * stretch
