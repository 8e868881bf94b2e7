"""The learner: it improves, repeats, is interrupted and goes on, and refuses what is not a number."""

import ctypes
import json
import subprocess
from dataclasses import replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.errors import FileError, Interrupted, NumericsError
from fallingcat.learning import Environment, Policy, Randomization, Walk, evaluate, learn

torch = pytest.importorskip("torch")
from fallingcat.learning import Learner, RslRlView, Settings  # noqa: E402
from fallingcat.learning.training import DEFAULT_SETTINGS  # noqa: E402

torch.set_num_threads(1)
ROBOT = fc.robots.quadruped()
PUSHED = Randomization(mass=(0.8, 1.2), stiffness=(0.9, 1.1), push=0.5, action_delay=1, sensor_delay=1)
SMALL = Settings(hidden=(16, 8), steps=6, epochs=2, batches=2)


def learner(robots=64, seed=0, settings=SMALL, **about):
    return Learner(Environment(Walk(ROBOT, **about), robots, library="torch", seed=seed, bank=16), settings, seed)


def test_the_same_seed_gives_the_same_policy():
    found = []
    for seed in (1, 1, 2):
        one = learner(16, seed)
        one.iterate()
        one.iterate()
        found.append(one.theta.numpy())
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_recorded_round_is_the_round_itself():
    found = []
    for graph in (True, False):
        env = Environment(Walk(ROBOT, randomization=PUSHED), 256, target="cuda", library="torch", seed=3)
        one = Learner(env, replace(SMALL, graph=graph), 3)
        for _ in range(5):
            one.iterate()
        found.append(one.theta.cpu().numpy())
    assert np.array_equal(*found)


def test_a_policy_is_a_running_mean_over_rounds():
    one = learner(8)
    one.iterate()
    first, seen = one.theta.clone(), np.zeros((1, 48))
    assert torch.equal(one._mean, first)
    one.iterate()
    torch.testing.assert_close(one._mean, 0.5 * (first + one.theta))
    one.theta = torch.zeros_like(one.theta)
    assert one.policy()(seen).any()


def test_gradients_of_the_objective_are_those_of_differences():
    one = learner(8)
    data, _ = one._collect()
    data = type(data)(*(x.double() for x in data))
    theta, old = one.theta.double(), one.network.layers(one.theta.double())[2]
    way = torch.randn(theta.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    at = theta.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(one._loss(at, data, old)[0], at)
    h = 1e-6
    plus, minus = (float(one._loss(theta + s * h * way, data, old)[0]) for s in (1.0, -1.0))
    assert float(gradient @ way) == pytest.approx((plus - minus) / (2.0 * h), rel=1e-5)


def test_advantages_are_those_of_the_definition():
    one = learner(2)
    rng = np.random.default_rng(0)
    r, v, last, ends = rng.random((4, 2)), rng.random((4, 2)), rng.random(2), rng.random((4, 2)) < 0.3
    found = one._advantages(*map(torch.as_tensor, (r, v, last, ends))).numpy()
    g, trace, values = one.settings.discount, one.settings.trace, np.vstack([v, last])
    for robot in range(2):
        for k in range(4):
            total, weight = 0.0, 1.0
            for j in range(k, 4):
                lives = 0.0 if ends[j, robot] else 1.0
                total += weight * (r[j, robot] + g * lives * values[j + 1, robot] - v[j, robot])
                weight *= g * trace * lives
            assert found[k, robot] == pytest.approx(total)


def test_an_update_makes_better_actions_likelier():
    one = learner(32)
    with torch.no_grad():
        data, _ = one._collect()
    old = one.network.layers(one.theta)[2].clone()
    before, figures = one._loss(one.theta, data, old)
    assert float(figures[0]) == pytest.approx(0.0, abs=1e-5)  # nothing has diverged
    assert float(figures[2]) == pytest.approx(float(data.advantages.mean()), abs=1e-5)
    one._improve(data)
    after, moved = one._loss(one.theta, data, old)
    assert float(after) < float(before)
    assert float(moved[2]) > float(figures[2]) + 1e-3  # the objective
    assert 0.0 < float(moved[0]) < 0.1


def test_what_is_not_a_number_is_an_error_that_names_robot_and_field():
    one = learner(8)
    one._observations = one._observations.clone()
    one._observations[5, 7] = float("nan")
    with pytest.raises(NumericsError, match=r"observation 'gravity\[1\]' of robot 5 is not finite|action 0 of robot 5"):
        one.iterate()


def test_policies_are_files_without_code(tmp_path):
    policy = learner(4).policy()
    file = policy.save(tmp_path / "p.npz")
    again = Policy.load(file)
    seen = np.random.default_rng(0).standard_normal((3, 48))
    assert np.array_equal(policy(seen), again(seen))
    assert again.sizes == (48, 16, 8, 12)
    task = Walk.of(ROBOT, again.about)
    assert task.kp == 60.0
    assert json.dumps(dict(again.about))
    for wrong, message in ((b"", "not a policy"), (b"PK\3\4 no zip", "not a policy")):
        file.write_bytes(wrong)
        with pytest.raises(FileError, match=message):
            Policy.load(file)
    with pytest.raises(FileError, match="no such file"):
        Policy.load(tmp_path / "nothing.npz")
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with pytest.raises(FileError, match="no array 'policy'"):
        Policy.load(tmp_path / "other.npz")
    np.savez(tmp_path / "code.npz", policy=np.array([print], dtype=object))
    with pytest.raises(FileError, match="not a policy"):
        Policy.load(tmp_path / "code.npz")


def test_a_policy_in_c_and_as_a_law_is_the_same(tmp_path):
    one = learner(4)
    policy, task = one.policy(), one.environment.task
    folder = tmp_path / "c"
    policy.to_c(folder, task)
    source, header = folder / "fc_policy.c", (folder / "fc_policy.h").read_text()
    library = tmp_path / "policy.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", source, "-o", library, "-lm"], check=True)
    size = int(header.split("value[")[1].split("]")[0])
    rng = np.random.default_rng(1)
    state = task.model.random_state(rng)
    command, action = rng.standard_normal(3), rng.standard_normal(12)
    arrays = [*task.model.flatten(state), np.zeros(1), command, action, out := np.zeros(12), np.zeros(size)]
    pointers = [np.ascontiguousarray(x).ctypes.data_as(ctypes.c_void_p) for x in arrays]
    ctypes.CDLL(str(library)).fc_policy(*pointers)
    law = policy.law(task)(task.model, state, np.zeros(1), command, action)
    np.testing.assert_allclose(out, law, atol=1e-12)
    seen = np.concatenate([2.0 * state.twist[:3], 0.25 * state.twist[3:], -state.pose[2, :3], command * [2, 2, 0.25],
                           state.joints - task.stance.joints, 0.05 * state.rates, action])  # fmt: skip
    np.testing.assert_allclose(law, policy(seen), atol=1e-12)


