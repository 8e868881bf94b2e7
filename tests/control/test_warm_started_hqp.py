"""Strict priorities under limits in machine code against the careful way, whatever is guessed."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.control import BaseTask, JointLimits, JointsTask, PositionTask, RateLimits, SpeedLimit, velocities
from fallingcat.control.inverse_kinematics import differential as priorities
from fallingcat.errors import ModelError
from fallingcat.qp.hqp_reference import limited_least_squares
from fallingcat.qp.least_squares import Level
from fallingcat.qp.warm_started_hqp import Stack, solve_warm_started


def problem(seed):
    """Levels that contradict and depend on each other, and limits of which some are in the way."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    levels = []
    for _ in range(int(rng.integers(1, 4))):
        A = rng.standard_normal((int(rng.integers(1, n + 3)), n))
        A[0] = A[-1] if rng.random() < 0.3 else A[0]
        levels.append(Level(A, 3.0 * rng.standard_normal(len(A)), rng.uniform(0.1, 3.0, len(A))))
    G = rng.standard_normal((int(rng.integers(1, 2 * n + 3)), n))
    return n, levels, G, rng.uniform(0.1, 1.0, len(G)), rng


def stacked(levels):
    return Stack(*map(np.concatenate, zip(*levels, strict=True)), (0, *np.cumsum([len(x.b) for x in levels]).tolist()))


def test_it_finds_what_the_careful_way_finds():
    found = 0
    for seed in range(60):
        n, levels, G, h, rng = problem(seed)
        careful = limited_least_squares(levels, G, h, n)
        for held in (np.zeros(len(h), bool), careful.multipliers > 0.0, rng.random(len(h)) < 0.5):
            fast = solve_warm_started(stacked(levels), np.eye(n), G, h, held)
            if fast is None:
                continue
            found += 1
            scale = max(1.0, np.abs(careful.x).max())
            assert np.abs(fast.x - careful.x).max() < 1e-7 * scale, seed
            assert (G @ fast.x <= h + 1e-9).all()
    assert found > 150  # of 180: where it goes in circles it says so


@pytest.mark.parametrize("base", [fc.lie.SE3(), fc.lie.SE2(), fc.lie.Trivial()])
def test_velocities_are_those_of_the_careful_way(monkeypatch, base):
    """Least in the metric of kinetic energy too, with levels that depend on each other; and of the same ranks."""
    rng = np.random.default_rng(1)
    robot = fc.robots.random_tree(rng, 6, base=base)
    state = robot.random_state(rng)
    places = [robot.link_names[-1], robot.link_names[-1], robot.link_names[3]]
    tasks = [[PositionTask(place, velocity=rng.normal(size=3))] for place in places]
    tasks[1].append(JointsTask(velocity=rng.normal(size=robot.n), weight=rng.uniform(0.1, 2.0, robot.n)))
    hand = SpeedLimit(PositionTask(robot.link_names[2]), 0.1)
    for limits in ([], [hand]):
        fast = velocities(robot, state, tasks, limits=limits)
        with monkeypatch.context() as patch:
            patch.setattr(priorities, "_warm_started", lambda *given: None)
            careful = velocities(robot, state, tasks, limits=limits)
        assert np.abs(fast.velocity - careful.velocity).max() < 1e-10 * max(1.0, np.abs(careful.velocity).max())
        assert (fast.ranks, fast.status, fast.unmet) == (careful.ranks, careful.status, careful.unmet)
        for one, two in zip(fast.residuals, careful.residuals, strict=True):
            assert np.abs(one - two).max() < 1e-10
    assert fast.active


def test_limits_that_contradict_each_other_are_left_to_the_careful_way():
    one = Level(np.eye(1), np.array([0.0]), np.ones(1))
    limits = np.array([[1.0], [-1.0]]), np.array([-1.0, -1.0])
    assert solve_warm_started(stacked([one]), np.eye(1), *limits, np.zeros(2, bool)) is None


def test_the_last_answer_changes_nothing_but_the_time():
    dog = fc.robots.quadruped()
    state = dog.state(joints=np.tile([0.1, 0.6, -1.2], 4))
    feet = [PositionTask(f"{end}_{side}_foot") for end in ("front", "rear") for side in ("left", "right")]
    found = None
    for speed in np.linspace(-4.0, -8.0, 6):
        tasks = [feet, [BaseTask(velocity=[0.3, 0.0, speed, 0.0, 0.2, 0.0])], [JointsTask(np.zeros(12))]]
        cold = velocities(dog, state, tasks, limits=[JointLimits(), RateLimits()])
        warm = velocities(dog, state, tasks, limits=[JointLimits(), RateLimits()], last=found)
        assert np.abs(cold.velocity - warm.velocity).max() < 1e-9
        assert (cold.status, set(cold.active)) == (warm.status, set(warm.active))
        assert warm.optimality < 1e-8
        found = warm
    assert found.active
    with pytest.raises(ModelError, match="last must be a result of velocities"):
        velocities(dog, state, tasks, last=3)


def test_tasks_remember_their_numbers_for_one_robot_at_a_time():
    first, second = fc.robots.planar_arm(), fc.robots.planar_arm()
    task = JointsTask([0.1, 0.2, 0.3])
    numbers = task.packed(first)
    assert task.packed(first) is numbers
    assert not numbers.flags.writeable
    assert task.packed(second) is not numbers
    import pickle

    again = pickle.loads(pickle.dumps(task))
    assert again == task
    assert "_packed" not in vars(again)
