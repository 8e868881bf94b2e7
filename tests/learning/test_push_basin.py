"""Basins of pushed robots: counts, phases, agreement of array libraries, finer steps and an emulated GPU."""

import sys
from pathlib import Path

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.learning import Policy, PushBasin, PushedRobots, Pushes, PushGrid, Walk, steady_gait
from tests.support.emulated_gpu import emulated

POLICY = Policy.load(Path(__file__).parents[2] / "examples" / "learning" / "quadruped_walk.npz")
TASK = Walk.of(fc.robots.quadruped(), POLICY.about)
GRID = PushGrid(4, 8, 3, strongest=4.0)


@pytest.fixture(scope="module")
def gait():
    return steady_gait(TASK, POLICY, (0.5, 0.0, 0.0))


def some(gait, count, seed=0):
    rng = np.random.default_rng(seed)
    return Pushes(rng.random(count), rng.random(count), rng.integers(0, len(gait.times), count))


def test_phases_of_the_gait_follow_its_stride(gait):
    """Joints at equal phases are the same; the fundamental of the joint that moves most has its crest at phase 0."""
    assert 0.2 < gait.stride < 0.25
    moved = gait.states.joints - gait.states.joints.mean(axis=0)
    most = moved[:, np.argmax(moved.std(axis=0))]
    assert np.cos(2.0 * np.pi * gait.phases) @ most > 5.0 * abs(np.sin(2.0 * np.pi * gait.phases) @ most)
    order = np.argsort(gait.phases)
    near = np.abs(np.diff(moved[order], axis=0)).mean() / np.abs(np.diff(moved, axis=0)).mean()
    assert near < 0.5


def test_a_robot_that_stands_has_no_phase():
    gait = steady_gait(TASK, None, (0.0, 0.0, 0.0))
    assert gait.stride == 0.0
    assert not gait.phases.any()


def test_a_strength_that_was_never_tried_is_not_safe():
    counts = np.array([[9, 0, 0], [0, 0, 0], [9, 0, 0], [9, 0, 0]])  # strengths x phases
    assert PushBasin(PushGrid(1, 2, 2, strongest=2.0), counts).safe() == 2.0
    assert PushBasin(PushGrid(1, 4, 1, strongest=2.0), counts).safe() == 0.5
    assert PushBasin(PushGrid(1, 4, 1, strongest=2.0), 0 * counts).safe() == 0.0


def test_every_push_is_counted_once(gait):
    """Whether all robots are pushed at once or a few again and again; the cells are those of the pushes."""
    given = some(gait, 96)
    at_once = PushedRobots(TASK, POLICY, gait, 96, GRID).run(96, given)
    assert at_once.pushes == 96
    cells = np.ravel_multi_index(
        [
            (4 * given.directions).astype(int),
            (8 * given.strengths).astype(int),
            (3 * gait.phases[given.samples]).astype(int),
        ],
        GRID.shape,
    )
    for k in range(3):
        assert np.array_equal(at_once.counts[:, k], np.bincount(cells[at_once.first == k], minlength=GRID.size))
    for seed in range(3):
        again = PushedRobots(TASK, POLICY, gait, 17, GRID).run(96, seed=seed)
        assert again.pushes == 96


def test_weak_pushes_are_survived_and_strong_ones_sideways_are_not(gait):
    robots = PushedRobots(TASK, POLICY, gait, 64, PushGrid(4, 2, 1, strongest=1.0))
    assert robots.run(64).counts.sum(axis=0).tolist() == [64, 0, 0]
    still = PushedRobots(TASK, None, steady_gait(TASK, None, (0.0, 0.0, 0.0)), 64, PushGrid(4, 2, 1, strongest=8.0))
    counts = still.run(64, Pushes(np.linspace(0, 0.99, 64), np.full(64, 0.9), np.zeros(64, dtype=int))).counts
    assert counts.sum(axis=0).tolist() == [0, 64, 0]


