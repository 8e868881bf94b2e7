"""Drag of a fluid on a body, by the box that has its inertia: MuJoCo's inertia-based model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ..arrays import absolute, concatenate, cross
from ..arrays.types import Matrix_3_3, Vector_3
from ..records import concise
from .body import frozen_array, frozen_pose
from .force_elements import KINDS, ForceElement, LinkMotion, Wrenches, finite, force_at


@concise
@dataclass(frozen=True, eq=False)
class FluidDrag(ForceElement):
    """Drag on a box: quadratic by the density of the fluid, linear by its viscosity.

    With the sides ``s`` of the box, its mean side ``d``, velocity ``v`` and angular velocity ``w`` along its axes and
    relative to the wind, along axis ``i`` (``j``, ``k`` the others)

    ``f_i = -density s_j s_k |v_i| v_i / 2 - 3 pi viscosity d v_i``,
    ``t_i = -density s_i (s_j^4 + s_k^4) |w_i| w_i / 64 - pi viscosity d^3 w_i``.

    Example:
        >>> FluidDrag("hull", "hull", (2.0, 1.0, 0.5), density=1000.0).viscosity
        0.0
    """

    name: str
    """name of the element"""
    place: str
    """link or frame"""
    sides: Vector_3
    """``3``: of the box (m)"""
    density: float = 0.0
    """kg/m^3"""
    viscosity: float = 0.0
    """Pa s"""
    wind: Vector_3 = field(default_factory=lambda: np.zeros(3))
    """``3``: velocity of the fluid, world axes (m/s)"""
    center: Vector_3 = field(default_factory=lambda: np.zeros(3))
    """``3``: center of the box, in the frame of ``place`` (m)"""
    axes: Matrix_3_3 = field(default_factory=lambda: np.eye(3))
    """``3 x 3``: axes of the box as columns, in the frame of ``place``"""
    port: ClassVar[str] = "fluid"

    def __post_init__(self) -> None:
        for part, shape in (("sides", (3,)), ("wind", (3,)), ("center", (3,)), ("axes", (3, 3))):
            object.__setattr__(self, part, frozen_array(getattr(self, part), shape, f"{part} of {self.name!r}"))
        H = np.eye(4)
        H[:3, :3] = self.axes
        frozen_pose(H, f"axes of {self.name!r}")
        for part in ("density", "viscosity"):
            object.__setattr__(self, part, finite(getattr(self, part), f"{part} of {self.name!r}", 0.0))

    @property
    def places(self) -> tuple[str, ...]:
        """The link or frame that moves through the fluid."""
        return (self.place,)

    def wrenches(self, motion: LinkMotion) -> Wrenches:
        """Drag on the box."""
        H, twist = motion.pose(self.place), motion.twist(self.place)
        R, p = H[:3, :3] @ self.axes, H[:3, :3] @ self.center + H[:3, 3]
        wind = motion.pose(None)[:3, :3] @ self.wind
        v, w = R.T @ (twist[:3] + cross(twist[3:], p) - wind), R.T @ twist[3:]
        x, y, z = self.sides.tolist()
        mean = (x + y + z) / 3.0
        areas, fourth = np.array([y * z, x * z, x * y]), np.array([x, y, z]) ** 4
        lever = np.array([x, y, z]) * (fourth.sum() - fourth) / 64.0
        force = -(0.5 * self.density * areas * absolute(v) + 3.0 * np.pi * self.viscosity * mean) * v
        torque = -(self.density * lever * absolute(w) + np.pi * self.viscosity * mean**3) * w
        return [(self.place, force_at(p, R @ force) + concatenate([np.zeros(3), R @ torque]))]


def equivalent_box(mass: float, moments: np.ndarray) -> np.ndarray:
    """Sides (3; m) of the uniform box with a mass and principal moments of inertia (3).

    Example:
        >>> equivalent_box(12.0, np.array([13.0, 10.0, 5.0]))
        array([1., 2., 3.])
    """
    return np.sqrt(np.maximum(0.0, (0.5 * moments.sum() - moments) * 12.0 / mass))


KINDS.add("fluid_drag", FluidDrag)
