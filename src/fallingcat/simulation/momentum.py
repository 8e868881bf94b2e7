"""The momentum-exact midpoint rule: free flight in which no momentum can be lost.

Seen from its center of mass a robot in free flight neither falls nor drifts: the center follows its parabola exactly,
and the angular momentum about it never changes.  What is left to integrate is the shape, by the implicit midpoint rule
in its canonical momentum, which is symplectic; the base turns along by reconstruction on the group, ``R exp(dt w)``,
with the angular velocity that momentum and shape leave it ([Mishra] (9)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..dynamics import center_of_mass, momentum
from ..errors import ModelError, NumericsError
from ..lie import SE3
from ..lie.rotations import exp, homogeneous
from ..model import State
from .compiled import shape_mechanics
from .integrator import Integrator, System

ITERATIONS, TOLERANCE = 50, 1e-15


@dataclass(frozen=True)
class MomentumMidpoint(Integrator):
    """Order 2, symmetric in time; momentum is exact to rounding, energy has no trend.

    For robots whose base is free, whose joints are angles and lengths, and on which nothing pulls but gravity.
    """

    name = "momentum"
    order = 2

    def step(self, system: System, t: float, state: State, dt: float) -> State:
        return Flight(system, t, state).step(t, state, dt)

    def flight(self, system: System, state: State) -> Flight:
        """A run of many steps, which carries the momentum along instead of measuring it anew."""
        return Flight(system, 0.0, state)


class Flight:
    """A free flight: its parabola, and its angular momentum about the center of mass (world's axes)."""

    def __init__(self, system: System, t: float, state: State) -> None:
        check(system)
        self.system, self.model, self.start = system, system.model, t
        self.mechanics = shape_mechanics(system.model)
        h = np.asarray(momentum(self.model, state, "centroidal"), dtype=float)
        self.spin = h[3:]
        self.center, self.speed = np.asarray(center_of_mass(self.model, state)), h[:3] / self.model.mass

    def step(self, t: float, state: State, dt: float) -> State:
        """The state after ``dt``; its momentum is exactly the one carried along."""
        R, q = state.pose[:3, :3], state.joints
        carried = np.concatenate([R.T @ self.parabola(t)[1], np.zeros(3)])
        twist, rates = state.twist - carried, state.rates  # as seen from the center of mass
        M, _ = self.mechanics(q, np.concatenate([twist, rates]))
        p = M[6:, :6] @ twist + M[6:, 6:] @ rates
        slope, before = np.zeros(self.model.n), np.full(self.model.nv, np.inf)
        for _ in range(ITERATIONS):
            R_mid, q_mid = R @ exp(dt / 2 * twist[3:]), q + dt / 2 * rates
            twist, rates = self._velocity(R_mid, q_mid, p + dt / 2 * slope)
            v = np.concatenate([twist, rates])
            middle = self._seen_from_world(t + dt / 2, R_mid, q_mid, twist, rates)
            slope = self.mechanics(q_mid, v)[1] + np.asarray(self.system.forces(t + dt / 2, middle))[6:]
            change, size = np.abs(v - before).max(), max(1.0, np.abs(v).max())
            before = v
            if not change > TOLERANCE * size:
                break
        if not change <= 1e-9 * size:
            raise NumericsError("the midpoint equations do not converge: take a smaller step", time=t, value=change)
        R, q = R @ exp(dt * twist[3:]), q + dt * rates
        return self._seen_from_world(t + dt, R, q, *self._velocity(R, q, p + dt * slope))

    def parabola(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Position and velocity of the center of mass at time ``t``."""
        s, g = t - self.start, self.model.gravity
        return self.center + s * self.speed + 0.5 * s * s * g, self.speed + s * g

    def _velocity(self, R: np.ndarray, q: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Twist and rates, seen from the center of mass, with the carried spin and the shape momentum ``p``."""
        M, _ = self.mechanics(q, np.zeros(self.model.nv))
        v = np.linalg.solve(M, np.concatenate([np.zeros(3), R.T @ self.spin, p]))
        return v[:6], v[6:]

    def _seen_from_world(self, t: float, R: np.ndarray, q: np.ndarray, twist: np.ndarray, rates: np.ndarray) -> State:
        """The state whose center of mass lies on the parabola."""
        M, _ = self.mechanics(q, np.zeros(self.model.nv))
        offset = np.array([M[1, 5], -M[0, 5], M[0, 4]]) / self.model.mass  # from the block -m skew(c) of M
        center, speed = self.parabola(t)
        return State(homogeneous(R, center - R @ offset), q, twist + np.concatenate([R.T @ speed, np.zeros(3)]), rates)


def check(system: System) -> None:
    """Refuses robots and forces that this rule is not for, by name."""
    model = system.model
    if system.external:
        raise ModelError("the momentum-exact integrator takes joint forces only: nothing may pull on the base")
    if not isinstance(model.base, SE3):
        raise ModelError(f"the momentum-exact integrator needs a free base, not {model.base}")
    for joint in model.joints:
        group = joint.kind.group
        if group.nq != group.dim or np.any(group.ad(np.ones(group.dim))):
            raise ModelError(f"joint {joint.name!r}: the momentum-exact integrator takes angles and lengths only")
