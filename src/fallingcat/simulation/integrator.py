"""What every integrator is: an order, and a step on the group."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dynamics import displace
from ..model import Model, State
from .compiled import acceleration

Forces = Callable[[float, State], np.ndarray]
"""Generalised forces ``[base wrench; joint forces]`` (nv) at a time (s) and state."""


@dataclass(frozen=True, eq=False)
class System:
    """A robot and the forces on it: what an integrator integrates."""

    model: Model
    forces: Forces
    external: bool = True
    """Whether the base wrench may be other than zero; without one, momentum changes by gravity alone."""

    def acceleration(self, t: float, state: State) -> np.ndarray:
        """``d/dt [twist; rates]`` (nv)."""
        return acceleration(self.model)(state, np.asarray(self.forces(t, state), dtype=float))

    def moved(self, state: State, tangent: np.ndarray, velocity: np.ndarray) -> State:
        """The configuration moved along ``tangent`` (nv) on its group, with another quasi-velocity (nv)."""
        m = self.model.m
        return displace(self.model, state, tangent)._replace(twist=velocity[:m], rates=velocity[m:])


class Integrator(ABC):
    """One step of a method: data, plus the order that its tests measure."""

    name: str
    order: int

    @abstractmethod
    def step(self, system: System, t: float, state: State, dt: float) -> State:
        """The state at ``t + dt``."""


def brackets(model: Model, v: np.ndarray, x: np.ndarray) -> np.ndarray:
    """``dexp^-1`` of the configuration group applied to a velocity: ``v`` seen from the point ``exp(x)`` ahead (nv)."""
    out = np.empty_like(v)
    m = model.m
    out[:m] = model.base.dexp_right_inverse(x[:m]) @ v[:m]
    for joint, place in zip(model.joints, model.v_slices, strict=True):
        part = slice(m + place.start, m + place.stop)
        group: Any = joint.kind.group
        out[part] = group.dexp_right_inverse(x[part]) @ v[part] if group.dim > 1 else v[part]
    return out
