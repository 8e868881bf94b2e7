"""An integrator of one's own: Heun's rule, with steps of its own choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fallingcat.simulation import Rule, VectorField, error_size


@dataclass(frozen=True)
class Heun(Rule):
    """Order 2: the slope at the start and at the end of an Euler step, averaged; their difference is the error."""

    tolerance: float | None = None
    name = "heun"
    order = 2

    def step(self, field: VectorField, t: Any, y: Any, dt: Any) -> tuple[Any, Any]:
        first = field(t, y)
        second = field(t + dt, y + dt * first)
        after = y + (0.5 * dt) * (first + second)
        return after, error_size((0.5 * dt) * (second - first), y, after, self.tolerance)
