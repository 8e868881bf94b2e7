"""Passive joint forces: springs, damping, dry friction, joint limits, and limits of the drives.

:func:`passive` makes them from the model; every run adds them to force laws and controller.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...arrays import clip, concatenate, is_numeric, less, less_equal, maximum, minimum, sqrt, stack, where
from ...arrays.types import Float_n, Matrix_2_n, Matrix_nv_nv, Scalar, Vector_n, Vector_nv
from ...contact.rigid.joint_stops import LAW, LOWER, UPPER, beyond, joint_stops
from ...dynamics.checks import check_model
from ...dynamics.kinematics import world_poses
from ...errors import ModelError, describe
from ...model import Joint, Model, State
from ...records import concise
from .base import Law
from .carried_inertia import carried_inertia
from .drive_limits import DriveLimits, limited_rates, limits_of_rates
from .force_elements import ForceElements
from .springs import on_joints, on_rates
from .tendons import tendon_laws

STEP = 1e-3
"""Default step size that stops and friction are made for (s)."""
MIN_FRICTION_SPEED = 1e-3
"""Least speed below which dry friction is smooth (rad/s, m/s); higher where steps are long."""
MAX_START_DEPTH = 0.1
"""Largest depth beyond a limit at which a run may start, as after one that ended there (rad, m)."""
REBOUND_SPEED_RATIO = 0.2
"""Speed with which a joint leaves its stop, relative to that of its arrival"""
RETURN_STEPS = 6.0
"""Damping over stiffness of stops that steps do not resolve, in steps: a joint that leaves with its rebound is free; it
is larger than that of the law where ``w step`` passes a third, and these are not resolved"""
ARRIVAL_RATIO = 1.25
"""Way of a joint in a step, relative to its depth there, from which on it arrives: it may come half a step earlier"""
IMPACT_DAMPING = 1e4
"""Damping of a joint that arrives there, in inertias a step: more than any inertia behind it"""
MAX_DEPTH = 0.02
"""Depth beyond a limit at which a stop holds the drive of its joint (rad, m)."""


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


def _check_step(step: Any, name: str) -> None:
    """Raise an error for a step size that is not positive; one of a compiled step is not checked."""
    if is_numeric(step) and not step > 0.0:
        raise ModelError(f"step of {name!r} must be positive (s), got {describe(step)}")


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
        _check_step(self.step, self.name)

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


@concise
@dataclass(frozen=True)
class JointStops(Law):
    """Compliant joint limits: springs and dampers beyond ``limits.lower`` and ``limits.upper``.

    At a depth ``y`` beyond a limit, ``F = m w^2 y + 2 m w dy/dt``, not below 0 (stops do not pull) and not above
    ``4 m w^2 y`` (so that it starts from 0), with the inertia ``m`` of
    :func:`carried_inertia`.  ``w`` is 250 rad/s, and more
    where it takes more to hold the drive of the joint (``limits.effort``) at a depth of 0.02 rad, or in implicit steps
    to take up a fall of a free robot within 0.1 rad (:func:`fall_load`); steps that have to resolve it limit it to
    ``1 / (4 step)``.  It only dissipates energy.

    A joint that arrives with inertia ``m`` and speed ``v`` goes 0.55 v / w beyond its limit and leaves with 0.20 v;
    with more inertia ``a`` behind it, it goes at most ``sqrt(a / m) v / w`` beyond and leaves faster.  Steps of
    ``implicit`` and ``moreau`` that do not resolve ``w`` give it 0.20 v as an impulse, whatever is behind it.

    Equal limits mean none, as in many files.

    Example:
        >>> import fallingcat as fc
        >>> dog = fc.robots.quadruped()
        >>> inside = JointStops(1e-3).forces(dog, 0.0, dog.neutral(), frozenset())
        >>> bool((inside == 0.0).all())
        True
    """

    step: float
    """s"""
    name: str = LAW
    foreseen: bool = False
    """True for implicit steps, which need not resolve ``w``; it is 1 / step at least in steps above 4 ms"""
    unresolved: tuple[bool, ...] = ()
    """True for joints whose ``w`` is not resolved by steps that take forces as linear in the velocity at their end: one
    that arrives is given its rebound, as by an impulse; none: all are resolved"""
    commanded = False
    ignores_contact = True

    def __post_init__(self) -> None:
        """Check the fields; the step size is positive."""
        super().__post_init__()
        _check_step(self.step, self.name)

    def for_implicit_steps(self) -> JointStops:
        """Stops for implicit steps, which need not resolve them."""
        return self if self.foreseen else replace(self, foreseen=True)

    def for_linearized_steps(self, model: Model) -> JointStops:
        """Stops for steps that take forces as linear in the velocity at their end.

        Args:
            model: Robot.

        Returns:
            Stops, some of which give an impulse.
        """
        found = _unresolved_stops(replace(self, unresolved=()) if self.unresolved else self, model)
        return self if found == self.unresolved else replace(self, unresolved=found)

    def forces(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector_nv:
        """Stop forces of the joints beyond a limit, else zero."""
        rates, *law = self._laws(model, state)
        return on_rates(model, rates, law[0])

    def joint_impedance(
        self, model: Model, t: Scalar, state: State, touching: frozenset[str], dt: Scalar
    ) -> Matrix_2_n:
        """Springs and dampers of the stops in contact."""
        rates, _, K, D = self._laws(model, state)
        return stack([on_rates(model, rates, x)[model.m :] for x in (K, D)])

    def _laws(self, model: Model, state: State) -> tuple[Any, Any, Any, Any]:
        """Places of the rates of joints with stops, and force, stiffness and damping of each."""
        places, rates, lower, upper = _ends(model)
        q, v, m, w = (
            state.joints[places],
            state.rates[rates],
            carried_inertia(model)[rates],
            self._frequencies(model)[rates],
        )
        inward, h = clip(q, lower, upper) - q, self.step
        stiffness, damping, zero = m * (w * w), 2.0 * m * w, 0.0 * inward
        coarse = np.array(self.unresolved or (False,) * len(rates), dtype=bool)
        if coarse.any():
            damping = where(coarse, (RETURN_STEPS * h) * stiffness, damping)
        spring = stiffness * inward
        push = spring - damping * v
        along, most = push * spring, 4.0 * spring  # signs are those of the end: the law is the same at both
        force = where(less_equal(along, 0.0), zero, where(less(most * spring, along), most, push))
        acts = less(0.0, force * force)
        law = force, where(acts, stiffness, zero), where(acts, damping, zero)
        if not coarse.any():
            return rates, *law
        square, hit = inward * inward, (IMPACT_DAMPING / h) * m
        arrives = less(square, (-ARRIVAL_RATIO * h) * (inward * v))  # it goes as far in a step as it is beyond
        law = *law[:2], where(coarse, where(less(0.0, square), damping, zero), law[2])
        impact = (-1.0 - REBOUND_SPEED_RATIO) * hit * v, zero, hit
        return rates, *(where(coarse, where(arrives, new, old), old) for new, old in zip(impact, law, strict=True))

    def _frequencies(self, model: Model) -> Any:
        """Frequencies ``w`` (n; rad/s) of the stops."""
        drive = np.where(limited_rates(model, "effort"), limits_of_rates(model, "effort"), 0.0)
        if self.foreseen:
            drive = maximum(drive, fall_load(model))
        holding = sqrt((drive / MAX_DEPTH) / carried_inertia(model))
        if self.foreseen:
            return maximum(holding, 1.0 / maximum(self.step, 4.0 * STEP))
        return minimum(maximum(holding, 0.25 / STEP), 0.25 / self.step)


@functools.lru_cache(maxsize=64)
def _unresolved_stops(stops: JointStops, model: Model) -> tuple[bool, ...]:
    """Joints whose stops linearized steps do not resolve: :attr:`JointStops.unresolved`."""
    w = np.asarray(stops._frequencies(model))[_ends(model)[1]]
    return tuple((RETURN_STEPS * stops.step * w > 2.0).tolist())


# the model's numbers ----------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=64)
def fall_load(model: Model) -> float:
    """Load (N m or N) at which a stop yields by :data:`MAX_DEPTH`; it stops a fall within :data:`MAX_START_DEPTH`.

    A free robot falls by its reach, along its longest chain of links: ``K MAX_START_DEPTH^2 / 2 = m g reach``.
    """
    nominal = model.nominal
    if not model.m or not nominal.joints:
        return 0.0
    poses = world_poses(nominal, nominal.neutral())
    reach = np.array([0.0, *(np.linalg.norm(link.body.center) for link in nominal.links[1:])])
    for i in reversed(range(len(nominal.joints))):  # children first
        here, top = poses[i + 1][:3, 3], nominal.parents[i]
        reach[top] = max(reach[top], reach[i + 1] + float(np.linalg.norm(here - poses[top][:3, 3])))
    fall = float(nominal.mass * np.linalg.norm(nominal.gravity) * reach.max())
    return 2.0 * fall / MAX_START_DEPTH**2 * MAX_DEPTH


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


@functools.lru_cache(maxsize=64)
def _ends(model: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Coordinates, rates, lower and upper limits of joints with limits; a missing limit is infinite."""
    ends: dict[tuple[int, int], dict[str, float]] = {}
    for stop in joint_stops(model):
        limits = ends.setdefault((stop.coordinate(model), stop.rate(model)), {LOWER: -np.inf, UPPER: np.inf})
        limits[stop.end] = stop.limit
    places, rates = np.array([*ends], dtype=int).reshape(-1, 2).T
    lower, upper = (np.array([pair[end] for pair in ends.values()]) for end in (LOWER, UPPER))
    return places, rates, lower, upper


def check_stops(model: Model, joints: np.ndarray) -> None:
    """Raise an error if a joint starts far beyond a limit, which would throw it back.

    Args:
        model: Robot.
        joints: Joint coordinates, ``... x (nq - base.nq)``.
    """
    found = beyond(model, joints, joint_stops(model), MAX_START_DEPTH)
    if found:
        raise ModelError(f"{found}: start within its limits, or give passive=False")
