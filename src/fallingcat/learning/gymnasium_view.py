"""Environment as a vector environment of Gymnasium, for trainers that take NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ExtraMissingError, ModelError, describe
from .environment import Environment

try:
    from gymnasium.spaces import Box
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError:
    raise ExtraMissingError("gym", package="gymnasium", purpose="GymnasiumView") from None


class GymnasiumView(VectorEnv):
    """Environment as a ``gymnasium.vector.VectorEnv``: NumPy arrays in this computer's memory.

    Episodes that end start anew in the same step (``AutoresetMode.SAME_STEP``); ``infos["final_obs"]`` has the last
    observations of those that ended, and ``infos["broken"]`` the truth values of robots that broke.

    Args:
        environment: Environment.

    Example:
        >>> import fallingcat as fc
        >>> view = GymnasiumView(fc.learning.Environment(fc.learning.Walk(fc.robots.quadruped()), 4))
        >>> seen, _ = view.reset(seed=0)
        >>> seen.shape, view.step(np.zeros((4, 12)))[1].shape
        ((4, 48), (4,))
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}  # noqa: RUF012

    def __init__(self, environment: Environment) -> None:
        self.environment, self.num_envs = environment, environment.robots
        limit = np.full(environment.actions, environment.task.limit, dtype=np.float32)
        self.single_action_space = Box(-limit, limit, dtype=np.float32)
        self.single_observation_space = Box(-np.inf, np.inf, (environment.observations,), dtype=np.float32)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start all robots anew.

        Args:
            seed: Seed of all random numbers, or None.
            options: Not used.

        Returns:
            Observations (N x size), and {}.
        """
        if seed is not None and not isinstance(seed, (int, np.integer)):
            raise ModelError(f"seed must be one whole number for all robots, got {describe(seed)}")
        return self._as_floats(self.environment.reset(seed)), {}

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Apply actions.

        Args:
            actions: ``N x k``.

        Returns:
            Observations, rewards, terminations, truncations and infos.
        """
        library = self.environment.library
        result = self.environment.step(library.floats(np.asarray(actions, dtype=float)), details=True)
        seen, rewards, terminated, truncated, broken = (library.to_numpy(x).copy() for x in result[:5])
        infos: dict[str, Any] = {"broken": broken} if broken.any() else {}
        ended = terminated | truncated
        if ended.any():
            infos |= {"final_obs": self._as_floats(result.last), "_final_obs": ended}
        return seen.astype(np.float32), rewards.astype(float), terminated, truncated, infos

    def _as_floats(self, x: Any) -> np.ndarray:
        return np.array(self.environment.library.to_numpy(x), dtype=np.float32)
