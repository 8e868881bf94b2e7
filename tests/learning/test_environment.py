"""Environments whose arrays stay where they are: 64 robots on the CPU, in NumPy, Torch and JAX."""

import copy
import importlib.util
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.learning import Environment, GymnasiumView, Randomization, Task, Walk, evaluate

DIFFERENT = Randomization(
    mass=(0.8, 1.2), friction=(0.4, 1.2), stiffness=(0.9, 1.1), damping=(0.8, 1.2), strength=(0.9, 1.1), push=0.5,
    action_delay=2, sensor_delay=1,
)  # fmt: skip
ROBOT = fc.robots.quadruped()
FLAT = fc.contact.HeightField(np.zeros((2, 2)), spacing=20.0, origin=(-10.0, -10.0))
LIBRARIES = [name for name in ("numpy", "torch", "jax") if importlib.util.find_spec(name)]


def world(robots=64, library="numpy", randomization=DIFFERENT, seed=3, bank=32, **about):
    return Environment(Walk(ROBOT, randomization=randomization, **about), robots, library=library, seed=seed, bank=bank)


def acted(env, steps=10, seed=0):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(steps):
        result = env.step(env.library.floats(rng.standard_normal((env.robots, env.actions))))
        found.append([env.library.to_numpy(x).copy() for x in result[:5]])
    return found


@pytest.mark.parametrize(
    "library", [pytest.param(name, marks=pytest.mark.slow) if name == "jax" else name for name in LIBRARIES]
)
def test_the_seed_fixes_everything(library):
    env = world(library=library, noise={"joints": 0.02})
    env.reset(5)
    first = acted(env)
    env.reset(5)
    assert all(np.array_equal(a, b) for x, y in zip(first, acted(env), strict=True) for a, b in zip(x, y, strict=True))
    env.reset(6)
    assert not np.array_equal(first[-1][0], acted(env)[-1][0])


def test_an_environment_goes_on_from_what_it_carries():
    env = world(8)
    env.reset(5)
    acted(env, 3)
    kept, random = [x.copy() for x in env.carried], copy.deepcopy(env.library.random)
    first = acted(env, 4)
    env.carry(kept)
    env.library.random = random
    again = acted(env, 4)
    assert all(np.array_equal(a, b) for x, y in zip(first, again, strict=True) for a, b in zip(x, y, strict=True))


@pytest.mark.parametrize(("library", "tolerance"), [("torch", 1e-12), ("jax", 1e-4), ("cupy", 1e-4)])
def test_libraries_count_the_same(library, tolerance):
    """Without random numbers after the reset, and from one start; JAX and GPUs count in single precision."""
    pytest.importorskip(library)
    there = {"target": "cuda"} if library == "cupy" else {}
    task = Walk(ROBOT, command_period=1e12)
    envs = [Environment(task, 8, bank=1, seed=3), Environment(task, 8, bank=1, seed=3, library=library, **there)]
    for env in envs:
        env.reset(0)
        env._now = env.now.with_(commands=env.library.floats(np.full((8, 3), 0.3)))
    for here, other in zip(*(acted(env, 5) for env in envs), strict=True):
        for a, b in zip(here, other, strict=True):
            np.testing.assert_allclose(b, a, atol=tolerance)


def test_observations_are_views_of_the_simulators_memory():
    env = world(4)
    assert np.shares_memory(env.now.joints, env.batch.rows)
    assert np.shares_memory(env.now.rotation, env.batch.rows)


def test_a_robot_that_breaks_is_reset_counted_and_reported():
    env = world(8, randomization=Randomization())
    env.reset(0)
    env.batch.part("twist")[3] = np.nan
    result = env.step(np.zeros((8, 12)), details=True)
    assert result.broken.tolist() == [False] * 3 + [True] + [False] * 4
    assert result.terminated[3]
    assert result.rewards[3] == 0.0
    assert all(np.isfinite(x).all() for x in (result.observations, result.rewards, result.terms))
    assert env.report() == {"episodes": 1, "falls": 1, "broken": 1}
    assert env.now.time[3] == 0.0 < env.now.time[2]
    assert np.isfinite(env.batch.rows).all()


def test_episodes_end_by_falls_and_by_the_horizon():
    env = world(4, randomization=Randomization(), horizon=0.06)
    env.reset(0)
    env.batch.part("pose")[1, 11] = 0.05  # the base lies on the ground
    ends = [env.step(np.zeros((4, 12))) for _ in range(3)]
    assert ends[0].terminated.tolist() == [False, True, False, False]
    assert not ends[0].truncated.any()
    assert ends[2].truncated.tolist() == [True, False, True, True]


