"""Curves in shape space: circles, Fourier series, segments, and their images in more joints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...arrays.types import Float_n, Float_n_k, FloatArray, Matrix, Vector, Vector_n
from ...errors import ModelError, describe
from ...records import concise
from .curve_arguments import at_once, finite


@concise
class Jet(NamedTuple):
    """Curve at N parameters: points and first two derivatives, ``N x k`` each.

    Example:
        >>> Circle(1.0)([0.0, 0.5]).q.round(12) + 0.0
        array([[ 1.,  0.],
               [-1.,  0.]])
    """

    q: FloatArray
    dq: FloatArray
    ddq: FloatArray


class Curve(ABC):
    """Base class for curves ``s -> r`` in k dimensions for s in [0, 1], independent of speed.

    Write your own with ``__call__`` and :attr:`size`; :attr:`breaks` and :attr:`corners` where it is not smooth.

    Example:
        >>> class Parabola(Curve):
        ...     size = 2
        ...     def __call__(self, s):
        ...         s = np.atleast_1d(np.asarray(s, dtype=float))
        ...         one, zero = np.ones_like(s), np.zeros_like(s)
        ...         return Jet(*(np.stack(pair, axis=1) for pair in ((s, s**2), (one, 2 * s), (zero, 2 * one))))
        >>> Parabola().closed
        False
    """

    duration = 1.0
    """A curve is a motion too, of unit time (s)."""

    @abstractmethod
    def __call__(self, s: Vector) -> Jet:
        """Points and derivatives by ``s``.

        Args:
            s: Parameters (N) in [0, 1], or one number.

        Returns:
            Points and first two derivatives (N x k each).
        """

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of coordinates k."""

    @property
    def breaks(self) -> tuple[float, ...]:
        """Parameters from 0 to 1 between which the curve is smooth."""
        return (0.0, 1.0)

    @property
    def corners(self) -> tuple[float, ...]:
        """Inner breaks where the direction jumps: a gait comes to rest there."""
        return ()

    @property
    def closed(self) -> bool:
        """True if the curve ends where it starts."""
        ends = self(np.array([0.0, 1.0])).q
        return bool(np.abs(ends[1] - ends[0]).max() <= 1e-9 * max(1.0, float(np.abs(ends).max())))

    def reversed(self) -> Curve:
        """Same points in the other direction.

        Returns:
            Curve ``s -> r(1 - s)``.
        """
        return ReversedCurve(self)

    def embedded(self, directions: Matrix, origin: Vector_n | None = None) -> Curve:
        """Curve ``q = origin + directions r`` in more joints ([Mishra] (59)).

        Args:
            directions: Matrix ``n x k``.
            origin: Shape (n) at ``r = 0``; None: zero.

        Returns:
            Curve of n coordinates.
        """
        matrix = finite(directions, 2, "directions")
        if matrix.shape[1] != self.size:
            raise ModelError(f"directions must have {self.size} columns, one for each coordinate of the curve")
        start = np.zeros(len(matrix)) if origin is None else finite(origin, 1, "origin")
        if start.shape != (len(matrix),):
            raise ModelError(f"origin must have shape ({len(matrix)},), got {start.shape}")
        return EmbeddedCurve(self, matrix, start)


