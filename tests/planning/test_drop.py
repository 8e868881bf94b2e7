"""Planning and dropping: the wanted angle, no momentum, limits kept, heights refused."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.errors import ModelError
from fallingcat.model import Joint, Limits, Link, Model
from fallingcat.model.joints import Revolute
from fallingcat.model.robots.shapes import at, cylinder
from fallingcat.planning import Planner, bendings, displacement, drop, fastest_bending
from fallingcat.planning.righting.bending import strongest_pair
from fallingcat.planning.righting.plan import root
from fallingcat.visualization import model_shapes


def long_spine(reach, segments=3):
    """Two halves and a spine of several vertebrae between them, each with a hinge about z and one about y."""
    limits, parent, place = Limits(-reach, reach, 30.0, 20.0), "front", at(x=-0.1)
    links, joints = [Link("front", cylinder(1.5, 0.055, 0.2, along="x"))], []
    for i in range(segments):
        last = i == segments - 1
        body = (
            cylinder(1.5, 0.055, 0.2, "x", (-0.1, 0.0, 0.0)) if last else cylinder(0.3, 0.05, 0.06, "x", (-0.03, 0, 0))
        )
        links += [Link(f"ring{i}"), Link(f"vertebra{i}", body)]
        joints.append(Joint(f"side{i}", Revolute((0.0, 0.0, 1.0)), parent, f"ring{i}", place, limits=limits))
        joints.append(Joint(f"arch{i}", Revolute((0.0, 1.0, 0.0)), f"ring{i}", f"vertebra{i}", limits=limits))
        parent, place = f"vertebra{i}", at(x=-0.06)
    return Model("long spine", fc.lie.SE3(), tuple(links), tuple(joints))


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
    with pytest.raises(ModelError, match="between 0 and pi"):
        Planner(stiff, "tail_side", "tail_lift").plan(4.0)


def test_cat_lands_on_its_feet(fall):
    assert np.degrees(fall.turned) == pytest.approx(180.0, abs=2.0)
    assert np.degrees(fall.landing_tilt) < 0.1
    assert fall.angular_momentum.max() < 1e-10
    assert fall.energy_residual < 1e-3
    assert fall.duration < fall.trajectory.times[-1]


def test_it_starts_rolled_over(fall):
    assert np.degrees(fall.start_tilt) == pytest.approx(180.0, abs=5.0)  # its axis is not quite level


def test_a_turn_about_the_vertical_is_not_turning_over():
    """A humanoid started upright, yawed by 180 degrees and was said to turn over."""
    humanoid = fc.robots.humanoid()
    with pytest.raises(ModelError, match=r"'humanoid' cannot turn over by 180 degrees: .* near the vertical"):
        drop(height=4.0, model=humanoid)
    _, yawing = fastest_bending(bendings(humanoid), np.pi)  # which is what it did
    assert abs(yawing.axis[2]) > 0.9


def test_center_of_mass_falls_freely(fall):
    end = fall.trajectory.times[-1]
    assert fall.fallen == pytest.approx(0.5 * 9.81 * end**2, rel=1e-9)


def test_nothing_acts_on_the_base_and_joints_keep_their_limits(fall):
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


def test_no_part_of_the_cat_moves_through_another(fall):
    """Links that no joint joins stay apart, as the balls and capsules that have their masses and inertias."""
    shapes = {name: parts[0] for name, parts in model_shapes(fc.robots.cat()).items() if parts}
    cat, s = fc.robots.cat(), np.linspace(0.0, 1.0, 25)[:, None]
    joined = {frozenset((j.parent, j.child)) for j in cat.joints} | {frozenset(("front", "rear"))}
    names = [name for name in shapes if not name.startswith(("vertebra", "tail_root"))]
    still, path = (np.zeros(fall.model.m), np.zeros(fall.model.n)), fall.trajectory
    for i in range(0, len(path.times), 32):
        H = fc.forward_kinematics(fall.model, fc.State(path.poses[i], path.joints[i], *still))
        lines = {}
        for name in names:
            points = np.asarray(shapes[name].start) + s * np.subtract(shapes[name].end, shapes[name].start)
            lines[name] = points @ H[name][:3, :3].T + H[name][:3, 3]
        for a, b in combinations(names, 2):
            if frozenset((a, b)) in joined or {a, b} == {"rear", "tail"}:
                continue
            gap = np.linalg.norm(lines[a][:, None] - lines[b], axis=2).min() - shapes[a].radius - shapes[b].radius
            assert gap > 0.0, (a, b, path.times[i])


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
    (only,) = bendings(fc.robots.two_cylinder_cat())
    assert set(only.names) <= {"first bend", "second bend", "spine_z", "spine_y"}
    assert only.model.n == 2
    with pytest.raises(ModelError, match="curvature is zero"):
        strongest_pair(fc.robots.cat().lock([n for n in fc.robots.cat().joint_names if n != "neck"]).merge_fixed())
    with pytest.raises(ModelError, match="needs two"):
        bendings(fc.robots.cat().lock([n for n in fc.robots.cat().joint_names if n != "neck"]).merge_fixed())


def test_a_spine_of_many_joints_turns_over_with_all_of_them():
    spine = long_spine(reach=0.6)
    fall = drop(height=2.0, model=spine, dt=2e-3)
    assert np.degrees(fall.turned) == pytest.approx(180.0, abs=0.5)
    assert np.degrees(fall.landing_tilt) < 0.5
    assert fall.angular_momentum.max() < 1e-10
    assert fall.model.n >= 4
    path = fall.trajectory
    assert np.abs(path.joints).max() <= 0.6
    assert np.abs(path.rates).max() <= 1.01 * 30.0
    assert np.abs(path.forces[:, 6:]).max() <= 1.01 * 20.0
    # two joints alone cannot do it within their limits, and all of them turn in less time than some
    with pytest.raises(ModelError, match="out of reach"):
        Planner(spine, "side1", "arch1").plan(np.pi)
    slower = fastest_bending(bendings(spine, ("side0", "arch0", "side1", "arch1")), np.pi)[1]
    assert fall.manoeuvre.shortest < slower.shortest


def test_limits_that_make_it_impossible_are_said_with_the_largest_turn():
    with pytest.raises(ModelError, match=r"cannot turn by 180 degrees: .* by (\d+) degrees at most") as caught:
        drop(model=long_spine(reach=0.2))
    most = float(str(caught.value).split(" turns it by ")[1].split()[0])
    assert 100.0 < most < 180.0
    assert drop(height=3.0, tilt=np.radians(most - 1.0), model=long_spine(reach=0.2), dt=4e-3).turned > np.radians(
        most - 2.0
    )


def test_named_joints_bend_alone():
    spine = long_spine(reach=0.6)
    three = bendings(spine, ("side0", "arch1", "side2"))
    assert all(set(b.model.joint_names) <= {"side0", "arch1", "side2"} for b in three)
    (pair,) = bendings(spine, ("side0", "arch1"))
    assert pair.names == ("side0", "arch1")
    stiff = Model("stiff", spine.base, spine.links, tuple(replace(j, limits=Limits(0.0, 1.0)) for j in spine.joints))
    with pytest.raises(ModelError, match="both ways"):
        bendings(stiff, ("side0", "arch1", "side2"))


def test_shares_of_several_joints_bend_within_the_tightest_limit():
    spine = long_spine(reach=0.6)
    planner = Planner(spine, {"side0": 0.5, "side1": 1.0}, {"arch0": 1.0, "arch2": 0.25})
    assert planner.reach == pytest.approx(0.6)
    q = planner.curve(planner.reach, 1.0)(np.linspace(0.0, 1.0, 500)).q
    assert np.abs(q).max() <= 0.6 + 1e-12
    with pytest.raises(ModelError, match="two joints"):
        Planner(spine, {"side0": 1.0}, {"side0": 2.0})


def test_root_finds_what_bisection_finds():
    assert root(np.cos, 0.0, 3.0, 1e-13) == pytest.approx(np.pi / 2, abs=1e-12)
    assert root(lambda x: x**9 - 1e-3, 0.0, 1.0, 1e-13) == pytest.approx(1e-3 ** (1 / 9), abs=1e-10)
    with pytest.raises(ModelError, match="same sign"):
        root(lambda x: 1.0 + x * x, -1.0, 1.0, 1e-9)
