"""Runs of robots with closed loops: they stay closed, keep their energy, and move as fewer coordinates do."""

from dataclasses import replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.control import JointDamper
from fallingcat.simulation import BatchSimulator

ARM = fc.robots.planar_arm()


def four_bar():
    """The planar arm, whose last link is pinned to the world where it is."""
    state = ARM.state(joints=[0.4, 0.9, 0.8])
    H = fc.forward_kinematics(ARM, state)[ARM.link_names[-1]]
    pin = fc.model.Pin("hinge", ARM.link_names[-1], None, (0.3, 0.0, 0.0), tuple((H @ [0.3, 0.0, 0.0, 1.0])[:3]))
    model = ARM.close_loops(pin)
    moving = model.state(pose=state.pose, joints=state.joints, rates=[1.0, 0.0, 0.0])
    return model, fc.constraints.assemble(model, moving, held=[ARM.joint_names[0]])


def test_a_four_bar_stays_closed_and_keeps_its_energy():
    model, start = four_bar()
    gaps = []
    for dt in (4e-3, 2e-3, 1e-3):
        run = fc.simulate(model, start, 1.0, integrator="rkmk4", dt=dt)
        assert run.status == "finished"
        assert run.ledger.ports == ("loops",)
        energy = sum(run.energies())
        gaps.append(np.abs(energy - energy[0]).max())
    assert run.loop_errors().max() < 1e-8
    assert run.energy_residual < 1e-9
    assert np.abs(run.ledger.work("loops")).max() < 1e-7  # forces in loops do no work
    assert np.log2(gaps[0] / gaps[1]) > 3.0
    assert np.ptp(run.joints, axis=0).min() > 0.1  # it moves


def gear():
    """An arm whose second joint is geared to its first by a loop, the same where it follows instead, and a damper."""
    first, second, _ = ARM.joint_names
    geared = ARM.close_loops(fc.model.Couple("gear", second, first, (0.2, -0.5)))
    joints = [replace(j, mimic=fc.model.Mimic(first, -0.5, 0.2)) if j.name == second else j for j in ARM.joints]
    follower = replace(ARM, joints=tuple(joints))
    start = geared.state(joints=[0.3, 0.05, 0.5], rates=[1.0, -0.5, 0.2])
    alone, law = follower.state(joints=[0.3, 0.5], rates=[1.0, 0.2]), JointDamper(0.1, only=(first,))
    return geared, start, follower, alone, law


def test_geared_joints_move_as_one_coordinate():
    """The same robot with a joint that follows instead: no loop, one coordinate less."""
    geared, start, follower, alone, law = gear()
    lean = fc.simulate(follower, alone, 0.5, law, integrator="rkmk4")
    for integrator in ("rkmk4", None, "rosenbrock"):
        run = fc.simulate(geared, start, 0.5, law, integrator=integrator)
        np.testing.assert_allclose(run.joints[-1, [0, 2]], lean.joints[-1], atol=1e-6)
        assert run.loop_errors().max() < 1e-6
    many = fc.rollout(geared, [start, start], 0.5, law, dt=1e-3)
    np.testing.assert_allclose(many.joints[-1, 1, [0, 2]], lean.joints[-1], atol=1e-9)


def test_a_controller_drives_a_loop():
    model, start = four_bar()
    run = fc.simulate(model, start, 0.3, lambda t, s: np.array([0.5, 0.0, 0.0]), dt=2e-3)
    assert run.status == "finished"
    assert run.energy_residual < 1e-6
    assert run.loop_errors().max() < 1e-8


def test_steps_that_open_a_loop_are_reported():
    model, start = four_bar()
    run = fc.simulate(model, start, 0.5, integrator="semi_implicit", dt=5e-3)
    assert run.loop_errors().max() > 1e-6
    assert run.status.startswith("finished, but loops opened by up to")


# implicit steps -----------------------------------------------------------------------------------------------------


def test_implicit_steps_close_a_four_bar_to_the_third_power_of_the_step():
    model, start = four_bar()
    fine = fc.simulate(model, start, 1.0, integrator="rkmk4", dt=1e-3)
    opened, missed = [], []
    for dt in (2e-3, 1e-3, 5e-4):
        run = fc.simulate(model, start, 1.0, integrator="implicit", dt=dt)
        assert run.status == "finished"
        opened.append(run.loop_errors().max())
        missed.append(np.abs(run.joints[-1] - fine.joints[-1]).max())
    assert np.log2(opened[0] / opened[1]) > 2.8
    assert opened[2] < 1e-8
    assert np.log2(missed[1] / missed[2]) > 1.8
    assert missed[1] < 1e-4  # 1e-3 with products of velocities of order 1
    assert run.energy_residual < 2e-3
    assert np.abs(run.ledger.work("loops")).max() < 1e-4


