"""Contact kinematics of a robot at a state, independent of the mode: so one kernel serves all modes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....arrays import array
from ....arrays.differentiate import derivative
from ....constraints.redundant_constraints import Response, tree_response
from ....dynamics import bias_forces
from ....geometry.contact_points import Ground, PointMotion, point_motions
from ....geometry.ellipsoids import Around, radii_and_margin
from ....model import Model, State


class ContactKinematics(NamedTuple):
    """Points in the axes of the plane, its normal first, and how the robot responds to forces.

    A stop is a point that moves along its normal only: its height is the gap of the joint (rad or m).
    """

    state: State
    places: Any
    """``points x 3`` (m): the height over the ground, then along its tangents; 0 for what rolls or is on a terrain"""
    J: Any
    """``points x 3 x nv``"""
    biases: Any
    """``points x 3``: ``dJ/dt v`` (m/s^2)"""
    bias_forces: Any
    """``nv``: ``C v + g``"""
    respond: Response
    """``M^-1``"""
    axes: Any
    """``points x 3 x 3``: normal and tangents where each is, as rows (world)"""

    def speed(self, i: int) -> Any:
        """The velocity (3, m/s) of a point."""
        return self.J[i] @ self.state.velocity


def contact_kinematics(
    model: Model, state: State, points: tuple[str, ...], ground: Ground, radii: tuple[Around, ...]
) -> ContactKinematics:
    """Worked out on any kind of number."""
    at = kinematics_only(model, state, points, ground, radii)
    return at._replace(bias_forces=bias_forces(model, state), respond=tree_response(model, state))


def kinematics_only(
    model: Model, state: State, points: tuple[str, ...], ground: Ground, radii: tuple[Around, ...]
) -> ContactKinematics:
    """The same for what asks for no forces: without those of the state, and without a response."""
    motions = point_motions(model, state, points)
    pressed = [_point_kinematics(motion, state.velocity, ground, r) for motion, r in zip(motions, radii, strict=True)]
    places, J, biases, axes = ([point[k] for point in pressed] for k in range(4))
    return ContactKinematics(state, places, J, biases, None, _no_response, axes)


def _no_response(forces: Any) -> Any:
    raise AssertionError("contact kinematics alone have no response to forces")


def _point_kinematics(motion: PointMotion, v: Any, ground: Ground, around: Around) -> tuple[Any, Any, Any, Any]:
    """Place, ``J``, ``dJ/dt v`` and axes ``A`` of what touches: ``d(A u)/dt = A du/dt + dA/dt u``, as they turn."""
    site, lever = motion.touch(ground, around)
    axes, J = site.axes, motion.jacobian_at(lever)
    place = array([site.height, 0.0, 0.0]) if around else ground.place(motion.position)  # a ball rolls on
    if ground.flat:
        rate = motion.lever_rate(around, axes[0], np.zeros(3))
        return place, axes @ J, axes @ motion.bias_at(lever, rate), axes
    p, speed = motion.position, motion.J @ v
    turning = derivative(lambda t: ground.site(p + t * speed, radii_and_margin(around)[1]).axes, like=[p, speed])
    bias = motion.bias_at(lever, motion.lever_rate(around, axes[0], turning[0]))
    return place, axes @ J, axes @ bias + turning @ (J @ v), axes
