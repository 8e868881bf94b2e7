"""Following a shape with joint forces alone, while the base floats."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...compiler import compile, fields
from ...dynamics.checks import positive
from ...model import Model, State
from ..gaits.gait import Motion, check_motion, check_shape
from ..gaits.shape_forces import shape_forces


def tracker(
    model: Model, motion: Motion, *, frequency: float = 60.0, damping: float = 1.0
) -> Callable[[float, State], np.ndarray]:
    """A controller for :func:`fallingcat.simulate` that follows ``motion`` by inverse dynamics of the shape.

    Errors die out as ``e'' + 2 damping frequency e' + frequency^2 e = 0`` (frequency in rad/s).

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

    def forces(t: float, state: State) -> np.ndarray:
        at, rates, accelerations = wanted(t)
        pull = 2.0 * damping * frequency * (rates - state.rates) + frequency**2 * (at - state.joints)
        out: np.ndarray = kernel(*fields(state), accelerations + pull)
        return out

    return forces


class _Latest:
    """A motion at one time, kept until another time is asked for: implicit integrators ask many times."""

    def __init__(self, motion: Motion) -> None:
        self.motion, self.time = motion, np.nan
        self.jet: tuple[np.ndarray, ...] = ()

    def __call__(self, t: float) -> tuple[np.ndarray, ...]:
        if t != self.time:
            self.time, self.jet = t, tuple(x[0] for x in self.motion(t))
        return self.jet
