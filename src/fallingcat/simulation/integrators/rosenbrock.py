"""The Rosenbrock method RODAS: implicit, for stiff floors, with steps of its own choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import less, solve, sqrt, where
from ...arrays.types import Scalar, Vector
from ...dynamics.checks import positive
from ..problem.vector_field import VectorField
from .rule import Rule

# The coefficients of RODAS: E. Hairer and G. Wanner, Solving Ordinary Differential Equations II, 2nd ed., section VI.4.
GAMMA = 0.25
ALPHA = (0.0, 0.386, 0.21, 0.63, 1.0, 1.0)
DRIFT = (0.25, -0.1043, 0.1035, -0.0362, 0.0, 0.0)
A = (
    (),
    (1.544000000000000,),
    (0.9466785280815826, 0.2557011698983284),
    (3.314825187068521, 2.896124015972201, 0.9986419139977817),
    (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950),
    (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 1.0),
)
C = (
    (),
    (-5.6688,),
    (-2.430093356833875, -0.2063599157091915),
    (-0.1073529058151375, -9.594562251023355, -20.47028614809616),
    (7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160),
    (8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054),
)


@dataclass(frozen=True)
class Rosenbrock(Rule):
    """Rosenbrock method of order 4 with six stages and one Jacobian.

    It is stiffly accurate, so that a hard floor damps what it should.
    ``(1 / (gamma dt) - J) k_i = f(t_i, y + sum_j a_ij k_j) + sum_j c_ij k_j / dt + d_i dt df/dt``; the last ``k`` is
    the difference to the embedded method of order 3, from which steps are chosen; ``tolerance=None`` leaves them alone.

    Example:
        >>> import fallingcat as fc
        >>> method = fc.simulation.Rosenbrock(tolerance=1e-6)
        >>> method.name, method.order, method.tolerance
        ('rosenbrock', 4, 1e-06)
    """

    tolerance: float | None = 1e-7
    name = "rosenbrock"
    order = 4
    implicit = True
    differentiates = True

    def __post_init__(self) -> None:
        if self.tolerance is not None:
            positive(self.tolerance, "tolerance")

    def step(self, field: VectorField, t: Scalar, y: Vector, dt: Scalar) -> tuple[Vector, Scalar]:
        """Six stages; the error is the last of them."""
        J, f_t = field.jacobian(t, y)
        E = np.eye(len(y)) * (1.0 / (GAMMA * dt)) - J
        ks: list[Any] = []
        for alpha, drift, a, c in zip(ALPHA, DRIFT, A, C, strict=True):
            at = y + sum((x * k for x, k in zip(a, ks, strict=True)), start=np.zeros(len(y)))
            right = field(t + alpha * dt, at) + drift * dt * f_t
            right = right + sum((x * k for x, k in zip(c, ks, strict=True)), start=np.zeros(len(y))) * (1.0 / dt)
            ks.append(solve(E, right))
        return at + ks[-1], error_size(ks[-1], y, at, self.tolerance)


def error_size(error: Vector, y: Vector, after: Vector, tolerance: float | None) -> Scalar:
    """Root mean square of ``error / (1 + |y|)``, in units of the tolerance.

    Args:
        error: Estimated error (k) of ``y``.
        y: Vector (k) at the start of the step.
        after: Vector (k) at its end.
        tolerance: Error allowed per step; None: there is none.

    Returns:
        Relative error; 0 without a tolerance.

    Example:
        >>> error_size(np.array([1e-6, 1e-6]), np.zeros(2), np.zeros(2), 1e-6)
        np.float64(1.0)
    """
    if tolerance is None:
        return 0.0
    scale = 1.0 + _larger(_size(y), _size(after))
    ratio = error / scale
    return sqrt(ratio @ ratio * (1.0 / len(y))) * (1.0 / tolerance)


def _size(y: Any) -> Any:
    return where(less(y, 0.0), -y, y)


def _larger(a: Any, b: Any) -> Any:
    return where(less(a, b), b, a)