def test_implicit_steps_move_a_gear_as_one_coordinate():
    """The same step: with fewer coordinates the implicit rule is the same, to rounding."""
    geared, start, follower, alone, law = gear()
    lean = fc.simulate(follower, alone, 0.5, law, integrator="implicit")
    run = fc.simulate(geared, start, 0.5, law, integrator="implicit")
    np.testing.assert_allclose(run.joints[:, [0, 2]], lean.joints, atol=1e-10)
    assert run.loop_errors().max() < 1e-12
    simulator = BatchSimulator(geared, [start, start], law, integrator=fc.simulation.Implicit())
    simulator.step(500)
    np.testing.assert_allclose(simulator.state.joints[1, [0, 2]], lean.joints[-1], atol=1e-10)
    with pytest.raises(fc.ModelError, match="loop 'gear' is open by"):
        BatchSimulator(geared, [geared.state(joints=[1.0, 1.0, 0.0])])


def test_implicit_steps_close_loops_on_a_floor():
    """A quadruped whose knees are geared to its hips, with springs, on four feet: as fewer coordinates have it."""
    dog = fc.robots.quadruped()
    legs = [name.removesuffix("_knee") for name in dog.joint_names if name.endswith("_knee")]
    closed = dog.close_loops(
        *(fc.model.Couple(f"{leg} gear", f"{leg}_knee", f"{leg}_hip", (0.0, -2.0)) for leg in legs)
    )
    follow = [
        replace(j, mimic=fc.model.Mimic(j.name.replace("knee", "hip"), -2.0)) if j.name.endswith("knee") else j
        for j in dog.joints
    ]
    lean = replace(dog, joints=tuple(follow))
    feet = [f"{leg}_foot" for leg in legs]
    floor = fc.contact.CompliantFloor(tuple(feet), stiffness=(2e4, 2e4), damping=(200.0, 200.0), friction=0.8)
    pose = np.eye(4)
    pose[2, 3] = 0.01 - min(fc.forward_kinematics(lean, lean.neutral())[foot][2, 3] for foot in feet)
    one = fc.simulate(closed, closed.state(pose=pose), 0.2, contact=floor, integrator="implicit", passive=False)
    two = fc.simulate(lean, lean.state(pose=pose), 0.2, contact=floor, integrator="implicit", passive=False)
    np.testing.assert_allclose(one.poses, two.poses, atol=1e-8)
    assert one.loop_errors().max() < 1e-10


def linkage(rounding, cranks=3):
    """Three parallel cranks of one length on a rod: with the pin of the last one, 2 of 4 equations repeat others.

    Args:
        rounding: Error (m) of the length of the last crank.
        cranks: Number of cranks that are pinned.
    """
    rod = fc.Body(0.3, np.zeros(3), 0.01 * np.eye(3))
    names = [f"crank{i}" for i in range(3)]
    joints = [
        fc.Joint(f"hinge{i}", fc.joints.Revolute((0.0, 1.0, 0.0)), "base", names[i], homogeneous(0.4 * i))
        for i in range(3)
    ]
    tip = np.array([0.0, 0.0, -0.5])
    joints.append(fc.Joint("rod", fc.joints.Revolute((0.0, 1.0, 0.0)), "crank0", "rod", homogeneous(0.0, -0.5)))
    ends = [tip, tip + np.array([0.0, 0.0, rounding])]
    loops = [
        fc.model.Pin(f"pin{i + 1}", names[i + 1], "rod", ends[i], np.array([0.4 * (i + 1), 0.0, 0.0]))
        for i in range(cranks - 1)
    ]
    links = [fc.Link("base", fc.Body(2.0, np.zeros(3), np.eye(3))), *(fc.Link(name, rod) for name in (*names, "rod"))]
    return fc.Model("linkage", fc.lie.Trivial(), links, joints).close_loops(*loops)


def homogeneous(x, z=0.0):
    H = np.eye(4)
    H[0, 3], H[2, 3] = x, z
    return H


@pytest.mark.parametrize("rounding", [0.0, 2e-8, -1e-8])
def test_redundant_loops_close_to_the_rounding_of_their_lengths(rounding):
    """Files have some eight digits: what no motion closes is left open by so much, and the linkage moves."""
    robot, single = linkage(rounding), linkage(0.0, cranks=2)
    start = fc.constraints.assemble(robot, robot.state(joints=[0.4, -0.4, 0.4, 0.4]))
    assert np.abs(start.joints - [0.4, -0.4, 0.4, 0.4]).max() < 1e-6
    run = fc.simulate(robot, start, 0.3)
    assert run.status == "finished"
    assert run.loop_errors().max() <= max(1e-10, 2.0 * abs(rounding))
    single = single.close_loops(fc.model.Couple("parallel", "hinge2", "hinge0", (0.0, 1.0)))
    one = fc.simulate(single, single.state(joints=[0.4, -0.4, 0.4, 0.4]), 0.3, passive=False)
    np.testing.assert_allclose(run.joints[-1][:3], one.joints[-1][:3], atol=1e-5)


def test_loops_that_do_not_close_are_refused():
    robot = linkage(1e-4)
    with pytest.raises(fc.NumericsError, match="cannot be closed from here"):
        fc.constraints.assemble(robot, robot.state(joints=[0.4, -0.4, 0.4, 0.4]))
