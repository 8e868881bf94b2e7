"""The trotting example keeps its speed, its height and its torque limits."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import fallingcat as fc

EXAMPLE = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "walking" / "trot.py"))


@pytest.mark.slow
@pytest.mark.parametrize("speed", [0.4, 1.0, 1.5])
def test_a_quadruped_trots(speed):
    run = EXAMPLE["trot"](speed, duration=3.0)
    last = run.times > 2.0
    assert run.code is fc.simulation.StatusCode.FINISHED
    # feet that touch down a step later: the estimate of sampled runs is about its threshold of 5 % at these steps
    assert {warning.kind for warning in run.warnings} <= {fc.simulation.DiagnosticKind.STEP_ERROR}
    assert abs(np.polyfit(run.times[last], run.poses[last, 0, 3], 1)[0] - speed) < 0.05 * speed  # m/s
    assert run.poses[:, 2, 3].min() > 0.28  # m
    assert np.abs(run.port_forces["controller"][:, 6:]).max() <= 30.0 + 1e-9  # N m


def test_a_swinging_foot_rests_at_both_ends():
    start, end = np.array([0.0, 0.1, 0.0]), np.array([0.2, 0.1, 0.0])
    for s, place in ((0.0, start), (1.0, end)):
        found = EXAMPLE["swing"](start, end, s)
        np.testing.assert_allclose(found[0], place, atol=1e-15)
        np.testing.assert_allclose(found[1], 0.0, atol=1e-15)
    h, (_, rate, acceleration) = 1e-6, EXAMPLE["swing"](start, end, 0.3)
    (lower, slow, _), (upper, fast, _) = (EXAMPLE["swing"](start, end, 0.3 + d) for d in (-h, h))
    np.testing.assert_allclose((upper - lower) / (2 * h * EXAMPLE["STANCE"]), rate, atol=1e-6)
    np.testing.assert_allclose((fast - slow) / (2 * h * EXAMPLE["STANCE"]), acceleration, atol=1e-4)
