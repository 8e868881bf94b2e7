"""The task of the base."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import is_numeric
from ...errors import ModelError
from ...model import Model, State
from ...model.states import POSE_TOLERANCE
from ...records import concise
from .frames import place_motion, pose_error
from .task import Motion, Task, check_poses


@concise
@dataclass(frozen=True, eq=False)
class BaseTask(Task):
    """The base goes to the pose ``goal`` (4 x 4), as a :class:`PoseTask` of its link; its group must hold the goal.

    >>> import fallingcat as fc
    >>> cat = fc.robots.cat()
    >>> BaseTask(np.eye(4)).demand(cat, cat.neutral()).J.shape == (6, cat.nv)
    True
    """

    goal: Any = None

    def check_goal(self, goal: Any) -> None:
        check_poses(goal, f"goal of {self.name}")

    def goal_shape(self, model: Model) -> tuple[int, ...]:
        return (4, 4)

    def size(self, model: Model) -> int:
        return 6

    def check(self, model: Model) -> None:
        super().check(model)
        if self.goal is None or not is_numeric(self.goal):
            return
        for goal in np.reshape(self.goal, (-1, 4, 4)):
            if not model.base.contains(goal, POSE_TOLERANCE):
                raise ModelError(f"goal of {self.name} is no element of the base group {model.base} of {model.name!r}")

    def here(self, model: Model, state: State) -> Any:
        return state.pose

    def motion(self, model: Model, state: State) -> Motion:
        H, J, bias = place_motion(model, state, model.link_names[0])
        return Motion(np.zeros(6) if self.goal is None else pose_error(self.goal, H), J, bias)
