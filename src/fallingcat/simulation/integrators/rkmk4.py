"""Runge-Kutta-Munthe-Kaas of order 4: classical Runge-Kutta in exponential coordinates around the start of the step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import concatenate, less, where, while_loop
from ...arrays.types import Scalar, Vector
from ...arrays.while_loop import loops_here
from ..problem.vector_field import VectorField
from .rule import Rule

MIN_LOOPED_NV = 30
"""Degrees of freedom from which on the four stages are one loop of machine code, which is made in a third of the time.
Many smaller robots at once would take 20 % longer."""


@dataclass(frozen=True)
class RKMK4(Rule):
    """Runge-Kutta-Munthe-Kaas method of order 4.

    The configuration stays on its group: each stage is ``g exp(x)`` with ``dx/dt = dexp^-1(x) v``.

    Example:
        >>> import fallingcat as fc
        >>> method = fc.simulation.RKMK4()
        >>> method.name, method.order
        ('rkmk4', 4)
    """

    name = "rkmk4"
    order = 4
    combines = True

    def step(self, field: VectorField, t: Scalar, y: Vector, dt: Scalar) -> tuple[Vector, Scalar]:
        """Four stages; no error is estimated."""
        if field.nv > MIN_LOOPED_NV and loops_here(y):
            return y + dt / 6.0 * _weighted_slopes(field, t, y, dt), 0.0
        k1 = field(t, y)
        k2 = field(t + 0.5 * dt, y + 0.5 * dt * k1)
        k3 = field(t + 0.5 * dt, y + 0.5 * dt * k2)
        k4 = field(t + dt, y + dt * k3)
        return y + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), 0.0


def _weighted_slopes(field: VectorField, t: Any, y: Any, dt: Any) -> Any:
    """``k1 + 2 k2 + 2 k3 + k4``, the field written once."""

    def stage(x: Any) -> tuple[Any, Any]:
        number, (k, total) = x[0], x[1:].reshape(2, -1)
        inner = where(less(0.5, number), where(less(number, 2.5), 1.0, 0.0), 0.0)
        ahead = dt * where(less(number, 0.5), 0.0, where(less(number, 2.5), 0.5, 1.0))
        found = field(t + ahead, y + ahead * k)
        return concatenate([np.reshape(number + 1.0, 1), found, total + (1.0 + inner) * found]), number - 2.5

    begun = concatenate([np.zeros(1), y, np.zeros(len(y))])  # what stands for k before the first stage counts nothing
    return while_loop(stage, begun, 4)[1 + len(y) :]
