"""Environments of learning whose arrays stay on the device: one call for each action of all robots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..dynamics.checks import choice
from ..errors import ModelError, NumericsError, describe
from ..records import concise, short_text
from ..simulation.batch.resident_batch import ResidentBatch
from ..simulation.problem.arguments import seconds, whole
from .arguments import MAX_BYTES, as_level, as_seed, check_size, steps_per_period
from .delay import Delay
from .libraries import Library, library_of
from .task import Snapshot, Task

BANK_SIZE = 1024
"""Starts, and parameters of robots, from which resets draw, unless another number is given."""
MAX_SPEED = 1e3
"""m/s and rad/s: a robot beyond it, or one whose velocities are not numbers, is broken."""


@concise
class StepResult(NamedTuple):
    """Result of an action of all robots; arrays are of the environment's library.

    Example:
        >>> no = np.array([False])
        >>> StepResult(np.zeros((1, 2)), np.ones(1), no, ~no, no, np.ones((1, 1))).ended
        array([ True])
    """

    observations: Any
    """``N x size``: of robots whose episode has ended, those of the next one"""
    rewards: Any
    """``N``"""
    terminated: Any
    """``N`` truth values: episodes that ended by themselves, falls"""
    truncated: Any
    """``N`` truth values: episodes that were cut off by the horizon"""
    broken: Any
    """``N`` truth values: robots whose numbers were no longer finite, among those that terminated"""
    terms: Any
    """``terms x N``: parts of the rewards, in the order of :attr:`Environment.terms`"""
    last: Any = None
    """``N x size``: observations before resets, if ``details`` are asked for"""
    metrics: Mapping[str, Any] = {}
    """arrays (N) by name, of :meth:`.Task.metrics`, if ``details`` are asked for"""

    @property
    def ended(self) -> Any:
        """``N`` truth values: terminated or truncated."""
        return self.terminated | self.truncated


class Environment:
    """Robots that learn a task, all at once, on CPU or GPU.

    Each :meth:`step` applies actions, takes ``period / dt`` steps in one call, rewards, and starts episodes that have
    ended anew, from a bank of starts on the device.  Arrays are those of one library, on the memory of the simulator:
    on a GPU nothing leaves it, and the host waits for nothing.  A robot that breaks is started anew and counted.

    Args:
        task: Task.
        robots: Number of robots ``N``.
        target: ``cpu`` or ``cuda``.
        library: ``numpy``, ``torch``, ``jax`` or ``cupy``; None: ``numpy`` on the CPU, ``cupy`` on a GPU.
        seed: Seed of all random numbers: the same seed on the same device and library gives the same numbers.
        threads: Threads of the CPU.
        dtype: ``float64`` or ``float32``; None: ``float64`` on the CPU, ``float32`` on a GPU.
        bank: Number of starts from which resets draw.

    Example:
        >>> import fallingcat as fc
        >>> world = fc.learning.Environment(fc.learning.Walk(fc.robots.quadruped()), robots=8, seed=0)
        >>> world.reset().shape
        (8, 48)
        >>> result = world.step(np.zeros((8, 12)))
        >>> result.rewards.shape, bool(result.terminated.any())
        ((8,), False)
    """

    def __init__(
        self,
        task: Task,
        robots: int,
        *,
        target: str = "cpu",
        library: str | None = None,
        seed: int = 0,
        threads: int = 1,
        dtype: str | None = None,
        bank: int = BANK_SIZE,
    ) -> None:
        if not isinstance(task, Task):
            raise ModelError(f"task must be a fc.learning.Task, got {describe(task)}")
        self.task, self.robots, self.target = task, whole(robots, "robots"), target
        self.steps = steps_per_period(seconds(task.period, "period"), seconds(task.dt, "dt"))
        choice(target, tuple(MAX_BYTES), "target of an Environment")
        dtype = ("float32" if target == "cuda" else "float64") if dtype is None else dtype
        default = "cupy" if target == "cuda" else "numpy"
        self.library: Library = library_of(default if library is None else library, target, dtype)
        for count, what in ((self.robots, "robots"), (whole(bank, "bank"), "starts")):
            check_size(task.model, count, what, MAX_BYTES[target])
        rng, starts = np.random.default_rng([as_seed(seed), 1]), whole(bank, "bank")
        self.batch = ResidentBatch(
            task.model, self.robots, task.start(rng, starts), task.laws, task.contact, dt=task.dt, target=target,
            dtype=dtype, threads=threads, parameters=task.randomization.parameters(task.model, rng, starts),
        )  # fmt: skip
        self._gains = _nominal_gains(task)
        self._limits = task.randomization
        self.reset(seed)
        seen, terms = task.observe(self._now), task.reward(self._now)
        self.fields: dict[str, int] = {name: int(x.shape[1]) for name, x in seen.items()}
        """sizes of the observed quantities, by name, in order"""
        self.terms: tuple[str, ...] = tuple(terms)
        """names of the terms of the reward"""
        unknown = {*task.noise} - {*self.fields}
        if unknown:
            raise ModelError(f"noise is that of {', '.join(self.fields)}, not of {describe(min(unknown))}")

    def __repr__(self) -> str:
        return f"<Environment of {short_text(type(self.task).__name__)}: {self.robots} robots, {self.target}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Refused: a copy would move the robots of the original, whose arrays compiled steps hold."""
        raise ModelError("an Environment has no copies: make another of the same task, robots and seed")

    @property
    def observations(self) -> int:
        """Numbers of an observation."""
        return sum(self.fields.values())

    @property
    def actions(self) -> int:
        """Numbers of an action."""
        return self.task.actions

    @property
    def now(self) -> Snapshot:
        """Robots as they are."""
        return self._now

    def field(self, column: int) -> str:
        """Name of an observed number.

        Args:
            column: Its place in an observation.

        Returns:
            Name of the quantity, with the place within it.
        """
        for name, size in self.fields.items() if isinstance(column, (int, np.integer)) and column >= 0 else ():
            if column < size:
                return f"{name}[{column}]" if size > 1 else name
            column -= size
        raise ModelError(f"an observation has {self.observations} numbers")

    def report(self) -> dict[str, int]:
        """Number of episodes since the last :meth:`reset`: started anew, fallen, broken.

        Returns:
            ``{"episodes": ..., "falls": ..., "broken": ...}``.
        """
        counts = self.library.to_numpy(self._counts)
        return dict(zip(("episodes", "falls", "broken"), (int(x) for x in counts), strict=True))

    def reset(self, seed: int | None = None, *, stagger: bool = False, level: float | None = None) -> Any:
        """Start all robots anew.

        Args:
            seed: Seed from which random numbers begin again; None: they go on.
            stagger: Robots are at different times of their first episodes, so that they are not all cut off at once.
            level: Level of all robots, from 0 to 1: see :meth:`.Task.level`; None: the first one of the task.

        Returns:
            Observations (N x size).
        """
        if seed is not None:
            self.library.seed(as_seed(seed))
        task, xp, n = self.task, self.library.xp, self.robots
        zeros = self.library.floats
        self._age = zeros(np.zeros(n))
        if stagger:
            self._age = self.library.uniform(0.0, 1.0, n) * task.horizon
        self._level = zeros(np.full(n, as_level(task.first_level if level is None else level)))
        self._counts = zeros(np.zeros(3))
        self._kp_kd: list[Any] = []
        limits = self._limits
        self._delays = [Delay(xp, periods) for periods in (limits.action_delay, limits.sensor_delay)]
        no_action = zeros(np.zeros((n, task.actions)))
        commands = self._fresh_commands() if task.commands else zeros(np.zeros((n, 0)))
        everybody = self._age >= 0.0
        self._points = self.library.from_simulator(self.batch.points_of())
        self._restart(everybody)
        blank = self._snapshot(actions=no_action, last_actions=no_action, commands=commands)
        inputs = task.control(no_action, blank)
        memory = {name: xp.zeros_like(x) for name, x in task.remember(blank.with_(inputs=inputs)).items()}
        self._now = blank.with_(inputs=inputs, memory=memory)
        self._delays[0].restart(everybody, self._lag(limits.action_delay), no_action)
        return self._sensor_observations(everybody)

    def set_times(self, times: Any) -> None:
        """Set the times since the starts of episodes, from which their horizon counts.

        Args:
            times: ``N`` (s).
        """
        self._age = times + 0.0 * self._age
        self._now = self._now.with_(time=self._age)

    def step(self, actions: Any, *, details: bool = False) -> StepResult:
        """Apply actions for a period.

        Args:
            actions: ``N x k``, an array of the environment's library.
            details: True: the result has observations before resets, and metrics.

        Returns:
            Observations, rewards, ends of episodes.
        """
        task, xp, before = self.task, self.library.xp, self._now
        actions = xp.clip(self._check_actions(actions), -task.limit, task.limit)
        inputs = task.control(self._delays[0](actions), before)
        self.batch.step(self.steps, **{name: self.library.to_simulator(x) for name, x in inputs.items()})
        self._push_bases()
        self._age = self._age + task.period
        self._points = self.library.from_simulator(self.batch.points_of())
        after = self._snapshot(
            actions=actions, last_actions=before.actions, commands=before.commands, inputs=inputs, memory=before.memory
        )
        velocity = self.library.from_simulator(self.batch.part("velocity"))
        broken = ~(xp.amax(xp.abs(velocity), axis=1) < MAX_SPEED)  # also where it is not a number
        none = 0.0 * self._age  # of robots that broke, whose own numbers mean nothing
        terms = xp.where(broken, none, xp.stack(list(task.reward(after).values())))
        rewards = xp.where(broken, none, task.total(terms))
        terminated = task.done(after) | broken
        truncated = (self._age >= task.horizon - 0.5 * task.period) & ~terminated
        last = self._observe(after) if details else None
        metrics = {name: xp.where(broken, none, x) for name, x in task.metrics(after).items()} if details else {}
        self._now = after.with_(memory=task.remember(after))
        if self._has_levels:
            level = xp.clip(task.level(after, terminated), 0.0, 1.0)
            self._level = xp.where(terminated | truncated, level, self._level)
        observations = self._reset_ended(terminated | truncated)
        self._counts = self._counts + xp.stack([(terminated | truncated).sum(), terminated.sum(), broken.sum()])
        return StepResult(observations, rewards, terminated, truncated, broken, terms, last, metrics)

    @property
    def carried(self) -> list[Any]:
        """Arrays from which the next step goes on; not among them are parameters of robots, which change in place."""
        now, delays = self._now, [x for delay in self._delays for x in delay.arrays]
        own = [self.library.from_simulator(self.batch.kept), self._age, self._level, self._counts, self._points]
        given = [now.actions, now.last_actions, now.commands, *now.inputs.values(), *now.memory.values()]
        return [*own, *given, *self._kp_kd, *delays]

    def carry(self, arrays: Sequence[Any]) -> None:
        """Go on from such arrays.

        Args:
            arrays: List of :attr:`carried`, of this environment or of one like it.
        """
        left = iter(arrays)
        self.batch.kept = self.library.to_simulator(next(left))
        self._age, self._level, self._counts, self._points = (next(left) for _ in range(4))
        actions, last, commands = next(left), next(left), next(left)
        inputs, memory = ({name: next(left) for name in x} for x in (self._now.inputs, self._now.memory))
        self._now = self._snapshot(actions=actions, last_actions=last, commands=commands, inputs=inputs, memory=memory)
        self._kp_kd = [next(left) for _ in self._kp_kd]
        for delay in self._delays:
            delay.take([next(left) for _ in delay.arrays])

    # parts of a step --------------------------------------------------------------------------------------------

    def _check_actions(self, actions: Any) -> Any:
        """Actions, whose shape must be right; on the CPU they must be finite."""
        shape = self.robots, self.task.actions
        if tuple(getattr(actions, "shape", ())) != shape:
            raise ModelError(f"actions must have shape {shape}, got {describe(actions)}")
        if self.target == "cpu":
            odd = ~np.isfinite(self.library.to_numpy(actions))
            if odd.any():
                robot, place = (int(x) for x in np.argwhere(odd)[0])
                raise NumericsError(f"action {place} of robot {robot} must be a finite number")
        return actions

    def _snapshot(self, **fields: Any) -> Snapshot:
        """Robots as they are now; nothing is copied."""
        given, n, k = self.library.from_simulator, self.robots, len(self.batch.points)
        pose = given(self.batch.part("pose")).reshape((n, 3, 4))
        feet = self._points[:, : 9 * k].reshape((n, 3, k, 3))
        joints, twist, rates = (given(self.batch.part(name)) for name in ("joints", "twist", "rates"))
        about = {"feet": feet[:, 0], "foot_velocities": feet[:, 1], "foot_forces": feet[:, 2]}
        if k:
            about |= {"foot_heights": self._points[:, 9 * k : 10 * k], "height": self._points[:, 10 * k]}
        about["level"] = self._level
        return Snapshot(
            self.library.xp, self._age, pose[:, :, :3], pose[:, :, 3], joints, twist, rates, **about, **fields
        )

    @property
    def _has_levels(self) -> bool:
        """True: levels may differ from 1."""
        return type(self.task).level is not Task.level or self.task.first_level != 1.0

    def _fresh_commands(self) -> Any:
        """Random commands, within the level of each robot."""
        commands = self.task.command(self.library, self.robots)
        return self._level[:, None] * commands if self._has_levels else commands

    def _reset_ended(self, ended: Any) -> Any:
        """Observations, after episodes that have ended are started anew."""
        task, xp, now = self.task, self.library.xp, self._now
        row = ended[:, None]
        self._age = xp.where(ended, 0.0 * self._age, self._age)
        commands = now.commands
        if task.commands:
            fresh = self.library.uniform(0.0, 1.0, self.robots) < task.period / task.command_period
            commands = xp.where((fresh | ended)[:, None], self._fresh_commands(), commands)
        none = 0.0 * now.actions
        actions, last = xp.where(row, none, now.actions), xp.where(row, none, now.last_actions)
        memory = {name: xp.where(row, xp.zeros_like(x), x) for name, x in now.memory.items()}
        self._restart(ended)
        self._delays[0].restart(ended, self._lag(self._limits.action_delay), none)
        self._now = self._snapshot(
            actions=actions, last_actions=last, commands=commands, inputs=now.inputs, memory=memory
        )
        return self._sensor_observations(ended)

    def _restart(self, ended: Any) -> None:
        """Put some robots where episodes start, with parameters of their own."""
        xp, sent = self.library.xp, self.library.to_simulator
        index = self.library.indices(self.batch.starts, self.robots)
        self.batch.restart(sent(ended), sent(index))
        self._draw_gains(ended)
        self._points = xp.where(
            ended[:, None], self.library.from_simulator(self.batch.bank_points(sent(index))), self._points
        )

    def _draw_gains(self, ended: Any) -> None:
        """Gains of servos of the robots that start anew."""
        limits, n = self._limits, self.robots
        if not self._gains or all(x == (1.0, 1.0) for x in (limits.stiffness, limits.damping, limits.strength)):
            return
        strength = self.library.uniform(*limits.strength, n, 1)
        fresh = [
            strength * self.library.uniform(*limit, n, 1) * self.library.constant(gain)
            for limit, gain in zip((limits.stiffness, limits.damping), self._gains, strict=True)
        ]
        old = self._kp_kd or fresh
        self._kp_kd = [self.library.xp.where(ended[:, None], x, y) for x, y in zip(fresh, old, strict=True)]
        kp, kd = (self.library.to_simulator(x) for x in self._kp_kd)
        self.batch.set(kp=kp, kd=kd)

    def _push_bases(self) -> None:
        """Change the horizontal velocity of some bases at random times."""
        limits, n, m = self._limits, self.robots, self.task.model.m
        if not limits.push or m != 6:
            return
        xp, given = self.library.xp, self.library.from_simulator
        chosen = self.library.uniform(0.0, 1.0, n) < self.task.period / limits.push_period
        kick = xp.where(
            chosen[:, None], self.library.uniform(-limits.push, limits.push, n, 2), 0.0 * self._age[:, None]
        )
        if self._has_levels:
            kick = self._level[:, None] * kick
        rotation = given(self.batch.part("pose")).reshape((n, 3, 4))[:, :2, :3]
        change = (rotation * kick[:, :, None]).sum(axis=1)
        self.batch.kick(self.library.to_simulator(xp.concatenate([change, 0.0 * change], axis=1)))

    def _lag(self, most: int) -> Any:
        """Delays of robots, in periods."""
        return self.library.indices(most + 1, self.robots) if most else None

    def _observe(self, now: Snapshot) -> Any:
        return self.library.xp.concatenate(list(self.task.observe(now).values()), axis=1)

    def _sensor_observations(self, ended: Any) -> Any:
        """Observations as sensors give them: with noise, and late."""
        seen = self._observe(self._now)
        if self.task.noise:
            sizes = self.task.observe(self._now)
            width = np.concatenate([np.full(x.shape[1], self.task.noise.get(k, 0.0)) for k, x in sizes.items()])
            seen = seen + self.library.constant(width) * self.library.uniform(-1.0, 1.0, *seen.shape)
        self._delays[1].restart(ended, self._lag(self._limits.sensor_delay), seen)
        return self._delays[1](seen)


def _nominal_gains(task: Task) -> list[np.ndarray]:
    """``kp`` and ``kd`` of the servos of a task, if it has some."""
    for law in task.laws:
        if {"kp", "kd"} <= {*law.inputs}:
            whole_law: Any = law.sized(task.model)
            return [np.array(whole_law.kp, dtype=float), np.array(whole_law.kd, dtype=float)]
    return []
