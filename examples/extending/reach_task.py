"""A task of one's own: the distance of two links or frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fallingcat import Model, State, jacobian, link_pose
from fallingcat.arrays import sqrt
from fallingcat.control import Task
from fallingcat.control.tasks import Motion
from fallingcat.dynamics import jacobian_derivative


@dataclass(frozen=True, eq=False, kw_only=True)
class ReachTask(Task):
    """Keeps ``link`` at the distance ``goal`` (1, m) from ``other``."""

    link: str
    other: str
    goal: Any = None

    def goal_shape(self, model: Model) -> tuple[int, ...]:
        return (1,)

    def size(self, model: Model) -> int:
        return 1

    def value(self, model: Model, state: State) -> Any:
        d = self._between(model, state, link_pose)[:3, 3]
        return np.reshape(sqrt(d @ d), 1)

    def motion(self, model: Model, state: State) -> Motion:
        d = self._between(model, state, link_pose)[:3, 3]
        J = self._between(model, state, jacobian, "mixed")[:3]
        J_dot = self._between(model, state, jacobian_derivative, "mixed")[:3]
        size: Any = sqrt(d @ d)
        u, rate = d / size, J @ state.velocity
        across = (rate @ rate - (u @ rate) * (u @ rate)) / size
        error = np.zeros(1) if self.goal is None else self.goal - np.reshape(size, 1)
        return Motion(error, (u @ J)[None], np.reshape(u @ (J_dot @ state.velocity) + across, 1))

    def _between(self, model: Model, state: State, quantity: Any, *about: str) -> Any:
        """A quantity of ``link`` less that of ``other``."""
        return quantity(model, state, self.link, *about) - quantity(model, state, self.other, *about)
