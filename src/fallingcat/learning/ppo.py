"""Proximal policy optimization [Schulman], in Torch, on the device of the environment; the host waits once a round."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..errors import ExtraMissingError, ModelError, NumericsError, describe
from .environment import Environment
from .moments import Moments
from .network import Adam, Network, RecordedLoop, perceptron
from .policy import Policy
from .settings import Settings

try:
    import torch
except ImportError:  # the learner says so when it is made
    torch: Any = None  # type: ignore[no-redef]

LOG_2PI = float(np.log(2.0 * np.pi))
MIN_ADVANTAGE_DEVIATION = 1e-30
"""Least deviation of advantages by which they are divided."""
MIN_DEVIATION = 0.05
"""Least standard deviation of actions while learning."""
AVERAGING_SHARE = 0.05
"""Share of the last round in the parameters of the policy that is given: a running mean walks more steadily."""
RATES = (1e-5, 1e-2)
"""Learning rates between which the divergence of the policy steers."""


class Batch(NamedTuple):
    """Data of a round, of all robots and actions."""

    observations: Any
    """normalized observations"""
    actions: Any
    chance: Any
    """logarithm of the probability of the actions"""
    means: Any
    returns: Any
    """normalized, as the value network gives them"""
    advantages: Any


class Learner:
    """Learner of an environment: :meth:`iterate` collects data of all robots and improves the policy.

    The networks see observations of zero mean and unit deviation, and values are learned in units of the deviation of
    the returns, so the units in which a task observes and rewards do not matter.

    Args:
        environment: Environment whose library is ``torch``.
        settings: Numbers of the learner.
        seed: Seed of the first policy and of explored actions.

    Example:
        >>> import fallingcat as fc
        >>> world = fc.learning.Environment(
        ...     fc.learning.Walk(fc.robots.quadruped()), 8, library="torch"
        ... )  # doctest: +SKIP
        >>> learner = Learner(world, Settings(hidden=(16,), steps=4), seed=0)  # doctest: +SKIP
        >>> sorted(learner.iterate())[:3]  # doctest: +SKIP
        ['broken', 'deviation', 'divergence']
    """

    def __init__(self, environment: Environment, settings: Settings | None = None, seed: int = 0) -> None:
        if torch is None:
            raise ExtraMissingError("learn", package="torch", purpose="the learner")
        if environment.library.xp is not torch:
            raise ModelError(f"the learner takes an environment with library='torch', not {describe(environment)}")
        self.environment, self.settings = environment, settings or Settings()
        device = torch.device(environment.target)
        if device.type == "cuda":
            torch.set_float32_matmul_precision("high")
        self.network = Network((environment.observations, *self.settings.hidden, environment.actions), device)
        first = self.network.initial_parameters(torch.Generator().manual_seed(seed), self.settings.deviation)
        self.theta, self._mean, self._adam = first, first.clone(), Adam(first)
        self._rate = torch.full((), self.settings.rate, device=device)
        self._round_count = torch.zeros((), device=device)
        self.random = torch.Generator(device).manual_seed(seed)
        self._recorded_loop: RecordedLoop | None = None
        self._data: Any = None  # of the last round
        self._names: tuple[str, ...] = ()  # of the figures of a round
        self.rounds, self.actions_taken = 0, 0
        self._observation_moments, self._return_moments = Moments(environment.observations, device), Moments(1, device)
        self._observations = environment.reset(seed, stagger=True).to(torch.float32)
        self._explore()

    def __repr__(self) -> str:
        return f"<Learner of {self.environment!r}>"

    def policy(self) -> Policy:
        """Policy that was learned so far, without exploration: a running mean over rounds.

        Returns:
            Policy.
        """
        (W, b), *others = self.network.layers(self._mean)[0]
        W = W / self._observation_moments.scale
        layers = [(W, b - W @ self._observation_moments.mean), *others]  # normalization is part of the first layer
        return Policy.of(self.environment.task, [(W.cpu().numpy(), b.cpu().numpy()) for W, b in layers])

    def iterate(self) -> dict[str, float]:
        """Collect data of all robots and improve the policy.

        Returns:
            Figures of the round by name; terms of the reward as ``reward: NAME``.
        """
        row = self._figures().tolist()
        self.rounds += 1
        self.actions_taken += self.settings.steps * self.environment.robots
        found = dict(zip(self._names, row, strict=True))
        if not np.isfinite(row).all():
            self._refuse(found)
        return found

    def _figures(self) -> Any:
        """Figures of the next round, which on a GPU is replayed from a recording."""
        if not (self.settings.graph and self.theta.is_cuda and self._names):
            return self._training_round()
        if self._recorded_loop is None:
            generators, arrays = (self.random, self.environment.library.random), lambda: self._loop_arrays
            self._recorded_loop = RecordedLoop(self._training_round, arrays, self._set_loop_arrays, generators)
        return self._recorded_loop()

    def _training_round(self) -> Any:
        """Collect data and improve the policy; nothing waits for the device."""
        with torch.no_grad():
            self._data, figures = self._collect()
        figures |= self._improve(self._data)
        # the plain mean of the first rounds, then an exponential one: the start is forgotten
        self._mean = torch.lerp(self._mean, self.theta, (1.0 / (self._round_count + 1.0)).clamp(min=AVERAGING_SHARE))
        self._round_count = self._round_count + 1.0
        self._names = tuple(figures)
        return torch.stack([torch.as_tensor(x, device=self.theta.device).float() for x in figures.values()])

    @property
    def state(self) -> list[Any]:
        """State of the learner, as :meth:`take` takes it; without that of its environment."""
        moments = [*self._observation_moments.arrays, *self._return_moments.arrays]
        return [self.theta, self._mean, self._rate, self._round_count, *self._adam.arrays, *moments]

    def take(self, state: Any) -> None:
        """Go on from the state of another learner of the same sizes.

        Args:
            state: List of :attr:`state`.
        """
        self.theta, self._mean, self._rate, self._round_count, *others = state
        self._adam.arrays, self._observation_moments.arrays, self._return_moments.arrays = (
            others[:3],
            others[3:5],
            others[5:],
        )

    @property
    def _loop_arrays(self) -> list[Any]:
        """Arrays from which the next round goes on."""
        return [*self.state, self._observations, *self.environment.carried]

    def _set_loop_arrays(self, arrays: Any) -> None:
        """Go on from such arrays."""
        size = len(self.state)
        self.take(arrays[:size])
        self._observations = arrays[size]
        self.environment.carry(arrays[size + 1 :])

    def _collect(self) -> tuple[Batch, dict[str, Any]]:
        """Data of a round, and what it tells."""
        env, s, kept = self.environment, self.settings, []
        period, lasted = env.task.period, s.steps * env.task.period
        policy, value, log_deviation = self.network.layers(self.theta)
        deviation = log_deviation.exp()
        ended: Any = 0.0
        falls, broken, terms, gained, result = ended, ended, ended, ended, ended
        raw: list[Any] = []
        for k in range(s.steps):
            raw.append(self._observations)
            seen = self._observation_moments.normalize(self._observations)
            means, values = perceptron(policy, seen), self._value(value, seen)
            noise = torch.randn(means.shape, generator=self.random, device=means.device)
            actions = means + deviation * noise
            chance = -(0.5 * noise * noise + log_deviation + 0.5 * LOG_2PI).sum(dim=1)
            result = env.step(actions.to(env.now.joints.dtype), details=k == s.steps - 1)
            reward = result.rewards.float() * period
            # What would have come after the horizon, as it was before the last action: values of states that no robot
            # goes on from are never corrected, and grow without bound.
            reward = reward + s.discount * values * result.truncated
            kept.append((seen, actions, chance, means, values, reward, result.ended))
            self._observations = result.observations.to(torch.float32)
            ended, falls = ended + result.ended.float().mean(), falls + result.terminated.float().mean()
            broken, terms = broken + result.broken.sum(), terms + result.terms.mean(dim=1)
            gained = gained + result.rewards.mean()
        seen, actions, chance, means, values, rewards, ends = (torch.stack(x) for x in zip(*kept, strict=True))
        last = self._value(value, self._observation_moments.normalize(self._observations))
        advantages = self._advantages(rewards, values, last, ends)
        returns = self._rescale_returns((advantages + values)[..., None])[..., 0]
        # unit deviation: the step of the policy does not depend on the scale of the reward
        scaled = (advantages - advantages.mean()) / advantages.std().clamp(min=MIN_ADVANTAGE_DEVIATION)
        flat = (x.flatten(0, 1) for x in (seen, actions, chance, means, returns, scaled))
        # after the round: a normalization that changed within it would change the probabilities of its actions
        self._observation_moments.update(torch.cat(raw), (1.0 / (self._round_count + 2.0)).clamp(min=1e-2))
        figures = {
            "reward": gained / s.steps,
            "falls per s": falls / lasted,
            "episode (s)": lasted / torch.clamp(torch.as_tensor(ended), min=lasted / env.task.horizon),
            "broken": broken,
            "deviation": deviation.mean(),
            "observations": torch.stack(raw).abs().amax(),
            **{name: x.float().mean() for name, x in result.metrics.items()},
            **{f"reward: {name}": x / s.steps for name, x in zip(env.terms, terms, strict=True)},
        }
        return Batch(*flat), figures

    def _explore(self) -> None:
        """Actions at random, until the first statistics of observations are known."""
        env, seen = self.environment, [self._observations]
        for _ in range(self.settings.steps):
            noise = torch.randn((env.robots, env.actions), generator=self.random, device=self.theta.device)
            result = env.step((self.settings.deviation * noise).to(env.now.joints.dtype))
            seen.append(result.observations.to(torch.float32))
        self._observations = seen[-1]
        self._observation_moments.update(torch.cat(seen), 1.0)

    def _value(self, layers: Any, seen: Any) -> Any:
        """Values of normalized observations, in units of the reward."""
        return self._return_moments.denormalize(perceptron(layers, seen))[:, 0]

    def _rescale_returns(self, returns: Any) -> Any:
        """Normalized returns, after the new scale; the last layer of the value changes so that values do not."""
        mean, scale = self._return_moments.mean, self._return_moments.scale
        self._return_moments.update(returns.flatten(0, 1), (1.0 / (self._round_count + 1.0)).clamp(min=0.1))
        W, b = self.network.layers(self.theta)[1][-1]
        W.mul_(scale / self._return_moments.scale)
        b.mul_(scale).add_(mean - self._return_moments.mean).div_(self._return_moments.scale)
        return self._return_moments.normalize(returns)

    def _advantages(self, rewards: Any, values: Any, last: Any, ends: Any) -> Any:
        """Generalized advantages, backwards in time."""
        s, after, sums, found = self.settings, last, torch.zeros_like(last), []
        for k in reversed(range(len(rewards))):
            lives = 1.0 - ends[k].float()
            sums = rewards[k] + s.discount * after * lives - values[k] + s.discount * s.trace * lives * sums
            after = values[k]
            found.append(sums)
        return torch.stack(found[::-1])

    def _improve(self, data: Batch) -> dict[str, Any]:
        """Steps of Adam on the clipped objective."""
        s, total, names = self.settings, len(data.observations), ("divergence", "value error", "objective")
        old, size = self.network.layers(self.theta)[2].clone(), total // s.batches
        figures: list[Any] = []
        for _ in range(s.epochs):
            order = torch.rand(total, generator=self.random, device=self.theta.device).argsort()
            for k in range(s.batches):
                rows = order[k * size : (k + 1) * size]
                figures = self._update(Batch(*(x[rows] for x in data)), old)
        return dict(zip(names, figures, strict=True)) | {"learning rate": self._rate}

    def _update(self, part: Batch, old: Any) -> list[Any]:
        """Take one step of Adam; figures of it."""
        theta = self.theta.detach().requires_grad_()
        loss, figures = self._loss(theta, part, old)
        (gradient,) = torch.autograd.grad(loss, theta)
        self._rate = self._adapted_rate(self._rate, figures[0])
        gradient = gradient * (self.settings.gradient / (gradient.norm() + 1e-6)).clamp(max=1.0)
        self.theta = self._adam.step(theta.detach(), gradient, self._rate)
        self.theta[-self.network.actions :].clamp_(min=float(np.log(MIN_DEVIATION)))
        return figures

    def _loss(self, theta: Any, part: Batch, old: Any) -> tuple[Any, list[Any]]:
        """Clipped objective [Schulman] (7), error of the values, entropy; and figures of them."""
        s, (policy, value, log_deviation) = self.settings, self.network.layers(theta)
        means, values = perceptron(policy, part.observations), perceptron(value, part.observations)[:, 0]
        off = (part.actions - means) * torch.exp(-log_deviation)
        chance = -(0.5 * off * off + log_deviation + 0.5 * LOG_2PI).sum(dim=1)
        ratio = torch.exp(chance - part.chance)
        gain = torch.minimum(ratio * part.advantages, ratio.clamp(1.0 - s.clip, 1.0 + s.clip) * part.advantages).mean()
        error = ((values - part.returns) ** 2).mean()
        entropy = (log_deviation + 0.5 + 0.5 * LOG_2PI).sum()
        moved = (old.exp() ** 2 + (part.means - means.detach()) ** 2) * torch.exp(-2.0 * log_deviation.detach())
        divergence = (log_deviation.detach() - old + 0.5 * moved - 0.5).sum(dim=1).mean()
        return error - gain - s.entropy * entropy, [divergence, error.detach(), gain.detach()]

    def _adapted_rate(self, rate: Any, divergence: Any) -> Any:
        """Learning rate: smaller after a policy that changed too much, larger after one that changed little."""
        low, high = 0.5 * self.settings.divergence, 2.0 * self.settings.divergence
        return torch.where(divergence > high, rate / 1.5, torch.where(divergence < low, rate * 1.5, rate)).clamp(*RATES)

    def _refuse(self, figures: dict[str, float]) -> None:
        """Raise an error that names what is not finite, robot and field."""
        robots, data = self.environment.robots, self._data
        for name, x in (
            ("observation", data.observations),
            ("action", data.actions),
            ("reward", data.returns[:, None]),
        ):
            odd = (~torch.isfinite(x)).nonzero()
            if len(odd):
                row, place = (int(i) for i in odd[0])
                field = self.environment.field(place) if name == "observation" else str(place)
                what = name if name == "reward" else f"{name} {field!r}"
                raise NumericsError(f"{what} of robot {row % robots} is not finite in round {self.rounds - 1}")
        wrong = next(name for name, x in figures.items() if not np.isfinite(x))
        raise NumericsError(f"{wrong} of round {self.rounds - 1} is not finite: take a smaller learning rate")
