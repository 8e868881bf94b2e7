"""Three hinges whose axes meet: the wrist of the lecture notes."""

from __future__ import annotations

from ...lie import Group, Trivial
from ..joint import Joint
from ..joints import Revolute
from ..link import Frame
from ..model import Model
from .shapes import at, box_link, sphere_link


def wrist(base: Group | None = None) -> Model:
    """The wrist of [ETH] Examples 2.9.7 and 2.9.8: hinges about z, y and x through one point, (2.245).

    Its joints are the Euler ZYX angles of the frame ``hand``, so its rotation Jacobian along the world's axes is the
    chart's rate matrix, (2.247), and singular at ``y = +-pi/2``.  The base is fixed unless another group is given.  The
    notes give no masses.

    Args:
        base: Group of the base; None: fixed.

    Returns:
        Robot.

    Example:
        >>> import numpy as np
        >>> from fallingcat import jacobian
        >>> from fallingcat.lie.charts import EulerZYX
        >>> robot = wrist()
        >>> J = jacobian(robot, robot.state(joints=[0.1, 0.2, 0.3]), "hand", "mixed")
        >>> bool(np.allclose(J[3:], EulerZYX().rate_matrix([0.1, 0.2, 0.3])))
        True
    """
    names = ["forearm", "yoke", "cross", "palm"]
    links = (
        box_link(names[0], 2.0, (0.08, 0.08, 0.3), (0.0, 0.0, -0.15)),
        sphere_link(names[1], 0.3, 0.03),
        sphere_link(names[2], 0.2, 0.025),
        box_link(names[3], 0.5, (0.15, 0.08, 0.03), (0.075, 0.0, 0.0)),
    )
    axes = {"z": (0.0, 0.0, 1.0), "y": (0.0, 1.0, 0.0), "x": (1.0, 0.0, 0.0)}
    joints = tuple(
        Joint(axis, Revolute(direction), names[i], names[i + 1], at())
        for i, (axis, direction) in enumerate(axes.items())
    )
    hand = Frame("hand", "palm", at())
    return Model("wrist", Trivial() if base is None else base, links, joints, frames=(hand,))
