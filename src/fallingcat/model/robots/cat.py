"""The falling cat."""

from __future__ import annotations

import numpy as np

from ...lie import SE3
from ..joint import Joint, Limits
from ..joints import Revolute
from ..link import Frame, Link
from ..model import Model
from .shapes import at, box_link, cylinder_link, sphere_link

_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def cat() -> Model:
    """A cat of 4 kg: two halves, a spine of three joints between them, a head, four legs and a tail; 10 joints.

    x runs forward along the back, y to the left, z up; the base is the front half, its frame at its center.  Both
    halves are cylinders of radius 0.055 m along x, the front one of 1.35 kg and 0.2 m, the rear one of 1.45 kg and
    0.2 m.  Between them, 0.1 m behind the base frame, lie three hinges: ``spine_side`` about z bends the cat sideways,
    ``spine_arch`` about y arches its back, ``spine_twist`` about x turns the halves against each other; two vertebrae
    of 0.05 kg sit between the hinges, at the same point.

    ``neck`` (y) carries the head, a ball of 0.4 kg and radius 0.045 m.  ``front_left_leg`` ... ``rear_right_leg`` (y)
    swing legs of 0.15 kg and 0.2 m, with the frames ``front_left_paw`` ... at their ends.  ``tail_side`` (z) and
    ``tail_lift`` (y) carry the tail: 0.02 kg at the root and a rod of 0.08 kg and 0.25 m that points backwards.

    All numbers are round and ours, of the size of a house cat.  At the neutral state the cat stands, back straight.

    Returns:
        Robot.

    Example:
        >>> cat()
        <Model 'cat': base SE(3), 11 links, 10 joint dof, 4 kg>
    """
    links = [
        cylinder_link("front", 1.35, 0.055, 0.2, along="x"),
        _vertebra("vertebra1"),
        _vertebra("vertebra2"),
        cylinder_link("rear", 1.45, 0.055, 0.2, along="x", center=(-0.1, 0.0, 0.0)),
        sphere_link("head", 0.4, 0.045, (0.04, 0.0, 0.0)),
        sphere_link("tail_root", 0.02, 0.01),
        cylinder_link("tail", 0.08, 0.01, 0.25, along="x", center=(-0.125, 0.0, 0.0)),
    ]
    joints = [
        _hinge("spine_side", _Z, "front", "vertebra1", at(x=-0.1), 1.4, 10.0),
        _hinge("spine_arch", _Y, "vertebra1", "vertebra2", at(), 1.4, 10.0),
        _hinge("spine_twist", _X, "vertebra2", "rear", at(), 1.0, 10.0),
        _hinge("neck", _Y, "front", "head", at(x=0.12, z=0.03), 0.8, 2.0),
        _hinge("tail_side", _Z, "rear", "tail_root", at(x=-0.2, z=0.03), 1.4, 1.0),
        _hinge("tail_lift", _Y, "tail_root", "tail", at(), 1.4, 1.0),
    ]
    frames: list[Frame] = []
    for half, x in (("front", 0.06), ("rear", -0.16)):
        for side, y in (("left", 0.04), ("right", -0.04)):
            leg = f"{half}_{side}_leg"
            links.append(cylinder_link(f"{leg}_link", 0.15, 0.014, 0.2, center=(0.0, 0.0, -0.1)))
            joints.append(_hinge(leg, _Y, half, f"{leg}_link", at(x, y, -0.03), 1.6, 5.0))
            frames.append(Frame(f"{half}_{side}_paw", f"{leg}_link", at(z=-0.2)))
    return Model("cat", SE3(), tuple(links), tuple(joints), frames=tuple(frames))


def two_cylinder_cat() -> Model:
    """The simplest falling cat: two equal cylinders end to end, and a spine that bends about z and then about y.

    Each cylinder has 2 kg, radius 0.055 m and length 0.28 m, along x.  The base frame is at the center of the cylinder
    ``front``; the hinges ``spine_z`` and ``spine_y`` meet where the cylinders touch, 0.14 m behind it; ``rear`` lies
    behind, with its frame at the hinges.  The link ``spine`` between the hinges is massless.

    With no angular momentum, let it bend to ``spine_z = b``, carry the bend once around,
    ``(spine_z, spine_y) = b (cos s, sin s)``, and straighten again: it has turned about its long axis by 41.9 degrees
    for a bend b of 20 degrees and by 124.4 degrees for 40 degrees; backwards when the bend goes around backwards.

    Returns:
        Robot.

    Example:
        >>> two_cylinder_cat()
        <Model 'two_cylinder_cat': base SE(3), 3 links, 2 joint dof, 4 kg>
    """
    links = (
        cylinder_link("front", 2.0, 0.055, 0.28, along="x"),
        Link("spine"),
        cylinder_link("rear", 2.0, 0.055, 0.28, along="x", center=(-0.14, 0.0, 0.0)),
    )
    joints = (
        Joint("spine_z", Revolute(_Z), "front", "spine", at(x=-0.14)),
        Joint("spine_y", Revolute(_Y), "spine", "rear"),
    )
    return Model("two_cylinder_cat", SE3(), links, joints)


def _vertebra(name: str) -> Link:
    return box_link(name, 0.05, (0.03, 0.03, 0.03))


def _hinge(
    name: str,
    axis: tuple[float, float, float],
    parent: str,
    child: str,
    placement: np.ndarray,
    reach: float,
    effort: float,
) -> Joint:
    """A hinge that turns by ``reach`` (rad) both ways, at 20 rad/s at most."""
    return Joint(name, Revolute(axis), parent, child, placement, limits=Limits(-reach, reach, 20.0, effort))
