"""``<tendon>``: fixed ones over joints, spatial ones along sites, around geoms and over pulleys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from ...model import FixedTendon, Model, Pulley, SpatialTendon, Tendon, Via, Wrap
from ..numbers import number, vector
from ..safe_xml import Element
from .at_rest import AtRest, base_pose, joints_by_name, refs
from .bodies import BodyPart
from .defaults import Defaults
from .files import FilesReader
from .geometry import Geom
from .ignored import Tally
from .joints import note_softness
from .parts import Naming, fresh
from .settings import choice
from .sites import Place, Sites, in_world

_AT_REST: Final = -1.0  # a springlength that means: as long as with all joints at their springref
_UNREAD_ATTRIBUTES: Final = ("armature", "actuatorfrcrange")


@dataclass(frozen=True)
class Tendons:
    """The tendons of a file and what they refer to."""

    root: Element
    model: Model
    bodies: Sequence[BodyPart]
    kept: Sequence[bool]
    sites: Sites
    defaults: Defaults
    reader: FilesReader
    tally: Tally

    def read(self) -> list[Tendon]:
        """All tendons whose parts belong to the robot, in MuJoCo's order."""
        given = [element for section in self.root.all("tendon") for element in section]
        taken = {element.get("name") for element in given}
        found: list[Tendon] = []
        for i, element in enumerate(given):
            full = self.defaults.applied_as(element, "tendon")
            name = element.get("name") or fresh(f"tendon{i}", taken)
            tendon = self._fixed_tendon(element, name) if element.tag == "fixed" else self._spatial(element, name)
            if tendon is None:
                self.tally.note("a tendon whose parts are no part of the robot is not read", element)
                continue
            note_softness(full, self.reader, self.tally)
            for key in _UNREAD_ATTRIBUTES:
                if key in full.attributes and vector(self.reader, full, key, (1, 2)).any():
                    self.tally.note(f"{key!r} of a tendon is not read", element)
            found.append(self._with_forces(tendon, full))
        return found

    def _fixed_tendon(self, element: Element, name: str) -> Tendon | None:
        """Coefficients of joints; a joint that is welded, by ``massless="weld"`` say, counts as a constant."""
        known = {joint.name: joint.kind.nv for joint in self.model.joints}
        row: dict[str, float] = {}
        for each in element.all("joint"):
            joint = each.get("joint")
            if known.get(joint) != 1:
                return None
            row[joint] = row.get(joint, 0.0) + number(self.reader, each, "coef")
        return FixedTendon(name, tuple(row), tuple(row.values())) if row else None

    def _spatial(self, element: Element, name: str) -> Tendon | None:
        path: list[Via | Wrap | Pulley] = []
        for each in element:
            if each.tag == "pulley":
                path.append(Pulley(number(self.reader, each, "divisor")))
                continue
            place = self.sites.places.get(each.get("site")) if each.tag == "site" else self._geom_place(each)
            if place is None:
                return None
            path.append(place.via() if each.tag == "site" else self._wrap(each, place))
        return SpatialTendon(name, tuple(path))

    def _geom_place(self, element: Element) -> Place | None:
        """Link of the geom that a tendon goes around, and the pose of the geom on it."""
        i, geom = self._geoms()[element.get("geom")]
        if self.kept[i]:
            return Place(Naming(self.bodies).bodies[i], geom.placement)
        return None if self.bodies[i].moves else Place(None, in_world(self.bodies, i) @ geom.placement)

    def _wrap(self, element: Element, place: Place) -> Wrap:
        geom = self._geoms()[element.get("geom")][1]
        if geom.kind not in ("sphere", "cylinder"):
            self.reader.fail(element, f"a tendon goes around a sphere or a cylinder, not a {geom.kind}")
        side = self.sites.places.get(element.get("sidesite")) if "sidesite" in element.attributes else None
        shape = Wrap(place.name, geom.kind, geom.sizes[0], None if side is None else side.via(), place.H)
        return shape if side is None else with_inside(shape, AtRest(self.model, refs(self.bodies), self._base))

    @property
    def _base(self) -> np.ndarray | None:
        return base_pose(self.bodies, self.kept, self.model)

    def _geoms(self) -> Mapping[str, tuple[int, Geom]]:
        return {geom.element.get("name"): (i, geom) for i, body in enumerate(self.bodies) for geom in body.geoms}

    def _with_forces(self, tendon: Tendon, full: Element) -> Tendon:
        """Springs, damping, friction and limits of a tendon."""
        reader, given = self.reader, dict[str, Any]()
        for key, ours in (("stiffness", "stiffness"), ("damping", "damping"), ("frictionloss", "friction")):
            first, *more = vector(reader, full, key, (1, 9), default=(0.0,)).tolist()
            if first < 0.0:
                reader.fail(full, f"{key!r} is not negative", f"is {first:g}")
            if any(more):
                self.tally.note(f"only the linear part of {key!r} is read", full)
            given[ours] = first
        limited = choice(reader, full, "limited", ("true", "false", "auto"), "auto")
        lower, upper = vector(reader, full, "range", 2, default=(0.0, 0.0)).tolist()
        if limited == "true" or (limited == "auto" and lower < upper):
            if lower >= upper:
                reader.fail(full, "the lower end of 'range' lies below the upper end", f"{lower:g} and {upper:g}")
            given["limits"] = (lower, upper)
        if given["stiffness"]:
            low, *high = vector(reader, full, "springlength", (1, 2), default=(_AT_REST,)).tolist()
            ends = (low, high[0] if high else low)
            given["rest"] = (self._rest(tendon),) * 2 if _AT_REST in ends else ends
        return replace(tendon, **given)

    def _rest(self, tendon: Tendon) -> float:
        """Length with all joints at their ``springref``."""
        at = {name: part.springref for name, part in joints_by_name(self.bodies).items()}
        return float(np.asarray(tendon.arm(AtRest(self.model, at, self._base)).length))


def with_inside(shape: Wrap, drawn: AtRest) -> Wrap:
    """The shape, or, where its side point lies in it, the ring through which the cord passes."""
    assert shape.side is not None
    center = (drawn.pose(shape.place) @ shape.placement)[:3, 3]
    if np.linalg.norm(np.asarray(shape.side.position(drawn)) - center) >= shape.radius:
        return shape
    return replace(shape, side=None, inside=True)
