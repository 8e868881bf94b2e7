"""The examples that learn: shorter versions of them, and that they say the same every time."""

import runpy
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parents[1] / "examples" / "learning"
EXAMPLE = runpy.run_path(str(FOLDER / "hop_forward.py"))


def test_a_hopper_learns_to_hop_forward():
    gains, curve = EXAMPLE["learn"](iterations=8, horizon=2.0, tell=False)
    again, _ = EXAMPLE["learn"](iterations=2, horizon=2.0, tell=False)
    first = EXAMPLE["learn"](iterations=2, horizon=2.0, tell=False)[0]
    assert curve[0] < 1.0  # it falls
    assert max(curve) > 3.0  # it hops
    np.testing.assert_array_equal(again, first)
    world = EXAMPLE["environment"](1, 2.0)
    seen, _ = world.reset(seed=0)
    lifted, touched = 0, True
    for _ in range(200):
        seen, _, terminations, _, _ = world.step(EXAMPLE["policy"](gains[None], seen))
        if terminations[0]:
            break
        lifted += bool(touched and seen[0, -1] > 0.0)
        touched = bool(seen[0, -1] < 0.0)
    assert lifted >= 2
    assert world.simulator.state.pose[0, 0, 3] > 0.5


def test_an_arm_learns_its_masses(tmp_path):
    """Bodies that cannot exist stop the example itself."""
    made = runpy.run_path(str(FOLDER / "identify.py"))["page"](samples=(10, 40))
    (chart,) = made.blocks
    few, many = chart.lines[0].values
    assert many < 1.0 < few  # percent of the largest base parameter
    assert made.write(tmp_path / "page.html").stat().st_size > 10_000
