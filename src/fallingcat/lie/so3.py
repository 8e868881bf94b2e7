"""SO(3): rotations about a point; a spherical joint, a spacecraft held at its center."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays.types import Float_6_m, Floats_nq, Matrix_m_m, Pose, Vector, Vector_m, Vector_nq
from ..caching import cached_property
from . import rotations
from .group import Group, constant
from .rotations import skew


@dataclass(frozen=True)
class SO3(Group):
    """Rotations; ``x = w``, coordinates the unit quaternion ``[qx, qy, qz, qw]``.

    Example:
        >>> SO3().log(SO3().exp(np.array([0.0, np.pi, 0.0]))).round(12)
        array([0.        , 3.14159265, 0.        ])
    """

    name = "SO(3)"
    dim = 3
    coordinate_names = ("qx", "qy", "qz", "qw")

    # exp, log -------------------------------------------------------------------------------------------------

    def exp(self, x: Vector_m) -> Pose:
        """Exponential map of ``w``."""
        return rotations.embed(rotations.exp(x))

    def log(self, g: Pose) -> Vector_m:
        """Logarithm ``w``."""
        return rotations.log(g[:3, :3])

    # Ad, ad, adt ----------------------------------------------------------------------------------------------

    def Ad(self, g: Pose) -> Matrix_m_m:
        """Adjoint matrix (3 x 3)."""
        return g[:3, :3]

    def ad(self, x: Vector) -> Matrix_m_m:
        """Matrix of the Lie bracket (3 x 3)."""
        return skew(x)

    def adt(self, h: Vector) -> Matrix_m_m:
        """Transposed bracket (3 x 3), skew."""
        return skew(h)

    # selection matrix -----------------------------------------------------------------------------------------

    @cached_property
    def selection(self) -> Float_6_m:
        """Selection matrix (6 x 3)."""
        return constant(np.eye(6)[:, 3:])

    # flat coordinates -----------------------------------------------------------------------------------------

    def coordinates(self, g: Pose) -> Vector_nq:
        """Flat coordinates ``[qx, qy, qz, qw]`` of an element."""
        return rotations.quaternion_from_matrix(g[:3, :3])

    def element(self, q: Vector_nq) -> Pose:
        """Element with the flat coordinates ``[qx, qy, qz, qw]``."""
        return rotations.embed(rotations.matrix_from_quaternion(q))

    # random ---------------------------------------------------------------------------------------------------

    def random_coordinates(self, rng: np.random.Generator, *batch: int) -> Floats_nq:
        """Flat coordinates of random elements: uniform over the rotations."""
        quaternion = rng.normal(size=(*batch, 4))
        return np.asarray(quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True))
