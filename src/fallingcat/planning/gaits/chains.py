"""Curves one after the other: chains, polygons, and the bend that a cat carries around."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...arrays.types import FloatArray, Matrix, Vector
from ...errors import ModelError
from ...records import concise
from .curve_arguments import at_once, finite
from .curves import Circle, Curve, Jet, Segment


@concise
@dataclass(frozen=True, eq=False)
class Chain(Curve):
    """Curves one after the other, each beginning where the one before ends; shares of [0, 1] by length.

    Example:
        >>> corner = Chain((Segment((0.0, 0.0), (1.0, 0.0)), Segment((1.0, 0.0), (1.0, 3.0))))
        >>> corner.edges, corner.corners
        (array([0.  , 0.25, 1.  ]), (0.25,))
    """

    parts: tuple[Curve, ...]

    def __post_init__(self) -> None:
        """Check that the parts fit, and share [0, 1] by their lengths."""
        if not isinstance(self.parts, (tuple, list)) or not all(isinstance(part, Curve) for part in self.parts):
            raise ModelError("the parts of a chain must be curves")
        if not self.parts or any(part.size != self.parts[0].size for part in self.parts):
            raise ModelError("a chain must have curves of one size, and at least one")
        ends = [part(np.array([0.0, 1.0])).q for part in self.parts]
        gaps = [np.abs(b[0] - a[1]).max() for a, b in pairwise(ends)]
        if any(gap > 1e-9 for gap in gaps):
            raise ModelError(f"a curve of the chain begins {max(gaps):.3g} away from the end of the one before")
        lengths = np.array([length(part) for part in self.parts])
        if not (lengths > 0.0).all():
            raise ModelError("a curve of the chain has no length")
        object.__setattr__(self, "_edges", np.concatenate([np.zeros(1), np.cumsum(lengths) / lengths.sum()]))

    @property
    def edges(self) -> FloatArray:
        """Parameters (parts + 1) in [0, 1] at which the parts begin and end."""
        edges: FloatArray = self.__dict__["_edges"]
        return edges

    @property
    def size(self) -> int:
        """Number of coordinates k."""
        return self.parts[0].size

    @property
    def breaks(self) -> tuple[float, ...]:
        """Breaks of the parts, and their edges."""
        inner = [a + (b - a) * np.array(part.breaks[:-1]) for part, a, b in self._curve_intervals()]
        return (*(float(x) for x in np.concatenate(inner)), 1.0)

    @property
    def corners(self) -> tuple[float, ...]:
        """Corners of the parts, and their inner edges."""
        inner = [a + (b - a) * np.array([0.0, *part.corners]) for part, a, b in self._curve_intervals()]
        return tuple(float(x) for x in np.concatenate(inner)[1:])

    def _curve_intervals(self) -> list[tuple[Curve, float, float]]:
        return [(part, float(self.edges[i]), float(self.edges[i + 1])) for i, part in enumerate(self.parts)]

    def __call__(self, s: Vector) -> Jet:
        """Points and derivatives at ``s``."""
        s = at_once(s, "s")
        out = Jet(*(np.empty((len(s), self.size)) for _ in range(3)))
        which = np.clip(np.searchsorted(self.edges, s, side="right") - 1, 0, len(self.parts) - 1)
        for i, (part, a, b) in enumerate(self._curve_intervals()):
            here = which == i
            jet = part((s[here] - a) / (b - a))
            for order in range(3):
                out[order][here] = jet[order] / (b - a) ** order
        return out


def polygon(vertices: Matrix) -> Chain:
    """Closed polygon, from the first vertex back to the first.

    Args:
        vertices: Points (V x k).

    Returns:
        Chain of segments.

    Example:
        >>> polygon([[0, 0], [1, 0], [1, 1]]).closed
        True
    """
    points = finite(vertices, 2, "vertices")
    ends = np.roll(points, -1, axis=0)
    return Chain(tuple(Segment(tuple(a), tuple(b)) for a, b in zip(points, ends, strict=True) if np.any(a != b)))


def carried_bend(bend: float, turns: float = 1.0) -> Chain:
    """Righting gait of a cat: bend to ``(bend, 0)``, carry the bend around, straighten.

    Args:
        bend: Angle (rad).
        turns: Number of turns around the circle.

    Returns:
        Closed curve of two coordinates from the origin.

    Example:
        >>> carried_bend(0.5)(1.0).q
        array([[0., 0.]])
    """
    bend = float(finite(bend, 0, "bend"))
    around = Circle(bend, turns=turns)
    top = tuple(float(x) for x in around(1.0).q[0])
    return Chain((Segment((0.0, 0.0), (bend, 0.0)), around, Segment(top, (0.0, 0.0))))


def length(curve: Curve, points: int = 201) -> float:
    """Length of a curve in shape space (rad for hinges), from the chords between ``points``."""
    return float(np.linalg.norm(np.diff(curve(np.linspace(0.0, 1.0, points)).q, axis=0), axis=1).sum())
