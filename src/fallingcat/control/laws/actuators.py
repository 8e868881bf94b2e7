"""Actuators of the model under the controls of a law or a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from ...arrays import array, clip, concatenate, scale
from ...arrays.types import Matrix, Scalar, Vector
from ...dynamics.checks import vector
from ...errors import ModelError
from ...model import Actuator, Model, State
from ...records import concise
from .base import Law
from .drive_limits import cut_resistance
from .inertia_behind import carried
from .passive_joints import follows
from .springs import on_joints


@concise
@dataclass(frozen=True)
class Actuators(Law):
    """Motors and servos of ``model.actuators`` under ``constant`` controls, all zero by default.

    For controls that depend on time and state, derive a frozen dataclass and write :meth:`controls`, for every kind of
    number as all laws; or give :func:`actuated` a plain function.  An actuator without commands is off: MuJoCo's
    ``ctrl = 0``, at which servos hold zero, is ``Actuators()``.

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
            One number for each actuator, in the order of the model.
        """
        return np.zeros(len(model.actuators)) if self.constant is None else array(list(self.constant))

    def forces(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector:
        """Joint forces of all actuators; no wrench on the base."""
        return concatenate([np.zeros(model.m), efforts(model, self.controls(model, t, state, touching), state)])

    def impedance(self, model: Model, state: State) -> tuple[Matrix, Matrix]:
        """Decrease of the servo forces with the coordinates and rates of their joints."""
        K, D = sum((_falls(model, actuator) for actuator in model.actuators), start=np.zeros((2, model.n)))
        return on_joints(model, K), on_joints(model, D)

    def joint_impedance(self, model: Model, t: Scalar, state: State, touching: frozenset[str], dt: Scalar) -> Matrix:
        """:meth:`impedance` of servos within their ``force_range``, see :func:`.cut_resistance`."""
        total: Any = np.zeros((2, model.n))
        for actuator, control in zip(model.actuators, self.controls(model, t, state, touching), strict=True):
            falls, asked = _falls(model, actuator), actuator.pull(control, *_motion(model, actuator, state))
            K, D = falls.max(axis=1)
            place = model.v_slices[model.joint_index(actuator.joint)]
            inertia = carried(model)[place.start]
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


def efforts(model: Model, controls: Vector, state: State) -> Vector:
    """Joint forces (n) of all actuators under ``controls``, one for each."""
    total: Any = np.zeros(model.n)
    for actuator, control in zip(model.actuators, controls, strict=True):
        i = model.joint_index(actuator.joint)
        effort = actuator.effort(control, *_motion(model, actuator, state))
        total = total + scale(follows(model.joints[i]) * effort, np.eye(model.n)[model.v_slices[i].start])
    return total


def _motion(model: Model, actuator: Actuator, state: State) -> tuple[Any, Any]:
    """Coordinate and rate of its joint."""
    i = model.joint_index(actuator.joint)
    joint = model.joints[i]
    q = joint.coordinates(state.joints[model.q_slices[i]])[0]
    return q, follows(joint) * state.rates[model.v_slices[i].start]


def _falls(model: Model, actuator: Actuator) -> np.ndarray:
    """Decrease of an actuator's force with its joint's coordinate and rate (2 x n), without force range."""
    i = model.joint_index(actuator.joint)
    at_rest, *moved = (float(actuator.pull(0.0, *x)) for x in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)))  # it is linear
    falls = np.zeros((2, model.n))
    share = actuator.gear * follows(model.joints[i]) ** 2
    falls[:, model.v_slices[i]] = [[max(0.0, share * (at_rest - x))] for x in moved]
    return falls


def actuated(model: Model, function: Callable[[float, State], Any]) -> Callable[[float, State], Any]:
    """Controller for :func:`fallingcat.simulate` from a function that returns actuator controls.

    Args:
        model: Robot with actuators.
        function: Function of time (s) and state that returns one control for each actuator.

    Returns:
        Function of time and state that returns joint forces (n; N m or N).

    Raises:
        ModelError: The robot has no actuators.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> motor = fc.model.Actuator("motor", arm.joint_names[1], gear=2.0)
        >>> driven = fc.Model(arm.name, arm.base, arm.links, arm.joints, arm.gravity, arm.frames, actuators=(motor,))
        >>> actuated(driven, lambda t, state: [3.0])(0.0, driven.neutral())
        array([0., 6., 0.])
    """
    if not model.actuators:
        raise ModelError(f"{model.name!r} has no actuators to command")

    def controller(t: float, state: State) -> Any:
        return efforts(model, vector(function(t, state), len(model.actuators), "controls of actuators"), state)

    return controller
