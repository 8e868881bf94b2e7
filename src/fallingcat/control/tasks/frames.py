"""Tasks of one link or frame of the robot, or of a point on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._deprecated import former_arguments
from ...arrays import concatenate, cross, skew
from ...arrays.arguments import shape_of
from ...arrays.types import Matrix, Pose, Rotation, Vector, Vector_3
from ...dynamics import jacobian, jacobian_derivative, link_pose
from ...errors import ModelError, describe
from ...lie import rotations
from ...model import Model, State
from ...records import concise
from .demand import Motion
from .goals import as_numbers, check_poses, check_rotations
from .task import Task


def link_motion(model: Model, state: State, link: str) -> tuple[Pose, Matrix, Vector]:
    """Pose (4 x 4), mixed ``J`` (6 x nv) and ``dJ/dt v`` (6) of a link or frame: at its origin, along world axes."""
    bias = jacobian_derivative(model, state, link, "mixed") @ state.velocity
    return link_pose(model, state, link), jacobian(model, state, link, "mixed"), bias


def turned_to(goal: Rotation, R: Rotation) -> Vector:
    """Shortest rotation vector (3) from ``R`` to ``goal``, in the axes that both are expressed in ([ETH] (2.251))."""
    return rotations.log(goal @ R.T)


@dataclass(frozen=True, eq=False)
class LinkTask(Task):
    """Base class for tasks of one link or frame, along the world's axes."""

    link: str
    goal: Any = None

    @property
    def name(self) -> str:
        """Class and link, for reports and errors."""
        return f"{type(self).__name__}({self.link!r})"

    def goal_shape(self, model: Model) -> tuple[int, ...]:
        """``(3,)``."""
        model.frame(self.link)
        return (3,)

    def size(self, model: Model) -> int:
        """Three rows along the world's axes."""
        return 3


@concise
@former_arguments(place="link")
@dataclass(frozen=True, eq=False)
class PoseTask(LinkTask):
    """Pose of a link or frame: its origin goes straight to ``goal`` (4 x 4), its axes by the shortest rotation.

    Six rows along the world's axes, position first: ``error = [p* - p; log(R* R')]`` ([ETH] (2.256), (2.251)).

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> goal = fc.link_pose(arm, arm.state(joints=[0.1, 0.0, 0.0]), "end_effector")
        >>> PoseTask("end_effector", goal).demand(arm, arm.neutral()).error.round(4)
        array([ 0.2995,  0.    , -0.015 ,  0.    ,  0.1   ,  0.    ])
    """

    def check_goal(self, goal: Any) -> None:
        """Check that the goal is a pose."""
        check_poses(goal, f"goal of {self.name}")

    def goal_shape(self, model: Model) -> tuple[int, ...]:
        """``(4, 4)``."""
        model.frame(self.link)
        return (4, 4)

    def size(self, model: Model) -> int:
        """Six rows: linear, then angular, along the world's axes."""
        return 6

    def value(self, model: Model, state: State) -> Pose:
        """Pose of the place (4 x 4)."""
        return link_pose(model, state, self.link)

    def goal_point(self) -> tuple[str, Vector_3, Vector_3] | None:
        """Origin of the place and its goal, unless the mask leaves out a position row."""
        return (self.link, np.zeros(3), self.goal[:3, 3]) if self.mask is None or all(self.mask[:3]) else None

    def motion(self, model: Model, state: State) -> Motion:
        """Pose error, mixed Jacobian and bias."""
        H, J, bias = link_motion(model, state, self.link)
        return Motion(np.zeros(6) if self.goal is None else pose_error(self.goal, H), J, bias)


