"""States between the samples of a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import concatenate
from ..dynamics import displace
from ..lie import Group
from ..model import Model, State
from .field import seen_ahead


def difference(model: Model, start: State, end: State) -> Any:
    """The tangent vector (nv) that :func:`fallingcat.displace` takes ``start`` to ``end`` with."""
    base = model.base
    parts = [base.log(base.compose(base.inverse(start.pose), end.pose)) if model.m else np.zeros(0)]
    for joint, place in zip(model.joints, model.q_slices, strict=True):
        parts.append(_joint(joint.kind.group, start.joints[place], end.joints[place]))
    return concatenate(parts)


def _joint(group: Group, q: Any, p: Any) -> Any:
    if group.nq == group.dim and not np.any(group.ad(np.ones(group.dim))):
        return p - q
    return group.log(group.compose(group.inverse(group.element(q)), group.element(p)))


def interpolate(model: Model, start: State, end: State, dt: float, s: float) -> State:
    """The state at the fraction ``s`` of a step of ``dt`` (s).

    A cubic in exponential coordinates that has the velocities of both ends; of order 4.
    """
    x = difference(model, start, end)
    v, w = np.asarray(start.velocity), np.asarray(seen_ahead(model, end.velocity, x))
    cubic = s * s * (3.0 - 2.0 * s) * x + dt * s * (1.0 - s) * ((1.0 - s) * v - s * w)
    velocity = (1.0 - s) * v + s * np.asarray(end.velocity)
    return displace(model, start, cubic)._replace(twist=velocity[: model.m], rates=velocity[model.m :])
