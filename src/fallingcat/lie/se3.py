"""SE(3): all rigid motions; a free-floating base."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import block, concatenate, scale
from ..caching import cached_property
from . import rotations, series
from .group import Group, constant
from .rotations import homogeneous, skew
from .so3 import SO3


@dataclass(frozen=True)
class SE3(Group):
    """Rigid motions; ``x = [v; w]``, coordinates ``[x, y, z, qx, qy, qz, qw]``.

    >>> SE3().exp(np.array([0.0, 0.0, 1.0, 0.0, 0.0, np.pi])).round(4)
    array([[-1., -0.,  0.,  0.],
           [ 0., -1.,  0.,  0.],
           [ 0.,  0.,  1.,  1.],
           [ 0.,  0.,  0.,  1.]])
    """

    name = "SE(3)"
    dim = 6
    coordinate_names = ("x", "y", "z", "qx", "qy", "qz", "qw")

    # exp, log -------------------------------------------------------------------------------------------------

    def exp(self, x: Any) -> Any:
        v, w = x[:3], x[3:]
        return homogeneous(rotations.exp(w), rotations.left_jacobian(w) @ v)

    def log(self, g: Any) -> Any:
        w = rotations.log(g[:3, :3])
        return concatenate([rotations.left_jacobian_inverse(w) @ g[:3, 3], w])

    def distance_to_group(self, g: np.ndarray) -> float:
        """Without a logarithm: ``|R R' - 1|`` is up to twice the distance of ``R`` from the rotations."""
        R, last = g[:3, :3], g[3] - np.array([0.0, 0.0, 0.0, 1.0])
        if np.linalg.det(R) <= 0.0:
            return np.inf
        return float(max(0.5 * np.abs(R @ R.T - np.eye(3)).max(), np.abs(last).max()))

    # Ad, ad, adt ----------------------------------------------------------------------------------------------

    def Ad(self, g: Any) -> Any:
        R, p = g[:3, :3], g[:3, 3]
        return block([[R, skew(p) @ R], [np.zeros((3, 3)), R]])

    def ad(self, x: Any) -> Any:
        V, W = skew(x[:3]), skew(x[3:])
        return block([[W, V], [np.zeros((3, 3)), W]])

    def adt(self, h: Any) -> Any:
        P, L = skew(h[:3]), skew(h[3:])
        return block([[np.zeros((3, 3)), P], [P, L]])

    # derivative of the exponential: the eigenvalues +-i angle of ad are double, so derivatives of b, c, d enter ---

    def dexp_left(self, x: Any) -> Any:
        t, ad = self.squared_angle(x), self.ad(x)
        b, c, b1, c1 = (f(t) for f in (series.b, series.c, series.b1, series.c1))
        ad2 = ad @ ad
        even, odd = scale(c - t * c1, ad2) - scale(c1, ad2 @ ad2), scale(b - t * b1, ad) - scale(b1, ad @ ad2)
        return np.eye(6) + odd + even

    def dexp_left_inverse(self, x: Any) -> Any:
        t, ad = self.squared_angle(x), self.ad(x)
        d, d1 = series.d(t), series.d1(t)
        ad2 = ad @ ad
        return np.eye(6) - 0.5 * ad + scale(d - t * d1, ad2) - scale(d1, ad2 @ ad2)

    # selection matrix -----------------------------------------------------------------------------------------

    @cached_property
    def selection(self) -> np.ndarray:
        return constant(np.eye(6))

    # flat coordinates -----------------------------------------------------------------------------------------

    def coordinates(self, g: Any) -> Any:
        return concatenate([g[:3, 3], rotations.quaternion_from_matrix(g[:3, :3])])

    def element(self, q: Any) -> Any:
        return homogeneous(rotations.matrix_from_quaternion(q[3:]), q[:3])

    # random ---------------------------------------------------------------------------------------------------

    def random_coordinates(self, rng: np.random.Generator, *batch: int) -> np.ndarray:
        quaternion = SO3().random_coordinates(rng, *batch)
        return np.concatenate([rng.normal(size=(*batch, 3)), quaternion], axis=-1)
