"""Virtual model control: torques of virtual springs and dampers ([ETH] 3.11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...arrays.types import Scalar, Vector, Vector_n, Vector_nv
from ...dynamics import gravity_forces
from ...model import Model, State
from ...qp.least_squares import Level, hierarchical
from ...records import concise
from ..tasks.demand import stack_parts
from ..tasks.goals import as_numbers
from .support_dynamics import Contact, as_tasks, constrained_motion
from .task_space import Aim, check_aim, check_tasks, task_at
from .torque_law import TorqueLaw, as_gain, drives, names_of, per_row


@concise
@dataclass(frozen=True)
class VirtualModel(TorqueLaw):
    """Virtual model control: torques of virtual springs and dampers, with gravity compensation ([ETH] 3.11).

    Each task is pulled by ``F_v = stiffness error + damping (velocity - J v)``, plus ``force``.  Forces on the base,
    and
    on joints without a drive, are exerted by the ``contacts``, the least that balance them (3.120); all is
    quasi-static: inertia is not used.

    Args:
        tasks: Tasks, or functions of time (s) that return one.
        stiffness: N/m or N m/rad, one number or one for each row of all tasks.
        damping: N s/m or N m s/rad, one number or one for each row of all tasks.
        force: Feed-forward of all rows of all tasks (N, N m); None: zero.
        contacts: Links or frames whose origins stay, or tasks that stay.
        name: Line in the energy ledger.

    Example:
        >>> import fallingcat as fc
        >>> dog = fc.robots.quadruped()
        >>> feet = [f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right")]
        >>> stand = dog.state(joints=np.tile([0.1, 0.6, -1.2], 4))
        >>> law = VirtualModel([fc.control.BaseTask(stand.pose)], 500.0, 50.0, contacts=feet)
        >>> law.torques(dog, stand)[:3].round(2)  # of the first leg: roll, hip, knee
        array([-2.  ,  0.74,  3.48])
    """

    tasks: Sequence[Aim]
    stiffness: Scalar | Vector = 0.0
    damping: Scalar | Vector = 0.0
    force: Vector | None = None
    """feedforward force of all rows of all tasks, or None"""
    contacts: Sequence[Contact] = ()
    name: str = "virtual model"

    def __post_init__(self) -> None:
        """Check the fields, and turn them into plain data."""
        super().__post_init__()
        object.__setattr__(self, "tasks", names_of(self.tasks, f"tasks of {self.name!r}"))
        object.__setattr__(self, "contacts", names_of(self.contacts, f"contacts of {self.name!r}"))
        as_tasks(self.contacts)
        for aim in self.tasks:
            check_aim(aim, self.name)
        for part in ("stiffness", "damping"):
            object.__setattr__(self, part, as_gain(getattr(self, part), f"{part} of {self.name!r}"))
        if self.force is not None:
            force = as_numbers(self.force, f"force of {self.name!r}")
            object.__setattr__(self, "force", tuple(np.ravel(force).tolist()))

    def check(self, model: Model) -> None:
        """Check tasks, contacts and gains against the robot."""
        super().check(model)
        check_tasks(model, [*as_tasks(self.contacts), *self.tasks])
        self.virtual_force(model, 0.0, model.neutral())

    def virtual_force(self, model: Model, t: Scalar, state: State) -> Vector_nv:
        """Generalized forces ``J_v' F_v`` of the virtual springs and dampers.

        Args:
            model: Robot.
            t: Time (s).
            state: Configuration and velocity.

        Returns:
            Generalized forces (nv).
        """
        demands = [task_at(aim, t).replaced(gain=0.0).demand(model, state) for aim in self.tasks]
        J = stack_parts([d.J for d in demands], (0, model.nv))
        k, d, f = (
            per_row(0.0 if x is None else x, len(J), f"{what} of {self.name!r}")
            for what, x in (("stiffness", self.stiffness), ("damping", self.damping), ("force", self.force))
        )
        error, velocity = (stack_parts([getattr(d, part) for d in demands], (0,)) for part in ("error", "velocity"))
        return J.T @ (k * error + d * (velocity - J @ state.velocity) + f)

    def commanded_torques(self, model: Model, t: Scalar, state: State) -> Vector_n:
        """Virtual and gravity forces, less those of the contacts."""
        pull = self.virtual_force(model, t, state) + gravity_forces(model, state)
        S, right, Z, _ = drives(model)
        if self.contacts and Z.shape[1]:
            Jt = constrained_motion(model, state, self.contacts)[0].T
            onto = Z.T @ Jt
            pull = pull - Jt @ hierarchical([Level(onto, Z.T @ pull, np.ones(len(onto)))], Jt.shape[1]).x
        return S[:, model.m :].T @ (right.T @ pull)
