"""Semi-implicit Euler: first the velocity, then the configuration with the new velocity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model import State
from .integrator import Integrator, System


@dataclass(frozen=True)
class SemiImplicitEuler(Integrator):
    """Order 1, one force evaluation per step; the configuration moves by ``g exp(dt v)``."""

    name = "semi_implicit"
    order = 1

    def step(self, system: System, t: float, state: State, dt: float) -> State:
        v = np.asarray(state.velocity) + dt * system.acceleration(t, state)
        return system.moved(state, dt * v, v)
