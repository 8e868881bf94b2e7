"""The model's actuators, under the controls that a law or a function gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import concatenate, scale
from ..dynamics.checks import vector
from ..errors import ModelError
from ..model import Model, State
from .law import Law
from .passive import follows
from .springs import on_joints


@dataclass(frozen=True)
class Actuators(Law):
    """The motors and servos of ``model.actuators`` under ``constant`` controls, all zero if none are given.

    For controls that follow from time and state, derive a frozen dataclass of yours and write :meth:`controls`, for
    every kind of number as all laws; or give :func:`actuated` a plain function.  An actuator that nobody commands is
    off: MuJoCo's ``ctrl = 0``, at which servos hold zero, is ``Actuators()``.

    >>> import fallingcat as fc
    >>> arm = fc.robots.planar_arm()
    >>> servo = fc.Actuator("servo", arm.joint_names[0], "position", kp=20.0, kv=1.0)
    >>> driven = fc.Model(arm.name, arm.base, arm.links, arm.joints, arm.gravity, arm.frames, actuators=(servo,))
    >>> Actuators((0.5,)).forces(driven, 0.0, driven.neutral(), frozenset())[driven.m :]
    array([10.,  0.,  0.])
    """

    constant: tuple[float, ...] | None = None
    """one control for each actuator, in the order of the model"""
    name: str = "actuators"

    def controls(self, model: Model, t: Any, state: State, touching: frozenset[str]) -> Any:
        """One number for each actuator."""
        return np.zeros(len(model.actuators)) if self.constant is None else np.array(self.constant, dtype=float)

    def forces(self, model: Model, t: Any, state: State, touching: frozenset[str]) -> Any:
        return concatenate([np.zeros(model.m), efforts(model, self.controls(model, t, state, touching), state)])

    def impedance(self, model: Model, state: State) -> tuple[np.ndarray, np.ndarray]:
        """How the forces of servos fall with their joints' coordinates and rates."""
        K, D = np.zeros(model.n), np.zeros(model.n)
        for actuator in model.actuators:
            place = model.v_slices[model.joint_index(actuator.joint)]
            free = replace(actuator, force_range=(-np.inf, np.inf))
            at_rest = free.effort(0.0, 0.0, 0.0)
            share = follows(model.joints[model.joint_index(actuator.joint)]) ** 2
            K[place] += share * max(0.0, float(at_rest - free.effort(0.0, 1.0, 0.0)))  # the force is linear in both
            D[place] += share * max(0.0, float(at_rest - free.effort(0.0, 0.0, 1.0)))
        return on_joints(model, K), on_joints(model, D)

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
        joint, ratio = model.joints[i], follows(model.joints[i])
        q, v = joint.coordinates(state.joints[model.q_slices[i]])[0], model.v_slices[i].start
        total = total + scale(ratio * actuator.effort(control, q, ratio * state.rates[v]), np.eye(model.n)[v])
    return total


def actuated(model: Model, function: Callable[[float, State], Any]) -> Callable[[float, State], Any]:
    """A controller for :func:`fallingcat.simulate` of a function of time and state that gives ``controls``, one for
    each actuator.
    """
    if not model.actuators:
        raise ModelError(f"{model.name!r} has no actuators to command")

    def controller(t: float, state: State) -> Any:
        return efforts(model, vector(function(t, state), len(model.actuators), "controls of actuators"), state)

    return controller
