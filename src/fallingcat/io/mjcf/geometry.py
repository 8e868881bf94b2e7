"""The inertia of a geom: a homogeneous sphere, capsule, cylinder, ellipsoid, box or mesh."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from ...lie.rotations import homogeneous
from ...model import Body
from ..diagnostics import Reader
from ..limits import MAX_INERTIA, MAX_LENGTH, MAX_MASS
from ..numbers import number, vector
from ..safe_xml import Element
from .poses import pose, shortest_turn
from .settings import Settings, boolean, choice
from .source import Source

DENSITY: Final = 1000.0
"""Density of a geom that says neither ``mass`` nor ``density`` (kg/m^3)."""

_Sizes = tuple[float, float, float]


@dataclass(frozen=True)
class _Shape:
    """``volume`` (m^3) and ``moments`` (principal, per kg, m^2) of the sizes, of which ``count`` are needed."""

    count: int
    volume: Callable[[_Sizes], float]
    moments: Callable[[_Sizes], _Sizes]


def _axisymmetric(side: float, axial: float) -> _Sizes:
    return side, side, axial


def _capsule(s: _Sizes) -> _Sizes:
    """A cylinder of radius r and length l with half a ball, 3/8 r behind its face, at each end."""
    r, length = s[0], 2.0 * s[1]
    ball = 4.0 * r / (4.0 * r + 3.0 * length)  # the balls' part of the volume
    rod = 1.0 - ball
    side = rod * (3.0 * r * r + length * length) / 12.0
    side += ball * (0.4 * r * r + length * (2.0 * length + 3.0 * r) / 8.0)
    return _axisymmetric(side, rod * r * r / 2.0 + ball * 0.4 * r * r)


def _three(s: _Sizes, divisor: float) -> _Sizes:
    xx, yy, zz = (x * x / divisor for x in s)
    return yy + zz, zz + xx, xx + yy


_SHAPES: Final = {
    "sphere": _Shape(
        1, lambda s: 4.0 / 3.0 * math.pi * s[0] ** 3, lambda s: _axisymmetric(0.4 * s[0] ** 2, 0.4 * s[0] ** 2)
    ),
    "capsule": _Shape(2, lambda s: math.pi * s[0] ** 2 * (2.0 * s[1] + 4.0 / 3.0 * s[0]), _capsule),
    "cylinder": _Shape(
        2,
        lambda s: 2.0 * math.pi * s[0] ** 2 * s[1],
        lambda s: _axisymmetric((3.0 * s[0] ** 2 + 4.0 * s[1] ** 2) / 12.0, s[0] ** 2 / 2.0),
    ),
    "ellipsoid": _Shape(3, lambda s: 4.0 / 3.0 * math.pi * s[0] * s[1] * s[2], lambda s: _three(s, 5.0)),
    "box": _Shape(3, lambda s: 8.0 * s[0] * s[1] * s[2], lambda s: _three(s, 3.0)),
}
_FLAT: Final = ("plane", "hfield")  # the ground: no inertia
_FROM_FILE: Final = ("mesh", "sdf")
TYPES: Final = (*_SHAPES, *_FLAT, *_FROM_FILE)


@dataclass(frozen=True)
class Geom:
    """Checked geom; its mass is computed only where it is used."""

    element: Element
    kind: str
    sizes: _Sizes
    placement: np.ndarray
    """``4 x 4``: coordinates of the geom to coordinates of its body."""
    source: Source


def read_geom(element: Element, H: np.ndarray, source: Source, reader: Reader) -> Geom:
    """The geom of an element with its defaults applied; ``H`` is the pose of the ``<frame>`` that it stands in."""
    kind = choice(reader, element, "type", TYPES, "sphere")
    if element.get("mesh") and element.get("mesh") not in source.meshes.assets:
        reader.fail(element, f"there is no mesh {element.get('mesh')[:80]!r}")
    for name in ("mass", "density"):
        if number(reader, element, name, default=0.0) < 0.0:
            reader.fail(element, f"the {name} is not negative", f"is {element.get(name)[:40]}")
    size = vector(reader, element, "size", (1, 3), default=(0.0, 0.0, 0.0)).tolist()
    x, y, z = (*size, 0.0, 0.0)[:3]
    if "fromto" in element.attributes:
        placement, half = _from_to(element, kind, reader)
        x, y, z = (x, half, 0.0) if kind in ("capsule", "cylinder") else (x, x, half)
    else:
        placement = pose(element, source.settings, reader)
    needed = _SHAPES[kind].count if kind in _SHAPES and "mesh" not in element.attributes else 0
    for i, value in enumerate((x, y, z)[:needed]):
        if not 0.0 < value <= MAX_LENGTH:
            rule = f"a {kind} needs {needed} positive sizes, at most {MAX_LENGTH:g} m"
            reader.fail(element, rule, f"number {i + 1} is {value:g}")
    if kind == "plane" and not (x >= 0.0 and y >= 0.0 and z > 0.0):
        reader.fail(
            element, "the sizes of a plane are not negative, the third is positive", repr(element.get("size")[:40])
        )
    return Geom(element, kind, (x, y, z), H @ placement, source)


def read_pose(element: Element, settings: Settings, reader: Reader) -> np.ndarray:
    """``4 x 4``: the pose of a site, by ``fromto`` or as of other elements."""
    if "fromto" in element.attributes:
        return _from_to(element, choice(reader, element, "type", TYPES, "sphere"), reader)[0]
    return pose(element, settings, reader)


def weigh(geom: Geom, reader: Reader) -> Body:
    """The body of a geom, in the frame of the body that it belongs to; massless for the ground."""
    element, source = geom.element, geom.source
    low, high = source.settings.groups
    if geom.kind in _FLAT or not low <= number(reader, element, "group", default=0.0) <= high:
        return Body()
    heavy = number(reader, element, "mass" if "mass" in element.attributes else "density", default=DENSITY)
    if heavy == 0.0:
        return Body()
    if geom.kind == "sdf":
        rule = "the inertia of an sdf is not known (give the body an <inertial>, or the geom mass='0')"
        reader.fault(element, rule, "it has no mass")
        return Body()
    if geom.kind == "mesh":
        return _mesh(geom, heavy, reader)
    if "mesh" in element.attributes:
        geom = _fitted_shape(geom, reader)
    if boolean(reader, element, "shellinertia", False):
        reader.fail(element, "the inertia of a shell is not read", "give the body an <inertial>")
    shape = _SHAPES[geom.kind]
    mass = heavy if "mass" in element.attributes else heavy * shape.volume(geom.sizes)
    moments = shape.moments(geom.sizes)
    _check_weight(mass, max(moments), element, reader)
    return Body(mass, np.zeros(3), mass * np.diag(moments)).moved(geom.placement)


def _mesh(geom: Geom, heavy: float, reader: Reader) -> Body:
    """The body of a mesh: its own density 1, times a density, or scaled to a mass."""
    element = geom.element
    if boolean(reader, element, "shellinertia", False):
        reader.fail(element, "whether a mesh is a shell is said by the <mesh>", "give that inertia='shell'")
    if not element.get("mesh"):
        reader.fail(element, "a geom of the type mesh says which", 'give it mesh="NAME" of a <mesh> in <asset>')
    solid = geom.source.meshes[element.get("mesh")].solid
    mass = heavy if "mass" in element.attributes else heavy * solid.volume
    per_mass = solid.inertia / solid.volume
    _check_weight(mass, float(per_mass.max()), element, reader)
    return Body(mass, solid.center, mass * per_mass).moved(geom.placement)


def _fitted_shape(geom: Geom, reader: Reader) -> Geom:
    """The shape that MuJoCo puts in the place of a mesh: one with its inertia, or around it."""
    around, fitscale = geom.source.settings.fitaabb, number(reader, geom.element, "fitscale", default=1.0)
    (x, y, z), H = geom.source.meshes[geom.element.get("mesh")].box(around)
    sizes = {
        "sphere": (max(x, y, z) if around else (x + y + z) / 3.0, 0.0, 0.0),
        "capsule": (max(x, y), z - max(x, y), 0.0) if around else ((x + y) / 2.0, max(0.0, z - (x + y) / 4.0), 0.0),
        "cylinder": (max(x, y) if around else (x + y) / 2.0, z, 0.0),
    }.get(geom.kind, (x, y, z))
    if not all(size * fitscale > 0.0 for size in sizes[: _SHAPES[geom.kind].count]):
        reader.fail(geom.element, f"the mesh is too flat for a {geom.kind} in its place")
    first, second, third = (fitscale * size for size in sizes)
    return replace(geom, sizes=(first, second, third), placement=geom.placement @ H)


def _check_weight(mass: float, moment: float, element: Element, reader: Reader) -> None:
    """``moment`` is the largest one of 1 kg."""
    if mass > MAX_MASS or mass * moment > MAX_INERTIA:
        reader.fail(element, f"the mass is at most {MAX_MASS:g} kg, the inertia {MAX_INERTIA:g} kg m^2", f"{mass:g} kg")


def _from_to(element: Element, kind: str, reader: Reader) -> tuple[np.ndarray, float]:
    """The pose of a geom that reaches from one point to another, and half its length."""
    if kind not in ("capsule", "cylinder", "box", "ellipsoid"):
        reader.fail(element, f"'fromto' belongs to a capsule, cylinder, box or ellipsoid, not to a {kind}")
    ends = vector(reader, element, "fromto", 6)
    if np.abs(ends).max() > MAX_LENGTH:
        reader.fail(element, f"'fromto' is within {MAX_LENGTH:g} m")
    if "pos" in element.attributes and vector(reader, element, "pos", 3).any():
        reader.fail(element, "a geom has 'pos' or 'fromto', not both")
    way = ends[3:] - ends[:3]
    length = math.hypot(*way.tolist())
    if length < 1e-12:
        reader.fail(element, "the two points of 'fromto' are the same")
    return homogeneous(shortest_turn(way / length), 0.5 * (ends[:3] + ends[3:])), 0.5 * length
