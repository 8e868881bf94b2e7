"""The vector environment in the conventions of Gymnasium."""

import importlib
import shutil
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.wrappers.vector import (
    DictInfoToList,
    RecordEpisodeStatistics,
    RescaleAction,
    TransformReward,
)
from support.emulated_gpu import emulated

import fallingcat as fc
from fallingcat.control import JointDamper, JointSpring
from fallingcat.errors import ExtraMissingError
from fallingcat.simulation import BatchSimulator, VectorEnvironment

ARM = fc.robots.planar_arm()


def start(rng):
    return ARM.state(joints=rng.uniform(-0.5, 0.5, size=3))


def arms(count=4, **more):
    options = {"actions": (-np.ones(3), np.ones(3)), "period": 0.02, "horizon": 0.1, "dt": 2e-3}
    return VectorEnvironment(ARM, count, start, lambda b, a, c: -(c.joints**2).sum(axis=1), **(options | more))


def test_it_is_what_gymnasium_expects():
    world = arms()
    assert isinstance(world, VectorEnv)
    assert isinstance(world.unwrapped, VectorEnvironment)
    assert world.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert world.single_observation_space.shape == (12 + 3 + 0 + 3,)
    assert world.observation_space.shape == (4, 18)
    assert world.single_action_space.shape == (3,)
    assert world.action_space.shape == (4, 3)
    seen, infos = world.reset(seed=3)
    assert world.observation_space.contains(seen)
    assert infos == {}
    world.action_space.seed(0)
    seen, rewards, terminations, truncations, infos = world.step(world.action_space.sample())
    assert world.observation_space.contains(seen)
    assert rewards.shape == terminations.shape == truncations.shape == (4,)
    assert (rewards.dtype, terminations.dtype, truncations.dtype, infos) == (np.float64, np.bool_, np.bool_, {})
    world.close()


def test_a_step_is_that_of_the_batch():
    world = arms(laws=[JointSpring(2.0), JointDamper(0.1)])
    world.reset(seed=5)
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, size=(3, 4, 3))
    states = [start(np.random.default_rng(5 + i)) for i in range(4)]
    simulator = BatchSimulator(ARM, states, [JointSpring(2.0), JointDamper(0.1)], dt=2e-3, driven=True)
    for action in actions:
        seen, rewards, *_ = world.step(action)
        simulator.step(10, action)
        np.testing.assert_array_equal(seen[:, 12:15], simulator.state.joints)
        np.testing.assert_array_equal(rewards, -(simulator.state.joints**2).sum(axis=1))


def test_seeds_say_everything_and_generators_go_on_without_them():
    first, again, more = arms(), arms(), arms(count=6)
    a, b, c = (world.reset(seed=9)[0] for world in (first, again, more))
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(a, c[:4])
    np.testing.assert_array_equal(first.reset()[0], again.reset()[0])
    assert (first.reset()[0] != a).any()
    np.testing.assert_array_equal(first.reset(seed=[12, None, 11, 9])[0][[0, 2, 3]], a[[3, 2, 0]])
    with pytest.raises(fc.ModelError, match="seed is a whole number, or 4 of them"):
        first.reset(seed=[1, 2])


def test_episodes_are_cut_off_and_start_anew_in_the_next_step():
    world, rest = arms(), np.zeros((4, 3))
    world.reset(seed=1)
    ends = [world.step(rest)[3].tolist() for _ in range(5)]
    assert ends == [[False] * 4] * 4 + [[True] * 4]
    seen, rewards, terminations, truncations, _ = world.step(100.0 * np.ones((4, 3)))
    assert not rewards.any()
    assert not terminations.any()
    assert not truncations.any()
    generators = [np.random.default_rng(1 + i) for i in range(4)]
    expected = [[start(rng).joints for rng in generators] for _ in range(2)][1]
    np.testing.assert_array_equal(seen[:, 12:15], expected)
    assert world.simulator.times.tolist() == [0.0] * 4
    assert [world.step(rest)[3].any() for _ in range(5)] == [False] * 4 + [True]


