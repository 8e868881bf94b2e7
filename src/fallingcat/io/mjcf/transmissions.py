"""Transmissions of actuators: joints, tendons, sites and slider-cranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from ...model import Joint, Model, OnSite, OnTendon, SliderCrank, Transmission
from ..numbers import number
from ..safe_xml import Element
from .files import FilesReader
from .sites import Sites

JOINTS: Final = ("joint", "jointinparent")  # the same for a joint with one degree of freedom
OTHERS: Final = ("tendon", "site", "cranksite")
NAMED: Final = (*JOINTS, *OTHERS, "refsite", "slidersite", "cranklength", "body")
"""Attributes that say what an actuator pulls on."""


def is_looked_at(element: Element) -> bool:
    """True for an actuator that pulls on a joint, a tendon or a site."""
    inside = element.parent is not None and element.parent.tag == "actuator"
    return inside and any(name in element.attributes for name in (*JOINTS, *OTHERS))


def joint_name(element: Element) -> str | None:
    """The joint that an actuator pulls on, if it is one."""
    return next((element.get(name) for name in JOINTS if name in element.attributes), None)


@dataclass(frozen=True)
class Transmissions:
    """The robot as actuators see it."""

    model: Model
    sites: Sites
    reader: FilesReader

    def joint(self, element: Element) -> Joint | None:
        """The joint of an actuator, if it pulls on one of the robot."""
        name = joint_name(element)
        return next((joint for joint in self.model.joints if joint.name == name), None)

    def of(self, element: Element, gear: np.ndarray) -> Transmission | str | None:
        """Transmission of an actuator that is no joint; the reason why it is not read; None if the robot has none."""
        if "tendon" in element.attributes:
            known = {tendon.name for tendon in self.model.tendons}
            return OnTendon(element.get("tendon")) if element.get("tendon") in known else None
        if "refsite" in element.attributes:
            return "with 'refsite'"
        first = self._frame(element, "site" if "site" in element.attributes else "cranksite")
        if first is None:
            return None
        if "site" in element.attributes:
            return OnSite(first, tuple(gear.tolist()))
        slider, rod = self._frame(element, "slidersite"), number(self.reader, element, "cranklength")
        return None if slider is None else SliderCrank(first, slider, rod)

    def _frame(self, element: Element, attribute: str) -> str | None:
        place = self.sites.places.get(element.get(attribute))
        return None if place is None else place.name
