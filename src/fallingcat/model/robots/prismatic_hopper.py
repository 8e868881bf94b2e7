"""A planar hopper whose leg is a slider: a point base above a point foot."""

from __future__ import annotations

import numpy as np

from ...lie import SE2
from ..body import Body
from ..joint import Joint
from ..joints import Prismatic
from ..link import Link
from ..model import Model


def prismatic_hopper() -> Model:
    """The prismatic hopper of [Feurstein] 4.2 (Figure 4.1): two point masses in the x-y plane, a massless leg between.

    The base carries 0.957 kg, the foot 0.050 kg, both at their link frames (Table 4.5).  The leg ``leg`` slides along
    the x axis of the base: the foot is at ``(q1, 0)`` (Table 4.4), so a base angle of ``-pi/2`` points the leg down.
    Base SE(2); gravity ``(0, -9.81, 0)``: the thesis does not print it.  With the leg at its rest length of 0.12 m and
    the base at 0.3 m, 9.81 gives the printed ``E_0 = 2.9047`` J (Table 4.8), and the foot is the printed
    ``r_cf^des = 0.957 / 1.007 * 0.12 = 0.1140`` m away from the center of mass.

    Springs, gains and the floor (Tables 4.6, 4.8) belong to the controllers, not to the robot.  Point masses have no
    inertia of their own: the mass matrix is singular where the leg has no length, ``q1 = 0``, and only there.

    Returns:
        Robot.

    Example:
        >>> hopper = prismatic_hopper()
        >>> hopper
        <Model 'prismatic_hopper': base SE(2), 2 links, 1 joint dof, 1.007 kg>
        >>> hopper.joint_names, hopper.link_names
        (('leg',), ('base', 'foot'))
    """
    links = (Link("base", Body.from_points([(0.957, (0.0, 0.0, 0.0))])), Link("foot", Body(0.050)))
    leg = Joint("leg", Prismatic((1.0, 0.0, 0.0)), parent="base", child="foot")
    return Model("prismatic_hopper", SE2(), links, (leg,), gravity=np.array([0.0, -9.81, 0.0]))
