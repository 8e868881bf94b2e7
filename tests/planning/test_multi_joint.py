"""The quickest way to turn over: its derivative, its steps, and what comes out."""

from dataclasses import replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.errors import FallingCatError
from fallingcat.lie.rotations import log
from fallingcat.model import Limits
from fallingcat.planning import largest_turn, quickest
from fallingcat.planning.righting import multi_joint as quick
from fallingcat.planning.righting.limb_clearance import Limbs
from fallingcat.planning.righting.multi_joint import EFFORT_SHARE, LIMIT_MARGIN, _Search

FEET = ("front_left_foot", "front_right_foot", "rear_left_foot")


@pytest.fixture(scope="module")
def cat():
    robot = fc.robots.two_cylinder_cat()
    joints = [replace(j, limits=Limits(-1.3, 1.2, velocity=20.0, effort=20.0)) for j in robot.joints]
    return replace(robot, joints=tuple(joints))


def random_parts(search, rng):
    parts = search.random(rng)
    return np.vstack([parts[0], 0.8 * parts[1:]])


def test_the_derivative_of_the_turn_is_exact(cat, monkeypatch):
    monkeypatch.setattr(quick, "SEARCH_TOLERANCE", 1e-12)
    search = _Search(cat, [0.1, -0.2], (0.8, 0.0, 0.6)).limited_to_period(0.2)
    parts = random_parts(search, np.random.default_rng(3))
    _, slope = search.rotation_and_slope(parts)
    h = 1e-5
    for i, j in np.ndindex(parts.shape):
        way = np.zeros_like(parts)
        way[i, j] = h
        change = (search.rotation_and_slope(parts + way)[0] - search.rotation_and_slope(parts - way)[0]) / (2.0 * h)
        assert change == pytest.approx(slope[i, j], abs=1e-7 * np.abs(slope).max())


def test_no_motion_within_the_limits_is_farther_along_a_slope(cat):
    search, rng = _Search(cat, [0.0, 0.0], (1.0, 0.0, 0.0)).limited_to_period(0.2), np.random.default_rng(1)
    for _ in range(20):
        slope = rng.normal(size=(3, 2))
        far = np.sum(slope * search.farthest(slope))
        for _ in range(50):
            size = rng.uniform(0.0, search.max_amplitude)
            angle = rng.uniform(0.0, 2.0 * np.pi, 2)
            middle = rng.uniform(search.low + size, search.high - size)
            assert np.sum(slope * np.array([middle, size * np.cos(angle), size * np.sin(angle)])) <= far + 1e-12


def test_it_turns_as_far_as_it_should_within_limits(cat):
    angle = np.pi
    plan = quickest(cat, angle, [0.0, 0.0], period=0.4)
    assert np.linalg.norm(plan.turn) == pytest.approx(angle, abs=1e-6)
    assert abs(plan.turn[0]) > 0.95 * angle  # about its long axis
    jet = plan.motion(np.linspace(0.0, plan.motion.duration, 400))
    assert jet.q.min() >= -1.3 + LIMIT_MARGIN - 1e-9
    assert jet.q.max() <= 1.2 - LIMIT_MARGIN + 1e-9
    assert np.abs(jet.dq).max() <= EFFORT_SHARE * 20.0 * 1.02  # between points of the grid
    np.testing.assert_allclose(jet.q[[0, -1]], 0.0, atol=1e-12)
    again = fc.planning.displacement(cat, plan.motion.curve)
    np.testing.assert_allclose(again.pose, plan.moved.pose, atol=1e-9)


@pytest.mark.slow
def test_the_best_period_is_no_slower_than_given_ones(cat):
    best = quickest(cat, 2.0, [0.0, 0.0], period=None)
    longest = _Search(cat, [0.0, 0.0], (1.0, 0.0, 0.0)).longest_period()
    assert longest == pytest.approx(2.0 * np.pi * 1.23 / (EFFORT_SHARE * 20.0))  # of half the range, at full speed
    for share in (1.0, 0.5):
        assert best.motion.duration <= quickest(cat, 2.0, [0.0, 0.0], period=share * longest).motion.duration + 1e-12


