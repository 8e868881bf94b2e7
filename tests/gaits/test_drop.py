"""Planning and dropping: the wanted angle, no momentum, limits kept, heights refused."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.errors import ModelError
from fallingcat.gaits import displacement
from fallingcat.gaits.drop import chosen, drop
from fallingcat.gaits.plan import Planner, root, strongest_pair


@pytest.fixture(scope="module")
def planner():
    return Planner(fc.robots.two_cylinder_cat(), "spine_z", "spine_y")


@pytest.fixture(scope="module")
def fall():
    return drop()


@pytest.mark.parametrize("degrees", [30.0, 120.0, 180.0])
def test_planned_turn_is_the_wanted_one(planner, degrees):
    found = planner.plan(np.radians(degrees))
    pose = displacement(planner.model, found.curve).pose
    assert np.degrees(np.linalg.norm(fc.lie.SO3().log(pose))) == pytest.approx(degrees, abs=1e-4)
    assert found.turn == pytest.approx(np.radians(degrees), abs=1e-6)
    assert 0.0 < found.curve.bend <= planner.reach
    jet = found.gait(2.0)([0.0, 2.0])
    assert np.abs(jet.q).max() < 1e-12
    assert np.abs(jet.dq).max() < 1e-12


def test_a_turn_out_of_reach_is_said_so():
    stiff = fc.robots.cat().lock([n for n in fc.robots.cat().joint_names if not n.startswith("tail")]).merge_fixed()
    with pytest.raises(ModelError, match="out of reach"):
        Planner(stiff, "tail_side", "tail_lift").plan(np.pi)
    with pytest.raises(ModelError, match="between 0 and 180"):
        Planner(stiff, "tail_side", "tail_lift").plan(4.0)


def test_cat_lands_on_its_feet(fall):
    assert np.degrees(fall.turned) == pytest.approx(180.0, abs=2.0)
    assert np.degrees(fall.landing_tilt) < 0.1
    assert fall.angular_momentum.max() < 1e-10
    assert fall.energy_residual < 1e-3
    assert fall.duration < fall.trajectory.times[-1]


def test_center_of_mass_falls_freely(fall):
    end = fall.trajectory.times[-1]
    assert fall.fallen == pytest.approx(0.5 * 9.81 * end**2, rel=1e-9)


def test_nothing_pulls_on_the_base_and_joints_keep_their_limits(fall):
    m = fall.model.m
    assert np.abs(fall.trajectory.forces[:, :m]).max() == 0.0
    for k, joint in enumerate(fall.model.joints):
        assert np.abs(fall.trajectory.joints[:, k]).max() <= joint.limits.upper
        assert np.abs(fall.trajectory.rates[:, k]).max() <= 1.01 * joint.limits.velocity
        assert np.abs(fall.trajectory.forces[:, m + k]).max() <= 1.01 * joint.limits.effort


def test_paws_touch_the_floor_at_the_end_and_not_before(fall):
    path, names = fall.trajectory, [f.name for f in fall.model.frames if f.name.endswith("paw")]
    still = np.zeros(fall.model.m), np.zeros(fall.model.n)
    heights = []
    for i in range(0, len(path.times), 50):
        H = fc.forward_kinematics(fall.model, fc.State(path.poses[i], path.joints[i], *still))
        heights.append(min(pose[2, 3] for pose in H.values()))
    last = fc.forward_kinematics(fall.model, fc.State(path.poses[-1], path.joints[-1], *still))
    assert min(heights) > -1e-3
    assert max(abs(last[name][2, 3]) for name in names) < 2e-3


def test_seeds_give_other_headings_and_the_same_turn():
    one, two = (drop(height=2.0, tilt=np.radians(120.0), seed=seed, dt=2e-3) for seed in (1, 2))
    assert np.abs(one.trajectory.poses[0] - two.trajectory.poses[0]).max() > 0.1
    for fall in (one, two):
        assert np.degrees(fall.turned) == pytest.approx(120.0, abs=0.5)
        assert np.degrees(fall.landing_tilt) < 0.5
        assert fall.angular_momentum.max() < 1e-10


def test_too_low_a_height_says_how_much_is_missing():
    with pytest.raises(ModelError, match=r"0.6 m is too low.* (\d\.\d\d) m higher, from (\d\.\d\d) m") as caught:
        drop(height=0.6)
    needed = float(str(caught.value).rsplit("from ", 1)[1].split()[0])
    assert drop(height=needed, dt=2e-3).turned > np.radians(178.0)


def test_what_cannot_fall_is_refused():
    with pytest.raises(ModelError, match="no gravity"):
        drop(model=fc.robots.orbital_arm())
    with pytest.raises(ModelError, match="not free"):
        drop(model=fc.robots.revolute_hopper())
    with pytest.raises(ModelError, match="no joint"):
        drop(joints=("spine_side", "wing"))
    with pytest.raises(ModelError, match="two joints"):
        drop(joints=("spine_side", "spine_side"))
    with pytest.raises(ModelError, match="meters"):
        drop(height=float("nan"))


def test_a_robot_without_hints_is_bent_where_it_turns_most():
    robot, pair, tuck = chosen(fc.robots.two_cylinder_cat(), None)
    assert (pair, tuck) == (("spine_z", "spine_y"), {})
    assert robot.n == 2
    with pytest.raises(ModelError, match="curvature is zero"):
        strongest_pair(fc.robots.cat().lock([n for n in fc.robots.cat().joint_names if n != "neck"]).merge_fixed())


def test_root_finds_what_bisection_finds():
    assert root(np.cos, 0.0, 3.0, 1e-13) == pytest.approx(np.pi / 2, abs=1e-12)
    assert root(lambda x: x**9 - 1e-3, 0.0, 1.0, 1e-13) == pytest.approx(1e-3 ** (1 / 9), abs=1e-10)
    with pytest.raises(ModelError, match="same sign"):
        root(lambda x: 1.0 + x * x, -1.0, 1.0, 1e-9)
