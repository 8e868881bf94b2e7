"""The parts of a file to a checked :class:`Model`: one tree, masses where something moves, fixed joints merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

import numpy as np

from ..lie import SE3, Group, Trivial
from ..model import Actuator, Body, Fixed, Frame, Joint, Link, Model
from ..model.model import GRAVITY
from .diagnostics import Located, Reader
from .limits import MAX_INERTIA, MAX_LENGTH, MAX_LINKS, MAX_MASS, MAX_MASS_RATIO, MIN_MASS


@dataclass(frozen=True)
class Parts:
    """What a reader found: links and joints in the order of the file, and the place of each, by name."""

    name: str
    base: Group
    links: Sequence[Link]
    joints: Sequence[Joint]
    link_places: Mapping[str, Located | None]
    joint_places: Mapping[str, Located | None]
    frames: Sequence[Frame] = ()
    gravity: np.ndarray = field(default_factory=lambda: np.array(GRAVITY))
    virtual: Set[str] = frozenset()
    """Massless links that the reader itself put between several joints of one body."""
    actuators: Sequence[Actuator] = ()

    def model(self) -> Model:
        """The model as it stands."""
        links, joints, frames = tuple(self.links), tuple(self.joints), tuple(self.frames)
        return Model(self.name, self.base, links, joints, self.gravity, frames, actuators=tuple(self.actuators))


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
        _remark_on_a_free_world(parts, top, reader)
    model = parts.model()
    merged = model.merge_fixed() if any(isinstance(joint.kind, Fixed) for joint in model.joints) else model
    _check_physics(model, merged, parts, reader)
    return merged if options.fixed == "merge" else model


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


def _remark_on_a_free_world(parts: Parts, top: str, reader: Reader) -> None:
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


def _check_physics(model: Model, merged: Model, parts: Parts, reader: Reader) -> None:
    """Every part, then every moving whole: a link with what is welded to it."""
    home: dict[str, str] = {model.links[0].name: model.links[0].name}
    for joint in model.joints:  # parents first
        home[joint.child] = home[joint.parent] if isinstance(joint.kind, Fixed) else joint.child
    welded: dict[str, list[str]] = {}
    for link in model.links:
        welded.setdefault(home[link.name], []).append(link.name)
    still = model.links[0].name if isinstance(model.base, Trivial) else None
    whole = {link.name: link.body for link in merged.links}
    body = {link.name: link.body for link in model.links}
    laden = _carries_mass(model, whole)
    masses: list[tuple[float, str]] = []
    for name, members in welded.items():
        if name == still:
            continue
        solid = [member for member in members if body[member].mass or body[member].inertia.any()]
        _check_solid(solid, body, parts, reader)
        if whole[name].mass > 0.0:
            masses.append((whole[name].mass, name))
        if name not in parts.virtual:
            _check_whole(model, name, len(solid), whole[name], laden[name], parts, reader)
    check_ratio(masses, parts, reader)


def _check_solid(solid: Sequence[str], body: Mapping[str, Body], parts: Parts, reader: Reader) -> None:
    for name in solid:
        part, place = body[name], parts.link_places[name]
        if part.mass == 0.0:
            reader.physics(place, "there is an inertia without a mass")
        elif len(solid) == 1 or part.inertia.any():  # among others, a point mass is a fine part
            for problem in part.problems():
                reader.physics(place, problem)


def _check_whole(model: Model, name: str, solid: int, body: Body, laden: bool, parts: Parts, reader: Reader) -> None:
    place = parts.link_places[name]
    if body.mass == 0.0:
        rule = "a link that moves needs a mass"
        if name == model.links[0].name:
            hint = 'give it an <inertial>, or weld it to the world with base="fixed"'
            reader.fail(place, f"{rule}, and the base {name!r} has none", hint)
        if not laden:
            reader.fail(place, f"{rule}, and {name!r} has none", "give it an <inertial>, or make its joint fixed")
        reader.physics(place, f"{rule}, and {name!r} has none")
    elif solid > 1:
        for problem in body.problems():
            reader.physics(place, f"with all that is fixed to it: {problem}")


def _carries_mass(model: Model, whole: Mapping[str, Body]) -> dict[str, bool]:
    """For every link whether it, or anything that it carries, has a mass."""
    laden = {link.name: link.name in whole and whole[link.name].mass > 0.0 for link in model.links}
    for joint in reversed(model.joints):  # children first
        laden[joint.parent] |= laden[joint.child]
    return laden


def check_ratio(masses: Sequence[tuple[float, str]], parts: Parts, reader: Reader) -> None:
    if not masses:
        return
    (light, thin), (heavy, thick) = min(masses), max(masses)
    if heavy > MAX_MASS_RATIO * light:
        text = f"{thick!r} is {heavy / light:.2g} times as heavy as {thin!r}: forward dynamics will lose its digits"
        reader.warn(parts.link_places[thick], text)
