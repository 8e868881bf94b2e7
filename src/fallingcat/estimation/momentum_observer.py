"""Observer of external forces from the generalized momentum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import scale
from ..arrays.arguments import as_number
from ..arrays.types import Matrix_N_3, Scalar, Vector, Vector_nv
from ..dynamics import coriolis_matrix, gravity_forces, jacobian, mass_matrix
from ..dynamics.checks import check_fields, check_model, vector
from ..errors import ModelError, describe
from ..model import Model, State
from ..records import concise


@concise
class ObserverState(NamedTuple):
    """State of a :class:`MomentumObserver` at one time.

    Example:
        >>> ObserverState._fields
        ('momentum', 'drift', 'residual')
    """

    momentum: Vector_nv
    """``M v`` (nv; kg m/s, kg m^2/s)"""
    drift: Vector_nv
    """``C' v - g`` (nv): rate of the momentum without forces"""
    residual: Vector_nv
    """Estimate of the external forces (nv; N, N m)"""


@concise
@dataclass(frozen=True)
class MomentumObserver:
    """Generalized-momentum observer: external forces without accelerations or force sensors.

    ``d(M v)/dt = C' v - g + tau + tau_ext`` holds for every Coriolis matrix with ``dM/dt = C + C'``, in body-fixed
    velocities of a floating base too; the residual follows ``dr/dt = gain (tau_ext - r)``.

    Example:
        >>> import fallingcat as fc
        >>> body = fc.robots.free_body()
        >>> observer = MomentumObserver(body, gain=100.0)
        >>> seen = observer.begin(body.neutral())
        >>> for k in range(1, 101):  # it stands in the world although it is not held: something carries its weight
        ...     seen = observer.step(seen, body.neutral(), np.zeros(6), 1e-3)
        >>> bool(np.allclose(seen.residual[2], 9.81 * body.mass, rtol=1e-3))
        True
    """

    model: Model
    gain: float = 100.0
    """1/s: the residual reaches 63 % of a step of force after 1 / gain"""

    def __post_init__(self) -> None:
        check_model(self.model)
        if isinstance(self.gain, bool) or not isinstance(self.gain, (int, float)) or not 0.0 < self.gain < np.inf:
            raise ModelError(f"gain must be positive and finite (1/s), got {describe(self.gain)}")

    def begin(self, state: State) -> ObserverState:
        """State of the observer at the start, with no residual.

        Args:
            state: State of the robot.

        Returns:
            State of the observer.
        """
        check_fields(self.model, state)
        momentum, drift = _momentum_and_drift(self.model, state)
        return ObserverState(momentum, drift, np.zeros(self.model.nv))

    def step(self, before: ObserverState, state: State, forces: Vector_nv, dt: Scalar) -> ObserverState:
        """State of the observer one period later.

        ``r+ = (r + gain (p+ - p - dt (tau + drift))) / (1 + gain dt)``: implicit, stable for every gain, with the mean
        of the drift at both ends.

        Args:
            before: One period before.
            state: State of the robot now.
            forces: Known generalized forces over the period, nv (zero for a floating base, then joint torques).
            dt: Period (s).

        Returns:
            State of the observer now.
        """
        forces = vector(forces, self.model.nv, "forces (of base and joints)")
        check_fields(self.model, state)
        if not isinstance(before, ObserverState):
            raise ModelError(f"before must be the last ObserverState, such as of begin, got {describe(before)}")
        as_number(dt, "dt")
        momentum, drift = _momentum_and_drift(self.model, state)
        known = scale(dt, forces + 0.5 * (before.drift + drift))
        innovation = before.residual + self.gain * (momentum - before.momentum - known)
        return ObserverState(momentum, drift, scale(1.0 / (1.0 + self.gain * dt), innovation))

    def contact_forces(self, state: State, residual: Vector_nv, feet: Sequence[str]) -> Matrix_N_3:
        """Forces at points that explain a residual best, ``J' f = r`` by least squares.

        Args:
            state: Configuration.
            residual: Estimate of the external forces (nv).
            feet: Frames or links.

        Returns:
            ``N x 3``: forces on the robot at the points, world axes (N).
        """
        residual = vector(residual, self.model.nv, "residual")
        if not isinstance(feet, (list, tuple)) or not feet:
            raise ModelError(f"feet must be a list of names of links and frames, got {describe(feet)}")
        J = np.concatenate([np.asarray(jacobian(self.model, state, foot, "mixed"))[:3] for foot in feet])
        # more equations than forces (three joints in a leg): what acts elsewhere is left over
        return np.linalg.lstsq(J.T, np.asarray(residual), rcond=None)[0].reshape(-1, 3)


def _momentum_and_drift(model: Model, state: State) -> tuple[Vector, Vector]:
    v = state.velocity
    # dp/dt = dM/dt v + M dv/dt = (C + C') v + tau - C v - g: what is left is C' v - g, for Christoffel's C
    return mass_matrix(model, state) @ v, coriolis_matrix(model, state).T @ v - gravity_forces(model, state)
