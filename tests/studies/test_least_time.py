"""The cat that turns over in the least time: its torques alone turn it, and every limit holds."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.lie.rotations import log
from fallingcat.model import robots
from fallingcat.planning import Planner, bendings, displacement, fastest_bending
from fallingcat.studies import run
from fallingcat.studies.experiments.least_time import UPWARD, beginnings, simulate_fall

pytest.importorskip("casadi")


@pytest.fixture(scope="module")
def plan():
    bending, plan = fastest_bending(bendings(robots.cat()), np.pi, UPWARD)
    return Planner(bending.model, bending.first, bending.second, bending.tuck), plan


def test_starts_differ_and_end_at_rest_as_the_plan(plan):
    planner, manoeuvre = plan
    starts = [start for start, _ in zip(beginnings(planner, manoeuvre, 12), range(5), strict=False)]
    ends = manoeuvre.curve([0.0, 1.0]).q
    for start in starts:
        jet = start([0.0, 1.0])
        assert np.allclose(jet.q, ends, atol=1e-12)
        assert np.allclose(jet.dq, 0.0, atol=1e-12)
    halves = np.array([start(0.4).q[0] for start in starts])
    assert all(np.abs(a - b).max() > 0.05 for i, a in enumerate(halves) for b in halves[:i])


def test_torques_alone_make_a_fall_that_ends_upright(plan):
    """The planned manoeuvre in its shortest time, open loop: an error of second order in the step."""
    planner, manoeuvre = plan
    gait = manoeuvre.gait(manoeuvre.shortest)
    assert np.allclose(displacement(planner.model, gait).pose, manoeuvre.pose, atol=1e-9)
    missed = []
    for steps in (128, 256):
        fall = simulate_fall(planner.model, manoeuvre.pose, gait, steps)
        assert fall.code is fc.simulation.StatusCode.FINISHED  # its warning says how far off: by 190 and 44 mrad
        assert np.abs(fall.momenta("centroidal")[:, 3:]).max() < 1e-12
        missed.append(np.linalg.norm(log(fall.poses[-1, :3, :3])))
    assert missed[1] < missed[0] / 3.5
    assert missed[1] < 0.02


@pytest.mark.slow
def test_the_study_holds():
    result = run("least-time-cat")
    assert result.holds
    assert result.row("least time found").ours < 0.31
    assert result.row("time of the planned manoeuvre").ours == pytest.approx(0.4623, abs=1e-4)
    assert result.row("angular momentum").ours < 1e-10
    seen = result.observed
    assert seen.least_time.refined[1][1] < seen.least_time.refined[0][1]
    html = result.page().html()
    for words in ("Which limits bind", "Where starts lead to", "Time over the number of intervals", "spine_arch"):
        assert words in html


@pytest.mark.slow
def test_all_joints_are_quicker_still():
    whole = run("least-time-cat", joints="all", starts=1, doublings=0)
    assert whole.observed.model.n == 10
    assert whole.row("angular momentum").ours < 1e-10
    assert whole.row("least time found").ours < 0.29
    assert whole.row("beyond a limit, at most").holds