def test_actions_come_late_by_whole_periods():
    env = world(16, randomization=Randomization(action_delay=1))
    env.reset(0)
    lag = env._delays[0]._lag.copy()
    env.step(np.ones((16, 12)))
    targets = env.now.inputs["targets"] - env.task.stance.joints
    assert set(lag.tolist()) == {0, 1}
    np.testing.assert_allclose(targets[:, 0], np.where(lag == 0, 0.25, 0.0), atol=1e-15)


def test_gains_masses_and_friction_differ_and_change_at_resets():
    env = world(16)
    env.reset(0)
    kp = env._kp_kd[0][:, 0].copy()
    assert kp.min() >= 60.0 * 0.81
    assert kp.max() <= 60.0 * 1.21
    assert len(set(kp.tolist())) == 16
    masses = env.batch._own_parameters.copy()
    env._restart(np.arange(16) < 4)
    assert not np.array_equal(masses[:4], env.batch._own_parameters[:4])
    assert np.array_equal(masses[4:], env.batch._own_parameters[4:])
    assert np.array_equal(env._kp_kd[0][4:, 0], kp[4:])


def test_pushes_are_horizontal_in_the_world():
    env = world(16, randomization=Randomization(push=1.0, push_period=1e-9))
    env.reset(0)
    before = env.batch.part("twist").copy()
    rotation = env.now.rotation.copy()
    env._push_bases()
    change = np.einsum("nij,nj->ni", rotation, (env.batch.part("twist") - before)[:, :3])
    np.testing.assert_allclose(change[:, 2], 0.0, atol=1e-12)
    assert (np.abs(change[:, :2]).max(axis=1) > 1e-3).all()
    assert np.array_equal(env.batch.part("twist")[:, 3:], before[:, 3:])


class Air(Task):
    """A task with a memory: how long feet are in the air."""

    model, actions = ROBOT, 12
    contact = fc.contact.CompliantFloor(tuple(f.name for f in ROBOT.frames), friction=0.8)
    laws = (fc.control.PositionServo(60.0, 1.5, np.tile([0.0, 0.6, -1.2], 4)),)

    def start(self, rng, count):
        return Walk(ROBOT).start(rng, count)

    def control(self, actions, now):
        return {"targets": actions + now.joints}

    def observe(self, now):
        return {"heights": now.feet[:, :, 2], "speeds": now.foot_velocities[:, :, 2], "air": self.remember(now)["air"]}

    def reward(self, now):
        return {"force": now.foot_forces[:, :, 2].sum(axis=1)}

    def remember(self, now):
        air = now.memory["air"] if now.memory else 0.0 * now.feet[:, :, 2]
        return {"air": now.xp.where(now.contacts, 0.0 * air, air + self.period)}


def test_a_task_of_ones_own_sees_feet_and_remembers():
    env = Environment(Air(), 4, bank=4)
    env.reset(0)
    first = env.step(np.zeros((4, 12)))
    np.testing.assert_allclose(env.now.memory["air"], np.where(env.now.contacts, 0.0, 0.02))
    assert env.fields == {"heights": 4, "speeds": 4, "air": 4}
    assert env.field(5) == "speeds[1]"
    assert first.terms.shape == (1, 4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: world(4).step(np.zeros((4, 11))), r"actions must have shape \(4, 12\)"),
        (lambda: world(4).step(np.full((4, 12), np.nan)), "action 0 of robot 0 must be a finite number"),
        (lambda: world(4, library="tensorflow"), "library is one of numpy, torch, jax, cupy"),
        (lambda: world(4, library="cupy"), "cupy has no arrays on 'cpu'"),
        (lambda: world(4).reset(-1), "seed is a whole number"),
        (lambda: world(0), "robots"),
        (lambda: world(4, period=0.003), "period is a whole number of steps"),
        (lambda: Randomization(mass=(1.2, 0.8)), r"mass is \(low, high\)"),
        (lambda: Randomization(action_delay=0.5), "action_delay is a whole number"),
        (lambda: Walk(fc.robots.planar_arm()), "a robot with a free base"),
        (lambda: Walk(ROBOT, weights={"speed": 1.0}), "weights are those of velocity"),
        (lambda: Walk(ROBOT, posture={"elbow": 1.0}), "no joint of 'quadruped' ends in it"),
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(fc.FallingCatError, match=message):
        call()


def test_the_view_of_gymnasium_passes_its_checks():
    view = GymnasiumView(world(4, randomization=Randomization(), horizon=0.04))
    seen, infos = view.reset(seed=1)
    assert view.observation_space.contains(seen)
    assert infos == {}
    view.step(np.zeros((4, 12)))
    seen, rewards, terminations, truncations, infos = view.step(np.zeros((4, 12)))
    assert truncations.all()
    assert not terminations.any()
    assert infos["_final_obs"].all()
    assert not np.array_equal(infos["final_obs"], seen)
    assert rewards.shape == (4,)


