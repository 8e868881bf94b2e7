"""Contact kinematics of a robot at a state, independent of the mode: so one kernel serves all modes."""

from __future__ import annotations

from typing import Any, NamedTuple

from ....arrays import array, cross
from ....arrays.differentiate import derivative
from ....constraints.redundant_constraints import Response, responding
from ....dynamics import bias_forces
from ....geometry.contact_points import Ground, PointMotion, point_motions
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
    model: Model, state: State, points: tuple[str, ...], ground: Ground, radii: tuple[float, ...]
) -> ContactKinematics:
    """Worked out on any kind of number."""
    at = kinematics_only(model, state, points, ground, radii)
    return at._replace(bias_forces=bias_forces(model, state), respond=responding(model, state))


def kinematics_only(
    model: Model, state: State, points: tuple[str, ...], ground: Ground, radii: tuple[float, ...]
) -> ContactKinematics:
    """The same for what asks for no forces: without those of the state, and without a response."""
    motions = point_motions(model, state, points)
    pressed = [_point_kinematics(motion, state.velocity, ground, r) for motion, r in zip(motions, radii, strict=True)]
    places, J, biases, axes = ([point[k] for point in pressed] for k in range(4))
    return ContactKinematics(state, places, J, biases, None, _no_response, axes)


def _no_response(forces: Any) -> Any:
    raise AssertionError("contact kinematics alone have no response to forces")


def _point_kinematics(motion: PointMotion, v: Any, ground: Ground, radius: float) -> tuple[Any, Any, Any, Any]:
    """Place, ``J``, ``dJ/dt v`` and axes ``A`` of a point or ball: ``d(A u)/dt = A du/dt + dA/dt u``, as they turn."""
    site = ground.site(motion.position, radius)
    axes, (J, bias) = site.axes, motion.rim(site.axes[0], radius)
    place = array([site.height, 0.0, 0.0]) if radius else ground.place(motion.position)  # a ball rolls on
    if ground.flat:
        return place, axes @ J, axes @ bias, axes
    p, speed = motion.position, motion.J @ v
    turning = derivative(lambda t: ground.site(p + t * speed, radius).axes, like=[p, speed])
    bias = bias + radius * cross(turning[0], motion.J_turn @ v)
    return place, axes @ J, axes @ bias + turning @ (J @ v), axes
