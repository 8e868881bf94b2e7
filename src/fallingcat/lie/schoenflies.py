"""X(z): translations and rotations about the vertical; pick-and-place machines, hovering vehicles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import array, concatenate
from ..caching import cached_property
from .group import Group, constant
from .rotations import about, angle_about, homogeneous
from .rotations import left_jacobian as jacobian
from .rotations import left_jacobian_inverse as jacobian_inverse

_Z = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Schoenflies(Group):
    """Schoenflies motions X(z); ``x = [vx, vy, vz, wz]``, coordinates ``[x, y, z, angle]``.

    >>> Schoenflies().ad(np.array([1.0, 2.0, 3.0, 4.0])) @ np.array([0.0, 0.0, 1.0, 0.0])
    array([0., 0., 0., 0.])
    """

    name = "X(z)"
    dim = 4
    coordinate_names = ("x", "y", "z", "angle")

    # exp, log -------------------------------------------------------------------------------------------------

    def exp(self, x: Any) -> Any:
        return homogeneous(about(_Z, x[3]), jacobian(self.selection[3:] @ x) @ x[:3])

    def log(self, g: Any) -> Any:
        w = array([0.0, 0.0, angle_about(_Z, g[:3, :3])])
        return concatenate([jacobian_inverse(w) @ g[:3, 3], w[2:]])

    # Ad, ad, adt ----------------------------------------------------------------------------------------------

    def Ad(self, g: Any) -> Any:
        (c, s), x, y = (g[0, 0], g[1, 0]), g[0, 3], g[1, 3]
        return array([[c, -s, 0.0, y], [s, c, 0.0, -x], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])

    def ad(self, x: Any) -> Any:
        u, v, r = x[0], x[1], x[3]
        return array([[0.0, -r, 0.0, v], [r, 0.0, 0.0, -u], [0.0] * 4, [0.0] * 4])

    def adt(self, h: Any) -> Any:
        return array([[0.0, 0.0, 0.0, h[1]], [0.0, 0.0, 0.0, -h[0]], [0.0] * 4, [-h[1], h[0], 0.0, 0.0]])

    # selection matrix -----------------------------------------------------------------------------------------

    @cached_property
    def selection(self) -> np.ndarray:
        return constant(np.eye(6)[:, [0, 1, 2, 5]])

    # flat coordinates -----------------------------------------------------------------------------------------

    def coordinates(self, g: Any) -> Any:
        return array([g[0, 3], g[1, 3], g[2, 3], angle_about(_Z, g[:3, :3])])

    def element(self, q: Any) -> Any:
        return homogeneous(about(_Z, q[3]), q[:3])

    # random ---------------------------------------------------------------------------------------------------

    def random_coordinates(self, rng: np.random.Generator, *batch: int) -> np.ndarray:
        parts = rng.normal(size=(*batch, 3)), rng.uniform(-np.pi, np.pi, size=(*batch, 1))
        return np.concatenate(parts, axis=-1)