def test_standing_still_is_judged():
    found = evaluate(world(8, randomization=Randomization()), lambda seen: 0.0 * seen[:, :12], 0.4)
    assert found.standing == 1.0
    assert found.broken == 0
    assert 0.2 < found.metrics["speed error (m/s)"] < 1.2  # it does not go where it is told


def test_humanoid_and_files_walk_too(tmp_path):
    humanoid = Walk(fc.robots.humanoid())
    assert humanoid.actions == 14
    assert len(humanoid.feet) == 8
    assert humanoid.gait == 0.7
    env = Environment(humanoid, 2, bank=2)
    result = env.step(np.zeros((2, 14)))
    assert np.isfinite(result.rewards).all()
    assert env.fields["clock"] == 2


def test_robots_of_files_stand_by_the_names_of_their_joints():
    """Joints named as those of Unitree are: the center of mass is above the feet, without a word."""
    names = {"roll": "hip_joint", "hip": "thigh_joint", "knee": "calf_joint"}
    joints = [replace(x, name=f"{x.name.rsplit('_', 1)[0]}_{names[x.name.rsplit('_', 1)[1]]}") for x in ROBOT.joints]
    model = replace(ROBOT, name="stranger", joints=tuple(joints))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        task = Walk(model)
        assert task.stance.joints[:3].tolist() == [0.0, 0.8, -1.5]


def test_a_stance_that_tips_over_is_said():
    with pytest.warns(
        UserWarning, match=r"'quadruped' stands with its center of mass 0\.\d+ m beside .* give posture="
    ):
        _ = Walk(ROBOT, posture={"roll": 0.0, "hip": 1.3, "knee": -0.6}).stance


def test_flat_terrain_is_the_floor():
    flat, floor = (
        world(4, randomization=Randomization(), bank=1, terrain=t, command_period=1e12) for t in (FLAT, None)
    )
    for part in ("pose", "velocity", "joints"):
        flat.batch.part(part)[:] = floor.batch.part(part)
    for _ in range(10):
        ends = [env.step(np.full((4, 12), 0.2)).terminated for env in (flat, floor)]
    np.testing.assert_allclose(flat.now.joints, floor.now.joints, atol=1e-4)  # slip is remembered in another way
    np.testing.assert_allclose(flat.now.height, flat.now.position[:, 2], atol=1e-12)
    np.testing.assert_allclose(floor.now.foot_heights, floor.now.feet[:, :, 2], atol=1e-12)
    assert not np.any(ends)


def test_robots_start_all_over_a_height_field_and_fall_by_their_height_above_it():
    rough = np.random.default_rng(0).uniform(0.0, 0.04, (2, 2)) + 3.0
    field = fc.contact.HeightField(rough, spacing=3.0, origin=(-1.0, 2.0))
    env = world(8, randomization=Randomization(), terrain=field)
    places = env.now.position
    assert np.ptp(places[:, 0]) > 1.0
    assert (env.now.foot_heights > 0.0).all()
    assert env.now.height == pytest.approx([z - field.height(x, y) for x, y, z in places], rel=0.01)
    for _ in range(20):
        assert not env.step(np.zeros((8, 12))).terminated.any()
    assert (np.abs(env.now.foot_heights) < 0.01).all()
    assert env.now.foot_forces[:, :, 2].sum(axis=1) == pytest.approx(9.81 * ROBOT.mass, rel=0.5)


class Steps(Walk):
    """A curriculum: half a level up after a whole episode, down after a fall."""

    first_level = 0.25

    def level(self, now, fallen):
        return now.xp.where(fallen, now.level - 0.5, now.level + 0.5)


def test_levels_follow_episodes_and_scale_commands_and_pushes():
    pushed = Randomization(push=1.0, push_period=1e-9)
    task = Steps(ROBOT, randomization=pushed, horizon=0.06, command_period=1e-9)
    env = Environment(task, 4, bank=4)
    env.reset(0)
    assert env.now.level.tolist() == [0.25] * 4
    whole = Environment(Walk(ROBOT, randomization=pushed), 4, bank=4)
    whole.reset(0)
    np.testing.assert_allclose(env.now.commands, 0.25 * whole.now.commands)
    changes = []
    for each in (env, whole):
        each.library.seed(5)
        before = each.batch.part("twist").copy()
        each._push_bases()
        changes.append(each.batch.part("twist") - before)
    np.testing.assert_allclose(changes[0], 0.25 * changes[1], atol=1e-14)
    env.batch.part("pose")[1, 11] = 0.05  # it lies on the ground
    levels = [env.step(np.zeros((4, 12))) and env.now.level.tolist() for _ in range(6)]
    assert levels[0] == levels[1] == [0.25, 0.0, 0.25, 0.25]
    assert levels[2][0] == 0.75
    assert levels[5][0] == 1.0  # never above
    limits = np.array([1.0, 0.5, 1.0])
    assert (np.abs(env.now.commands) <= env.now.level[:, None] * limits).all()
    env.reset(0, level=1.0)
    assert env.now.level.tolist() == [1.0] * 4
    whole.reset(0)
    np.testing.assert_array_equal(env.now.commands, whole.now.commands)


