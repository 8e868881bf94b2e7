"""Force elements: forces that are built into a robot, beside springs and friction of its joints.

An element sees the motion of the links and returns wrenches on them; runs apply it
(:class:`fallingcat.control.laws.force_elements.ForceElements`).  An element of your own is a frozen dataclass with
:meth:`ForceElement.wrenches`, in a file of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from ..arrays import concatenate, cross, scale
from ..arrays.types import Pose, Scalar, Twist, Vector, Vector_3, Wrench
from ..errors import ModelError, describe
from ..records import concise
from ..registry import Registry
from .body import Frozen, frozen_array

Wrenches = Sequence[tuple[str | None, Wrench]]
"""Links or frames (None: the world), and wrenches ``[f; t]`` on them, about the origin and axes of the base."""


class LinkMotion(Protocol):
    """Motion of the links of a robot, in the world-fixed frame that coincides with its base link at this instant."""

    @property
    def gravity(self) -> Vector:
        """``3`` (m/s^2)."""

    def pose(self, place: str | None) -> Pose:
        """``4 x 4`` of a link or frame; None is the world."""

    def twist(self, place: str | None) -> Twist:
        """``6``: ``[v; w]`` of a link or frame, about the origin of the base."""

    def joint(self, name: str) -> tuple[Scalar, Scalar, Vector]:
        """Coordinate, rate, and the row (nv) that picks the rate out of the quasi-velocity."""


class Arm(NamedTuple):
    """A length and its derivative: ``dL/dt = sum(wrench . twist of its link) + row @ velocity``."""

    length: Scalar
    """m, or rad"""
    wrenches: Wrenches = ()
    """force of 1 N along the length, on links"""
    row: Vector | None = None
    """``nv``: the part that is not on links"""


class ForceElement(Frozen, ABC):
    """Base class of force elements.

    Example:
        >>> GravityCompensation("spring", "arm", mass=2.0).places
        ('arm',)
    """

    name: str
    """name of the element"""
    port: ClassVar[str]
    """line of the energy ledger that all elements of a class share"""

    @property
    @abstractmethod
    def places(self) -> tuple[str, ...]:
        """Links or frames that it names."""

    @abstractmethod
    def wrenches(self, motion: LinkMotion) -> Wrenches:
        """Wrenches on links.

        Args:
            motion: Poses and twists of the links.

        Returns:
            Links or frames, and the wrench on each (N, N m).
        """

    def renamed(self, name: str, places: Mapping[str, str]) -> Self:
        """Same element of a robot whose parts have other names.

        Args:
            name: New name.
            places: New names of links and frames.

        Returns:
            Element.
        """
        return replace(self, name=name, place=places[self.places[0]])  # type: ignore[type-var]


def force_at(point: Vector, force: Vector) -> Vector:
    """Wrench (6) of a force (3) at a point (3), about the origin."""
    return concatenate([force, cross(point, force)])


@concise
@dataclass(frozen=True, eq=False)
class GravityCompensation(ForceElement):
    """Force that carries a mass: ``-mass gravity`` at a point of a link, MuJoCo's ``gravcomp``.

    Example:
        >>> GravityCompensation("hand", "hand", mass=0.5, point=(0.0, 0.0, 0.1)).mass
        0.5
    """

    name: str
    """name of the element"""
    place: str
    """link or frame"""
    mass: float
    """mass that is carried (kg); more than that of the link lifts it"""
    point: Vector_3 = field(default_factory=lambda: np.zeros(3))
    """``3``: where the force acts, in the frame of ``place`` (m)"""
    port: ClassVar[str] = "gravity compensation"

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", frozen_array(self.point, (3,), f"point of {self.name!r}"))
        object.__setattr__(self, "mass", finite(self.mass, f"mass of {self.name!r}"))

    @property
    def places(self) -> tuple[str, ...]:
        """The link or frame that it carries."""
        return (self.place,)

    def wrenches(self, motion: LinkMotion) -> Wrenches:
        """Force against gravity."""
        H = motion.pose(self.place)
        return [(self.place, force_at(H[:3, :3] @ self.point + H[:3, 3], scale(-self.mass, motion.gravity)))]


def finite(x: Any, what: str, least: float = -np.inf) -> float:
    """A finite number, at least ``least``, or an error that says ``what`` it is."""
    number = not isinstance(x, bool) and isinstance(x, (int, float, np.number)) and np.isfinite(x)
    if not number or x < least:
        raise ModelError(
            f"the {what} is a finite number{'' if least == -np.inf else ', not negative'}, not {describe(x)}"
        )
    return float(x)


def _check(name: str, kind: Any) -> None:
    if not isinstance(kind, type) or not issubclass(kind, ForceElement) or not is_dataclass(kind):
        raise ModelError(
            f"a kind of force element is a frozen dataclass derived from ForceElement, not {describe(kind)}"
        )


KINDS = Registry[type[ForceElement]](
    "kind of force element", "fallingcat.force_elements", {"gravity_compensation": GravityCompensation}, _check
)
"""Every kind of force element, by the name that files call it."""
