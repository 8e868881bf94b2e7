"""Passive joint forces: springs, damping, dry friction, joint limits, and limits of the drives.

:func:`passive` makes them from the model; every run adds them to force laws and controller.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import concatenate, maximum, sqrt
from ...arrays.types import Float_n, Matrix_nv_nv, Scalar, Vector_n, Vector_nv
from ...contact.rigid.joint_stops import joint_stops
from ...dynamics.checks import check_model
from ...errors import ModelError, describe
from ...model import Joint, Model, State
from .base import Law
from .carried_inertia import carried_inertia
from .compliant_stops import STEP, JointStops, check_step
from .drive_limits import DriveLimits, limited_rates
from .force_elements import ForceElements
from .springs import on_joints, on_rates
from .tendons import tendon_laws

MIN_FRICTION_SPEED = 1e-3
"""Least speed below which dry friction is smooth (rad/s, m/s); higher where steps are long."""


def passive(model: Model, dt: float = STEP) -> tuple[Law, ...]:
    """Passive force laws of the model's ``joint.passive`` and ``joint.limits``.

    :func:`fallingcat.simulate` and :func:`fallingcat.rollout` add them by default, unless ``passive=False``.

    Args:
        model: Robot.
        dt: Step size (s) of the runs; joint limits and friction are as stiff as it resolves.

    Returns:
        Laws that act on this robot: springs, damping, dry friction, joint limits, force elements, tendons, limits of
        drives.

    Example:
        >>> from fallingcat.model import robots
        >>> [law.name for law in passive(robots.quadruped())]
        ['joint stops', 'drive limits']
    """
    check_model(model)
    if not isinstance(dt, (int, float, np.number)) or not 0.0 < dt < np.inf:
        raise ModelError(f"dt must be finite and positive (s), got {describe(dt)}")
    joints = model.joints
    found: list[tuple[Law, bool]] = [
        (PassiveSprings(), any(joint.passive.stiffness for joint in joints)),
        (PassiveDamping(), any(joint.passive.damping for joint in joints)),
        (DryFriction(float(dt)), any(joint.passive.friction for joint in joints)),
        (JointStops(float(dt)), bool(joint_stops(model))),
        *((ForceElements(port), True) for port in dict.fromkeys(element.port for element in model.force_elements)),
        *((law, True) for law in tendon_laws(model, float(dt))),
        (DriveLimits(), bool(limited_rates(model, "effort").any() or limited_rates(model, "velocity").any())),
    ]
    return tuple(law for law, acts in found if acts)


@dataclass(frozen=True)
class PassiveSprings(Law):
    """Springs of the model ``tau = -stiffness (q - rest)``.

    For spherical joints and other groups ``-stiffness log(q)``, as the gradient of the energy
    ``stiffness |log q|^2 / 2``.

    Example:
        >>> from dataclasses import replace
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> sprung = [replace(joint, passive=fc.model.Passive(stiffness=2.0)) for joint in arm.joints]
        >>> arm = replace(arm, joints=tuple(sprung))
        >>> PassiveSprings().forces(arm, 0.0, arm.state(joints=[0.1, 0.0, 0.2]), frozenset()) + 0.0
        array([-0.2,  0. , -0.4])
    """

    name: str = "passive springs"
    commanded = False
    ignores_contact = True

    def forces(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector_nv:
        """Spring forces on the joints, with those of joints that follow others."""
        total: Any = np.zeros(model.nv)
        for joint, place, x in _stretches(model, state):
            rates = np.arange(model.n)[place]
            total = total + on_rates(model, rates, -joint.passive.stiffness * follows(joint) * _gradient(joint, x))
        return total

    def energy(self, model: Model, state: State) -> Scalar:
        """Energy of the springs, the sum of ``stiffness |q - rest|^2 / 2``.

        Args:
            model: Robot.
            state: Configuration; velocities are not used.

        Returns:
            Energy (J).
        """
        return sum((0.5 * joint.passive.stiffness * (x @ x) for joint, _, x in _stretches(model, state)), 0.0)

    def impedance(self, model: Model, state: State) -> tuple[Matrix_nv_nv, Matrix_nv_nv]:
        """Stiffness of the model on the diagonal; no damping."""
        return on_joints(model, passive_constants(model, "stiffness", 2)), np.zeros((model.nv, model.nv))


@dataclass(frozen=True)
class PassiveDamping(Law):
    """Viscous damping of the model ``tau = -damping rates``.

    Example:
        >>> from dataclasses import replace
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> damped = [replace(joint, passive=fc.model.Passive(damping=0.5)) for joint in arm.joints]
        >>> arm = replace(arm, joints=tuple(damped))
        >>> PassiveDamping().forces(arm, 0.0, arm.state(rates=[1.0, 0.0, 2.0]), frozenset()) + 0.0
        array([-0.5,  0. , -1. ])
    """

    name: str = "passive damping"
    commanded = False
    ignores_contact = True

    def forces(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector_nv:
        """``-damping rates`` on the joints; no wrench on the base."""
        return concatenate([np.zeros(model.m), -passive_constants(model, "damping", 2) * state.rates])

    def impedance(self, model: Model, state: State) -> tuple[Matrix_nv_nv, Matrix_nv_nv]:
        """Damping of the model on the diagonal; no stiffness."""
        return np.zeros((model.nv, model.nv)), on_joints(model, passive_constants(model, "damping", 2))


@dataclass(frozen=True)
class DryFriction(Law):
    """Dry friction of the model ``tau = -friction v / sqrt(v^2 + s^2)``: Coulomb's law, smooth below the speed ``s``.

    ``s = max(MIN_FRICTION_SPEED, 4 friction step / m)`` with the inertia ``m`` of
    :func:`.carried_inertia`: near rest the law
    is a damper of at most ``m / (4 step)``, which no step overshoots.  So it dissipates energy, whatever the step; a
    joint under a load below its friction creeps at less than ``s load / sqrt(friction^2 - load^2)``.  Steps of
    ``implicit`` hold it instead: they use Coulomb's law itself (:meth:`dry_friction`).

    Example:
        >>> from dataclasses import replace
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> rough = [replace(joint, passive=fc.model.Passive(friction=0.3)) for joint in arm.joints]
        >>> arm = replace(arm, joints=tuple(rough))
        >>> DryFriction(1e-3).forces(arm, 0.0, arm.state(rates=[5.0, 0.0, -5.0]), frozenset()).round(3) + 0.0
        array([-0.3,  0. ,  0.3])
    """

    step: float
    """s"""
    name: str = "dry friction"
    commanded = False
    ignores_contact = True

    def __post_init__(self) -> None:
        """Check the fields; the step size is positive."""
        super().__post_init__()
        check_step(self.step, self.name)

    def forces(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector_nv:
        """Smooth friction forces on the joints."""
        friction = passive_constants(model, "friction", 1)
        rubs = np.flatnonzero(friction)
        f, v, slow = friction[rubs], state.rates[rubs], self.fade_rates(model)[rubs]
        return on_rates(model, rubs, -f * v / sqrt(v * v + slow * slow))

    def fade_rates(self, model: Model) -> Vector_n:
        """Speed ``s`` (n; rad/s or m/s) of each rate."""
        return maximum(
            passive_constants(model, "friction", 1) * (4.0 / carried_inertia(model)) * self.step,
            np.full(model.n, MIN_FRICTION_SPEED),
        )

    def dry_friction(self, model: Model) -> Float_n:
        """Coulomb friction of each rate (n; N m or N)."""
        return passive_constants(model, "friction", 1)


# the model's numbers ----------------------------------------------------------------------------------------------


def passive_constants(model: Model, what: str, power: int) -> np.ndarray:
    """Damping, friction or stiffness (n) of each rate, with ``|ratio|^power`` of that of joints that follow it."""
    total = np.zeros(model.n)
    for joint, place in zip(model.joints, model.v_slices, strict=True):
        total[place] += getattr(joint.passive, what) * abs(follows(joint)) ** power
    return total


def follows(joint: Joint) -> float:
    """Rate of a joint per rate of the joint that it follows; 1 if it follows none."""
    return joint.mimic.ratio if joint.mimic else 1.0


def _stretches(model: Model, state: State) -> list[tuple[Joint, slice, Any]]:
    """Joints with springs, the place of their rates, and how far they are from rest in exponential coordinates."""
    found = []
    for joint, q_place, v_place in zip(model.joints, model.q_slices, model.v_slices, strict=True):
        if joint.passive.stiffness and joint.kind.nv:
            q, group = joint.coordinates(state.joints[q_place]), joint.kind.group
            x = q - joint.passive.rest if group.additive else group.log(group.element(q))
            found.append((joint, v_place, x))
    return found


def _gradient(joint: Joint, x: Any) -> Any:
    """Gradient of ``|x|^2 / 2`` along the joint's velocities."""
    group = joint.kind.group
    return x if group.additive else group.dexp_right_inverse(x).T @ x
