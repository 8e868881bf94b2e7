"""Passive joint forces: springs, damping, dry friction, joint limits, and limits of the drives.

:func:`passive` makes them from the model; every run adds them to force laws and controller.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...arrays import absolute, clip, concatenate, is_numeric, less, less_equal, maximum, minimum, sqrt, stack, where
from ...arrays.types import FloatArray, Matrix, Scalar, Vector
from ...contact.rigid.joint_stops import LAW, LOWER, UPPER, beyond, joint_stops
from ...dynamics import mass_matrix
from ...dynamics.checks import check_model
from ...dynamics.forward import check_mass
from ...errors import ModelError, describe
from ...model import Joint, Model, State
from .base import Law
from .springs import on_joints

STEP = 1e-3
"""s: default step size that stops and friction are made for"""
CREEP = 1e-3
"""rad/s or m/s: least speed below which dry friction is smooth; higher where steps are long"""
SUNK = 0.1
"""rad or m: largest depth beyond a limit at which a run may start, as after one that ended there"""
MAX_DEPTH = 0.02
"""rad or m: depth beyond a limit at which a stop holds the drive of its joint"""
FADE = 0.05
"""the share of its speed limit over which a drive loses its force"""
SHAPES = 4
"""random configurations at which inertias are evaluated, beside the neutral one; none for robots of many joints"""
MANY = 60


def passive(model: Model, dt: float = STEP) -> tuple[Law, ...]:
    """Passive force laws of the model's ``joint.passive`` and ``joint.limits``.

    :func:`fallingcat.simulate` and :func:`fallingcat.rollout` add them by default, unless ``passive=False``.

    Args:
        model: Robot.
        dt: Step size (s) of the runs; joint limits and friction are as stiff as it resolves.

    Returns:
        Laws that act on this robot: springs, damping, dry friction, joint limits, drive limits.

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
        (DriveLimits(), bool(_limited(model, "effort").any() or _limited(model, "velocity").any())),
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

    def forces(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector:
        """Spring forces on the joints, with those of joints that follow others."""
        total: Any = np.zeros(model.nv)
        for joint, place, x in _stretches(model, state):
            rates = np.arange(model.n)[place]
            total = total + _onto(model, rates, -joint.passive.stiffness * follows(joint) * _gradient(joint, x))
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

    def impedance(self, model: Model, state: State) -> tuple[Matrix, Matrix]:
        """Stiffness of the model on the diagonal; no damping."""
        return on_joints(model, felt(model, "stiffness", 2)), np.zeros((model.nv, model.nv))


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

    def forces(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector:
        """``-damping rates`` on the joints; no wrench on the base."""
        return concatenate([np.zeros(model.m), -felt(model, "damping", 2) * state.rates])

    def impedance(self, model: Model, state: State) -> tuple[Matrix, Matrix]:
        """Damping of the model on the diagonal; no stiffness."""
        return np.zeros((model.nv, model.nv)), on_joints(model, felt(model, "damping", 2))


def _check_step(step: Any, name: str) -> None:
    """Raise an error for a step size that is not positive; one of a compiled step is not checked."""
    if is_numeric(step) and not step > 0.0:
        raise ModelError(f"step of {name!r} must be positive (s), got {describe(step)}")


@dataclass(frozen=True)
class DryFriction(Law):
    """Dry friction of the model ``tau = -friction v / sqrt(v^2 + s^2)``: Coulomb's law, smooth below the speed ``s``.

    ``s = max(CREEP, 4 friction step / m)`` with the inertia ``m`` of :func:`carried`: near rest the law is a damper of
    at most ``m / (4 step)``, which no step overshoots.  So it dissipates energy, whatever the step; a joint under a
    load
    below its friction creeps at less than ``s load / sqrt(friction^2 - load^2)``.  Steps of ``implicit`` hold it
    instead: they use Coulomb's law itself (:meth:`grip`).

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

    def forces(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector:
        """Smooth friction forces on the joints."""
        friction = felt(model, "friction", 1)
        rubs = np.flatnonzero(friction)
        f, v, slow = friction[rubs], state.rates[rubs], self.fade_rates(model)[rubs]
        return _onto(model, rubs, -f * v / sqrt(v * v + slow * slow))

    def fade_rates(self, model: Model) -> Vector:
        """Speed ``s`` (n; rad/s or m/s) of each rate."""
        return maximum(felt(model, "friction", 1) * (4.0 / carried(model)) * self.step, np.full(model.n, CREEP))

    def dry_friction(self, model: Model) -> FloatArray:
        """Coulomb friction of each rate (n; N m or N)."""
        return felt(model, "friction", 1)


@dataclass(frozen=True)
class JointStops(Law):
    """Compliant joint limits: springs and dampers beyond ``limits.lower`` and ``limits.upper``.

    At a depth ``y`` beyond a limit, ``F = m w^2 y + 2 m w dy/dt``, not below 0 (stops do not pull) and not above
    ``4 m w^2 y`` (so that it starts from 0), with the inertia ``m`` of :func:`carried`.  ``w`` is 250 rad/s, and more
    where it takes more to hold the drive of the joint (``limits.effort``) at a depth of 0.02 rad; steps that have to
    resolve it limit it to ``1 / (4 step)``.  It only dissipates energy.

    A joint that arrives with inertia ``m`` and speed ``v`` goes 0.55 v / w beyond its limit and leaves with 0.20 v;
    with more inertia ``a`` behind it, it goes at most ``sqrt(a / m) v / w`` beyond.

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
    commanded = False
    ignores_contact = True

    def __post_init__(self) -> None:
        """Check the fields; the step size is positive."""
        super().__post_init__()
        _check_step(self.step, self.name)

    def for_implicit_steps(self) -> JointStops:
        """Stops for implicit steps, which need not resolve them."""
        return replace(self, foreseen=True)

    def forces(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector:
        """Stop forces of the joints beyond a limit, else zero."""
        places, rates, lower, upper = _ends(model)
        q, m, w = state.joints[places], carried(model)[rates], self._frequencies(model)[rates]
        spring = m * (w * w) * (clip(q, lower, upper) - q)
        push = spring - 2.0 * m * w * state.rates[rates]
        along, most = push * spring, 4.0 * spring  # signs are those of the end: the law is the same at both
        force = where(less_equal(along, 0.0), 0.0 * along, where(less(most * spring, along), most, push))
        return _onto(model, rates, force)

    def _frequencies(self, model: Model) -> Any:
        """Frequencies ``w`` (n; rad/s) of the stops."""
        drive = np.where(_limited(model, "effort"), _allowed(model, "effort"), 0.0)
        holding = sqrt((drive / MAX_DEPTH) / carried(model))
        if self.foreseen:
            return maximum(holding, 1.0 / maximum(self.step, 4.0 * STEP))
        return minimum(maximum(holding, 0.25 / STEP), 0.25 / self.step)

    def joint_impedance(self, model: Model, t: Scalar, state: State, touching: frozenset[str], dt: Scalar) -> Matrix:
        """Springs and dampers of the stops in contact."""
        w, force = self._frequencies(model), self.forces(model, t, state, touching)[model.m :]
        D = where(less(0.0, force * force), 2.0 * carried(model) * w, np.zeros(model.n))
        return stack([0.5 * w * D, D])


@dataclass(frozen=True)
class DriveLimits(Law):
    """Torque and speed limits of the drives.

    The forces of commanded laws and controller are cut to ``limits.effort``; in the direction of motion they then fade
    to zero over the last twentieth of ``limits.velocity``, as those of a motor whose back-EMF uses up its supply.  So
    drives do not move a joint faster than its limit, while gravity and impacts may.  Limits that are zero mean none, as
    in many files.

    Example:
        >>> import fallingcat as fc
        >>> dog = fc.robots.quadruped()
        >>> asked = np.concatenate([np.zeros(dog.m), np.full(dog.n, 1e3)])
        >>> cut = DriveLimits().saturated_forces(dog, 0.0, dog.neutral(), frozenset(), asked)
        >>> bool(np.allclose((asked + cut)[dog.m :], [x.effort for x in dog.limits]))
        True
    """

    name: str = "drive limits"
    saturates = True
    ignores_contact = True

    def forces(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector:
        """Zero: without commands there is nothing to cut."""
        return self.saturated_forces(model, t, state, touching, np.zeros(model.nv))

    def saturated_forces(
        self, model: Model, t: Scalar, state: State, touching: frozenset[str], asked: Vector
    ) -> Vector:
        """Difference (nv) between the forces that drives exert and those ``asked``."""
        u, fast = self._cut(model, asked[model.m :]), np.flatnonzero(_limited(model, "velocity"))
        top, left = _allowed(model, "velocity")[fast], self._left(model, state, u)
        share = clip(left / (FADE * top), np.zeros(len(fast)), np.ones(len(fast)))
        return concatenate([np.zeros(model.m), _put(u, fast, share * u[fast]) - asked[model.m :]])

    def _cut(self, model: Model, u: Any) -> Any:
        """Joint forces (n) within the effort limits."""
        strong = np.flatnonzero(_limited(model, "effort"))
        most = _allowed(model, "effort")[strong]
        return _put(u, strong, clip(u[strong], -most, most))

    def _left(self, model: Model, state: State, u: Any) -> Any:
        """Speed margin of joints with a speed limit along forces ``u`` (n)."""
        fast = np.flatnonzero(_limited(model, "velocity"))
        v = state.rates[fast]
        return _allowed(model, "velocity")[fast] - where(less(u[fast], 0.0), -v, v)

    def implicit_damping(self, model: Model, state: State, asked: Vector, dt: Scalar) -> Vector:
        """Damping of drives near their speed limit.

        There forces ``F`` fall to zero along a line, a damping of ``d = F / (FADE top)``.  Of a step that ends there
        :func:`cut_resistance` has the part ``s - (1 - s) m / (dt d)``, with the share ``s = FADE top / (top - v)`` of
        the speed that is left.
        """
        fast = np.flatnonzero(_limited(model, "velocity"))
        top, u = _allowed(model, "velocity")[fast], self._cut(model, asked[model.m :])
        left, kept = self._left(model, state, u), carried(model)[fast] * (1.0 / dt)
        s = FADE * top / maximum(left, FADE * top)
        damping = s * (absolute(u[fast]) / (FADE * top) + kept) - kept
        return _onto(model, fast, where(less(0.0, left), maximum(damping, 0.0 * damping), 0.0 * damping))[model.m :]


# the model's numbers ----------------------------------------------------------------------------------------------


def carried(model: Model) -> Any:
    """Lower bounds ``m`` (n; kg m^2 or kg) of the inertia behind each joint, whatever the other joints do.

    With the joints' block ``B`` of ``M^-1`` (the base is free to move), ``m_i = 1 / (c B_ii)`` with the least ``c`` for
    which ``diag(m) <= B^-1``; the smallest of the neutral and a few random configurations.
    """
    return _carried(model) if model.inertias_behind is None else model.inertias_behind


@functools.lru_cache(maxsize=8)
def _carried(model: Model) -> np.ndarray:
    masses = [np.asarray(mass_matrix(model, state), dtype=float) for state in shapes(model)]
    try:
        return least_behind(np.array(masses), model.m)
    except np.linalg.LinAlgError:
        for M in masses:
            check_mass(model, M)
        raise


def shapes(model: Model) -> list[State]:
    """Configurations at which :func:`carried` evaluates inertias."""
    rng = np.random.default_rng(0)
    count = SHAPES if model.n <= MANY else 0
    return [model.neutral(), *(model.random_state(rng) for _ in range(count))]


def least_behind(masses: np.ndarray, m: int) -> np.ndarray:
    """Inertias of :func:`carried` (... x n) from mass matrices (shapes x ... x nv x nv) with ``m`` base rates."""
    B = np.linalg.inv(masses)[..., m:, m:]
    alone = 1.0 / np.diagonal(B, axis1=-2, axis2=-1)
    root = np.sqrt(alone)
    largest = np.linalg.eigvalsh(root[..., :, None] * B * root[..., None, :]).max(axis=-1, initial=0.0)
    return np.asarray((alone / largest[..., None]).min(axis=0))


def cut_resistance(asked: Any, given: Any, gain: Any, inertia: Any, dt: Scalar) -> Any:
    """Part of the gain ``D + dt K`` of a saturated drive that an implicit step assumes.

    An inertia ``m`` moved by this force alone ends the step of ``dt`` (s) under ``clip(asked - gain dv)``: cut from
    ``asked`` to ``given`` as before, or no longer.  ``given - part gain dv`` is the same force there, with
    ``part = s - (1 - s) m / (dt gain)``, ``s = given / asked``, and zero where it stays cut.  All of ``gain`` would
    brake what the drive cannot brake, as an inertia of ``dt gain`` does; none lets stiff drives oscillate between their
    limits.

    Example:
        >>> m, dt, gain = 2.0, 0.1, 50.0
        >>> part = cut_resistance(6.0, 3.0, gain, m, dt)
        >>> dv = dt * 3.0 / (m + dt * part * gain)
        >>> bool(np.isclose(m * dv, dt * np.clip(6.0 - gain * dv, -3.0, 3.0)))
        True
    """
    is_cut, resists = less(given * given, asked * asked), less(0.0, gain)
    gain = dt * where(resists, gain, 1.0 + 0.0 * gain)
    part = (given * gain - (asked - given) * inertia) / where(is_cut, asked * gain, 1.0 + 0.0 * asked)
    return where(is_cut, maximum(part, 0.0 * part), 1.0 + 0.0 * part)


def felt(model: Model, what: str, power: int) -> np.ndarray:
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
    found = beyond(model, joints, joint_stops(model), SUNK)
    if found:
        raise ModelError(f"{found}: start within its limits, or give passive=False")


@functools.lru_cache(maxsize=64)
def _allowed(model: Model, what: str) -> np.ndarray:
    """The ``effort`` or ``velocity`` limit of each rate (n)."""
    pairs = zip(model.joint_names, model.limits, strict=True)
    sizes = [(model.joints[model.joint_index(name)].nv, getattr(limits, what)) for name, limits in pairs]
    return np.concatenate([np.zeros(0), *(np.full(nv, top if nv == 1 else np.inf) for nv, top in sizes)])


@functools.lru_cache(maxsize=64)
def _limited(model: Model, what: str) -> np.ndarray:
    """Mask (n) of the rates that have such a limit."""
    top = _allowed(model, what)
    return (top > 0.0) & (top < np.inf)


def _onto(model: Model, rates: np.ndarray, forces: Any) -> Any:
    """Forces on some rates as generalised forces (nv)."""
    return _put(np.zeros(model.nv), model.m + rates, forces)


def _put(all_: Any, places: np.ndarray, some: Any) -> Any:
    """Numbers with some entries replaced."""
    from_ = np.arange(len(all_))
    from_[places] = len(all_) + np.arange(len(places))
    return concatenate([all_, some])[from_]
