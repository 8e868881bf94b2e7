"""What a scene is made of: simple solids, given in the frame of the part that they are fixed to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..model import Body, Model

PALETTE = ("#e8974e", "#5aa9e6", "#7bc47f", "#c78be0", "#e6c35a", "#e0707a", "#58c4c4", "#9aa5b8")


@dataclass(frozen=True)
class Capsule:
    """A cylinder with round ends around the line from ``start`` to ``end`` (m); a ball where they are the same."""

    start: Sequence[float] | np.ndarray
    end: Sequence[float] | np.ndarray
    radius: float
    color: str = PALETTE[0]

    def data(self) -> dict[str, object]:
        """As plain numbers."""
        return {
            "kind": "capsule",
            "a": _numbers(self.start),
            "b": _numbers(self.end),
            "r": _number(self.radius),
            "color": self.color,
        }


@dataclass(frozen=True)
class Box:
    """A box with half edges ``half`` (3, m) along the columns of ``axes`` (3 x 3)."""

    center: Sequence[float] | np.ndarray
    half: Sequence[float] | np.ndarray
    axes: np.ndarray = field(default_factory=lambda: np.eye(3))
    color: str = PALETTE[0]

    def data(self) -> dict[str, object]:
        """As plain numbers."""
        edges = (np.asarray(self.axes, dtype=float) * np.asarray(self.half, dtype=float)).T
        return {
            "kind": "box",
            "c": _numbers(self.center),
            "e": [_numbers(edge) for edge in edges],
            "color": self.color,
        }


@dataclass(frozen=True)
class Triangle:
    """A thin flat triangle: an ear, a fin."""

    corners: Sequence[Sequence[float]]
    color: str = PALETTE[0]

    def data(self) -> dict[str, object]:
        """As plain numbers."""
        return {"kind": "triangle", "p": [_numbers(corner) for corner in self.corners], "color": self.color}


Shape = Capsule | Box | Triangle


def body_shape(body: Body, color: str = PALETTE[0]) -> Shape | None:
    """The ball, capsule or box that has about the mass distribution of a body; None for a point or nothing.

    >>> from fallingcat.model import robots
    >>> front = body_shape(robots.two_cylinder_cat().links[0].body)
    >>> print(f"{front.radius:.3f}")
    0.055
    """
    if body.mass <= 0.0:
        return None
    moments, axes = np.linalg.eigh(0.5 * np.trace(body.inertia) * np.eye(3) - body.inertia)
    edges = np.sqrt(12.0 * np.clip(moments, 0.0, None) / body.mass)  # ascending, of the box that is as heavy everywhere
    thin, middle, long = (float(x) for x in edges)
    if long < 1e-4:
        return None
    if thin >= 0.8 * long:
        return Capsule(body.center, body.center, long / np.sqrt(2.4), color)
    if thin < 0.6 * middle:
        turn = axes * np.sign(np.linalg.det(axes))
        return Box(body.center, 0.5 * np.maximum(edges, 0.02 * long), turn, color)
    radius = max(0.5 * (thin + middle) / np.sqrt(3.0), 0.03 * long)  # point masses in a row make a rod that can be seen
    reach = max(0.5 * long - radius, 0.0) * axes[:, 2]
    return Capsule(body.center - reach, body.center + reach, radius, color)


def model_shapes(model: Model) -> dict[str, list[Shape]]:
    """Link name: what to draw there, made up from masses and inertias, since a model has no looks of its own.

    A link whose mass is a point is drawn as rods to its joints and frames.
    """
    shapes: dict[str, list[Shape]] = {}
    for i, link in enumerate(model.links):
        color = PALETTE[i % len(PALETTE)]
        shape = body_shape(link.body, color)
        if shape is None:
            shapes[link.name] = _rods(model, link.name, color) if link.body.mass > 0.0 else []
        else:
            shapes[link.name] = [shape]
    return shapes


def _rods(model: Model, link: str, color: str) -> list[Shape]:
    """From the origin of a link to everything that is fixed to it elsewhere, and a ball at its mass."""
    fixed = [joint.placement for joint in model.joints if joint.parent == link]
    ends = [H[:3, 3] for H in (*fixed, *(frame.placement for frame in model.frames if frame.link == link))]
    length = max((float(np.linalg.norm(end)) for end in ends), default=0.0)
    center = model.links[model.link_index(link)].body.center
    ball = Capsule(center, center, 0.06 * length if length else 0.02, color)
    return [ball, *(Capsule(np.zeros(3), end, 0.03 * length, color) for end in ends if np.any(end))]


def _number(x: float) -> float:
    return float(f"{float(x):.6g}")


def _numbers(values: Sequence[float] | np.ndarray) -> list[float]:
    return [_number(x) for x in np.asarray(values, dtype=float)]
