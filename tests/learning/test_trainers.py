"""Views of environments for the trainers of others: their interfaces, and the trainers themselves where installed."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.learning import Environment, GymnasiumView, Randomization, Walk

ROBOT = fc.robots.quadruped()
DIFFERENT = Randomization(mass=(0.8, 1.2), friction=(0.4, 1.2), stiffness=(0.9, 1.1), push=0.5, action_delay=2)


def world(library="numpy", robots=4, **about):
    return Environment(Walk(ROBOT, randomization=DIFFERENT, **about), robots, library=library, bank=8)


@pytest.fixture(scope="module")
def jax():
    return pytest.importorskip("jax")


def equal(jax, here, there):
    return all(np.array_equal(a, b) for a, b in zip(*map(jax.tree.leaves, (here, there)), strict=True))


def numbers(state):
    return state.pipeline_state["bytes"], state.obs, state.reward, state.done, state.info, state.metrics


def test_reset_and_step_are_pure_functions(jax):
    """The same arguments give the same state bit by bit, whatever was called before, alone, jitted or in a scan."""
    view = fc.learning.BraxView(world(horizon=0.1, noise={"joints": 0.1}))
    rng = np.random.default_rng(0)
    actions = rng.standard_normal((7, 4, 12)).astype(np.float32)
    step = jax.jit(view.step)

    def run(start):
        found = [start]
        for action in actions:
            found.append(step(found[-1], action))
        return found

    first = run(view.reset(jax.random.key(3)))
    view.reset(jax.random.key(4))
    again = run(jax.jit(view.reset)(jax.random.key(3)))
    assert all(equal(jax, numbers(a), numbers(b)) for a, b in zip(first, again, strict=True))
    assert equal(jax, numbers(view.step(first[2], actions[2])), numbers(first[3]))
    last, rewards = jax.lax.scan(lambda s, a: ((t := view.step(s, a)), t.reward), first[0], actions)
    assert equal(jax, numbers(last), numbers(first[-1]))
    np.testing.assert_array_equal(rewards, [x.reward for x in first[1:]])
    assert first[5].info["truncation"].tolist() == [1.0] * 4
    assert first[7].info["steps"].tolist() == [2.0] * 4
    totals = first[7].info["episode_metrics"]
    np.testing.assert_allclose(totals["sum_reward"], first[6].reward + first[7].reward)
    assert totals["length"].tolist() == [2.0] * 4
    assert not np.array_equal(view.reset(jax.random.key(4)).obs, first[0].obs)


def test_pure_functions_are_the_environment(jax):
    view, env = fc.learning.BraxView(world()), world()
    state = view.reset(jax.random.PRNGKey(3))
    view._restore(np.asarray(state.pipeline_state["bytes"]))
    for name in ("kept", "own"):
        getattr(env.batch, name)[...] = getattr(view.environment.batch, name)
    env.carry([x.copy() for x in view.environment.carried])
    action = np.full((4, 12), 0.1)
    for _ in range(3):
        state, result = view.step(state, action), env.step(action)
    np.testing.assert_allclose(state.obs[:, 9:12], result.observations[:, 9:12])  # commands
    np.testing.assert_allclose(state.obs, result.observations, atol=1e-5)
    np.testing.assert_allclose(state.reward, result.rewards, atol=1e-5)


def test_views_refuse_other_environments(jax):
    torch = pytest.importorskip("torch")
    with pytest.raises(fc.ModelError, match="BraxView takes an Environment on the CPU in NumPy"):
        fc.learning.BraxView(world("torch"))
    for view in (fc.learning.RslRlView, fc.learning.IsaacLabView):
        with pytest.raises(fc.ModelError, match=r"View takes an Environment with library='torch'"):
            view(world())
    seen, _ = fc.learning.IsaacLabView(world("torch")).reset(seed=1)
    assert seen["policy"].dtype == torch.float32


def test_brax_trains(jax, monkeypatch):
    ppo = pytest.importorskip("brax.training.agents.ppo.train")
    if not hasattr(jax, "device_put_replicated"):  # which Brax 0.14 calls, and JAX 0.10 has no more
        copied = lambda tree, devices: jax.tree.map(lambda x: jax.numpy.stack([x] * len(devices)), tree)  # noqa: E731
        monkeypatch.setattr(jax, "device_put_replicated", copied, raising=False)
    view = fc.learning.BraxView(world(robots=8))
    found = []
    ppo.train(
        view, num_timesteps=320, wrap_env=False, num_envs=8, num_eval_envs=8, episode_length=20, unroll_length=10,
        batch_size=8, num_minibatches=1, num_evals=2, normalize_observations=True, use_pmap_on_reset=False,
        progress_fn=lambda steps, figures: found.append(figures),
    )  # fmt: skip
    assert np.isfinite(found[-1]["eval/episode_reward"])
    assert np.isfinite(found[-1]["training/total_loss"])


def test_rsl_rl_trains(tmp_path):
    torch = pytest.importorskip("torch")
    runners = pytest.importorskip("rsl_rl.runners")
    view = fc.learning.RslRlView(world("torch", robots=16))
    network = {"class_name": "MLPModel", "hidden_dims": [16], "activation": "elu"}
    settings = {
        "num_steps_per_env": 8, "save_interval": 10, "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
        "algorithm": {"class_name": "PPO", "num_learning_epochs": 2, "num_mini_batches": 2},
        "actor": network | {"distribution_cfg": {"class_name": "GaussianDistribution", "init_std": 0.5}},
        "critic": network,
    }  # fmt: skip
    runner = runners.OnPolicyRunner(view, settings, log_dir=None, device="cpu")
    before = [x.clone() for x in runner.alg.actor.parameters()]
    runner.learn(2, init_at_random_ep_len=True)
    assert any(not torch.equal(a, b) for a, b in zip(before, runner.alg.actor.parameters(), strict=True))
    assert torch.isfinite(torch.cat([x.reshape(-1) for x in runner.alg.actor.parameters()])).all()
    assert len(set(view.episode_length_buf.tolist())) > 4


@pytest.mark.parametrize("kind", ["isaaclab-single-agent", "gymnasium"])
def test_skrl_trains(kind, tmp_path):
    torch = pytest.importorskip("torch")
    skrl = pytest.importorskip("skrl.envs.wrappers.torch")
    from skrl.utils.runner.torch import Runner

    isaac = kind.startswith("isaac")
    view = fc.learning.IsaacLabView(world("torch", 8)) if isaac else GymnasiumView(world(robots=8, limit=10.0))
    layers = {"name": "net", "input": "OBSERVATIONS", "layers": [16], "activations": "elu"}
    network = {"clip_actions": False, "network": [layers]}
    settings = {
        "seed": 1,
        "models": {
            "separate": True, "policy": {"class": "GaussianMixin", **network, "output": "ACTIONS"},
            "value": {"class": "DeterministicMixin", **network, "output": "ONE"},
        },
        "memory": {"class": "RandomMemory", "memory_size": -1},
        "agent": {"class": "PPO", "rollouts": 8, "learning_epochs": 1, "mini_batches": 1,
                  "experiment": {"directory": str(tmp_path), "write_interval": 0, "checkpoint_interval": 0}},
        "trainer": {"class": "SequentialTrainer", "timesteps": 17, "disable_progressbar": True, "headless": True,
                    "close_environment_at_exit": False},
    }  # fmt: skip
    runner = Runner(skrl.wrap_env(view, wrapper=kind), settings)
    before = [x.detach().clone() for x in runner.agent.policy.parameters()]
    runner.run()
    after = [x.detach() for x in runner.agent.policy.parameters()]
    assert any(not torch.equal(a, b) for a, b in zip(before, after, strict=True))
