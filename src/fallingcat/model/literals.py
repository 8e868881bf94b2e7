"""Literal types of arguments; another word is an error that lists these.

===================  ================  ==================================================================
word                 answers           about which point, along which axes
===================  ================  ==================================================================
``body``             representation    a frame's own origin and axes
``mixed``            representation    the frame's origin, the world's axes
``inertial``         representation    the world's origin and axes ([Traversaro]'s name; the spatial twist)
``base``             frame             the base's origin and axes
``mixed``            frame             the base's origin, the world's axes
``world``            frame             the world's origin and axes
``centroidal``       frame             the center of mass, the world's axes
===================  ================  ==================================================================

A *representation* is a way to write a twist, a wrench or a Jacobian of one link; a *frame* is where a quantity of the
whole robot is written.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

from .link import Frame

Place = str | Frame
"""The name of a link or frame, or a :class:`Frame` made by :meth:`Model.frame`."""

Representation = Literal["body", "mixed", "inertial"]
"""Representation of a twist, a wrench or a Jacobian of one link, named as in [Traversaro] 2.4."""
MomentumFrame = Literal["base", "mixed", "world", "centroidal"]
"""Frame of the momentum, inertia or average velocity of the whole robot."""
AlignedFrame = Literal["centroidal", "world"]
"""Those of them whose axes are the world's, in which momentum is conserved."""
Factorization = Literal["christoffel", "passive", "coadjoint", "newton_euler", "hamel"]
"""A Coriolis matrix among those that give the same forces; see :func:`fallingcat.coriolis_matrix`."""
Weight = Literal["inertia", "moore_penrose"]
"""Norm in which the rates of redundant joints are smallest."""

REPRESENTATIONS: Final[tuple[Representation, ...]] = get_args(Representation)
MOMENTUM_FRAMES: Final[tuple[MomentumFrame, ...]] = get_args(MomentumFrame)
ALIGNED_FRAMES: Final[tuple[AlignedFrame, ...]] = get_args(AlignedFrame)
FACTORIZATIONS: Final[tuple[Factorization, ...]] = get_args(Factorization)
WEIGHTS: Final[tuple[Weight, ...]] = get_args(Weight)


def place_name(place: Place) -> str:
    """Name of a place in a message."""
    return place.name if isinstance(place, Frame) else place
