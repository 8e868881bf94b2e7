"""A wheel: a hinge without end stops."""

from __future__ import annotations

from dataclasses import dataclass

from .revolute import Revolute


@dataclass(frozen=True)
class Continuous(Revolute):
    """Rotation about ``axis`` without limits; the angle counts whole turns too.

    Example:
        >>> Continuous((0.0, 1.0, 0.0)).transform([0.0])[:3, 3]
        array([0., 0., 0.])
    """

    name = "continuous"
    stops = False
