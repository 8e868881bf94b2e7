"""Names by which the parts of a robot refer to each other: every name is there once, and what is named exists."""

# ruff: noqa: D417 (methods of a class in another file: nobody passes `self`)
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ModelError, describe, nearest_name_hint

if TYPE_CHECKING:
    from .joint import Joint
    from .link import Link
    from .model import Model


def no_twins(what: str, names: Iterable[str]) -> None:
    """Raise an error unless every name is there once, and not empty."""
    for name, count in Counter(names).items():
        if count > 1:
            raise ModelError(f"{count} {what}s are called {name!r}")
        if not name:
            raise ModelError(f"a {what} has an empty name")


def index(what: str, name: str, names: Sequence[str]) -> int:
    """Place of a name among others, or an error that says which is near."""
    if not isinstance(name, str):
        raise ModelError(f"there is no {what} {describe(name)}: a name is a text")
    try:
        return names.index(name)
    except ValueError:
        raise ModelError(f"there is no {what} {name!r}{nearest_name_hint(name, names)}") from None


def link(self: Model, name: str) -> Link:
    """Link of a name.

    Args:
        name: Name of a link.

    Returns:
        Link with its body and shapes.

    Example:
        >>> import fallingcat as fc
        >>> fc.robots.quadruped().link("trunk").body.mass
        10.0
    """
    return self.links[self.link_index(name)]


def joint(self: Model, name: str) -> Joint:
    """Joint of a name, also one that mimics another.

    Args:
        name: Name of a joint.

    Returns:
        Joint with its kind, links, limits and passive forces.

    Example:
        >>> import fallingcat as fc
        >>> fc.robots.quadruped().joint("front_left_knee").parent
        'front_left_thigh'
    """
    return next((each for each in self.joints if each.name == name), None) or self.joints[self.joint_index(name)]


def check_frames(model: Model) -> None:
    """Raise an error unless the links of frames exist, and no frame is called as a link is."""
    links = {link.name for link in model.links}
    for frame in model.frames:
        if frame.link not in links:
            raise ModelError(f"frame {frame.name!r} is fixed to the link {frame.link!r}, which does not exist")
        if frame.name in links:
            raise ModelError(f"frame {frame.name!r} has the name of a link")
    no_twins("frame", [frame.name for frame in model.frames])


def check_loops(model: Model) -> None:
    """Raise an error unless the parts that loops name exist, and move where they have to."""
    places = {*(link.name for link in model.links), *(frame.name for frame in model.frames)}
    joints = {joint.name: joint.kind.nq for joint in model.joints}
    for loop in model.loops:
        for place in loop.places:
            if place not in places:
                raise ModelError(f"loop {loop.name!r} is fixed to the link {place!r}, which does not exist")
        for name in loop.joints:
            if joints.get(name) != 1:
                why = "has not one coordinate" if name in joints else "does not exist"
                raise ModelError(f"loop {loop.name!r} couples the joint {name!r}, which {why}")
    no_twins("loop", [loop.name for loop in model.loops])


def check_forces(model: Model) -> None:
    """Raise an error unless the parts that force elements and tendons name exist."""
    places = {*(link.name for link in model.links), *(frame.name for frame in model.frames)}
    joints = {joint.name: joint.kind.nv for joint in model.joints}
    for what, parts in (("force element", model.force_elements), ("tendon", model.tendons)):
        for part in parts:
            for place in part.places:
                if place not in places:
                    raise ModelError(f"{what} {part.name!r} acts on the link {place!r}, which does not exist")
        no_twins(what, [part.name for part in parts])
    for tendon in model.tendons:
        for name in tendon.joints:
            if joints.get(name) != 1:
                why = "has not one degree of freedom" if name in joints else "does not exist"
                raise ModelError(f"tendon {tendon.name!r} goes over the joint {name!r}, which {why}")


def check_actuators(model: Model) -> None:
    """Raise an error unless the joints of actuators exist, and have one degree of freedom; or tendons and places."""
    joints = {joint.name: joint.kind.nv for joint in model.joints}
    places = {*(link.name for link in model.links), *(frame.name for frame in model.frames)}
    tendons = {tendon.name for tendon in model.tendons}
    for actuator in model.actuators:
        if actuator.transmission is not None:
            if actuator.tendon is not None and actuator.tendon not in tendons:
                raise ModelError(
                    f"actuator {actuator.name!r} drives the tendon {actuator.tendon!r}, which does not exist"
                )
            for place in actuator.transmission.places:
                if place not in places:
                    raise ModelError(f"actuator {actuator.name!r} acts on the link {place!r}, which does not exist")
        elif joints.get(actuator.joint) != 1:
            why = "has not one degree of freedom" if actuator.joint in joints else "does not exist"
            raise ModelError(f"actuator {actuator.name!r} drives the joint {actuator.joint!r}, which {why}")
    no_twins("actuator", [actuator.name for actuator in model.actuators])


def excluded_pairs(given: Any, links: Sequence[Link]) -> tuple[tuple[str, str], ...]:
    """Pairs of names of links, which exist, as tuples."""
    if not isinstance(given, (tuple, list)) or not all(isinstance(x, (tuple, list)) and len(x) == 2 for x in given):
        raise ModelError(f"contact_exclusions are pairs of names of links, not {describe(given)}")
    names = [link.name for link in links]
    for name in {name: None for pair in given for name in pair}:
        index("link", name, names)
    return tuple((first, second) for first, second in given)


def records(given: Any, what: str, kind: type) -> tuple[Any, ...]:
    """Links, joints or frames as a tuple of them."""
    if not isinstance(given, (tuple, list)):
        raise ModelError(f"{what} are {kind.__name__} records, not {describe(given)}")
    for one in given:
        if not isinstance(one, kind):
            raise ModelError(f"{what} are {kind.__name__} records, not {describe(one)}")
    return tuple(given)
