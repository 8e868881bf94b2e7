"""Derivatives of steps of :class:`.MomentumMidpoint`, through the velocity at the midpoint that solves them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....arrays import concatenate, solver
from ....arrays.differentiate import value_and_jacobian
from ....dynamics import inverse_dynamics, inverse_dynamics_derivatives, mass_matrix
from ....dynamics.energy import kinetic_slope
from ....lie import SO3
from ....lie.rotations import skew
from ....model import State
from ...problem.vector_field import layout_of
from ..rule_derivatives import Columns, Tangent, joined
from ..step_arguments import StepArguments, of_arguments
from ..step_jacobian import StepJacobian, check_differentiable
from .midpoint_step import Guess, angular_velocity, solved, still_at
from .runge_kutta_derivatives import Flight

_ROTATIONS = SO3()


@of_arguments
def step_jacobian(source: StepArguments, *, whole: bool = True) -> StepJacobian:
    """Derivatives of the step from ``x = [count; carried; packed]``, by the ``wanted`` numbers of laws too."""
    check_differentiable(source.model, "momentum")
    count, _, packed, out = solved(source, np.zeros(0))
    velocity = Guess.of(source.model, out[2 * len(packed) + 1 :]).velocity
    start, kept, _ = layout_of(source.problem(source.values)[0], source.memory).unpack(packed)
    lines, dt = Columns(source, 0, source.model.nv), source.clock[0]
    return lines.result(_Midpoint(source, lines, start, kept, count * dt, dt).end_of(velocity))


class _Midpoint(Flight):
    """A step whose velocity at the midpoint is known; along its last ``nv`` columns that changes by itself."""

    def end_of(self, velocity: Any) -> Any:
        """Derivatives of configuration and velocity at the end of the step."""
        model, m, dt, lines = self.model, self.model.m, self.dt, self.lines
        v = Tangent(velocity, lines.along(5))
        w, rates = self._turning(v), v.split(m)[1]
        q, spin = Tangent(self.start.joints, lines.along(0)[m:]), self.carried.split(3, 3)[2]
        middle, end = q + (0.5 * dt) * rates, q + dt * rates
        momentum = self._momentum_of(q, self.flying())
        pushed = self._shape_momentum_rate((0.5 * dt) * w, v, middle)
        shape = Tangent(momentum.value[m:], momentum.slope[m:])
        R = self.R.T
        turned = self.model.base.selection[3:] @ lines.along(0)[:m]
        about = Tangent(R @ spin.value, R @ spin.slope + skew(R @ spin.value) @ turned)
        half = self._joined(self._variation_spin(dt * w, about), shape + (0.5 * dt) * pushed)
        # what the velocity has to be: M(q) v = half
        fault = self._momentum_of(middle, v) + (-1.0) * half
        nv = model.nv
        by_v, by_others = fault.slope[:, -nv:], fault.slope[:, :-nv]
        change = -solver(by_v)(by_others)

        def solved(x: Tangent) -> Tangent:
            moved = x.slope[:, :-nv] + x.slope[:, -nv:] @ change
            return Tangent(x.value, concatenate([moved, np.zeros((len(moved), nv))], axis=1))

        turn, end, v = solved(dt * w), solved(end), solved(v)
        whole = solved(self._joined(self._seen(dt * w, spin), shape + dt * pushed))
        after = self._velocity(end, whole)
        _, moved, moves, _ = self.state(self.t + dt, turn, after, end)
        return concatenate([moved, moves])[:, :-nv]

    def _turning(self, v: Tangent) -> Tangent:
        """Angular velocity (3) of the base."""
        S, m = self.model.base.selection[3:], self.model.m
        return Tangent(angular_velocity(self.model, v.value), S @ v.slope[:m])

    def _momentum_of(self, q: Tangent, v: Tangent) -> Tangent:
        """``M(q) v``, without gravity."""
        still = still_at(self.light, q.value)
        by_q = inverse_dynamics_derivatives(self.light, still, v.value).configuration[:, self.model.m :]
        M = mass_matrix(self.light, still)
        return Tangent(inverse_dynamics(self.light, still, v.value), M @ v.slope + by_q @ q.slope)

    def _velocity(self, q: Tangent, momentum: Tangent) -> Tangent:
        """``v`` with ``M(q) v`` a momentum."""
        M = solver(mass_matrix(self.light, still_at(self.light, q.value)))
        value = M(momentum.value)
        by_q = self._momentum_of(q, Tangent(value, np.zeros((len(value), q.slope.shape[1])))).slope
        return Tangent(value, M(momentum.slope - by_q))

    def _shape_momentum_rate(self, half_turn: Tangent, v: Tangent, q: Tangent) -> Tangent:
        """Time derivative of the momentum of the shape (n) at the midpoint."""
        m, n, light = self.model.m, self.model.n, self.light
        t = self.t + 0.5 * self.dt
        state, moved, moves, _ = self.state(t, half_turn, v, q)
        nothing = Tangent(np.zeros(0), np.zeros((0, v.slope.shape[1])))
        total = self.forces.at(t, state, moved, moves, nothing)[0].split(m)[1]

        def slope(y: Any) -> Any:
            return kinetic_slope(light, State(np.eye(4), y[:n], y[n : n + m], y[n + m :]))

        value, D = value_and_jacobian(slope, concatenate([q.value, v.value]), self.kinds)
        return total + Tangent(value, D @ concatenate([q.slope, v.slope]))

    def _variation_spin(self, turn: Tangent, about: Tangent) -> Tangent:
        """Spin (3) that the variation of ``R exp(turn)`` asks for."""

        def spin(y: Any) -> Any:
            return _ROTATIONS.dexp_left(y[:3]).T @ y[3:]

        value, D = value_and_jacobian(spin, concatenate([turn.value, about.value]), self.kinds)
        return Tangent(value, D @ concatenate([turn.slope, about.slope]))

    def _seen(self, turn: Tangent, spin: Tangent) -> Tangent:
        """Spin in the axes of the end of the step."""
        R, spun = self.attitude(turn)
        about = R.T @ spin.value
        return Tangent(about, R.T @ spin.slope + skew(about) @ spun)

    def _joined(self, spin: Tangent, shape: Tangent) -> Tangent:
        """Momentum (nv) of the base about the center of mass, and of the shape."""
        S = self.model.base.selection[3:].T
        return joined(Tangent(S @ spin.value, S @ spin.slope), shape)
