"""Triangles out of COLLADA files (``.dae``), with their colors, as far as robots use them.  Nothing in them is trusted.

As in the viewers of ROS the unit of the file counts, and its upward axis does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final
from xml.etree import ElementTree

import numpy as np

from ...lie.rotations import about
from ...model.shapes import Color
from ..diagnostics import Reader
from ..limits import MAX_FACES
from .files import Mesh

_MAX_NODES: Final = 10_000
_DEEPEST: Final = 50
_SIZES: Final = {"triangles": 3, "polylist": 0, "polygons": 0}
ColoredMesh = tuple[Mesh, Color | None]


def read_collada(data: bytes, reader: Reader) -> list[ColoredMesh]:
    """All meshes of the file's scene, in meters, each with its color."""
    if b"<!" in data.replace(b"<!--", b"").replace(b"<![CDATA[", b"") or b"\0" in data:
        reader.fail(None, "a mesh has no DOCTYPE, no entities, and is encoded in UTF-8")
    try:
        root = ElementTree.fromstring(data)
    except (ElementTree.ParseError, RecursionError) as error:
        reader.fail(None, f"this is not XML: {error}")
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    try:
        return _Scene(root, reader).meshes()
    except (KeyError, ValueError, IndexError, TypeError):
        reader.fail(None, "this is no COLLADA file that can be drawn: a mesh of it is not whole")


@dataclass
class _Scene:
    root: ElementTree.Element
    reader: Reader
    found: list[ColoredMesh] = field(default_factory=list)
    nodes: int = 0

    def __post_init__(self) -> None:
        self.by_id = {e.get("id", ""): e for e in self.root.iter() if e.get("id")}

    def meshes(self) -> list[ColoredMesh]:
        unit = self.root.find("asset/unit")
        meter = float(unit.get("meter", "1")) if unit is not None else 1.0
        H = np.diag([meter, meter, meter, 1.0])
        scenes = self.root.findall("library_visual_scenes/visual_scene")
        for node in (node for scene in scenes[:1] for node in scene.findall("node")):
            self._node(node, H, 0)
        if not scenes:
            for geometry in self.root.findall("library_geometries/geometry"):
                self._geometry(geometry, H, {})
        return self.found

    def _node(self, node: ElementTree.Element, H: np.ndarray, depth: int) -> None:
        self.nodes += 1
        if self.nodes > _MAX_NODES or depth > _DEEPEST:
            self.reader.fail(None, f"a mesh has at most {_MAX_NODES:,} nodes, {_DEEPEST} deep")
        for step in node:
            if step.tag in _STEPS:
                H = H @ _STEPS[step.tag](_floats(step))
        for child in node:
            if child.tag == "node":
                self._node(child, H, depth + 1)
            elif child.tag == "instance_node":
                self._node(self._element_of_url(child.get("url")), H, depth + 1)
            elif child.tag == "instance_geometry":
                bound = {each.get("symbol", ""): each.get("target", "") for each in child.iter("instance_material")}
                self._geometry(self._element_of_url(child.get("url")), H, bound)

    def _element_of_url(self, url: str | None) -> ElementTree.Element:
        return self.by_id[(url or "").lstrip("#")]

    def _geometry(self, geometry: ElementTree.Element, H: np.ndarray, bound: dict[str, str]) -> None:
        for part in (part for mesh in geometry.findall("mesh") for part in mesh):
            if part.tag not in _SIZES:
                continue
            inputs = {each.get("semantic"): each for each in part.findall("input")}
            vertices = self._element_of_url(inputs["VERTEX"].get("source"))
            source = next(each for each in vertices.findall("input") if each.get("semantic") == "POSITION")
            numbers = self._element_of_url(source.get("source")).find("float_array")
            points = _floats(numbers).reshape(-1, 3)
            stride = 1 + max(int(each.get("offset", "0")) for each in part.findall("input"))
            faces = _faces(part, stride, int(inputs["VERTEX"].get("offset", "0")))
            if len(faces) > MAX_FACES:
                self.reader.fail(None, f"a mesh has at most {MAX_FACES:,} faces, not {len(faces):,}")
            if len(faces) and (faces.min() < 0 or faces.max() >= len(points)):
                raise ValueError
            mesh = Mesh(points @ H[:3, :3].T + H[:3, 3], faces)
            self.found.append((mesh, self._color(bound.get(part.get("material", ""), ""))))

    def _color(self, target: str) -> Color | None:
        """The diffuse color of a material."""
        material = self.by_id.get(target.lstrip("#"))
        effect = None if material is None else material.find("instance_effect")
        found = None if effect is None else self.by_id.get(effect.get("url", "").lstrip("#"))
        color = None if found is None else next((c for d in found.iter("diffuse") for c in d.findall("color")), None)
        values = [] if color is None else _floats(color).tolist()
        if len(values) < 3 or not all(map(math.isfinite, values)):
            return None
        red, green, blue = (min(max(x, 0.0), 1.0) for x in values[:3])
        return red, green, blue, 1.0


def _faces(part: ElementTree.Element, stride: int, offset: int) -> np.ndarray:
    """``m x 3`` numbers of vertices; polygons are fans around their first corner."""
    lists = [_floats(p).astype(int) for p in part.findall("p")]
    if part.tag == "triangles":
        return np.concatenate([p.reshape(-1, stride)[:, offset] for p in lists] or [np.zeros(0, int)]).reshape(-1, 3)
    polygons: Iterator[np.ndarray] = (p.reshape(-1, stride)[:, offset] for p in lists)
    if part.tag == "polylist":
        sizes = _floats(part.find("vcount")).astype(int)
        corners = np.concatenate([*polygons, np.zeros(0, int)])
        starts = np.cumsum(sizes) - sizes
        fans = [
            corners[starts[sizes > k + 1][:, None] + np.array([0, k, k + 1])] for k in range(1, int(sizes.max()) - 1)
        ]
        return np.concatenate(fans) if fans else np.zeros((0, 3), int)
    fans = [np.stack([np.full(len(c) - 2, c[0]), c[1:-1], c[2:]], axis=1) for c in polygons if len(c) > 2]
    return np.concatenate(fans) if fans else np.zeros((0, 3), int)


def _floats(element: ElementTree.Element | None) -> np.ndarray:
    text = "" if element is None else element.text or ""
    return np.array(text.split(), dtype=float)


def _translate(x: np.ndarray) -> np.ndarray:
    H = np.eye(4)
    H[:3, 3] = x
    return H


def _rotate(x: np.ndarray) -> np.ndarray:
    H = np.eye(4)
    size = float(np.linalg.norm(x[:3]))
    if size:
        H[:3, :3] = about(x[:3] / size, math.radians(x[3]))
    return H


_STEPS: Final[dict[str, Callable[[np.ndarray], np.ndarray]]] = {
    "matrix": lambda x: x.reshape(4, 4),
    "translate": _translate,
    "rotate": _rotate,
    "scale": lambda x: np.diag([*x, 1.0]),
}
