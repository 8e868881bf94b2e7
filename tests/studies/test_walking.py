"""Walks as studies: measures of a motion that is known, and what the studies promise."""

from types import SimpleNamespace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.errors import ModelError
from fallingcat.studies import kind_of, run
from fallingcat.studies.experiments.walking import WalkingParameters, WalkingResult


def test_velocity_is_along_the_heading():
    """A base on a circle: forward speed is that of the circle, whichever way it looks."""
    t = np.linspace(0.0, 2.0, 401)
    angle = 0.5 * t
    poses = np.tile(np.eye(4), (len(t), 1, 1))
    poses[:, 0, 0], poses[:, 1, 0] = np.cos(angle), np.sin(angle)
    poses[:, 0, 3], poses[:, 1, 3] = 3.0 * np.sin(angle), 3.0 - 3.0 * np.cos(angle)
    seen = WalkingResult(SimpleNamespace(times=t, poses=poses), 1.0)
    np.testing.assert_allclose(seen.velocity, [1.5, 0.0], atol=1e-2)
    np.testing.assert_allclose(kind_of("walking").measure("turning")(seen), 0.5)


def test_the_power_of_the_drives_is_that_of_the_ledger():
    """Integral of torques times rates against the work that the simulation records."""
    kind = kind_of("walking")
    seen = kind.run(WalkingParameters(duration=0.6, begin=0.1), lambda what, share: None)
    since = seen.since
    mean = np.trapezoid(seen.powers[since].sum(axis=1), seen.run.times[since]) / seen.duration
    scale = np.abs(seen.powers[since]).sum(axis=1).mean()
    np.testing.assert_allclose(mean, seen.net_power, atol=0.05 * scale)
    weight, way = seen.run.model.mass * 9.81, np.linalg.norm(seen.velocity) * seen.duration
    np.testing.assert_allclose(seen.transport * weight * way, scale * seen.duration, rtol=0.02)


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"robot": "humanoid", "controller": "predictive"}, "walks on point feet"),
        ({"duration": 2.0, "begin": 2.0}, "begin must be below duration, 2 s, got 2 s"),
    ],
)
def test_bad_walks_are_named(about, message):
    with pytest.raises(ModelError, match=message):
        kind_of("walking").run(WalkingParameters(**about), lambda what, share: None)
    assert isinstance(WalkingParameters(), fc.studies.Parameters)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["trot", "trot-predictive", "humanoid-walk"])
def test_walks_hold_what_they_promise(name, tmp_path):
    result = run(name)
    assert result.holds, [(row.name, row.ours) for row in result.rows if row.holds is False]
    assert 0.2 < result.row("cost of transport").ours < 1.5
    assert "timeline" in result.page().write(tmp_path / f"{name}.html").read_text()