@concise
@dataclass(frozen=True, eq=False)
class Circle(Curve):
    """Circle or ellipse ``center + (radius_1 cos a, radius_2 sin a)`` for the angle a from ``start``.

    One number as ``radius`` is a circle, two are an ellipse; it goes ``turns`` times around, negative turns backwards
    (angles in rad).

    Example:
        >>> Circle(0.5)(0.25).q.round(12)
        array([[0. , 0.5]])
    """

    radius: float | Sequence[float]
    center: Sequence[float] = (0.0, 0.0)
    start: float = 0.0
    turns: float = 1.0

    def __post_init__(self) -> None:
        """Check the fields."""
        radii = at_once(self.radius, "radius")
        if radii.shape not in ((1,), (2,)):
            raise ModelError(f"radius must be one number or two, got {len(radii)}")
        if finite(self.center, 1, "center").shape != (2,):
            raise ModelError("the center of a circle must have two coordinates")
        finite(self.start, 0, "start")
        finite(self.turns, 0, "turns")

    @property
    def size(self) -> int:
        """Two coordinates."""
        return 2

    def __call__(self, s: Vector) -> Jet:
        """Points and derivatives at ``s``."""
        rate = 2.0 * np.pi * self.turns
        a = self.start + rate * at_once(s, "s")
        radii = np.broadcast_to(np.asarray(self.radius, dtype=float), 2)
        along = radii * np.stack([np.cos(a), np.sin(a)], axis=1)
        across = radii * np.stack([-np.sin(a), np.cos(a)], axis=1)
        return Jet(np.asarray(self.center, dtype=float) + along, rate * across, -(rate**2) * along)


@concise
@dataclass(frozen=True, eq=False)
class Fourier(Curve):
    """Closed Fourier series with H harmonics; coefficients are H x k each.

    ``mean + sum_h cosines[h] cos(2 pi (h + 1) s) + sines[h] sin(2 pi (h + 1) s)``.

    Example:
        >>> Fourier([0.0, 0.0], [[1.0, 0.0]], [[0.0, 1.0]])(0.25).q.round(12) + 0.0
        array([[0., 1.]])
    """

    mean: FloatArray
    """``k``"""
    cosines: FloatArray
    """``H x k``"""
    sines: FloatArray
    """``H x k``"""

    def __post_init__(self) -> None:
        """Check shapes and values."""
        object.__setattr__(self, "mean", finite(self.mean, 1, "mean"))
        for name in ("cosines", "sines"):
            value = finite(getattr(self, name), 2, name)
            if value.shape[1:] != self.mean.shape or len(value) != len(np.asarray(self.cosines)):
                raise ModelError(f"cosines and sines must have the same shape (H, {len(self.mean)})")
            object.__setattr__(self, name, value)

    @classmethod
    def through(cls, samples: Matrix) -> Fourier:
        """Trigonometric interpolation: the smoothest closed curve through samples.

        Args:
            samples: Points (N x k) at s = 0, 1/N, 2/N, ...; three or more.

        Returns:
            Series with N // 2 harmonics.

        Example:
            >>> points = Circle(0.3, turns=1.0)(np.arange(8) / 8).q
            >>> bool(abs(Fourier.through(points)(0.1).q - Circle(0.3)(0.1).q).max() < 1e-15)
            True
        """
        points = finite(samples, 2, "samples")
        if len(points) < 3:
            raise ModelError(f"a closed curve needs 3 samples or more, got {len(points)}")
        spectrum = np.fft.rfft(points, axis=0) / len(points)
        weights = np.full((len(spectrum) - 1, 1), 2.0)
        if len(points) % 2 == 0:
            weights[-1] = 1.0  # the highest harmonic of an even number of samples is its own mirror image
        return cls(spectrum[0].real, weights * spectrum[1:].real, -weights * spectrum[1:].imag)

    def repeated(self, count: int) -> Fourier:
        """Curve repeated ``count`` times: harmonics become ``count`` times as high.

        Args:
            count: Number of cycles, one or more.

        Returns:
            Series ``s -> r(count s)``.

        Example:
            >>> once = Fourier([0.0], [[1.0]], [[0.5]])
            >>> bool(np.allclose(once.repeated(3)(0.1).q, once(0.3).q))
            True
        """
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
            raise ModelError(f"count must be an integer of at least 1, got {describe(count)}")
        parts = np.zeros((2, count * len(self.cosines), self.size))
        parts[0, count - 1 :: count], parts[1, count - 1 :: count] = self.cosines, self.sines
        return Fourier(self.mean, *parts)

    @property
    def size(self) -> int:
        """Number of coordinates k."""
        return len(self.mean)

    def __call__(self, s: Vector) -> Jet:
        """Points and derivatives at ``s``."""
        rates = 2.0 * np.pi * np.arange(1, len(self.cosines) + 1)
        angles = at_once(s, "s")[:, None] * rates
        C, S = np.cos(angles), np.sin(angles)
        q = self.mean + C @ self.cosines + S @ self.sines
        dq = (C * rates) @ self.sines - (S * rates) @ self.cosines
        return Jet(q, dq, -(C * rates**2) @ self.cosines - (S * rates**2) @ self.sines)


