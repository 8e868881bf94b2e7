"""Proximal policy optimization [Schulman], in Torch, on the device of the environment; the host waits once a round."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..errors import ExtraMissingError, ModelError, NumericsError, describe
from .environment import Environment
from .moments import Moments
from .network import Network, Recorded, perceptron
from .policy import Policy
from .settings import Settings

try:
    import torch
except ImportError:  # the learner says so when it is made
    torch: Any = None  # type: ignore[no-redef]

LOG_2PI = float(np.log(2.0 * np.pi))
TINY = 1e-30
"""Least deviation of advantages by which they are divided."""
MIN_DEVIATION = 0.05
"""Least standard deviation of actions while learning."""
RATES = (1e-5, 1e-2)
"""Learning rates between which the divergence of the policy steers."""


class Batch(NamedTuple):
    """Data of a round, of all robots and actions."""

    seen: Any
    """normalized observations"""
    actions: Any
    chance: Any
    """logarithm of the probability of the actions"""
    means: Any
    returns: Any
    """normalized, as the value network gives them"""
    advantages: Any


def _split(found: list[Any]) -> tuple[list[Any], list[Any]]:
    """State of the learner, and figures."""
    return found[:5], found[5:]


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
        first = self.network.first(torch.Generator().manual_seed(seed), self.settings.deviation)
        self.theta, self._adam = first, [torch.zeros_like(first), torch.zeros_like(first)]
        self._count = torch.zeros((), device=device)
        self._rate = torch.full((), self.settings.rate, device=device)
        self._random = torch.Generator(device).manual_seed(seed)
        self._recorded: Recorded | None = None
        self.rounds, self.actions_taken = 0, 0
        self._observed, self._returned = Moments(environment.observations, device), Moments(1, device)
        self._seen = environment.reset(seed, stagger=True).to(torch.float32)
        self._explore()

    def __repr__(self) -> str:
        return f"<Learner of {self.environment!r}>"

    def policy(self) -> Policy:
        """Policy that was learned so far, without exploration.

        Returns:
            Policy.
        """
        (W, b), *others = self.network.layers(self.theta.detach())[0]
        W = W / self._observed.scale
        layers = [(W, b - W @ self._observed.mean), *others]  # normalization is part of the first layer
        return Policy.of(self.environment.task, [(W.cpu().numpy(), b.cpu().numpy()) for W, b in layers])

    def iterate(self) -> dict[str, float]:
        """Collect data of all robots and improve the policy.

        Returns:
            Figures of the round by name; terms of the reward as ``reward: NAME``.
        """
        with torch.no_grad():
            data, figures = self._collect()
        figures |= self._improve(data)
        self.rounds += 1
        self.actions_taken += self.settings.steps * self.environment.robots
        row = torch.stack([torch.as_tensor(x, device=self.theta.device).float() for x in figures.values()]).tolist()
        found = dict(zip(figures, row, strict=True))
        if not np.isfinite(row).all():
            self._refuse(data, found)
        return found

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
            raw.append(self._seen)
            seen = self._observed.normalized(self._seen)
            means, values = perceptron(policy, seen), self._value(value, seen)
            noise = torch.randn(means.shape, generator=self._random, device=means.device)
            actions = means + deviation * noise
            chance = -(0.5 * noise * noise + log_deviation + 0.5 * LOG_2PI).sum(dim=1)
            result = env.step(actions.to(env.now.joints.dtype), details=k == s.steps - 1)
            reward = result.rewards.float() * period
            # What would have come after the horizon, as it was before the last action: values of states that no robot
            # goes on from are never corrected, and grow without bound.
            reward = reward + s.discount * values * result.truncated
            kept.append((seen, actions, chance, means, values, reward, result.ended))
            self._seen = result.observations.to(torch.float32)
            ended, falls = ended + result.ended.float().mean(), falls + result.terminated.float().mean()
            broken, terms = broken + result.broken.sum(), terms + result.terms.mean(dim=1)
            gained = gained + result.rewards.mean()
        seen, actions, chance, means, values, rewards, ends = (torch.stack(x) for x in zip(*kept, strict=True))
        last = self._value(value, self._observed.normalized(self._seen))
        advantages = self._advantages(rewards, values, last, ends)
        returns = self._rescaled((advantages + values)[..., None])[..., 0]
        scaled = (advantages - advantages.mean()) / advantages.std().clamp(min=TINY)
        flat = (x.flatten(0, 1) for x in (seen, actions, chance, means, returns, scaled))
        self._observed.update(torch.cat(raw), max(1.0 / (self.rounds + 2.0), 1e-2))
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
        env, seen = self.environment, [self._seen]
        for _ in range(self.settings.steps):
            noise = torch.randn((env.robots, env.actions), generator=self._random, device=self.theta.device)
            result = env.step((self.settings.deviation * noise).to(env.now.joints.dtype))
            seen.append(result.observations.to(torch.float32))
        self._seen = seen[-1]
        self._observed.update(torch.cat(seen), 1.0)

    def _value(self, layers: Any, seen: Any) -> Any:
        """Values of normalized observations, in units of the reward."""
        return self._returned.restored(perceptron(layers, seen))[:, 0]

    def _rescaled(self, returns: Any) -> Any:
        """Normalized returns, after the new scale; the last layer of the value changes so that values do not."""
        mean, scale = self._returned.mean, self._returned.scale
        self._returned.update(returns.flatten(0, 1), max(1.0 / (self.rounds + 1.0), 0.1))
        W, b = self.network.layers(self.theta)[1][-1]
        W.mul_(scale / self._returned.scale)
        b.mul_(scale).add_(mean - self._returned.mean).div_(self._returned.scale)
        return self._returned.normalized(returns)

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
        s, total, names = self.settings, len(data.seen), ("divergence", "value error", "objective")
        old, size = self.network.layers(self.theta)[2].clone(), total // s.batches
        figures: list[Any] = []
        now = [self.theta, *self._adam, self._count, self._rate]
        for _ in range(s.epochs):
            order = torch.randperm(total, generator=self._random, device=self.theta.device)
            for k in range(s.batches):
                rows = order[k * size : (k + 1) * size]
                now, figures = _split(self._updated(*now, old, *(x[rows] for x in data)))
        self.theta, *self._adam, self._count, self._rate = (x.clone() for x in now)
        return dict(zip(names, figures, strict=True)) | {"learning rate": self._rate}

    def _updated(self, *given: Any) -> Any:
        """:meth:`_update`, on a GPU replayed from a recording, whose results the next call overwrites."""
        if not (self.settings.graph and self.theta.is_cuda):
            return self._update(*given)
        if self._recorded is None:
            self._recorded = Recorded(self._update, given)
        return self._recorded(given)

    def _update(self, theta: Any, mean: Any, square: Any, count: Any, rate: Any, old: Any, *part: Any) -> list[Any]:
        """Parameters and state of Adam after one step, and figures of it."""
        theta = theta.detach().requires_grad_()
        loss, figures = self._loss(theta, Batch(*part), old)
        (gradient,) = torch.autograd.grad(loss, theta)
        rate = self._steered(rate, figures[0])
        return [*self._descended(theta.detach(), mean, square, count + 1.0, rate, gradient), rate, *figures]

    def _loss(self, theta: Any, part: Batch, old: Any) -> tuple[Any, list[Any]]:
        """Clipped objective [Schulman] (7), error of the values, entropy; and figures of them."""
        s, (policy, value, log_deviation) = self.settings, self.network.layers(theta)
        means, values = perceptron(policy, part.seen), perceptron(value, part.seen)[:, 0]
        off = (part.actions - means) * torch.exp(-log_deviation)
        chance = -(0.5 * off * off + log_deviation + 0.5 * LOG_2PI).sum(dim=1)
        ratio = torch.exp(chance - part.chance)
        gain = torch.minimum(ratio * part.advantages, ratio.clamp(1.0 - s.clip, 1.0 + s.clip) * part.advantages).mean()
        error = ((values - part.returns) ** 2).mean()
        entropy = (log_deviation + 0.5 + 0.5 * LOG_2PI).sum()
        moved = (old.exp() ** 2 + (part.means - means.detach()) ** 2) * torch.exp(-2.0 * log_deviation.detach())
        divergence = (log_deviation.detach() - old + 0.5 * moved - 0.5).sum(dim=1).mean()
        return error - gain - s.entropy * entropy, [divergence, error.detach(), gain.detach()]

    def _steered(self, rate: Any, divergence: Any) -> Any:
        """Learning rate: smaller after a policy that changed too much, larger after one that changed little."""
        low, high = 0.5 * self.settings.divergence, 2.0 * self.settings.divergence
        return torch.where(divergence > high, rate / 1.5, torch.where(divergence < low, rate * 1.5, rate)).clamp(*RATES)

    def _descended(self, theta: Any, mean: Any, square: Any, count: Any, rate: Any, gradient: Any) -> list[Any]:
        """One step of Adam [Kingma]: parameters, moments and count."""
        gradient = gradient * (self.settings.gradient / (gradient.norm() + 1e-6)).clamp(max=1.0)
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient * gradient
        size, spread = rate / (1.0 - 0.9**count), (square / (1.0 - 0.999**count)).sqrt()
        theta = theta - size * mean / (spread + 1e-8)
        theta[-self.network.actions :].clamp_(min=float(np.log(MIN_DEVIATION)))
        return [theta, mean, square, count]

    def _refuse(self, data: Batch, figures: dict[str, float]) -> None:
        """Raise an error that names what is not finite, robot and field."""
        robots = self.environment.robots
        for name, x in (("observation", data.seen), ("action", data.actions), ("reward", data.returns[:, None])):
            odd = (~torch.isfinite(x)).nonzero()
            if len(odd):
                row, place = (int(i) for i in odd[0])
                field = self.environment.field(place) if name == "observation" else str(place)
                what = name if name == "reward" else f"{name} {field!r}"
                raise NumericsError(f"{what} of robot {row % robots} is not finite in round {self.rounds}")
        wrong = next(name for name, x in figures.items() if not np.isfinite(x))
        raise NumericsError(f"{wrong} of round {self.rounds} is not finite: take a smaller learning rate")

    # files ------------------------------------------------------------------------------------------------------

    def numbers(self) -> dict[str, np.ndarray]:
        """State of the learner, from which :meth:`restore` goes on.

        Returns:
            Arrays by name.
        """
        named = {"theta": self.theta, "mean": self._adam[0], "square": self._adam[1], "rate": self._rate}
        named |= {"count": self._count, "observed": self._observed.numbers(), "returned": self._returned.numbers()}
        found = {name: x.detach().cpu().numpy() for name, x in named.items()}
        return found | {"rounds": np.array([self.rounds, self.actions_taken])}

    def restore(self, numbers: dict[str, np.ndarray]) -> None:
        """Go on where another learner of the same sizes was.

        Args:
            numbers: Result of :meth:`numbers`.
        """
        if numbers["theta"].shape != (self.network.size,):
            raise ModelError(f"the file has {numbers['theta'].size} parameters, the learner {self.network.size}")
        for name, x in self.numbers().items():
            given = numbers[name]
            if given.shape != x.shape or given.dtype.kind != x.dtype.kind or not np.isfinite(given).all():
                raise ModelError(f"{name} of the learner must be finite numbers of shape {x.shape}: damaged file")
        there = {name: torch.as_tensor(numbers[name], device=self.theta.device) for name in numbers if name != "rounds"}
        self.theta, self._adam = there["theta"], [there["mean"], there["square"]]
        self._rate, self._count = there["rate"], there["count"]
        self._observed.restore(there["observed"])
        self._returned.restore(there["returned"])
        self.rounds, self.actions_taken = (int(x) for x in numbers["rounds"])
        self._random.manual_seed(self.rounds)
