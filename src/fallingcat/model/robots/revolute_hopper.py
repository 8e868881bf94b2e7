"""A planar hopper with a knee: trunk, thigh, shank and a massless foot."""

from __future__ import annotations

import numpy as np

from ...lie import SE2
from ..body import Body
from ..joint import Joint
from ..joints import Revolute
from ..link import Frame, Link
from ..model import Model
from .shapes import at

LENGTH = 0.12  # of the thigh and of the shank (m)


def revolute_hopper() -> Model:
    """The revolute hopper of [Feurstein] 4.3 (Figure 4.6): a leg of two rods of 0.12 m, all masses points.

    The base frame sits at the trunk, a point of 0.835 kg, with its x axis along the thigh; the thigh's point mass of
    0.122 kg is half-way to the knee and belongs to the base link.  The joint ``knee`` is at ``(0.12, 0)`` and turns
    about z; the shank's point mass of 0.05 kg is half-way to the foot (Tables 4.9 and 4.10).  The massless foot is the
    frame ``foot`` at ``(0.12, 0)`` of the shank.  At the neutral state the leg is stretched along the world's x axis.

    Base SE(2); gravity ``(0, -9.81, 0)``: the thesis does not print it, 9.81 gives its ``E(0) = 2.8382`` J (Table
    4.12), the gravitational energy at the start of EXP V (base at 0.3 m, angle -1.9938, ``q1 = 1.7802``), where
    ``r_cf = 0.1411`` m.  Springs, gains and the floor (Tables 4.11, 4.12) belong to the controllers, not to the robot.

    Returns:
        Robot.

    Example:
        >>> hopper = revolute_hopper()
        >>> hopper
        <Model 'revolute_hopper': base SE(2), 2 links, 1 joint dof, 1.007 kg>
        >>> hopper.frame("foot").link
        'shank'
    """
    half = (0.5 * LENGTH, 0.0, 0.0)
    links = (
        Link("thigh", Body.from_points([(0.835, (0.0, 0.0, 0.0)), (0.122, half)])),
        Link("shank", Body.from_points([(0.05, half)])),
    )
    knee = Joint("knee", Revolute((0.0, 0.0, 1.0)), parent="thigh", child="shank", placement=at(LENGTH))
    foot = Frame("foot", "shank", at(LENGTH))
    return Model("revolute_hopper", SE2(), links, (knee,), gravity=np.array([0.0, -9.81, 0.0]), frames=(foot,))
