"""A contact of one's own: the floor of Hunt and Crossley, ``F = K d^(3/2) (1 + D dd/dt)`` at the depth ``d``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fallingcat import Model, State
from fallingcat.arrays import concatenate, maximum, sqrt
from fallingcat.contact import Contact, Jump, plane, point_jacobian, position
from fallingcat.contact.contact import Mode


@dataclass(frozen=True)
class HuntCrossley(Contact):
    """The force grows from zero, unlike that of a damper; friction is Coulomb's, smooth below ``slip`` (m/s)."""

    points: tuple[str, ...]
    stiffness: float
    """N / m^1.5"""
    damping: float
    """s/m"""
    friction: float = 0.0
    slip: float = 1e-2

    ports = ("floor",)
    asks_forces = False
    stiff = True

    def begin(self, model: Model, state: State) -> tuple[Mode, np.ndarray]:
        return tuple(bool(self.height(model, state, point) < 0.0) for point in self.points), np.zeros(0)

    def touching(self, mode: Mode) -> frozenset[str]:
        return frozenset(point for point, touches in zip(self.points, mode, strict=True) if touches)

    def guards(self, model: Model, mode: Mode, state: State, memory: Any, applied: Any) -> Any:
        heights = [self.height(model, state, point) for point in self.points]
        signed = [-h if touches else h for h, touches in zip(heights, mode, strict=True)]
        return concatenate([np.zeros(0), *(np.reshape(h, 1) for h in signed)])

    def jump(self, model: Model, mode: Mode, guard: int, state: State, memory: np.ndarray, applied: np.ndarray) -> Jump:
        lands = not mode[guard]
        mode = (*mode[:guard], lands, *mode[guard + 1 :])
        return Jump(f"{'touchdown' if lands else 'lift-off'} {self.points[guard]}", mode, state, memory)

    def forces(self, model: Model, mode: Mode, state: State, memory: Any, applied: Any) -> dict[str, Any]:
        axes, total = plane(model).axes, np.zeros(model.nv)
        for point, touches in zip(self.points, mode, strict=True):
            if touches:
                J = axes @ point_jacobian(model, state, point)
                v, depth = J @ state.velocity, maximum(-self.height(model, state, point), 1e-12)
                push = maximum(self.stiffness * depth * sqrt(depth) * (1.0 - self.damping * v[0]), 0.0)
                drag = -self.friction * push * v[1:] / sqrt(v[1:] @ v[1:] + self.slip * self.slip)
                total = total + J[0] * push + J[1:].T @ drag
        return {"floor": total}

    @staticmethod
    def height(model: Model, state: State, point: str) -> Any:
        """Of a point over the plane through the origin (m)."""
        return plane(model).normal @ position(model, state, point)
