"""The parts of a file to a checked :class:`Model`: one tree, masses where something moves, fixed joints merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

import numpy as np

from ..lie import SE3, Group
from ..model import Actuator, Fixed, ForceElement, Frame, Joint, Link, Model, Tendon
from ..model.actuation import Drives
from ..model.keyframes import Keyframe
from ..model.model import GRAVITY
from ..model.surface import Surface
from .diagnostics import Located, Reader
from .limits import MAX_INERTIA, MAX_LENGTH, MAX_LINKS, MAX_MASS, MIN_MASS
from .physics import NEEDS_MASS, check_physics


@dataclass(frozen=True)
class Parts:
    """Links and joints that a reader found, in the order of the file, and the place of each, by name."""

    name: str
    base: Group
    links: Sequence[Link]
    joints: Sequence[Joint]
    link_places: Mapping[str, Located | None]
    joint_places: Mapping[str, Located | None]
    frames: Sequence[Frame] = ()
    gravity: np.ndarray = field(default_factory=lambda: np.array(GRAVITY))
    needs_mass: bool = False
    """True if the format refuses links that move without mass; otherwise the result is a kinematic model."""
    virtual: Set[str] = frozenset()
    """Massless links that the reader itself put between several joints of one body."""
    actuators: Sequence[Actuator] = ()
    driven: Drives | None = None
    contact_exclusions: Sequence[tuple[str, str]] = ()
    start: Keyframe | None = None
    named_states: Sequence[Keyframe] = ()
    force_elements: Sequence[ForceElement] = ()
    tendons: Sequence[Tendon] = ()
    ground: Surface | None = None

    def model(self) -> Model:
        """The model as it stands."""
        links, joints, frames = tuple(self.links), tuple(self.joints), tuple(self.frames)
        states = self.start, tuple(self.named_states)
        forces = tuple(self.force_elements), tuple(self.tendons)
        rest = (), tuple(self.actuators), self.driven, tuple(self.contact_exclusions), *states, *forces
        return Model(self.name, self.base, links, joints, self.gravity, frames, *rest, ground=self.ground)


def assemble(parts: Parts, reader: Reader) -> Model:
    """The model of the parts, under the reader's options: base, gravity, fixed joints, physics."""
    options = reader.options
    if options.base is not None:
        parts = replace(parts, base=options.base)
    if options.gravity is not None:
        parts = replace(parts, gravity=options.gravity)
    check_numbers(parts, reader)
    top = check_tree(parts, reader)
    if isinstance(parts.base, SE3):
        _warn_of_free_world_link(parts, top, reader)
    model = parts.model()
    if parts.needs_mass:
        _refuse_massless(_merged(model), parts, reader)
    model, merged = weld_idle(model, parts, reader)
    check_physics(model, merged, parts.link_places, parts.virtual, parts.needs_mass, reader)
    return merged if options.fixed == "merge" else model


def weld_idle(model: Model, parts: Parts, reader: Reader) -> tuple[Model, Model]:
    """The model, and what it is with its fixed joints merged; those that move no mass are fixed where that is asked."""
    merged = _merged(model)
    if merged.idle_links and reader.options.massless == "weld":
        model = _with_idle_joints_fixed(model, merged.idle_links, parts, reader)
        merged = _merged(model)
    return model, merged


def _merged(model: Model) -> Model:
    return model.merge_fixed() if any(isinstance(joint.kind, Fixed) for joint in model.joints) else model


def _refuse_massless(merged: Model, parts: Parts, reader: Reader) -> None:
    base = merged.links[0]
    if merged.m and base.body.mass == 0.0:
        hint = 'give it one, or weld it to the world with base="fixed"'
        reader.fail(parts.link_places[base.name], f"{NEEDS_MASS}, and the base {base.name!r} has none", hint)
    for name in merged.idle_links[:1]:
        reader.fail(parts.link_places[name], f"{NEEDS_MASS}, and {name!r} has none", "give it one, or weld it")


