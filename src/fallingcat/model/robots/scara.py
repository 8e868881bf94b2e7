"""Three hinges and a slide, all along the vertical: the SCARA arm of the lecture notes."""

from __future__ import annotations

from ...lie import Group, Trivial
from ..joint import Joint
from ..joints import Prismatic, Revolute
from ..link import Frame
from ..model import Model
from .shapes import at, box_link

UPPER, FORE, HEIGHT = 0.4, 0.3, 0.5  # lengths of the arms, height of the post (m)
_Z = (0.0, 0.0, 1.0)


def scara(base: Group | None = None) -> Model:
    """The SCARA arm of [ETH] Examples 2.8.1 and 2.8.4: ``q = (alpha, beta, gamma, zeta)``, (2.132).

    Angles about the vertical and a displacement along it: the frame ``end_effector`` is at ``x = 0.4 cos(alpha) + 0.3
    cos(alpha + beta)``, ``y`` with sines, ``z = 0.5 + zeta``, turned by ``alpha + beta + gamma``: its operational space
    has four coordinates, (2.136).  The base is fixed unless another group is given.  The notes give no sizes or masses.

    Args:
        base: Group of the base; None: fixed.

    Returns:
        Robot.

    Example:
        >>> arm = scara()
        >>> arm.joint_names
        ('alpha', 'beta', 'gamma', 'zeta')
        >>> from fallingcat.dynamics import end_effector_parameters
        >>> from fallingcat.lie.charts import Cartesian, PlanarAngle
        >>> state = arm.state(joints=[0.1, -0.1, 0.5, 0.2])
        >>> end_effector_parameters(arm, state, "end_effector", Cartesian(), PlanarAngle()).round(3)
        array([0.698, 0.04 , 0.7  , 0.5  ])
    """
    links = (
        box_link("post", 8.0, (0.12, 0.12, HEIGHT), (0.0, 0.0, 0.5 * HEIGHT)),
        box_link("upper_arm", 3.0, (UPPER, 0.08, 0.06), (0.5 * UPPER, 0.0, 0.0)),
        box_link("forearm", 2.0, (FORE, 0.06, 0.05), (0.5 * FORE, 0.0, 0.0)),
        box_link("sleeve", 0.5, (0.05, 0.05, 0.08)),
        box_link("spindle", 0.5, (0.02, 0.02, 0.3), (0.0, 0.0, 0.15)),
    )
    joints = (
        Joint("alpha", Revolute(_Z), "post", "upper_arm", at(z=HEIGHT)),
        Joint("beta", Revolute(_Z), "upper_arm", "forearm", at(x=UPPER)),
        Joint("gamma", Revolute(_Z), "forearm", "sleeve", at(x=FORE)),
        Joint("zeta", Prismatic(_Z), "sleeve", "spindle", at()),
    )
    tip = Frame("end_effector", "spindle", at())
    return Model("scara", Trivial() if base is None else base, links, joints, frames=(tip,))
