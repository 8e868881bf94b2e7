"""Base class of the groups of rigid motion."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._deprecated import former_attribute
from ..arrays import concatenate, is_numeric, scale
from ..arrays.arguments import check_arguments_first, check_rng, is_scalar, shape_of
from ..arrays.types import (
    Float_4_4,
    Float_6_m,
    FloatArray,
    Floats_nq,
    Matrix,
    Matrix_4_4,
    Matrix_m_m,
    Pose,
    Scalar,
    Vector,
    Vector_m,
    Vector_nq,
)
from ..caching import cached_property
from ..errors import ModelError, describe
from . import series
from .arguments import GROUP_ARGUMENTS, check_shapes
from .rotations import homogeneous, skew, unskew


class Group(ABC):
    """Subgroup of SE(3) (or, for :class:`Product`, several side by side; :class:`SEk3` has more vectors).

    Elements ``g`` are 4x4 homogeneous matrices, algebra vectors ``x`` have length ``dim`` and embed into se(3) as
    ``selection @ x``.  Velocities are body-fixed (left-trivialised): ``dg/dt = g hat(x)``.

    Example:
        >>> from fallingcat.lie import SE3
        >>> group, x = SE3(), np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.5])
        >>> g = group.exp(x)
        >>> bool(np.allclose(group.log(g), x)), group.contains(g)
        (True, True)
        >>> bool(np.allclose(group.Ad(g) @ x, x))  # a motion commutes with itself
        True
    """

    name: str
    """Usual notation, e.g. ``SE(3)``."""
    dim: int
    """Dimension m of the algebra: degrees of freedom."""
    coordinate_names: tuple[str, ...]
    """Names of the flat coordinates of :meth:`coordinates`, e.g. ``("x", "y", "angle")``."""
    additive: bool = False
    """True if motions add up in flat coordinates: angles and lengths, which keep whole turns."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        check_shapes(cls, GROUP_ARGUMENTS)
        check_arguments_first(cls, {"random_coordinates": lambda self, rng, *batch: check_rng(rng, batch)})

    # identity, compose, inverse -------------------------------------------------------------------------------

    def identity(self) -> Float_4_4:
        """Neutral element.

        Returns:
            ``4 x 4`` identity.
        """
        return np.eye(4)

    def compose(self, g: Matrix, h: Matrix) -> Matrix:
        """Product ``g h``: first h, then g, seen from the fixed frame.

        Args:
            g: Element (4 x 4, or block-diagonal of a product).
            h: Element (4 x 4, or block-diagonal of a product).

        Returns:
            Element (4 x 4, or block-diagonal of a product).
        """
        return g @ h

    def inverse(self, g: Pose) -> Pose:
        """Inverse element, ``g^-1 = [[R', -R' p], [0, 1]]``.

        Args:
            g: Element (4 x 4).

        Returns:
            Element (4 x 4).
        """
        R = g[:3, :3].T
        return homogeneous(R, -(R @ g[:3, 3]))

    # hat, vee -------------------------------------------------------------------------------------------------

    def hat(self, x: Vector_m) -> Matrix_4_4:
        """Matrix ``[[skew w, v], [0, 0]]`` of ``[v; w] = selection @ x``.

        Args:
            x: Algebra vector, ``m``.

        Returns:
            ``4 x 4`` matrix.
        """
        twist = self.selection @ x
        return concatenate([concatenate([skew(twist[3:]), twist[:3, None]], axis=1), np.zeros((1, 4))])

    def vee(self, matrix: Matrix_4_4) -> Vector_m:
        """Algebra vector of a matrix; the inverse of :meth:`hat`.

        Args:
            matrix: Matrix of the algebra (4 x 4).

        Returns:
            ``m``.
        """
        return self.coselection @ concatenate([matrix[:3, 3], unskew(matrix[:3, :3])])

    # exp, log -------------------------------------------------------------------------------------------------

    @abstractmethod
    def exp(self, x: Vector_m) -> Pose:
        """Exponential map: the element reached from the identity by a constant body velocity in unit time.

        Args:
            x: Algebra vector, ``m``.

        Returns:
            Element (4 x 4).
        """

    @abstractmethod
    def log(self, g: Pose) -> Vector_m:
        """Logarithm: the shortest ``x`` with ``exp(x) = g``; rotation angles lie in ``(-pi, pi]``.

        Args:
            g: Element (4 x 4).

        Returns:
            Algebra vector, ``m``.
        """

    # Ad, ad, adt ----------------------------------------------------------------------------------------------

    @abstractmethod
    def Ad(self, g: Pose) -> Matrix_m_m:
        """Adjoint matrix: moves algebra vectors by conjugation, ``g hat(x) g^-1 = hat(Ad(g) x)``.

        Args:
            g: Element (4 x 4).

        Returns:
            ``m x m`` matrix.
        """

    @abstractmethod
    def ad(self, x: Vector) -> Matrix_m_m:
        """Matrix of the Lie bracket, ``ad(x) @ y = [x, y]`` ([From] Table 1).

        Args:
            x: Algebra vector, ``m``.

        Returns:
            ``m x m`` matrix.
        """

    @abstractmethod
    def adt(self, h: Vector) -> Matrix_m_m:
        """Transposed bracket of a momentum, skew.

        ``ad(x).T @ h = adt(h) @ x``, with the sign of [Mishra] (3); [From]'s ad~ is its negative.

        Args:
            h: Momentum, ``m``.

        Returns:
            ``m x m`` matrix.
        """

    # derivative of the exponential ----------------------------------------------------------------------------

    def dexp_left(self, x: Vector) -> Matrix_m_m:
        """Left derivative of the exponential: the *world-fixed* velocity of ``exp(x(t))`` per ``dx/dt``.

        ``sum ad(x)^k / (k+1)!``, which is ``1 + b ad + c ad^2`` wherever ``ad^3 = -angle^2 ad``, that is on every
        subgroup but SE(3) itself.

        Args:
            x: Algebra vector, ``m``.

        Returns:
            ``m x m`` matrix.
        """
        t, ad = self.squared_angle(x), self.ad(x)
        return np.eye(self.dim) + scale(series.b(t), ad) + scale(series.c(t), ad @ ad)

    def dexp_left_inverse(self, x: Vector) -> Matrix_m_m:
        """Inverse of :meth:`dexp_left`, ``1 - ad/2 + d ad^2``; infinite where the angle is 2 pi.

        Args:
            x: Algebra vector, ``m``.

        Returns:
            ``m x m`` matrix.
        """
        t, ad = self.squared_angle(x), self.ad(x)
        return np.eye(self.dim) - 0.5 * ad + scale(series.d(t), ad @ ad)

    def dexp_right(self, x: Vector_m) -> Matrix_m_m:
        """Right derivative of the exponential: the *body-fixed* velocity of ``exp(x(t))`` per ``dx/dt``.

        [From] (29), ``sum (-ad)^k/(k+1)!``.

        Args:
            x: Algebra vector, ``m``.

        Returns:
            ``m x m`` matrix.
        """
        return self.dexp_left(-x)

    def dexp_right_inverse(self, x: Vector_m) -> Matrix_m_m:
        """Inverse of :meth:`dexp_right`.

        Args:
            x: Algebra vector, ``m``.

        Returns:
            ``m x m`` matrix.
        """
        return self.dexp_left_inverse(-x)

    def logarithm_rate(self, v: Vector_m, x: Vector_m) -> Vector_m:
        """Rate of ``x`` when the point ``exp(x)`` moves with a body velocity: ``dexp_right_inverse(x) @ v``.

        Args:
            v: Body velocity at ``exp(x)``, ``m``.
            x: Algebra vector, ``m``.

        Returns:
            ``m``.
        """
        return self.dexp_right_inverse(x) @ v

    seen_ahead = former_attribute("seen_ahead", "logarithm_rate")

    def squared_angle(self, x: Vector_m) -> Scalar:
        """Square of the rotation angle of ``exp(x)``.

        Args:
            x: Algebra vector, ``m``.

        Returns:
            rad^2.
        """
        w = (self.selection @ x)[3:]
        return w @ w

    # shapes, selection matrix ---------------------------------------------------------------------------------

    @cached_property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Shapes of elements, of vectors of the algebra and of flat coordinates, by these words."""
        return {"an element": self.identity().shape, "a vector": (self.dim,), "coordinates": (self.nq,)}

    @property
    @abstractmethod
    def selection(self) -> Float_6_m:
        """Selection matrix (6 x m): ``[v; w] = selection @ x`` ([From] Definition 4.2, where it is called H)."""

    @cached_property
    def coselection(self) -> FloatArray:
        """Left inverse of :attr:`selection` (m x 6)."""
        S = self.selection
        return constant(np.linalg.solve(S.T @ S, S.T))

    # flat coordinates -----------------------------------------------------------------------------------------

    @property
    def nq(self) -> int:
        """Number of flat coordinates; one more than ``dim`` where a quaternion is among them."""
        return len(self.coordinate_names)

    @abstractmethod
    def coordinates(self, g: Pose) -> Vector_nq:
        """Flat coordinates of an element, in the order of :attr:`coordinate_names`.

        Args:
            g: Element (4 x 4).

        Returns:
            ``nq`` (m, rad, unit quaternions).
        """

    @abstractmethod
    def element(self, q: Vector_nq) -> Pose:
        """Element with given flat coordinates; the inverse of :meth:`coordinates`.

        Args:
            q: Flat coordinates, ``nq`` (m, rad, unit quaternions).

        Returns:
            Element (4 x 4).
        """

    def moved(self, q: Vector_nq, x: Vector_m) -> Vector_nq:
        """Flat coordinates of ``element(q) exp(x)``.

        Args:
            q: Flat coordinates, ``nq``.
            x: Algebra vector, ``m``.

        Returns:
            ``nq``.
        """
        return self.coordinates(self.compose(self.element(q), self.exp(x)))

    def between(self, q: Vector_nq, p: Vector_nq) -> Vector_m:
        """Vector that moves the flat coordinates ``q`` to ``p``: ``log(element(q)^-1 element(p))``.

        Args:
            q: Flat coordinates, ``nq``.
            p: Flat coordinates, ``nq``.

        Returns:
            Algebra vector, ``m``.
        """
        return self.log(self.compose(self.inverse(self.element(q)), self.element(p)))

    # interpolation, random, membership ------------------------------------------------------------------------

    def interpolate(self, g: Pose, h: Pose, s: Scalar) -> Pose:
        """Point on the one-parameter path from ``g`` to ``h``: ``g exp(s log(g^-1 h))``.

        Args:
            g: Element at ``s = 0`` (4 x 4).
            h: Element at ``s = 1`` (4 x 4).
            s: Number from 0 to 1.

        Returns:
            Element (4 x 4).
        """
        if not is_scalar(s):
            raise ModelError(f"s is a number from 0 to 1, not {describe(s)}")
        return self.compose(g, self.exp(scale(s, self.log(self.compose(self.inverse(g), h)))))

    @abstractmethod
    def random_coordinates(self, rng: np.random.Generator, *batch: int) -> Floats_nq:
        """Flat coordinates of random elements: rotations uniform, positions normal, deviation 1 m.

        Args:
            rng: Random generator.
            *batch: Axes in front.

        Returns:
            ``batch x nq``.
        """

    def random(self, rng: np.random.Generator) -> Float_4_4:
        """Random element.

        Args:
            rng: Random generator.

        Returns:
            Element (4 x 4).
        """
        return np.asarray(self.element(self.random_coordinates(rng)))

    def contains(self, g: Pose, tolerance: float = 1e-9) -> bool:
        """Test if a matrix of numbers is an element.

        Args:
            g: Matrix (4 x 4).
            tolerance: Largest error of an entry.

        Returns:
            True for an element.
        """
        if not isinstance(tolerance, (int, float)) or not tolerance >= 0.0:
            raise ModelError(f"tolerance is a number that is not negative, not {describe(tolerance)}")
        if shape_of(g) != self.shapes["an element"] or not is_numeric(np.asarray(g)) or not np.isfinite(g).all():
            return False
        g = np.asarray(g)
        return bool(self.distance_to_group(g) <= tolerance * max(1.0, np.abs(g).max(initial=1.0)))

    def distance_to_group(self, g: Float_4_4) -> float:
        """Largest distance of an entry of a matrix from that of an element.

        Args:
            g: Matrix (4 x 4).

        Returns:
            Distance; 0 for an element.
        """
        return float(np.abs(self.exp(self.log(g)) - g).max(initial=0.0))

    def __str__(self) -> str:
        return self.name


check_shapes(Group, GROUP_ARGUMENTS)


def constant(matrix: np.ndarray) -> np.ndarray:
    """Make a matrix read-only: it is computed once and shared."""
    matrix.setflags(write=False)
    return matrix
