"""Task of the base."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import is_numeric
from ...arrays.types import Pose
from ...errors import ModelError
from ...model import Model, State
from ...model.states import POSE_TOLERANCE
from ...records import concise
from .demand import Motion
from .frames import link_motion, pose_error
from .goals import check_poses
from .task import Task


@concise
@dataclass(frozen=True, eq=False)
class BaseTask(Task):
    """Pose of the base: it goes to ``goal`` (4 x 4), as in a :class:`PoseTask` of its link.

    The goal must be an element of the base group.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> BaseTask(np.eye(4)).demand(cat, cat.neutral()).J.shape == (6, cat.nv)
        True
    """

    goal: Pose | None = None

    def check_goal(self, goal: Pose) -> None:
        """Check that the goal is a pose."""
        check_poses(goal, f"goal of {self.name}")

    def goal_shape(self, model: Model) -> tuple[int, ...]:
        """``(4, 4)``."""
        return (4, 4)

    def size(self, model: Model) -> int:
        """Six rows: linear, then angular, along the world's axes."""
        return 6

    def check(self, model: Model) -> None:
        """Check the shapes, and that the goal is an element of the base group."""
        super().check(model)
        if self.goal is None or not is_numeric(self.goal):
            return
        for goal in np.reshape(self.goal, (-1, 4, 4)):
            if not model.base.contains(goal, POSE_TOLERANCE):
                raise ModelError(
                    f"goal of {self.name} must be an element of the base group {model.base} of {model.name!r}"
                )

    def value(self, model: Model, state: State) -> Pose:
        """Pose of the base (4 x 4)."""
        return state.pose

    def motion(self, model: Model, state: State) -> Motion:
        """Pose error, mixed Jacobian and bias of the first link."""
        H, J, bias = link_motion(model, state, model.link_names[0])
        return Motion(np.zeros(6) if self.goal is None else pose_error(self.goal, H), J, bias)
