"""A seven-joint arm on a small spacecraft."""

from __future__ import annotations

import numpy as np

from ...lie import SE3
from ..body import Body
from ..joint import Joint, Limits
from ..joints import Revolute
from ..link import Frame, Link
from ..model import Model
from ..shapes import Box
from .shapes import at, box_link, sphere_link

_Z, _Y, _MINUS_Y = (0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.0, -1.0, 0.0)
_AXES = (_Z, _MINUS_Y, _Z, _Y, _Z, _MINUS_Y, _Z)
_OFFSETS = (0.11, 0.2005, 0.2, 0.2, 0.2, 0.19, 0.078)  # from joint to joint, along z (m)
_CENTERS = ((0.0, -0.06, 0.13), (0.0, 0.06, 0.07), (0.0, 0.06, 0.13), (0.0, -0.06, 0.07), (0.0, 0.0, 0.124))
_RANGE = np.deg2rad([170.0, 120.0, 170.0, 120.0, 170.0, 120.0, 170.0])


def orbital_arm() -> Model:
    """An arm like an LWR 4+ on a spacecraft of 3.5 kg, in orbit: the example of [Mishra] V-B.

    The spacecraft's inertia is ``diag(0.12, 0.14, 0.12)`` kg m^2 about its frame ([Mishra] V-B).  The arm stands
    upright on it: joints ``joint1`` to ``joint7`` about z, -y, z, y, z, -y, z, each 0.11, 0.2005, 0.2, 0.2, 0.2, 0.19
    and 0.078 m above the one before.  Five links are boxes of 2.7 kg and 0.06 x 0.12 x 0.26 m, two wrists are balls of
    1.3 kg and radius 0.06 m, centered 0.06 m above joint 6 and at joint 7.

    The paper does not print the arm's data; these are round numbers for an arm of that kind, and the shape of the
    wrists is ours.  With them the gait of V-B turns the base by (-0.08, 0.19, -13.77) degrees, roll, pitch, yaw; the
    paper says (-0.42, 0.17, -13.73).  Ranges of +-170 and +-120 degrees in turn.  No gravity.

    Returns:
        Robot.

    Example:
        >>> orbital_arm()
        <Model 'orbital_arm': base SE(3), 8 links, 7 joint dof, 19.6 kg>
    """
    hull = Box((0.5, 0.4, 0.2))
    links = [Link("spacecraft", Body(3.5, np.zeros(3), np.diag([0.12, 0.14, 0.12])), (hull,), (hull,))]
    links += [box_link(f"link{i + 1}", 2.7, (0.06, 0.12, 0.26), center) for i, center in enumerate(_CENTERS)]
    links += [sphere_link("link6", 1.3, 0.06, (0.0, 0.0, 0.06)), sphere_link("link7", 1.3, 0.06)]
    joints = tuple(
        Joint(
            f"joint{i + 1}",
            Revolute(_AXES[i]),
            parent=links[i].name,
            child=links[i + 1].name,
            placement=at(z=_OFFSETS[i]),
            limits=Limits(-float(_RANGE[i]), float(_RANGE[i])),
        )
        for i in range(7)
    )
    tool = Frame("tool", "link7", at(z=0.06))
    return Model("orbital_arm", SE3(), tuple(links), joints, gravity=np.zeros(3), frames=(tool,))
