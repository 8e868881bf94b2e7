"""Many motions, each with all its steps: one that chatters stops, and says so, and the others go on."""

from dataclasses import dataclass

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.arrays import less, where
from fallingcat.contact import CompliantFloor
from fallingcat.control import Law
from fallingcat.simulation import EventLocator, Rosenbrock
from fallingcat.simulation.integrators import event_located as located
from fallingcat.simulation.runner import recorded_runs as recorded
from fallingcat.simulation.runner import run as run_module
from fallingcat.simulation.runner.recorded_runs import CHATTER_TIME, record_runs

BODY = fc.robots.free_body(fc.lie.SE2())


@dataclass(frozen=True)
class Flicker(Law):
    """Pulls down what is in the air, and up what touches: what starts there switches for good."""

    name: str = "flicker"

    def forces(self, model, t, state, touching):
        up = np.array([0.0, 60.0 if "body" in touching else -20.0])
        return np.array([*(state.pose[:2, :2].T @ up), 0.0])


class Impatient(CompliantFloor):
    max_events = 500


def at(height, speed=0.0):
    pose = np.eye(4)
    pose[1, 3] = height
    return BODY.state(pose=pose, twist=[0.2, speed, 0.3])


def moved(states, floor=Impatient, duration=0.2, damping=5.0):
    ground = floor(("body",), stiffness=(1e3, 1e3), damping=(damping, damping), normal=(0.0, 1.0, 0.0))
    return record_runs(BODY, states, duration, [(Flicker(),)] * len(states), ground, rule=Rosenbrock(1e-6), dt=1e-2)


@pytest.fixture(scope="module")
def together():
    """One in the air, one that is on the floor, one thrown up."""
    return moved([at(5.0), at(1e-10), at(3.0, 2.0)])


def test_one_that_chatters_stops_and_the_others_finish(together):
    assert [run.status for run in (together[0], together[2])] == ["finished", "finished"]
    assert together[0].times[-1] == together[2].times[-1] == 0.2
    run, most = together[1], Impatient.max_events
    end = run.times[-1]
    assert run.status == f"stopped after {end:.6g} s: contacts chatter, {most + 1} events within {CHATTER_TIME:g} s"
    assert 0.0 < end < 0.1
    assert len(run.events) == most + 1
    assert run.events[-1].time == end
    assert np.isfinite(run.poses).all()


def test_where_it_stops_does_not_depend_on_the_others(together):
    alone, again = moved([at(1e-10), at(1e-10)], duration=5.0)
    for run in (alone, again):
        assert run.status == together[1].status
        np.testing.assert_array_equal(run.times, together[1].times)
        np.testing.assert_array_equal(run.poses, together[1].poses)


@dataclass(frozen=True)
class Ringing(Law):
    """Shakes what is below 4 m so fast that steps which follow take longer than anybody waits."""

    name: str = "ringing"

    def forces(self, model, t, state, touching):
        return np.array([where(less(state.pose[1, 3], 4.0), 1e3 * np.sin(1e10 * t), 0.0), 0.0, 0.0])


GROUND = CompliantFloor(("body",), (1e3, 1e3), (5.0, 5.0), normal=(0.0, 1.0, 0.0))


def test_one_whose_steps_are_endless_leaves_a_rollout_and_the_others_arrive(monkeypatch):
    """In 10 ms it would take 1e9 steps."""
    monkeypatch.setattr(located, "MAX_EXCESS", 3e4)
    states = [at(5.0 + 0.01 * i) for i in range(20)]
    shaken = [*states[:7], at(3.0), *states[8:]]
    run = fc.rollout(BODY, shaken, 0.01, Ringing(), GROUND)
    words = "because contacts chatter, or steps are endlessly small"
    assert run.status == f"finished, but 1 of 20 simulations stopped, the first {words}"
    assert np.flatnonzero(~run.finite).tolist() == [7]
    others = np.arange(20) != 7
    alone = fc.rollout(BODY, states, 0.01, Ringing(), GROUND)
    assert alone.status == "finished"
    np.testing.assert_array_equal(run.poses[:, others], alone.poses[:, others])
    np.testing.assert_array_equal(run.works[:, others], alone.works[:, others])


def test_robots_with_numbers_of_their_own_go_on_alone():
    """Those who have not arrived are few: each with its own masses, as alone."""
    states, masses = [at(5.0)] * 15 + [at(1e-10)], np.linspace(1.0, 2.0, 16)
    about = {"integrator": EventLocator(Rosenbrock(1e-6)), "dt": 1e-2}
    run = fc.rollout(BODY, states, 0.05, Flicker(), GROUND, parameters={"body.mass": masses}, **about)
    alone = fc.rollout(BODY, states[-1:], 0.05, Flicker(), GROUND, parameters={"body.mass": masses[-1:]}, **about)
    assert run.status == alone.status == "finished"
    np.testing.assert_array_equal(run.poses[-1, -1], alone.poses[-1, 0])


def test_a_motion_whose_steps_are_endless_stops(monkeypatch):
    monkeypatch.setattr(located, "MAX_EXCESS", 3e3)
    monkeypatch.setattr(recorded, "MAX_EXCESS", 3e3)
    floor = CompliantFloor(("body",), (2e3, 1e3), (5.0, 5.0), normal=(0.0, 1.0, 0.0))  # its code is made anew
    laws, states = [(Ringing(),)] * 2, [at(3.0), at(5.0)]
    runs = record_runs(BODY, states, 0.01, laws, floor, rule=Rosenbrock(1e-6), dt=1e-2)
    end = runs[0].times[-1]
    assert runs[0].status == f"stopped after {end:.6g} s: steps are endlessly small"
    assert 0.0 < end < 1e-4
    assert np.isfinite(runs[0].poses).all()
    assert runs[1].status == "finished"
    assert runs[1].times[-1] == 0.01


def test_a_single_run_whose_steps_are_endless_stops(monkeypatch):
    monkeypatch.setattr(run_module, "PROGRESS_STEPS", 500)
    run = fc.simulate(BODY, at(3.0), 0.01, Ringing(), integrator="rosenbrock")
    assert run.status.startswith(f"stopped after {run.times[-1]:.6g} s: steps are endlessly small, 500 of them within")
    assert len(run) == 501


@pytest.mark.slow
def test_a_floor_has_more_patience():
    """It lets 17,000 switches a second pass, not 220,000."""
    often, seldom = (moved([at(1e-10)], CompliantFloor, 1.0, damping)[0] for damping in (5e4, 5.0))
    assert f"{CompliantFloor.max_events + 1} events" in often.status
    assert 0.4 < often.times[-1] < 0.6
    assert seldom.status == "finished"
    assert len(seldom.events) > 1.5e4
