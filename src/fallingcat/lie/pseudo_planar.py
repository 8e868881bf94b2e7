"""Y: translations of a plane, and screws across it; a nut on a sliding lead screw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import array
from ..arrays.types import Float_6_m, Floats_nq, Matrix_m_m, Pose, Vector, Vector_m, Vector_nq
from ..caching import cached_property
from ..errors import ModelError, describe
from .group import Group, constant
from .rotations import about, homogeneous
from .rotations import left_jacobian as jacobian
from .rotations import left_jacobian_inverse as jacobian_inverse
from .se2 import SE2

_Z, _PLANE = (0.0, 0.0, 1.0), SE2()


@dataclass(frozen=True)
class PseudoPlanar(Group):
    """Pseudo-planar motions, which [From] Table 1 omits: shifts along x and y, and screws along z.

    A turn about z advances by ``pitch`` along it; ``x = [vx, vy, wz]``, coordinates ``[x, y, angle]``.  Its algebra is
    that of SE(2), its motions are not: the advance tells the number of turns, so ``log`` is exact for every angle.

    Example:
        >>> nut = PseudoPlanar(pitch=0.1)
        >>> nut.log(nut.exp(np.array([1.0, 2.0, 7.0]))).round(12)
        array([1., 2., 7.])
        >>> bool(np.array_equal(nut.ad(np.ones(3)), SE2().ad(np.ones(3))))
        True
    """

    pitch: float = 1.0
    """m/rad, not zero"""

    name = "Y"
    dim = 3
    coordinate_names = ("x", "y", "angle")

    def __post_init__(self) -> None:
        if not isinstance(self.pitch, (int, float)) or not 0.0 < abs(self.pitch) < np.inf:
            raise ModelError(f"the pitch of a screw is finite and not zero, not {describe(self.pitch)}: use SE2")

    # exp, log -------------------------------------------------------------------------------------------------

    def exp(self, x: Vector_m) -> Pose:
        """Exponential map of ``[vx, vy, wz]``."""
        return homogeneous(about(_Z, x[2]), jacobian(array([0.0, 0.0, x[2]])) @ (self.selection[:3] @ x))

    def log(self, g: Pose) -> Vector_m:
        """Logarithm ``[vx, vy, wz]``."""
        angle = g[2, 3] / self.pitch
        v = jacobian_inverse(array([0.0, 0.0, angle])) @ g[:3, 3]
        return array([v[0], v[1], angle])

    # Ad, ad, adt: those of the plane ----------------------------------------------------------------------------

    def Ad(self, g: Pose) -> Matrix_m_m:
        """Adjoint matrix (3 x 3)."""
        return _PLANE.Ad(g)

    def ad(self, x: Vector) -> Matrix_m_m:
        """Matrix of the Lie bracket (3 x 3)."""
        return _PLANE.ad(x)

    def adt(self, h: Vector) -> Matrix_m_m:
        """Transposed bracket (3 x 3), skew."""
        return _PLANE.adt(h)

    # selection matrix -----------------------------------------------------------------------------------------

    @cached_property
    def selection(self) -> Float_6_m:
        """Selection matrix (6 x 3)."""
        S = np.eye(6)[:, [0, 1, 5]]
        S[2, 2] = self.pitch
        return constant(S)

    # flat coordinates -----------------------------------------------------------------------------------------

    def coordinates(self, g: Pose) -> Vector_nq:
        """Flat coordinates ``[x, y, angle]`` of an element."""
        return array([g[0, 3], g[1, 3], g[2, 3] / self.pitch])

    def element(self, q: Vector_nq) -> Pose:
        """Element with the flat coordinates ``[x, y, angle]``."""
        return homogeneous(about(_Z, q[2]), array([q[0], q[1], self.pitch * q[2]]))

    # random ---------------------------------------------------------------------------------------------------

    def random_coordinates(self, rng: np.random.Generator, *batch: int) -> Floats_nq:
        """Flat coordinates of random elements: positions normal, angle uniform."""
        return _PLANE.random_coordinates(rng, *batch)
