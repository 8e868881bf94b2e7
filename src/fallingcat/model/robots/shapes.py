"""Simple solid bodies for the sample robots: boxes, cylinders, spheres, and where to put joints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...lie.rotations import homogeneous
from ..body import Body

Vector = Sequence[float] | np.ndarray


def at(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> np.ndarray:
    """``4 x 4``: the placement without rotation at ``(x, y, z)`` (m)."""
    return np.asarray(homogeneous(np.eye(3), np.array([x, y, z], dtype=float)))


def box(mass: float, size: Vector, center: Vector = (0.0, 0.0, 0.0)) -> Body:
    """A solid box (kg, m) with edges along the axes: ``I_x = m (b^2 + c^2) / 12``.

    >>> box(12.0, (1.0, 2.0, 3.0)).inertia.diagonal()
    array([13., 10.,  5.])
    """
    squares = np.asarray(size, dtype=float) ** 2
    return Body(mass, np.asarray(center), mass / 12.0 * np.diag(squares.sum() - squares))


def cylinder(mass: float, radius: float, length: float, along: str = "z", center: Vector = (0.0, 0.0, 0.0)) -> Body:
    """A solid cylinder (kg, m), its axis ``along`` x, y or z: ``m r^2 / 2`` about it, ``m (3 r^2 + l^2) / 12`` across.

    >>> cylinder(2.0, 1.0, 3.0, along="x").inertia.diagonal()
    array([1., 2., 2.])
    """
    moments = np.full(3, mass * (3.0 * radius**2 + length**2) / 12.0)
    moments["xyz".index(along)] = 0.5 * mass * radius**2
    return Body(mass, np.asarray(center), np.diag(moments))


def sphere(mass: float, radius: float, center: Vector = (0.0, 0.0, 0.0)) -> Body:
    """A solid ball (kg, m): ``2 m r^2 / 5`` about every axis."""
    return Body(mass, np.asarray(center), 0.4 * mass * radius**2 * np.eye(3))
