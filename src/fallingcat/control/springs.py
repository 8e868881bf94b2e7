"""Springs and dampers in the joints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import concatenate
from ..errors import ModelError
from ..model import Model, State
from .law import Law


@dataclass(frozen=True)
class JointSpring(Law):
    """``tau = -K (q - q_rest)`` on every joint, for joints that are angles and lengths.

    >>> import fallingcat as fc
    >>> cat = fc.robots.two_cylinder_cat()
    >>> JointSpring(2.0).forces(cat, 0.0, cat.state(joints=[0.1, 0.0]), frozenset())[cat.m :]
    array([-0.2, -0. ])
    """

    stiffness: float
    """N m/rad or N/m"""
    rest: tuple[float, ...] | None = None
    """joint coordinates; None: all zero"""
    name: str = "joint springs"

    def forces(self, model: Model, t: Any, state: State, touching: frozenset[str]) -> Any:
        if model.nq - model.base.nq != model.n:
            raise ModelError(f"joint springs act on angles and lengths; {model.name!r} has joints of other kinds")
        away = state.joints - (np.zeros(model.n) if self.rest is None else np.asarray(self.rest))
        return concatenate([np.zeros(model.m), -self.stiffness * away])


@dataclass(frozen=True)
class JointDamper(Law):
    """``tau = -D rates`` on every joint."""

    damping: float
    """N m s/rad or N s/m"""
    name: str = "joint dampers"

    def forces(self, model: Model, t: Any, state: State, touching: frozenset[str]) -> Any:
        return concatenate([np.zeros(model.m), -self.damping * state.rates])
