"""Runge-Kutta-Munthe-Kaas of order 4: classical Runge-Kutta in exponential coordinates around the start of the step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model import State
from .integrator import Integrator, System, brackets


@dataclass(frozen=True)
class RKMK4(Integrator):
    """The configuration stays on its group: each stage is ``g exp(x)`` with ``dx/dt = dexp^-1(x) v``."""

    name = "rkmk4"
    order = 4

    def step(self, system: System, t: float, state: State, dt: float) -> State:
        zero = np.zeros(system.model.nv)
        v0 = np.asarray(state.velocity)

        def slope(s: float, x: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            at = system.moved(state, x, v)
            return brackets(system.model, v, x), system.acceleration(t + s, at)

        k1, a1 = slope(0.0, zero, v0)
        k2, a2 = slope(dt / 2, dt / 2 * k1, v0 + dt / 2 * a1)
        k3, a3 = slope(dt / 2, dt / 2 * k2, v0 + dt / 2 * a2)
        k4, a4 = slope(dt, dt * k3, v0 + dt * a3)
        x = dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return system.moved(state, x, v0 + dt / 6 * (a1 + 2 * a2 + 2 * a3 + a4))
