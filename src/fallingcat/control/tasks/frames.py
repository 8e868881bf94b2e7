"""Tasks of one place of the robot: a link, a frame, or a point of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import concatenate, cross, skew
from ...arrays.arguments import shape_of
from ...dynamics import jacobian, jacobian_derivative, link_pose
from ...errors import ModelError, describe
from ...lie import rotations
from ...model import Model, State
from ...records import concise
from .task import Motion, Task, as_numbers, check_poses, check_rotations


def place_motion(model: Model, state: State, place: str) -> tuple[Any, Any, Any]:
    """Pose (4 x 4), mixed ``J`` (6 x nv) and ``dJ/dt v`` (6) of a link or frame: its origin, the world's axes."""
    bias = jacobian_derivative(model, state, place, "mixed") @ state.velocity
    return link_pose(model, state, place), jacobian(model, state, place, "mixed"), bias


def turned_to(goal: Any, R: Any) -> Any:
    """The shortest rotation vector (3) from ``R`` to ``goal``, along the axes both are seen from ([ETH] (2.251))."""
    return rotations.log(goal @ R.T)


@dataclass(frozen=True, eq=False)
class PlaceTask(Task):
    """A task of one link or frame, along the world's axes."""

    place: str
    goal: Any = None

    @property
    def name(self) -> str:
        return f"{type(self).__name__}({self.place!r})"

    def goal_shape(self, model: Model) -> tuple[int, ...]:
        model.frame(self.place)
        return (3,)

    def size(self, model: Model) -> int:
        return 3


@concise
@dataclass(frozen=True, eq=False)
class PoseTask(PlaceTask):
    """A link or frame goes to the pose ``goal`` (4 x 4): its origin straight, its axes by the shortest rotation.

    Six rows along the world's axes, position first: ``error = [p* - p; log(R* R')]`` ([ETH] (2.256), (2.251)).

    >>> import fallingcat as fc
    >>> arm = fc.robots.planar_arm()
    >>> goal = fc.link_pose(arm, arm.state(joints=[0.1, 0.0, 0.0]), "end_effector")
    >>> PoseTask("end_effector", goal).demand(arm, arm.neutral()).error.round(4)
    array([ 0.2995,  0.    , -0.015 ,  0.    ,  0.1   ,  0.    ])
    """

    def check_goal(self, goal: Any) -> None:
        check_poses(goal, f"goal of {self.name}")

    def goal_shape(self, model: Model) -> tuple[int, ...]:
        model.frame(self.place)
        return (4, 4)

    def size(self, model: Model) -> int:
        return 6

    def here(self, model: Model, state: State) -> Any:
        return link_pose(model, state, self.place)

    def spot(self) -> tuple[str, Any, Any] | None:
        return (self.place, np.zeros(3), self.goal[:3, 3]) if self.mask is None or all(self.mask[:3]) else None

    def motion(self, model: Model, state: State) -> Motion:
        H, J, bias = place_motion(model, state, self.place)
        return Motion(np.zeros(6) if self.goal is None else pose_error(self.goal, H), J, bias)


@concise
@dataclass(frozen=True, eq=False)
class PositionTask(PlaceTask):
    """The origin of a link or frame goes straight to ``goal`` (3, world, m).

    >>> PositionTask("foot", [0.0, 0.0, 0.1]).name
    "PositionTask('foot')"
    """

    def here(self, model: Model, state: State) -> Any:
        return link_pose(model, state, self.place)[:3, 3]

    def spot(self) -> tuple[str, Any, Any] | None:
        return (self.place, np.zeros(3), self.goal) if self.mask is None else None

    def motion(self, model: Model, state: State) -> Motion:
        H, J, bias = place_motion(model, state, self.place)
        return Motion(np.zeros(3) if self.goal is None else self.goal - H[:3, 3], J[:3], bias[:3])


@concise
@dataclass(frozen=True, eq=False)
class RotationTask(PlaceTask):
    """A link or frame turns to the rotation ``goal`` (3 x 3, its axes to the world's) by the shortest way.

    >>> RotationTask("hand", 2.0 * np.eye(3))
    Traceback (most recent call last):
    fallingcat.errors.ModelError: goal of RotationTask('hand') is no pose: [R p; 0 1] with a rotation R is one
    """

    def check_goal(self, goal: Any) -> None:
        check_rotations(goal, f"goal of {self.name}")

    def goal_shape(self, model: Model) -> tuple[int, ...]:
        model.frame(self.place)
        return (3, 3)

    def here(self, model: Model, state: State) -> Any:
        return link_pose(model, state, self.place)[:3, :3]

    def motion(self, model: Model, state: State) -> Motion:
        H, J, bias = place_motion(model, state, self.place)
        return Motion(np.zeros(3) if self.goal is None else turned_to(self.goal, H[:3, :3]), J[3:], bias[3:])


@concise
@dataclass(frozen=True, eq=False)
class PointTask(PlaceTask):
    """The point ``point`` (3, m) of a link or frame, in its axes, goes straight to ``goal`` (3, world, m).

    >>> import fallingcat as fc
    >>> arm = fc.robots.planar_arm()
    >>> PointTask("link3", [0.0, 0.0, 5.0], point=[0.0, 0.0, 1.0]).demand(arm, arm.neutral()).error
    array([0., 0., 1.])
    """

    point: Any = (0.0, 0.0, 0.0)

    numbers = (*Task.numbers, "point")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "point", as_numbers(self.point, f"point of {self.name}"))
        if shape_of(self.point) != (3,):
            raise ModelError(f"point of {self.name} has shape (3,), not {shape_of(self.point) or describe(self.point)}")

    def here(self, model: Model, state: State) -> Any:
        H = link_pose(model, state, self.place)
        return H[:3, :3] @ self.point + H[:3, 3]

    def spot(self) -> tuple[str, Any, Any] | None:
        return (self.place, self.point, self.goal) if self.mask is None else None

    def motion(self, model: Model, state: State) -> Motion:
        H, J, bias = place_motion(model, state, self.place)
        arm, w = H[:3, :3] @ self.point, J[3:] @ state.velocity
        J, bias = J[:3] - skew(arm) @ J[3:], bias[:3] + cross(bias[3:], arm) + cross(w, cross(w, arm))
        return Motion(np.zeros(3) if self.goal is None else self.goal - (H[:3, 3] + arm), J, bias)


def pose_error(goal: Any, H: Any) -> Any:
    """``[p* - p; log(R* R')]`` (6), along the axes that both poses are seen from."""
    return concatenate([goal[:3, 3] - H[:3, 3], turned_to(goal[:3, :3], H[:3, :3])])
