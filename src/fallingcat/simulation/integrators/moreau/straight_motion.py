"""Floating bodies in axes that do not turn within a step: so that their linear momentum is conserved exactly.

The twist ``[v; w]`` of a floating base or a free joint is in axes that turn with the body.  A step of ``dv/dt`` in such
axes errs by ``dt w x (w x v) / 2``: a ball that rolls would speed up.  So steps find the velocity in the axes of their
start, where ``d(R v)/dt = R (dv/dt + w x v)``, and turn it with the body at their end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....arrays import concatenate, cross, scale
from ....lie import SE3
from ....lie.rotations import exp, left_jacobian_inverse
from ....model import Model


def turning(model: Model, velocity: Any) -> Any:
    """``nv``: acceleration of what floats at a velocity that is constant in the world, ``-w x v``."""
    return _of_floating(model, 0.0 * velocity, velocity, lambda v, w: [cross(v, w), np.zeros(3)])


def turned(model: Model, velocity: Any, dt: Any) -> Any:
    """``nv``: a velocity in the axes of the start of a step, in those of its end."""
    return _of_floating(model, velocity, velocity, lambda v, w: [exp(scale(-dt, w)) @ v, w])


def straight(model: Model, velocity: Any, dt: Any) -> Any:
    """``nv``: displacement along a velocity that is constant in the world."""
    way = scale(dt, velocity)
    return _of_floating(model, way, way, lambda v, w: [left_jacobian_inverse(w) @ v, w])


def _of_floating(model: Model, others: Any, x: Any, function: Any) -> Any:
    """``function`` of linear and angular parts of ``x`` (nv) of what floats, and ``others`` (nv) elsewhere."""
    parts, end = [], 0
    for start in _starts(model):
        parts += [others[end:start], *function(x[start : start + 3], x[start + 3 : start + 6])]
        end = start + 6
    return concatenate([*parts, others[end:]])


def _starts(model: Model) -> list[int]:
    """Places of twists of what floats: the base, and free joints."""
    joints = zip(model.joints, model.v_slices, strict=True)
    free = [model.m + v.start for joint, v in joints if isinstance(joint.kind.group, SE3)]
    return [0, *free] if isinstance(model.base, SE3) else free