def test_the_widest_circle_fills_the_ranges_and_turns_more_than_smaller_ones(cat):
    cat = replace(cat, joints=tuple(replace(joint, limits=Limits(-0.6, 0.6)) for joint in cat.joints))
    curve = largest_turn(cat, [0.0, 0.0])
    q = curve.circle(np.linspace(0.0, 1.0, 201)).q
    np.testing.assert_allclose(q.max(axis=0) - q.min(axis=0), 1.2 - 2.0 * LIMIT_MARGIN, rtol=1e-3)
    turns = [fc.planning.displacement(cat, replace(curve, bend=bend).circle).pose for bend in (1.0, 0.7, 0.4)]
    angles = [np.linalg.norm(log(pose[:3, :3])) for pose in turns]
    assert angles[0] > angles[1] > angles[2] > 0.0


@pytest.mark.parametrize("limits", [Limits(-1.0, 1.0, velocity=0.0), Limits(-1.0, 1.0, effort=0.0), Limits(0.0, 0.03)])
def test_joints_that_cannot_move_rest(limits):
    dog = fc.robots.quadruped()
    dog = replace(dog, joints=(replace(dog.joints[0], limits=limits), *dog.joints[1:]))
    search = _Search(dog, np.tile([0.01, 0.5, -1.0], 4), (1.0, 0.0, 0.0)).limited_to_period(np.inf)
    q = search.curve(random_parts(search, np.random.default_rng(0)), 2.0, 0.2)(np.linspace(0.0, 1.0, 50)).q
    np.testing.assert_allclose(q[:, 0], 0.01, atol=1e-15)
    assert np.ptp(q[:, 1:], axis=0).min() > 0.5


def test_limbs_know_how_near_they_are():
    """Distances against forward kinematics; the slope of their cost against differences."""
    dog, rng = fc.robots.quadruped(), np.random.default_rng(0)
    limbs = Limbs(dog, FEET)
    shapes = rng.uniform(-0.8, 0.8, (6, 12))
    found = limbs.clearance(shapes, 0.4)
    for q, distance in zip(shapes, found.distance, strict=True):
        poses = fc.forward_kinematics(dog, dog.state(joints=q))
        lines = []
        for foot in FEET:
            leg = foot.removesuffix("_foot")
            hip, knee, tip = (poses[name][:3, 3] for name in (f"{leg}_thigh", f"{leg}_shank", foot))
            lines.append(np.array([hip, 0.5 * (hip + knee), knee, 0.5 * (knee + tip), tip]))
        pairs = [(0, 1), (0, 2), (1, 2)]
        gaps = [np.linalg.norm(lines[i][:, None] - lines[j], axis=2).min() for i, j in pairs]
        assert distance == pytest.approx(min(gaps), abs=1e-14)
    assert found.cost.max() > 0.0
    h = 1e-6
    for j in range(12):
        way = h * np.eye(12)[j]
        change = (limbs.clearance(shapes + way, 0.4).cost - limbs.clearance(shapes - way, 0.4).cost) / (2.0 * h)
        np.testing.assert_allclose(change, found.slope[:, j], atol=1e-7)
    assert limbs.clearance(shapes, 0.5 * found.distance.min()).cost.max() == 0.0


@pytest.mark.parametrize(
    "call",
    [
        lambda cat: quickest(cat, 0.0, [0.0, 0.0]),
        lambda cat: quickest(cat, 1.0, [0.0, 0.0], axis=[0.0, 0.0, 0.0]),
        lambda cat: quickest(cat, 1.0, [0.0, 2.0]),
        lambda cat: quickest(cat, 1.0, [0.0, 0.0], period=-1.0),
        lambda cat: quickest(fc.robots.planar_arm(), 1.0, np.zeros(3)),
        lambda cat: Limbs(fc.robots.quadruped(), "front_left_foot"),
        lambda cat: Limbs(fc.robots.quadruped(), ["front_left_foot", "hand"]),
    ],
)
def test_what_cannot_be_planned_is_refused(cat, call):
    with pytest.raises(FallingCatError):
        call(cat)
