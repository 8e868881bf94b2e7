"""The geoms of a body as shapes: which are drawn, which touch.  No mesh is opened for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from ...lie.rotations import homogeneous, matrix_from_quaternion
from ...model import Link, Shape
from ...model.body import Body
from ...model.shapes import Box, Capsule, Color, Cylinder, Ellipsoid, Mesh, Sphere
from ...model.surface import Surface
from ..numbers import parse_number
from ..safe_xml import Element
from .geometry import Geom

_HIDDEN_GROUP: Final = 3
"""Groups of geoms from here on MuJoCo does not show unless it is asked to: those that only touch."""


def link_of(name: str, body: Body, geoms: Sequence[Geom], surfaces: Sequence[Surface | None]) -> Link:
    """A link with the shapes of its geoms and the surfaces of these, None where one touches nothing.

    What touches nothing is drawn; so is what touches, in the groups that MuJoCo shows.  Planes, height fields and
    distance functions are no parts of a robot here.
    """
    pairs = ((geom, shape_of(geom), surface) for geom, surface in zip(geoms, surfaces, strict=True))
    found = [(geom, shape, surface) for geom, shape, surface in pairs if shape is not None]
    visuals = (s for geom, s, surface in found if surface is None or _one(geom.element, "group", 0.0) < _HIDDEN_GROUP)
    collisions = (replace(shape, surface=surface) for _, shape, surface in found if surface is not None)
    return Link(name, body, tuple(visuals), tuple(collisions))


def shape_of(geom: Geom) -> Shape | None:
    """A geom without its mass; a shape that MuJoCo fits to a mesh is that mesh here."""
    more: dict[str, Any] = {"placement": geom.placement, "color": _color(geom)}
    x, y, z = geom.sizes
    if geom.element.get("mesh"):
        return _mesh(geom)
    match geom.kind:
        case "sphere":
            return Sphere(x, **more)
        case "ellipsoid":
            return Ellipsoid((x, y, z), **more)
        case "capsule":
            return Capsule(x, 2.0 * y, **more)
        case "cylinder":
            return Cylinder(x, 2.0 * y, **more)
        case "box":
            return Box((2.0 * x, 2.0 * y, 2.0 * z), **more)
    return None


def _mesh(geom: Geom) -> Mesh | None:
    """MuJoCo takes ``scale * R' (x - p)`` of a vertex, by ``refpos`` and ``refquat``; here the scale comes first."""
    meshes = geom.source.meshes
    element = meshes.assets[geom.element.get("mesh")]
    path, scale = meshes.path_of(element), _numbers(element, "scale", (1.0, 1.0, 1.0))
    p, (w, x, y, z) = _numbers(element, "refpos", (0.0,) * 3), _numbers(element, "refquat", (1.0, 0.0, 0.0, 0.0))
    turn = np.array([x, y, z, w])
    uneven = len(set(scale)) > 1 and any((x, y, z))  # a turned mesh that is stretched along other axes than its own
    if not path or 0.0 in scale or not turn.any() or uneven:
        return None
    R = matrix_from_quaternion(turn / np.linalg.norm(turn)).T
    placement = geom.placement @ homogeneous(R, -np.array(scale) * (R @ np.array(p)))
    return Mesh(path, str(meshes.folder), (scale[0], scale[1], scale[2]), placement=placement, color=_color(geom))


def bits(geom: Geom) -> tuple[int, int]:
    """Its ``contype`` and ``conaffinity``."""
    first, second = (int(_one(geom.element, name, 1.0)) for name in ("contype", "conaffinity"))
    return first, second


def _color(geom: Geom) -> Color | None:
    """Its own, or that of its material."""
    element, materials = geom.element, geom.source.materials
    if "rgba" not in element.attributes:
        element = materials.get(element.get("material"), element)
    if "rgba" not in element.attributes:
        return None
    red, green, blue, opacity = (min(max(x, 0.0), 1.0) for x in _numbers(element, "rgba", (0.5, 0.5, 0.5, 1.0)))
    return red, green, blue, opacity


def _one(element: Element, attribute: str, default: float) -> float:
    return _numbers(element, attribute, (default,))[0]


def _numbers(element: Element, attribute: str, default: tuple[float, ...]) -> tuple[float, ...]:
    """The numbers of something that moves nothing; where they are wrong, as if they were left out."""
    values = [parse_number(word) for word in element.get(attribute).split()]
    known = tuple(value for value in values if value is not None)
    return known if len(known) == len(values) == len(default) else default
