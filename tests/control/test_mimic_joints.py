"""What joints that follow others do by themselves: springs, damping, friction, stops and actuators pull on leaders."""

from dataclasses import replace

import numpy as np
import pytest
from random_robots import driven, following, freed

import fallingcat as fc
from fallingcat.control import Actuators, DriveLimits, DryFriction, JointStops, PassiveDamping, PassiveSprings

NOBODY = frozenset()


@pytest.fixture(params=range(4))
def robot(request):
    """A robot with springs on half of its joints, some of which follow, and a state of it."""
    rng = np.random.default_rng(request.param)
    kinds = ["revolute", "prismatic", "revolute", "spherical"]
    model = following(driven(fc.robots.random_tree(rng, 7, kinds), rng), rng)
    joints = [replace(j, passive=fc.model.Passive(*rng.uniform(size=4).tolist())) for j in model.joints]
    model = replace(model, joints=tuple(joints))
    assert any(joint.mimic for joint in model.joints)
    return model, model.random_state(rng)


@pytest.mark.parametrize("law", [PassiveSprings(), PassiveDamping()], ids=lambda law: law.name)
def test_springs_and_damping_are_pulled_back(robot, law):
    model, state = robot
    free = freed(model, state)
    wanted = free.T.T @ law.forces(free.model, 0.0, free.state, NOBODY)
    np.testing.assert_allclose(law.forces(model, 0.0, state, NOBODY), wanted, rtol=1e-12, atol=1e-12)
    for X, Y in zip(law.impedance(model, state), law.impedance(free.model, free.state), strict=True):
        np.testing.assert_allclose(X, free.T.T @ Y @ free.T, rtol=1e-12, atol=1e-12)


def test_springs_hold_the_same_energy(robot):
    model, state = robot
    free = freed(model, state)
    energy = PassiveSprings().energy(model, state)
    np.testing.assert_allclose(energy, PassiveSprings().energy(free.model, free.state), rtol=1e-12)


def test_friction_of_followers_slows_their_leaders(robot):
    model, state = robot
    fast = state._replace(rates=1e5 * np.sign(state.rates) * (1.0 + np.abs(state.rates)))  # far above all creeping
    free = freed(model, fast)
    friction = np.concatenate([np.full(joint.kind.nv, joint.passive.friction) for joint in free.model.joints])
    wanted = free.T.T @ np.concatenate([np.zeros(6), -friction * np.sign(free.state.rates)])
    np.testing.assert_allclose(DryFriction(1e-3).forces(model, 0.0, fast, NOBODY), wanted, rtol=1e-6, atol=1e-6)


def test_actuators_of_followers_drive_their_leaders(robot):
    model, state = robot
    single = [joint.name for joint in model.joints if joint.kind.nq == 1]
    drives = [fc.model.Actuator(f"of {name}", name, "position", gear=2.0, kp=5.0, kv=0.3) for name in single]
    drives += [fc.model.Actuator(f"motor of {name}", name, gear=3.0) for name in single]
    model = replace(model, actuators=tuple(drives))
    free = freed(model, state)
    law = Actuators(tuple(np.linspace(-1.0, 1.0, len(drives))))
    wanted = free.T.T @ law.forces(free.model, 0.0, free.state, NOBODY)
    np.testing.assert_allclose(law.forces(model, 0.0, state, NOBODY), wanted, rtol=1e-12, atol=1e-12)
    for X, Y in zip(law.impedance(model, state), law.impedance(free.model, free.state), strict=True):
        np.testing.assert_allclose(X, free.T.T @ Y @ free.T, rtol=1e-12, atol=1e-12)


def gripper(**limits):
    body = fc.Body(1.0, [0.0, 0.1, 0.0], np.diag([0.01, 0.01, 0.01]))
    links = tuple(fc.Link(name, body) for name in ("palm", "left", "right"))
    hinge = fc.joints.Revolute()
    left = fc.Joint("left", hinge, "palm", "left", limits=fc.model.Limits(-2.0, 2.0, effort=5.0))
    right = fc.Joint(
        "right", hinge, "palm", "right", mimic=fc.model.Mimic("left", -2.0), limits=fc.model.Limits(**limits)
    )
    return fc.Model("gripper", fc.lie.SE3(), links, (left, right), gravity=np.zeros(3))


def test_the_stop_of_a_follower_stops_its_leader():
    model = gripper(lower=-1.0, upper=4.0)  # the leader from -2 to 0.5
    push = lambda q: JointStops(1e-3).forces(model, 0.0, model.state(joints=[q]), NOBODY)[6]  # noqa: E731
    assert push(0.5) == push(0.0) == push(-2.0) == 0.0
    assert push(0.51) < 0.0
    assert push(-2.01) > 0.0
    run = fc.simulate(model, model.state(joints=[0.3], rates=[3.0]), 0.4)
    assert run.status == "finished"
    assert 0.5 < run.joints.max() < 0.55
    free = fc.simulate(model, model.state(joints=[0.3], rates=[3.0]), 0.4, passive=False)
    assert free.joints.max() > 1.0
    with pytest.raises(fc.ModelError, match=r"'left' starts 0\.7 beyond its upper stop at 0\.5"):
        fc.simulate(model, model.state(joints=[1.2]), 0.1)


def test_drives_stay_below_the_speed_of_followers():
    model = gripper(velocity=1.0)  # the leader 0.5
    ask = np.array([0.0] * 6 + [9.0])
    beside = lambda rate: DriveLimits().saturated_forces(model, 0.0, model.state(rates=[rate]), NOBODY, ask)[6]  # noqa: E731
    assert beside(0.0) == -4.0
    assert beside(0.6) == -9.0
