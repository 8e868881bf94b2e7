"""Steady gait of a controlled robot: samples of it, its period and phases, and how near to it a robot is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..model import State
from ..records import concise
from ..simulation.batch.resident_batch import ResidentBatch
from .libraries import Library, library_of
from .policy import Policy
from .task import Snapshot
from .walk import Walk

SETTLING_TIME, SAMPLING_TIME = 4.0, 12.0
"""s: until the gait is steady, and for which it is sampled then"""
MIN_STEPPING_RANGE = 0.02
"""rad: a robot whose joints move less does not step, and has no phase"""
NEARNESS_FACTOR = 3.0
"""A robot is near the gait where it is off by at most so many times what the gait itself differs from its mean."""
MIN_TOLERANCE = np.array([0.1, 0.1, 0.1, 0.3, 0.3, 0.3, 0.05, 0.05, 0.02])
"""m/s, rad/s, direction of gravity, m: differences that always count as near"""
FREQUENCIES = np.arange(0.5, 12.0, 0.002)
"""Hz: among which that of the stride is searched"""
PERIODIC = 0.4
"""Share of the variance of the joints that a sine of the stride's period must explain"""


@concise
class SteadyGait(NamedTuple):
    """Samples of a steady gait, at the times at which its controller acts.

    Example:
        >>> import fallingcat as fc
        >>> gait = steady_gait(fc.learning.Walk(fc.robots.quadruped()), None, (0.0, 0.0, 0.0))
        >>> gait.stride, float(gait.phases.max())
        (0.0, 0.0)
    """

    states: State
    """States of the samples, with a first axis"""
    actions: np.ndarray
    """``K x k``: those before each sample"""
    times: np.ndarray
    """``K`` (s): since the controller began"""
    phases: np.ndarray
    """``K``: in parts of a stride, 0 where the joint that moves most is at the crest of its fundamental"""
    stride: float
    """s; 0 where the robot stands, or does not repeat its motion"""
    command: np.ndarray
    """Command"""
    mean: np.ndarray
    """``9``: means of :func:`deviation`'s quantities"""
    calm: np.ndarray
    """``9``: how far a robot may be off and count as near the gait"""


class ControlledRobots:
    """Robots under a policy, all at once: every :meth:`advance` is an action.

    Args:
        task: Walking.
        policy: Policy; None: servos hold the posture.
        robots: Number of robots.
        bank: States from which they start.
        command: Command of all robots.
        target: ``cpu`` or ``cuda``.
        library: Array library; None: ``numpy``, or ``cupy`` on a GPU.
        threads: Threads of the CPU.
        refinement: Steps of the simulation are that many times shorter than those of the task.
        integrator: Integrator; None: that of :class:`.ResidentBatch`.
    """

    def __init__(
        self,
        task: Walk,
        policy: Policy | None,
        robots: int,
        bank: State,
        command: Sequence[float] | np.ndarray,
        *,
        target: str = "cpu",
        library: str | None = None,
        threads: int = 1,
        refinement: int = 1,
        integrator: Any = None,
    ) -> None:
        dtype, default = ("float32", "cupy") if target == "cuda" else ("float64", "numpy")
        self.library: Library = library_of(default if library is None else library, target, dtype)
        self.task, self.robots, self._steps = task, robots, round(task.period / task.dt) * refinement
        self.batch = ResidentBatch(
            task.model, robots, bank, task.laws, task.contact, dt=task.period / self._steps, target=target,
            dtype=dtype, threads=threads, integrator=integrator,
        )  # fmt: skip
        self._act = None if policy is None else policy.on(self.library)
        self._commands = self.library.floats(np.tile(np.asarray(command, dtype=float), (robots, 1)))
        self.last_actions = self.library.floats(np.zeros((robots, task.actions)))
        """``N x k``: last actions"""
        self.time = self.library.floats(np.zeros(robots))
        """``N`` (s): since the controller began"""

    @property
    def now(self) -> Snapshot:
        """Robots as they are."""
        given, part = self.library.from_simulator, self.batch.part
        pose = given(part("pose")).reshape((self.robots, 3, 4))
        joints, twist, rates = (given(part(name)) for name in ("joints", "twist", "rates"))
        return Snapshot(
            self.library.xp, self.time, pose[:, :, :3], pose[:, :, 3], joints, twist, rates, height=pose[:, 2, 3],
            actions=self.last_actions, commands=self._commands,
        )  # fmt: skip

    def advance(self) -> None:
        """Apply the actions of the policy for a period."""
        task, xp, now = self.task, self.library.xp, self.now
        if self._act is not None:
            seen = xp.concatenate(list(task.observe(now).values()), axis=1)
            self.last_actions = xp.clip(self._act(seen), -task.limit, task.limit)
        inputs = task.control(self.last_actions, now)
        self.batch.step(self._steps, **{name: self.library.to_simulator(x) for name, x in inputs.items()})
        self.time = self.time + task.period


