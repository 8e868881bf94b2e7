"""Predictive control of contact forces: one rigid body over a horizon, as a convex quadratic program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..arrays import skew
from ..arrays.types import Float_3_3, FloatArray
from ..dynamics.checks import positive
from ..errors import ModelError, NumericsError, describe
from ..lie import SO3
from ..qp.hqp_reference import limited_least_squares
from ..qp.least_squares import Level
from ..qp.warm_started_hqp import Stack, solve_warm_started
from ..records import concise

STATE_SIZE = 12
"""Numbers of a state: rotation vector, position, angular velocity, velocity; world axes."""
WEIGHTS = (50.0, 50.0, 50.0, 50.0, 50.0, 50.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
"""Weights of errors of a state (1/rad^2, 1/m^2, s^2/rad^2, s^2/m^2)."""


@concise
class PredictedForces(NamedTuple):
    """Forces and motion over the horizon.

    Example:
        >>> PredictedForces._fields
        ('forces', 'states', 'optimality')
    """

    forces: FloatArray
    """``horizon x feet x 3``: on the robot, world axes (N)"""
    states: FloatArray
    """``horizon x 12``: after each period"""
    optimality: float
    """largest violation of the optimality conditions, relative to the gradients"""


@concise
@dataclass(frozen=True)
class RigidBodyMPC:
    """Contact forces that carry a rigid body along a reference, over a horizon.

    The body has the mass and the inertia of the robot in its posture; rotations from the reference are small.  Forces
    are constant in each period, inside pyramids inside their friction cones, and zero at feet that do not stand.  The
    sum of weighted squared errors of the states and of ``effort`` times squared forces becomes least: a convex
    quadratic program, solved by the library's own solver.

    Args:
        mass: kg.
        inertia: About the center of mass, body axes (3 x 3, kg m^2).
        dt: Period (s).
        horizon: Number of periods.
        friction: Friction coefficient.
        most: Largest upward force of a foot (N).
        weights: Weights of the errors of rotation, position, angular velocity and velocity (12).
        effort: Weight of squared forces (1/N^2).
        gravity: Acceleration of gravity, downwards (m/s^2).

    Example:
        >>> mpc = RigidBodyMPC(18.0, np.diag([0.2, 0.6, 0.7]), dt=0.03, horizon=5)
        >>> state = np.zeros(12); state[5] = 0.3  # m: center of mass 0.3 m above the feet
        >>> feet = np.array([[x, y, 0.0] for x in (0.2, -0.2) for y in (0.15, -0.15)])
        >>> found = mpc.solve(state, np.tile(state, (5, 1)), np.tile(feet, (5, 1, 1)), np.ones((5, 4)))
        >>> found.forces[0, :, 2].round()  # N: a quarter of the weight each
        array([44., 44., 44., 44.])
    """

    mass: float
    inertia: Float_3_3
    dt: float = 0.03
    horizon: int = 10
    friction: float = 0.6
    most: float = 1e3
    weights: tuple[float, ...] = WEIGHTS
    effort: float = 1e-7
    gravity: float = 9.81

    def __post_init__(self) -> None:
        """Check the fields."""
        for name in ("mass", "dt", "friction", "most", "effort", "gravity"):
            positive(getattr(self, name), f"{name} of a RigidBodyMPC")
        try:
            inertia = np.asarray(self.inertia, dtype=float)
        except (TypeError, ValueError):
            inertia = np.zeros(0)
        even = inertia.shape == (3, 3) and np.isfinite(inertia).all() and np.allclose(inertia, inertia.T)
        if not even or np.linalg.eigvalsh(inertia).min() <= 0.0:
            raise ModelError(f"inertia must be a positive definite 3 x 3 matrix, got {describe(self.inertia)}")
        object.__setattr__(self, "inertia", inertia)
        if isinstance(self.horizon, bool) or not isinstance(self.horizon, int) or self.horizon < 1:
            raise ModelError(f"horizon must be a positive number of periods, got {describe(self.horizon)}")
        if np.shape(self.weights) != (STATE_SIZE,) or not (np.asarray(self.weights) >= 0.0).all():
            raise ModelError(f"weights must be {STATE_SIZE} numbers, not negative, got {describe(self.weights)}")

    def solve(self, state: Any, reference: Any, feet: Any, contacts: Any) -> PredictedForces:
        """Forces over the horizon.

        Args:
            state: Rotation vector (rad), position of the center of mass (m), angular velocity (rad/s) and velocity
                (m/s), world axes (12).
            reference: Wanted states after each period (horizon x 12).
            feet: Places of the feet in each period (horizon x feet x 3, m).
            contacts: Mask of the feet that stand in each period (horizon x feet).

        Returns:
            Forces (horizon x feet x 3), predicted states and the residual of the optimality conditions.
        """
        x0, wanted = (
            _checked_array(state, (STATE_SIZE,), "state"),
            _checked_array(reference, (self.horizon, STATE_SIZE), "reference"),
        )
        given = np.asarray(contacts)
        if given.ndim == 2 and not np.isin(given, (0, 1)).all():
            raise ModelError("contacts must be 0 or 1: the mask of the feet that stand in each period")
        mask = given > 0
        places = _checked_array(feet, (*mask.shape, 3), "feet") if mask.ndim == 2 else np.zeros(0)
        if len(places) != self.horizon:
            raise ModelError(f"contacts must have shape ({self.horizon}, feet), got {np.shape(contacts)}")
        stands = [(k, int(i)) for k in range(self.horizon) for i in np.flatnonzero(mask[k])]
        drift, B = self._prediction(x0, wanted, places, stands)
        found, optimality = self._optimal_forces(B, (wanted - drift).reshape(-1), len(stands))
        forces = np.zeros((*mask.shape, 3))
        for j, (k, i) in enumerate(stands):
            forces[k, i] = found[3 * j : 3 * j + 3]
        return PredictedForces(forces, drift + (B @ found).reshape(-1, STATE_SIZE), optimality)

    def _prediction(
        self, x0: FloatArray, wanted: FloatArray, places: FloatArray, stands: list[tuple[int, int]]
    ) -> tuple[FloatArray, FloatArray]:
        """States without forces (horizon x 12), and their derivative along forces (12 horizon x 3 stands)."""
        dt, eye = self.dt, np.eye(3)
        A = np.eye(STATE_SIZE)
        A[:6, 6:] = dt * np.eye(6)
        fall = np.zeros(STATE_SIZE)
        fall[5], fall[11] = -0.5 * dt**2 * self.gravity, -dt * self.gravity
        drift, x = np.zeros((self.horizon, STATE_SIZE)), x0
        B, now = np.zeros((self.horizon * STATE_SIZE, 3 * len(stands))), np.zeros((STATE_SIZE, 3 * len(stands)))
        for k in range(self.horizon):
            x, now = A @ x + fall, A @ now
            R = _rotation(wanted[k, :3])
            turn = np.linalg.inv(R @ self.inertia @ R.T)
            for j, (period, i) in enumerate(stands):
                if period == k:
                    spin, push = turn @ skew(places[k, i] - wanted[k, 3:6]), eye / self.mass
                    now[:, 3 * j : 3 * j + 3] += np.vstack(
                        [0.5 * dt**2 * spin, 0.5 * dt**2 * push, dt * spin, dt * push]
                    )
            drift[k], B[STATE_SIZE * k : STATE_SIZE * (k + 1)] = x, now
        return drift, B

    def _optimal_forces(self, B: FloatArray, error: FloatArray, stands: int) -> tuple[FloatArray, float]:
        """Forces that make the cost least within the pyramids, and the residual of the optimality conditions."""
        n, mu = 3 * stands, self.friction / np.sqrt(2.0)
        if not n:
            return np.zeros(0), 0.0
        scale = self.mass * self.gravity  # unknowns near 1
        faces = np.array([[1, 0, -mu], [-1, 0, -mu], [0, 1, -mu], [0, -1, -mu], [0, 0, 1.0]])
        G, h = np.kron(np.eye(stands), faces), np.tile([0.0, 0.0, 0.0, 0.0, self.most / scale], stands)
        rows, value = np.vstack([B * scale, np.eye(n)]), np.append(error, np.zeros(n))
        weight = np.append(np.tile(self.weights, self.horizon), np.full(n, self.effort * scale**2))
        stack = Stack(rows, value, weight, (0, len(rows)))
        quick = solve_warm_started(stack, np.eye(n), G, h, np.zeros(len(h), dtype=bool))
        if quick is not None:
            return scale * quick.x, quick.residual
        slow = limited_least_squares([Level(rows, value, weight)], G, h, n)
        return scale * slow.x, slow.residual


def _checked_array(x: Any, shape: tuple[int, ...], name: str) -> FloatArray:
    """Finite numbers of a shape."""
    try:
        found = np.asarray(x, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"{name} must have shape {shape}, got {describe(x)}") from None
    if found.shape != shape:
        raise ModelError(f"{name} must have shape {shape}, got {found.shape}")
    if not np.isfinite(found).all():
        raise NumericsError(f"{name} must be finite, got {describe(x)}")
    return found


def _rotation(vector: FloatArray) -> FloatArray:
    """Rotation (3 x 3) of a rotation vector."""
    return np.asarray(SO3().exp(vector))[:3, :3]
