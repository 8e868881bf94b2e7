"""Base classes of charts: coordinates of a rotation or of a position, and the matrices of their rates.

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
from ...arrays.types import Matrix, Matrix_3_k, Matrix_k_3, Rotation, Scalar, Vector, Vector_3
from ...errors import ModelError, NumericsError, describe
from ..arguments import check_shapes

Axes = Literal["world", "body"]
"""Along whose axes an angular velocity is written: those of the world or those of the body that turns."""

# Looser than rounding, so that a normalised or integrated rotation passes; tight enough that a typing error does not.
CONSTRAINT_TOLERANCE = 1e-6


class ChartWarning(UserWarning):
    """Warning of a chart that is used near its singularity: rates are large and lose digits, but are still correct.

    Example:
        >>> import warnings
        >>> from fallingcat.lie.charts import EulerZYX
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     inverse = EulerZYX().rate_matrix_inverse([0.0, 1.5705, 0.0])
        >>> caught[0].category.__name__
        'ChartWarning'
    """


def can_be_checked(x: Vector) -> bool:
    """True if ``x`` holds plain real numbers; complex ones are derivatives on their way (complex step)."""
    return is_numeric(x) and np.isrealobj(x)


def magnitude(x: Scalar) -> Scalar:
    """Absolute value of a real scalar of any kind of number.

    Example:
        >>> float(magnitude(-2.0))
        2.0
    """
    return where(less(x, 0.0), -x, x)


class Chart(ABC):
    """Base class of coordinates with a rate matrix and a singular set; see the module's text.

    Example:
        >>> from fallingcat.lie.charts import EulerZYX
        >>> chart = EulerZYX()
        >>> chart.symbols, chart.dimension, float(chart.singularity([0.0, 0.0, 0.0]))
        (('z', 'y', 'x'), 3, 1.0)
    """

    name: ClassVar[str]
    """name of the chart, for messages"""
    symbols: tuple[str, ...]
    """names of the parameters, in order ([ETH]'s letters)"""
    singular_below: ClassVar[float] = 1e-8
    """``rate_matrix_inverse`` raises where ``singularity(x)`` is smaller: half of the digits are gone"""
    warn_below: ClassVar[float] = 1e-3
    """it warns where ``singularity(x)`` is smaller: the rates are a thousand times the velocity"""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        check_shapes(cls, {"singularity": ("parameters",), "constraint": ("parameters",)})

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Shape of the parameters."""
        return {"parameters": (self.dimension,)}

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    @property
    def dimension(self) -> int:
        """Number of parameters; more than a position or rotation has are tied by :meth:`constraint`."""
        return len(self.symbols)

    @abstractmethod
    def singularity(self, x: Vector) -> Scalar:
        """Distance to the singular set: zero exactly where the rate matrix loses rank.

        Args:
            x: Parameters (:attr:`dimension` numbers).

        Returns:
            Number that is not negative.
        """

    def constraint(self, x: Vector) -> Scalar:
        """Residual of the constraint on the parameters, such as a length beyond 1; 0 where all are free.

        Args:
            x: Parameters (:attr:`dimension` numbers).

        Returns:
            Number that vanishes for a point of the chart.
        """
        return 0.0

    @final
    def check(self, x: Vector) -> None:
        """Raise an error or warn if float parameters lie at or near the singular set.

        Args:
            x: Parameters (:attr:`dimension` numbers).

        Raises:
            NumericsError: The parameters lie at the singular set; near it a :class:`ChartWarning` is given.
        """
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

    def _admit(self, x: Vector) -> Vector:
        """``x`` as an array of the right shape; float parameters that are not finite or break the constraint raise."""
        x = of_shape(x, (self.dimension,), f"({', '.join(self.symbols)}) of chart {self.name}")
        if can_be_checked(x):
            excess = abs(float(self.constraint(x)))
            if not (excess <= CONSTRAINT_TOLERANCE and np.isfinite(x).all()):
                raise NumericsError(f"no point of chart {self.name}: {self._describe(x)}", value=excess)
        return x

    def _describe(self, x: Vector) -> str:
        return ", ".join(f"{symbol} = {float(value):.9g}" for symbol, value in zip(self.symbols, x, strict=True))


class RotationChart(Chart):
    r"""Coordinates of a rotation matrix ``R = C_AB`` (body B to world A), [ETH] 2.4.5 and 2.5.1.

    Angles in radians. ``frame`` says where the angular velocity of B relative to A is expressed: ``"world"``
    (default, as in [ETH] (2.82): :math:`\hat\omega = \dot R R^T`) or ``"body"`` (:math:`\hat\omega = R^T \dot R`,
    the last three numbers of this library's twists).

    Example:
        >>> from fallingcat.lie.charts import EulerZYX
        >>> chart, x = EulerZYX(), [0.1, 0.2, 0.3]
        >>> bool(np.allclose(chart.from_matrix(chart.to_matrix(x)), x))
        True
        >>> bool(np.allclose(chart.rate_matrix_inverse(x, "body") @ chart.rate_matrix(x, "body"), np.eye(3)))
        True
    """

    @final
    def to_matrix(self, x: Vector) -> Rotation:
        """Rotation matrix of the parameters.

        Args:
            x: Parameters (:attr:`dimension` numbers).

        Returns:
            ``C_AB`` (3 x 3).
        """
        return self._matrix(self._admit(x))

    @final
    def from_matrix(self, R: Rotation) -> Vector:
        """Parameters of a rotation matrix: ``to_matrix(from_matrix(R)) == R`` for every rotation, singular or not.

        Args:
            R: ``C_AB`` (3 x 3).

        Returns:
            Parameters (:attr:`dimension` numbers).

        Raises:
            NumericsError: A float matrix is no rotation.
        """
        R = of_shape(R, (3, 3), "a rotation matrix")
        if can_be_checked(R):
            # rows are orthonormal and right-handed
            excess = float(np.abs(np.vstack([R @ R.T - np.eye(3), np.cross(R[0], R[1]) - R[2]])).max())
            if not excess <= CONSTRAINT_TOLERANCE:
                raise NumericsError(f"chart {self.name}: not a rotation matrix", value=excess)
        return self._coordinates(R)

    @final
    def rate_matrix(self, x: Vector, frame: Axes = "world") -> Matrix_3_k:
        """Rate matrix ``E(x)`` with ``omega = E(x) @ xdot``; defined everywhere. [ETH] (2.82).

        Args:
            x: Parameters (:attr:`dimension` numbers).
            frame: Axes of the angular velocity: ``"world"`` or ``"body"``.

        Returns:
            ``3 x dimension`` matrix.
        """
        x = self._admit(x)
        rates = self._rates(x)
        return self._matrix(x).T @ rates if _is_body(frame) else rates

    @final
    def rate_matrix_inverse(self, x: Vector, frame: Axes = "world") -> Matrix_k_3:
        """Inverse rate matrix ``E(x)^-1`` with ``xdot = E(x)^-1 @ omega``; raises or warns as `check` does.

        For more than three parameters it is the right inverse whose rates keep the constraint.

        Args:
            x: Parameters (:attr:`dimension` numbers).
            frame: Axes of the angular velocity: ``"world"`` or ``"body"``.

        Returns:
            ``dimension x 3`` matrix.
        """
        x = self._admit(x)
        self.check(x)
        inverse = self._rates_inverse(x)
        return inverse @ self._matrix(x) if _is_body(frame) else inverse

    @abstractmethod
    def _matrix(self, x: Vector) -> Rotation:
        """Rotation matrix R(x)."""

    @abstractmethod
    def _coordinates(self, R: Rotation) -> Vector:
        """Parameters x(R)."""

    @abstractmethod
    def _rates(self, x: Vector) -> Matrix:
        """Rate matrix E(x), world frame."""

    @abstractmethod
    def _rates_inverse(self, x: Vector) -> Matrix:
        """Inverse rate matrix E(x)^-1, world frame."""


class PositionChart(Chart):
    """Coordinates of a position vector ``r`` (metres), [ETH] 2.2.1 and 2.3.1; one frame throughout.

    ``singularity(x)`` is a length: the distance in metres of the point from the chart's singular line.

    Example:
        >>> from fallingcat.lie.charts import Spherical
        >>> chart, x = Spherical(), [2.0, 0.1, 0.2]
        >>> bool(np.allclose(chart.from_position(chart.to_position(x)), x))
        True
        >>> bool(np.allclose(chart.rate_matrix_inverse(x) @ chart.rate_matrix(x), np.eye(3)))
        True
    """

    @final
    def to_position(self, x: Vector) -> Vector_3:
        """Position vector of the parameters.

        Args:
            x: Parameters (:attr:`dimension` numbers).

        Returns:
            Position, 3 (m).
        """
        return self._position(self._admit(x))

    @final
    def from_position(self, r: Vector_3) -> Vector:
        """Parameters of a position vector; angles of no meaning (a point of the singular line) are 0.

        Args:
            r: Position, 3 (m).

        Returns:
            Parameters (:attr:`dimension` numbers).
        """
        return self._coordinates(as_array(r, (3,), "a position"))

    @final
    def rate_matrix(self, x: Vector) -> Matrix_3_k:
        """Rate matrix ``E_P(x)`` with ``rdot = E_P(x) @ xdot``; defined everywhere. [ETH] (2.10).

        Args:
            x: Parameters (:attr:`dimension` numbers).

        Returns:
            ``3 x dimension`` matrix.
        """
        return self._rates(self._admit(x))

    @final
    def rate_matrix_inverse(self, x: Vector) -> Matrix_k_3:
        """Inverse rate matrix ``E_P(x)^-1`` with ``xdot = E_P(x)^-1 @ rdot``, [ETH] (2.11).

        It raises or warns as `check` does.

        Args:
            x: Parameters (:attr:`dimension` numbers).

        Returns:
            ``dimension x 3`` matrix.
        """
        x = self._admit(x)
        self.check(x)
        return self._rates_inverse(x)

    @abstractmethod
    def _position(self, x: Vector) -> Vector:
        """Position r(x)."""

    @abstractmethod
    def _coordinates(self, r: Vector) -> Vector:
        """Parameters x(r)."""

    @abstractmethod
    def _rates(self, x: Vector) -> Matrix:
        """Rate matrix E_P(x)."""

    @abstractmethod
    def _rates_inverse(self, x: Vector) -> Matrix:
        """Inverse rate matrix E_P(x)^-1."""


def _is_body(frame: str) -> bool:
    if not isinstance(frame, str) or frame not in ("world", "body"):
        raise ModelError(f'frame is "world" or "body", not {describe(frame)}')
    return frame == "body"