@concise
@dataclass(frozen=True, eq=False)
class Segment(Curve):
    """Straight line from ``start`` to ``end``.

    Example:
        >>> Segment((0.0, 0.0), (1.0, 2.0))(0.5).q
        array([[0.5, 1. ]])
    """

    start: Vector
    end: Vector

    def __post_init__(self) -> None:
        """Check that both ends have the same number of coordinates."""
        if finite(self.start, 1, "start").shape != finite(self.end, 1, "end").shape:
            raise ModelError("start and end of a segment must have the same number of coordinates")

    @property
    def size(self) -> int:
        """Number of coordinates k."""
        return len(self.start)

    def __call__(self, s: Vector) -> Jet:
        """Points and derivatives at ``s``."""
        s = at_once(s, "s")[:, None]
        a, b = np.asarray(self.start, dtype=float), np.asarray(self.end, dtype=float)
        return Jet(a + s * (b - a), np.broadcast_to(b - a, (len(s), len(a))), np.zeros((len(s), len(a))))


@dataclass(frozen=True, eq=False)
class ReversedCurve(Curve):
    """Curve in the other direction."""

    curve: Curve

    @property
    def size(self) -> int:
        """Number of coordinates k."""
        return self.curve.size

    @property
    def breaks(self) -> tuple[float, ...]:
        """Breaks, counted from the other end."""
        return tuple(1.0 - x for x in self.curve.breaks[::-1])

    @property
    def corners(self) -> tuple[float, ...]:
        """Corners, counted from the other end."""
        return tuple(1.0 - x for x in self.curve.corners[::-1])

    def __call__(self, s: Vector) -> Jet:
        """Points and derivatives at ``s``."""
        jet = self.curve(1.0 - at_once(s, "s"))
        return Jet(jet.q, -jet.dq, jet.ddq)


@concise
@dataclass(frozen=True, eq=False)
class EmbeddedCurve(Curve):
    """Curve ``q = origin + directions r`` of few coordinates in the space of all joints ([Mishra] (59)).

    Example:
        >>> EmbeddedCurve(Circle(1.0), np.eye(3)[:, :2], np.zeros(3))(0.0).q
        array([[1., 0., 0.]])
    """

    curve: Curve
    directions: Float_n_k
    """``n x k``"""
    origin: Float_n
    """``n``"""

    def __post_init__(self) -> None:
        """Check the shapes."""
        if not isinstance(self.curve, Curve):
            raise ModelError(f"curve must be a Curve, got {describe(self.curve)}")
        object.__setattr__(self, "origin", finite(self.origin, 1, "origin"))
        directions = finite(self.directions, 2, "directions")
        if directions.shape != (len(self.origin), self.curve.size):
            raise ModelError(
                f"directions must have shape {(len(self.origin), self.curve.size)}, got {directions.shape}"
            )
        object.__setattr__(self, "directions", directions)

    @property
    def size(self) -> int:
        """Number of joints n."""
        return len(self.origin)

    @property
    def breaks(self) -> tuple[float, ...]:
        """Breaks of the curve."""
        return self.curve.breaks

    @property
    def corners(self) -> tuple[float, ...]:
        """Corners of the curve."""
        return self.curve.corners

    def __call__(self, s: Vector) -> Jet:
        """Points and derivatives at ``s``."""
        jet = self.curve(s)
        D = self.directions.T
        return Jet(self.origin + jet.q @ D, jet.dq @ D, jet.ddq @ D)