def test_each_robot_ends_for_itself():
    world = arms(done=lambda state: state.joints[:, 0] > 0.45, horizon=10.0)
    world.reset(seed=4)
    push = np.array([[1.0, 0.0, 0.0]] * 2 + [[-1.0, 0.0, 0.0]] * 2)
    ended = np.zeros(4, dtype=bool)
    for _ in range(200):
        before = world.simulator.times.copy()
        _, _, terminations, truncations, _ = world.step(push)
        assert (world.simulator.times[ended] == 0.0).all()
        assert not truncations.any()
        np.testing.assert_allclose(world.simulator.times[~ended], before[~ended] + 0.02)
        np.testing.assert_array_equal(terminations[~ended], (world.simulator.state.joints[:, 0] > 0.45)[~ended])
        ended = terminations
        if terminations[:2].any():
            break
    else:
        pytest.fail("nothing ended")


def test_some_are_reset_by_a_mask():
    world = arms()
    world.reset(seed=1)
    seen = world.step(np.ones((4, 3)))[0]
    mask = np.array([True, False, False, True])
    after, _ = world.reset(options={"reset_mask": mask})
    np.testing.assert_array_equal(after[~mask], seen[~mask])
    assert (after[mask] != seen[mask]).any(axis=1).all()
    with pytest.raises(fc.ModelError, match="reset_mask is 4 truth values"):
        world.reset(options={"reset_mask": [1, 2]})


def test_what_breaks_is_named_and_starts_anew():
    def control(action, state):
        return np.where(state.joints[:, :1] > 0.3, np.nan, 0.0) * np.ones(3)

    world = arms(count=8, control=control, horizon=10.0)
    begun, _ = world.reset(seed=0)
    high = begun[:, 12] > 0.3
    assert 0 < high.sum() < 8
    seen, rewards, terminations, _, infos = world.step(np.zeros((8, 3)))
    np.testing.assert_array_equal(infos["broken"], high)
    np.testing.assert_array_equal(terminations, high)
    assert np.isfinite(seen).all()
    assert np.isfinite(rewards).all()
    assert (rewards[high] == 0.0).all()
    np.testing.assert_array_equal(seen[high], begun[high])
    seen, _, terminations, *_ = world.step(np.zeros((8, 3)))
    assert np.isfinite(seen).all()
    assert not terminations[high].any()


def test_wrappers_of_gymnasium_take_it():
    world = RecordEpisodeStatistics(arms())
    world.reset(seed=0)
    total = np.zeros(4)
    for _ in range(5):
        _, rewards, *_, infos = world.step(np.zeros((4, 3)))
        total += rewards
    np.testing.assert_allclose(infos["episode"]["r"], total)
    assert infos["episode"]["l"].tolist() == [5] * 4
    wrapped = DictInfoToList(TransformReward(RescaleAction(arms(), -3.0, 3.0), lambda r: 2.0 * r))
    wrapped.reset(seed=0)
    plain = arms()
    plain.reset(seed=0)
    np.testing.assert_allclose(
        wrapped.step(3.0 * np.ones((4, 3), dtype=np.float32))[1], 2.0 * plain.step(np.ones((4, 3)))[1], rtol=1e-6
    )


def test_effort_limits_are_the_bounds_of_actions():
    from dataclasses import replace

    strong = replace(
        ARM, joints=tuple(replace(j, limits=fc.model.Limits(effort=2.0 + i)) for i, j in enumerate(ARM.joints))
    )
    world = VectorEnvironment(strong, 2, lambda rng: strong.neutral(), lambda b, a, c: np.zeros(2))
    np.testing.assert_array_equal(world.single_action_space.high, [2.0, 3.0, 4.0])
    with pytest.raises(fc.ModelError, match=r"how strong all its joints are: give actions=\(low, high\)"):
        VectorEnvironment(ARM, 2, start, lambda b, a, c: np.zeros(2))


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"count": 0}, "count is a whole number above zero"),
        ({"period": 0.003, "dt": 2e-3}, r"period is a whole number of steps of 0\.002 s, not 0\.003 s"),
        ({"horizon": -1.0}, "horizon is a finite number of seconds"),
        ({"actions": (-np.ones(2), np.ones(3))}, r"actions are \(low, high\), numbers of one shape, not an array"),
        ({"actions": ("weak", "strong")}, "numbers of one shape, not 'weak' and 'strong'"),
        ({"actions": (np.ones(3), -np.ones(3))}, "none of low above high"),
        ({"observe": lambda state: np.zeros(3)}, r"observe gives an array of shape \(4, k\)"),
    ],
)
def test_wrong_tasks_are_refused(more, says):
    with pytest.raises(fc.ModelError, match=says):
        arms(**more)


