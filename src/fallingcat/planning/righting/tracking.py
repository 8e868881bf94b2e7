"""Shape tracking with joint forces alone, while the base floats."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...arrays.types import Float_n, FloatArray
from ...compiler import compile, fields
from ...dynamics.checks import positive
from ...model import Model, State
from ..gaits.gait import Motion, check_motion, check_shape
from ..gaits.shape_forces import shape_forces


def tracker(
    model: Model, motion: Motion, *, frequency: float = 60.0, damping: float = 1.0
) -> Callable[[float, State], Float_n]:
    """Controller for :func:`fallingcat.simulate` that tracks a shape motion by inverse dynamics of the shape.

    Errors decay as ``e'' + 2 damping frequency e' + frequency^2 e = 0``.

    Args:
        model: Robot with a floating base, whose joints are angles and lengths.
        motion: Gait or curve of all joints.
        frequency: Natural frequency (rad/s).
        damping: Damping ratio; 1 is critical.

    Returns:
        Function of time (s) and state that returns joint forces (n; N m or N).

    Example:
        >>> from fallingcat.planning import Circle, Gait
        >>> from fallingcat.model import robots
        >>> cat = robots.two_cylinder_cat()
        >>> tracker(cat, Gait(Circle(0.3)))(0.1, cat.state(joints=[0.3, 0.0])).shape
        (2,)
    """
    check_motion(motion)
    check_shape(model, motion.size)
    frequency, damping = positive(frequency, "frequency"), positive(damping, "damping")
    kernel = compile(model, shape_forces, state=State._fields)
    wanted = _Latest(motion)

    def forces(t: float, state: State) -> FloatArray:
        at, rates, accelerations = wanted(t)
        pull = 2.0 * damping * frequency * (rates - state.rates) + frequency**2 * (at - state.joints)
        out: FloatArray = kernel(*fields(state), accelerations + pull)
        return out

    return forces


class _Latest:
    """Motion at one time, cached until another time: implicit integrators evaluate one time repeatedly."""

    def __init__(self, motion: Motion) -> None:
        self.motion, self.time = motion, np.nan
        self.jet: tuple[np.ndarray, ...] = ()

    def __call__(self, t: float) -> tuple[np.ndarray, ...]:
        if t != self.time:
            self.time, self.jet = t, tuple(x[0] for x in self.motion(t))
        return self.jet
