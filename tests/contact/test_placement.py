"""Robots that are placed on the ground stay there; starts deep inside a compliant floor are refused."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.contact import CompliantFloor, HardContacts, HeightField

DOG = fc.robots.quadruped()
FEET = tuple(frame.name for frame in DOG.frames)
BENT = [0.0, 0.6, -1.2] * 4
SPRINGS = {"stiffness": (2e4, 2e4), "damping": (200.0, 200.0), "friction": 0.8}
FLOOR = CompliantFloor(FEET, **SPRINGS)


def heights(ground, state, model=DOG):
    poses = fc.forward_kinematics(model, state)
    sites = zip(ground.points, ground.radii, strict=True)
    return np.array([ground.ground(model).site(poses[name][:3, 3], r).height for name, r in sites])


@pytest.mark.parametrize("rpy", [[0.0, 0.0, 0.0], [0.1, -0.2, 1.0]])
@pytest.mark.parametrize("normal", [None, (0.2, 0.1, 1.0)])
def test_springs_carry_the_weight(rpy, normal):
    floor = CompliantFloor(FEET, **SPRINGS, normal=normal, height=0.3, radius=(0.0, 0.01, 0.0, 0.02))
    state = DOG.standing(floor, BENT, rpy=rpy, position=[1.0, 2.0, 7.0])
    load = floor.stiffness[0] * np.maximum(-heights(floor, state), 0.0).sum()
    weight = DOG.mass * -DOG.gravity @ floor.ground(DOG).normal
    np.testing.assert_allclose(load, weight, rtol=1e-9)
    assert not state.velocity.any()


def test_on_hard_ground_the_lowest_point_touches():
    ground = HardContacts(FEET, friction=0.8)
    state = DOG.standing(ground, BENT, rpy=[0.1, 0.2, 0.3])
    np.testing.assert_allclose(heights(ground, state).min(), 0.0, atol=1e-12)
    assert fc.simulate(DOG, state, 0.01, contact=ground).status == "finished"


def test_on_uneven_ground():
    terrain = HeightField(
        0.05 * np.random.default_rng(0).normal(size=(20, 20)), spacing=(0.1, 0.1), origin=(-1.0, -1.0)
    )
    ground = HardContacts(FEET, friction=0.8, terrain=terrain)
    state = DOG.standing(ground, BENT)
    np.testing.assert_allclose(heights(ground, state).min(), 0.0, atol=1e-8)


def test_who_stands_stays():
    state = DOG.standing(FLOOR, BENT)
    hold = fc.control.Impedance(state.joints, *fc.control.gains(hertz=20.0))
    run = fc.simulate(DOG, state, 0.3, hold, FLOOR)
    assert np.ptp(run.poses[:, 2, 3]) < 1e-3


def test_many_at_once():
    joints = np.random.default_rng(0).uniform(-0.2, 0.2, size=(3, 12)) + BENT
    many = DOG.standing(FLOOR, joints)
    for i in range(3):
        np.testing.assert_allclose(many.at(i).pose, DOG.standing(FLOOR, joints[i]).pose, atol=1e-12)


def test_a_planar_hopper_stands_along_its_gravity():
    hopper = fc.robots.revolute_hopper()
    floor = CompliantFloor(("foot",), (1e4, 1e4), (100.0, 100.0))
    depth = -heights(floor, hopper.standing(floor), hopper)[0]
    np.testing.assert_allclose(1e4 * depth, -hopper.gravity[1] * hopper.mass, rtol=1e-9)


def test_what_cannot_stand_is_reported():
    with pytest.raises(fc.ModelError, match="does not move along the normal"):
        fc.robots.planar_arm().standing(HardContacts(("end_effector",)))
    with pytest.raises(fc.ModelError, match="ground is a contact"):
        DOG.standing(FEET)


def start(depth):
    state = DOG.standing(HardContacts(FEET), BENT)
    return DOG.state(position=state.pose[:3, 3] - [0.0, 0.0, depth], joints=BENT)


@pytest.mark.parametrize(
    "begin",
    [
        lambda state: fc.simulate(DOG, state, 0.002, contact=FLOOR),
        lambda state: fc.simulate(DOG, state, 0.002, contact=FLOOR, integrator="rosenbrock"),
        lambda state: fc.rollout(DOG, [start(0.0), state], 0.002, contact=FLOOR),
        lambda state: fc.Simulator(DOG, FLOOR, state=state),
    ],
    ids=["implicit", "rosenbrock", "rollout", "simulator"],
)
def test_a_start_deep_in_the_ground_is_refused(begin):
    with pytest.raises(fc.ModelError, match=r"foot'( of robot 1)? starts 0.3 m below the ground, whose springs hold"):
        begin(start(0.3))
    begin(start(0.01))  # a landing compresses the ground as much
