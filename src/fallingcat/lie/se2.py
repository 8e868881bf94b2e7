"""SE(2): motions of the x-y plane; a planar base."""

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
class SE2(Group):
    """Planar motions; ``x = [vx, vy, wz]``, coordinates ``[x, y, angle]``.

    Example:
        >>> SE2().coordinates(SE2().element(np.array([1.0, 2.0, 0.5])))
        array([1. , 2. , 0.5])
    """

    name = "SE(2)"
    dim = 3
    coordinate_names = ("x", "y", "angle")

    # exp, log -------------------------------------------------------------------------------------------------

    def exp(self, x: Vector_m) -> Pose:
        """Exponential map of ``[vx, vy, wz]``."""
        v, w = self.selection[:3] @ x, self.selection[3:] @ x
        return homogeneous(about(_Z, x[2]), jacobian(w) @ v)

    def log(self, g: Pose) -> Vector_m:
        """Logarithm ``[vx, vy, wz]``."""
        angle = angle_about(_Z, g[:3, :3])
        v = jacobian_inverse(array([0.0, 0.0, angle])) @ g[:3, 3]
        return array([v[0], v[1], angle])

    # Ad, ad, adt ----------------------------------------------------------------------------------------------

    def Ad(self, g: Pose) -> Matrix_m_m:
        """Adjoint matrix (3 x 3)."""
        return array([[g[0, 0], g[0, 1], g[1, 3]], [g[1, 0], g[1, 1], -g[0, 3]], [0.0, 0.0, 1.0]])

    def ad(self, x: Vector) -> Matrix_m_m:
        """Matrix of the Lie bracket (3 x 3)."""
        u, v, r = x[0], x[1], x[2]
        return array([[0.0, -r, v], [r, 0.0, -u], [0.0, 0.0, 0.0]])

    def adt(self, h: Vector) -> Matrix_m_m:
        """Transposed bracket (3 x 3), skew."""
        return array([[0.0, 0.0, h[1]], [0.0, 0.0, -h[0]], [-h[1], h[0], 0.0]])

    # selection matrix -----------------------------------------------------------------------------------------

    @cached_property
    def selection(self) -> Float_6_m:
        """Selection matrix (6 x 3)."""
        return constant(np.eye(6)[:, [0, 1, 5]])

    # flat coordinates -----------------------------------------------------------------------------------------

    def coordinates(self, g: Pose) -> Vector_nq:
        """Flat coordinates ``[x, y, angle]`` of an element."""
        return array([g[0, 3], g[1, 3], angle_about(_Z, g[:3, :3])])

    def element(self, q: Vector_nq) -> Pose:
        """Element with the flat coordinates ``[x, y, angle]``."""
        return homogeneous(about(_Z, q[2]), concatenate([q[:2], np.zeros(1)]))

    # random ---------------------------------------------------------------------------------------------------

    def random_coordinates(self, rng: np.random.Generator, *batch: int) -> Floats_nq:
        """Flat coordinates of random elements: positions normal, angle uniform."""
        parts = rng.normal(size=(*batch, 2)), rng.uniform(-np.pi, np.pi, size=(*batch, 1))
        return np.concatenate(parts, axis=-1)
