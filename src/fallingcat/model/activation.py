"""Activation: the state of an actuator between its control and its force, such as that of a muscle or a cylinder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ..arrays import clip, less, less_equal, where
from ..arrays.types import Scalar
from ..errors import ModelError, describe
from ..registry import Registry
from .body import Frozen
from .force_elements import finite

_ALL = (-np.inf, np.inf)


class Activation(Frozen, ABC):
    """Base class of activation dynamics ``da/dt = rate(control, a)``; the actuator pulls by ``a``, not by its control.

    Example:
        >>> FirstOrderFilter(0.05).rate(1.0, 0.5)
        10.0
    """

    within: tuple[float, float]
    """lowest and highest activation"""

    @abstractmethod
    def rate(self, control: Scalar, activation: Scalar) -> Scalar:
        """Rate of the activation (1/s), without its range.

        Args:
            control: Command of the actuator, within its range.
            activation: State.

        Returns:
            Rate.
        """

    def held_rate(self, control: Scalar, activation: Scalar) -> Scalar:
        """:meth:`rate`, or zero where it leads out of :attr:`within`.

        Args:
            control: Command of the actuator, within its range.
            activation: State.

        Returns:
            Rate (1/s).
        """
        rate = self.rate(control, activation)
        if not np.isfinite(self.within).any():
            return rate
        low, high = self.within
        below, above = less_equal(activation, low), less_equal(high, activation)
        up, down = where(less(0.0, rate), rate, 0.0 * rate), where(less(rate, 0.0), rate, 0.0 * rate)
        return where(below, up, where(above, down, rate))

    def _check_within(self) -> None:
        ends = self.within
        if not isinstance(ends, (tuple, list)) or len(ends) != 2 or not ends[0] <= ends[1]:
            raise ModelError(f"the range of an activation is two numbers in order, not {describe(ends)}")
        object.__setattr__(self, "within", (float(ends[0]), float(ends[1])))


@dataclass(frozen=True)
class Integrator(Activation):
    """``da/dt = control``: MuJoCo's ``integrator``.

    Example:
        >>> float(Integrator((-1.0, 1.0)).held_rate(2.0, 1.5))
        0.0
    """

    within: tuple[float, float] = _ALL
    """lowest and highest activation"""

    def __post_init__(self) -> None:
        self._check_within()

    def rate(self, control: Scalar, activation: Scalar) -> Scalar:
        """The control."""
        return control


@dataclass(frozen=True)
class FirstOrderFilter(Activation):
    """``da/dt = (control - a) / time_constant``: MuJoCo's ``filter`` and ``filterexact``.

    Example:
        >>> FirstOrderFilter(0.1).rate(1.0, 0.0)
        10.0
    """

    time_constant: float
    """s"""
    within: tuple[float, float] = _ALL
    """lowest and highest activation"""

    def __post_init__(self) -> None:
        self._check_within()
        if not finite(self.time_constant, "time constant of an activation", 0.0):
            raise ModelError("the time constant of an activation is positive, not 0")

    def rate(self, control: Scalar, activation: Scalar) -> Scalar:
        """Decay of the difference."""
        return (control - activation) / self.time_constant


@dataclass(frozen=True)
class MuscleActivation(Activation):
    """Activation of a muscle by an excitation between 0 and 1, faster up than down, as in MuJoCo ([Millard 2013]).

    ``da/dt = (u - a) / tau`` with ``tau = rise (0.5 + 1.5 a)`` where it rises and ``fall / (0.5 + 1.5 a)`` where it
    falls; within ``smooth`` of equality the two are mixed.

    Example:
        >>> float(MuscleActivation().rate(1.0, 1.0))
        0.0
    """

    rise: float = 0.01
    """s"""
    fall: float = 0.04
    """s"""
    smooth: float = 0.0
    """width of the transition between both, in ``u - a``"""
    within: tuple[float, float] = _ALL
    """lowest and highest activation"""

    def __post_init__(self) -> None:
        self._check_within()
        for part in ("rise", "fall", "smooth"):
            finite(getattr(self, part), f"{part} of a muscle", 0.0)

    def rate(self, control: Scalar, activation: Scalar) -> Scalar:
        """Rate of the activation."""
        speed = 0.5 + 1.5 * clip(activation, 0.0, 1.0)
        dif = clip(control, 0.0, 1.0) - activation
        up, down = self.rise * speed, self.fall / speed
        if self.smooth:
            x = clip(dif / self.smooth + 0.5, 0.0, 1.0)
            tau = down + (up - down) * (x * x * x * (3.0 * x * (2.0 * x - 5.0) + 10.0))
        else:
            tau = where(less(0.0, dif), up, down)
        return dif / tau


KINDS = Registry[type[Activation]](
    "kind of activation",
    "fallingcat.activations",
    {"integrator": Integrator, "filter": FirstOrderFilter, "muscle": MuscleActivation},
)
"""Every kind of activation, by the name that files call it."""