def _with_idle_joints_fixed(model: Model, idle: Sequence[str], parts: Parts, reader: Reader) -> Model:
    """The robot with the joints of massless links fixed, where they stand at neutral."""
    still = [i for i, joint in enumerate(model.joints) if joint.child in idle]
    for i in still:
        text = 'this joint moves no mass and is fixed by massless="weld"'
        reader.warn(parts.joint_places[model.joints[i].name], text)
    welded = model.lock(list({model.joints[model.leaders[i]].name: None for i in still}))
    if not welded.n:
        reader.fail(None, 'with massless="weld" no joint is left that moves: the links have no masses', "leave it out")
    return welded


def check_tree(parts: Parts, reader: Reader) -> str:
    """The root: every joint joins links that exist, every link but one is the child of one joint, no cycles."""
    if not parts.links:
        reader.fail(None, "a robot has at least one link")
    if len(parts.links) > MAX_LINKS:
        reader.fail(None, f"a robot has at most {MAX_LINKS:,} links, not {len(parts.links):,}")
    carrier: dict[str, Joint] = {}
    for joint in parts.joints:
        place = parts.joint_places[joint.name]
        for side, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in parts.link_places:
                reader.fail(place, f"the {side} link {link!r} does not exist")
        if joint.child in carrier:
            rule = f"link {joint.child!r} is already the child of joint {carrier[joint.child].name!r}"
            reader.fail(place, rule, "a robot is a tree: cut the loop")
        carrier[joint.child] = joint
    roots = [link.name for link in parts.links if link.name not in carrier]
    if len(roots) > 1:
        shown = ", ".join(map(repr, roots[:5])) + (", ..." if len(roots) > 5 else "")
        reader.fail(parts.link_places[roots[1]], f"the robot is in {len(roots)} pieces, with the roots {shown}")
    _no_cycle(parts, carrier, roots, reader)
    return roots[0]


def _no_cycle(parts: Parts, carrier: Mapping[str, Joint], roots: Sequence[str], reader: Reader) -> None:
    grounded = set(roots)
    for link in parts.links:
        way: list[str] = []
        seen: set[str] = set()
        name = link.name
        while name not in grounded:
            if name in seen:
                reader.fail(parts.joint_places[carrier[name].name], "the joints form a cycle", "a robot is a tree")
            way.append(name)
            seen.add(name)
            name = carrier[name].parent
        grounded.update(way)


def _warn_of_free_world_link(parts: Parts, top: str, reader: Reader) -> None:
    """A root called world, without a mass, with one link fixed to it: few who write that mean a robot that flies."""
    below = [joint for joint in parts.joints if joint.parent == top]
    massless = next(link.body.mass for link in parts.links if link.name == top) == 0.0
    if top.lower() == "world" and massless and len(below) == 1 and isinstance(below[0].kind, Fixed):
        reader.warn(
            parts.link_places[top], f'the base is free, though its root is called {top!r}; base="fixed" welds it'
        )


# physics ------------------------------------------------------------------------------------------------------------


def check_numbers(parts: Parts, reader: Reader) -> None:
    """Sizes that leave room for sums and products in double precision."""
    for link in parts.links:
        place, body = parts.link_places[link.name], link.body
        if body.mass > MAX_MASS:
            reader.fail(place, f"the mass is at most {MAX_MASS:g} kg, not {body.mass:g}")
        if 0.0 < body.mass < MIN_MASS:
            reader.fail(place, f"a mass is zero or at least {MIN_MASS:g} kg, not {body.mass:g}")
        if np.abs(body.inertia).max() > MAX_INERTIA:
            reader.fail(place, f"the inertia is at most {MAX_INERTIA:g} kg m^2")
        if np.abs(body.center).max() > MAX_LENGTH:
            reader.fail(place, f"the center of mass is within {MAX_LENGTH:g} m")
    for joint in parts.joints:
        if max(np.abs(joint.placement).max(), np.abs(joint.offset).max()) > MAX_LENGTH:
            reader.fail(parts.joint_places[joint.name], f"the origin of a joint is within {MAX_LENGTH:g} m")
