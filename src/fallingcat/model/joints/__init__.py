"""The kinds of joint, one file each: a group of motions, its placement map and its motion subspace."""

from dataclasses import is_dataclass
from typing import Any

from ...errors import ModelError, describe
from ...registry import Registry
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

LIBRARY: tuple[type[JointKind], ...] = (
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


def _check(name: str, kind: Any) -> None:
    if not isinstance(kind, type) or not issubclass(kind, JointKind) or not is_dataclass(kind):
        raise ModelError(f"a kind of joint is a frozen dataclass derived from JointKind, not {describe(kind)}")


KINDS = Registry[type[JointKind]]("kind of joint", "fallingcat.joints", {kind.name: kind for kind in LIBRARY}, _check)
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
