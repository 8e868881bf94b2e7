"""Sections of an MJCF file beside its bodies: equalities, pairs that do not touch."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Final
from xml.etree import ElementTree as ET

import numpy as np

from ...errors import ModelError
from ...lie import SE3, SO3
from ...lie.rotations import homogeneous
from ...model import Couple, Free, Loop, Model, Pin, Weld
from ..numbers import shortest_text
from .parts import WORLD
from .written_geoms import contact_parameters

_SE3, _SO3 = SE3(), SO3()
_COINCIDE: Final = 1e-12
"""m: distance at zero below which the anchor of a pin on its first body is said to be that on its second."""
_MAX_COEFFICIENTS: Final = 5  # coefficients of a coupling


def equalities(root: ET.Element, model: Model) -> None:
    """Loops and joints that mimic others; points of a pin that are apart at zero are sites."""
    section = ET.Element("equality")
    for joint in model.joints:
        if joint.mimic is not None:
            numbers = shortest_text([joint.mimic.offset, joint.mimic.ratio, 0.0, 0.0, 0.0])
            ends = {"joint1": joint.name, "joint2": joint.mimic.leader}
            name = f"{joint.name} mimics {joint.mimic.leader}"
            ET.SubElement(section, "joint", {"name": name} | ends | {"polycoef": numbers})
    for loop in model.loops:
        _loop(section, root, model, loop)
    if len(section):
        root.append(section)


def _loop(section: ET.Element, root: ET.Element, model: Model, loop: Loop) -> None:
    if isinstance(loop, Couple) and len(loop.coefficients) <= _MAX_COEFFICIENTS:
        ends = {"joint1": loop.joint} | ({} if loop.other is None else {"joint2": loop.other})
        numbers = shortest_text([*loop.coefficients, *[0.0] * (_MAX_COEFFICIENTS - len(loop.coefficients))])
        ET.SubElement(section, "joint", {"name": loop.name} | ends | {"polycoef": numbers})
    elif isinstance(loop, Pin):
        _pin(section, root, model, loop)
    elif isinstance(loop, Weld):
        (first, F), (second, G) = _place(model, loop.first), _place(model, loop.second)
        H = F @ loop.placement @ _SE3.inverse(G)
        quaternion = np.roll(_SO3.coordinates(homogeneous(H[:3, :3], np.zeros(3))), 1)
        ends = {"body1": first} | ({} if second == WORLD else {"body2": second})
        given = {"name": loop.name, "relpose": shortest_text([*H[:3, 3], *quaternion])}
        ET.SubElement(section, "weld", given | ends)
    else:
        raise ModelError(f"the loop {loop.name!r} is a {type(loop).__name__}, which MJCF does not have: use .toml")


def _pin(section: ET.Element, root: ET.Element, model: Model, loop: Pin) -> None:
    """By its anchor, where both points coincide with all coordinates at zero, as MuJoCo takes it; else by sites."""
    (first, F), (second, G) = _place(model, loop.first), _place(model, loop.second)
    here, there = (F @ np.append(loop.first_point, 1.0))[:3], (G @ np.append(loop.second_point, 1.0))[:3]
    zero = _poses_at_zero(model)
    apart = (zero[first] @ np.append(here, 1.0) - zero[second] @ np.append(there, 1.0))[:3]
    if np.abs(apart).max() <= _COINCIDE:
        ends = {"body1": first} | ({} if second == WORLD else {"body2": second})
        ET.SubElement(section, "connect", {"name": loop.name, "anchor": shortest_text(here)} | ends)
        return
    for k, body, point in (("1", first, here), ("2", second, there)):
        home = next(e for e in root.iter() if e.tag in ("body", "worldbody") and e.get("name", WORLD) == body)
        ET.SubElement(home, "site", name=f"{loop.name}/{k}", pos=shortest_text(point))
    ET.SubElement(section, "connect", name=loop.name, site1=f"{loop.name}/1", site2=f"{loop.name}/2")


def _place(model: Model, name: str | None) -> tuple[str, np.ndarray]:
    """Body of a link, a frame or the world (None), and the pose of the place in it."""
    frame = next((frame for frame in model.frames if frame.name == name), None)
    return (frame.link, frame.placement) if frame else (name or WORLD, np.eye(4))


def _poses_at_zero(model: Model) -> dict[str, np.ndarray]:
    """Poses of the links with all coordinates at zero, as the file draws them."""
    poses = {WORLD: np.eye(4), model.links[0].name: start_pose(model)}
    zero = model.configuration.neutral.joints
    for joint, place in zip(model.joints, model.q_slices, strict=True):
        q = np.zeros(joint.kind.nq) if joint.mimic else zero[place]
        poses[joint.child] = poses[joint.parent] @ joint.placement @ joint.kind.transform(q) @ joint.offset
    return poses


def contacts(root: ET.Element, model: Model, folded: Set[str]) -> None:
    """Pairs of links that do not touch each other, and pairs of geoms with parameters of their own."""
    excluded = [pair for pair in model.contact_exclusions if not folded & {*pair}]
    named = {s.name: s for link in model.links for shape in link.collisions if (s := shape.surface) and s.pairs}
    pairs = {
        tuple(sorted((name, other))): surface
        for name, own in named.items()
        for other, surface in own.pairs
        if other in named
    }
    section = ET.SubElement(root, "contact") if excluded or pairs else root
    for first, second in excluded:
        ET.SubElement(section, "exclude", body1=first, body2=second)
    for (first, second), surface in pairs.items():
        given = {"friction": shortest_text([surface.friction] * 2)} | contact_parameters(replace(surface, friction=1.0))
        ET.SubElement(section, "pair", {"geom1": first, "geom2": second} | given)


def keyframes(root: ET.Element, model: Model) -> list[str]:
    """Write named states; notes where MuJoCo has other coordinates."""
    notes = []
    drawn = drawn_poses(model)
    if model.start is not None and any(np.any(q) for name, q in model.start.joints.items() if name not in drawn):
        notes.append("bodies are drawn with all coordinates at zero: where joints start is not written to MJCF")
    if model.keyframes and any(joint.mimic for joint in model.joints):
        return [*notes, "keyframes of robots with mimic joints are not written to MJCF"]
    section = ET.SubElement(root, "keyframe") if model.keyframes else root
    for name, state in model.keyframes.items():
        q, v = model.to_mujoco(state)
        ET.SubElement(
            section, "key", {"name": name, "qpos": shortest_text(q)} | ({"qvel": shortest_text(v)} if v.any() else {})
        )
    return notes


def drawn_poses(model: Model) -> dict[str, np.ndarray]:
    """Poses (4 x 4) in which free bodies are drawn, by joint; a model with loops is drawn at zero."""
    free = [i for i, joint in enumerate(model.joints) if isinstance(joint.kind, Free) and not model.loops]
    q = model.neutral().joints
    return {model.joints[i].name: _SE3.element(q[model.q_slices[i]]) for i in free}


def start_pose(model: Model) -> np.ndarray:
    """Pose (4 x 4) in which the base is drawn."""
    return np.eye(4) if model.start is None or model.start.pose is None else model.start.pose