def test_wrong_actions_and_rewards_are_refused():
    world = arms()
    world.reset(seed=0)
    for wrong in (np.zeros(3), np.zeros((4, 2))):
        with pytest.raises(fc.ModelError, match=r"actions are finite numbers of shape \(4, 3\)"):
            world.step(wrong)
    with pytest.raises(fc.ModelError, match=r"actions are finite numbers, not \[0.0, nan, 0.0\] of robot 2"):
        world.step(np.where(np.arange(12).reshape(4, 3) == 7, np.nan, 0.0))
    world._reward = lambda b, a, c: np.zeros(5)
    with pytest.raises(fc.ModelError, match="reward gives 4 numbers"):
        world.step(np.zeros((4, 3)))
    world._reward = lambda b, a, c: np.array([0.0, 1.0, np.nan, 0.0])
    with pytest.raises(fc.ModelError, match="the reward of robot 2 is nan"):
        world.step(np.zeros((4, 3)))
    with pytest.raises(fc.ModelError, match="reset\\(\\) comes before"):
        arms().step(np.zeros((4, 3)))


def test_without_gymnasium_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.setitem(sys.modules, "gymnasium.spaces", None)
    monkeypatch.delitem(sys.modules, "fallingcat.simulation.environment")
    with pytest.raises(ExtraMissingError, match=r"VectorEnvironment needs gymnasium: pip install '\.\[gym\]'"):
        importlib.import_module("fallingcat.simulation.environment")


def test_gains_of_each_robot_are_numbers_of_one_code():
    """A simulator whose laws differ is the batches of each, on one kernel."""
    states = [ARM.state(joints=[0.1 * i, 0.2, 0.3]) for i in range(3)]
    laws = [[JointSpring(1.0 + i, name="a"), JointDamper(0.1 * i)] for i in range(3)]
    simulator = BatchSimulator(ARM, states, laws, dt=2e-3)
    simulator.step(50)
    for i in range(3):
        alone = BatchSimulator(ARM, states[i : i + 1], laws[i], dt=2e-3)
        alone.step(50)
        np.testing.assert_allclose(simulator.state.joints[i], alone.state.joints[0], rtol=1e-13)
    with pytest.raises(fc.ModelError, match="laws of 3 robots are 3 lists of laws, not 2"):
        BatchSimulator(ARM, states, laws[:2])
    with pytest.raises(fc.ModelError, match="laws of robot 1 differ from those of the first in more than numbers"):
        BatchSimulator(ARM, states, [laws[0], laws[0][::-1], laws[0]])
    assert gym.__version__ >= "1.1"


@pytest.mark.skipif(shutil.which("g++") is None or sys.platform == "win32", reason="needs a C++ compiler")
def test_on_a_gpu_it_is_the_same(monkeypatch, tmp_path):
    """Through resets: functions of the task see arrays of NumPy, as on the CPU."""
    monkeypatch.setitem(sys.modules, "cupy", emulated(tmp_path))
    seen_by_task = []

    def control(action, state):
        seen_by_task.extend((type(action), type(state.rates)))
        return action - 0.1 * state.rates

    about = {"control": control, "done": lambda state: state.joints[:, 0] > 0.6, "period": 4e-3, "horizon": 8e-3}
    worlds = [arms(3, target=target, **about) for target in ("cpu", "cuda")]
    assert isinstance(worlds[1].simulator.state.joints, sys.modules["cupy"].ndarray)
    observations = [world.reset(seed=1)[0] for world in worlds]
    np.testing.assert_array_equal(*observations)
    rng, ends = np.random.default_rng(0), 0
    for _ in range(5):
        actions = rng.uniform(-1.0, 1.0, size=(3, 3))
        here, there = (world.step(actions) for world in worlds)
        for a, b in zip(here[:4], there[:4], strict=True):
            assert type(b) is np.ndarray
            np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-14)
        ends += here[3].sum()
    assert ends >= 3
    assert set(seen_by_task) == {np.ndarray}


def test_refuses_a_target_that_there_is_not():
    with pytest.raises(fc.ModelError, match="float64"):
        arms(dtype="float32")
