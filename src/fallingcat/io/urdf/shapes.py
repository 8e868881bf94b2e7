"""Shapes that a URDF draws and collides.  No file that it names is opened: a missing mesh is no reason to refuse."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

import numpy as np

from ...errors import FileError
from ...model import Shape
from ...model.shapes import Box, Capsule, Color, Cylinder, Mesh, Sphere
from ..diagnostics import Reader
from ..limits import MAX_LENGTH
from ..numbers import number, vector
from ..safe_xml import Element, only
from ..uris import check_uri

_SIZES: Final = {
    "box": ("size",),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"),
    "sphere": ("radius",),
    "mesh": (),
}
_KINDS: Final = {"box": Box, "cylinder": Cylinder, "capsule": Capsule, "sphere": Sphere}
Colors = dict[str, Color]


def read_shape(reader: Reader, shape: Element, placement: np.ndarray, colors: Colors) -> list[Shape]:
    """A ``<visual>`` or ``<collision>``: one geometry, no negative size, addresses that stay at home.

    None where it has no volume; ``colors`` are those of materials, by name.
    """
    kind = _geometry(reader, shape)
    if kind is None:
        return []
    sizes = {attribute: _size(reader, kind, attribute) for attribute in _SIZES[kind.tag]}
    scale = _scale(reader, kind) if kind.tag == "mesh" else np.ones(3)
    materials = shape.all("material")
    if len(materials) > 1:
        reader.warn(materials[1], "a shape has one <material>: the others are only drawn", kind="materials")
    color = read_materials(reader, materials, colors)
    if not scale.all() or not all(np.min(size) > 0.0 for size in sizes.values()):
        return []
    if kind.tag == "mesh":
        folder = os.path.dirname(os.path.abspath(reader.file))
        return [Mesh(kind.get("filename"), folder, tuple(scale.tolist()), placement=placement, color=color)]
    return [_KINDS[kind.tag](**sizes, placement=placement, color=color)]


def _geometry(reader: Reader, shape: Element) -> Element | None:
    """The one geometry of a shape; where it has none, what is only drawn is left out, what touches is a fault."""
    geometry = only(reader, shape, "geometry")
    kinds = [child for child in geometry or () if child.tag in _SIZES]
    if len(kinds) == 1:
        return kinds[0]
    rule = f"a geometry is one of {', '.join(f'<{tag}>' for tag in _SIZES)}, not {len(kinds)} of them"
    rule = "a shape needs a <geometry>" if geometry is None else rule
    if shape.tag == "visual" and not kinds:
        reader.warn(geometry or shape, f"{rule}: the shape is not drawn")
    else:
        reader.fault(geometry or shape, rule, "the first is taken" if kinds else "the shape is left out")
    return kinds[0] if kinds else None


def read_materials(reader: Reader, materials: Sequence[Element], colors: Colors) -> Color | None:
    """The color of the first of the materials, its own or that of its name; each name keeps its first color.

    A colour is four numbers between 0 and 1, a texture has an address.
    """
    found: Color | None = None
    for i, material in enumerate(materials):
        name, own = material.get("name"), None
        for color in material.all("color"):
            own = _color(reader, color)
        for texture in material.all("texture"):
            if texture.get("filename"):  # exporters write an empty one where there is none
                check_uri(reader, texture, texture.get("filename"))
        if own is not None and name:
            colors.setdefault(name, own)
        found = (own or colors.get(name)) if i == 0 else found
    return found


def _color(reader: Reader, element: Element) -> Color | None:
    rgba = _visual_numbers(reader, element, "rgba", (0.0,) * 4)
    if rgba.min() < 0.0 or rgba.max() > 1.0:
        reader.warn(element, "a colour is red, green, blue, opacity between 0 and 1")
    red, green, blue, opacity = rgba.clip(0.0, 1.0).tolist()
    return (red, green, blue, opacity) if rgba.any() else None


def _size(reader: Reader, kind: Element, attribute: str) -> float | tuple[float, ...]:
    size = vector(reader, kind, attribute, 3) if attribute == "size" else number(reader, kind, attribute)
    if np.min(size) < 0.0 or np.max(size) > MAX_LENGTH:
        reader.fail(kind, f"{attribute!r} is positive and at most {MAX_LENGTH:g} m, not {kind.get(attribute)!r}")
    if np.min(size) == 0.0:  # seen in real robots, as a mark for "no shape"
        reader.warn(kind, f"{attribute!r} is zero: the shape has no volume")
    return size if isinstance(size, float) else tuple(size.tolist())


def _scale(reader: Reader, mesh: Element) -> np.ndarray:
    if "filename" not in mesh.attributes:
        reader.fail(mesh, "the attribute 'filename' is missing")
    check_uri(reader, mesh, mesh.get("filename"))
    scale = _visual_numbers(reader, mesh, "scale", (1.0, 1.0, 1.0))
    if not scale.all():
        reader.warn(mesh, "no number of 'scale' is zero; it is only drawn")
    return scale


def _visual_numbers(reader: Reader, element: Element, attribute: str, default: tuple[float, ...]) -> np.ndarray:
    """The numbers of something that is drawn and moves nothing: wrong ones are a warning."""
    try:
        return vector(reader, element, attribute, len(default), default)
    except FileError as error:
        reader.warn(element, f"{error.rule}; it is only drawn")
        return np.array(default)
