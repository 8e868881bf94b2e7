"""Small tasks whose best policy is known: the learner finds it, whatever the units of rewards and observations."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.learning import Environment, Task

torch = pytest.importorskip("torch")
from fallingcat.learning import Learner, Settings  # noqa: E402

torch.set_num_threads(1)
OMEGA, EFFORT = 2.0, 0.1  # rad/s; weight of the squared action beside the squared displacement


class Oscillator(Task):
    """A mass of 1 kg on a spring whose rest length is the action: without actions it oscillates for ever."""

    model = fc.Model(
        "oscillator",
        fc.robots.planar_arm().base,
        (fc.Link("ground"), fc.Link("mass", fc.Body(1.0, [0.0, 0.0, 0.0], np.eye(3)))),
        (fc.Joint("slide", fc.joints.Prismatic((1.0, 0.0, 0.0)), "ground", "mass"),),
        np.zeros(3),
    )
    laws = (fc.control.PositionServo(kp=OMEGA**2, kd=0.0),)
    actions, period, dt, horizon = 1, 0.1, 0.005, 8.0

    def __init__(self, rewarded=1.0, observed=1.0):
        self.rewarded, self.observed = rewarded, observed

    def start(self, rng, count):
        states = [self.model.state(joints=[q]) for q in rng.uniform(-1.0, 1.0, count)]
        return fc.State(*(np.stack(x) for x in zip(*states, strict=True)))

    def control(self, actions, now):
        return {"targets": actions}

    def observe(self, now):
        return {"displacement": self.observed * now.joints, "rate": self.observed * now.rates}

    def reward(self, now):
        cost = now.joints[:, 0] ** 2 + EFFORT * now.actions[:, 0] ** 2
        return {"cost": -self.rewarded * cost}


def learned(rounds, robots=32, seed=0, **units):
    world = Environment(Oscillator(**units), robots, library="torch", seed=seed, bank=64)
    one = Learner(world, Settings(hidden=(16, 16), discount=0.97, deviation=0.6), seed)
    for _ in range(rounds):
        one.iterate()
    return one


def cost(task, act, robots=64):
    """Mean cost of robots other than those of the training, over an episode."""
    world = Environment(task, robots, library="torch", seed=99, bank=64)
    seen, total = world.reset(99), 0.0
    for _ in range(round(task.horizon / task.period) - 1):
        result = world.step(act(seen))
        seen, total = result.observations, total - float(result.rewards.mean()) / task.rewarded
    return total


def regulator(discount):
    """Gain of the discounted linear-quadratic regulator, by the Riccati iteration on the exact motion of a period."""
    c, s = np.cos(OMEGA * Oscillator.period), np.sin(OMEGA * Oscillator.period)
    A, B = np.array([[c, s / OMEGA], [-OMEGA * s, c]]), np.array([[1.0 - c], [OMEGA * s]])
    Q = np.diag([1.0, 0.0])
    P = Q
    for _ in range(2000):
        K = np.linalg.solve(EFFORT + B.T @ P @ B, B.T @ P @ A)
        P = Q + discount * (A - B @ K).T @ P @ (A - B @ K) + discount * EFFORT * K.T @ K
    return K


@pytest.mark.parametrize("units", [{"rewarded": 2.0**-10}, {"rewarded": 2.0**10}, {"observed": 2.0**-10}])
def test_units_do_not_matter(units):
    one, other = learned(3), learned(3, **units)
    assert np.array_equal(one.theta.numpy(), other.theta.numpy())
    seen = np.random.default_rng(0).standard_normal((5, 2))
    scaled = units.get("observed", 1.0) * seen
    np.testing.assert_allclose(one.policy()(seen), other.policy()(scaled), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("units", [{}, {"rewarded": 0.01}, {"observed": 100.0}])
def test_the_learner_comes_close_to_the_linear_quadratic_regulator(units, seed):
    one = learned(60, 64, seed, **units)
    task = one.environment.task
    K = torch.as_tensor(regulator(one.settings.discount)) / task.observed
    best, none = cost(task, lambda seen: -seen @ K.T), cost(task, lambda seen: 0.0 * seen[:, :1])
    assert none > 4.0 * best
    found = cost(task, one.policy().on(one.environment.library))
    assert best * 0.98 < found < 1.2 * best
