"""Tendons, force elements and actuators of a model as elements of an MJCF file."""

from __future__ import annotations

from typing import Any, Final
from xml.etree import ElementTree as ET

import numpy as np

from ...lie import SO3
from ...lie.rotations import homogeneous
from ...model import (
    FirstOrderFilter,
    FixedTendon,
    FluidDrag,
    GravityCompensation,
    Integrator,
    Model,
    MuscleActivation,
    OnSite,
    Pulley,
    SliderCrank,
    SpatialTendon,
    Tendon,
    Via,
    Wrap,
)
from ...model.actuator import Actuator
from ...model.fluid_drag import equivalent_box
from ..numbers import shortest_text

_SO3 = SO3()
_EQUALITY_TOLERANCE: Final = 1e-9  # relative: centers and boxes that are those of the body


def pose_attributes(H: np.ndarray) -> dict[str, str]:
    """``pos`` and ``quat``, each where it is not that of the parent."""
    given = {"pos": shortest_text(H[:3, 3])} if H[:3, 3].any() else {}
    if not np.array_equal(H[:3, :3], np.eye(3)):
        given["quat"] = shortest_text(np.roll(_SO3.coordinates(homogeneous(H[:3, :3], np.zeros(3))), 1))
    return given


class Forces:
    """Writer of what exerts forces into the tree of a file whose bodies are there."""

    def __init__(self, root: ET.Element, model: Model) -> None:
        self.root, self.model = root, model
        world = root.find("worldbody")
        assert world is not None
        self.world, self.bodies = world, {body.get("name"): body for body in world.iter("body")}
        self.sites = {site.get("name") for site in world.iter("site")}
        self.notes: list[str] = []

    def write(self) -> None:
        """Everything; what the format does not say is in the notes."""
        self._gravity_compensation()
        self._fluid()
        if self.model.tendons:
            section = ET.SubElement(self.root, "tendon")
            for tendon in self.model.tendons:
                self._tendon(section, tendon)
        if self.model.actuators:
            section = ET.SubElement(self.root, "actuator")
            for actuator in self.model.actuators:
                self._actuator(section, actuator)
        others = [e for e in self.model.force_elements if not isinstance(e, GravityCompensation | FluidDrag)]
        if others:
            self.notes.append(f"force elements of other kinds are left out ({len(others)})")

    def _gravity_compensation(self) -> None:
        """``gravcomp`` of bodies, where what is carried acts at their center of mass."""
        for link in self.model.links:
            own = [e for e in self.model.force_elements if isinstance(e, GravityCompensation)]
            own = [e for e in own if self.model.frame(e.place).link == link.name]
            if not own:
                continue
            mass = sum(e.mass for e in own)
            points = [(self.model.frame(e.place).placement @ np.append(e.point, 1.0))[:3] for e in own]
            center = sum(e.mass * p for e, p in zip(own, points, strict=True)) / mass if mass else link.body.center
            if (
                link.body.mass
                and link.name in self.bodies
                and np.allclose(center, link.body.center, atol=_EQUALITY_TOLERANCE)
            ):
                self.bodies[link.name].set("gravcomp", shortest_text([mass / link.body.mass]))
            else:
                self.notes.append(f"gravity compensation of {link.name!r} does not act at its center: left out")

    def _fluid(self) -> None:
        """The fluid, where it acts on the boxes of all bodies."""
        drags = [e for e in self.model.force_elements if isinstance(e, FluidDrag)]
        if not drags:
            return
        whole = {link.name: link.body for link in self.model.links if link.body.mass}
        fluids = {(e.density, e.viscosity, tuple(e.wind.tolist())) for e in drags}
        if len(fluids) > 1 or len(drags) != len(whole) or not all(self._is_box(e) for e in drags):
            self.notes.append("a fluid that does not act on the boxes of all bodies is left out")
            return
        option = self.root.find("option")
        assert option is not None
        (density, viscosity, wind), *_ = fluids
        option.attrib |= {
            "density": shortest_text([density]),
            "viscosity": shortest_text([viscosity]),
            "wind": shortest_text(wind),
        }

    def _is_box(self, drag: FluidDrag) -> bool:
        """True for the box with the inertia of a link."""
        if drag.place not in self.model.link_names:
            return False
        body = self.model.links[self.model.link_index(drag.place)].body
        moments = np.diagonal(drag.axes.T @ body.inertia @ drag.axes)
        same = np.allclose(equivalent_box(body.mass, moments), drag.sides, rtol=_EQUALITY_TOLERANCE)
        return bool(same and np.allclose(drag.center, body.center, atol=_EQUALITY_TOLERANCE))

    def _element(self, place: str | None) -> tuple[ET.Element, np.ndarray]:
        """Body of a link or frame, and the pose of the place in it."""
        if place is None:
            return self.world, np.eye(4)
        frame = self.model.frame(place)
        return self.bodies.get(frame.link, self.world), frame.placement

    def _site(self, name: str, via: Via) -> str:
        """The site at a point: one that is there, or a new one."""
        if via.place in self.sites and not via.point.any():
            return str(via.place)
        body, H = self._element(via.place)
        while name in self.sites:
            name += "_"
        self.sites.add(name)
        ET.SubElement(body, "site", {"name": name} | pose_attributes(H @ homogeneous(np.eye(3), via.point)))
        return name

    def _tendon(self, section: ET.Element, tendon: Tendon) -> None:
        given = {"name": tendon.name}
        for key, x in {
            "stiffness": tendon.stiffness,
            "damping": tendon.damping,
            "frictionloss": tendon.friction,
        }.items():
            if x:
                given[key] = shortest_text([x])
        shift = tendon.offset if isinstance(tendon, FixedTendon) else 0.0
        if tendon.stiffness:
            given["springlength"] = shortest_text(np.array(tendon.rest) - shift)
        if tendon.limited:
            given["range"] = shortest_text(np.clip(tendon.limits, -1e10, 1e10) - shift)
        if isinstance(tendon, FixedTendon):
            element = ET.SubElement(section, "fixed", given)
            for joint, c in zip(tendon.over, tendon.coefficients, strict=True):
                ET.SubElement(element, "joint", joint=joint, coef=shortest_text([c]))
        elif isinstance(tendon, SpatialTendon):
            element = ET.SubElement(section, "spatial", given)
            for k, part in enumerate(tendon.path):
                self._path(element, f"{tendon.name}/{k}", part)

    def _path(self, element: ET.Element, name: str, part: Via | Wrap | Pulley) -> None:
        if isinstance(part, Pulley):
            ET.SubElement(element, "pulley", divisor=shortest_text([part.divisor]))
        elif isinstance(part, Via):
            ET.SubElement(element, "site", site=self._site(name, part))
        else:
            body, H = self._element(part.place)
            sizes = [part.radius] if part.kind == "sphere" else [part.radius, part.radius]
            shape = {"name": name, "type": part.kind, "size": shortest_text(sizes), "contype": "0", "conaffinity": "0"}
            ET.SubElement(body, "geom", shape | {"group": "3"} | pose_attributes(H @ part.placement))
            given = {"geom": name}
            if part.inside:
                given["sidesite"] = self._site(f"{name}/side", Via(part.place, part.placement[:3, 3]))
            elif part.side is not None:
                given["sidesite"] = self._site(f"{name}/side", part.side)
            ET.SubElement(element, "geom", given)

    def _actuator(self, section: ET.Element, actuator: Actuator) -> None:
        given: dict[str, str] = {"name": actuator.name} | self._transmission_attributes(actuator)
        for name, ends in (("ctrlrange", actuator.control_range), ("forcerange", actuator.force_range)):
            if np.isfinite(ends).any():
                given[name] = shortest_text(np.clip(ends, -1e30, 1e30))
        plain = actuator.activation is None and not any(actuator.gain_slope) and actuator.muscle is None
        kind = actuator.kind if plain else "general"
        ET.SubElement(section, kind, given | (_gains(actuator) if plain else _general(actuator)))

    def _transmission_attributes(self, actuator: Actuator) -> dict[str, str]:
        """Attributes of a transmission, with its gear."""
        on, gear = actuator.transmission, {} if actuator.gear == 1.0 else {"gear": shortest_text([actuator.gear])}
        if on is None:
            return {"joint": actuator.joint} | gear
        if isinstance(on, OnSite):
            site = self._site(f"{actuator.name}/site", Via(on.place))
            return {"site": site, "gear": shortest_text(actuator.gear * np.array(on.wrench))}
        if isinstance(on, SliderCrank):
            crank, slider = (self._site(f"{actuator.name}/{x}", Via(getattr(on, x))) for x in ("crank", "slider"))
            return {"cranksite": crank, "slidersite": slider, "cranklength": shortest_text([on.rod])} | gear
        return {"tendon": str(on.tendon)} | gear


