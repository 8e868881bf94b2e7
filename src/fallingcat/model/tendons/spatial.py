"""Spatial tendons: a cord along points of links, around spheres and cylinders, over pulleys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...arrays import less, scale, sqrt, where
from ...arrays.types import Pose, Vector, Vector_3
from ...errors import ModelError, describe
from ...records import concise
from ..body import Frozen, frozen_array, frozen_pose
from ..force_elements import Arm, LinkMotion, finite, force_at
from .base import Tendon
from .wrapping import pass_through, wrap_around

KINDS = ("sphere", "cylinder")
MIN_DISTANCE = 1e-12
"""Distance of two points below which there is no direction between them, and no force (m)."""


@concise
@dataclass(frozen=True, eq=False)
class Via(Frozen):
    """Point of a link or frame through which a cord passes.

    Example:
        >>> Via("fingertip").place
        'fingertip'
    """

    place: str | None
    """link or frame; None: the world"""
    point: Vector_3 = field(default_factory=lambda: np.zeros(3))
    """``3``: in the frame of ``place`` (m)"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", frozen_array(self.point, (3,), f"point on {self.place!r}"))

    def position(self, motion: LinkMotion) -> Vector_3:
        """Position of the point.

        Args:
            motion: Poses of the links.

        Returns:
            ``3`` (m), in the frame of the motion.
        """
        H = motion.pose(self.place)
        return H[:3, :3] @ self.point + H[:3, 3]


@concise
@dataclass(frozen=True, eq=False)
class Wrap(Frozen):
    """Sphere or cylinder around which a cord may go between two points.

    Example:
        >>> Wrap("elbow", "cylinder", 0.02).side is None
        True
    """

    place: str | None
    """link or frame that carries it; None: the world"""
    kind: str
    """``sphere`` or ``cylinder``, around the z axis of its placement"""
    radius: float
    """m"""
    side: Via | None = None
    """point outside of the shape, on whose side the cord passes; None: the shorter way"""
    placement: Pose = field(default_factory=lambda: np.eye(4))
    """``4 x 4``: coordinates of the shape to those of ``place``"""
    inside: bool = False
    """True if the cord passes through a ring: on the inner side of the circle"""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ModelError(f"a cord goes around a {' or a '.join(KINDS)}, not {describe(self.kind)}")
        object.__setattr__(self, "radius", finite(self.radius, f"radius of the {self.kind} on {self.place!r}", 0.0))
        object.__setattr__(self, "placement", frozen_pose(self.placement, f"placement of the {self.kind}"))


@dataclass(frozen=True, eq=False)
class Pulley(Frozen):
    """End of a branch; lengths of the next one are divided by ``divisor``.

    Example:
        >>> Pulley(2.0).divisor
        2.0
    """

    divisor: float
    """divisor of lengths from here on"""

    def __post_init__(self) -> None:
        if not finite(self.divisor, "divisor of a pulley", 0.0):
            raise ModelError("the divisor of a pulley is positive, not 0")


