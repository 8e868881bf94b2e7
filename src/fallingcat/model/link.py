"""Links, and frames fixed to them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..arrays.types import Pose
from ..errors import ModelError, describe
from ..records import concise
from .body import Body, Frozen, frozen_pose
from .shapes import Shape, shapes


@concise
@dataclass(frozen=True, eq=False)
class Link(Frozen):
    """Named body, with the shapes that are drawn for it and those that touch; shapes move nothing by themselves.

    Example:
        >>> Link("trunk", Body(2.0)).body.mass
        2.0
    """

    name: str
    """name of the link"""
    body: Body = field(default_factory=Body)
    """mass, center and inertia"""
    visuals: tuple[Shape, ...] = field(default=(), repr=False, metadata={"moves": False})  # no kernel depends on it
    """shapes that are drawn"""
    collisions: tuple[Shape, ...] = field(default=(), repr=False)
    """shapes that touch"""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise ModelError(f"the name of a link is a text, not {describe(self.name)}")
        if not isinstance(self.body, Body):
            raise ModelError(f"the body of link {self.name!r} is a Body, not {describe(self.body)}")
        for what in ("visuals", "collisions"):
            object.__setattr__(self, what, shapes(getattr(self, what), f"{what} of link {self.name!r}"))

    def moved(self, H: Pose) -> Link:
        """Same link seen from another frame.

        Args:
            H: ``4 x 4``: coordinates of this frame to those of the other.

        Returns:
            Link in the new frame.
        """
        visuals, collisions = (tuple(shape.moved(H) for shape in each) for each in (self.visuals, self.collisions))
        return Link(self.name, self.body.moved(H), visuals, collisions)


@dataclass(frozen=True, eq=False)
class Frame(Frozen):
    """Frame fixed to a link.

    Example:
        >>> Frame("tool", link="hand").placement.shape
        (4, 4)
    """

    name: str
    """name of the frame"""
    link: str
    """link that carries it"""
    placement: Pose = field(default_factory=lambda: np.eye(4))
    """``4 x 4``: coordinates of the frame to those of the link"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "placement", frozen_pose(self.placement, f"placement of frame {self.name!r}"))
