"""The momentum-exact midpoint rule: free flight in which no momentum can be lost.

Seen from its center of mass a robot in free flight neither falls nor drifts: the center follows its parabola exactly,
and the angular momentum about it never changes.  What is left to integrate is the shape, in its canonical momentum; the
base turns along by reconstruction on the group, ``R exp(dt w)``, with the angular velocity that momentum and shape
leave it ([Mishra] (9)).

The rule is variational: it makes the sum of ``dt l(w, (q0 + q1)/2, (q1 - q0)/dt)`` stationary, where ``l`` is the
Lagrangian seen from the center of mass and ``R1 = R0 exp(dt w)``.  So it is symplectic, and keeps the angular momentum
``k = R0 dexp(dt w)^-T dl/dw`` that belongs to that sum exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import concatenate, less, where
from ..contact.contact import Mode
from ..control import Law
from ..control.law import pulls_on_base
from ..dynamics import (
    bias_forces,
    center_of_mass,
    forward_dynamics,
    inverse_dynamics,
    mass_matrix_derivative,
    momentum,
)
from ..errors import ModelError, NumericsError
from ..kernels import compile
from ..lie import SE3, SO3
from ..lie.rotations import exp, homogeneous
from ..model import Model, State
from .field import layout_of
from .integrator import Integrator, Step
from .system import System

_ROTATIONS = SO3()
ITERATIONS, TOLERANCE = 50, 1e-15
PASSES = 3
"""Passes of the fixed point in one call of the kernel, where no controller has to be asked in between."""


@dataclass(frozen=True)
class MomentumMidpoint(Integrator):
    """Order 2, symmetric in time; momentum is exact to rounding, energy has no trend.

    For robots whose base is free, whose joints are angles and lengths, and on which nothing pulls but gravity.
    """

    name = "momentum"
    order = 2

    def stepper(self, system: System, mode: Mode, memory: int) -> Step:
        check(system)
        return FreeFlight(system)


class FreeFlight:
    """Steps of one free flight, which carry parabola and angular momentum along instead of measuring them anew."""

    def __init__(self, system: System) -> None:
        self.system, self.layout = system, layout_of(system, 0)
        self.start, self.carried = 0.0, np.zeros(0)
        model = system.model
        asked = system.controller is not None
        inputs = {"packed": self.layout.size, "carried": 9, "guess": model.nv, "given": model.n, "clock": 2}
        self.kernel = compile(model, passes, inputs=inputs, laws=system.laws, asked=asked)
        self.zero = np.zeros(model.n)

    def __call__(self, packed: np.ndarray, clock: np.ndarray) -> np.ndarray:
        """``[packed; 0]`` after the step."""
        t, dt = float(clock[0]), float(clock[1])
        model, layout = self.system.model, self.layout
        state = layout.unpack(packed)[0]
        if not len(self.carried):
            h = np.asarray(momentum(model, state, "centroidal"), dtype=float)
            center = np.asarray(center_of_mass(model, state))
            self.start, self.carried = t, np.concatenate([center, h[:3] / model.mass, h[3:]])
        now = self._at(t)
        guess = state.velocity - np.concatenate([state.pose[:3, :3].T @ now[3:6], np.zeros(model.nv - 3)])
        given, before, nv = self.zero, np.inf, model.nv
        for _ in range(ITERATIONS):
            out = self.kernel(packed, now, guess, given, clock)
            guess, change = out[:nv], out[nv] / max(1.0, np.abs(out[:nv]).max())
            if self.system.controller is not None:
                middle = layout.unpack(out[nv + 1 : nv + 1 + layout.size])[0]
                asked = self.system.asked(t + 0.5 * dt, middle)
                change = max(change, np.abs(asked - given).max(initial=0.0)) if before == np.inf else change
                given = asked
            if change <= TOLERANCE or (change >= before and change <= 1e-9):
                break
            before = change
        if change > 1e-9:  # what is not a number is named by the run
            raise NumericsError("the midpoint equations do not converge: take a smaller step", time=t, value=change)
        return np.append(out[nv + 1 + layout.size :], 0.0)

    def _at(self, t: float) -> np.ndarray:
        """Center of mass and its velocity on the parabola at time ``t``, and the spin."""
        s, g, c = t - self.start, self.system.model.gravity, self.carried
        return np.concatenate([c[:3] + s * c[3:6] + 0.5 * s * s * g, c[3:6] + s * g, c[6:]])


def passes(
    model: Model,
    packed: Any,
    carried: Any,
    guess: Any,
    given: Any,
    clock: Any,
    *,
    laws: tuple[Law, ...],
    asked: bool,
) -> Any:
    """``[midpoint velocity; its change; packed midpoint; packed end]`` after some passes of the fixed point.

    ``guess`` (nv) is the midpoint velocity seen from the center of mass, ``carried = [center; velocity; spin]`` at the
    start, ``given`` the joint forces of a controller that was ``asked``.
    """
    system, dt = System(model, laws, None, (lambda t, s: given) if asked else None), clock[1]
    layout = layout_of(system, 0)
    start, _, works = layout.unpack(packed)
    light = replace(model, gravity=np.zeros(3))
    R, q = start.pose[:3, :3], start.joints
    flying = start.twist - concatenate([R.T @ carried[3:6], np.zeros(3)])  # seen from the center of mass
    p = inverse_dynamics(light, _still(q), concatenate([flying, start.rates]))[6:]
    for _ in range(1 if asked else PASSES):
        before = guess
        R_mid, q_mid = R @ exp(0.5 * dt * guess[3:6]), q + 0.5 * dt * guess[6:]
        middle = _in_flight(model, carried, 0.5 * dt, R_mid, q_mid, guess)
        forces = system.applied((), clock[0] + 0.5 * dt, middle, given)
        tau = system.total(forces)[6:]
        slope = _kinetic_slope(light, q_mid, guess) + tau
        spin = _ROTATIONS.dexp_left(dt * guess[3:6]).T @ (
            R.T @ carried[6:]
        )  # what the variation of R exp(dt w) asks for
        guess = _velocity(light, spin, q_mid, p + 0.5 * dt * slope)
    end_R, end_q = R @ exp(dt * guess[3:6]), q + dt * guess[6:]
    end_v = _velocity(light, end_R.T @ carried[6:], end_q, p + dt * slope)
    done = [x for port in system.ports for x in (np.zeros(1), np.reshape(dt * (forces[port][6:] @ guess[6:]), 1))]
    works = works + concatenate([np.zeros(0), *done])
    middle, end = (
        layout.pack(_in_flight(model, carried, s, *at), np.zeros(0), works)
        for s, at in ((0.5 * dt, (R_mid, q_mid, guess)), (dt, (end_R, end_q, end_v)))
    )
    return concatenate([guess, np.reshape(_largest(guess - before), 1), middle, end])


def _still(q: Any) -> State:
    return State(np.eye(4), q, np.zeros(6), np.zeros(len(q)))


def _velocity(light: Model, spin: Any, q: Any, p: Any) -> Any:
    """Twist and rates, seen from the center of mass, with body-fixed ``spin`` and shape momentum ``p``: ``M v = h``."""
    return forward_dynamics(light, _still(q), concatenate([np.zeros(3), spin, p]))


def _kinetic_slope(light: Model, q: Any, v: Any) -> Any:
    """``dT/dq`` (n) at constant velocities: ``dM/dt v - C v`` on the joints."""
    at = State(np.eye(4), q, v[:6], v[6:])
    return (mass_matrix_derivative(light, at) @ v - bias_forces(light, at))[6:]


def _in_flight(model: Model, carried: Any, s: Any, R: Any, q: Any, v: Any) -> State:
    """The state, ``s`` seconds after the start, whose center of mass lies on the parabola; ``v`` is seen from there."""
    offset = center_of_mass(model, _still(q))
    speed = carried[3:6] + s * model.gravity
    center = carried[:3] + s * carried[3:6] + (0.5 * s * s) * model.gravity
    return State(homogeneous(R, center - R @ offset), q, v[:6] + concatenate([R.T @ speed, np.zeros(3)]), v[6:])


def _largest(x: Any) -> Any:
    size = where(less(x, 0.0), -x, x)
    top = size[0]
    for entry in size[1:]:
        top = where(less(top, entry), entry, top)
    return top


def check(system: System) -> None:
    """Refuses robots and forces that this rule is not for, by name."""
    model = system.model
    system.check_forgetful("momentum")
    if model.loops:
        raise ModelError(f"the momentum-exact integrator takes trees, not the loops of {model.name!r}")
    if system.external or system.contact is not None:
        raise ModelError("the momentum-exact integrator takes joint forces only: nothing may pull on the base")
    if not isinstance(model.base, SE3):
        raise ModelError(f"the momentum-exact integrator needs a free base, not {model.base}")
    for law in system.laws:
        if pulls_on_base(model, law):
            raise ModelError(f"the momentum-exact integrator takes joint forces only: {law.name!r} pulls on the base")
    for joint in model.joints:
        if not joint.kind.group.additive:
            raise ModelError(f"joint {joint.name!r}: the momentum-exact integrator takes angles and lengths only")