@concise
@former_arguments(place="link")
@dataclass(frozen=True, eq=False)
class PositionTask(LinkTask):
    """Position of the origin of a link or frame: it goes straight to ``goal`` (3, world, m).

    Example:
        >>> PositionTask("foot", [0.0, 0.0, 0.1]).name
        "PositionTask('foot')"
    """

    def value(self, model: Model, state: State) -> Vector_3:
        """Position of the origin (3, world, m)."""
        return link_pose(model, state, self.link)[:3, 3]

    def goal_point(self) -> tuple[str, Vector_3, Vector_3] | None:
        """Origin of the place and its goal, unless there is a mask."""
        return (self.link, np.zeros(3), self.goal) if self.mask is None else None

    def motion(self, model: Model, state: State) -> Motion:
        """Position error, linear Jacobian and bias."""
        H, J, bias = link_motion(model, state, self.link)
        return Motion(np.zeros(3) if self.goal is None else self.goal - H[:3, 3], J[:3], bias[:3])


@concise
@former_arguments(place="link")
@dataclass(frozen=True, eq=False)
class RotationTask(LinkTask):
    """Rotation of a link or frame: it turns to ``goal`` (3 x 3, its axes to the world's) by the shortest way.

    Example:
        >>> RotationTask("hand", 2.0 * np.eye(3))
        Traceback (most recent call last):
        fallingcat.errors.ModelError: goal of RotationTask('hand') must be a pose [R p; 0 1] with a rotation R
    """

    def check_goal(self, goal: Any) -> None:
        """Check that the goal is a rotation."""
        check_rotations(goal, f"goal of {self.name}")

    def goal_shape(self, model: Model) -> tuple[int, ...]:
        """``(3, 3)``."""
        model.frame(self.link)
        return (3, 3)

    def value(self, model: Model, state: State) -> Rotation:
        """Rotation of the place (3 x 3)."""
        return link_pose(model, state, self.link)[:3, :3]

    def motion(self, model: Model, state: State) -> Motion:
        """Rotation error, angular Jacobian and bias."""
        H, J, bias = link_motion(model, state, self.link)
        return Motion(np.zeros(3) if self.goal is None else turned_to(self.goal, H[:3, :3]), J[3:], bias[3:])


@concise
@former_arguments(place="link")
@dataclass(frozen=True, eq=False)
class PointTask(LinkTask):
    """Position of a point of a link or frame: ``point`` (3, m, in its axes) goes straight to ``goal`` (3, world, m).

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> PointTask("link3", [0.0, 0.0, 5.0], point=[0.0, 0.0, 1.0]).demand(arm, arm.neutral()).error
        array([0., 0., 1.])
    """

    point: Vector = (0.0, 0.0, 0.0)

    numbers = (*Task.numbers, "point")

    def __post_init__(self) -> None:
        """Check the fields; the point has three coordinates."""
        super().__post_init__()
        object.__setattr__(self, "point", as_numbers(self.point, f"point of {self.name}"))
        if shape_of(self.point) != (3,):
            raise ModelError(
                f"point of {self.name} must have shape (3,), got {shape_of(self.point) or describe(self.point)}"
            )

    def value(self, model: Model, state: State) -> Vector_3:
        """Position of the point (3, world, m)."""
        H = link_pose(model, state, self.link)
        return H[:3, :3] @ self.point + H[:3, 3]

    def goal_point(self) -> tuple[str, Vector_3, Vector_3] | None:
        """Point and its goal, unless there is a mask."""
        return (self.link, self.point, self.goal) if self.mask is None else None

    def motion(self, model: Model, state: State) -> Motion:
        """Position error, Jacobian and bias of the point."""
        H, J, bias = link_motion(model, state, self.link)
        arm, w = H[:3, :3] @ self.point, J[3:] @ state.velocity
        J, bias = J[:3] - skew(arm) @ J[3:], bias[:3] + cross(bias[3:], arm) + cross(w, cross(w, arm))
        return Motion(np.zeros(3) if self.goal is None else self.goal - (H[:3, 3] + arm), J, bias)


def pose_error(goal: Pose, H: Pose) -> Vector:
    """Pose error ``[p* - p; log(R* R')]`` (6), in the axes that both poses are expressed in."""
    return concatenate([goal[:3, 3] - H[:3, 3], turned_to(goal[:3, :3], H[:3, :3])])
