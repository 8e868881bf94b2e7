"""Springs and actuators between two points of the robot, or a point and the world ([ETH] (3.34), (3.52))."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import concatenate, less, scale, sqrt, where
from ...arrays.types import Matrix, Matrix_nv_nv, Scalar, Vector, Vector_6, Vector_nv
from ...dynamics import jacobian, link_pose
from ...dynamics.checks import check_state, vector
from ...dynamics.kinematics import place_frame
from ...lie.rotations import skew
from ...model import Model, State
from ...model.literals import Place
from .base import Law

MIN_DISTANCE = 1e-12
"""Distance below which two points have no direction between them, and no force (m)."""


def wrench_between(model: Model, state: State, first: Place | None, second: Place, wrench: Vector_6) -> Vector_nv:
    """Generalized forces of an actuator between two links or frames, [ETH] (3.52).

    The wrench acts on ``second`` at its origin, and its opposite on ``first`` at the same point, so that momentum is
    conserved.  (The notes print the center of mass of either body as the point of action: then the pair has a moment.)

    Args:
        model: Robot.
        state: Configuration; velocities are not used.
        first: Link or frame of the reaction; None: the world.
        second: Link or frame on which the wrench acts.
        wrench: ``[f; t]`` (6; N, N m) along the world's axes, at the origin of ``second``.

    Returns:
        Generalized forces (nv).

    Example:
        >>> from fallingcat.model import robots
        >>> arm = robots.planar_arm()
        >>> wrench_between(arm, arm.neutral(), "link1", "link2", [0.0, 0.0, 0.0, 0.0, 5.0, 0.0])  # a motor in a joint
        array([0., 5., 0.])
    """
    check_state(model, state)
    wrench = vector(wrench, 6, "wrench")
    J = jacobian(model, state, second, "mixed")
    if first is None:
        return J.T @ wrench
    other = jacobian(model, state, first, "mixed")
    lever = link_pose(model, state, second)[:3, 3] - link_pose(model, state, first)[:3, 3]
    there = concatenate([other[:3] - skew(lever) @ other[3:], other[3:]])
    return (J - there).T @ wrench


@dataclass(frozen=True)
class PointSpring(Law):
    """Spring and damper along the line between two points, [ETH] (3.34).

    ``f = -k (d - d0) - c dd/dt`` at the distance ``d``; the energy is ``k (d - d0)^2 / 2``.  ``second`` is a link, a
    frame, or None for the world; the points are given in their frames (m).  Where the points coincide there is no
    direction, and no force.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> cable = PointSpring("end_effector", None, 100.0, rest=1.0, second_point=(0.0, 0.0, 6.0))  # to the ceiling
        >>> float(cable.energy(arm, arm.neutral()))  # 2 m long
        50.0
    """

    first: str
    second: str | None
    stiffness: float
    """N/m"""
    rest: float = 0.0
    """m"""
    damping: float = 0.0
    """N s/m"""
    first_point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    second_point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    name: str = "spring between points"
    commanded = False

    def check(self, model: Model) -> None:
        """Check that both places exist."""
        _check_places(model, self.first, self.second)

    def forces(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector_nv:
        """``J' f`` of the spring and damper, with the Jacobian ``J`` of the distance."""
        length, J = _line(model, state, self)
        return scale(-self.stiffness * (length - self.rest) - self.damping * (J @ state.velocity), J)

    def energy(self, model: Model, state: State) -> Scalar:
        """Energy ``k (d - d0)^2 / 2`` of the spring.

        Args:
            model: Robot.
            state: Configuration; velocities are not used.

        Returns:
            Energy (J).
        """
        stretch = _line(model, state, self)[0] - self.rest
        return 0.5 * self.stiffness * stretch * stretch

    def impedance(self, model: Model, state: State) -> tuple[Matrix_nv_nv, Matrix_nv_nv]:
        """Stiffness and damping in all directions of the relative motion of the points."""
        _, Ja = _point(model, state, self.first, self.first_point)
        _, Jb = _point(model, state, self.second, self.second_point)
        square = np.asarray((Jb - Ja).T @ (Jb - Ja))
        return self.stiffness * square, self.damping * square


@dataclass(frozen=True)
class PointActuator(Law):
    """Linear actuator between two points, [ETH] (3.52)-(3.53): a constant ``force`` (N; positive pushes apart).

    Points as of :class:`PointSpring`.  For a force that follows a command, write a law with :func:`wrench_between`.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> push = PointActuator("post", "link2", 10.0, first_point=(0.2, 0.0, 1.0))
        >>> bool(push.forces(arm, 0.0, arm.neutral(), frozenset())[0] < 0.0)  # leans it away from where it stands
        True
    """

    first: str
    second: str | None
    force: float
    """N"""
    first_point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    second_point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    name: str = "actuator between points"

    def check(self, model: Model) -> None:
        """Check that both places exist."""
        _check_places(model, self.first, self.second)

    def forces(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector_nv:
        """``J' force`` with the Jacobian ``J`` of the distance."""
        return scale(self.force, _line(model, state, self)[1])


def _line(model: Model, state: State, law: PointSpring | PointActuator) -> tuple[Scalar, Vector]:
    """Distance (m) of the two points, and its Jacobian (nv)."""
    a, Ja = _point(model, state, law.first, law.first_point)
    b, Jb = _point(model, state, law.second, law.second_point)
    apart = b - a
    square = apart @ apart
    far = less(MIN_DISTANCE**2, square)
    length = sqrt(where(far, square, 1.0))
    direction = scale(where(far, 1.0 / length, 0.0), apart)
    return where(far, length, 0.0), direction @ (Jb - Ja)


def _point(model: Model, state: State, place: str | None, point: Vector) -> tuple[Vector, Matrix]:
    """Position (3, m, world) of a point, and its Jacobian (3 x nv)."""
    if place is None:
        return vector(point, 3, "point"), np.zeros((3, model.nv))
    frame = place_frame(model, place, vector(point, 3, "point"))
    return link_pose(model, state, frame)[:3, 3], jacobian(model, state, frame, "mixed")[:3]


def _check_places(model: Model, first: str, second: str | None) -> None:
    for place in (first, *([] if second is None else [second])):
        model.frame(place)
