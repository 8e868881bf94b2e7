"""Many robots as a vector environment in the conventions of Gymnasium, for learning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .._deprecated import former_attribute
from ..arrays.types import BoolArray, FloatArray, Matrix, Numbers
from ..contact import Contact
from ..control import Law
from ..errors import ExtraMissingError, ModelError, describe
from ..model import Model, State
from .batch.batch_simulator import BatchSimulator
from .problem.arguments import seconds, whole
from .step_size import DEFAULT_STEP

try:
    from gymnasium.spaces import Box
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError:
    raise ExtraMissingError("gym", package="gymnasium", purpose="VectorEnvironment") from None


class VectorEnvironment(VectorEnv):
    """Robots of one :class:`BatchSimulator` as a ``gymnasium.vector.VectorEnv``: one compiled step moves all of them.

    The task is defined by plain functions of arrays; a :class:`~fallingcat.State` there has a first axis over robots.
    Steps are taken on the target, and the functions see and return arrays in this computer's memory, whatever it is.

    Robots are reset as Gymnasium's own vector environments do (``AutoresetMode.NEXT_STEP``): the step after the end of
    an episode ignores the action and gives the first observation of the next, with a reward of 0.  A robot whose
    numbers are no longer finite ends its episode with a reward of 0 and its last observation, and is named in
    ``infos["broken"]``.  With a seed, robot ``i`` starts its generator from ``seed + i``: the same seed gives the same
    numbers, whatever ``count`` and ``threads`` are.

    Args:
        model: Robot.
        count: Number of robots ``N``.
        start: ``start(rng)``: the state (of one robot) from which an episode starts, with the generator of that robot.
        reward: ``reward(before, action, after)``: ``N``, of the states around the action.
        observe: ``observe(state)``: observations, ``N x k``; by default ``[R p]`` of the base (12), joints, twist and
            rates.
        done: ``done(state)``: ``N`` truth values, episodes that end there (terminate); by default none.
        control: ``control(action, state)``: joint forces, ``N x n``, held for ``period`` (s); by default the actions
            themselves.  Or a mapping with inputs of laws, such as ``{"targets": action}`` for
            :class:`~fallingcat.control.PositionServo`.
        actions: Bounds ``(low, high)`` of each robot's action, arrays of one shape; by default effort limits of the
            joints.
        laws: Force laws, as in :class:`BatchSimulator`.
        contact: Ground or other contact; None: nothing is touched.
        period: Time (s) between two actions, a multiple of ``dt``.
        horizon: Time (s) after which episodes are cut off (truncated).
        dt: Step (s).
        threads: Threads of the CPU.
        target: ``cpu`` or ``cuda``.
        dtype: ``float64``, or ``float32`` on a GPU.
        passive: Springs, damping, friction, stops and drive limits of the model act.

    Example:
        >>> import fallingcat as fc
        >>> cat, ones = fc.robots.two_cylinder_cat(), np.ones(2)
        >>> world = VectorEnvironment(
        ...     cat, 3, lambda rng: cat.neutral(), lambda start, action, end: end.joints[:, 0], actions=(-ones, ones)
        ... )
        >>> observations, _ = world.reset(seed=0)
        >>> observations.shape, world.step(np.zeros((3, 2)))[1]
        ((3, 22), array([0., 0., 0.]))
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}  # noqa: RUF012

    fleet = former_attribute("fleet", "simulator")

    def __init__(
        self,
        model: Model,
        count: int,
        start: Callable[[np.random.Generator], State],
        reward: Callable[[State, FloatArray, State], FloatArray],
        *,
        observe: Callable[[State], FloatArray] | None = None,
        done: Callable[[State], BoolArray] | None = None,
        control: Callable[[FloatArray, State], FloatArray] | None = None,
        actions: tuple[Numbers, Numbers] | None = None,
        laws: Law | Sequence[Law] | Sequence[Sequence[Law]] | None = None,
        contact: Contact | None = None,
        period: float = 0.02,
        horizon: float = 10.0,
        dt: float = DEFAULT_STEP,
        threads: int = 1,
        target: str = "cpu",
        dtype: str = "float64",
        passive: bool = True,
    ) -> None:
        self.num_envs, self.model = whole(count, "count"), model
        self._start, self._reward, self._observe = start, reward, observe or default_observation
        self._done, self._control = done, control
        self._steps = _multiple(seconds(period, "period"), seconds(dt, "dt"))
        self._horizon = seconds(horizon, "horizon")
        self._generators = [np.random.default_rng() for _ in range(self.num_envs)]
        begun = start(np.random.default_rng(0))
        about: dict[str, Any] = {"dt": dt, "driven": True, "threads": threads, "target": target, "dtype": dtype}
        about["passive"] = passive
        self.simulator = BatchSimulator(model, [begun] * self.num_envs, laws, contact, **about)
        low, high = _effort_limits(model) if actions is None else actions
        self._low, self._high = _bounds(low, high)
        self.single_action_space = Box(self._low, self._high, dtype=np.float64)
        size = self._observed(self._state()).shape[1]
        self.single_observation_space = Box(-np.inf, np.inf, (size,), dtype=np.float64)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self._ended = np.ones(self.num_envs, dtype=bool)
        self._begun = False
        self._seen = np.zeros((self.num_envs, size))

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """All robots start anew, or those of the truth values ``options["reset_mask"]`` (N); observations, and {}."""
        seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, (int, np.integer)) else seed
        if seeds is not None:
            if len(seeds) != self.num_envs:
                raise ModelError(f"seed is a whole number, or {self.num_envs} of them, not {describe(seed)}")
            fresh = [g if s is None else np.random.default_rng(s) for g, s in zip(self._generators, seeds, strict=True)]
            self._generators = fresh
        which = np.asarray((options or {}).get("reset_mask", np.ones(self.num_envs, dtype=bool)))
        if which.shape != (self.num_envs,) or which.dtype != bool:
            raise ModelError(f"reset_mask is {self.num_envs} truth values, not {describe(which)}")
        self._restart(which)
        self._begun = True
        self._seen = np.where(which[:, None], self._observed(self._state()), self._seen)
        return self._seen.copy(), {}

    def step(self, actions: Matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Observations, rewards, terminations, truncations and infos after ``period`` under ``actions`` (N x k)."""
        if not self._begun:
            raise ModelError("reset() comes before the first step()")
        actions = np.asarray(actions, dtype=float)
        if actions.shape != self.action_space.shape:
            raise ModelError(f"actions are finite numbers of shape {self.action_space.shape}, not {describe(actions)}")
        if not np.isfinite(actions).all():
            robot = int((~np.isfinite(actions)).any(axis=1).argmax())
            raise ModelError(f"actions are finite numbers, not {actions[robot].tolist()} of robot {robot}")
        actions = np.clip(actions, self._low, self._high)
        fresh, before = self._ended, self._state()
        with np.errstate(all="ignore"):  # what is broken starts anew
            given = actions if self._control is None else self._control(actions, before)
            inputs = dict(given) if isinstance(given, Mapping) else {"forces": given}
            inputs, odd = self._finite(inputs)
            forces = inputs.pop("forces", np.zeros((self.num_envs, self.model.n)))
            self.simulator.step(self._steps, forces, **inputs)
        self._restart(fresh)
        after = self._state()
        broken = ~np.logical_and.reduce([np.isfinite(x).reshape(self.num_envs, -1).all(axis=1) for x in after])
        broken |= odd & ~fresh
        quiet = fresh | broken
        with np.errstate(all="ignore"):
            rewards = np.where(quiet, 0.0, self._of_each(self._reward(before, actions, after), "reward"))
            stops = self._of_each(False if self._done is None else self._done(after), "done").astype(bool)
            self._seen = np.where(broken[:, None], self._seen, self._observed(after))
        if not np.isfinite(rewards).all():
            who = int(np.flatnonzero(~np.isfinite(rewards))[0])
            raise ModelError(f"the reward of robot {who} is {rewards[who]}, though its state is finite")
        terminations = (stops & ~fresh) | broken
        late = self.simulator.fetched(self.simulator.times) >= self._horizon - 0.5 * self.simulator.dt
        truncations = late & ~fresh & ~terminations
        self._ended = terminations | truncations
        return self._seen.copy(), rewards, terminations, truncations, {"broken": broken} if broken.any() else {}

    def _finite(self, inputs: Mapping[str, Any]) -> tuple[dict[str, Any], np.ndarray]:
        """Inputs of a control, with zeros for robots whose inputs are not finite, and the truth values of these."""
        given = {name: np.array(x, dtype=float) for name, x in inputs.items()}
        odd = np.zeros(self.num_envs, dtype=bool)
        of_each = [x for x in given.values() if x.ndim == 2 and len(x) == self.num_envs]
        for x in of_each:
            odd |= ~np.isfinite(x).all(axis=1)
        for x in of_each:
            x[odd] = 0.0
        return given, odd

    def _state(self) -> State:
        """State of all robots, in this computer's memory."""
        return State(*self.simulator.layout.series(self.simulator.packed()).states)

    def _restart(self, which: np.ndarray) -> None:
        if which.any():
            self.simulator.reset(which, [self._start(self._generators[i]) for i in np.flatnonzero(which)])
            self._ended = self._ended & ~which

    def _observed(self, state: State) -> np.ndarray:
        seen = np.asarray(self._observe(state), dtype=float)
        if seen.ndim != 2 or len(seen) != self.num_envs:
            raise ModelError(f"observe gives an array of shape ({self.num_envs}, k), not {describe(seen)}")
        return seen

    def _of_each(self, x: Any, what: str) -> np.ndarray:
        if np.shape(x) not in ((), (self.num_envs,)):
            raise ModelError(f"{what} gives {self.num_envs} numbers, not {describe(np.asarray(x))}")
        return np.broadcast_to(np.asarray(x), self.num_envs)


def default_observation(state: State) -> np.ndarray:
    """``N x k``: rows ``[R p]`` of the base, joints, twist and rates."""
    return np.hstack([state.pose[:, :3].reshape(-1, 12), state.joints, state.twist, state.rates])


def _effort_limits(model: Model) -> tuple[np.ndarray, np.ndarray]:
    limits = dict(zip(model.joint_names, model.limits, strict=True))
    effort = np.array([limits[name].effort for name in model.rate_joints])
    if not (np.isfinite(effort) & (effort > 0.0)).all():
        raise ModelError(f"{model.name!r} does not say how strong all its joints are: give actions=(low, high)")
    return -effort, effort


def _bounds(low: Any, high: Any) -> list[np.ndarray]:
    """The least and the largest actions, of one shape."""
    try:
        low, high = np.broadcast_arrays(np.asarray(low, dtype=float), np.asarray(high, dtype=float))
    except (TypeError, ValueError):
        raise ModelError(
            f"actions are (low, high), numbers of one shape, not {describe(low)} and {describe(high)}"
        ) from None
    if not (low <= high).all():
        raise ModelError(f"actions are (low, high), none of low above high, not {low.tolist()} and {high.tolist()}")
    return [low, high]


def _multiple(period: float, dt: float) -> int:
    steps = round(period / dt)
    if steps < 1 or abs(period / dt - steps) > 1e-6 * steps:
        raise ModelError(f"period is a whole number of steps of {dt:g} s, not {period:g} s")
    return steps
