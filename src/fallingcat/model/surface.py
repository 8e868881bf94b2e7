"""Surfaces of shapes: friction and margin of contact, as a robot's file gives them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ..errors import ModelError, describe
from ..records import concise

DIMENSIONS = (1, 3, 4, 6)
"""Dimensions of a contact force: 1 has no friction; 4 and 6 add torsional and rolling friction, which do not act."""


@concise
@dataclass(frozen=True)
class Surface:
    """Contact parameters of a shape; the defaults are those of MJCF.

    Example:
        >>> rubber, floor = Surface(friction=1.2), Surface(friction=0.4)
        >>> rubber.mixed(floor).friction, rubber.mixed(Surface(0.4, priority=1)).friction
        (1.2, 0.4)
    """

    friction: float = 1.0
    """Coulomb's coefficient"""
    dimensions: int = 3
    """dimensions of the contact force: 1 (frictionless), 3, 4 or 6"""
    priority: int = 0
    """the parameters of the higher one count where two surfaces touch"""
    margin: float = 0.0
    """distance from the shape at which contact begins (m)"""
    name: str = ""
    """by which :attr:`pairs` of others refer to it"""
    pairs: tuple[tuple[str, Surface], ...] = ()
    """names of surfaces, each with the parameters of contact with it"""
    paired_only: bool = False
    """True if it touches only the surfaces in :attr:`pairs`"""

    def __post_init__(self) -> None:
        for what in ("friction", "margin"):
            given = getattr(self, what)
            if not isinstance(given, (int, float)) or not math.isfinite(given) or given < 0.0:
                raise ModelError(f"the {what} of a surface is a finite number that is not negative, not {given!r}")
        if self.dimensions not in DIMENSIONS:
            raise ModelError(f"the dimensions of a contact force are one of {DIMENSIONS}, not {self.dimensions!r}")
        if not isinstance(self.priority, int) or not isinstance(self.name, str):
            raise ModelError("the priority of a surface is an integer, and its name a text")
        pairs = tuple(tuple(pair) for pair in self.pairs)
        if not all(len(pair) == 2 and isinstance(pair[1], Surface) for pair in pairs):
            raise ModelError(f"the pairs of a surface are names with surfaces, not {describe(self.pairs)}")
        object.__setattr__(self, "pairs", pairs)

    @property
    def sliding_friction(self) -> float:
        """Coulomb's coefficient, zero where a contact force has one dimension."""
        return 0.0 if self.dimensions == 1 else float(self.friction)

    def mixed(self, other: Surface) -> Surface:
        """Parameters of contact with another surface, by MuJoCo's rule.

        Those of a pair, else those of the surface with the higher priority, else the larger ones; margins add up.

        Args:
            other: Surface that it touches.

        Returns:
            Parameters of the contact.
        """
        for one, name in ((self, other.name), (other, self.name)):
            given = dict(one.pairs).get(name) if name else None
            if given is not None:
                return given
        margin = self.margin + other.margin
        if self.priority != other.priority:
            return replace(max(self, other, key=lambda surface: surface.priority), margin=margin)
        friction, dimensions = max(self.friction, other.friction), max(self.dimensions, other.dimensions)
        return replace(self, friction=friction, dimensions=dimensions, margin=margin)

    def touches(self, other: Surface) -> bool:
        """True unless one of both touches only the surfaces in its :attr:`pairs`, and the other is none of them.

        Args:
            other: Surface that it may touch.

        Returns:
            True or False.
        """
        paired = other.name in dict(self.pairs) or self.name in dict(other.pairs)
        return paired or not (self.paired_only or other.paired_only)