def deviation(now: Snapshot) -> Any:
    """``N x 9``: velocity and angular velocity in the axes of the base, tilt and height."""
    return now.xp.concatenate([now.twist, now.gravity[:, :2], now.height[:, None]], axis=1)


def steady_gait(task: Walk, policy: Policy | None, command: Sequence[float]) -> SteadyGait:
    """Steady gait of a robot under a policy, simulated until it repeats itself, and sampled.

    Args:
        task: Walking.
        policy: Policy; None: servos hold the posture.
        command: Velocity (m/s, m/s, rad/s).

    Returns:
        Samples at the times at which the policy acts.

    Example:
        >>> import fallingcat as fc
        >>> gait = steady_gait(fc.learning.Walk(fc.robots.quadruped()), None, (0.0, 0.0, 0.0))
        >>> gait.states.joints.shape
        (600, 12)
    """
    robots = ControlledRobots(task, policy, 1, State(*(x[None] for x in task.stance)), command)
    states, actions, seen = [], [], []
    skipped = round(SETTLING_TIME / task.period)
    for k in range(skipped + round(SAMPLING_TIME / task.period)):
        if k >= skipped:
            states.append(State(*(x[0].copy() for x in robots.batch.simulator.state)))
            actions.append(robots.last_actions[0].copy())
            seen.append(deviation(robots.now)[0])
        robots.advance()
    many = State(*(np.stack(x) for x in zip(*states, strict=True)))
    times, mean = task.period * np.arange(skipped, skipped + len(seen)), np.mean(seen, axis=0)
    stride, phases = _phases(times, many.joints)
    calm = np.maximum(MIN_TOLERANCE, NEARNESS_FACTOR * np.abs(np.array(seen) - mean).max(axis=0))
    return SteadyGait(many, np.stack(actions), times, phases, stride, np.array(command, dtype=float), mean, calm)


def _phases(times: np.ndarray, joints: np.ndarray) -> tuple[float, np.ndarray]:
    """Period of the motion of the joints (s; 0 where there is none), and phase of each sample."""
    moved = joints - joints.mean(axis=0)
    window = np.hanning(len(times))
    waves = np.exp(-2j * np.pi * np.outer(FREQUENCIES, times)) @ (window[:, None] * moved)
    power = 2.0 * (np.abs(waves) ** 2).sum(axis=1) / window.sum() ** 2
    best = int(np.argmax(power))
    if np.abs(moved).max() < MIN_STEPPING_RANGE or power[best] < PERIODIC * (moved**2).mean(axis=0).sum():
        return 0.0, np.zeros(len(times))
    frequency, most = FREQUENCIES[best], np.argmax(moved.std(axis=0))
    return float(1.0 / frequency), (frequency * times + np.angle(waves[best, most]) / (2.0 * np.pi)) % 1.0
