"""Geoms of links as MJCF: what is drawn, what touches, and the meshes of both."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, Final
from xml.etree import ElementTree as ET

import numpy as np

from ...errors import FileError
from ...lie import SO3
from ...lie.rotations import homogeneous
from ...model import Link, Shape
from ...model.shapes import Mesh
from ...model.surface import Surface
from ..numbers import shortest_text
from ..uris import located, seen_from
from .parts import fresh

_MESHES: Final = (".stl", ".obj", ".msh")
_VISUAL_ATTRIBUTES: Final = {"contype": "0", "conaffinity": "0", "group": "2"}
_TOUCHES: Final = {"group": "3"}


class Geoms:
    """The geoms of a robot, and the meshes that they need."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path
        self.notes: list[str] = []
        self._meshes: dict[tuple[str, tuple[float, ...]], str] = {}
        self._taken: set[str] = set()

    def write(self, element: ET.Element, link: Link) -> None:
        """Geoms of a link: those that are drawn and touch are one."""
        for shape, role in _roles(link.visuals, link.collisions):
            given = self._geom(shape)
            if given is not None:
                ET.SubElement(element, "geom", given | role)

    def assets(self, root: ET.Element) -> None:
        """Meshes, by file and scale; as shells, since MuJoCo refuses the volume of what is flat or open."""
        section = ET.SubElement(root, "asset") if self._meshes else root
        for (file, scale), name in self._meshes.items():
            given = {"name": name, "file": file, "inertia": "shell"}
            ET.SubElement(section, "mesh", given | ({} if set(scale) == {1.0} else {"scale": shortest_text(scale)}))

    def _geom(self, shape: Shape) -> dict[str, str] | None:
        given = {"type": shape.kind}
        if isinstance(shape, Mesh):
            name = self._mesh(shape)
            if name is None:
                return None
            given["mesh"] = name
        else:
            given["size"] = shortest_text(_size(shape))
        H = shape.placement
        if H[:3, 3].any():
            given["pos"] = shortest_text(H[:3, 3])
        if not np.array_equal(H[:3, :3], np.eye(3)):
            given["quat"] = shortest_text(np.roll(SO3().coordinates(homogeneous(H[:3, :3], np.zeros(3))), 1))
        given |= {} if shape.surface is None else contact_parameters(shape.surface)
        return given if shape.color is None else given | {"rgba": shortest_text(shape.color)}

    def _mesh(self, shape: Mesh) -> str | None:
        """Name of the asset of a mesh; None where MuJoCo cannot read its file."""
        if PurePosixPath(shape.path.replace("\\", "/")).suffix.lower() not in _MESHES:
            self.notes.append(f"MuJoCo reads meshes from {', '.join(_MESHES)}, not from {shape.path!r}: left out")
            return None
        file = seen_from(self.path, shape)
        if "://" in file:
            try:
                where = located(shape)
            except FileError:
                self.notes.append(f"the file of the mesh {shape.path!r} is not found: left out")
                return None
            file = seen_from(self.path, replace(shape, path=where.name, folder=str(where.parent)))
        key = (file, tuple(shape.scale))
        if key not in self._meshes:
            self._meshes[key] = fresh(PurePosixPath(file).stem, self._taken)
        return self._meshes[key]


def contact_parameters(surface: Surface) -> dict[str, str]:
    """Contact parameters that are not MuJoCo's defaults."""
    given = {"condim": surface.dimensions, "priority": surface.priority, "margin": surface.margin}
    usual = {"condim": 3, "priority": 0, "margin": 0.0}
    found = {key: f"{value:.17g}" for key, value in given.items() if value != usual[key]}
    found |= {} if surface.friction == 1.0 else {"friction": shortest_text([surface.friction])}
    found |= {"contype": "0", "conaffinity": "0"} if surface.paired_only else {}
    return found | ({"name": surface.name} if surface.pairs else {})


def _size(shape: Any) -> Any:
    """Sizes as MuJoCo has them: radii, and halves of lengths."""
    match shape.kind:
        case "sphere":
            return [shape.radius]
        case "ellipsoid":
            return shape.radii
        case "box":
            return 0.5 * np.array(shape.size)
    return [shape.radius, 0.5 * shape.length]


def _roles(visuals: Sequence[Shape], collisions: Sequence[Shape]) -> Iterator[tuple[Shape, dict[str, str]]]:
    """Shapes with the attributes that say what they are for, each list in its order."""
    waiting = list(visuals)
    for shape in collisions:
        same = next((i for i, other in enumerate(waiting) if _alike(shape, other)), None)
        if same is None:
            yield shape, _TOUCHES
            continue
        yield from ((other, _VISUAL_ATTRIBUTES) for other in waiting[:same])
        yield shape, {}
        waiting = waiting[same + 1 :]
    yield from ((other, _VISUAL_ATTRIBUTES) for other in waiting)


def _alike(one: Shape, other: Shape) -> bool:
    names = ("path", "folder", "scale") if isinstance(one, Mesh) else tuple(one.sizes)
    return (
        type(one) is type(other)
        and one.color == other.color
        and np.array_equal(one.placement, other.placement)
        and all(getattr(one, name) == getattr(other, name) for name in names)
    )
