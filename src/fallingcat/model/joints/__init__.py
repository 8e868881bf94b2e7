"""The kinds of joint, one file each: a group of motions, its placement map and its motion subspace."""

from .continuous import Continuous
from .cylindrical import Cylindrical
from .fixed import Fixed
from .free import Free
from .helical import Helical
from .kind import JointKind
from .planar import Planar
from .prismatic import Prismatic
from .pseudo_planar import PseudoPlanar
from .reversed import Reversed
from .revolute import Revolute
from .schoenflies import Schoenflies
from .spherical import Spherical
from .translational import Translational
from .universal import Universal

KINDS: dict[str, type[JointKind]] = {
    kind.name: kind
    for kind in (
        Revolute,
        Continuous,
        Prismatic,
        Helical,
        Cylindrical,
        Universal,
        Planar,
        Spherical,
        Schoenflies,
        PseudoPlanar,
        Translational,
        Free,
        Fixed,
    )
}
"""Every kind of joint, by the name that files call it."""

__all__ = [
    "KINDS",
    "Continuous",
    "Cylindrical",
    "Fixed",
    "Free",
    "Helical",
    "JointKind",
    "Planar",
    "Prismatic",
    "PseudoPlanar",
    "Reversed",
    "Revolute",
    "Schoenflies",
    "Spherical",
    "Translational",
    "Universal",
]
