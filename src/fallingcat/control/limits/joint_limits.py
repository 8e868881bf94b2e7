"""Limits: what the robot may not do, as rows ``G v <= h`` on its quasi-velocity."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...arrays import concatenate
from ...dynamics.checks import check_fields, positive
from ...errors import ModelError, describe
from ...lie.group import constant
from ...model import Model, State
from ...records import concise
from ..tasks import Task


class Rows(NamedTuple):
    """``G [twist; rates] <= h``."""

    G: Any
    """``rows x nv``"""
    h: Any
    """``rows``"""
    names: tuple[str, ...]
    """what each row says"""


class Limit(ABC):
    """Something that the robot may not do.  Write your own as a frozen dataclass with :meth:`rows`."""

    @abstractmethod
    def rows(self, model: Model, state: State) -> Rows:
        """The rows at a state, on every kind of number."""


def all_limits(given: Any, example: str, kinds: tuple[type, ...] = (Limit,)) -> tuple[Any, ...]:
    """The limits of a list, or an error that names what in it is none."""
    rule = f"limits is a list of limits, such as {example}"
    if not isinstance(given, (list, tuple)):
        raise ModelError(f"{rule}, not {describe(given)}")
    for limit in given:
        if not isinstance(limit, kinds):
            what = f"the class {limit.__name__}" if isinstance(limit, type) else describe(limit)
            raise ModelError(f"{rule}: {what} in it is none")
    return tuple(given)


class JointBounds(NamedTuple):
    """Of each rate of joints with one coordinate that has a limit at all."""

    rates: np.ndarray
    """its place among the rates"""
    coordinates: np.ndarray
    """the place of its coordinate in ``state.joints``"""
    lower: np.ndarray
    upper: np.ndarray
    speed: np.ndarray
    names: tuple[str, ...]


@lru_cache(maxsize=32)
def joint_bounds(model: Model) -> JointBounds:
    """What :attr:`Model.limits` says of joints with one coordinate."""
    found = []
    own = [i for i, joint in enumerate(model.joints) if joint.nv]
    for i, limit in zip(own, model.limits, strict=True):
        if model.joints[i].nq == 1:
            place = (model.v_slices[i].start, model.q_slices[i].start)
            found.append((*place, limit.lower, limit.upper, limit.velocity, model.joints[i].name))
    columns = list(zip(*found, strict=True)) or [()] * 6
    rates, coordinates = (constant(np.array(x, dtype=int)) for x in columns[:2])
    lower, upper, speed = (constant(np.array(x, dtype=float)) for x in columns[2:5])
    return JointBounds(rates, coordinates, lower, upper, speed, tuple(columns[5]))


@dataclass(frozen=True)
class JointLimits(Limit):
    """Joints stay within their limits: they come near one not faster than ``gain`` times what is left of the way.

    A joint beyond a limit is asked to come back at the same pace.

    >>> import fallingcat as fc
    >>> dog = fc.robots.quadruped()
    >>> JointLimits(gain=10.0).rows(dog, dog.neutral()).h[:2]  # 0.8 rad to the stop, and 2.5
    array([ 8., 25.])
    """

    gain: float = 10.0
    """1/s; at most 1 over the time step, or a step crosses the limit"""

    def __post_init__(self) -> None:
        positive(self.gain, "gain of JointLimits")

    def rows(self, model: Model, state: State) -> Rows:
        check_fields(model, state)
        bounds = joint_bounds(model)
        q = state.joints[bounds.coordinates]
        return _both_sides(model, self.gain * (bounds.upper - q), self.gain * (q - bounds.lower), "limit")


@dataclass(frozen=True)
class RateLimits(Limit):
    """Joints move not faster than they can: ``|rate| <= fraction * velocity`` of their limits.

    >>> import fallingcat as fc
    >>> dog = fc.robots.quadruped()
    >>> RateLimits(0.5).rows(dog, dog.neutral()).h[0]
    np.float64(10.0)
    """

    fraction: float = 1.0

    def __post_init__(self) -> None:
        positive(self.fraction, "fraction of RateLimits")

    def rows(self, model: Model, state: State) -> Rows:
        check_fields(model, state)
        bounds = joint_bounds(model)
        return _both_sides(model, self.fraction * bounds.speed, self.fraction * bounds.speed, "rate limit")


@concise
@dataclass(frozen=True)
class SpeedLimit(Limit):
    """What a task is about moves not faster than ``most`` along each of its rows: ``-most <= J v <= most``.

    >>> import fallingcat as fc
    >>> arm = fc.robots.planar_arm()
    >>> SpeedLimit(fc.control.PositionTask("end_effector"), 0.5).rows(arm, arm.neutral()).names[0]
    "upper speed limit 0 of PositionTask('end_effector')"
    """

    task: Task
    most: float
    """m/s, rad/s"""

    def __post_init__(self) -> None:
        positive(self.most, "most of SpeedLimit")
        if not isinstance(self.task, Task):
            raise ModelError(f"a SpeedLimit is one of a task, not of {describe(self.task)}")

    def rows(self, model: Model, state: State) -> Rows:
        J = self.task.demand(model, state).J
        names = [f"{side} speed limit {i} of {self.task.name}" for side in ("upper", "lower") for i in range(len(J))]
        return Rows(concatenate([J, -J]), np.full(2 * len(J), float(self.most)), tuple(names))


class _Sides(NamedTuple):
    """``rate <= up`` and ``-rate <= down``, without those that are infinite."""

    G: np.ndarray
    up: np.ndarray
    down: np.ndarray
    """which of the bounds are there"""
    names: tuple[str, ...]


@lru_cache(maxsize=32)
def _sides(model: Model, what: str) -> _Sides:
    bounds = joint_bounds(model)
    E = np.eye(model.nv)[model.m + bounds.rates]
    ends = (bounds.upper, bounds.lower) if what == "limit" else (bounds.speed, bounds.speed)
    up, down = (np.flatnonzero(np.isfinite(end)) for end in ends)
    names = [f"{side} {what} of {bounds.names[i]!r}" for side, kept in (("upper", up), ("lower", down)) for i in kept]
    return _Sides(constant(np.concatenate([E[up], -E[down]])), constant(up), constant(down), tuple(names))


def _both_sides(model: Model, up: Any, down: Any, what: str) -> Rows:
    sides = _sides(model, what)
    return Rows(sides.G, concatenate([up[sides.up], down[sides.down]]), sides.names)
