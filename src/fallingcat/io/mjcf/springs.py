"""``springdamper``: springs and dampers that MuJoCo makes of a time constant, a damping ratio and the inertia."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...model import Model
from .at_rest import joints_by_name
from .bodies import BodyPart


def with_springdampers(model: Model, bodies: Sequence[BodyPart], felt: Callable[[str], float]) -> Model:
    """The model with ``damping = 2 m / t`` and ``stiffness = m / (t r)^2`` of joints that say ``t`` (s) and ``r``.

    ``m`` is the inertia that the joint feels as drawn.
    """
    parts, changed = joints_by_name(bodies), dict[str, tuple[float, float]]()
    for joint in model.joints:
        part = parts.get(joint.name)
        if part is not None and part.time_constant and joint.kind.nv == 1:
            m, t, r = felt(joint.name), part.time_constant, part.damping_ratio
            changed[joint.name] = (2.0 * m / t, m / (t * r) ** 2)
    if not changed:
        return model
    joints = [
        replace(j, passive=replace(j.passive, damping=changed[j.name][0], stiffness=changed[j.name][1]))
        if j.name in changed
        else j
        for j in model.joints
    ]
    return replace(model, joints=tuple(joints))
