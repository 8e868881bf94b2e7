"""A wheel: a hinge without end stops."""

from __future__ import annotations

from dataclasses import dataclass

from .revolute import Revolute


@dataclass(frozen=True)
class Continuous(Revolute):
    """Rotation about ``axis`` without limits; the angle counts whole turns too."""

    name = "continuous"
    stops = False
