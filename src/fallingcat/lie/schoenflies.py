"""X(z): translations and rotations about the vertical; pick-and-place machines, hovering vehicles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import array, concatenate
from ..arrays.types import Float_6_m, Floats_nq, Matrix_m_m, Pose, Vector, Vector_m, Vector_nq
from ..caching import cached_property
from .group import Group, constant
from .rotations import about, angle_about, homogeneous
from .rotations import left_jacobian as jacobian
from .rotations import left_jacobian_inverse as jacobian_inverse

_Z = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Schoenflies(Group):
    """Schoenflies motions X(z); ``x = [vx, vy, vz, wz]``, coordinates ``[x, y, z, angle]``.

    Example:
        >>> Schoenflies().ad(np.array([1.0, 2.0, 3.0, 4.0])) @ np.array([0.0, 0.0, 1.0, 0.0])
        array([0., 0., 0., 0.])
    """

    name = "X(z)"
    dim = 4
    coordinate_names = ("x", "y", "z", "angle")

    # exp, log -------------------------------------------------------------------------------------------------

    def exp(self, x: Vector_m) -> Pose:
        """Exponential map of ``[vx, vy, vz, wz]``."""
        return homogeneous(about(_Z, x[3]), jacobian(self.selection[3:] @ x) @ x[:3])

    def log(self, g: Pose) -> Vector_m:
        """Logarithm ``[vx, vy, vz, wz]``."""
        w = array([0.0, 0.0, angle_about(_Z, g[:3, :3])])
        return concatenate([jacobian_inverse(w) @ g[:3, 3], w[2:]])

    # Ad, ad, adt ----------------------------------------------------------------------------------------------

    def Ad(self, g: Pose) -> Matrix_m_m:
        """Adjoint matrix (4 x 4)."""
        (c, s), x, y = (g[0, 0], g[1, 0]), g[0, 3], g[1, 3]
        return array([[c, -s, 0.0, y], [s, c, 0.0, -x], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])

    def ad(self, x: Vector) -> Matrix_m_m:
        """Matrix of the Lie bracket (4 x 4)."""
        u, v, r = x[0], x[1], x[3]
        return array([[0.0, -r, 0.0, v], [r, 0.0, 0.0, -u], [0.0] * 4, [0.0] * 4])

    def adt(self, h: Vector) -> Matrix_m_m:
        """Transposed bracket (4 x 4), skew."""
        return array([[0.0, 0.0, 0.0, h[1]], [0.0, 0.0, 0.0, -h[0]], [0.0] * 4, [-h[1], h[0], 0.0, 0.0]])

    # selection matrix -----------------------------------------------------------------------------------------

    @cached_property
    def selection(self) -> Float_6_m:
        """Selection matrix (6 x 4)."""
        return constant(np.eye(6)[:, [0, 1, 2, 5]])

    # flat coordinates -----------------------------------------------------------------------------------------

    def coordinates(self, g: Pose) -> Vector_nq:
        """Flat coordinates ``[x, y, z, angle]`` of an element."""
        return array([g[0, 3], g[1, 3], g[2, 3], angle_about(_Z, g[:3, :3])])

    def element(self, q: Vector_nq) -> Pose:
        """Element with the flat coordinates ``[x, y, z, angle]``."""
        return homogeneous(about(_Z, q[3]), q[:3])

    # random ---------------------------------------------------------------------------------------------------

    def random_coordinates(self, rng: np.random.Generator, *batch: int) -> Floats_nq:
        """Flat coordinates of random elements: positions normal, angle uniform."""
        parts = rng.normal(size=(*batch, 3)), rng.uniform(-np.pi, np.pi, size=(*batch, 1))
        return np.concatenate(parts, axis=-1)
