"""Actuators of the model under the controls of a law or a function; their activations are the state of the law."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from ...arrays import absolute, array, clip, scale, stack
from ...arrays.types import Matrix_2_n, Matrix_nv_nv, Scalar, Vector, Vector_nv
from ...dynamics.checks import vector
from ...dynamics.link_motion import TreeMotion
from ...errors import ModelError
from ...model import Actuator, Model, State
from ...records import concise
from .base import Law
from .carried_inertia import carried_inertia
from .drive_limits import cut_resistance
from .passive_joints import follows
from .springs import on_joints


@concise
@dataclass(frozen=True)
class Actuators(Law):
    """Motors and servos of ``model.actuators`` under ``constant`` controls, all zero by default.

    For controls that depend on time and state, derive a frozen dataclass and write :meth:`controls`, for every kind of
    number as all laws; or give :func:`actuator_controller` a plain function.  An actuator without commands is off:
    MuJoCo's ``ctrl = 0``, at which servos hold zero, is ``Actuators()``.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> servo = fc.model.Actuator("servo", arm.joint_names[0], "position", kp=20.0, kv=1.0)
        >>> driven = fc.Model(arm.name, arm.base, arm.links, arm.joints, arm.gravity, arm.frames, actuators=(servo,))
        >>> Actuators((0.5,)).forces(driven, 0.0, driven.neutral(), frozenset())[driven.m :]
        array([10.,  0.,  0.])
    """

    constant: tuple[float, ...] | None = None
    """one control for each actuator, in the order of the model"""
    name: str = "actuators"
    inputs = MappingProxyType({"controls": "constant"})

    def controls(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector:
        """Controls of the actuators; override it for controls that depend on time and state.

        Args:
            model: Robot.
            t: Time (s).
            state: Configuration and velocity.
            touching: Names of the points on the ground.

        Returns:
            Number for each actuator (k), in the order of the model.
        """
        return np.zeros(len(model.actuators)) if self.constant is None else array(list(self.constant))

    def forces(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector_nv:
        """Generalized forces of all actuators; on the base those of sites and spatial tendons."""
        return efforts(model, self._signals(model, self.controls(model, t, state, touching)), state)

    def _signals(self, model: Model, controls: Vector) -> list[Any]:
        """Controls, or activations of the actuators that have one."""
        places = active(model)
        return [self.memory[places[i]] if i in places else control for i, control in enumerate(controls)]

    def memory_size(self, model: Model) -> int:
        """One activation for each actuator that has a state."""
        return len(active(model))

    def memory_rate(self, model: Model, t: Scalar, state: State) -> Vector:
        """Rates of the activations."""
        controls = self.controls(model, t, state, frozenset())
        return array([_rate(model.actuators[i], controls[i], self.memory[k]) for i, k in active(model).items()])

    def impedance(self, model: Model, state: State) -> tuple[Matrix_nv_nv, Matrix_nv_nv]:
        """Decrease of the servo forces with the coordinates and rates of their joints, tendons and sliders."""
        K, D = sum((_force_slopes(model, one) for one in model.actuators if one.joint), start=np.zeros((2, model.n)))
        total = [on_joints(model, K), on_joints(model, D)]
        motion = TreeMotion(model, state)
        for actuator in model.actuators:
            if actuator.transmission is not None:
                _, _, J = _actuated_motion(model, actuator, state, motion)
                total = [x + scale(f, J[:, None] * J[None, :]) for x, f in zip(total, _slopes(actuator), strict=True)]
        return total[0], total[1]

    def joint_impedance(
        self, model: Model, t: Scalar, state: State, touching: frozenset[str], dt: Scalar
    ) -> Matrix_2_n:
        """:meth:`impedance` of servos within their ``force_range``, see :func:`.cut_resistance`."""
        total: Any = np.zeros((2, model.n))
        motion = TreeMotion(model, state)
        signals = self._signals(model, self.controls(model, t, state, touching))
        for actuator, control in zip(model.actuators, signals, strict=True):
            if actuator.transmission is not None:
                reach = absolute(_actuated_motion(model, actuator, state, motion)[2][model.m :])
                total = total + stack([scale(x, reach) for x in _slopes(actuator)]) * (reach @ np.ones(model.n))
                continue
            falls, asked = _force_slopes(model, actuator), actuator.pull(control, *_motion(model, actuator, state))
            K, D = falls.max(axis=1)
            place = model.v_slices[model.joint_index(actuator.joint)]
            inertia = carried_inertia(model)[place.start]
            part = cut_resistance(asked, clip(asked, *actuator.force_range), D + K * dt, inertia, dt)
            total = total + scale(part, falls)
        return total

    def sized(self, model: Model) -> Actuators:
        """Law with zero controls where none are given; the inputs of a step take their place."""
        return self if self.constant is not None else replace(self, constant=(0.0,) * len(model.actuators))

    def check(self, model: Model) -> None:
        """Check that the robot has actuators, and that there is one control for each."""
        if not model.actuators:
            raise ModelError(f"{model.name!r} has no actuators to command")
        given = self.controls(model, 0.0, model.neutral(), frozenset())
        vector(given, len(model.actuators), f"controls of {self.name!r}")


def active(model: Model) -> dict[int, int]:
    """Places in the memory of :class:`Actuators` of the actuators that have an activation."""
    return {i: k for k, i in enumerate(i for i, one in enumerate(model.actuators) if one.activation is not None)}


def _rate(actuator: Actuator, control: Scalar, activation: Scalar) -> Scalar:
    assert actuator.activation is not None
    return actuator.activation.held_rate(actuator.commanded(control), activation)


def efforts(model: Model, signals: Sequence[Scalar] | Vector, state: State) -> Vector:
    """Generalized forces (nv) of all actuators under ``signals``, a control or activation for each."""
    total: Any = np.zeros(model.nv)
    motion = TreeMotion(model, state)
    for actuator, signal in zip(model.actuators, signals, strict=True):
        x, rate, J = _actuated_motion(model, actuator, state, motion)
        total = total + scale(actuator.effort(signal, x, rate), J)
    return total


def _actuated_motion(model: Model, actuator: Actuator, state: State, motion: TreeMotion) -> tuple[Any, Any, Any]:
    """Coordinate or length on which an actuator pulls, its rate, and its derivative (nv)."""
    if actuator.transmission is None:
        i = model.joint_index(actuator.joint)
        row = follows(model.joints[i]) * np.eye(model.nv)[model.m + model.v_slices[i].start]
        return *_motion(model, actuator, state), row
    arm = actuator.transmission.arm(motion, {tendon.name: tendon for tendon in model.tendons})
    J = motion.moments(arm)
    return arm.length, J @ state.velocity, J


def _motion(model: Model, actuator: Actuator, state: State) -> tuple[Any, Any]:
    """Coordinate and rate of its joint."""
    i = model.joint_index(actuator.joint)
    joint = model.joints[i]
    q = joint.coordinates(state.joints[model.q_slices[i]])[0]
    return q, follows(joint) * state.rates[model.v_slices[i].start]


def _slopes(actuator: Actuator) -> list[float]:
    """Decrease of an actuator's force with what it pulls on and with its rate (2), without force range."""
    if actuator.muscle is not None:
        steep = actuator.gear**2 * actuator.muscle.peak / actuator.muscle.optimal
        return [4.0 * steep, 2.0 * steep / actuator.muscle.vmax]
    at_rest, *moved = (float(actuator.pull(0.0, *x)) for x in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)))  # it is linear
    return [max(0.0, actuator.gear * (at_rest - x)) for x in moved]


