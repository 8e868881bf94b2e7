"""Hard contacts and stops of robots with closed loops: as fewer coordinates have it, closed, and without a gain."""

from dataclasses import replace

import numpy as np
import pytest
from residuals import agree

import fallingcat as fc
from fallingcat.contact import HardContacts, joint_stops
from fallingcat.lie import SE2
from fallingcat.model import Limits
from fallingcat.simulation.problem.loop_closure import loop_errors

DOG = fc.robots.quadruped()
FEET = tuple(f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right"))
LEGS = [name.removesuffix("_knee") for name in DOG.joint_names if name.endswith("_knee")]


def names(run):
    return [event.name for event in run.events]


def never_gains(run):
    energy = sum(run.energies())
    assert np.diff(energy).max() < 1e-9 * (np.ptp(energy) + run.energies()[0].max())


def geared_dogs(ratio=-1.5):
    """Knees that follow hips: by loops, and by fewer coordinates."""
    gears = [fc.model.Couple(f"{leg} gear", f"{leg}_knee", f"{leg}_hip", (0.0, ratio)) for leg in LEGS]
    follow = [
        replace(j, mimic=fc.model.Mimic(j.name.replace("knee", "hip"), ratio)) if j.name.endswith("knee") else j
        for j in DOG.joints
    ]
    return DOG.close_loops(*gears), replace(DOG, joints=tuple(follow))


def above(model, state, height):
    pose = np.eye(4)
    pose[2, 3] = height - min(fc.forward_kinematics(model, state)[foot][2, 3] for foot in FEET)
    return state._replace(pose=pose)


@pytest.mark.parametrize(("friction", "duration"), [pytest.param(0.0, 0.08, marks=pytest.mark.slow), (0.4, 0.12)])
def test_geared_legs_land_as_legs_of_fewer_joints_do(friction, duration):
    closed, lean = geared_dogs()
    hips = np.array([0.2, 0.25, 0.3, 0.2])
    few = lean.state(joints=np.stack([np.zeros(4), hips], axis=1).ravel(), twist=[0.3, 0.0, 0.0, 0.0, 0.2, 0.0])
    all_joints = np.stack([np.zeros(4), hips, -1.5 * hips], axis=1).ravel()
    start = closed.state(joints=all_joints, twist=few.twist)
    floor = HardContacts(FEET, friction=friction)
    dt = 5e-4
    one = fc.simulate(closed, above(closed, start, 0.02), duration, contact=floor, dt=dt, passive=False)
    two = fc.simulate(lean, above(lean, few, 0.02), duration, contact=floor, dt=dt, passive=False)
    assert one.code is two.code is fc.simulation.StatusCode.FINISHED
    assert names(one) == names(two)
    assert sum(name.startswith("touchdown") for name in names(one)) >= 1
    agree("base", one.poses[-1], two.poses[-1], 1e-7)
    agree("contact forces", one.contact_forces[-1], two.contact_forces[-1], 1e-4)
    assert one.loop_errors().max() < 1e-8
    never_gains(one)


def test_a_four_bar_falls_on_the_ground_and_stays_closed():
    chain = fc.robots.planar_arm(base=SE2())
    last = chain.link_names[-1]
    bent = chain.state(joints=[1.2, 1.1, 1.3])
    H = fc.forward_kinematics(chain, bent)
    tip = (H[last] @ [0.3, 0.0, 0.0, 1.0])[:3]
    model = chain.close_loops(fc.model.Pin("ring", last, chain.link_names[0], (0.3, 0.0, 0.0), tuple(tip)))
    model = replace(model, gravity=np.array([0.0, -9.81, 0.0]))
    start = fc.constraints.assemble(model, bent)
    points = tuple(model.link_names[1:])
    low = min(fc.forward_kinematics(model, start)[p][1, 3] for p in points)
    pose = start.pose.copy()
    pose[1, 3] = 0.05 - low
    floor = HardContacts(points, friction=0.5, restitution=0.2)
    run = fc.simulate(model, start._replace(pose=pose), 0.5, contact=floor, dt=5e-4)
    assert run.status == "finished"
    assert any("touchdown" in name or "bounce" in name for name in names(run))
    assert run.loop_errors().max() < 1e-8
    assert run.energy_residual < 1e-6
    assert run.penetration.max() < 1e-6
    never_gains(run)


def test_a_stop_stops_all_that_a_gear_moves():
    """Closed form: two wheels geared 1 to 2, one of which hits its stop without bouncing."""
    arm = fc.robots.planar_arm()
    first, second, third = arm.joint_names
    joints = [replace(j, limits=Limits(-5.0, 0.5 if j.name == second else 5.0)) for j in arm.joints]
    arm = replace(arm, joints=tuple(joints), gravity=np.zeros(3))
    arm = arm.close_loops(
        fc.model.Couple("gear", second, first, (0.0, 2.0)), fc.model.Couple("lock", third, None, (0.0,))
    )
    start = arm.state(rates=[1.0, 2.0, 0.0])
    run = fc.simulate(arm, start, 0.5, contact=HardContacts(stops=joint_stops(arm)))
    assert run.integrator == "moreau"
    assert np.abs(run.rates[run.times > 0.252]).max() < 1e-9
    agree("loss", -run.ledger.works.sum(axis=1)[-1], run.energies()[0][0], 1e-4)  # of order 1
    assert np.abs(run.joints[-1] - [0.25, 0.5, 0.0]).max() < 1e-8


def test_rollouts_of_geared_legs_land_as_legs_of_fewer_joints_do():
    closed, lean = geared_dogs()
    hips, floor, ends = np.array([0.2, 0.25, 0.3, 0.2]), HardContacts(FEET, friction=0.4), []
    few = lean.state(joints=np.stack([np.zeros(4), hips], axis=1).ravel(), twist=[0.3, 0.0, 0.0, 0.0, 0.2, 0.0])
    more = closed.state(joints=np.stack([np.zeros(4), hips, -1.5 * hips], axis=1).ravel(), twist=few.twist)
    for model, start in ((closed, more), (lean, few)):
        ends.append(fc.rollout(model, [above(model, start, 0.01)], 0.12, contact=floor, dt=1e-3, passive=False))
    agree("base", ends[0].poses[-1], ends[1].poses[-1], 1e-6)
    agree("work", ends[0].works[-1, :, -3:], ends[1].works[-1, :, -3:], 1e-4)
    assert (
        loop_errors(closed, ends[0].poses[-1], ends[0].joints[-1], ends[0].twists[-1], ends[0].rates[-1]).max() < 1e-8
    )
    located = fc.rollout(closed, [above(closed, more, 0.01)], 0.01, contact=floor, passive=False)
    assert located.status == "finished"