def test_a_push_changes_the_momentum_by_mass_times_its_strength(gait):
    robots = PushedRobots(TASK, POLICY, gait, 8, PushGrid(4, 2, 1, strongest=2.0))
    given = Pushes(np.arange(8) / 8.0, np.full(8, 0.5), np.arange(8) * 37)
    robots.library.seed(0)
    robots._begin(np.zeros(8))
    robots._push(np.ones(8, dtype=bool), robots._to_device(given))
    for i, state in enumerate(robots._robots.batch.simulator.state.at(k) for k in range(8)):
        before = gait.states.at(int(given.samples[i]))
        change = (fc.momentum(TASK.model, state, frame="world") - fc.momentum(TASK.model, before, frame="world"))[:3]
        ahead = state.pose[:2, 0] / np.linalg.norm(state.pose[:2, 0])
        along, left = change[:2] @ ahead, change[1] * ahead[0] - change[0] * ahead[1]
        angle = 2.0 * np.pi * given.directions[i]
        wanted = TASK.model.mass * np.array([np.cos(angle), np.sin(angle)])
        assert np.allclose([along, left], wanted, atol=1e-9)
        assert abs(change[2]) < 1e-9


def test_array_libraries_agree(gait):
    pytest.importorskip("torch")
    ends = [PushedRobots(TASK, POLICY, gait, 64, GRID, library=x).run(64, some(gait, 64)) for x in ("numpy", "torch")]
    assert np.array_equal(ends[0].first, ends[1].first)
    assert np.array_equal(ends[0].counts, ends[1].counts)


@pytest.mark.slow
def test_shorter_steps_move_the_tolerated_push_little(gait):
    """Single outcomes near the border differ; their share does not by more than 3 standard deviations, and 2 %."""
    given, n = some(gait, 1024), 1024
    shares = [(PushedRobots(TASK, POLICY, gait, n, GRID, refinement=k).run(n, given).first == 0).mean() for k in (1, 8)]
    assert abs(shares[0] - shares[1]) < 3.0 * np.sqrt(0.07 / n) + 0.02


def test_no_push_begins_after_the_time_limit(gait):
    found = PushedRobots(TASK, POLICY, gait, 16, GRID).run(10_000_000, seconds=0.0)
    assert 16 <= found.pushes < 1000


def test_numbers_of_a_map():
    """Of a map in which robots recover below 1 m/s ahead and below 2 m/s back."""
    grid = PushGrid(2, 4, 2, strongest=4.0)
    counts = np.zeros((2, 4, 2, 3), dtype=int)
    counts[0, :1, :, 0] = counts[1, :2, :, 0] = 5
    counts[0, 1:, :, 1] = counts[1, 2:, :, 1] = 5
    found = PushBasin(grid, counts.reshape(-1, 3))
    assert found.tolerated == 1.5
    assert found.tolerated_by_direction.tolist() == [1.0, 2.0]
    assert found.tolerated_by_phase.tolist() == [1.5, 1.5]
    assert found.safe() == 1.0


def test_odd_arguments_are_named(gait):
    with pytest.raises(fc.ModelError, match="have a Walk as their task"):
        PushedRobots(None, POLICY, gait, 4)
    with pytest.raises(fc.ModelError, match="robots"):
        PushedRobots(TASK, POLICY, gait, 0)
    with pytest.raises(fc.ModelError, match="given pushes are those of 4 robots"):
        PushedRobots(TASK, POLICY, gait, 4).run(4, some(gait, 3))


@pytest.mark.slow
def test_a_gpu_counts_the_same(gait, monkeypatch, tmp_path):
    """On an emulated one, whose arrays are those of a stand-in for CuPy."""
    here = PushedRobots(TASK, POLICY, gait, 12, GRID).run(12, some(gait, 12))
    module = emulated(tmp_path)
    module.__getattr__ = lambda name: getattr(np, name)
    monkeypatch.setitem(sys.modules, "cupy", module)
    there = PushedRobots(TASK, POLICY, gait, 12, GRID, target="cuda").run(12, some(gait, 12))
    assert np.array_equal(here.first, there.first)
    more = PushedRobots(TASK, POLICY, gait, 12, GRID, target="cuda").run(40)
    assert more.pushes == 40
