"""A contact of one's own: the floor of Hunt and Crossley, ``F = K d^(3/2) (1 + D dd/dt)`` at the depth ``d``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fallingcat import Model
from fallingcat.arrays import array, concatenate, maximum, sqrt
from fallingcat.contact import CompliantContact, Plane, plane


@dataclass(frozen=True)
class HuntCrossley(CompliantContact):
    """The force grows from zero, unlike that of a damper; friction is Coulomb's, smooth below ``slip`` (m/s)."""

    points: tuple[str, ...]
    stiffness: float
    """N / m^1.5"""
    damping: float
    """s/m"""
    friction: float = 0.0
    slip: float = 1e-2

    def ground(self, model: Model) -> Plane:
        return plane(model)

    def point_force(self, position: Any, velocity: Any) -> Any:
        depth, v = maximum(-position[0], 1e-12), velocity[1:]
        push = maximum(self.stiffness * depth * sqrt(depth) * (1.0 - self.damping * velocity[0]), 0.0)
        drag = -self.friction * push * v / sqrt(v @ v + self.slip * self.slip)
        return concatenate([array([push]), drag])

    def point_gains(self, position: Any, velocity: Any) -> tuple[Any, Any]:
        depth, v = maximum(-position[0], 1e-12), velocity[1:]
        spring = self.stiffness * sqrt(depth)
        push = maximum(spring * depth * (1.0 - self.damping * velocity[0]), 0.0)
        stiff, rub = 1.5 * push / depth, self.friction * push / sqrt(v @ v + self.slip * self.slip)
        return array([stiff, 0.0, 0.0]), array([self.damping * spring * depth, rub, rub])
