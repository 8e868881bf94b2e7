"""What a scene is made of: simple solids, given in the frame of the part that they are fixed to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..records import concise
from .meshes import Triangles

PALETTE = ("#e8974e", "#5aa9e6", "#7bc47f", "#c78be0", "#e6c35a", "#e0707a", "#58c4c4", "#9aa5b8")


@concise
@dataclass(frozen=True)
class Capsule:
    """A cylinder with round ends around the line from ``start`` to ``end`` (m); a ball where they are the same."""

    start: Sequence[float] | np.ndarray
    end: Sequence[float] | np.ndarray
    radius: float
    color: str = PALETTE[0]
    opacity: float = 1.0

    def data(self) -> dict[str, object]:
        """As plain numbers."""
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
    """A box with half edges ``half`` (3, m) along the columns of ``axes`` (3 x 3)."""

    center: Sequence[float] | np.ndarray
    half: Sequence[float] | np.ndarray
    axes: np.ndarray = field(default_factory=lambda: np.eye(3))
    color: str = PALETTE[0]
    opacity: float = 1.0

    def data(self) -> dict[str, object]:
        """As plain numbers."""
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
    """A thin flat triangle: an ear, a fin."""

    corners: Sequence[Sequence[float]]
    color: str = PALETTE[0]

    def data(self) -> dict[str, object]:
        """As plain numbers."""
        return {"kind": "triangle", "p": [_numbers(corner) for corner in self.corners], "color": self.color}


@concise
@dataclass(frozen=True)
class Solid:
    """Triangles, moved by ``transform`` (4x4: from their coordinates to the part's, with a scale of any kind)."""

    triangles: Triangles
    transform: np.ndarray = field(default_factory=lambda: np.eye(4))
    color: str = PALETTE[0]
    opacity: float = 1.0

    def data(self) -> dict[str, object]:
        """As plain numbers; the triangles are told apart from it, since several may share them."""
        m = _numbers(np.asarray(self.transform, dtype=float)[:3].ravel())
        return {"kind": "mesh", "m": m, "color": self.color, "opacity": _number(self.opacity)}


Shape = Capsule | Box | Triangle | Solid


def _number(x: float) -> float:
    return float(f"{float(x):.6g}")


def _numbers(values: Sequence[float] | np.ndarray) -> list[float]:
    return [_number(x) for x in np.asarray(values, dtype=float)]
