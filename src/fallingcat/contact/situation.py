"""What hard contacts need of a robot at a state, whatever the mode: so one kernel serves all modes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..arrays import array, concatenate
from ..dynamics import bias_forces
from ..kernels import compile, fields
from ..model import Model, State
from .points import Plane, plane, point_motions
from .solving import Response, responding


class Situation(NamedTuple):
    """Points in the axes of the plane, its normal first, and how the robot responds to forces.

    A stop is a point that moves along its normal only: its height is the gap of the joint (rad or m).
    """

    state: State
    places: Any
    """``points x 3`` (m): the height over the plane, then along its tangents; a ball rolls, it is nowhere along them"""
    J: Any
    """``points x 3 x nv``"""
    biases: Any
    """``points x 3``: ``dJ/dt v`` (m/s^2)"""
    bias_forces: Any
    """``nv``: ``C v + g``"""
    respond: Response
    """``M^-1``"""
    motions: Any = None
    """``nv x k``: a basis of those that keep loops closed; None: all"""

    def speed(self, i: int) -> Any:
        """The velocity (3, m/s) of a point."""
        return self.J[i] @ self.state.velocity


def situation(
    model: Model, state: State, points: tuple[str, ...], ground: Plane, radii: tuple[float, ...]
) -> Situation:
    """Worked out on any kind of number."""
    motions, offset = point_motions(model, state, points), np.array([ground.height, 0.0, 0.0])
    places, rims = [], [motion.rim(ground.normal, r) for motion, r in zip(motions, radii, strict=True)]
    for motion, radius in zip(motions, radii, strict=True):
        height = array([ground.site(motion.position, radius).height])
        place = ground.axes @ motion.position - offset
        places.append(place if radius == 0.0 else concatenate([height, np.zeros(2)]))
    return Situation(
        state,
        places,
        [ground.axes @ J for J, _ in rims],
        [ground.axes @ bias for _, bias in rims],
        bias_forces(model, state),
        responding(model, state),
    )


def flat_situation(
    model: Model,
    state: State,
    *,
    points: tuple[str, ...],
    normal: tuple[float, ...] | None,
    height: float,
    radii: tuple[float, ...],
) -> Any:
    """``[places; biases; J; C v + g; M^-1]``, flat."""
    at = situation(model, state, points, plane(model, normal, height), radii)
    J = [rows.reshape(-1) for rows in at.J]
    return concatenate([*at.places, *at.biases, *J, at.bias_forces, at.respond(np.eye(model.nv)).reshape(-1)])


@functools.lru_cache(maxsize=8)
def situations(
    model: Model, points: tuple[str, ...], normal: tuple[float, ...] | None, height: float, radii: tuple[float, ...]
) -> Callable[[State], Situation]:
    """:func:`situation` of plain numbers in native code, compiled once for a robot and its points."""
    about: dict[str, Any] = {"points": points, "normal": normal, "height": height, "radii": radii}
    kernel = compile(model, flat_situation, state=State._fields, **about)
    k, nv = len(points), model.nv
    ends = np.cumsum([3 * k, 3 * k, 3 * k * nv, nv]).tolist()

    def at(state: State) -> Situation:
        flat = kernel(*fields(state))
        places, biases, J, bias, inverse = np.split(flat, ends)
        respond = inverse.reshape(nv, nv).__matmul__
        return Situation(state, places.reshape(k, 3), J.reshape(k, 3, nv), biases.reshape(k, 3), bias, respond)

    return at
