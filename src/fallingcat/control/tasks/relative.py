"""Task of one link or frame relative to another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._deprecated import former_arguments
from ...arrays import concatenate, cross, skew
from ...arrays.types import Pose
from ...dynamics import link_pose
from ...lie import SE3
from ...model import Model, State
from ...records import concise
from .demand import Motion
from .frames import link_motion, pose_error
from .goals import check_poses
from .task import Task

_SE3 = SE3()


@concise
@former_arguments(place="link")
@dataclass(frozen=True, eq=False)
class RelativeTask(Task):
    """Pose of ``link`` relative to ``other``, both links or frames, that becomes ``goal`` (4 x 4).

    Six rows along the axes of ``other``: with the mixed velocities ``v, w`` and ``v_o, w_o`` of both and the vector
    ``d`` from ``other`` to ``link``, the velocity is ``R_o' [v - v_o - w_o x d; w - w_o]``.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm(fc.lie.SE3())
        >>> RelativeTask("end_effector", "link2", np.eye(4)).demand(arm, arm.neutral()).error.round(12)
        array([ 0.,  0., -2.,  0.,  0.,  0.])
    """

    link: str
    other: str
    goal: Pose | None = None

    def check_goal(self, goal: Pose) -> None:
        """Check that the goal is a pose."""
        check_poses(goal, f"goal of {self.name}")

    @property
    def name(self) -> str:
        """Class and places, for reports and errors."""
        return f"RelativeTask({self.link!r}, {self.other!r})"

    def goal_shape(self, model: Model) -> tuple[int, ...]:
        """``(4, 4)``."""
        for link in (self.link, self.other):
            model.frame(link)
        return (4, 4)

    def size(self, model: Model) -> int:
        """Six rows: linear, then angular, along the axes of ``other``."""
        return 6

    def value(self, model: Model, state: State) -> Pose:
        """Relative pose (4 x 4)."""
        return _SE3.inverse(link_pose(model, state, self.other)) @ link_pose(model, state, self.link)

    def motion(self, model: Model, state: State) -> Motion:
        """Relative pose error, Jacobian and bias."""
        H, J, bias = link_motion(model, state, self.link)
        H_o, J_o, bias_o = link_motion(model, state, self.other)
        d, Rt, v = H[:3, 3] - H_o[:3, 3], H_o[:3, :3].T, state.velocity
        apart = J - J_o
        w_o, rate = J_o[3:] @ v, apart @ v
        moved, turned = apart[:3] + skew(d) @ J_o[3:], apart[3:]
        faster = (bias - bias_o)[:3] - cross(bias_o[3:], d) - cross(w_o, rate[:3]) - cross(w_o, moved @ v)
        turning = (bias - bias_o)[3:] - cross(w_o, rate[3:])
        error = np.zeros(6) if self.goal is None else pose_error(self.goal, _SE3.inverse(H_o) @ H)
        return Motion(error, concatenate([Rt @ moved, Rt @ turned]), concatenate([Rt @ faster, Rt @ turning]))
