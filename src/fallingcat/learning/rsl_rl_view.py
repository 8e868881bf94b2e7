"""Environment with the tensor interface of rsl_rl, whose runners train on it; nothing of it is imported."""

from __future__ import annotations

from typing import Any

from .environment import Environment


class RslRlView:
    """Environment as the vector environment of rsl_rl (2.x): tensors in, tensors out.

    Args:
        environment: Environment whose library is ``torch``.

    Example:
        >>> import fallingcat as fc
        >>> task = fc.learning.Walk(fc.robots.quadruped())
        >>> view = RslRlView(fc.learning.Environment(task, 4, library="torch"))  # doctest: +SKIP
        >>> seen, extras = view.get_observations()  # doctest: +SKIP
        >>> view.num_envs, view.num_obs, view.num_actions, tuple(seen.shape)  # doctest: +SKIP
        (4, 48, 12, (4, 48))
    """

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.num_envs, self.num_actions = environment.robots, environment.actions
        self.num_obs, self.num_privileged_obs = environment.observations, None
        self.max_episode_length = round(environment.task.horizon / environment.task.period)
        self.device = environment.target
        self.cfg: dict[str, Any] = environment.task.about()
        self._seen = environment.reset().float()

    def __repr__(self) -> str:
        return f"<RslRlView of {self.environment!r}>"

    @property
    def unwrapped(self) -> RslRlView:
        """The environment itself."""
        return self

    @property
    def episode_length_buf(self) -> Any:
        """``N`` whole numbers: actions since the start of each episode."""
        return (self.environment.now.time / self.environment.task.period).round().long()

    def get_observations(self) -> tuple[Any, dict[str, Any]]:
        """Observations, and extras.

        Returns:
            ``N x size``, and ``{"observations": {}}``.
        """
        return self._seen, {"observations": {}}

    def reset(self) -> tuple[Any, dict[str, Any]]:
        """Start all robots anew.

        Returns:
            Observations and extras.
        """
        self._seen = self.environment.reset(stagger=True).float()
        return self.get_observations()

    def step(self, actions: Any) -> tuple[Any, Any, Any, dict[str, Any]]:
        """Apply actions.

        Args:
            actions: ``N x k``.

        Returns:
            Observations, rewards, ends of episodes, and extras with ``time_outs``.
        """
        result = self.environment.step(actions.to(self.environment.now.joints.dtype))
        self._seen = result.observations.float()
        extras = {"observations": {}, "time_outs": result.truncated}
        return self._seen, result.rewards.float(), result.ended.long(), extras

    def close(self) -> None:
        """Do nothing: there is nothing to close."""