def test_policies_are_evaluated_at_the_highest_level():
    env = Environment(Steps(ROBOT, horizon=5.0), 64, bank=4)
    assert np.abs(env.now.commands).max() <= 0.25
    evaluate(env, lambda seen: np.zeros((64, 12)), 0.04)
    assert np.abs(env.now.commands).max() > 0.8
    with pytest.raises(fc.ModelError, match="level is a number from 0 to 1"):
        env.reset(0, level=1.5)


class Recent(Walk):
    """A task with a history: it sees the joints of the last two actions."""

    def observe(self, now):
        past = now.memory["joints"] if now.memory else now.xp.concatenate([now.joints, now.joints], axis=1)
        return super().observe(now) | {"past joints": past}

    def remember(self, now):
        past = now.memory["joints"] if now.memory else 0.0 * now.joints
        return {"joints": now.xp.concatenate([now.joints, past[:, :12]], axis=1)}


@pytest.mark.parametrize("library", [name for name in LIBRARIES if name != "jax"])
def test_a_history_is_observed(library):
    env = Environment(Recent(ROBOT), 4, library=library, bank=4)
    seen = []
    for _ in range(3):
        env.step(env.library.floats(np.ones((4, 12))))
        seen.append(env.library.to_numpy(env.now.joints).copy())
    past = env.library.to_numpy(env.now.memory["joints"])
    np.testing.assert_array_equal(past, np.hstack([seen[2], seen[1]]))
    assert env.fields["past joints"] == 24
    policy = fc.learning.Policy.of(env.task, [(np.zeros((12, 72)), np.zeros(12))])
    with pytest.raises(fc.ModelError, match="observes what its task remembers"):
        policy.law(env.task)(ROBOT, env.task.stance, np.zeros(1), np.zeros(3), np.zeros(12))


def test_chosen_robots_are_shown_in_one_scene(tmp_path):
    env = world(6)
    page = fc.learning.render(env, lambda seen: 0.0 * seen[:, :12], 0.1, robots=(4, 1), seed=2)
    (scene,) = page.blocks
    env.reset(2, level=1.0)
    for _ in range(5):
        env.step(np.zeros((6, 12)))
    assert len(scene.times) == 6
    assert scene.times[-1] == pytest.approx(0.1)
    aside = scene.poses[f"1 {ROBOT.links[0].name}"][-1, 1, 3] - env.now.position[1, 1]
    assert aside > 0.7  # they start at one place
    for k, shift in ((4, 0.0), (1, aside)):
        end = scene.poses[f"{k} {ROBOT.links[0].name}"][-1]
        np.testing.assert_allclose(end[:3, 3] - [0.0, shift, 0.0], env.now.position[k], atol=1e-12)
        np.testing.assert_allclose(end[:3, :3], env.now.rotation[k], atol=1e-12)
    spread = fc.learning.render(world(4, terrain=FLAT), lambda seen: 0.0 * seen[:, :12], 0.02, robots=(0, 1))
    (scene,) = spread.blocks
    starts = [scene.poses[f"{k} {ROBOT.links[0].name}"][0, :3, 3] for k in (0, 1)]
    both = world(4, terrain=FLAT)
    both.reset(0, level=1.0)
    np.testing.assert_allclose(starts, both.now.position[:2], atol=1e-12)
    assert page.write(tmp_path / "robots.html").stat().st_size > 10_000
    with pytest.raises(fc.ModelError, match="robots must be different numbers from 0 to 5"):
        fc.learning.render(env, lambda seen: seen, robots=(6,))
    with pytest.raises(fc.FallingCatError, match="rate is a number"):
        page.video(tmp_path / "robots.mp4", rate=0)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_an_environment_refuses_to_be_copied(copied):
    with pytest.raises(fc.errors.ModelError, match="an Environment has no copies: make another"):
        copied(Environment(Walk(fc.robots.quadruped()), 2))
