"""The model's actuators, under the controls that a law or a function gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from ...arrays import array, clip, concatenate, scale
from ...dynamics.checks import vector
from ...errors import ModelError
from ...model import Actuator, Model, State
from ...records import concise
from .base import Law
from .passive_joints import carried, cut_resistance, follows
from .springs import on_joints


@concise
@dataclass(frozen=True)
class Actuators(Law):
    """The motors and servos of ``model.actuators`` under ``constant`` controls, all zero if none are given.

    For controls that follow from time and state, derive a frozen dataclass of yours and write :meth:`controls`, for
    every kind of number as all laws; or give :func:`actuated` a plain function.  An actuator that nobody commands is
    off: MuJoCo's ``ctrl = 0``, at which servos hold zero, is ``Actuators()``.

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

    def controls(self, model: Model, t: Any, state: State, touching: frozenset[str]) -> Any:
        """One number for each actuator."""
        return np.zeros(len(model.actuators)) if self.constant is None else array(list(self.constant))

    def forces(self, model: Model, t: Any, state: State, touching: frozenset[str]) -> Any:
        return concatenate([np.zeros(model.m), efforts(model, self.controls(model, t, state, touching), state)])

    def impedance(self, model: Model, state: State) -> tuple[np.ndarray, np.ndarray]:
        """How the forces of servos fall with their joints' coordinates and rates."""
        K, D = sum((_falls(model, actuator) for actuator in model.actuators), start=np.zeros((2, model.n)))
        return on_joints(model, K), on_joints(model, D)

    def joint_impedance(self, model: Model, t: Any, state: State, touching: frozenset[str], dt: Any) -> Any:
        """The same as far as servos are within their ``force_range``, see :func:`.cut_resistance`."""
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
        """With zero controls, if none are given: those that calls of a step give take their place."""
        return self if self.constant is not None else replace(self, constant=(0.0,) * len(model.actuators))

    def check(self, model: Model) -> None:
        if not model.actuators:
            raise ModelError(f"{model.name!r} has no actuators to command")
        given = self.controls(model, 0.0, model.neutral(), frozenset())
        vector(given, len(model.actuators), f"controls of {self.name!r}")


def efforts(model: Model, controls: Any, state: State) -> Any:
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
    """``2 x n``: by how much its force on a joint falls with the coordinate and the rate, without a force range."""
    i = model.joint_index(actuator.joint)
    at_rest, *moved = (float(actuator.pull(0.0, *x)) for x in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)))  # it is linear
    falls = np.zeros((2, model.n))
    share = actuator.gear * follows(model.joints[i]) ** 2
    falls[:, model.v_slices[i]] = [[max(0.0, share * (at_rest - x))] for x in moved]
    return falls


def actuated(model: Model, function: Callable[[float, State], Any]) -> Callable[[float, State], Any]:
    """A controller for :func:`fallingcat.simulate` of a function of time and state that gives ``controls``, one for
    each actuator.
    """
    if not model.actuators:
        raise ModelError(f"{model.name!r} has no actuators to command")

    def controller(t: float, state: State) -> Any:
        return efforts(model, vector(function(t, state), len(model.actuators), "controls of actuators"), state)

    return controller
