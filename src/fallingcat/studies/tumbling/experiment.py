"""An arm in orbit that tumbles, under the laws of [Mishra] V-A: with perfect poses, and with slow ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...arrays import concatenate
from ...arrays.differentiate import derivative
from ...compiler import compile
from ...control import OutputFeedback, PoseSensor, SampledController
from ...control.laws.output_feedback import COMPENSATIONS, compensation
from ...dynamics import displace, forward_dynamics
from ...formulations import ReducedEquations, reduced_equations
from ...model import Model, State, robots
from ...simulation import Rollout, Trajectory, rollout, simulate
from .parameters import TumblingParameters

STEP = 0.02
"""s: of runs with perfect poses"""
DIFFERENTIATED_SAMPLES = 40
"""Samples of a run at which ``dW/dt`` is differentiated."""


class Errors(NamedTuple):
    """The error state of [Mishra] (50) and ``W``, along one run or many (... x size)."""

    pose: np.ndarray
    locked: np.ndarray
    rates: np.ndarray
    joints: np.ndarray
    W: np.ndarray
    parts: np.ndarray
    """``... x 4``"""


@dataclass(frozen=True, eq=False)
class Experiment:
    """An arm, the shape that it should keep, how it tumbles, and its laws."""

    model: Model
    target: np.ndarray
    start: State
    rel: ReducedEquations
    """at the target"""
    p: TumblingParameters

    @classmethod
    def from_parameters(cls, p: TumblingParameters) -> Experiment:
        """Experiment with the locked angular velocity and the joint offsets of the parameters."""
        arm = robots.orbital_arm()
        target = np.radians(p.target)
        spin = [0.0, 0.0, 0.0, *np.radians(p.spin)]  # at rest in its joints: the twist is the locked velocity
        rel = reduced_equations(arm, arm.state(joints=target))
        return cls(arm, target, arm.state(joints=target + np.radians(p.offset), twist=spin), rel, p)

    def law(self, kind: str, **more: Any) -> OutputFeedback:
        """A law with the gains of the parameters, the joints' inertias for weights; the paper's observer gains."""
        w = self.p.frequency
        gains = {"pose_gain": self.p.pose_gain, "locked_gain": self.p.locked_gain} | more
        return OutputFeedback(
            w * w, 2.0 * self.p.damping * w, weights=tuple(np.diag(self.rel.Lq)), target=tuple(self.target),
            compensation=kind, **gains,
        )  # fmt: skip

    def slow_law(self, kind: str, gain: float, **more: Any) -> OutputFeedback:
        """A law for slow poses, critically damped observers of one ``gain`` (1/s), which knows of no tumbling yet."""
        p = self.p
        sensor = PoseSensor(
            p.pose_rate, p.latency, float(np.radians(p.rotation_noise)), p.position_noise,
            float(np.radians(p.rate_noise)),
        )  # fmt: skip
        about: dict[str, Any] = {"pose_gain": gain, "locked_gain": gain * gain / 4.0, "sensor": sensor}
        about |= {"base_weights": tuple(np.diag(self.rel.Mb)), "locked": (0.0,) * 6}
        return self.law(kind, **(about | more))

    def run(self, law: OutputFeedback) -> Trajectory:
        """Simulate with perfect poses."""
        return simulate(self.model, self.start, self.p.duration, law, dt=STEP)

    def noisy_runs(self, law: OutputFeedback, count: int, duration: float, rate: float, every: int) -> Rollout:
        """``count`` runs that differ in the noise of their sensors."""
        return rollout(
            self.model, [self.start] * count, duration, SampledController(law, rate, seed=1), dt=1.0 / rate, every=every
        )

    def errors(self, law: OutputFeedback, states: tuple[np.ndarray, ...], memory: np.ndarray) -> Errors:
        """Along states (poses, joints, twists, rates) with any leading shape."""
        kernel = compile(self.model, errors_at, inputs={"memory": memory.shape[-1]}, state=State._fields, law=law)
        poses, *rest = states
        m, n = self.model.m, self.model.n
        found = np.asarray(kernel(poses[..., :3, :], *rest, memory))
        return Errors(*np.split(found, np.cumsum([m, m, n, n, 1]), axis=-1))._replace(W=found[..., 2 * m + 2 * n])

    def errors_along(self, run: Trajectory, law: OutputFeedback) -> Errors:
        """Errors along one run."""
        return self.errors(law, (run.poses, run.joints, run.twists, run.rates), run.law_memory(law.name))

    def dissipation_error(self, run: Trajectory, law: OutputFeedback) -> float:
        """Largest difference of ``dW/dt``, exact along the closed loop, from (58), relative to the largest."""
        memory, off, largest = run.law_memory(law.name), 0.0, 0.0
        for i in np.linspace(0, len(run) - 1, DIFFERENTIATED_SAMPLES).astype(int):
            state, knows = run.state(int(i)), law.with_memory(memory[i])
            a = forward_dynamics(self.model, state, knows.forces(self.model, 0.0, state, frozenset()))
            rate = knows.memory_rate(self.model, 0.0, state)
            wanted = knows.errors(self.model, state).rate
            off = max(
                off,
                abs(float(derivative(_storage_ahead(self.model, state, a, knows, rate), like=list(state))) - wanted),
            )
            largest = max(largest, abs(wanted))
        return off / largest

    def torques(self, run: Trajectory, law: OutputFeedback) -> dict[str, np.ndarray]:
        """Both compensations (N x n) at the states of one run and what its observer knew."""
        kinds = COMPENSATIONS[:2]
        kernel = compile(
            self.model, torques_at, inputs={"memory": run.memory.shape[1]}, state=State._fields, law=law, kinds=kinds
        )
        found = np.asarray(kernel(run.poses[:, :3], run.joints, run.twists, run.rates, run.law_memory(law.name)))
        return dict(zip(kinds, np.split(found, 2, axis=1), strict=True))


def errors_at(model: Model, state: State, memory: Any, *, law: OutputFeedback) -> Any:
    """``[eps; mu_e; rates; joints; W; parts]`` of a law that remembers ``memory``."""
    x = law.with_memory(memory).errors(model, state)
    return concatenate([x.pose, x.locked, x.rates, x.joints, np.reshape(x.W, 1), x.parts])


def torques_at(model: Model, state: State, memory: Any, *, law: OutputFeedback, kinds: tuple[str, ...]) -> Any:
    """Compensations, one after the other."""
    rel = law.with_memory(memory).observed(model, state).rel
    return concatenate([compensation(rel, kind) for kind in kinds])


def _storage_ahead(model: Model, state: State, a: np.ndarray, law: OutputFeedback, rate: np.ndarray) -> Any:
    """``W`` as a function of the time from now, to first order."""
    v = state.velocity

    def W(t: Any) -> Any:
        moved = displace(model, state, t * v)._replace(twist=(v + t * a)[: model.m], rates=(v + t * a)[model.m :])
        return law.with_memory(law.memory + t * rate).errors(model, moved).W

    return W


def with_frequency(law: OutputFeedback, frequency: float) -> OutputFeedback:
    """Critically damped joints of another ``frequency`` (rad/s)."""
    return replace(law, stiffness=frequency * frequency, damping=2.0 * frequency)
