"""Runge-Kutta-Munthe-Kaas of order 4: classical Runge-Kutta in exponential coordinates around the start of the step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .field import Field
from .rule import Rule


@dataclass(frozen=True)
class RKMK4(Rule):
    """The configuration stays on its group: each stage is ``g exp(x)`` with ``dx/dt = dexp^-1(x) v``."""

    name = "rkmk4"
    order = 4

    def step(self, field: Field, t: Any, y: Any, dt: Any) -> tuple[Any, Any]:
        k1 = field(t, y)
        k2 = field(t + 0.5 * dt, y + 0.5 * dt * k1)
        k3 = field(t + 0.5 * dt, y + 0.5 * dt * k2)
        k4 = field(t + dt, y + dt * k3)
        return y + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), 0.0
