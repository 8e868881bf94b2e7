"""Links, and frames fixed to them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..errors import ModelError, describe
from ..records import concise
from .body import Body, Frozen, frozen_pose
from .shapes import Shape, shapes


@concise
@dataclass(frozen=True, eq=False)
class Link(Frozen):
    """A named body, with the shapes that are drawn for it and those that touch.  They move nothing by themselves."""

    name: str
    body: Body = field(default_factory=Body)
    visuals: tuple[Shape, ...] = field(default=(), repr=False, metadata={"moves": False})  # no kernel depends on it
    collisions: tuple[Shape, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise ModelError(f"the name of a link is a text, not {describe(self.name)}")
        if not isinstance(self.body, Body):
            raise ModelError(f"the body of link {self.name!r} is a Body, not {describe(self.body)}")
        for what in ("visuals", "collisions"):
            object.__setattr__(self, what, shapes(getattr(self, what), f"{what} of link {self.name!r}"))

    def moved(self, H: np.ndarray) -> Link:
        """The same link seen from another frame: ``H`` (4x4) maps coordinates of this one to those of the other."""
        visuals, collisions = (tuple(shape.moved(H) for shape in each) for each in (self.visuals, self.collisions))
        return Link(self.name, self.body.moved(H), visuals, collisions)


@dataclass(frozen=True, eq=False)
class Frame(Frozen):
    """A frame fixed to a link; ``placement`` maps its coordinates to those of the link."""

    name: str
    link: str
    placement: np.ndarray = field(default_factory=lambda: np.eye(4))

    def __post_init__(self) -> None:
        object.__setattr__(self, "placement", frozen_pose(self.placement, f"placement of frame {self.name!r}"))
