"""Task of some or all joints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import concatenate
from ...arrays.types import Vector
from ...errors import ModelError, describe
from ...model import Model, State
from ...records import concise
from .demand import Motion, stack_parts
from .task import Task


@concise
@dataclass(frozen=True, eq=False)
class JointsTask(Task):
    """Joint configuration: joints go to ``goal``, all of them in the model's order, or those of a mapping from names.

    Each goes by the shortest way in its group (spherical joints too): ``error = log(g^-1 g*)``, one row for each rate.
    ``joints`` names those that a plain array is about, or that should stay still.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> JointsTask({"joint3": 0.5}).demand(arm, arm.neutral()).J
        array([[0., 0., 1.]])
        >>> JointsTask([0.1, 0.2, 0.3]).demand(arm, arm.neutral()).error
        array([0.1, 0.2, 0.3])
    """

    goal: Vector | None = None
    joints: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Turn a mapping into names and numbers, and check the fields."""
        if isinstance(self.goal, Mapping):
            if self.joints is not None:
                raise ModelError("joints of a JointsTask must be None where its goal is a mapping")
            object.__setattr__(self, "joints", tuple(self.goal))
            parts = [x if np.ndim(x) else np.reshape(x, 1) for x in map(_as_list, self.goal.values())]
            object.__setattr__(self, "goal", stack_parts(parts, (0,)))
        if self.joints is not None:
            object.__setattr__(self, "joints", _names(self.joints))
        super().__post_init__()

    @property
    def name(self) -> str:
        """Class and joints, for reports and errors."""
        return "JointsTask" if self.joints is None else f"JointsTask({', '.join(map(repr, self.joints))})"

    def goal_shape(self, model: Model) -> tuple[int, ...]:
        """One number for each coordinate of its joints."""
        return (sum(model.joints[i].nq for i in self._rate_indices(model)),)

    def size(self, model: Model) -> int:
        """One row for each rate of its joints."""
        return sum(model.joints[i].nv for i in self._rate_indices(model))

    def value(self, model: Model, state: State) -> Vector:
        """Coordinates of its joints."""
        return stack_parts([state.joints[model.q_slices[i]] for i in self._rate_indices(model)], (0,))

    def motion(self, model: Model, state: State) -> Motion:
        """Group errors ``log(g^-1 g*)`` and unit rows; the bias is zero."""
        chosen = self._rate_indices(model)
        places = np.concatenate([np.zeros(0, int), *(np.r_[model.v_slices[i]] for i in chosen)]).astype(int)
        J = np.eye(model.nv)[model.m + places]
        return Motion(self._error(model, state, chosen), J, np.zeros(len(places)))

    def _error(self, model: Model, state: State, chosen: list[int]) -> Vector:
        if self.goal is None:
            return np.zeros(self.size(model))
        parts, start = [np.zeros(0)], 0
        for i in chosen:
            end = start + model.joints[i].nq
            parts.append(model.joints[i].kind.group.between(state.joints[model.q_slices[i]], self.goal[start:end]))
            start = end
        return concatenate(parts)

    def _rate_indices(self, model: Model) -> list[int]:
        if self.joints is None:
            return [i for i, joint in enumerate(model.joints) if joint.nv]
        return [model.leading_index(name) for name in self.joints]


def _names(given: Any) -> tuple[str, ...]:
    if not isinstance(given, (tuple, list)) or not all(isinstance(name, str) for name in given):
        raise ModelError(f"joints of a JointsTask must be names, such as ('knee',), got {describe(given)}")
    return tuple(given)


def _as_list(x: Any) -> Any:
    return np.array(x, dtype=float) if isinstance(x, (list, tuple)) else x
