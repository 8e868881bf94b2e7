"""Solids of scenes, given in the frame of the part that they are fixed to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..arrays.types import Float_3, Float_3_3, Float_4_4
from ..records import concise
from .meshes import Triangles

PALETTE = ("#e8974e", "#5aa9e6", "#7bc47f", "#c78be0", "#e6c35a", "#e0707a", "#58c4c4", "#9aa5b8")


@concise
@dataclass(frozen=True)
class Capsule:
    """Cylinder with round ends around the line from ``start`` to ``end``; a ball where they are the same.

    Example:
        >>> Capsule([0.0, 0.0, 0.0], [0.0, 0.0, 1.0], 0.1).radius
        0.1
    """

    start: Sequence[float] | Float_3
    """``3`` (m)"""
    end: Sequence[float] | Float_3
    """``3`` (m)"""
    radius: float
    """m"""
    color: str = PALETTE[0]
    """``#rrggbb``"""
    opacity: float = 1.0
    """from 0 to 1"""

    def data(self) -> dict[str, object]:
        """Plain numbers.

        Returns:
            Data for JSON.
        """
        return {
            "kind": "capsule",
            "a": _numbers(self.start),
            "b": _numbers(self.end),
            "r": _number(self.radius),
            "color": self.color,
            "opacity": _number(self.opacity),
        }


@concise
@dataclass(frozen=True)
class Box:
    """Box with half edges ``half`` along the columns of ``axes``.

    Example:
        >>> Box([0.0, 0.0, 0.0], [0.1, 0.2, 0.3]).half
        [0.1, 0.2, 0.3]
    """

    center: Sequence[float] | Float_3
    """``3`` (m)"""
    half: Sequence[float] | Float_3
    """``3`` (m)"""
    axes: Float_3_3 = field(default_factory=lambda: np.eye(3))
    """``3 x 3``"""
    color: str = PALETTE[0]
    """``#rrggbb``"""
    opacity: float = 1.0
    """from 0 to 1"""

    def data(self) -> dict[str, object]:
        """Plain numbers.

        Returns:
            Data for JSON.
        """
        edges = (np.asarray(self.axes, dtype=float) * np.asarray(self.half, dtype=float)).T
        return {
            "kind": "box",
            "c": _numbers(self.center),
            "e": [_numbers(edge) for edge in edges],
            "color": self.color,
            "opacity": _number(self.opacity),
        }


@concise
@dataclass(frozen=True)
class Triangle:
    """Thin flat triangle: an ear, a fin.

    Example:
        >>> len(Triangle([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]).corners)
        3
    """

    corners: Sequence[Sequence[float]]
    """three points (m)"""
    color: str = PALETTE[0]
    """``#rrggbb``"""

    def data(self) -> dict[str, object]:
        """Plain numbers.

        Returns:
            Data for JSON.
        """
        return {"kind": "triangle", "p": [_numbers(corner) for corner in self.corners], "color": self.color}


@concise
@dataclass(frozen=True)
class Solid:
    """Triangles, moved by ``transform``.

    Example:
        >>> from fallingcat.visualization.appearance import ball
        >>> Solid(ball()).opacity
        1.0
    """

    triangles: Triangles
    """mesh"""
    transform: Float_4_4 = field(default_factory=lambda: np.eye(4))
    """``4 x 4``: from its coordinates to the part's, with a scale of any kind"""
    color: str = PALETTE[0]
    """``#rrggbb``"""
    opacity: float = 1.0
    """from 0 to 1"""

    def data(self) -> dict[str, object]:
        """Plain numbers without the triangles, since several solids may share them.

        Returns:
            Data for JSON.
        """
        m = _numbers(np.asarray(self.transform, dtype=float)[:3].ravel())
        return {"kind": "mesh", "m": m, "color": self.color, "opacity": _number(self.opacity)}


Shape = Capsule | Box | Triangle | Solid


def _number(x: float) -> float:
    return float(f"{float(x):.6g}")


def _numbers(values: Sequence[float] | np.ndarray) -> list[float]:
    return [_number(x) for x in np.asarray(values, dtype=float)]
