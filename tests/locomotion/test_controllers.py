"""Walking controllers in simulation."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose

import fallingcat as fc
from fallingcat import locomotion as loco
from fallingcat.errors import ModelError, NumericsError
from tests.support.walking_robots import (
    BENT,
    DOG,
    FEET,
    GROUND,
    g1,
    humanoid,
    humanoid_run,
    in_heading,
    largest_tilt,
    talos,
    walked,
)


def test_a_quadruped_trots_and_turns():
    run = walked(loco.VelocityCommand(0.5, 0.1, 0.6), 1.8)
    velocity, turning = in_heading(run, 0.8)
    assert_allclose(velocity, [0.5, 0.1], atol=0.04)
    assert_allclose(turning, 0.6, atol=0.03)
    assert largest_tilt(run) < 3.0
    assert np.abs(run.port_forces["controller"][:, 6:]).max() <= 30.0 + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("speed", [-0.5, 1.0, 1.5])
def test_a_quadruped_trots_at_the_wanted_speed(speed):
    run = walked(loco.VelocityCommand(speed), 4.0)
    assert_allclose(in_heading(run, 2.0)[0], [speed, 0.0], atol=0.03)
    assert largest_tilt(run) < 3.0


@pytest.mark.slow
@pytest.mark.parametrize("direction", [(0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (-1.0, 0.0, 0.0)])
def test_a_quadruped_recovers_from_pushes(direction):
    """40 N s in five pushes, 0.4 s apart."""
    force = tuple(80.0 * x for x in direction)
    pushes = [fc.control.Push("trunk", force, start=1.5 + 0.4 * k, duration=0.1, name=f"push {k}") for k in range(5)]
    run = walked(loco.VelocityCommand(0.5), 6.0, pushes)
    assert_allclose(in_heading(run, 4.5)[0], [0.5, 0.0], atol=0.03)
    assert largest_tilt(run) < 10.0


@pytest.mark.slow
def test_a_four_beat_walk():
    run = walked(loco.VelocityCommand(0.3), 4.0, schedule=loco.walk())
    assert_allclose(in_heading(run, 2.0)[0], [0.3, 0.0], atol=0.02)


def test_a_pace_sways_above_its_feet():
    run = walked(loco.VelocityCommand(0.3), 2.0, schedule=loco.pace())
    assert_allclose(in_heading(run, 1.4)[0], [0.3, 0.0], atol=0.05)
    assert largest_tilt(run) < 3.0
    wide = np.abs(fc.link_pose(DOG, run.state(0), FEET[0])[1, 3])
    assert np.abs(fc.link_pose(DOG, run.state(-1), FEET[0])[1, 3] - run.poses[-1, 1, 3]) < 0.8 * wide


@pytest.mark.slow
@pytest.mark.parametrize("gait", [loco.pace, loco.bound, loco.gallop])
@pytest.mark.parametrize("command", [(0.6, 0.0, 0.0), (0.3, 0.1, 0.3)])
def test_gaits_beside_the_trunk_do_not_fall(gait, command):
    run = walked(loco.VelocityCommand(*command), 6.0, schedule=gait())
    velocity, turning = in_heading(run, 3.0)
    assert_allclose(velocity, command[:2], atol=0.06)
    assert_allclose(turning, command[2], atol=0.03)
    assert largest_tilt(run) < 12.0


def test_commands_have_no_effect_where_no_foot_moves():
    """The trunk went with the command until it fell."""
    run = walked(lambda t: loco.VelocityCommand(0.3), 1.0, schedule=loco.stand())
    assert np.abs(run.poses[-1, :3, 3] - run.poses[0, :3, 3]).max() < 0.01
    with pytest.raises(ModelError, match=r"under stand\(\) no foot moves: the command must be zero"):
        loco.QuadrupedWalk(DOG, FEET, BENT, loco.stand()).compile(loco.VelocityCommand(0.3))


@pytest.mark.slow
@pytest.mark.parametrize("who", [g1, talos])
@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("command", [(0.3, 0.0, 0.0), (0.3, 0.0, 0.3), (0.0, 0.15, 0.0)])
def test_humanoids_of_files_walk_twenty_steps(who, hard, command):
    run = humanoid_run(loco.VelocityCommand(*command), 14.5, hard, who)
    velocity, turning = in_heading(run, 4.0)
    assert_allclose(velocity, command[:2], atol=0.05)
    assert_allclose(turning, command[2], atol=0.02)
    assert largest_tilt(run) < 5.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "duration"), [((0.3, 0.0, 0.0), 14.5), ((0.3, 0.0, 0.3), 14.5), ((0.0, 0.1, 0.0), 14.5)]
)
def test_a_humanoid_walks_twenty_steps(command, duration):
    run = humanoid_run(loco.VelocityCommand(*command), duration)
    velocity, turning = in_heading(run, 4.0)
    assert_allclose(velocity, command[:2], atol=0.05)
    assert_allclose(turning, command[2], atol=0.05)
    assert largest_tilt(run) < 10.0


# the loop ---------------------------------------------------------------------------------------------------------


def test_the_first_tick_and_an_earlier_one_begin_anew():
    loop = loco.QuadrupedWalk(DOG, FEET, BENT).compile(loco.VelocityCommand(0.5))
    q, v = DOG.flatten(DOG.standing(GROUND, BENT))
    first = loop(q, v, 0.0)
    for k in range(1, 40):
        later = loop(q, v, 0.01 * k)
    other = copy.copy(loop)
    assert_allclose(other(q, v, 0.4), loop(q, v, 0.4), atol=0.0)
    assert np.abs(later - first).max() > 1e-3
    assert_allclose(loop(q, v, 0.0), first, atol=1e-7)  # what limits were active is remembered, not more


def test_many_robots_walk_as_one():
    walk = loco.QuadrupedWalk(DOG, FEET, BENT)
    loop = walk.compile(loco.VelocityCommand(0.5, turning=0.3))
    starts = [DOG.standing(GROUND, BENT), DOG.standing(GROUND, BENT)._replace(rates=0.3 * np.ones(12))]
    alone = [copy.copy(loop) for _ in starts]
    states = fc.State(*(np.stack(parts) for parts in zip(*starts, strict=True)))
    for k in range(30):
        batch_forces = loop.batch_forces(0.01 * k, states)
        expected = [one(*DOG.flatten(start), 0.01 * k) for one, start in zip(alone, starts, strict=True)]
        assert_allclose(batch_forces, expected, atol=1e-7)


def test_commands_may_depend_on_time():
    loop = loco.QuadrupedWalk(DOG, FEET, BENT).compile(lambda t: loco.VelocityCommand(0.5 if t < 1.0 else 0.0))
    q, v = DOG.flatten(DOG.standing(GROUND, BENT))
    loop(q, v, 0.0)
    loop.command = lambda t: 0.5
    with pytest.raises(NumericsError, match=r"command at t = 0.1 s must be a VelocityCommand, got"):
        loop(q, v, 0.1)
    with pytest.raises(ModelError, match="command must be a VelocityCommand or a function of time, got"):
        loop.command = [0.5, 0.0, 0.0]


def test_a_tick_that_fails_leaves_the_walk_as_it_was():
    """A NaN measured once stayed in the memory: every later tick failed."""
    loop = loco.QuadrupedWalk(DOG, FEET, BENT).compile(loco.VelocityCommand(0.5))
    q, v = DOG.flatten(DOG.standing(GROUND, BENT))
    loop(q, v, 0.0)
    other, bad = copy.copy(loop), q.copy()
    bad[9] = np.nan
    with pytest.raises(NumericsError, match=r"q\[9\] of 'quadruped' is not finite"):
        loop(bad, v, 0.002)
    with pytest.raises(NumericsError, match=r"time of a tick must be a finite number \(s\), got nan"):
        loop(q, v, np.nan)
    assert_allclose(loop(q, v, 0.004), other(q, v, 0.004), atol=1e-7)


def test_the_mask_follows_the_schedule():
    loop = loco.QuadrupedWalk(DOG, FEET, BENT).compile()
    q, v = DOG.flatten(DOG.standing(GROUND, BENT))
    for t in (0.0, 0.1, 0.25, 0.39):
        loop(q, v, t)
        assert_allclose(loop.contacts, loco.trot().contacts(t))
        assert_allclose(loop.found.forces[loop.contacts == 0.0], 0.0, atol=1e-9)


def test_bad_input_is_named():
    with pytest.raises(ModelError, match="'paw'"):
        loco.QuadrupedWalk(DOG, [*FEET[:3], "paw"], BENT)
    with pytest.raises(ModelError, match="a schedule of 2 feet does not fit 4 feet"):
        loco.QuadrupedWalk(DOG, FEET, BENT, loco.biped_walk())
    with pytest.raises(ModelError, match="schedule must be a Schedule, such as trot"):
        loco.QuadrupedWalk(DOG, FEET, BENT, "trot")
    with pytest.raises(ModelError, match="feet must be a list of names"):
        loco.QuadrupedWalk(DOG, "foot", BENT)
    with pytest.raises(ModelError, match="joints"):
        loco.QuadrupedWalk(DOG, FEET, BENT[:5])
    with pytest.raises(ModelError, match=r"posture of joint 'front_left_hip' must be within its limits \[-1.5, 2.5\]"):
        loco.QuadrupedWalk(DOG, FEET, (0.0, 9.0, -1.4) * 4)
    for name, value in (("friction", -1.0), ("gain", np.nan), ("rounds", 0), ("terrain", 0.1), ("clearance", 0.0)):
        with pytest.raises(ModelError, match=name):
            loco.QuadrupedWalk(DOG, FEET, BENT, **{name: value})
    with pytest.raises(ModelError, match=r"a walking robot needs a free base \(SE\(3\)\)"):
        loco.QuadrupedWalk(fc.robots.planar_arm(), ["end_effector"], [0.0] * 3, loco.stand(1))
    robot, contacts, posture = humanoid()
    with pytest.raises(ModelError, match="a humanoid walks on two soles with double support"):
        loco.HumanoidWalk(robot, ("left_sole", "right_sole"), contacts, posture, loco.stand(2))
    with pytest.raises(ModelError, match="contacts must be the points of both soles"):
        loco.HumanoidWalk(robot, ("left_sole", "right_sole"), contacts[:1], posture)
    with pytest.raises(ModelError, match="the first sole must be left of the second"):
        loco.HumanoidWalk(robot, ("right_sole", "left_sole"), contacts[::-1], posture)
