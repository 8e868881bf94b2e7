"""Shapes of links, as their file draws them and lets them touch: no mass, no motion, only geometry."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from ..arrays.types import Pose
from ..errors import ModelError, describe
from .body import Frozen, frozen_pose
from .surface import Surface

Color = tuple[float, float, float, float]
"""Red, green, blue and opacity, each between 0 and 1."""


@dataclass(frozen=True, eq=False)
class Shape(Frozen):
    """Solid on a link; ``placement`` (4x4) maps its coordinates to those of the link.

    Example:
        >>> Sphere(0.1).placement.shape
        (4, 4)
    """

    kind: ClassVar[str]
    """Name in files."""
    sizes: ClassVar[Mapping[str, int]] = {}
    """The fields that hold positive lengths (m), and how many each."""

    placement: np.ndarray = field(default_factory=lambda: np.eye(4), kw_only=True)
    color: Color | None = field(default=None, kw_only=True)
    """None by default."""
    surface: Surface | None = field(default=None, kw_only=True)
    """friction and margin of its contacts; None: those of the contact that is simulated"""

    def __post_init__(self) -> None:
        for name, count in self.sizes.items():
            object.__setattr__(self, name, self._lengths(name, count))
        object.__setattr__(self, "placement", frozen_pose(self.placement, f"placement of a {self.kind}"))
        if self.color is not None:
            object.__setattr__(self, "color", _color(self.color))
        if not isinstance(self.surface, Surface | None):
            raise ModelError(f"the surface of a {self.kind} is a Surface, not {describe(self.surface)}")

    def _lengths(self, name: str, count: int) -> Any:
        given = getattr(self, name)
        values = _floats((given,) if count == 1 else given)
        if values is None or len(values) != count or min(values) <= 0.0:
            what = "a positive number" if count == 1 else f"{count} positive numbers"
            raise ModelError(f"the {name} of a {self.kind} is {what}, not {describe(given)}")
        return values[0] if count == 1 else values

    def moved(self, H: Pose) -> Self:
        """Same shape seen from another frame.

        Args:
            H: Pose that maps coordinates of the link to those of the new frame.

        Returns:
            Shape with the placement ``H @ placement``.
        """
        return replace(self, placement=H @ self.placement)


@dataclass(frozen=True, eq=False)
class Sphere(Shape):
    """Ball around the origin of its frame.

    Example:
        >>> Sphere(0.1).moved(np.eye(4)).radius
        0.1
    """

    kind: ClassVar = "sphere"
    sizes: ClassVar = {"radius": 1}
    radius: float


@dataclass(frozen=True, eq=False)
class Ellipsoid(Shape):
    """Ball stretched along the axes of its frame: ``radii`` (3, m), half its width each way."""

    kind: ClassVar = "ellipsoid"
    sizes: ClassVar = {"radii": 3}
    radii: tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class Capsule(Shape):
    """Points within ``radius`` of a segment of ``length`` along z, with its middle at the origin (m)."""

    kind: ClassVar = "capsule"
    sizes: ClassVar = {"radius": 1, "length": 1}
    radius: float
    length: float


@dataclass(frozen=True, eq=False)
class Cylinder(Shape):
    """Round solid about z, from ``-length / 2`` to ``length / 2`` (m)."""

    kind: ClassVar = "cylinder"
    sizes: ClassVar = {"radius": 1, "length": 1}
    radius: float
    length: float


@dataclass(frozen=True, eq=False)
class Box(Shape):
    """Box with edges along the axes of its frame, its middle at the origin: ``size`` (3, m) from face to face."""

    kind: ClassVar = "box"
    sizes: ClassVar = {"size": 3}
    size: tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class Mesh(Shape):
    """Triangles of a file, each coordinate times ``scale`` (3); the file is opened by who draws it.

    ``path`` is as in the robot's file, an address like ``package://robot/arm.stl`` or a path; it is seen from
    ``folder``, that of the robot's file.  Whether there is such a file was not asked.
    """

    kind: ClassVar = "mesh"
    path: str
    folder: str = ""
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isinstance(self.path, str) and self.path and isinstance(self.folder, str)):
            raise ModelError(
                f"the path of a mesh and its folder are texts, not {describe(self.path)}, {describe(self.folder)}"
            )
        scale = _floats(self.scale)
        if scale is None or len(scale) != 3 or 0.0 in scale:
            raise ModelError(f"the scale of a mesh is three numbers, none of them zero, not {describe(self.scale)}")
        object.__setattr__(self, "scale", scale)


KINDS: dict[str, type[Shape]] = {kind.kind: kind for kind in (Sphere, Ellipsoid, Capsule, Cylinder, Box, Mesh)}
"""By what files call them."""


def shapes(given: Any, what: str) -> tuple[Shape, ...]:
    """Tuple of shapes, or an error that names ``what``."""
    if not isinstance(given, (tuple, list)) or not all(isinstance(one, Shape) for one in given):
        raise ModelError(f"the {what} are Shape records, not {describe(given)}")
    return tuple(given)


def _floats(given: Any) -> tuple[float, ...] | None:
    """Finite numbers, or nothing."""
    try:
        values = tuple(float(x) for x in given)
    except (TypeError, ValueError, OverflowError):
        return None
    return values if all(map(math.isfinite, values)) else None


def _color(given: Any) -> Color:
    values = _floats(given)
    if values is None or len(values) != 4 or not all(0.0 <= x <= 1.0 for x in values):
        raise ModelError(f"a color is red, green, blue, opacity between 0 and 1, not {describe(given)}")
    red, green, blue, opacity = values
    return red, green, blue, opacity
