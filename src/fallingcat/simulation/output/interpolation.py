"""States between the samples of a run."""

from __future__ import annotations

import numpy as np

from ...model import Model, State


def interpolate(model: Model, start: State, end: State, dt: float, s: float) -> State:
    """The state at the fraction ``s`` of a step of ``dt`` (s).

    A cubic in exponential coordinates that has the velocities of both ends; of order 4.
    """
    group, x = model.configuration, np.asarray(model.configuration.difference(start, end))
    v, w = np.asarray(start.velocity), np.asarray(group.logarithm_rate(end.velocity, x))
    cubic = s * s * (3.0 - 2.0 * s) * x + dt * s * (1.0 - s) * ((1.0 - s) * v - s * w)
    velocity = (1.0 - s) * v + s * np.asarray(end.velocity)
    return group.displace(start, cubic)._replace(twist=velocity[: model.m], rates=velocity[model.m :])
