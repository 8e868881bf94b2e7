"""Semi-implicit Euler: first the velocity, then the configuration with the new velocity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...arrays import concatenate
from ..vector_field import Field
from .rule import Rule


@dataclass(frozen=True)
class SemiImplicitEuler(Rule):
    """Order 1, one force evaluation per step; the configuration moves by ``g exp(dt v)``."""

    name = "semi_implicit"
    order = 1

    def step(self, field: Field, t: Any, y: Any, dt: Any) -> tuple[Any, Any]:
        after = y + dt * field(t, y)
        n = field.nv
        return concatenate([y[:n] + dt * after[n : 2 * n], after[n:]]), 0.0
