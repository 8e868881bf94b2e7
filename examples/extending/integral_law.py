"""A force law with a state of its own: the integral of the joint angles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fallingcat import Model, State
from fallingcat.control import Law


@dataclass(frozen=True)
class Integral(Law):
    """Drives joints against the integral of their angles, which is :attr:`memory` (n)."""

    gain: float
    """N m / (rad s), or N / (m s)"""
    name: str = "integral"

    def memory_size(self, model: Model) -> int:
        return model.n

    def memory_rate(self, model: Model, t: Any, state: State) -> Any:
        return state.joints

    def forces(self, model: Model, t: Any, state: State, touching: frozenset[str]) -> Any:
        return np.concatenate([np.zeros(model.m), -self.gain * self.memory])
