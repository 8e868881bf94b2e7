"""Force of a muscle by its length, velocity and activation: the curves of MuJoCo's muscle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import less_equal, where
from ..arrays.types import Scalar
from ..errors import ModelError, describe
from .body import Frozen
from .force_elements import finite


@dataclass(frozen=True)
class Muscle(Frozen):
    """Force ``-peak (a FL(L) FV(V) + FP(L))`` along the actuator, ``L`` and ``V`` in units of the optimal length.

    ``L = operating[0] + (x - lengths[0]) / L0``, ``V = dx/dt / (L0 vmax)``, with the optimal length
    ``L0 = (lengths[1] - lengths[0]) / (operating[1] - operating[0])``.

    Example:
        >>> biceps = Muscle(peak=100.0, lengths=(0.2, 0.3), operating=(0.75, 1.05))
        >>> round(float(biceps.pull(1.0, 0.2 + 0.25 / 3.0, 0.0)), 9)  # at the optimal length
        -100.0
    """

    peak: float
    """largest active force at rest (N)"""
    lengths: tuple[float, float]
    """shortest and longest length of the actuator (m)"""
    operating: tuple[float, float] = (0.75, 1.05)
    """the same in units of the optimal length"""
    lmin: float = 0.5
    """length below which there is no active force"""
    lmax: float = 1.6
    """length above which there is no active force"""
    vmax: float = 1.5
    """speed of shortening at which there is no active force (optimal lengths/s)"""
    fpmax: float = 1.3
    """passive force at ``lmax``, per ``peak``"""
    fvmax: float = 1.2
    """largest active force while it is stretched, per ``peak``"""

    def __post_init__(self) -> None:
        for part in ("peak", "lmin", "lmax", "vmax", "fpmax", "fvmax"):
            finite(getattr(self, part), f"{part} of a muscle")
        for part in ("lengths", "operating"):
            ends = getattr(self, part)
            if not isinstance(ends, (tuple, list)) or len(ends) != 2 or not -np.inf < ends[0] < ends[1] < np.inf:
                raise ModelError(f"the {part} of a muscle are two numbers in order, not {describe(ends)}")
            object.__setattr__(self, part, (float(ends[0]), float(ends[1])))

    @property
    def optimal(self) -> float:
        """Optimal length ``L0`` (m)."""
        return (self.lengths[1] - self.lengths[0]) / (self.operating[1] - self.operating[0])

    def pull(self, activation: Scalar, x: Scalar, rate: Scalar) -> Scalar:
        """Force along the actuator (N), below zero where it pulls.

        Args:
            activation: Between 0 and 1.
            x: Length of the actuator (m).
            rate: Its rate (m/s).

        Returns:
            Force (N).
        """
        L = self.operating[0] + (x - self.lengths[0]) / self.optimal
        V = rate / (self.optimal * self.vmax)
        return -self.peak * (activation * self._by_length(L) * self._by_velocity(V) + self._passive(L))

    def _by_length(self, L: Any) -> Any:
        a, b, none = 0.5 * (self.lmin + 1.0), 0.5 * (1.0 + self.lmax), 0.0 * L
        pieces = (
            (self.lmin, none),
            (a, 0.5 * _square((L - self.lmin) / (a - self.lmin))),
            (1.0, 1.0 - 0.5 * _square((1.0 - L) / (1.0 - a))),
            (b, 1.0 - 0.5 * _square((L - 1.0) / (b - 1.0))),
            (self.lmax, 0.5 * _square((self.lmax - L) / (self.lmax - b))),
        )
        return _piecewise(L, pieces, none)

    def _by_velocity(self, V: Any) -> Any:
        y = self.fvmax - 1.0
        stretched = self.fvmax - _square(y - V) / y if y > 0.0 else self.fvmax + 0.0 * V
        return _piecewise(V, ((-1.0, 0.0 * V), (0.0, _square(V + 1.0)), (y, stretched)), self.fvmax + 0.0 * V)

    def _passive(self, L: Any) -> Any:
        b = 0.5 * (1.0 + self.lmax)
        x = (L - 1.0) / (b - 1.0)
        pieces = ((1.0, 0.0 * L), (b, 0.5 * self.fpmax * x * x))
        return _piecewise(L, pieces, self.fpmax * (x - 0.5))


def _square(x: Any) -> Any:
    return x * x


def _piecewise(x: Any, pieces: Any, otherwise: Any) -> Any:
    """The value of the first piece whose end is not below ``x``."""
    value = otherwise
    for end, piece in reversed(pieces):
        value = where(less_equal(x, end), piece, value)
    return value
