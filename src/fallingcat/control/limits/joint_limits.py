"""Limits as rows ``G v <= h`` on the quasi-velocity."""

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
    """Inequalities ``G [twist; rates] <= h``."""

    G: Any
    """``rows x nv``"""
    h: Any
    """``rows``"""
    names: tuple[str, ...]
    """name of each row"""


class Limit(ABC):
    """Base class for limits on the velocity.  Write your own as a frozen dataclass with :meth:`rows`.

    Example:
        >>> from dataclasses import dataclass
        >>> import fallingcat as fc
        >>> @dataclass(frozen=True)
        ... class SlowFirstJoint(Limit):
        ...     def rows(self, model, state):
        ...         return Rows(np.eye(model.nv)[model.m : model.m + 1], np.array([0.5]), ("first joint",))
        >>> arm = fc.robots.planar_arm()
        >>> SlowFirstJoint().rows(arm, arm.neutral()).G
        array([[1., 0., 0.]])
    """

    @abstractmethod
    def rows(self, model: Model, state: State) -> Rows:
        """Rows of the limit at a state, for every kind of number.

        Args:
            model: Robot.
            state: Configuration and velocity.

        Returns:
            ``G`` (rows x nv), ``h`` (rows) and the name of each row; the number of rows does not depend on the state
            where code is compiled.
        """


def all_limits(given: Any, example: str, kinds: tuple[type, ...] = (Limit,)) -> tuple[Any, ...]:
    """List of limits as a tuple, or an error that names an entry of another kind."""
    rule = f"limits must be a list of limits, such as {example}"
    if not isinstance(given, (list, tuple)):
        raise ModelError(f"{rule}, got {describe(given)}")
    for limit in given:
        if not isinstance(limit, kinds):
            what = f"the class {limit.__name__}" if isinstance(limit, type) else describe(limit)
            raise ModelError(f"{rule}, got {what} in it")
    return tuple(given)


class JointBounds(NamedTuple):
    """Limits of the joints with one coordinate."""

    rates: np.ndarray
    """index among the rates"""
    coordinates: np.ndarray
    """index of the coordinate in ``state.joints``"""
    lower: np.ndarray
    upper: np.ndarray
    speed: np.ndarray
    names: tuple[str, ...]


@lru_cache(maxsize=32)
def joint_bounds(model: Model) -> JointBounds:
    """Limits :attr:`Model.limits` of the joints with one coordinate."""
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
    """Joint position limits: a joint approaches a limit no faster than ``gain`` times the distance to it.

    A joint beyond a limit returns at the same rate.

    Example:
        >>> import fallingcat as fc
        >>> dog = fc.robots.quadruped()
        >>> JointLimits(gain=10.0).rows(dog, dog.neutral()).h[:2]  # 0.8 rad to the stop, and 2.5
        array([ 8., 25.])
    """

    gain: float = 10.0
    """1/s; at most 1 over the time step, or a step crosses the limit"""

    def __post_init__(self) -> None:
        """Check the gain."""
        positive(self.gain, "gain of JointLimits")

    def rows(self, model: Model, state: State) -> Rows:
        """``rate <= gain (upper - q)`` and ``-rate <= gain (q - lower)``."""
        check_fields(model, state)
        bounds = joint_bounds(model)
        q = state.joints[bounds.coordinates]
        return _both_sides(model, self.gain * (bounds.upper - q), self.gain * (q - bounds.lower), "limit")


@dataclass(frozen=True)
class RateLimits(Limit):
    """Joint velocity limits ``|rate| <= fraction velocity``.

    Example:
        >>> import fallingcat as fc
        >>> dog = fc.robots.quadruped()
        >>> RateLimits(0.5).rows(dog, dog.neutral()).h[0]
        np.float64(10.0)
    """

    fraction: float = 1.0

    def __post_init__(self) -> None:
        """Check the fraction."""
        positive(self.fraction, "fraction of RateLimits")

    def rows(self, model: Model, state: State) -> Rows:
        """``rate <= fraction velocity`` and ``-rate <= fraction velocity``."""
        check_fields(model, state)
        bounds = joint_bounds(model)
        return _both_sides(model, self.fraction * bounds.speed, self.fraction * bounds.speed, "rate limit")


@concise
@dataclass(frozen=True)
class SpeedLimit(Limit):
    """Speed limit of a task along each of its rows: ``-most <= J v <= most``.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> SpeedLimit(fc.control.PositionTask("end_effector"), 0.5).rows(arm, arm.neutral()).names[0]
        "upper speed limit 0 of PositionTask('end_effector')"
    """

    task: Task
    most: float
    """m/s, rad/s"""

    def __post_init__(self) -> None:
        """Check the speed and the task."""
        positive(self.most, "most of SpeedLimit")
        if not isinstance(self.task, Task):
            raise ModelError(f"task of a SpeedLimit must be a Task, got {describe(self.task)}")

    def rows(self, model: Model, state: State) -> Rows:
        """``J v <= most`` and ``-J v <= most``."""
        J = self.task.demand(model, state).J
        names = [f"{side} speed limit {i} of {self.task.name}" for side in ("upper", "lower") for i in range(len(J))]
        return Rows(concatenate([J, -J]), np.full(2 * len(J), float(self.most)), tuple(names))


class _Sides(NamedTuple):
    """``rate <= upper`` and ``-rate <= lower``, without those that are infinite."""

    G: np.ndarray
    upper: np.ndarray
    lower: np.ndarray
    """indices of the finite bounds"""
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
    return Rows(sides.G, concatenate([up[sides.upper], down[sides.lower]]), sides.names)
