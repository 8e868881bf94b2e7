"""Names of the groups that a base moves in."""

from __future__ import annotations

from typing import Final

from ..lie import R1, R2, R3, SE2, SE3, SO2, SO3, Cylindrical, Group, Helical, PseudoPlanar, Schoenflies, Trivial

BASES: Final[dict[str, type[Group]]] = {
    "free": SE3,
    "planar": SE2,
    "spherical": SO3,
    "schoenflies": Schoenflies,
    "translational": R3,
    "translational-2d": R2,
    "prismatic": R1,
    "revolute": SO2,
    "helical": Helical,
    "cylindrical": Cylindrical,
    "pseudo-planar": PseudoPlanar,
    "fixed": Trivial,
}
PLAIN_BASES: Final[dict[str, Group]] = {
    word: BASES[word]() for word in ("free", "planar", "spherical", "schoenflies", "translational", "fixed")
}
"""Those that a word alone describes: the others have an axis."""
