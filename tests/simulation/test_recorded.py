"""Many motions, each with all its steps: one that chatters stops, and says so, and the others go on."""

from dataclasses import dataclass

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.contact import CompliantFloor
from fallingcat.control import Law
from fallingcat.simulation import Rosenbrock
from fallingcat.simulation.recorded import WITHIN, simulate_many

BODY = fc.robots.free_body(fc.lie.SE2())


@dataclass(frozen=True)
class Flicker(Law):
    """Pulls down what is in the air, and up what touches: what starts there switches for good."""

    name: str = "flicker"

    def forces(self, model, t, state, touching):
        up = np.array([0.0, 60.0 if "body" in touching else -20.0])
        return np.array([*(state.pose[:2, :2].T @ up), 0.0])


class Impatient(CompliantFloor):
    most_events = 500


def at(height, speed=0.0):
    pose = np.eye(4)
    pose[1, 3] = height
    return BODY.state(pose=pose, twist=[0.2, speed, 0.3])


def moved(states, floor=Impatient, duration=0.2, damping=5.0):
    ground = floor(("body",), stiffness=(1e3, 1e3), damping=(damping, damping), normal=(0.0, 1.0, 0.0))
    return simulate_many(BODY, states, duration, [(Flicker(),)] * len(states), ground, rule=Rosenbrock(1e-6), dt=1e-2)


@pytest.fixture(scope="module")
def together():
    """One in the air, one that is on the floor, one thrown up."""
    return moved([at(5.0), at(1e-10), at(3.0, 2.0)])


def test_one_that_chatters_stops_and_the_others_finish(together):
    assert [run.status for run in (together[0], together[2])] == ["finished", "finished"]
    assert together[0].times[-1] == together[2].times[-1] == 0.2
    run, most = together[1], Impatient.most_events
    end = run.times[-1]
    assert run.status == f"stopped after {end:.6g} s: contacts chatter, {most + 1} events within {WITHIN:g} s"
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


@pytest.mark.slow
def test_a_floor_has_more_patience():
    """It lets 17,000 switches a second pass, not 220,000."""
    often, seldom = (moved([at(1e-10)], CompliantFloor, 1.0, damping)[0] for damping in (5e4, 5.0))
    assert f"{CompliantFloor.most_events + 1} events" in often.status
    assert 0.4 < often.times[-1] < 0.6
    assert seldom.status == "finished"
    assert len(seldom.events) > 1.5e4
