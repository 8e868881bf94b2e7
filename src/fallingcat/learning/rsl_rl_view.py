"""Environment with the tensor interface of rsl_rl, whose runners train on it; nothing of it is imported."""

from __future__ import annotations

from typing import Any

from ..errors import ModelError, describe
from .environment import Environment


class RslRlView:
    """Environment as the vector environment of rsl_rl (3.0 or newer): tensors in, groups of tensors out.

    Args:
        environment: Environment whose library is ``torch``.

    Example:
        >>> import fallingcat as fc
        >>> task = fc.learning.Walk(fc.robots.quadruped())
        >>> view = RslRlView(fc.learning.Environment(task, 4, library="torch"))  # doctest: +SKIP
        >>> tuple(view.get_observations()["policy"].shape), view.num_actions  # doctest: +SKIP
        ((4, 48), 12)
    """

    def __init__(self, environment: Environment) -> None:
        needs_torch(environment, type(self).__name__)
        self.environment = environment
        self.num_envs, self.num_actions = environment.robots, environment.actions
        self.max_episode_length = round(environment.task.horizon / environment.task.period)
        self.device = environment.target
        self.cfg: dict[str, Any] = environment.task.about()
        self._observations = environment.reset().float()

    def __repr__(self) -> str:
        return f"<RslRlView of {self.environment!r}>"

    @property
    def unwrapped(self) -> RslRlView:
        """The environment itself."""
        return self

    @property
    def episode_length_buf(self) -> Any:
        """``N`` whole numbers: actions since the start of each episode; runners set them apart at the beginning."""
        return (self.environment.now.time / self.environment.task.period).round().long()

    @episode_length_buf.setter
    def episode_length_buf(self, actions: Any) -> None:
        self.environment.set_times(actions * self.environment.task.period)

    def get_observations(self) -> Any:
        """Observations of all robots.

        Returns:
            ``TensorDict`` of the group ``policy`` (N x size).
        """
        from tensordict import TensorDict  # a dependency of rsl_rl

        return TensorDict({"policy": self._observations}, batch_size=[self.num_envs], device=self.device)

    def reset(self) -> tuple[Any, dict[str, Any]]:
        """Start all robots anew.

        Returns:
            Observations, and {}.
        """
        self._observations = self.environment.reset(stagger=True).float()
        return self.get_observations(), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, dict[str, Any]]:
        """Apply actions.

        Args:
            actions: ``N x k``.

        Returns:
            Observations, rewards (N), ends of episodes (N), and extras: ``time_outs`` (N).
        """
        result = self.environment.step(actions.to(self.environment.now.joints.dtype))
        self._observations = result.observations.float()
        return self.get_observations(), result.rewards.float(), result.ended.long(), {"time_outs": result.truncated}

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


def needs_torch(environment: Environment, name: str) -> None:
    """Refuse an environment whose arrays are not tensors."""
    if not isinstance(environment, Environment) or environment.library.xp.__name__ != "torch":
        raise ModelError(f"{name} takes an Environment with library='torch', got {describe(environment)}")
