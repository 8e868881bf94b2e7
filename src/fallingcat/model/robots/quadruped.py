"""A four-legged robot of the size of a dog."""

from __future__ import annotations

from ...lie import SE3
from ..joint import Joint, Limits
from ..joints import Revolute
from ..link import Frame
from ..model import Model
from .shapes import at, box_link, cylinder_link

_X, _Y = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
LENGTH = 0.2  # of thigh and shank (m)


def quadruped() -> Model:
    """A trotting robot with three joints in each leg, 12 in all; 18 kg, standing 0.4 m high with straight legs.

    The trunk is a box of 10 kg and 0.5 x 0.25 x 0.12 m, x forward, z up.  The legs ``front_left``, ``front_right``,
    ``rear_left`` and ``rear_right`` start at (+-0.2, +-0.1, 0): ``..._roll`` about x, then 0.06 m outwards
    ``..._hip`` about y, then 0.2 m down ``..._knee`` about y, then 0.2 m down the frame ``..._foot``.  Hips are boxes
    of 0.7 kg, thighs cylinders of 1 kg, shanks cylinders of 0.3 kg.  Positive hip angles swing the leg backwards, knees
    bend by negative ones.  All numbers are round and ours; effort 30 N m, speed 20 rad/s.

    Returns:
        Robot.

    Example:
        >>> quadruped()
        <Model 'quadruped': base SE(3), 13 links, 12 joint dof, 18 kg>
    """
    links = [box_link("trunk", 10.0, (0.5, 0.25, 0.12))]
    joints: list[Joint] = []
    frames: list[Frame] = []
    for end, x in (("front", 0.2), ("rear", -0.2)):
        for side, y in (("left", 0.1), ("right", -0.1)):
            name, outwards = f"{end}_{side}", 0.06 if side == "left" else -0.06
            links += [
                box_link(f"{name}_hip_link", 0.7, (0.08, 0.08, 0.08), (0.0, 0.5 * outwards, 0.0)),
                cylinder_link(f"{name}_thigh", 1.0, 0.03, LENGTH, center=(0.0, 0.0, -0.5 * LENGTH)),
                cylinder_link(f"{name}_shank", 0.3, 0.015, LENGTH, center=(0.0, 0.0, -0.5 * LENGTH)),
            ]
            chain = ["trunk", *(link.name for link in links[-3:])]
            joints += [
                Joint(f"{name}_roll", Revolute(_X), chain[0], chain[1], at(x, y), limits=_limits(-0.8, 0.8)),
                Joint(f"{name}_hip", Revolute(_Y), chain[1], chain[2], at(y=outwards), limits=_limits(-1.5, 2.5)),
                Joint(f"{name}_knee", Revolute(_Y), chain[2], chain[3], at(z=-LENGTH), limits=_limits(-2.6, 0.0)),
            ]
            frames.append(Frame(f"{name}_foot", chain[3], at(z=-LENGTH)))
    return Model("quadruped", SE3(), tuple(links), tuple(joints), frames=tuple(frames))


def _limits(lower: float, upper: float) -> Limits:
    return Limits(lower, upper, velocity=20.0, effort=30.0)
