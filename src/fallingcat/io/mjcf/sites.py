"""Sites: points of interest on bodies, which become frames of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...model import Frame, Via
from ..safe_xml import Element
from .bodies import BodyPart
from .ignored import Tally
from .parts import Naming, fresh


@dataclass(frozen=True)
class Place:
    """Frame of the model, or of the world (None), and a pose in it."""

    name: str | None
    H: np.ndarray

    def via(self) -> Via:
        """Its origin as a point of a tendon."""
        return Via(self.name, self.H[:3, 3])


@dataclass(frozen=True)
class Sites:
    """Frames of the sites with names, and where each is."""

    frames: tuple[Frame, ...]
    places: Mapping[str, Place]
    """by the name of the site; those on bodies that are no part of the robot and move are not among them"""


def read_sites(bodies: Sequence[BodyPart], kept: Sequence[bool], links: Sequence[str], tally: Tally) -> Sites:
    """Frames of all sites with names on the bodies of the robot; one with the name of a body gets an underscore.

    MuJoCo has sites and bodies of the same name, frames and links here share their names.
    """
    naming, taken = Naming(bodies).bodies, {*links, *(name for name in Naming(bodies).bodies)}
    frames: list[Frame] = []
    places: dict[str, Place] = {}
    for i, body in enumerate(bodies):
        for element, H in body.sites:
            name = element.get("name")
            if not name:
                continue
            if kept[i]:
                called = fresh(name, taken)
                if called != name:
                    tally.note("the frame of a site with the name of a body has an underscore behind it", element)
                frames.append(Frame(called, naming[i], H))
                places[name] = Place(called, np.eye(4))
            elif not body.moves:
                places[name] = Place(None, in_world(bodies, i) @ H)
    return Sites(tuple(frames), places)


def in_world(bodies: Sequence[BodyPart], i: int) -> np.ndarray:
    """World pose (4 x 4) of a body as it is drawn."""
    H = bodies[i].H
    while (i := bodies[i].parent) > 0:
        H = bodies[i].H @ H
    return H


def place_of(sites: Sites, element: Element, attribute: str) -> Place | None:
    """Where the site in an attribute is; None where it is no part of the robot."""
    return sites.places.get(element.get(attribute))
