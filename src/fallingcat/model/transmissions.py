"""Transmissions: what an actuator pulls on, where that is not one joint."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import concatenate, cross, less, scale, sqrt, where
from ..errors import ModelError, describe
from ..records import concise
from ..registry import Registry
from .body import Frozen, frozen_array
from .force_elements import Arm, LinkMotion, finite, force_at
from .tendons import Tendon


class Transmission(Frozen, ABC):
    """Base class of transmissions: a length, and how the robot feels a force along it.

    Example:
        >>> OnSite("rotor", (0.0, 0.0, 1.0, 0.0, 0.0, 0.02)).places
        ('rotor',)
    """

    @property
    def places(self) -> tuple[str, ...]:
        """Links or frames that it names."""
        return ()

    @property
    def joints(self) -> tuple[str, ...]:
        """Joints that it names."""
        return ()

    @property
    def tendon(self) -> str | None:
        """Tendon that it names."""
        return None

    @abstractmethod
    def arm(self, motion: LinkMotion, tendons: Mapping[str, Tendon]) -> Arm:
        """Length and its derivative.

        Args:
            motion: Poses of the links.
            tendons: Tendons of the robot by name.

        Returns:
            Length, and the forces of 1 N along it.
        """

    @abstractmethod
    def renamed(self, joints: Mapping[str, str], places: Mapping[str, str], tendons: Mapping[str, str]) -> Transmission:
        """Same transmission of a robot whose parts have other names.

        Args:
            joints: New names of joints.
            places: New names of links and frames.
            tendons: New names of tendons.

        Returns:
            Transmission.
        """


@dataclass(frozen=True)
class OnTendon(Transmission):
    """Actuator that shortens a tendon.

    Example:
        >>> OnTendon("biceps").tendon
        'biceps'
    """

    name: str
    """tendon"""

    @property
    def tendon(self) -> str:
        """Tendon that it names."""
        return self.name

    def arm(self, motion: LinkMotion, tendons: Mapping[str, Tendon]) -> Arm:
        """Length of the tendon."""
        return tendons[self.name].arm(motion)

    def renamed(self, joints: Mapping[str, str], places: Mapping[str, str], tendons: Mapping[str, str]) -> OnTendon:
        """Same transmission on a tendon with another name."""
        return OnTendon(tendons[self.name])


@concise
@dataclass(frozen=True)
class OnSite(Transmission):
    """Thruster: a wrench along the axes of a link or frame, per unit of force; its length is zero.

    Example:
        >>> OnSite("rotor", (0.0, 0.0, 1.0, 0.0, 0.0, 0.02)).wrench
        (0.0, 0.0, 1.0, 0.0, 0.0, 0.02)
    """

    place: str
    """link or frame"""
    wrench: tuple[float, ...]
    """``6``: ``[f; t]`` per unit of force, in the frame of ``place``"""

    def __post_init__(self) -> None:
        wrench = frozen_array(self.wrench, (6,), f"wrench on {self.place!r}")
        object.__setattr__(self, "wrench", tuple(wrench.tolist()))

    @property
    def places(self) -> tuple[str, ...]:
        """The link or frame on which it acts."""
        return (self.place,)

    def arm(self, motion: LinkMotion, tendons: Mapping[str, Tendon]) -> Arm:
        """The wrench, and no length."""
        H = motion.pose(self.place)
        R, p = H[:3, :3], H[:3, 3]
        force, torque = np.array(self.wrench[:3]), np.array(self.wrench[3:])
        wrench = force_at(p, R @ force) + concatenate([np.zeros(3), R @ torque])
        return Arm(0.0, [(self.place, wrench)])

    def renamed(self, joints: Mapping[str, str], places: Mapping[str, str], tendons: Mapping[str, str]) -> OnSite:
        """Same transmission on a link with another name."""
        return replace(self, place=places[self.place])


@dataclass(frozen=True)
class SliderCrank(Transmission):
    """Slider that pushes a crank by a rod; its length is the way of the slider along its z axis.

    The rod has constant length: with the vector ``r`` from slider to crank and the axis ``a`` of the slider, the way is
    ``r . a - sqrt((r . a)^2 + rod^2 - r . r)``.

    Example:
        >>> SliderCrank("crank_pin", "slider", rod=0.3).places
        ('crank_pin', 'slider')
    """

    crank: str
    """link or frame at the pin of the crank"""
    slider: str
    """link or frame of the slider, which moves along its z axis"""
    rod: float
    """length of the rod (m)"""

    def __post_init__(self) -> None:
        if not finite(self.rod, f"rod on {self.crank!r}", 0.0):
            raise ModelError(f"the rod on {self.crank!r} has a length, not {describe(self.rod)}")

    @property
    def places(self) -> tuple[str, ...]:
        """Crank and slider."""
        return (self.crank, self.slider)

    def arm(self, motion: LinkMotion, tendons: Mapping[str, Tendon]) -> Arm:
        """Way of the slider; a rod that is too short leaves it where it is nearest."""
        c, H = motion.pose(self.crank)[:3, 3], motion.pose(self.slider)
        a, s = H[:3, 2], H[:3, 3]
        r = c - s
        along = r @ a
        square = along * along + self.rod**2 - r @ r
        reaches = less(0.0, square)
        root = where(reaches, sqrt(where(reaches, square, 1.0 + 0.0 * square)), 0.0 * square)
        back: Any = where(reaches, 1.0 / where(reaches, root, 1.0 + 0.0 * root), 0.0 * root)
        by_r = scale(1.0 - along * back, a) + scale(back, r)
        by_a = scale(1.0 - along * back, r)
        turn = concatenate([np.zeros(3), cross(a, by_a)])
        return Arm(along - root, [(self.crank, force_at(c, by_r)), (self.slider, -force_at(s, by_r) + turn)])

    def renamed(self, joints: Mapping[str, str], places: Mapping[str, str], tendons: Mapping[str, str]) -> SliderCrank:
        """Same transmission on links with other names."""
        return replace(self, crank=places[self.crank], slider=places[self.slider])


KINDS = Registry[type[Transmission]](
    "kind of transmission",
    "fallingcat.transmissions",
    {"tendon": OnTendon, "site": OnSite, "slider_crank": SliderCrank},
)
"""Every kind of transmission, by the name that files call it."""
