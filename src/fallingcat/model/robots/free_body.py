"""One rigid body and nothing else."""

from __future__ import annotations

import numpy as np

from ...lie import R2, SE2, SE3, Group
from ..body import Body
from ..link import Link
from ..model import GRAVITY, Model
from .shapes import box_link


def free_body(group: Group | None = None, body: Body | None = None) -> Model:
    """Brick that moves in a group: the single bodies of [From].

    The brick has 2 kg and edges of 0.3, 0.2 and 0.1 m along x, y and z, so three different principal moments; its
    center of mass is at the frame.  Gravity is along ``-z``, for the planar groups SE(2) and R^2 along ``-y``.

    Args:
        group: Group of the base; None: SE(3).
        body: Another body in its place.

    Returns:
        Robot.

    Example:
        >>> free_body()
        <Model 'free_body': base SE(3), 1 links, 0 joint dof, 2 kg>
        >>> from fallingcat.lie import SE2
        >>> free_body(SE2()).gravity
        array([ 0.  , -9.81,  0.  ])
    """
    group = SE3() if group is None else group
    link = box_link("body", 2.0, (0.3, 0.2, 0.1)) if body is None else Link("body", body)
    gravity = (0.0, GRAVITY[2], 0.0) if isinstance(group, (SE2, R2)) else GRAVITY
    return Model("free_body", group, (link,), gravity=np.array(gravity))
