"""Tasks for contact forces instead of motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NoReturn

import numpy as np

from ..._deprecated import former_arguments
from ...arrays import concatenate, skew
from ...arrays.types import Matrix, Vector
from ...dynamics import link_pose
from ...errors import ModelError
from ...model import Model, State
from ...records import concise
from .demand import ForceDemand, Motion, mask_rows
from .task import Task


@concise
@former_arguments(place="link")
@dataclass(frozen=True, eq=False)
class ForceTask(Task):
    """Desired force of a contact on the robot, [ETH] (3.112): ``goal`` (3, N, along the world's axes; None: zero).

    ``link`` is one of the contacts, or a link: then the sum over all contacts on it.  For :func:`.torques`,
    :class:`.WholeBody` and :class:`.PrioritizedControl`, with a priority and a weight as every task.

    Example:
        >>> import fallingcat as fc
        >>> dog = fc.robots.quadruped()
        >>> feet = [frame.name for frame in dog.frames]
        >>> stand = dog.state(joints=np.tile([0.1, 0.6, -1.2], 4))
        >>> light = fc.control.ForceTask(feet[0], [0.0, 0.0, 30.0])
        >>> hold = fc.control.BaseTask(stand.pose)
        >>> found = fc.control.torques(dog, stand, [[hold], [light]], contacts=feet)
        >>> found.status, (found.forces[0].round(6) + 0.0).tolist()
        ('solved', [0.0, 0.0, 30.0])
    """

    link: str
    goal: Vector | None = None
    of_forces: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """Class and link, for reports and errors."""
        return f"{type(self).__name__}({self.link!r})"

    def goal_shape(self, model: Model) -> tuple[int, ...]:
        """``(3,)``."""
        return (3,)

    def size(self, model: Model) -> int:
        """Three rows along the world's axes."""
        return 3

    def value(self, model: Model, state: State) -> NoReturn:
        """Raise an error: a force task has no configuration goal."""
        raise ModelError(f"{self.name} has no configuration goal: it asks for a contact force")

    def motion(self, model: Model, state: State) -> Motion:
        """Raise an error: a force task asks for no motion."""
        raise ModelError(
            f"{self.name} asks for a contact force, not for motion: use it in torques, WholeBody or PrioritizedControl"
        )

    def members(self, model: Model, contacts: Sequence[str]) -> list[int]:
        """Indices of the contacts that the task is about.

        Args:
            model: Robot.
            contacts: Names of all contacts.

        Returns:
            Indices in ``contacts``: of the contact ``link``, or of all contacts on the link ``link``.

        Raises:
            ModelError: There are none.
        """
        named = [i for i, contact in enumerate(contacts) if contact == self.link]
        found = named or [i for i, contact in enumerate(contacts) if model.frame(contact).link == self.link]
        if not found:
            raise ModelError(f"{self.name}: {self.link!r} is not a contact; contacts: {', '.join(contacts) or 'none'}")
        return found

    def force_demand(self, model: Model, state: State, contacts: Sequence[str]) -> ForceDemand:
        """Rows on the contact forces, the desired force (None: zero) and weights."""
        members, size = self.members(model, contacts), self.size(model)
        own = self._columns(model, state, [contacts[i] for i in members])
        columns = [np.zeros((size, 3))] * len(contacts)
        for i, part in zip(members, own, strict=True):
            columns[i] = part
        wanted = np.zeros(size) if self.goal is None else self.goal
        return mask_rows(ForceDemand(concatenate(columns, axis=1), wanted, self.weight + np.zeros(size)), self.mask)

    def _columns(self, model: Model, state: State, places: Sequence[str]) -> list[Matrix]:
        """Matrix (rows x 3) of each contact that maps its force to the rows of the task."""
        return [np.eye(3) for _ in places]


@concise
@former_arguments(place="link")
@dataclass(frozen=True, eq=False)
class WrenchTask(ForceTask):
    """Desired wrench of contacts on the robot.

    ``goal`` (6): force (N) and moment (N m) about the origin of ``link``, along the world's axes.

    Example:
        >>> import fallingcat as fc
        >>> WrenchTask("foot", np.zeros(6)).size(fc.robots.quadruped())
        6
    """

    def goal_shape(self, model: Model) -> tuple[int, ...]:
        """``(6,)``."""
        return (6,)

    def size(self, model: Model) -> int:
        """Six rows along the world's axes: force, then moment."""
        return 6

    def _columns(self, model: Model, state: State, places: Sequence[str]) -> list[Matrix]:
        about = link_pose(model, state, self.link)[:3, 3]
        arms = [link_pose(model, state, link)[:3, 3] - about for link in places]
        return [concatenate([np.eye(3), skew(arm)]) for arm in arms]
