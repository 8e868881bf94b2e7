"""Hard joint limits: ends of the joints, as a ground for their coordinates."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from ...arrays import concatenate
from ...arrays.types import Scalar, Vector
from ...dynamics.checks import check_model
from ...errors import ModelError, describe
from ...model import Model
from .event_driven.contact_kinematics import ContactKinematics
from .time_stepping.contact_jacobian import StackedJacobian

LAW = "joint stops"
"""The name of the law of compliant stops, which hard ones replace."""
LOWER, UPPER = "lower", "upper"


class Stop(NamedTuple):
    """End of a joint that is an angle or a length.

    Example:
        >>> Stop("knee", "lower", -1.0).name
        'knee lower stop'
    """

    joint: str
    end: str
    """``lower`` or ``upper``"""
    limit: float
    """its coordinate (rad or m)"""
    restitution: float = 0.0
    """Newton's"""

    @property
    def name(self) -> str:
        """Joint and end, for modes and reports."""
        return f"{self.joint} {self.end} stop"

    @property
    def sign(self) -> float:
        """Sign of rates that lead away from it."""
        return 1.0 if self.end == LOWER else -1.0

    def coordinate(self, model: Model) -> int:
        """Index of its joint's coordinate.

        Args:
            model: Robot.

        Returns:
            Index in ``state.joints``.
        """
        return int(model.q_slices[model.joint_index(self.joint)].start)

    def rate(self, model: Model) -> int:
        """Index of its joint's rate.

        Args:
            model: Robot.

        Returns:
            Index in ``state.rates``.
        """
        return int(model.v_slices[model.joint_index(self.joint)].start)

    def gap(self, model: Model, joints: Vector) -> Scalar:
        """Distance of the joint from the stop.

        Args:
            model: Robot.
            joints: Coordinates of all joints (..., nq - base.nq).

        Returns:
            Distance (rad or m), negative beyond the stop.
        """
        return self.sign * (joints[..., self.coordinate(model)] - self.limit)


def joint_stops(model: Model, restitution: float = 0.0) -> tuple[Stop, ...]:
    """Stops of all joints, for ``HardContacts(..., stops=joint_stops(model))``.

    They are those of ``model.limits``; equal limits mean none, as in many files.

    Args:
        model: Robot.
        restitution: Newton's coefficient from 0 to 1.

    Returns:
        Lower and upper stops.

    Example:
        >>> from fallingcat.model import robots
        >>> [stop.name for stop in joint_stops(robots.quadruped())][:2]
        ['front_left_roll lower stop', 'front_left_roll upper stop']
    """
    check_model(model)
    if not _within(restitution, 0.0, 1.0):
        raise ModelError(f"restitution is a number from 0 to 1, not {describe(restitution)}")
    return _joint_stops(model, float(restitution))


@functools.lru_cache(maxsize=16)
def _joint_stops(model: Model, restitution: float) -> tuple[Stop, ...]:
    found = []
    for name, limits in zip(model.joint_names, model.limits, strict=True):
        for end in (LOWER, UPPER):
            limit = float(getattr(limits, end))
            straight = model.joints[model.joint_index(name)].kind.group.additive
            if straight and limits.lower < limits.upper and np.isfinite(limit):
                found.append(Stop(name, end, limit, restitution))
    return tuple(found)


def checked_stops(stops: Any) -> tuple[Stop, ...]:
    """The same, unless one of them is none."""
    if not isinstance(stops, tuple) or not all(isinstance(stop, Stop) for stop in stops):
        raise ModelError(f"stops are those that fc.contact.joint_stops(model) gives, not {describe(stops)}")
    for joint, end, limit, restitution in stops:
        if end not in (LOWER, UPPER) or not _within(limit, -np.inf, np.inf) or not _within(restitution, 0.0, 1.0):
            raise ModelError(f"a stop of {joint!r} has an end, a finite limit, and a restitution from 0 to 1")
    return stops


def _within(x: Any, least: float, most: float) -> bool:
    return isinstance(x, (int, float, np.number)) and bool(np.isfinite(x) and least <= x <= most)


def beyond(model: Model, joints: np.ndarray, stops: tuple[Stop, ...], allowed: float, does: str = "starts") -> str:
    """Joint further beyond its stop than ``allowed`` (rad or m), and its distance; nothing if there is none.

    ``joints`` are ``... x (nq - base)``.
    """
    if not stops:
        return ""
    places, signs, limits, _, _ = _stop_numbers(model, stops)
    depths = (signs * (limits - joints[..., places])).reshape(-1, len(stops)).max(axis=0, initial=-np.inf)
    if depths.max() <= allowed:
        return ""
    depth, stop = depths.max(), stops[int(depths.argmax())]
    return f"joint {stop.joint!r} {does} {depth:.3g} beyond its {stop.end} stop at {stop.limit:.6g}"


def with_stops(at: ContactKinematics, model: Model, stops: tuple[Stop, ...]) -> ContactKinematics:
    """A situation of points and stops, on any kind of number."""
    if not stops:
        return at
    places, signs, limits, rows, still = _stop_numbers(model, stops)
    nowhere = np.zeros((len(stops), 3, 3))  # forces of stops have no direction in the world
    gaps = signs * (at.state.joints[places] - limits)
    whole = concatenate([np.reshape(gaps, (len(stops), 1)), still[:, 1:]], axis=1)
    if isinstance(at.J, list):
        all_axes = [*at.axes, *nowhere]
        return at._replace(places=[*at.places, *whole], J=[*at.J, *rows], biases=[*at.biases, *still], axes=all_axes)
    pairs = (at.places, whole), (at.J, rows), (at.biases, still), (at.axes, nowhere)
    places, J, biases, axes = (np.concatenate(pair) for pair in pairs)
    return at._replace(places=places, J=J, biases=biases, axes=axes)


def beside_stops(on: StackedJacobian, model: Model, joints: Any, stops: tuple[Stop, ...]) -> StackedJacobian:
    """Points and stops, each of which is a row of its own."""
    if not stops:
        return on
    places, signs, limits, rows, _ = _stop_numbers(model, stops)
    jacobian, levers = on.jacobian.with_rows(rows[:, 0])
    heights = [*on.heights, *(signs * (joints[places] - limits))]
    return on._replace(heights=heights, jacobian=jacobian, levers=[*on.levers, *levers])


@functools.lru_cache(maxsize=64)
def _stop_numbers(model: Model, stops: tuple[Stop, ...]) -> tuple[np.ndarray, ...]:
    """Places of coordinates, signs and limits (stops); ``J`` of the gaps (stops x 3 x nv), and zeros (stops x 3)."""
    rows = np.zeros((len(stops), 3, model.nv))
    for row, stop in zip(rows, stops, strict=True):
        row[0, model.m + stop.rate(model)] = stop.sign
    places = np.array([stop.coordinate(model) for stop in stops])
    signs, limits = (np.array([getattr(stop, what) for stop in stops]) for what in ("sign", "limit"))
    return places, signs, limits, rows, np.zeros((len(stops), 3))
