"""Robots that fall 5 cm, limp: a task of `robot_files.py`.

All collision shapes touch the ground, and every number is the default.  A run counts as good if it ends as `finished`,
without a remark, and if no joint goes further beyond its limits than 0.1 (rad or m).  One that is `sensitive`, and good
otherwise, has an end that no steps make certain: its own warning says how much a change of the start grows.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

Outcome = dict[str, Any]
HEIGHT, DURATION, BEYOND = 0.05, 1.0, 0.1


def drop_compliant(path: str, options: dict[str, Any]) -> Outcome:
    """One robot on compliant ground, for 1 s."""
    import fallingcat as fc

    return drop(path, options, fc.contact.CompliantFloor())


def drop_hard(path: str, options: dict[str, Any]) -> Outcome:
    """One robot on hard ground, for 1 s."""
    import fallingcat as fc

    return drop(path, options, fc.contact.HardContacts())


def drop(path: str, options: dict[str, Any], floor: Any) -> Outcome:
    """One robot on a floor."""
    from fallingcat.io import read

    model, _ = read(path, **options)
    if model.m != 6 or model.kinematic or not any(link.collisions for link in model.links):
        return {"ok": False, "rule": "not dropped: no free base with a shape that touches", "named": [], "message": ""}
    return {"ok": True, "nv": model.nv, **dropped(model, floor)}


def dropped(model: Any, floor: Any) -> Outcome:
    """How a fall ends: `good` or why not."""
    import fallingcat as fc

    start = time.process_time()
    try:
        on_it, ground = floor.on_robot(model)
        state = ground.place(on_it, on_it.neutral())
        q, v = on_it.flatten(state)
        q[2] += HEIGHT
        run = fc.simulate(model, model.unflatten(q, v), DURATION, contact=floor)
    except fc.FallingCatError as error:
        return {"good": False, "status": str(error), "seconds": time.process_time() - start}
    out = excess(model, run)
    kinds = {warning.kind for warning in run.warnings}
    sound = run.code is fc.simulation.StatusCode.FINISHED and out <= BEYOND
    return {
        "good": sound and not kinds,
        "sensitive": sound and kinds == {fc.simulation.DiagnosticKind.SENSITIVE},
        "status": run.status,
        "beyond": out,
        "points": len(ground.points),
        "seconds": time.process_time() - start,
    }


def excess(model: Any, run: Any) -> float:
    """How far (rad, m) the worst joint goes beyond its limits."""
    worst = 0.0
    for joint, columns in zip(model.joints, model.q_slices, strict=True):
        if joint.kind.nv == 1 and joint.mimic is None:
            q = np.array([run.state(i).joints[columns] for i in range(0, len(run.times), 5)])
            worst = max(worst, float(np.max(q - joint.limits.upper)), float(np.max(joint.limits.lower - q)))
    return worst
