"""What a URDF draws and collides: checked, not kept.  A :class:`Model` has masses and joints, no shapes."""

from __future__ import annotations

from typing import Final

import numpy as np

from ..errors import FileError
from .diagnostics import Reader
from .limits import MAX_LENGTH
from .numbers import number, vector
from .safe_xml import Element, only
from .uris import check_uri

_SIZES: Final = {
    "box": ("size",),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"),
    "sphere": ("radius",),
    "mesh": (),
}


def check_shape(reader: Reader, shape: Element) -> None:
    """A ``<visual>`` or ``<collision>``: one geometry, no negative size, addresses that stay at home."""
    geometry = only(reader, shape, "geometry")
    if geometry is None:
        reader.fail(shape, "a shape needs a <geometry>")
    kinds = [child for child in geometry if child.tag in _SIZES]
    if len(kinds) != 1:
        tags = ", ".join(f"<{tag}>" for tag in _SIZES)
        reader.fail(geometry, f"a geometry is one of {tags}, not {len(kinds)} of them")
    kind = kinds[0]
    for attribute in _SIZES[kind.tag]:
        size = vector(reader, kind, attribute, 3) if attribute == "size" else number(reader, kind, attribute)
        if np.min(size) < 0.0 or np.max(size) > MAX_LENGTH:
            reader.fail(kind, f"{attribute!r} is positive and at most {MAX_LENGTH:g} m, not {kind.get(attribute)!r}")
        if np.min(size) == 0.0:  # seen in real robots, as a mark for "no shape"
            reader.warn(kind, f"{attribute!r} is zero: the shape has no volume")
    if kind.tag == "mesh":
        _check_mesh(reader, kind)
    materials = shape.all("material")
    if len(materials) > 1:
        reader.warn(materials[1], "a shape has one <material>: the others are only drawn", kind="materials")
    for material in materials:
        check_material(reader, material)


def check_material(reader: Reader, material: Element) -> None:
    """A colour is four numbers between 0 and 1, a texture has an address."""
    for color in material.all("color"):
        rgba = _drawn(reader, color, "rgba", (0.0,) * 4)
        if rgba.min() < 0.0 or rgba.max() > 1.0:
            reader.warn(color, "a colour is red, green, blue, opacity between 0 and 1")
    for texture in material.all("texture"):
        if texture.get("filename"):  # exporters write an empty one where there is none
            check_uri(reader, texture, texture.get("filename"))


def _check_mesh(reader: Reader, mesh: Element) -> None:
    if "filename" not in mesh.attributes:
        reader.fail(mesh, "the attribute 'filename' is missing")
    check_uri(reader, mesh, mesh.get("filename"))
    if not _drawn(reader, mesh, "scale", (1.0, 1.0, 1.0)).all():
        reader.warn(mesh, "no number of 'scale' is zero; it is only drawn")


def _drawn(reader: Reader, element: Element, attribute: str, default: tuple[float, ...]) -> np.ndarray:
    """The numbers of something that is drawn and moves nothing: wrong ones are a warning."""
    try:
        return vector(reader, element, attribute, len(default), default)
    except FileError as error:
        reader.warn(element, f"{error.rule}; it is only drawn")
        return np.array(default)
