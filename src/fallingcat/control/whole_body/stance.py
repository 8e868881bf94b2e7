"""Whole-body control of a standing robot with the stance foot as base: [Traversaro] (46)-(48)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...contact import WrenchCone
from ...dynamics.checks import check_dynamic, check_model, positive
from ...errors import ModelError, describe
from ...geometry.contact_points import checked_points
from ...lie import SE3
from ...model import Model
from ...records import concise
from ..inverse_kinematics.differential import Levels, checked_levels
from ..limits.joint_limits import Limit
from ..tasks.task import Task
from .controller import checked_limits
from .loop import WholeBodyLoop
from .plan import plan_of
from .problem import TorqueLimits
from .solver import Solver
from .stance_problem import StanceSetup


@concise
@dataclass(frozen=True)
class Stance:
    """Whole-body controller of a robot on flat feet, with its stance foot as base.

    ``loop = Stance(robot, tasks, feet).compile()``.  The first of ``feet`` is the base, and at rest: what remains is a
    fixed-base arm, (46), whose unknowns are joint accelerations and the wrenches of further feet; its own wrench, (48),
    stays inside its cone, as theirs do.  To switch the stance foot, name the other one first: torques, accelerations
    and wrenches stay the same.

    What tasks leave open is settled by the least forces at the corners of soles, then the least torques.
    ``loop.found.forces`` are the wrenches (feet x 6, in the frames of soles); ``loop.found.acceleration`` is
    ``[0; ddq]``: that of the foot, then of joints.

    Args:
        model: Robot.
        tasks: List of priorities, as of :func:`.torques`.
        feet: Soles in contact, the stance foot first.
        limits: Limits above all tasks, as of :class:`.WholeBody`.
        horizon: Time (s) after which limits of velocities hold.
        late: Longest time (s) between two ticks; None: any.

    Example:
        >>> import numpy as np
        >>> import fallingcat as fc
        >>> walker = fc.robots.humanoid()
        >>> soles = ("left_sole", "right_sole")
        >>> left, right = (fc.contact.WrenchCone(sole, (-0.06, 0.14), (-0.05, 0.05)) for sole in soles)
        >>> sway = fc.control.CenterOfMassTask(acceleration=[0.0, 0.3, 0.0])
        >>> tasks = [[sway], [fc.control.JointsTask(walker.neutral().joints)]]
        >>> one, two = (fc.control.Stance(walker, tasks, feet).compile() for feet in ([left, right], [right, left]))
        >>> q, v = walker.flatten(walker.neutral())
        >>> bool(np.allclose(one(q, v), two(q, v), rtol=1e-9))
        True
        >>> bool(left.margins(one.found.forces[0]).inside)
        True
    """

    model: Model
    tasks: Sequence[Sequence[Task]]
    feet: Sequence[WrenchCone]
    limits: Sequence[Limit | TorqueLimits] = ()
    horizon: float = 0.02
    late: float | None = None

    def __post_init__(self) -> None:
        """Check all fields."""
        self._check_arguments()

    def compile(self) -> WholeBodyLoop:
        """Compile the control loop for this robot, these feet and kinds of tasks.

        Returns:
            Loop with machine code and a memory of its own.
        """
        levels, setup, late = self._check_arguments()
        return WholeBodyLoop(self.model, levels, Solver(self.model, plan_of(self.model, setup)), late)

    def _check_arguments(self) -> tuple[Levels, StanceSetup, float | None]:
        check_model(self.model)
        _check(self.model, self.feet)
        levels = checked_levels(self.model, self.model.neutral(), self.tasks)
        forms = tuple(tuple(task.form for task in level) for level in levels)
        limits, horizon = checked_limits(self.limits), positive(self.horizon, "horizon")
        late = None if self.late is None else positive(self.late, "late")
        return levels, StanceSetup(forms, tuple(self.feet), limits, horizon), late


def _check(model: Model, feet: Any) -> None:
    check_dynamic(model)
    if model.loops:
        raise ModelError(f"{model.name!r} has loop closures, which whole-body control does not support")
    if not isinstance(model.base, SE3):
        raise ModelError(f"a stance foot needs a robot with a free base (SE(3)), got {model.base}")
    if model.actuation[:, : model.m].any():
        raise ModelError(f"{model.name!r} has drives on its base, which (48) leaves out")
    if not isinstance(feet, (list, tuple)) or not feet or not all(isinstance(foot, WrenchCone) for foot in feet):
        raise ModelError(
            f"feet must be soles, the stance foot first, such as [WrenchCone('left_sole', ...)], got {describe(feet)}"
        )
    checked_points(model, tuple(foot.link for foot in feet))
