"""The hopping controllers of [Feurstein] 4.1.5, as laws that are put side by side.

A virtual leg reaches from the center of mass to the foot: ``o_cf = r_cf (sin alpha, -cos alpha)`` in the plane.  The
radial laws pull along it.  They are written with the internal velocity Jacobian of the foot ([Feurstein] (3.96)), the
foot's velocity when nothing has momentum, so that they move the joints only, (4.25).  The polar laws turn the leg about
the center of mass; they need a torque on the base.

Controller I is radial; II adds :class:`PolarSpring`; III adds :class:`LockedPolarSpring` in its place.  Radial laws act
on the internal velocity alone; III and :class:`ExternalPolarSpring` on the external one, so that neither disturbs the
other; II does.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...arrays import arctan2, array, concatenate, cos, sin, sqrt
from ...control import Law
from ...dynamics import center_of_mass, center_of_mass_jacobian, kinetic_energy, link_pose, potential_energy
from ...dynamics.checks import check_robot
from ...errors import FallingCatError, ModelError, describe
from ...formulations import connection, internal_jacobian, locked_angle
from ...formulations.locked_frame import check_locked_angle
from ...geometry.contact_points import point_jacobian, position
from ...lie import SE2
from ...model import Model, State
from ...records import concise


@concise
class Leg(NamedTuple):
    """Virtual leg from the center of mass to the foot."""

    length: Any
    """``r_cf`` (m)"""
    angle: Any
    """``alpha_i,cf`` (rad), from the downward vertical, counterclockwise"""
    radial: Any
    """``nv``: ``dr_cf/dt = radial . v``, by the internal velocity: nothing on the base"""
    polar: Any
    """``nv``: ``dalpha/dt = polar . v``, (4.22)-(4.24)"""


def virtual_leg(model: Model, state: State, foot: str) -> Leg:
    """Virtual leg of a planar robot, from the center of mass to the foot, [Feurstein] (4.20)-(4.24).

    Args:
        model: Robot with a planar base.
        state: Configuration; velocities are not used.
        foot: Link or frame of the foot.

    Returns:
        Length (m), angle (rad) and the rows (nv) of their rates.

    Example:
        >>> import fallingcat as fc
        >>> hopper = fc.robots.revolute_hopper()
        >>> pose = hopper.base.element(np.array([0.0, 0.3, -2.5174]))
        >>> leg = virtual_leg(hopper, hopper.state(pose=pose, joints=[1.7802]), "foot")
        >>> round(float(leg.length), 4), bool(abs(leg.angle) < 1e-4)
        (0.1411, True)
    """
    check_robot(model, state)
    if not isinstance(model.base, SE2):
        raise ModelError(f"hopping laws are for planar robots, not for a base {model.base}")
    o = (position(model, state, foot) - center_of_mass(model, state))[:2]
    square = o @ o
    r = sqrt(square)
    R = link_pose(model, state, foot)[:2, :2]
    internal = (R @ internal_jacobian(model, state, foot)[:2]).T @ (o / r)
    J = (point_jacobian(model, state, foot) - center_of_mass_jacobian(model, state))[:2]
    polar = J.T @ (array([-o[1], o[0]]) / square)
    return Leg(r, arctan2(o[0], -o[1]), concatenate([np.zeros(model.m), internal]), polar)


def _active(when: str, foot: str, touching: frozenset[str]) -> bool:
    if when not in ("always", "stance", "flight"):
        raise ModelError(f"a law acts 'always', in 'stance' or in 'flight', not {when!r}")
    return when == "always" or (foot in touching) == (when == "stance")


@dataclass(frozen=True)
class RadialSpring(Law):
    """``tau_r = -K_r (r_cf - r_rest)`` along the virtual leg, (4.16).

    >>> import fallingcat as fc
    >>> hopper = fc.robots.revolute_hopper()
    >>> state = hopper.state(pose=hopper.base.element(np.array([0.0, 0.3, -2.5])), joints=[1.8], rates=[1.0])
    >>> RadialSpring(2200.0, 0.14).forces(hopper, 0.0, state, frozenset()).round(3)  # the knee alone
    array([ 0.   ,  0.   ,  0.   , -0.126])
    """

    stiffness: float
    """N/m"""
    rest: float
    """m"""
    foot: str = "foot"
    name: str = "radial spring"

    def forces(self, model: Model, t: Any, state: State, touching: frozenset[str]) -> Any:
        """Generalized forces of the spring (nv)."""
        leg = virtual_leg(model, state, self.foot)
        return leg.radial * (-self.stiffness * (leg.length - self.rest))

    def energy(self, model: Model, state: State) -> Any:
        """``K_r (r_cf - r_rest)^2 / 2`` (J)."""
        stretch = virtual_leg(model, state, self.foot).length - self.rest
        return 0.5 * self.stiffness * stretch * stretch


@dataclass(frozen=True)
class RadialDamper(Law):
    """``tau_r = -D_r dr_cf/dt``, in flight unless said otherwise.

    >>> import fallingcat as fc
    >>> hopper = fc.robots.revolute_hopper()
    >>> state = hopper.state(pose=hopper.base.element(np.array([0.0, 0.3, -2.5])), joints=[1.8], rates=[1.0])
    >>> RadialDamper(20.0).forces(hopper, 0.0, state, frozenset({"foot"}))
    array([0., 0., 0., 0.])
    """

    damping: float
    """N s/m"""
    when: str = "flight"
    foot: str = "foot"
    name: str = "radial damper"

    def forces(self, model: Model, t: Any, state: State, touching: frozenset[str]) -> Any:
        """Generalized forces of the damper (nv)."""
        if not _active(self.when, self.foot, touching):
            return np.zeros(model.nv)
        radial = virtual_leg(model, state, self.foot).radial
        return radial * (-self.damping * (radial @ state.velocity))


@dataclass(frozen=True)
class EnergyController(Law):
    """``tau_E = -K_E (E - E_wanted) dr_cf/dt`` along the virtual leg, (4.16).

    ``E`` is kinetic, gravitational and the radial spring's energy.

    >>> import fallingcat as fc
    >>> hopper = fc.robots.revolute_hopper()
    >>> state = hopper.state(pose=hopper.base.element(np.array([0.0, 0.2, -2.5])), joints=[1.8], rates=[1.0])
    >>> law = EnergyController(10.0, 2.84, RadialSpring(2200.0, 0.14))
    >>> bool(law.forces(hopper, 0.0, state, frozenset())[3] * state.rates[0] > 0)  # too little energy: it pushes on
    True
    """

    gain: float
    """s/m^2"""
    energy: float
    """J"""
    spring: RadialSpring
    name: str = "energy controller"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.spring, RadialSpring):
            raise ModelError(f"spring of {self.name!r} is a RadialSpring, not {describe(self.spring)}")

    def forces(self, model: Model, t: Any, state: State, touching: frozenset[str]) -> Any:
        """Generalized forces of the controller (nv)."""
        radial = virtual_leg(model, state, self.spring.foot).radial
        E = kinetic_energy(model, state) + potential_energy(model, state) + self.spring.energy(model, state)
        return radial * (-self.gain * (E - self.energy) * (radial @ state.velocity))


@dataclass(frozen=True)
class PolarLaw(Law):
    """``tau_p = -K_p (alpha - alpha_wanted) - D_p dalpha/dt`` on an angle ``alpha``, in stance (4.17)."""

    stiffness: float
    """N m/rad"""
    damping: float = 0.0
    """N m s/rad"""
    angle: float = 0.0
    """wanted (rad)"""
    when: str = "stance"
    foot: str = "foot"
    name: str = "polar spring"

    def forces(self, model: Model, t: Any, state: State, touching: frozenset[str]) -> Any:
        """Generalized forces of the law (nv)."""
        if not _active(self.when, self.foot, touching):
            return np.zeros(model.nv)
        away, row = self.measured(model, state)
        return row * (-self.stiffness * away - self.damping * (row @ state.velocity))

    @abstractmethod
    def measured(self, model: Model, state: State) -> tuple[Any, Any]:
        """``alpha - alpha_wanted`` (rad), and the row (nv) with ``dalpha/dt = row . v``."""


@dataclass(frozen=True)
class PolarSpring(PolarLaw):
    """The polar spring of controller II, on the angle of the virtual leg.

    >>> import fallingcat as fc
    >>> hopper = fc.robots.revolute_hopper()
    >>> state = hopper.state(pose=hopper.base.element(np.array([0.0, 0.3, -2.5])), joints=[1.8], rates=[1.0])
    >>> forces = PolarSpring(6.0).forces(hopper, 0.0, state, frozenset({"foot"}))
    >>> bool(abs(forces[:2]).max() < 1e-12), bool(abs(forces[2]) > 0.0)  # a torque on the base, no force
    (True, True)
    """

    def measured(self, model: Model, state: State) -> tuple[Any, Any]:
        """Angle of the virtual leg from the desired one (rad), and its row (nv)."""
        leg = virtual_leg(model, state, self.foot)
        return leg.angle - self.angle, leg.polar


@dataclass(frozen=True)
class ExternalPolarSpring(PolarSpring):
    """Polar spring of controller II with its torque on the external velocity alone.

    The angle is that of the virtual leg ([Feurstein] 3.3.4): the torque turns the robot as a whole and leaves the leg's
    length to the radial laws.

    Example:
        >>> import fallingcat as fc
        >>> hopper = fc.robots.revolute_hopper()
        >>> state = hopper.state(pose=hopper.base.element(np.array([0.0, 0.3, -2.5])), joints=[1.8], rates=[1.0])
        >>> forces = ExternalPolarSpring(6.0).forces(hopper, 0.0, state, frozenset({"foot"}))
        >>> bool(abs(fc.control.response(hopper, state, forces).internal).max() < 1e-10)
        True
    """

    def forces(self, model: Model, t: Any, state: State, touching: frozenset[str]) -> Any:
        """Generalized forces of the spring (nv)."""
        if not _active(self.when, self.foot, touching):
            return np.zeros(model.nv)
        away, row = self.measured(model, state)
        torque = -self.stiffness * away - self.damping * (row @ state.velocity)
        return torque * concatenate([np.array([0.0, 0.0, 1.0]), connection(model, state)[2]])


@concise
@dataclass(frozen=True)
class LockedPolarSpring(PolarLaw):
    """Polar spring of controller III, (4.26), on the orientation of the locked-velocity frame.

    The angle is ``alpha_c = theta_b + theta_bc(q)`` of the frame that turns with the locked velocity; refused where
    that depends on the path to the shape.

    Example:
        >>> import fallingcat as fc
        >>> hopper = fc.robots.revolute_hopper()
        >>> state = hopper.state(pose=hopper.base.element(np.array([0.0, 0.3, -2.5])), joints=[1.8], rates=[1.0])
        >>> law = LockedPolarSpring(6.0, angle=-2.5, reference=(1.8,))  # at rest here
        >>> bool(abs(law.forces(hopper, 0.0, state, frozenset({"foot"}))).max() < 1e-12)
        True
    """

    reference: tuple[float, ...] | None = None
    """joint coordinates from which ``theta_bc`` is measured; None: all zero"""

    def check(self, model: Model) -> None:
        """Refuses models whose ``theta_bc`` depends on the path."""
        try:
            check_locked_angle(model)
        except FallingCatError as problem:
            raise ModelError(f"law {self.name!r} cannot act on {model.name!r}: {problem}") from None

    def measured(self, model: Model, state: State) -> tuple[Any, Any]:
        """Angle ``alpha_c`` from the desired one (rad), and the row (nv) of the locked angular velocity."""
        row = concatenate([np.array([0.0, 0.0, 1.0]), connection(model, state)[2]])  # locked angular velocity
        reference = None if self.reference is None else np.array(self.reference)
        shift = locked_angle(model, state.joints, reference) - self.angle
        c, s, R = cos(shift), sin(shift), state.pose
        return arctan2(R[1, 0] * c + R[0, 0] * s, R[0, 0] * c - R[1, 0] * s), row  # the short way round