def _force_slopes(model: Model, actuator: Actuator) -> np.ndarray:
    """Decrease of an actuator's force with its joint's coordinate and rate (2 x n), without force range."""
    i = model.joint_index(actuator.joint)
    falls = np.zeros((2, model.n))
    falls[:, model.v_slices[i]] = [[follows(model.joints[i]) ** 2 * x] for x in _slopes(actuator)]
    return falls


def actuator_controller(model: Model, function: Callable[[float, State], Any]) -> Callable[[float, State], Any]:
    """Controller for :func:`fallingcat.simulate` from a function that returns actuator controls.

    Args:
        model: Robot with actuators.
        function: Function of time (s) and state that returns one control for each actuator.

    Returns:
        Function of time and state that returns joint forces (n; N m or N), or generalized forces (nv) where actuators
        act on sites or spatial tendons.

    Raises:
        ModelError: The robot has no actuators.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> motor = fc.model.Actuator("motor", arm.joint_names[1], gear=2.0)
        >>> driven = fc.Model(arm.name, arm.base, arm.links, arm.joints, arm.gravity, arm.frames, actuators=(motor,))
        >>> actuator_controller(driven, lambda t, state: [3.0])(0.0, driven.neutral())
        array([0., 6., 0.])
    """
    if not model.actuators:
        raise ModelError(f"{model.name!r} has no actuators to command")
    if active(model):
        raise ModelError(
            f"actuators of {model.name!r} have a state: command them by a law, such as fc.control.Actuators"
        )
    on_base = any(one.transmission is not None for one in model.actuators)

    def controller(t: float, state: State) -> Any:
        forces = efforts(model, vector(function(t, state), len(model.actuators), "controls of actuators"), state)
        return forces if on_base else forces[model.m :]

    return controller
