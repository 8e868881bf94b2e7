"""Semi-implicit Euler: first the velocity, then the configuration with the new velocity."""

from __future__ import annotations

from dataclasses import dataclass

from ...arrays import concatenate
from ...arrays.types import Scalar, Vector
from ..problem.vector_field import VectorField
from .rule import Rule


@dataclass(frozen=True)
class SemiImplicitEuler(Rule):
    """Semi-implicit Euler method of order 1, with one force evaluation per step.

    The configuration moves by ``g exp(dt v)`` with the new velocity.

    Example:
        >>> import fallingcat as fc
        >>> method = fc.simulation.SemiImplicitEuler()
        >>> method.name, method.order
        ('semi_implicit', 1)
    """

    name = "semi_implicit"
    order = 1

    def step(self, field: VectorField, t: Scalar, y: Vector, dt: Scalar) -> tuple[Vector, Scalar]:
        """Velocity first, then the configuration; no error is estimated."""
        after = y + dt * field(t, y)
        n = field.nv
        return concatenate([y[:n] + dt * after[n : 2 * n], after[n:]]), 0.0
