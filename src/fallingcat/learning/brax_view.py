"""Environment as pure functions of JAX with the interface of Brax; nothing of it is imported."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ExtraMissingError, ModelError, describe
from ..records import concise
from .environment import Environment, StepResult

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    raise ExtraMissingError("jax", purpose="BraxView") from None


@concise
@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class BraxState:
    """All robots between two actions, with the fields of Brax's states.

    Example:
        >>> state = BraxState({}, np.zeros((1, 3)), np.zeros(1), np.zeros(1))
        >>> state.replace(done=np.ones(1)).done
        array([1.])
    """

    pipeline_state: Any
    """whatever the next step depends on: ``bytes`` of all robots, and the random ``key``"""
    obs: Any
    """``N x size``: of robots whose episode has ended, those of the next one"""
    reward: Any
    """``N``"""
    done: Any
    """``N``: 1 where an episode has ended"""
    metrics: dict[str, Any] = dataclasses.field(default_factory=dict)
    """arrays (N) by name"""
    info: dict[str, Any] = dataclasses.field(default_factory=dict)
    """arrays (N): ``truncation``, 1 where an episode was cut off; ``steps`` since its start; ``episode_done``, as done;
    ``episode_metrics`` of the episode up to here: ``sum_reward``, ``length``"""

    def replace(self, **changes: Any) -> BraxState:
        """State with other fields.

        Args:
            changes: Fields by name.

        Returns:
            State.
        """
        return dataclasses.replace(self, **changes)


class BraxView:
    """Environment as pure functions ``reset(key)`` and ``step(state, action)``, with the interface of Brax.

    The result depends on the arguments alone, whatever was called before; ``jit``, ``scan`` and ``vmap`` of JAX take
    the functions.  All robots are one environment: Brax's trainers take ``wrap_env=False``, and as many environments
    as there are robots.  Steps are those of the environment on the CPU, called from compiled functions of JAX; its
    numbers travel as they are, in double precision.

    Args:
        environment: Environment on the CPU whose library is ``numpy``; the view moves its robots.

    Example:
        >>> import fallingcat as fc
        >>> import jax
        >>> view = BraxView(fc.learning.Environment(fc.learning.Walk(fc.robots.quadruped()), 4))
        >>> state = jax.jit(view.reset)(jax.random.key(0))
        >>> jax.jit(view.step)(state, np.zeros((4, 12))).obs.shape
        (4, 48)
    """

    def __init__(self, environment: Environment) -> None:
        if not isinstance(environment, Environment) or environment.library.xp is not np:
            raise ModelError(f"BraxView takes an Environment on the CPU in NumPy, got {describe(environment)}")
        self.environment = environment
        self.observation_size, self.action_size = environment.observations, environment.actions
        result = environment.step(np.zeros((environment.robots, environment.actions)), details=True)
        shaped: Any = jax.ShapeDtypeStruct  # which has no types
        self._metrics = tuple(result.metrics)
        self._result_shapes = [shaped(x.shape, x.dtype) for x in self._numbers(result)]

    def __repr__(self) -> str:
        return f"<BraxView of {self.environment!r}>"

    @property
    def unwrapped(self) -> BraxView:
        """The environment itself."""
        return self

    @property
    def backend(self) -> str:
        """Name of what simulates."""
        return "fallingcat"

    def reset(self, rng: Any) -> BraxState:
        """Start all robots.

        Args:
            rng: Key of JAX; of several, the first.

        Returns:
            State.
        """
        key, own = jax.random.split(_typed_key(rng))
        return self._state(self._call_back(self._reset_robots, jax.random.key_data(own)), key)

    def step(self, state: BraxState, action: Any) -> BraxState:
        """Apply actions.

        Args:
            state: Result of :meth:`reset` or of this method.
            action: ``N x k``.

        Returns:
            State; its ``info`` keeps the fields that others have put there.
        """
        key, own = jax.random.split(state.pipeline_state["key"])
        found = self._call_back(self._step_robots, state.pipeline_state["bytes"], jax.random.key_data(own), action)
        after = self._state(found, key)
        before, goes_on = state.info["episode_metrics"], 1.0 - state.done
        gains = {"sum_reward": after.reward, "length": 1.0}
        sums = {name: goes_on * before[name] + gain for name, gain in gains.items()}
        info = state.info | after.info | {"episode_metrics": sums}
        return after.replace(info=info, metrics=state.metrics | after.metrics)

    def _call_back(self, function: Any, *arguments: Any) -> Any:
        return jax.pure_callback(function, self._result_shapes, *arguments, vmap_method="sequential")

    def _state(self, found: Any, key: Any) -> BraxState:
        kept, seen, rewards, ended, truncated, actions, *metrics = found
        named = dict(zip(self._metrics, metrics, strict=True))
        none = jnp.zeros_like(rewards)
        info = {"truncation": truncated, "steps": actions, "episode_done": ended}
        info["episode_metrics"] = {"sum_reward": none, "length": none}
        return BraxState({"bytes": kept, "key": key}, seen, rewards, ended, named, info)

    def _reset_robots(self, words: Any) -> list[np.ndarray]:
        env = self.environment
        seen, none, never = env.reset(_integer_seed(words)), np.zeros(env.robots), np.zeros(env.robots, dtype=bool)
        env.batch.set(**env.now.inputs)  # in place of those of the last run, on which nothing depends
        metrics = dict.fromkeys(self._metrics, none)
        return self._numbers(StepResult(seen, none, never, never, never, none, metrics=metrics))

    def _step_robots(self, kept: Any, words: Any, action: Any) -> list[np.ndarray]:
        env = self.environment
        self._restore(np.asarray(kept))
        env.library.seed(_integer_seed(words))
        return self._numbers(env.step(np.asarray(action, dtype=float), details=True))

    def _numbers(self, result: StepResult) -> list[np.ndarray]:
        """Bytes of the environment, and a result, in single precision."""
        env = self.environment
        kept = np.concatenate([np.frombuffer(x.tobytes(), dtype=np.uint8) for x in self._arrays])
        actions = np.round(env.now.time / env.task.period)
        shown = (result.observations, result.rewards, result.ended, result.truncated, actions, *result.metrics.values())
        return [kept, *(np.asarray(x, dtype=np.float32) for x in shown)]

    @property
    def _arrays(self) -> list[np.ndarray]:
        """Arrays on which the next step depends, with the parameters of robots, which change in place."""
        return [np.asarray(x) for x in (*self.environment.carried, self.environment.batch.own)]

    def _restore(self, kept: np.ndarray) -> None:
        """Go on from such arrays."""
        arrays, found = self._arrays, []
        for part, x in zip(np.split(kept, np.cumsum([x.nbytes for x in arrays])[:-1]), arrays, strict=True):
            found.append(np.frombuffer(part.tobytes(), dtype=x.dtype).reshape(x.shape).copy())
        self.environment.carry(found[:-1])
        self.environment.batch.own[...] = found[-1]


def _typed_key(rng: Any) -> Any:
    """One key, typed."""
    key = rng if jnp.issubdtype(rng.dtype, jax.dtypes.prng_key) else jax.random.wrap_key_data(rng)
    return key.reshape(-1)[0]


def _integer_seed(words: Any) -> int:
    high, low = (int(x) for x in np.asarray(words).reshape(-1)[:2])
    return (high << 32 | low) >> 1