@concise
@dataclass(frozen=True, eq=False)
class SpatialTendon(Tendon):
    """Cord along a path: MuJoCo's ``<spatial>``.

    Example:
        >>> SpatialTendon("biceps", (Via("shoulder"), Wrap("elbow", "sphere", 0.03), Via("wrist"))).places
        ('shoulder', 'elbow', 'wrist')
    """

    name: str
    """name of the tendon"""
    path: tuple[Via | Wrap | Pulley, ...]
    """points, shapes between two points, and pulleys, in order"""

    def __post_init__(self) -> None:
        self._check_forces(self.name)
        object.__setattr__(self, "path", tuple(self.path))
        kinds = [type(part) for part in self.path]
        if not all(kind in (Via, Wrap, Pulley) for kind in kinds):
            raise ModelError(f"the path of tendon {self.name!r} is of Via, Wrap and Pulley, not {describe(self.path)}")
        for i, kind in enumerate(kinds):
            if kind is Wrap and not (0 < i < len(kinds) - 1 and kinds[i - 1] is kinds[i + 1] is Via):
                raise ModelError(f"tendon {self.name!r} goes around a shape between two points")
        if not self._segments():
            raise ModelError(f"the path of tendon {self.name!r} has at least two points")

    @property
    def places(self) -> tuple[str, ...]:
        """Links or frames that it names."""
        parts = [part for part in self.path if not isinstance(part, Pulley)]
        sides = [part.side for part in parts if isinstance(part, Wrap) and part.side is not None]
        return tuple(part.place for part in (*parts, *sides) if part.place is not None)

    def _segments(self) -> list[tuple[Via, Wrap | None, Via, float]]:
        """Pairs of points, with the shape between them and the divisor of their branch."""
        found: list[tuple[Via, Wrap | None, Via, float]] = []
        last: Via | None = None
        shape: Wrap | None = None
        divisor = 1.0
        for part in self.path:
            if isinstance(part, Pulley):
                last, divisor = None, part.divisor
            elif isinstance(part, Wrap):
                shape = part
            else:
                if last is not None:
                    found.append((last, shape, part, divisor))
                last, shape = part, None
        return found

    def arm(self, motion: LinkMotion) -> Arm:
        """Length of the cord, and unit forces along its straight parts on the links at their ends."""
        length: Any = 0.0
        wrenches: list[tuple[str | None, Any]] = []
        for first, shape, second, divisor in self._segments():
            a, b = first.position(motion), second.position(motion)
            if shape is None:
                parts, arc = [(first.place, a, second.place, b)], 0.0
            else:
                p, q, arc = _tangent_points(motion, shape, a, b)
                parts = [(first.place, a, shape.place, p), (shape.place, q, second.place, b)]
            length = length + arc / divisor
            for start, x, end, y in parts:
                distance, u = _line(x, y)
                length = length + distance / divisor
                pull = scale(1.0 / divisor, u)
                wrenches += [(start, -force_at(x, pull)), (end, force_at(y, pull))]
        return Arm(length, wrenches)

    def renamed(self, name: str, joint: Mapping[str, str], place: Mapping[str, str]) -> SpatialTendon:
        """Same tendon along links with other names."""
        return replace(self, name=name, path=tuple(_renamed(part, place) for part in self.path))


def _renamed(part: Via | Wrap | Pulley, place: Mapping[str, str]) -> Via | Wrap | Pulley:
    if isinstance(part, Pulley):
        return part
    named = part.place and place[part.place]
    if isinstance(part, Wrap) and part.side is not None:
        return replace(part, place=named, side=_renamed(part.side, place))  # type: ignore[arg-type]
    return replace(part, place=named)


def _tangent_points(motion: LinkMotion, shape: Wrap, a: Vector, b: Vector) -> tuple[Vector, Vector, Any]:
    """Points of tangency, in the frame of the motion, and the length between them."""
    H = motion.pose(shape.place) @ shape.placement
    if shape.inside:
        p, q, arc = pass_through(shape.kind, _in_frame(H, a), _in_frame(H, b), shape.radius)
        return H[:3, :3] @ p + H[:3, 3], H[:3, :3] @ q + H[:3, 3], arc
    side = None if shape.side is None else _in_frame(H, shape.side.position(motion))
    p, q, arc = wrap_around(shape.kind, _in_frame(H, a), _in_frame(H, b), shape.radius, side)
    return H[:3, :3] @ p + H[:3, 3], H[:3, :3] @ q + H[:3, 3], arc


def _in_frame(H: Pose, point: Vector) -> Vector:
    return H[:3, :3].T @ (point - H[:3, 3])


def _line(a: Vector, b: Vector) -> tuple[Any, Vector]:
    """Distance (m) of two points, and the direction from the first to the second; zero where they coincide."""
    apart = b - a
    square = apart @ apart
    far = less(MIN_DISTANCE**2, square)
    length = sqrt(where(far, square, 1.0 + 0.0 * square))
    return where(far, length, 0.0 * length), scale(where(far, 1.0 / length, 0.0 * length), apart)
