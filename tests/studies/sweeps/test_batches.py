"""Hoppers at once: each as if it were alone."""

from __future__ import annotations

import numpy as np
import pytest

from fallingcat.errors import ModelError
from fallingcat.simulation.runner.recorded_runs import record_runs
from fallingcat.studies import kind_of, load, run_study


@pytest.fixture(scope="module")
def study():
    return load("revolute-6").with_parameters({"duration": 1.0})


@pytest.fixture(scope="module")
def many(study):
    changes = [{}, {"theta": -2.6}, {"K_p": 5.0, "D_r": 25.0}, {"g": 9.7}, {"E_des": "initial"}]
    return [study.with_parameters(change) for change in changes]


@pytest.fixture(scope="module")
def together(many):
    return kind_of("hopper").run_many([s.parameters for s in many])


def test_measures_are_those_of_single_runs(study, many, together):
    """Of another code with the same tolerance: other starts, gains, and another gravity, which is another code."""
    for k in (1, 2, 3):
        alone, seen = run_study(many[k]), together[k]
        assert seen.run.status == "finished"
        assert [e.name for e in seen.run.events] == [e.name for e in alone.trajectory.events]
        times = [[e.time for e in run.events] for run in (seen.run, alone.trajectory)]
        np.testing.assert_allclose(*times, rtol=0.0, atol=1e-6)
        for row, table in zip(alone.rows, study.table.row, strict=True):
            ours = float(study.kind.measure(table.measure)(seen))
            if table.measure not in ("ledger_balance", "stationarity"):  # differences of nearly equal numbers
                assert ours == pytest.approx(row.ours, rel=2e-5, abs=2e-6), table.measure
        assert seen.run.energy_residual < 1e-6
        assert seen.run.port_forces["polar spring"].shape == (len(seen.run), 4)


def test_a_run_does_not_depend_on_its_neighbours(many, together):
    """Bit by bit: in another place, alone, and among others that end sooner."""
    other = [many[2], many[4], many[1]]
    for k, seen in zip((2, 4, 1), kind_of("hopper").run_many([s.parameters for s in other]), strict=True):
        for name in ("times", "poses", "joints", "twists", "rates", "memory"):
            assert np.array_equal(getattr(seen.run, name), getattr(together[k].run, name)), (k, name)
        assert np.array_equal(seen.run.ledger.works, together[k].run.ledger.works)


def test_what_cannot_start_says_so_and_the_others_run(study):
    """A start whose numbers overflow stops by name; it is no finished run."""
    wild = study.with_parameters({"vy": 1e200})
    good, bad = kind_of("hopper").run_many([study.parameters, wild.parameters])
    assert good.run.status == "finished"
    assert isinstance(bad, Exception) or bad.run.status.startswith("stopped after")


def test_laws_are_as_many_as_robots(study):
    from fallingcat.studies.hoppers.hopper import Rosenbrock, floor, robot, start

    model = robot(study.parameters)
    states = [start(model, study.parameters)] * 2
    with pytest.raises(ModelError, match="laws of 2 robots are 2 lists"):
        record_runs(model, states, 1.0, [()], floor(study.parameters), rule=Rosenbrock(), dt=5e-3)
