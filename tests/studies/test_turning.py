"""The study that turns a spacecraft: pace within limits, and the whole of it, which is slow."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.planning import Fourier
from fallingcat.planning.gaits.shape_forces import shape_forces
from fallingcat.planning.reorientation.closed_gaits import Reorientation
from fallingcat.studies import run
from fallingcat.studies.experiments.turning import time_parametrization


def test_the_pace_is_the_fastest_within_limits():
    """Against inverse dynamics of the whole robot along the motion."""
    cat = fc.robots.two_cylinder_cat()
    gait = Fourier(np.zeros(2), np.array([[0.4, 0.0]]), np.array([[0.0, 0.4]]))
    plan = Reorientation(gait, 3, np.zeros(3), None, 0.0, 0.4)
    for limits in ((1.0, 1e3), (1e3, 0.05)):
        motion = time_parametrization(cat, plan, *limits)
        rates, torques = [], []
        for t in np.linspace(0.0, motion.duration, 160):
            wanted = motion(t)
            state = cat.state(joints=wanted.joints, rates=wanted.rates)
            state = state._replace(twist=-fc.connection(cat, state) @ wanted.rates)
            rates.append(np.abs(wanted.rates).max())
            torques.append(np.abs(shape_forces(cat, state, wanted.accelerations)).max())
        reached = [max(rates) / limits[0], max(torques) / limits[1]]
        assert max(reached) == pytest.approx(1.0, abs=2e-2)


@pytest.mark.slow
def test_the_study_holds(tmp_path):
    result = run("orbital-turn", turn=[0.0, 0.0, -20.0])
    assert result.holds
    assert result.row("fastest joint").ours <= 60.0 + 1e-3
    assert result.row("largest torque").ours <= 5.0
    assert result.row("least effort near it for the same turn").ours < result.row("effort of the paper's circle").ours
    assert result.page().write(tmp_path / "page.html")
