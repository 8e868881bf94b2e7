"""Covariance of a Kalman filter on a group: noise of a period, and update by a measurement."""

from __future__ import annotations

import numpy as np

from ..arrays import block, mirror, scale, solve
from ..arrays.types import Matrix, Scalar, Vector
from ..lie import SEk3
from .belief import Belief
from .error_coordinates import ErrorCoordinates
from .sensors import IMU


def process_noise(imu: IMU, slip: float, out: Matrix, B: Matrix, dt: Scalar) -> Matrix:
    """Covariance that one period (s) adds: noise of the readings, slip of the feet, walks of the biases.

    ``B`` maps noise of the readings to right-invariant errors of position, velocity, feet and rotation, and ``out``
    these to errors of the filter.
    """
    white = np.repeat([imu.gyro**2, imu.accelerometer**2], 3)
    walks = np.repeat([imu.gyro_walk**2, imu.accelerometer_walk**2], 3)
    slips = np.concatenate([np.zeros(6), np.full(len(B) - 9, slip**2), np.zeros(3)])
    # noise of readings has the variance density / dt over a period, and B a factor dt: dt in all, as walks have
    N = out @ (scale(1.0 / dt, (B * white) @ B.T) + scale(dt, np.diag(slips))) @ out.T
    return block([[N, np.zeros((len(N), 6))], [np.zeros((6, len(N))), scale(dt, np.diag(walks))]])


def kalman_update(
    coordinates: ErrorCoordinates, group: SEk3, belief: Belief, z: Vector, H: Matrix, noise: Matrix
) -> Belief:
    """Kalman update with ``z = H error + noise``."""
    P = belief.covariance
    PH = P @ H.T
    # S is mirrored: rounding makes it unsymmetric, and errors of symmetry would grow from step to step
    K = solve(mirror(H @ PH + noise), PH.T).T
    correction = K @ z
    after = coordinates.correct(group, belief.element, correction[:-6])
    return Belief(after, belief.bias - correction[-6:], mirror(P - K @ PH.T))
