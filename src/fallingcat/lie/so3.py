"""SO(3): rotations about a point; a spherical joint, a spacecraft held at its center."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..caching import cached_property
from . import rotations
from .group import Group, constant
from .rotations import skew


@dataclass(frozen=True)
class SO3(Group):
    """Rotations; ``x = w``, coordinates the unit quaternion ``[qx, qy, qz, qw]``.

    >>> SO3().log(SO3().exp(np.array([0.0, np.pi, 0.0]))).round(12)
    array([0.        , 3.14159265, 0.        ])
    """

    name = "SO(3)"
    dim = 3
    coordinate_names = ("qx", "qy", "qz", "qw")

    # exp, log -------------------------------------------------------------------------------------------------

    def exp(self, x: Any) -> Any:
        return rotations.embed(rotations.exp(x))

    def log(self, g: Any) -> Any:
        return rotations.log(g[:3, :3])

    # Ad, ad, adt ----------------------------------------------------------------------------------------------

    def Ad(self, g: Any) -> Any:
        return g[:3, :3]

    def ad(self, x: Any) -> Any:
        return skew(x)

    def adt(self, h: Any) -> Any:
        return skew(h)

    # selection matrix -----------------------------------------------------------------------------------------

    @cached_property
    def selection(self) -> np.ndarray:
        return constant(np.eye(6)[:, 3:])

    # flat coordinates -----------------------------------------------------------------------------------------

    def coordinates(self, g: Any) -> Any:
        return rotations.quaternion_from_matrix(g[:3, :3])

    def element(self, q: Any) -> Any:
        return rotations.embed(rotations.matrix_from_quaternion(q))

    # random ---------------------------------------------------------------------------------------------------

    def random_coordinates(self, rng: np.random.Generator, *batch: int) -> np.ndarray:
        quaternion = rng.normal(size=(*batch, 4))
        return np.asarray(quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True))
