"""Loops are pickled and copied as what they are made of, with what they remember: each has a memory of its own."""

import copy
import pickle

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.contact import Sole
from fallingcat.control import JointsTask, PositionTask, Sampled, Stance, WholeBody
from fallingcat.control.stance_problem import StanceSetup

ARM = fc.robots.planar_arm()
REACH = PositionTask("end_effector", [1.0, 0.0, 2.0], gain=5.0)
HERE, THERE = (ARM.flatten(ARM.state(joints=joints)) for joints in ([0.3, 0.4, 0.5], [0.3, -0.4, 0.8]))
AGAIN = {"pickle": lambda x: pickle.loads(pickle.dumps(x)), "deepcopy": copy.deepcopy, "copy": copy.copy}


@pytest.fixture
def loop():
    return WholeBody(ARM, [[REACH], [JointsTask(np.zeros(3))]], late=1.0).compile()


@pytest.mark.parametrize("again", AGAIN.values(), ids=AGAIN)
def test_a_copy_of_a_loop_is_a_loop_of_its_own(loop, again):
    here, there = loop(*HERE).copy(), loop(*THERE).copy()
    other = again(loop)
    np.testing.assert_array_equal(other.found.acceleration, loop.found.acceleration)  # it remembers the last tick
    np.testing.assert_array_equal(other(*HERE), here)
    np.testing.assert_array_equal(loop.found.torques, there)  # and has not touched the memory of the first
    other.change(REACH, goal=[1.2, 0.0, 2.0])
    assert np.abs(other(*HERE) - here).max() > 1.0
    np.testing.assert_array_equal(loop(*HERE), here)


@pytest.mark.parametrize("again", AGAIN.values(), ids=AGAIN)
def test_changed_goals_and_the_time_of_the_last_tick_are_kept(loop, again):
    loop.change(REACH, goal=[1.2, 0.0, 2.0])
    torques = loop(*HERE, 0.5).copy()
    other = again(loop)
    np.testing.assert_array_equal(other(*HERE, 0.6), torques)
    with pytest.raises(fc.NumericsError, match="not within 1 s"):
        again(loop)(*HERE, 2.0)


def test_sampled_loops_and_recipes_are_pickled(loop):
    servo = AGAIN["pickle"](Sampled(loop, rate=100.0))
    np.testing.assert_array_equal(servo.controller(*HERE), loop(*HERE))
    walker = fc.robots.humanoid()
    feet = [Sole(f"{side}_sole", (-0.06, 0.14), (-0.05, 0.05)) for side in ("left", "right")]
    tasks = [[JointsTask(walker.neutral().joints)]]
    setup = StanceSetup(((tasks[0][0].form,),), tuple(feet), (), 0.02)
    assert AGAIN["pickle"](setup) == setup
    assert AGAIN["pickle"](Stance(walker, tasks, feet)).feet == feet