def _gains(actuator: Actuator) -> dict[str, str]:
    match actuator.kind:
        case "position":
            return {"kp": shortest_text([actuator.kp]), "kv": shortest_text([actuator.kv])}
        case "velocity":
            return {"kv": shortest_text([actuator.kv])}
        case "general":
            affine = {"gaintype": "fixed", "biastype": "affine"}
            return affine | {"gainprm": shortest_text([actuator.gain]), "biasprm": shortest_text(actuator.bias)}
    return {}


def _general(actuator: Actuator) -> dict[str, str]:
    """Attributes of a ``<general>`` with an activation, a gain that changes, or the curves of a muscle."""
    given: dict[str, Any] = {}
    if (a := actuator.activation) is not None:
        if isinstance(a, FirstOrderFilter):
            given |= {"dyntype": "filter", "dynprm": shortest_text([a.time_constant])}
        elif isinstance(a, MuscleActivation):
            given |= {"dyntype": "muscle", "dynprm": shortest_text([a.rise, a.fall, a.smooth])}
        elif isinstance(a, Integrator):
            given["dyntype"] = "integrator"
        if np.isfinite(a.within).all():
            given["actrange"] = shortest_text(a.within)
    if (m := actuator.muscle) is not None:
        curve = shortest_text([*m.operating, m.peak, 1.0, m.lmin, m.lmax, m.vmax, m.fpmax, m.fvmax])
        types = {"gaintype": "muscle", "biastype": "muscle", "lengthrange": shortest_text(m.lengths)}
        return given | types | {"gainprm": curve, "biasprm": curve}
    gain, bias = {
        "motor": (1.0, (0.0, 0.0, 0.0)),
        "position": (actuator.kp, (0.0, -actuator.kp, -actuator.kv)),
        "velocity": (actuator.kv, (0.0, 0.0, -actuator.kv)),
    }.get(actuator.kind, (actuator.gain, actuator.bias))
    gains = {"gaintype": "affine", "gainprm": shortest_text([gain, *actuator.gain_slope])}
    return given | gains | {"biastype": "affine", "biasprm": shortest_text(bias)}
