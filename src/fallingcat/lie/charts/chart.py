"""What a chart is: coordinates of a rotation or of a position, and how their rates make a velocity.

[ETH] 2.3.1 and 2.5.1: a chart ``x`` has a rate matrix ``E(x)`` with ``velocity = E(x) @ xdot``, and an inverse that is
wanted far more often and does not exist everywhere. A chart therefore carries a number, ``singularity(x)``, that is
zero exactly where the inverse is lost, and it speaks up before it divides by it: plain float parameters raise
`NumericsError` below ``singular_below`` and warn with `ChartWarning` below ``warn_below``. Traced, CasADi, SymPy and
JAX numbers have no value to look at and pass unchecked; test ``singularity(x)`` in the compiled code if it matters.

The public methods live here, once: they admit the parameters, check them and choose the frame. A concrete chart only
writes the formulas (``_matrix``, ``_coordinates``, ``_rates``, ``_rates_inverse``), free of any ``if`` on a value.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, final

import numpy as np

from ...arrays import is_numeric, less, where
from ...arrays.arguments import as_array, of_shape
from ...errors import ModelError, NumericsError, describe
from ..arguments import check_shapes

Axes = Literal["world", "body"]
"""Along whose axes an angular velocity is written: those of the world or those of the body that turns."""

# Looser than rounding, so that a normalised or integrated rotation passes; tight enough that a typing error does not.
CONSTRAINT_TOLERANCE = 1e-6


class ChartWarning(UserWarning):
    """A chart is used near its singularity: rates are large and lose digits, but are still correct."""


def can_be_checked(x: Any) -> bool:
    """Whether ``x`` holds plain real numbers; complex ones are derivatives on their way (complex step)."""
    return is_numeric(x) and np.isrealobj(x)


def magnitude(x: Any) -> Any:
    """``|x|`` of a real scalar of any kind of number.

    >>> float(magnitude(-2.0))
    2.0
    """
    return where(less(x, 0.0), -x, x)


class Chart(ABC):
    """Coordinates with a rate matrix and a singular set; see the module's text.

    ``name``            what errors call the chart
    ``symbols``         names of the parameters, in order ([ETH]'s letters)
    ``singular_below``  ``rate_matrix_inverse`` raises where ``singularity(x)`` is smaller: half of the digits are gone
    ``warn_below``      it warns where ``singularity(x)`` is smaller: the rates are a thousand times the velocity
    """

    name: ClassVar[str]
    symbols: tuple[str, ...]
    singular_below: ClassVar[float] = 1e-8
    warn_below: ClassVar[float] = 1e-3

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        check_shapes(cls, {"singularity": ("parameters",), "constraint": ("parameters",)})

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The shape of the parameters."""
        return {"parameters": (self.dimension,)}

    def __str__(self) -> str:
        return self.name

    @property
    def dimension(self) -> int:
        """Number of parameters; more than a position or rotation has are tied by :meth:`constraint`."""
        return len(self.symbols)

    @abstractmethod
    def singularity(self, x: Any) -> Any:
        """Distance to the singular set: a number that is zero exactly where the rate matrix loses rank."""

    def constraint(self, x: Any) -> Any:
        """What must vanish for ``x`` to be a point of the chart, such as a length beyond 1; 0 where all are free."""
        return 0.0

    @final
    def check(self, x: Any) -> None:
        """Say so if float parameters ``x`` lie at (`NumericsError`) or near (`ChartWarning`) the singular set."""
        x = self._admit(x)
        if not can_be_checked(x):
            return
        distance = float(self.singularity(x))
        if distance >= self.warn_below:
            return
        place = f"at {self._describe(x)}"
        # written so that NaN fails it too
        if not distance >= self.singular_below:
            message = f"chart {self.name} is singular {place}: singularity(x) < {self.singular_below:g}"
            raise NumericsError(message, value=distance)
        message = f"chart {self.name} is near its singularity {place}: singularity(x) = {distance:.3g}"
        warnings.warn(message, ChartWarning, stacklevel=3)

    def _admit(self, x: Any) -> Any:
        """``x`` as an array of the right shape; float parameters that are not finite or break the constraint raise."""
        x = of_shape(x, (self.dimension,), f"({', '.join(self.symbols)}) of chart {self.name}")
        if can_be_checked(x):
            excess = abs(float(self.constraint(x)))
            if not (excess <= CONSTRAINT_TOLERANCE and np.isfinite(x).all()):
                raise NumericsError(f"no point of chart {self.name}: {self._describe(x)}", value=excess)
        return x

    def _describe(self, x: Any) -> str:
        return ", ".join(f"{symbol} = {float(value):.9g}" for symbol, value in zip(self.symbols, x, strict=True))


class RotationChart(Chart):
    r"""Coordinates of a rotation matrix ``R = C_AB`` (body B to world A), [ETH] 2.4.5 and 2.5.1.

    Angles in radians. ``frame`` says where the angular velocity of B relative to A is expressed: ``"world"``
    (default, as in [ETH] (2.82): :math:`\hat\omega = \dot R R^T`) or ``"body"`` (:math:`\hat\omega = R^T \dot R`,
    the last three numbers of this library's twists).
    """

    @final
    def to_matrix(self, x: Any) -> Any:
        """The rotation matrix (3 x 3) of the parameters."""
        return self._matrix(self._admit(x))

    @final
    def from_matrix(self, R: Any) -> Any:
        """Parameters of a rotation matrix: ``to_matrix(from_matrix(R)) == R`` for every rotation, singular or not.

        A float matrix that is no rotation raises `NumericsError`.
        """
        R = of_shape(R, (3, 3), "a rotation matrix")
        if can_be_checked(R):
            # rows are orthonormal and right-handed
            excess = float(np.abs(np.vstack([R @ R.T - np.eye(3), np.cross(R[0], R[1]) - R[2]])).max())
            if not excess <= CONSTRAINT_TOLERANCE:
                raise NumericsError(f"chart {self.name}: not a rotation matrix", value=excess)
        return self._coordinates(R)

    @final
    def rate_matrix(self, x: Any, frame: Axes = "world") -> Any:
        """``E(x)``, 3 x dimension, with ``omega = E(x) @ xdot``; defined everywhere. [ETH] (2.82)."""
        x = self._admit(x)
        rates = self._rates(x)
        return self._matrix(x).T @ rates if _is_body(frame) else rates

    @final
    def rate_matrix_inverse(self, x: Any, frame: Axes = "world") -> Any:
        """``E(x)^-1``, dimension x 3, with ``xdot = E(x)^-1 @ omega``; raises or warns as `check` does.

        For more than three parameters it is the right inverse whose rates keep the constraint.
        """
        x = self._admit(x)
        self.check(x)
        inverse = self._rates_inverse(x)
        return inverse @ self._matrix(x) if _is_body(frame) else inverse

    @abstractmethod
    def _matrix(self, x: Any) -> Any:
        """R(x)."""

    @abstractmethod
    def _coordinates(self, R: Any) -> Any:
        """x(R)."""

    @abstractmethod
    def _rates(self, x: Any) -> Any:
        """E(x), world frame."""

    @abstractmethod
    def _rates_inverse(self, x: Any) -> Any:
        """E(x)^-1, world frame."""


class PositionChart(Chart):
    """Coordinates of a position vector ``r`` (metres), [ETH] 2.2.1 and 2.3.1; one frame throughout.

    ``singularity(x)`` is a length: the distance in metres of the point from the chart's singular line.
    """

    @final
    def to_position(self, x: Any) -> Any:
        """The position vector (3) of the parameters."""
        return self._position(self._admit(x))

    @final
    def from_position(self, r: Any) -> Any:
        """Parameters of a position vector; angles of no meaning (a point of the singular line) are 0."""
        return self._coordinates(as_array(r, (3,), "a position"))

    @final
    def rate_matrix(self, x: Any) -> Any:
        """``E_P(x)``, 3 x dimension, with ``rdot = E_P(x) @ xdot``; defined everywhere. [ETH] (2.10)."""
        return self._rates(self._admit(x))

    @final
    def rate_matrix_inverse(self, x: Any) -> Any:
        """``E_P(x)^-1``, dimension x 3: ``xdot = E_P(x)^-1 @ rdot``; raises or warns as `check` does. [ETH] (2.11)."""
        x = self._admit(x)
        self.check(x)
        return self._rates_inverse(x)

    @abstractmethod
    def _position(self, x: Any) -> Any:
        """r(x)."""

    @abstractmethod
    def _coordinates(self, r: Any) -> Any:
        """x(r)."""

    @abstractmethod
    def _rates(self, x: Any) -> Any:
        """E_P(x)."""

    @abstractmethod
    def _rates_inverse(self, x: Any) -> Any:
        """E_P(x)^-1."""


def _is_body(frame: str) -> bool:
    if not isinstance(frame, str) or frame not in ("world", "body"):
        raise ModelError(f'frame is "world" or "body", not {describe(frame)}')
    return frame == "body"
