"""What a walking task takes from a robot's file: feet, posture, and actuators with their ranges."""

from dataclasses import replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.learning import Environment, Policy, Task, Walk
from fallingcat.model.shapes import Sphere

ROBOT = fc.robots.quadruped()


def driven(**numbers):
    actuators = tuple(fc.model.Actuator(f"{name} drive", name, **numbers) for name in ROBOT.joint_names)
    return replace(ROBOT, actuators=actuators)


def test_position_actuators_are_the_default_actions_with_their_ranges():
    servo = {"kind": "position", "kp": 10.0, "kv": 0.5, "gear": 2.0, "force_range": (-4.0, 4.0)}
    model = driven(**servo, control_range=(-2.5, 1.3))
    task = Walk(model)
    assert task.kp.tolist() == [40.0] * 12  # along x = gear q
    assert task.kd.tolist() == [2.0] * 12
    assert [limits.effort for limits in task.model.limits] == [8.0] * 12
    env = Environment(task, 2, bank=2)
    for size, end in ((50.0, 0.65), (-50.0, -1.25)):
        env.step(np.full((2, 12), size))
        np.testing.assert_allclose(env.now.inputs["targets"], end)
    given = Walk(model, kp=70.0)
    assert (given.kp, given.kd) == (70.0, 1.75)


def test_the_torques_of_position_actuators_are_theirs():
    """Servo, its limits and the passive forces of a step are MuJoCo's actuator: kp (u - q) - kv rate, cut."""
    task = Walk(driven(kind="position", kp=40.0, kv=2.0, force_range=(-8.0, 8.0)))
    rng = np.random.default_rng(0)
    for _ in range(20):
        off = 0.2 * rng.standard_normal(12)
        state = task.model.state(joints=task.stance.joints + off, rates=rng.standard_normal(12))
        targets = rng.standard_normal(12)
        servo = replace(task.laws[0], targets=tuple(targets))
        drive = fc.control.Actuators(tuple(targets)).forces(task.model, 0.0, state, frozenset())[6:]
        ours = np.clip(servo.torques(task.model, state), *(s * task._efforts for s in (-1.0, 1.0)))
        np.testing.assert_allclose(ours, drive, atol=1e-12)


def test_a_policy_in_a_simulation_keeps_the_ranges():
    task = Walk(driven(kind="position", kp=60.0, kv=1.5, control_range=(-1.3, 0.7)))
    policy = Policy.of(task, [(np.zeros((12, 48)), np.full(12, 3.0))])
    forces = policy.controller(task, (0.0, 0.0, 0.0))[-1].controller(0.0, task.stance)
    targets = np.minimum(task.stance.joints + 0.25 * 3.0, 0.7)
    np.testing.assert_allclose(forces, 60.0 * (targets - task.stance.joints), atol=1e-12)


def test_motors_limit_the_torques_of_servos():
    task = Walk(driven(gear=30.0, control_range=(-0.5, 0.4)))
    assert [limits.effort for limits in task.model.limits] == [15.0] * 12
    assert task.kp == 60.0
    with pytest.raises(fc.ModelError, match="gear 0"):
        Walk(driven(gear=0.0))


def test_servos_move_heavy_rotors():
    joints = tuple(replace(x, armature=1.0 if "knee" in x.name else 0.01) for x in ROBOT.joints)
    task = Walk(replace(ROBOT, joints=joints))
    assert task.kp.tolist() == [60.0, 60.0, 400.0] * 4
    np.testing.assert_allclose(task.kd, [1.5, 1.5, 28.0] * 4)
    env, light = (Environment(each, 2, bank=2) for each in (task, Walk(ROBOT)))
    rewards = []
    for each in (env, light):  # the same angles off: the same cost, whatever the stiffness
        inputs = {"targets": each.now.joints + 0.01 * (1.0 + np.arange(12) % 3 // 2)}
        rewards.append(each.task.reward(each.now.with_(inputs=inputs, rates=0.0 * each.now.rates))["torque"])
    np.testing.assert_allclose(rewards[0], rewards[1])


def test_a_humanoid_with_joints_of_other_names_stands_in_the_middle():
    humanoid = fc.robots.humanoid()
    joints = tuple(replace(x, name=x.name.replace("_pitch", "_y")) for x in humanoid.joints)
    task = Walk(replace(humanoid, joints=joints))
    assert not task.posture.any()
    assert task.actions == 14
    plain = replace(humanoid, joints=tuple(replace(x, name=f"joint{k}") for k, x in enumerate(humanoid.joints)))
    assert Walk(plain).actions == len(plain.joints)


def test_legs_of_anybotics_bend():
    ends = ("HAA", "HFE", "KFE")
    sides = ("LF", "RF", "LH", "RH")
    joints = tuple(replace(x, name=f"{sides[k // 3]}_{ends[k % 3]}") for k, x in enumerate(ROBOT.joints))
    task = Walk(replace(ROBOT, joints=joints), kp=60.0)
    assert task.posture.tolist() == [0.0, 0.4, -0.8] * 2 + [0.0, -0.4, 0.8] * 2


def test_feet_that_are_balls_are_taken_as_balls():
    """A frame in the middle of a ball says neither its radius nor, on a sole of several balls, where they are."""
    feet = {frame.link: frame.placement[:3, 3] for frame in ROBOT.frames if frame.name.endswith("foot")}
    balls = {link: Sphere(0.03).moved(translation(place)) for link, place in feet.items()}
    links = tuple(replace(x, collisions=(balls[x.name],) if x.name in balls else ()) for x in ROBOT.links)
    task = Walk(replace(ROBOT, links=links))
    assert task._radii == (0.03,) * 4
    assert task.height == pytest.approx(Walk(ROBOT).height + 0.03, abs=2e-3)
    bare = replace(ROBOT, links=tuple(replace(x, collisions=()) for x in ROBOT.links))
    assert Walk(bare).feet == Walk(ROBOT).feet


def translation(p):
    pose = np.eye(4)
    pose[:3, 3] = p
    return pose


class Driven(Task):
    """Controls of the actuators of the model are the action."""

    actions, laws = 3, (fc.control.Actuators(),)

    def __init__(self, model):
        self.model = model

    def start(self, rng, count):
        return fc.State(*(np.stack([x] * count) for x in self.model.neutral()))

    def control(self, actions, now):
        return {"controls": actions}

    def observe(self, now):
        return {"rates": now.rates}

    def reward(self, now):
        return {"none": 0.0 * now.rates[:, 0]}


def test_actuators_are_actions_within_their_ranges():
    arm = fc.robots.planar_arm()
    motors = tuple(
        fc.model.Actuator(name, name, gear=2.0, control_range=(-0.5, 0.3), force_range=(-0.4, 1.0))
        for name in arm.joint_names
    )
    model = replace(arm, actuators=motors)
    env = Environment(Driven(model), 3, bank=2)
    env.step(np.array([[0.2, 0.0, -0.1], [5.0, 0.3, -5.0], [0.3, 9.0, -0.4]]))
    assert np.array_equal(env.now.rates[1], env.now.rates[2])  # cut at 0.3, and at a force of -0.4
    run = fc.simulate(model, model.neutral(), 0.02, lambda t, x: np.array([0.4, 0.0, -0.2]), dt=0.002,
                      integrator="implicit")  # fmt: skip
    np.testing.assert_allclose(env.now.rates[0], run.rates[-1], rtol=1e-4)
