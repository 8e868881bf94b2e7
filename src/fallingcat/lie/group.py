"""What every group of rigid motion can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..arrays import concatenate, is_numeric, scale
from ..arrays.arguments import check_rng, is_scalar, look_first, shape_of
from ..caching import cached_property
from ..errors import ModelError, describe
from . import series
from .arguments import check_shapes
from .rotations import homogeneous, skew, unskew

# what the methods of a group take: words of `Group.shapes`
_TAKES = {
    **dict.fromkeys(["inverse", "vee", "log", "Ad", "coordinates", "split_element"], ("an element",)),
    **dict.fromkeys(["hat", "exp", "ad", "adt", "squared_angle", "split"], ("a vector",)),
    **dict.fromkeys(["dexp_left", "dexp_left_inverse", "dexp_right", "dexp_right_inverse"], ("a vector",)),
    **dict.fromkeys(["compose", "interpolate"], ("an element", "an element")),
    "seen_ahead": ("a vector", "a vector"),
    **dict.fromkeys(["element", "split_coordinates"], ("coordinates",)),
    "moved": ("coordinates", "a vector"),
    "between": ("coordinates", "coordinates"),
}


class Group(ABC):
    """A subgroup of SE(3) (or, for :class:`Product`, several side by side).

    Elements ``g`` are 4x4 homogeneous matrices, algebra vectors ``x`` have length ``dim`` and embed into se(3) as
    ``selection @ x``.  Velocities are body-fixed (left-trivialised): ``dg/dt = g hat(x)``.
    """

    name: str
    """How people write it, e.g. ``SE(3)``."""
    dim: int
    """Dimension m of the algebra: degrees of freedom."""
    coordinate_names: tuple[str, ...]
    """Names of the flat coordinates of :meth:`coordinates`, e.g. ``("x", "y", "angle")``."""
    additive: bool = False
    """Whether motions add up in flat coordinates: angles and lengths, which keep whole turns."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        check_shapes(cls, _TAKES)
        look_first(cls, {"random_coordinates": lambda self, rng, *batch: check_rng(rng, batch)})

    # identity, compose, inverse -------------------------------------------------------------------------------

    def identity(self) -> np.ndarray:
        """The neutral element."""
        return np.eye(4)

    def compose(self, g: Any, h: Any) -> Any:
        """``g h``: first h, then g, seen from the fixed frame."""
        return g @ h

    def inverse(self, g: Any) -> Any:
        """``g^-1 = [[R', -R' p], [0, 1]]``."""
        R = g[:3, :3].T
        return homogeneous(R, -(R @ g[:3, 3]))

    # hat, vee -------------------------------------------------------------------------------------------------

    def hat(self, x: Any) -> Any:
        """The 4x4 matrix ``[[skew w, v], [0, 0]]`` of ``[v; w] = selection @ x``."""
        twist = self.selection @ x
        return concatenate([concatenate([skew(twist[3:]), twist[:3, None]], axis=1), np.zeros((1, 4))])

    def vee(self, matrix: Any) -> Any:
        """The vector of a matrix of the algebra; the inverse of :meth:`hat`."""
        return self.coselection @ concatenate([matrix[:3, 3], unskew(matrix[:3, :3])])

    # exp, log -------------------------------------------------------------------------------------------------

    @abstractmethod
    def exp(self, x: Any) -> Any:
        """The element reached from the identity by the constant body velocity ``x`` in unit time."""

    @abstractmethod
    def log(self, g: Any) -> Any:
        """The shortest ``x`` with ``exp(x) = g``; rotation angles lie in ``(-pi, pi]``."""

    # Ad, ad, adt ----------------------------------------------------------------------------------------------

    @abstractmethod
    def Ad(self, g: Any) -> Any:
        """``m x m``: moves algebra vectors by conjugation, ``g hat(x) g^-1 = hat(Ad(g) x)``."""

    @abstractmethod
    def ad(self, x: Any) -> Any:
        """``m x m``: the Lie bracket, ``ad(x) @ y = [x, y]`` ([From] Table 1)."""

    @abstractmethod
    def adt(self, h: Any) -> Any:
        """``m x m``, skew: the bracket read the other way, ``ad(x).T @ h = adt(h) @ x``, for a momentum ``h``.

        The sign of [Mishra] (3); [From]'s ad~ is its negative.
        """

    # derivative of the exponential ----------------------------------------------------------------------------

    def dexp_left(self, x: Any) -> Any:
        """``m x m``: the *world-fixed* velocity of ``exp(x(t))`` per ``dx/dt``, ``sum ad(x)^k / (k+1)!``.

        ``1 + b ad + c ad^2`` wherever ``ad^3 = -angle^2 ad``, that is on every subgroup but SE(3) itself.
        """
        t, ad = self.squared_angle(x), self.ad(x)
        return np.eye(self.dim) + scale(series.b(t), ad) + scale(series.c(t), ad @ ad)

    def dexp_left_inverse(self, x: Any) -> Any:
        """The inverse of :meth:`dexp_left`, ``1 - ad/2 + d ad^2``; infinite where the angle is 2 pi."""
        t, ad = self.squared_angle(x), self.ad(x)
        return np.eye(self.dim) - 0.5 * ad + scale(series.d(t), ad @ ad)

    def dexp_right(self, x: Any) -> Any:
        """``m x m``: the *body-fixed* velocity of ``exp(x(t))`` per ``dx/dt``: [From] (29), ``sum (-ad)^k/(k+1)!``."""
        return self.dexp_left(-x)

    def dexp_right_inverse(self, x: Any) -> Any:
        """The inverse of :meth:`dexp_right`."""
        return self.dexp_left_inverse(-x)

    def seen_ahead(self, v: Any, x: Any) -> Any:
        """``dexp_right_inverse(x) @ v``: the rate of ``x`` when the point ``exp(x)`` moves with body velocity ``v``."""
        return self.dexp_right_inverse(x) @ v

    def squared_angle(self, x: Any) -> Any:
        """The square of the rotation angle of ``exp(x)``."""
        w = (self.selection @ x)[3:]
        return w @ w

    # shapes, selection matrix ---------------------------------------------------------------------------------

    @cached_property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The shapes of elements, of vectors of the algebra and of flat coordinates, by these words."""
        return {"an element": self.identity().shape, "a vector": (self.dim,), "coordinates": (self.nq,)}

    @property
    @abstractmethod
    def selection(self) -> np.ndarray:
        """``6 x m``: ``[v; w] = selection @ x`` ([From] Definition 4.2, where it is called H)."""

    @cached_property
    def coselection(self) -> np.ndarray:
        """``m x 6``: the left inverse of :attr:`selection`."""
        S = self.selection
        return constant(np.linalg.solve(S.T @ S, S.T))

    # flat coordinates -----------------------------------------------------------------------------------------

    @property
    def nq(self) -> int:
        """Number of flat coordinates; one more than ``dim`` where a quaternion is among them."""
        return len(self.coordinate_names)

    @abstractmethod
    def coordinates(self, g: Any) -> Any:
        """The flat coordinates of an element, in the order of :attr:`coordinate_names`."""

    @abstractmethod
    def element(self, q: Any) -> Any:
        """The element with the flat coordinates ``q``; the inverse of :meth:`coordinates`."""

    def moved(self, q: Any, x: Any) -> Any:
        """The flat coordinates of ``element(q) exp(x)``."""
        return self.coordinates(self.compose(self.element(q), self.exp(x)))

    def between(self, q: Any, p: Any) -> Any:
        """The ``x`` that moves the flat coordinates ``q`` to ``p``: ``log(element(q)^-1 element(p))``."""
        return self.log(self.compose(self.inverse(self.element(q)), self.element(p)))

    # interpolation, random, membership ------------------------------------------------------------------------

    def interpolate(self, g: Any, h: Any, s: Any) -> Any:
        """The point at ``s`` in [0, 1] on the one-parameter path from ``g`` to ``h``: ``g exp(s log(g^-1 h))``."""
        if not is_scalar(s):
            raise ModelError(f"s is a number from 0 to 1, not {describe(s)}")
        return self.compose(g, self.exp(scale(s, self.log(self.compose(self.inverse(g), h)))))

    @abstractmethod
    def random_coordinates(self, rng: np.random.Generator, *batch: int) -> np.ndarray:
        """Flat coordinates (``batch x nq``) of random elements: rotations uniform, positions normal, deviation 1 m."""

    def random(self, rng: np.random.Generator) -> np.ndarray:
        """A random element."""
        return np.asarray(self.element(self.random_coordinates(rng)))

    def contains(self, g: Any, tolerance: float = 1e-9) -> bool:
        """Whether ``g`` (numbers) is an element, up to ``tolerance`` in each entry."""
        if not isinstance(tolerance, (int, float)) or not tolerance >= 0.0:
            raise ModelError(f"tolerance is a number that is not negative, not {describe(tolerance)}")
        if shape_of(g) != self.shapes["an element"] or not is_numeric(np.asarray(g)) or not np.isfinite(g).all():
            return False
        g = np.asarray(g)
        return bool(self.distance_to_group(g) <= tolerance * max(1.0, np.abs(g).max(initial=1.0)))

    def distance_to_group(self, g: np.ndarray) -> float:
        """How far the entries of a matrix are from those of an element, at most."""
        return float(np.abs(self.exp(self.log(g)) - g).max(initial=0.0))

    def __str__(self) -> str:
        return self.name


check_shapes(Group, _TAKES)


def constant(matrix: np.ndarray) -> np.ndarray:
    """``matrix``, read-only: it is computed once and shared."""
    matrix.setflags(write=False)
    return matrix
