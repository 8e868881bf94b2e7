"""Springs and dampers of a compliant floor, from the mass of a robot and the step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..dynamics.checks import check_model, positive
from ..errors import ModelError
from ..model import Model

DEFAULT_STEP = 1e-3
"""s: step of simulations unless another is given, as in :mod:`fallingcat.simulation.step_size`."""
REST_DEPTH = 2e-3
"""m: depth in the ground at which a robot rests on all points."""
GRAVITY = 9.81
"""m/s^2: also for robots in orbit, which may still touch something."""
DAMPING_RATIO = 0.5
"""Of a robot that lands on all points without bending its joints: it rebounds with a sixth of its speed."""
RESOLVED = 0.2
"""Largest product of angular frequency and step."""


def default_springs(
    model: Model, points: Sequence[str], step: float = DEFAULT_STEP
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Stiffness and damping of a floor under a robot.

    The robot, rigid and on all points, is an oscillator of 70 rad/s, or less where a step is longer than 2.8 ms, with a
    damping ratio of 0.5: it rests 2 mm deep in the ground.

    Args:
        model: Robot.
        points: Those that share its weight.
        step: Time step (s) that resolves the oscillation.

    Returns:
        ``(normal, tangential)`` stiffness (N/m) of each point, and damping (N s/m).

    Example:
        >>> from fallingcat.model import robots
        >>> np.round(default_springs(robots.free_body(), ["body"]))  # 2 kg
        array([[9810., 9810.],
               [ 140.,  140.]])
    """
    check_model(model)
    if not len(points) or not model.nominal.mass > 0.0:
        raise ModelError("springs of a floor follow from the mass of a robot, and from one point or more")
    omega = min(float(np.sqrt(GRAVITY / REST_DEPTH)), RESOLVED / positive(step, "step"))
    share = model.nominal.mass / len(points)
    K, D = share * omega**2, 2.0 * DAMPING_RATIO * share * omega
    return (K, K), (D, D)
