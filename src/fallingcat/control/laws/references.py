"""Desired joint motions: coordinates, rates and accelerations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Graph, array, concatenate, is_numeric
from ...arrays.arguments import shape_of
from ...arrays.differentiate import jacobian, substitute
from ...arrays.numpy_protocol import simplest_array
from ...arrays.types import Scalar, Vector
from ...errors import ModelError, describe
from ...model import Model, State
from .torque_law import as_tuple


class Reference(NamedTuple):
    """Desired motion of all joints at one time, relative to the current configuration."""

    error: Any
    """``n``: ``log(g^-1 g*)``, each joint in its group (rad, m)"""
    rates: Any
    """``n``: the rates that go along with the motion, ``Ad(g^-1 g*) v*``"""
    accelerations: Any
    """``n``: their derivative, ``Ad(g^-1 g*) a* - [v, Ad(g^-1 g*) v*]``"""


def plain_goal(x: Any, what: str) -> Any:
    """Numbers, a mapping from names, or a function of time, as plain data; None stays."""
    if x is None or (callable(x) and not isinstance(x, type)):
        return x
    if isinstance(x, Mapping):
        return tuple((name, as_tuple(np.atleast_1d(np.asarray(q, dtype=float)), what)) for name, q in x.items())
    return as_tuple(x, what)


def desired_motion(model: Model, t: Scalar, state: State, goal: Any, rates: Any, accelerations: Any) -> Reference:
    """Desired motion at a time and state.

    Rates and accelerations that are left out are the derivatives of a ``goal`` that is a function of time.  They move
    with the goal: seen from a joint whose group does not commute, they are rotated by the remaining error.
    """
    q, v, a = _goal_at_time(model, t, goal, rates, accelerations)
    parts: list[list[Any]] = [[np.zeros(0)], [np.zeros(0)], [np.zeros(0)]]
    for joint, i, k in zip(model.joints, model.q_slices, model.v_slices, strict=True):
        if joint.nv:
            seen = _relative_motion(joint.kind.group, state.joints[i], state.rates[k], q[i], v[k], a[k])
            for part, x in zip(parts, seen, strict=True):
                part.append(x)
    return Reference(*map(concatenate, parts))


def _relative_motion(group: Any, q: Any, v: Any, q_wanted: Any, v_wanted: Any, a_wanted: Any) -> tuple[Any, Any, Any]:
    if group.additive:
        return q_wanted - q, v_wanted, a_wanted
    h = group.compose(group.inverse(group.element(q)), group.element(q_wanted))
    turn = group.Ad(h)
    along = turn @ v_wanted
    return group.log(h), along, turn @ a_wanted - group.ad(v) @ along


def _goal_at_time(model: Model, t: Scalar, goal: Any, rates: Any, accelerations: Any) -> tuple[Any, Any, Any]:
    """Coordinates, rates and accelerations at time ``t``."""
    nq, n = model.nq - model.base.nq, model.n
    if not callable(goal):
        v, a = (np.zeros(n) if x is None else vector_at(x, t, n, "rates") for x in (rates, accelerations))
        return _coordinates(model, goal), v, a
    q = vector_at(goal, t, nq, "the goal")
    if None in (rates, accelerations) and not model.configuration.shape.additive:
        raise ModelError(
            "joints other than angles and lengths need rates and accelerations beside a goal that is a function of time"
        )
    first, second = (None, None) if None not in (rates, accelerations) else _derivatives(goal, t, nq)
    v = first if rates is None else vector_at(rates, t, n, "rates")
    a = second if accelerations is None else vector_at(accelerations, t, n, "accelerations")
    return q, v, a


def _coordinates(model: Model, goal: Any) -> np.ndarray:
    if goal and isinstance(goal[0], tuple):
        return np.asarray(model.state(joints={name: q if len(q) > 1 else q[0] for name, q in goal}).joints)
    if len(goal) != model.nq - model.base.nq:
        raise ModelError(
            f"the goal must have {model.nq - model.base.nq} coordinates for {model.name!r}, got {len(goal)}"
        )
    return np.array(goal)


def vector_at(x: Any, t: Scalar, size: int, what: str) -> Vector:
    """Numbers, or a function of time that returns them, as an array."""
    found = x(t) if callable(x) else x
    found = array(found) if isinstance(found, (list, tuple)) else simplest_array(found)
    if shape_of(found) != (size,):
        raise ModelError(f"{what} must be {size} numbers at each time, got {describe(found)}")
    if is_numeric(found):
        found = np.asarray(found)
    return found


@lru_cache(maxsize=64)
def _time_derivatives(goal: Callable[[Any], Any], size: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """Time variable, and first and second derivatives of a function of it, as expressions."""
    graph = Graph()
    time = graph.input("t")
    q = vector_at(goal, time, size, "the goal")
    first = jacobian(q, [time])[:, 0]
    return time, first, jacobian(first, [time])[:, 0]


def _derivatives(goal: Callable[[Any], Any], t: Scalar, size: int) -> tuple[Any, Any]:
    time, *slopes = _time_derivatives(goal, size)
    first, second = (simplest_array(substitute(slope, {time: t})) for slope in slopes)
    return first, second
