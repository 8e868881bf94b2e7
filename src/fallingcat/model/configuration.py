"""Configuration group of a robot: its pose and its shape, as one Lie group."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from operator import add
from typing import Any

import numpy as np

from ..arrays import concatenate, scale
from ..arrays.types import Matrix, Scalar, Vector
from ..arrays.vectorize import vectorize
from ..caching import cached_property
from ..errors import ModelError, describe
from ..lie import Group, Product
from ..lie.group import constant
from .state import State


@dataclass(frozen=True)
class Configuration:
    """Direct product of the base's group and the joints' groups, ``base x joint 1 x ... x joint n``.

    Its algebra vectors are the quasi-velocities ``[twist; rates]`` (nv).  Points are states: the base by its pose, the
    joints by their flat coordinates; what a point's velocity is does not matter here, and it is kept.

    Example:
        >>> from fallingcat.model import robots
        >>> cat = robots.cat()
        >>> rng = np.random.default_rng(0)
        >>> start, end = cat.random_state(rng), cat.random_state(rng)
        >>> x = cat.configuration.difference(start, end)
        >>> bool(np.allclose(cat.configuration.displace(start, x).pose, end.pose, atol=1e-12))
        True
    """

    base: Group
    """group of the base"""
    shape: Product
    """the groups of all joints"""

    @cached_property
    def group(self) -> Product:
        """Base and joints as one group: ``ad``, ``dexp_left``, ... of quasi-velocities, and flat coordinates."""
        return Product((self.base, self.shape))

    @property
    def dim(self) -> int:
        """Length ``nv`` of a quasi-velocity."""
        return self.group.dim

    # algebra --------------------------------------------------------------------------------------------------

    def ad(self, v: Vector) -> Matrix:
        """Bracket ``[v, .]`` (nv x nv) of quasi-velocities; zero between base and joints."""
        return self.group.ad(v)

    def dexp(self, x: Vector) -> Matrix:
        """Quasi-velocity of ``exp(x(t))`` per ``dx/dt`` (nv x nv), body-fixed (``dexp_right``)."""
        return self.group.dexp_right(x)

    def logarithm_rate(self, v: Vector, x: Vector) -> Vector:
        """Rate of ``x`` (nv) when the point ``exp(x)`` moves with the quasi-velocity ``v``: ``dexp(x)^-1 v``."""
        return self.group.logarithm_rate(v, x)

    # points ---------------------------------------------------------------------------------------------------

    @cached_property
    def neutral(self) -> State:
        """State with every group at its identity, at rest."""
        joints = concatenate([np.zeros(0), *(f.coordinates(f.identity()) for f in self.shape.factors)])
        parts = (np.eye(4), joints, np.zeros(self.base.dim), np.zeros(self.shape.dim))
        return State(*(constant(np.asarray(part)) for part in parts))

    def exp(self, x: Vector) -> State:
        """Point that the constant quasi-velocity ``x`` reaches from the neutral one in unit time; at rest."""
        return self.displace(self.neutral, x)

    def log(self, state: State) -> Vector:
        """Shortest ``x`` (nv) with ``exp(x)`` at the point of ``state``."""
        return self.difference(self.neutral, state)

    def displace(self, state: State, x: Vector) -> State:
        """State moved by ``x`` (nv): ``pose exp(x_b)``, ``g_j exp(x_j)``; velocities stay."""
        m = self.base.dim
        return state._replace(pose=state.pose @ self.base.exp(x[:m]), joints=self.shape.moved(state.joints, x[m:]))

    def difference(self, start: State, end: State) -> Vector:
        """Vector ``x`` (nv) that :meth:`displace` takes ``start`` to ``end`` with."""
        pose = self.base.compose(self.base.inverse(start.pose), end.pose)
        return concatenate([self.base.log(pose), self.shape.between(start.joints, end.joints)])

    def interpolate(self, start: State, end: State, s: Scalar) -> State:
        """Point at ``s`` in [0, 1] on the one-parameter path from ``start`` to ``end``; velocities of ``start``."""
        return self.displace(start, scale(s, self.difference(start, end)))

    # flat coordinates, any leading batch shape -----------------------------------------------------------------

    def integrate(self, q: Vector, x: Vector) -> Vector:
        """Coordinates ``q`` (..., nq) moved by ``x`` (..., nv), body-fixed: Pinocchio's ``integrate``."""
        return _broadcast_joined(
            _batched(group.moved, add if group.additive else None, a, b)
            for group, a, b in zip(self._factors, self._points(q, "q"), self._vectors(x, "x"), strict=True)
        )

    def between(self, q: Vector, p: Vector) -> Vector:
        """Vector ``x`` (..., nv) that :meth:`integrate` takes ``q`` to ``p`` with: Pinocchio's ``difference``."""
        return _broadcast_joined(
            _batched(group.between, _back if group.additive else None, a, b)
            for group, a, b in zip(self._factors, self._points(q, "q"), self._points(p, "p"), strict=True)
        )

    @property
    def _factors(self) -> tuple[Group, ...]:
        return (self.base, *self.shape.factors)

    def _points(self, q: Vector, what: str) -> list[Vector]:
        return _split(q, [group.nq for group in self._factors], what)

    def _vectors(self, x: Vector, what: str) -> list[Vector]:
        return _split(x, [group.dim for group in self._factors], what)

    # random ---------------------------------------------------------------------------------------------------

    def random(self, rng: np.random.Generator) -> State:
        """Random point, at rest; joint limits are the business of :meth:`Model.random_state`."""
        return self.neutral._replace(pose=self.base.random(rng), joints=self.shape.random_coordinates(rng))


def _split(x: Vector, sizes: list[int], what: str) -> list[Vector]:
    """The parts of the last axis."""
    x = np.asarray(x, dtype=float) if isinstance(x, (list, tuple)) else x
    if getattr(x, "ndim", 0) < 1 or x.shape[-1] != sum(sizes):
        raise ModelError(f"{what} must have shape (..., {sum(sizes)}), got {getattr(x, 'shape', None) or describe(x)}")
    ends = list(accumulate(sizes))
    return [x[..., end - size : end] for size, end in zip(sizes, ends, strict=True)]


def _back(q: Vector, p: Vector) -> Vector:
    return p - q


def _batched(function: Any, plain: Any, a: Any, b: Any) -> Any:
    """A function of one sample of both, over what stands before; where there is a ``plain`` one, by that."""
    if a.ndim == b.ndim == 1:
        return function(a, b)
    if plain is not None:
        return plain(a, b)
    return vectorize(function, a, b)


def _broadcast_joined(parts: Iterable[Vector]) -> Vector:
    """Parts side by side, each as often as the most numerous."""
    whole = list(parts)
    shape = np.broadcast_shapes(*(part.shape[:-1] for part in whole))
    if not shape:
        return concatenate(whole)
    return np.concatenate([np.broadcast_to(part, (*shape, part.shape[-1])) for part in whole], axis=-1)
