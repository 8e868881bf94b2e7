"""The part of a model that URDF can express, and notes on the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np

from ...lie import Trivial
from ...model import Continuous, Fixed, Joint, Limits, Link, Model, Planar, Revolute
from ...model.joints.axial import Axial
from ...model.model import GRAVITY

OPEN_END: Final = 1e9
"""End of a range that is open on one side (rad, m): URDF has two ends or none."""


def expressible(model: Model, notes: list[str]) -> Model:
    """A model with the same coordinates whose joints, shapes and base URDF has; ``notes`` say what it lacks.

    An offset on the side of a child becomes a massless link ``CHILD/JOINT`` at the joint, to which the child is fixed.
    """
    if isinstance(model.base, Trivial):
        notes.append('URDF does not say that a base is fixed: load the file with base="fixed"')
    if not np.array_equal(model.gravity, GRAVITY):
        notes.append(f"URDF has no gravity: load the file with gravity={model.gravity.tolist()}")
    if model.driven is not None:
        notes.append("URDF does not say what is driven: left out")
    if model.actuators:
        notes.append("actuators are written as <transmission>: joint and gear, without gains and ranges")
    for what, found in {"tendons": model.tendons, "force elements": model.force_elements}.items():
        if found:
            notes.append(f"URDF has no {what}: left out ({len(found)})")
    if any(not actuator.joint for actuator in model.actuators):
        notes.append("actuators of tendons and sites are left out")
    if model.named_states or model.start is not None:
        notes.append("URDF has no keyframes: left out")
    links = [_link(link, notes) for link in model.links]
    joints: list[Joint] = []
    for joint in model.joints:
        plain = _reduced_joint(joint, notes)
        if np.array_equal(plain.offset, np.eye(4)) or isinstance(plain.kind, Planar):
            joints.append(plain)
            continue
        anchor = _unused_link_name(f"{joint.child}/{joint.name}", links)
        links.append(Link(anchor))
        joints.append(replace(plain, child=anchor, offset=np.eye(4)))
        name = _unused_joint_name(f"{joint.child}/fixed", (*model.joints, *joints))
        joints.append(Joint(name, Fixed(), anchor, joint.child, plain.offset))
    parts, gravity = (tuple(links), tuple(joints)), np.array(GRAVITY)
    none: dict[str, Any] = dict.fromkeys(("actuators", "tendons", "force_elements", "named_states"), ())
    none |= {"driven": None, "start": None}
    return replace(model, links=parts[0], joints=parts[1], gravity=gravity, **none)


def _link(link: Link, notes: list[str]) -> Link:
    """A link without ellipsoids."""
    if not any(shape.kind == "ellipsoid" for shape in (*link.visuals, *link.collisions)):
        return link
    notes.append("URDF has no ellipsoids: left out")
    visuals, collisions = (
        tuple(shape for shape in shapes if shape.kind != "ellipsoid") for shapes in (link.visuals, link.collisions)
    )
    return Link(link.name, link.body, visuals, collisions)


def _reduced_joint(joint: Joint, notes: list[str]) -> Joint:
    """A joint without rotors and springs, with limits as URDF has them."""
    if joint.armature.any():
        notes.append("URDF has no armature: rotors are left out, and the mass matrix lacks them")
    passive = joint.passive
    if passive.stiffness:
        notes.append("URDF has no springs: left out")
        passive = replace(passive, stiffness=0.0, rest=0.0)
    limits, kind = joint.limits, joint.kind
    ends = np.isfinite([limits.lower, limits.upper])
    if not isinstance(kind, Axial) and limits != Limits():
        notes.append("URDF has limits of hinges and sliders only: others are left out")
        limits = Limits()
    elif ends.sum() == 1:
        notes.append(f"URDF has end stops on both sides or none: an open side ends at {OPEN_END:g}")
        limits = replace(limits, lower=max(limits.lower, -OPEN_END), upper=min(limits.upper, OPEN_END))
    if isinstance(kind, Continuous) and ends.any():
        kind = Revolute(kind.axis)
    if kind.name == "spherical":
        notes.append("spherical joints are an extension of URDF that Bullet and MuJoCo read, but not others")
    return replace(joint, kind=kind, limits=limits, passive=passive, armature=np.zeros(joint.kind.nv))


def _unused_link_name(name: str, links: list[Link]) -> str:
    return next(each for each in _candidate_names(name) if each not in {link.name for link in links})


def _unused_joint_name(name: str, joints: tuple[Joint, ...]) -> str:
    return next(each for each in _candidate_names(name) if each not in {joint.name for joint in joints})


def _candidate_names(name: str) -> Iterator[str]:
    while True:
        yield name
        name += "_"
