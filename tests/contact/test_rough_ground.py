"""The example of rough ground, and what stands on it."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np

import fallingcat as fc

EXAMPLE = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "contact" / "rough_ground.py"))


def test_a_dog_stands_on_rough_ground_with_its_weight() -> None:
    run = EXAMPLE["land"](duration=1.2)
    weight = 9.81 * run.model.mass
    assert run.status == "finished"
    assert run.touching[-1] == set(EXAMPLE["FEET"])
    np.testing.assert_allclose(run.contact_forces[-1].sum(axis=0), [0.0, 0.0, weight], atol=0.05 * weight)
    terrain = run.problem.contact.terrain
    for i, foot in enumerate(EXAMPLE["FEET"]):
        p = fc.contact.position(run.model, run.state(-1), foot)
        at = terrain.slopes(p[0], p[1])
        up = 1.0 / np.sqrt(1.0 + at.x**2 + at.y**2)
        straight = (p[2] - at.h) * up - EXAMPLE["RADIUS"]
        assert abs(run.penetration[-1, i] + straight) < 2e-4  # the nearest place is close to the one straight below
        drag = run.contact_forces[-1, i] - run.contact_pushes[-1, i] * up * np.array([-at.x, -at.y, 1.0])
        assert np.linalg.norm(drag) <= 0.8 * run.contact_pushes[-1, i] * 1.01
