"""A robot that stands, with its stance foot as its base: whole-body control by [Traversaro] (46)-(48)."""

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
from .controller import WholeBodyLoop, checked_limits
from .problem import TorqueLimits, plan_of
from .solver import Solver
from .stance_problem import StanceSetup


@concise
@dataclass(frozen=True)
class Stance:
    """Torques of a robot on flat feet, whose base is the foot it stands on: ``Stance(robot, tasks, feet).compile()``.

    The first of ``feet`` is the base, and at rest: what is left is a fixed-base arm, (46), whose unknowns are joint
    accelerations and the wrenches of further feet; its own wrench, (48), stays inside its cone, as theirs do.  To
    switch the stance foot is to name the other one first: torques, accelerations and wrenches stay as they are.

    ``tasks``, ``limits``, ``horizon`` and ``late`` are those of :class:`.WholeBody`; what tasks leave open is settled
    by the least forces at the corners of soles, then the least torques.  ``loop.found.forces`` are the wrenches (feet x
    6, in the frames of soles); ``loop.found.acceleration`` is ``[0; ddq]``: that of the foot, then of joints.

    >>> import numpy as np
    >>> import fallingcat as fc
    >>> walker = fc.robots.humanoid()
    >>> left, right = (fc.contact.WrenchCone(f"{side}_sole", (-0.06, 0.14), (-0.05, 0.05)) for side in ("left", "right"))
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
        self._checked()

    def compile(self) -> WholeBodyLoop:
        """The loop, with machine code for this robot, these feet and kinds of tasks."""
        levels, setup, late = self._checked()
        return WholeBodyLoop(self.model, levels, Solver(self.model, plan_of(self.model, setup)), late)

    def _checked(self) -> tuple[Levels, StanceSetup, float | None]:
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
        raise ModelError(f"{model.name!r} has loops, whose forces are not part of the whole-body problem")
    if not isinstance(model.base, SE3):
        raise ModelError(f"a stance foot is the base of a robot that is free to move, not on {model.base}")
    if model.actuation[:, : model.m].any():
        raise ModelError(f"{model.name!r} has drives that push its base: a stance foot would not feel them in (48)")
    if not isinstance(feet, (list, tuple)) or not feet or not all(isinstance(foot, WrenchCone) for foot in feet):
        raise ModelError(
            f"feet are soles, the one that it stands on first, such as [Sole('left_sole', ...)], not {describe(feet)}"
        )
    checked_points(model, tuple(foot.place for foot in feet))