def test_a_policy_in_onnx_is_the_same(tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    policy = learner(4).policy()
    session = runtime.InferenceSession(str(policy.to_onnx(tmp_path / "p.onnx")))
    seen = np.random.default_rng(0).standard_normal((5, 48)).astype(np.float32)
    (actions,) = session.run(None, {"observations": seen})
    np.testing.assert_allclose(actions, policy(seen), atol=1e-5)


def test_training_is_interrupted_and_goes_on(tmp_path):
    file, count = tmp_path / "walk.npz", iter(range(100))

    def stop(row):
        if next(count) == 1:
            raise KeyboardInterrupt

    task = Walk(ROBOT)
    with pytest.raises(Interrupted, match="goes on with resume=True") as caught:
        learn(task, 100.0, robots=8, settings=SMALL, file=file, progress=stop)
    assert len(caught.value.result.curve) == 2
    more = learn(task, 1e-3, robots=8, settings=SMALL, file=file, resume=True)
    assert len(more.curve) == 3
    assert more.curve[-1]["actions"] == 3 * 8 * 6
    assert "learns to walk" in more.page().html()
    with pytest.raises(fc.ModelError, match="parameters, the learner"):
        learn(task, 1e-3, robots=8, settings=Settings(hidden=(4,)), file=file, resume=True)
    with pytest.raises(fc.ModelError, match="takes the file"):
        learn(task, 1e-3, resume=True)


def test_the_view_of_rsl_rl_has_its_tensors():
    pytest.importorskip("tensordict")
    view = RslRlView(learner(4).environment)
    view.episode_length_buf = torch.tensor([0, 5, 998, 999])
    assert view.max_episode_length == 1000
    assert view.episode_length_buf.tolist() == [0, 5, 998, 999]
    seen, rewards, dones, extras = view.step(torch.zeros(4, 12))
    assert view.episode_length_buf.tolist() == [1, 6, 999, 0]
    assert extras["time_outs"].tolist() == [False, False, False, True]
    assert seen["policy"].shape == (4, 48)
    assert seen["policy"].dtype == rewards.dtype == torch.float32
    assert dones.dtype == torch.int64
    assert extras["time_outs"].dtype == torch.bool


@pytest.mark.slow
def test_a_quadruped_learns_to_walk_on_the_cpu():
    one = Learner(Environment(Walk(ROBOT), 256, library="torch"), DEFAULT_SETTINGS["cpu"])
    for _ in range(700):  # two minutes of a core, as the command takes
        row = one.iterate()
    assert row["speed error (m/s)"] < 0.15
    judge = Environment(Walk(ROBOT), 128, library="torch", seed=5)
    found = evaluate(judge, one.policy().on(judge.library), 10.0)
    assert found.standing > 0.95
    assert found.metrics["speed error (m/s)"] < 0.15


@pytest.mark.parametrize("name", ["learner_0", "learner_1", "learner_3", "learner_rounds"])
def test_a_damaged_learner_is_named(name, tmp_path):
    task, file = Walk(ROBOT), tmp_path / "walk.npz"
    learn(task, 1e-3, robots=8, settings=SMALL, file=file)
    with np.load(file) as read:
        arrays = dict(read)
    size = arrays[name].shape
    for damaged in (np.full(size, np.nan), np.full(size, "a")):
        np.savez(file, **arrays | {name: damaged})
        with pytest.raises(FileError, match=f"{name} must be"):
            learn(task, 1e-3, robots=8, settings=SMALL, file=file, resume=True)
