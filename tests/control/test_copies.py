"""Loops are pickled and copied as what they are made of, with what they remember: each has a memory of its own."""

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from spawned import answered, interrupts

import fallingcat as fc
from fallingcat.contact import WrenchCone
from fallingcat.control import (
    InverseKinematics,
    JointsTask,
    PoseTask,
    PositionTask,
    SampledController,
    Stance,
    WholeBody,
)
from fallingcat.control.whole_body.stance_problem import StanceSetup

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
    with pytest.raises(fc.NumericsError, match="at most 1 s after the last tick"):
        again(loop)(*HERE, 2.0)


def test_sampled_loops_and_recipes_are_pickled(loop):
    servo = AGAIN["pickle"](SampledController(loop, rate=100.0))
    np.testing.assert_array_equal(servo.controller(*HERE), loop(*HERE))
    walker = fc.robots.humanoid()
    feet = [WrenchCone(f"{side}_sole", (-0.06, 0.14), (-0.05, 0.05)) for side in ("left", "right")]
    tasks = [[JointsTask(walker.neutral().joints)]]
    setup = StanceSetup(((tasks[0][0].form,),), tuple(feet), (), 0.02)
    assert AGAIN["pickle"](setup) == setup
    assert AGAIN["pickle"](Stance(walker, tasks, feet)).feet == feet


@pytest.mark.parametrize("again", AGAIN.values(), ids=AGAIN)
def test_inverse_kinematics_has_a_memory_of_its_own(again):
    """Here or in another process, with the same rules."""
    first = InverseKinematics(ARM, [PositionTask("end_effector")], tolerance=1e-9, restarts=3, seed=5)
    start = ARM.state(joints=[0.1, 0.2, 0.3])
    one, two = [1.5, 0.0, 2.0], [1.2, 0.3, 2.0]
    here, there = first(start, one), first(start, two)
    assert np.abs(here.state.joints - there.state.joints).max() > 0.05
    other = again(first)
    assert other is not first
    np.testing.assert_array_equal(other(start, one).state.joints, here.state.joints)
    np.testing.assert_array_equal(first(start, two).state.joints, there.state.joints)
    np.testing.assert_array_equal(other(start, two).state.joints, there.state.joints)
    assert other._made_of[1] == first._made_of[1]
    levels = InverseKinematics(ARM, [[PositionTask("end_effector")], [PoseTask("end_effector")]], joint_limits=False)
    np.testing.assert_array_equal(
        again(levels)(start, one, np.eye(4)).state.joints, levels(start, one, np.eye(4)).state.joints
    )


@pytest.mark.parametrize("again", AGAIN.values(), ids=AGAIN)
def test_an_interrupt_keeps_its_result(again):
    stop = again(fc.errors.Interrupted("interrupted at t = 0.25 s", [1, 2]))
    assert isinstance(stop, KeyboardInterrupt)
    assert (str(stop), stop.result) == ("interrupted at t = 0.25 s", [1, 2])


def test_spawned_workers_take_them(loop):
    """Loops, inverse kinematics, kernels of JAX, and interrupts on their way back."""
    jax = pytest.importorskip("jax")
    start = ARM.state(joints=[0.1, 0.2, 0.3])
    humanoid = fc.robots.humanoid()
    balance = WholeBody(
        humanoid, [[JointsTask(humanoid.neutral().joints, gain=20.0)]], contacts=["left_sole", "right_sole"]
    ).compile()
    things = [
        (loop, HERE),
        (balance, humanoid.flatten(humanoid.neutral())),
        (InverseKinematics(ARM, [PositionTask("end_effector")]), (start, [1.5, 0.0, 2.0])),
        (fc.compile(ARM, fc.mass_matrix, target="jax"), (start,)),
        (fc.compile(ARM, fc.mass_matrix), (start,)),
    ]
    del jax
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        for thing, arguments in things:
            np.testing.assert_array_equal(pool.submit(answered, thing, arguments).result(), answered(thing, arguments))
        with pytest.raises(fc.errors.Interrupted, match=r"t = 0\.25 s") as stop:
            pool.submit(interrupts, [1.0]).result()
        assert stop.value.result == [1.0]
