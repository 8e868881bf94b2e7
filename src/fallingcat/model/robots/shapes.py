"""Simple solids for the sample robots: boxes, cylinders, spheres, as bodies and as links, and where to put joints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...arrays.types import Pose
from ...lie.rotations import homogeneous
from ..body import Body
from ..link import Link
from ..shapes import Box, Capsule, Cylinder, Shape, Sphere

Vector = Sequence[float] | np.ndarray


def at(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Pose:
    """Placement (4 x 4) without rotation at ``(x, y, z)`` (m)."""
    return np.asarray(homogeneous(np.eye(3), np.array([x, y, z], dtype=float)))


def box(mass: float, size: Vector, center: Vector = (0.0, 0.0, 0.0)) -> Body:
    """Solid box (kg, m) with edges along the axes: ``I_x = m (b^2 + c^2) / 12``.

    Example:
        >>> box(12.0, (1.0, 2.0, 3.0)).inertia.diagonal()
        array([13., 10.,  5.])
    """
    squares = np.asarray(size, dtype=float) ** 2
    return Body(mass, np.asarray(center), mass / 12.0 * np.diag(squares.sum() - squares))


def cylinder(mass: float, radius: float, length: float, along: str = "z", center: Vector = (0.0, 0.0, 0.0)) -> Body:
    """Solid cylinder (kg, m), its axis ``along`` x, y or z: ``m r^2 / 2`` about it, ``m (3 r^2 + l^2) / 12`` across.

    Example:
        >>> cylinder(2.0, 1.0, 3.0, along="x").inertia.diagonal()
        array([1., 2., 2.])
    """
    moments = np.full(3, mass * (3.0 * radius**2 + length**2) / 12.0)
    moments["xyz".index(along)] = 0.5 * mass * radius**2
    return Body(mass, np.asarray(center), np.diag(moments))


def sphere(mass: float, radius: float, center: Vector = (0.0, 0.0, 0.0)) -> Body:
    """Solid ball (kg, m): ``2 m r^2 / 5`` about every axis."""
    return Body(mass, np.asarray(center), 0.4 * mass * radius**2 * np.eye(3))


def box_link(name: str, mass: float, size: Vector, center: Vector = (0.0, 0.0, 0.0)) -> Link:
    """Link that is a :func:`box`."""
    x, y, z = (float(edge) for edge in size)
    return _link(name, box(mass, size, center), Box((x, y, z), placement=at(*center)))


def cylinder_link(
    name: str, mass: float, radius: float, length: float, along: str = "z", center: Vector = (0.0, 0.0, 0.0)
) -> Link:
    """Link that is a :func:`cylinder`, drawn with round ends where it is long."""
    H = at(*center)
    H[:3, :3] = np.roll(np.eye(3), 2 - "xyz".index(along), axis=1)  # z to the axis
    rod = Capsule(radius, length - 2.0 * radius, placement=H) if length > 2.0 * radius else None
    plain = Cylinder(radius, length, placement=H)
    return _link(name, cylinder(mass, radius, length, along, center), plain, rod)


def sphere_link(name: str, mass: float, radius: float, center: Vector = (0.0, 0.0, 0.0)) -> Link:
    """Link that is a :func:`sphere`."""
    return _link(name, sphere(mass, radius, center), Sphere(radius, placement=at(*center)))


def _link(name: str, body: Body, touches: Shape, drawn: Shape | None = None) -> Link:
    return Link(name, body, (drawn or touches,), (touches,))
