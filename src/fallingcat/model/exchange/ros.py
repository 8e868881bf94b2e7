"""ROS: a ``JointState`` message has names, positions and velocities in an order of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...errors import ModelError
from .exchange import Exchange, Spot, Writing, exchange

if TYPE_CHECKING:
    from ..model import Model


def ros(model: Model, names: Sequence[str]) -> Exchange:
    """Exchange with ROS: ``[base, *positions]`` and ``[base, *velocities]`` of ``JointState`` messages.

    The base stands in front as in :meth:`Model.flatten <fallingcat.Model.flatten>` (position and quaternion ``xyzw``,
    as in ``geometry_msgs/Pose``); a ``JointState`` has one number per joint, so that other joints cannot be in it.

    Args:
        model: Robot.
        names: Names of the joints, in the order of the messages.

    Returns:
        Exchange of states in both directions.

    Example:
        >>> import numpy as np
        >>> from fallingcat.model import exchange, robots
        >>> arm = robots.planar_arm()
        >>> theirs = exchange.ros(arm, sorted(arm.joint_names, reverse=True))
        >>> theirs.from_(np.arange(float(arm.n)))[0]
        array([2., 1., 0.])
    """
    names = list(names)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ModelError(f"the joint {twice!r} is named twice")
    places = {}
    for i, name in enumerate(names):
        group = model.joints[model.joint_index(name)].kind.group
        if group.nq != 1:
            raise ModelError(f"a JointState has one number for each joint, and {name!r} moves in {group}")
        places[name] = Spot(model.base.nq + i, model.m + i, Writing(group.coordinate_names, (0,)))
    base = Spot(0, 0, Writing(model.base.coordinate_names, tuple(range(model.m))))
    return exchange(model, "ROS", base, places)
