"""Environment with the interface of those of Isaac Lab, for trainers such as skrl; nothing of it is imported."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ExtraMissingError
from .environment import Environment
from .rsl_rl_view import needs_torch

try:
    from gymnasium.spaces import Box, Dict
except ImportError:
    raise ExtraMissingError("gym", package="gymnasium", purpose="IsaacLabView") from None


class IsaacLabView:
    """Environment with the interface of Isaac Lab: tensors stay on the device; episodes that end start anew at once.

    skrl takes it as ``wrap_env(view, wrapper="isaaclab-single-agent")``.

    Args:
        environment: Environment whose library is ``torch``.

    Example:
        >>> import fallingcat as fc
        >>> task = fc.learning.Walk(fc.robots.quadruped())
        >>> view = IsaacLabView(fc.learning.Environment(task, 4, library="torch"))  # doctest: +SKIP
        >>> seen, _ = view.reset(seed=0)  # doctest: +SKIP
        >>> tuple(seen["policy"].shape)  # doctest: +SKIP
        (4, 48)
    """

    def __init__(self, environment: Environment) -> None:
        needs_torch(environment, type(self).__name__)
        self.environment, self.num_envs, self.device = environment, environment.robots, environment.target
        self.max_episode_length = round(environment.task.horizon / environment.task.period)
        limit = np.full(environment.actions, environment.task.limit, dtype=np.float32)
        self.single_action_space = Box(-limit, limit)
        self.single_observation_space = Dict({"policy": Box(-np.inf, np.inf, (environment.observations,))})

    def __repr__(self) -> str:
        return f"<IsaacLabView of {self.environment!r}>"

    @property
    def unwrapped(self) -> IsaacLabView:
        """The environment itself."""
        return self

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start all robots anew.

        Args:
            seed: Seed of all random numbers, or None.
            options: Not used.

        Returns:
            Observations ``{"policy": N x size}``, and {}.
        """
        return {"policy": self.environment.reset(seed, stagger=True).float()}, {}

    def step(self, actions: Any) -> tuple[dict[str, Any], Any, Any, Any, dict[str, Any]]:
        """Apply actions.

        Args:
            actions: ``N x k``.

        Returns:
            Observations ``{"policy": N x size}``, rewards (N), terminations (N), truncations (N), and {}.
        """
        result = self.environment.step(actions.to(self.environment.now.joints.dtype))
        seen = {"policy": result.observations.float()}
        return seen, result.rewards.float(), result.terminated, result.truncated, {}

    def close(self) -> None:
        """Do nothing: there is nothing to close."""
