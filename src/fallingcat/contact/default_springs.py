"""Springs and dampers of a compliant floor, from the mass of a robot and the step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..dynamics.checks import check_model, positive
from ..errors import ModelError
from ..geometry.body_pairs import BodyPair
from ..model import Model

DEFAULT_STEP = 1e-3
"""s: step of simulations unless another is given, as in :mod:`fallingcat.simulation.step_size`."""
REST_DEPTH = 2e-3
"""m: depth in the ground at which a robot rests on all points."""
GRAVITY = 9.81
"""m/s^2: also for robots in orbit, which may still touch something."""
DAMPING_RATIO = 0.5
"""Damping ratio of a robot that lands on all points with stiff joints: it rebounds with a sixth of its speed."""
MAX_FREQUENCY_STEP = 0.2
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
    omega = min(float(np.sqrt(GRAVITY / REST_DEPTH)), MAX_FREQUENCY_STEP / positive(step, "step"))
    share = model.nominal.mass / len(points)
    K, D = share * omega**2, 2.0 * DAMPING_RATIO * share * omega
    return (K, K), (D, D)


BODY_FREQUENCY = 200.0
"""rad/s: of a body on the springs between bodies, in steps of 1 ms and less; it sinks in by 0.25 mm."""


def body_springs(
    model: Model, pairs: Sequence[BodyPair], step: float = DEFAULT_STEP
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Stiffness and damping between bodies.

    The heaviest of the bodies and robots that may touch, on four points, is an oscillator of 200 rad/s, or less where a
    step is longer than 1 ms, with a damping ratio of 0.5.

    Args:
        model: Scene.
        pairs: Shapes that may touch.
        step: Time step (s) that resolves the oscillation.

    Returns:
        ``(normal, tangential)`` stiffness (N/m) of each point, and damping (N s/m).

    Example:
        >>> import fallingcat as fc
        >>> box = fc.model.shapes.Box((0.1, 0.1, 0.1))
        >>> table, cube = fc.model.rigid_object(box), fc.model.rigid_object(box, mass=2.0)
        >>> scene = fc.model.combine({"table": table, "cube": cube})
        >>> np.round(body_springs(scene, fc.contact.body_pairs(scene)))
        array([[20000., 20000.],
               [  100.,   100.]])
    """
    check_model(model)
    heaviest = max(_branch_mass(model, model.link_index(name)) for pair in pairs for name in (pair.first, pair.second))
    omega = min(BODY_FREQUENCY, MAX_FREQUENCY_STEP / positive(step, "step"))
    share = heaviest / max(pair.points for pair in pairs)
    K, D = share * omega**2, 2.0 * DAMPING_RATIO * share * omega
    return (K, K), (D, D)


def _branch_mass(model: Model, link: int) -> float:
    """Mass (kg) of the robot or body that a link is part of: all on the same branch of a fixed world."""
    if model.m:
        return float(model.nominal.mass)

    def branch(k: int) -> int:
        while k and model.parents[k - 1]:
            k = model.parents[k - 1]
        return k

    own = branch(link)
    return sum(float(x.body.mass) for k, x in enumerate(model.nominal.links) if own and branch(k) == own)
