"""Derivatives of steps of :class:`.MomentumRungeKutta`.

Stages run on values with their derivatives; center of mass, its velocity and the spin about it are functions of the
state in which the step starts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ....arrays import concatenate, scale, solve_tree
from ....arrays.differentiate import value_and_jacobian
from ....dynamics import center_of_mass, inverse_dynamics_derivatives, mass_matrix
from ....errors import ModelError
from ....lie import SE3, SO3
from ....lie.rotations import exp, skew
from ....model import Model, State
from ...problem.vector_field import layout_of
from ..implicit.step import dry_friction_law
from ..law_jacobian import body_numbers
from ..rule_derivatives import Columns, Forces, Tangent, acceleration, joined
from ..step_arguments import StepArguments, of_arguments
from ..step_jacobian import StepJacobian, check_differentiable
from .midpoint_step import CARRIED_SIZE, Parabola, angular_velocity, carried_at, free_directions, still_at
from .runge_kutta_step import NODES, WEIGHTS, _Step, conserved_twist

_ROTATIONS = SO3()


@of_arguments
def step_jacobian(source: StepArguments, *, whole: bool = True) -> StepJacobian:
    """Derivatives of the step from ``x = [count; carried; packed]``, by the ``wanted`` numbers too."""
    check_differentiable(source.model, "momentum")
    problem, _ = source.problem(source.values)
    law = dry_friction_law(problem)
    if law is not None and np.any(np.asarray(law.dry_friction(source.model))):
        raise ModelError("derivatives of steps of 'momentum' are for joints without dry friction: take 'implicit'")
    start, kept, _ = layout_of(problem, source.memory).unpack(source.x[1 + CARRIED_SIZE :])
    lines, dt = Columns(source, source.memory if whole else 0), source.clock[0]
    flight = Flight(source, lines, start, kept, source.x[0] * dt, dt)
    return lines.result(flight.end(whole))


class Flight:
    """A step of ``dt`` (s) from a state."""

    def __init__(self, source: StepArguments, lines: Columns, start: State, memory: Any, t: Any, dt: Any) -> None:
        self.source, self.lines, self.start, self.t, self.dt = source, lines, start, t, dt
        self.model = model = source.problem(source.values)[0].model
        self.light = replace_gravity(model, model.base)
        self.whole = replace_gravity(model, SE3())
        """the robot on a free base, whose mass matrix has all of its momentum"""
        self.kinds = [start.pose, start.velocity, source.numbers]
        self.forces = Forces(source, self.kinds, lines)
        self.R = start.pose[:3, :3]
        full_memory = lines.along(2) if lines.widths[2] else lines.along(2, len(memory))
        self.memory = Tangent(memory, full_memory)
        self.carried = self._measured()

    # what stays as it is --------------------------------------------------------------------------------------

    def _measured(self) -> Tangent:
        """Center of mass, its velocity and the spin about it, with their derivatives."""
        model, R, lines = self.model, self.R, self.lines
        value = carried_at(model, self.start)
        m, S = model.m, model.base.selection
        q, v = lines.along(0), lines.along(1)
        d, dv = S @ q[:m], concatenate([S @ v[:m], v[m:]])
        still, velocity = still_at(self.whole, self.start.joints), concatenate([S @ self.start.twist, self.start.rates])
        h, dh = self._momentum(still, velocity, dv, q[m:])
        o, do = self._offset(self.start.joints, q[m:])
        turn, mass = skew, model.mass
        center = R @ (d[:3] - turn(o) @ d[3:] + do)
        speed = scale(1.0 / mass, R @ (dh[:3] - turn(h[:3]) @ d[3:]))
        about = h[3:6] - turn(o) @ h[:3]
        spin = R @ (dh[3:6] + turn(h[:3]) @ do - turn(o) @ dh[:3] - turn(about) @ d[3:])
        return Tangent(value, concatenate([center, speed, spin]) + self._by_numbers(carried_at, self.start))

    def _by_numbers(self, function: Any, state: State) -> Any:
        """Derivatives of a function of robot and state by masses, centers and inertias, along all columns."""
        source = self.source
        rows = len(function(self.model, state))
        if not source.varied or not source.wanted:
            return np.zeros((rows, sum(self.lines.widths)))
        D = value_and_jacobian(lambda own: function(source.problem(own)[0].model, state), source.values, self.kinds)[1]
        return D @ self.lines.along(4)

    def _momentum(self, still: State, velocity: Any, moves: Any, joints: Any) -> tuple[Any, Any]:
        """Momentum (6) of the robot in the axes of its base at a velocity (6 + n), and its derivatives."""
        M = mass_matrix(self.whole, still)[:6]
        by_q = inverse_dynamics_derivatives(self.whole, still, velocity).configuration[:6, 6:]
        return M @ velocity, M @ moves + by_q @ joints

    def _offset(self, joints: Any, moved: Any) -> tuple[Any, Any]:
        """Center of mass (3) in the base, and its derivatives by joints."""
        still = still_at(self.whole, joints)
        J = scale(1.0 / self.model.mass, mass_matrix(self.whole, still)[:3, 6:])
        return center_of_mass(self.whole, still), J @ moved

    # stages ---------------------------------------------------------------------------------------------------

    def state(self, t: Any, turn: Tangent, v: Tangent, q: Tangent) -> tuple[State, Any, Any, Any]:
        """State at a time, and the derivatives of its configuration, velocity and attitude (body-fixed)."""
        model, m, S = self.model, self.model.m, self.model.base.selection
        R, spun = self.attitude(turn)
        flight, s = Parabola(model, concatenate([np.reshape(self.t, 1), self.carried.value])), t - self.t
        there = flight.state(t, R, q.value, v.value)
        center, speed, _ = self.carried.split(3, 3)
        o, do = self._offset(q.value, q.slope)
        do = do + self._by_numbers(_center, still_at(model, q.value))
        shift = R.T @ (free_directions(model.base) @ (center.slope + scale(s, speed.slope)))
        place = shift + skew(o) @ spun - do
        along = R.T @ flight.velocity(t)
        seen = skew(along) @ spun + R.T @ speed.slope
        moved = concatenate([S[:3].T @ place + S[3:].T @ spun, q.slope])
        moves = concatenate([v.slope[:m] + S[:3].T @ seen, v.slope[m:]])
        return there, moved, moves, spun

    def attitude(self, turn: Tangent) -> tuple[Any, Any]:
        """Attitude of the base after a ``turn`` (3), and its derivatives (3 x columns, body-fixed)."""
        first = self.model.base.selection[3:] @ self.lines.along(0)[: self.model.m]
        spun = exp(-turn.value) @ first + _ROTATIONS.dexp_right(turn.value) @ turn.slope
        return self.R @ exp(turn.value), spun

    def slope(self, t: Any, y: Tangent) -> Tangent:
        """Rate of ``[turn; v; q; memory]``."""
        model, m, nv, n = self.model, self.model.m, self.model.nv, self.model.n
        turn, v, q, memory = y.split(3, nv, n)
        state, moved, moves, _ = self.state(t, turn, v, q)

        def braked(problem: Any, at: State, applied: Any) -> Any:
            step = _Step(problem, t, self.dt, None, None, None)
            return sum(step._brakes(at, applied, self.dt).values(), start=np.zeros(n))

        total, rates, brakes = self.forces.at(t, state, moved, moves, memory, braked)
        nowhere = Tangent(np.zeros(m), np.zeros((m, total.slope.shape[1])))
        on_joints = joined(nowhere, total.split(m)[1])
        at = State(np.eye(4), q.value, v.value[:m], v.value[m:])
        still = concatenate([np.zeros((m, q.slope.shape[1])), q.slope])

        def numbers(a: Any) -> Any:
            light = lambda own: replace_gravity(self.source.problem(own)[0].model, model.base)  # noqa: E731
            return body_numbers(self.source, at, a, self.kinds, light) @ self.lines.along(4, len(self.source.wanted))

        a = acceleration(self.light, at, still, v.slope, on_joints, brakes, numbers)
        w = angular_velocity(model, v.value)
        turning, D = value_and_jacobian(
            lambda z: _ROTATIONS.logarithm_rate(z[:3], z[3:]), concatenate([w, turn.value]), self.kinds
        )
        by = D @ concatenate([model.base.selection[3:] @ v.slope[:m], turn.slope])
        return joined(Tangent(turning, by), a, v.split(m)[1], rates)

    def flying(self) -> Tangent:
        """Velocity at the start, seen from the center of mass."""
        model, m, S, lines = self.model, self.model.m, self.model.base.selection, self.lines
        R, seen = self.R, Parabola(model, concatenate([np.reshape(self.t, 1), self.carried.value])).seen(self.t, self.R)
        speed, moves = self.carried.split(3, 3)[1], lines.along(1)
        less_ = S[:3].T @ (skew(R.T @ speed.value) @ (S[3:] @ lines.along(0)[:m]) + R.T @ speed.slope)
        return Tangent(self.start.velocity - seen, concatenate([moves[:m] - less_, moves[m:]]))

    def end(self, whole: bool) -> Any:
        """Derivatives of configuration, velocity and memory at the end of the step."""
        model, m, n, lines = self.model, self.model.m, self.model.n, self.lines
        width, flying = sum(lines.widths), self.flying()
        begun = joined(
            Tangent(np.zeros(3), np.zeros((3, width))),
            flying,
            Tangent(self.start.joints, lines.along(0)[m:]),
            self.memory,
        )
        slopes: list[Tangent] = []
        y = begun
        for node, weights in zip(NODES, WEIGHTS, strict=True):
            slopes.append(self.slope(self.t + node * self.dt, y))
            y = begun
            for weight, slope in zip(weights, slopes, strict=True):
                y = y + (weight * self.dt) * slope if weight else y
        turn, v, q, memory = y.split(3, model.nv, n)
        velocity = self._reconstructed(turn, v.split(m)[1], q)
        _, moved, moves, _ = self.state(self.t + self.dt, turn, velocity, q)
        return concatenate([moved, moves, *([memory.slope] if whole else [])])

    def _reconstructed(self, turn: Tangent, rates: Tangent, q: Tangent) -> Tangent:
        """Twist of the base from the spin, and the rates."""
        m, S = self.model.m, self.model.base.selection
        R, spun = self.attitude(turn)
        spin = self.carried.split(3, 3)[2]
        about = R.T @ spin.value
        twist = conserved_twist(self.light, q.value, rates.value, about)
        still = still_at(self.light, q.value)
        M = mass_matrix(self.light, still)
        velocity = concatenate([twist, rates.value])
        by_q = inverse_dynamics_derivatives(self.light, still, velocity).configuration[:m, m:]
        wanted = S[3:].T @ (R.T @ spin.slope + skew(about) @ spun)
        own = self._by_numbers(_momentum_at(velocity, m), still)
        right = wanted - M[:m, m:] @ rates.slope - by_q @ q.slope - own
        return joined(Tangent(twist, solve_tree(M[:m, :m], right, range(-1, m - 1))), rates)


def replace_gravity(model: Model, base: Any) -> Model:
    """The robot without gravity, on another base."""
    light = replace(model, base=base, gravity=np.zeros(3))
    names: tuple[str, ...] = ("mass", "idle_links", "nominal")
    known = {name: model.__dict__[name] for name in names if name in model.__dict__}
    light.__dict__.update(known)
    return light


def _center(model: Model, state: State) -> Any:
    return center_of_mass(replace_gravity(model, SE3()), State(state.pose, state.joints, np.zeros(6), state.rates))


def _momentum_at(velocity: Any, m: int) -> Any:
    """Function: momentum (m) of a robot at a state, at a velocity."""

    def function(model: Model, state: State) -> Any:
        return (mass_matrix(replace_gravity(model, model.base), state) @ velocity)[:m]

    return function
