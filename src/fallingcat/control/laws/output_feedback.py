"""Output feedback for free-floating robots without measured base velocity: [Mishra] V-A.

Momentum disturbs the joints of a robot in orbit.  An observer on the base's group estimates the locked velocity from
measured poses of the base, which may be infrequent, delayed and noisy, and the joint torques compensate its effect.
For any base group.

The notation of the paper: ``g`` and ``g^`` are pose and estimate, ``eta = g^^-1 g``, ``eps = log eta``, ``mu`` and
``mu^`` the locked velocity and its estimate in the estimated frame, ``mu_o = Ad(eta^-1) mu^`` the estimate in the
base's frame, ``mu_e = mu - mu_o``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...arrays import concatenate, less_equal, solve, where
from ...arrays.types import Matrix_nv_nv, Pose, Scalar, Twist, Vector, Vector_4, Vector_m, Vector_n, Vector_nv
from ...dynamics.checks import choice, vector
from ...errors import ModelError, describe
from ...formulations import ReducedEquations, connection, locked_velocity, reduced_equations
from ...lie.rotations import homogeneous
from ...model import Model, State
from ...records import concise
from .base import Law
from .reference_motions import PeriodicReference, ReferenceMotion
from .springs import on_joints

COMPENSATIONS = ("curvature", "locked", "none")
"""``curvature``: (45), i = 1, with the force of the curvature, which needs joint rates; ``locked``: i = 2, without it;
``none``: springs and dampers alone."""
_VECTORS = ("weights", "base_weights", "target", "pose", "locked")
TIME_ROUNDING = 1e-9
"""Rounding of times (s): a sample that is due within it is due."""


@dataclass(frozen=True)
class PoseSensor:
    """Measurement of the base pose and the joint rates, for laws in a :class:`.SampledController`.

    Example:
        >>> PoseSensor(rate=10.0, latency=0.05, rotation=2e-3)
        PoseSensor(rate=10.0, latency=0.05, rotation=0.002, position=0.0, rates=0.0)
    """

    rate: float
    """1/s: poses a second"""
    latency: float = 0.0
    """s: from the instant of a pose until it is known; at most ``1 / rate``"""
    rotation: float = 0.0
    """rad: standard deviation of the pose about each axis"""
    position: float = 0.0
    """m: the same along each axis"""
    rates: float = 0.0
    """rad/s or m/s: standard deviation of the joint rates, new at every sample of the law"""

    def __post_init__(self) -> None:
        """Check the fields."""
        for name in self.__dataclass_fields__:
            x = getattr(self, name)
            if isinstance(x, bool) or not isinstance(x, (int, float)) or not 0.0 <= x < np.inf:
                raise ModelError(f"{name} of a pose sensor must be finite and not negative, got {describe(x)}")
        if not self.rate > 0.0 or self.latency > 1.0 / self.rate:
            raise ModelError("a pose sensor must have a positive rate, and a latency of at most one period")


@concise
class ErrorState(NamedTuple):
    """Error state ``x`` of [Mishra] (50), and the Lyapunov function (53) with its parts.

    Example:
        >>> ErrorState._fields
        ('pose', 'locked', 'rates', 'joints', 'W', 'parts', 'rate')
    """

    pose: Vector_m
    """``m``: ``eps``"""
    locked: Vector_m
    """``m``: ``mu_e``"""
    rates: Vector_n
    """``n``: relative to those of a motion"""
    joints: Vector_n
    """``n``: ``q - q_wanted``"""
    W: Scalar
    """sum of ``parts`` (J): decreases, whatever the momentum does"""
    parts: Vector_4
    """``4``: of pose, locked velocity, rates and joints"""
    rate: Scalar
    """``dW/dt = -k eps' G eps - qd' D qd`` by (58), for a constant target; for a motion where the estimates are
    exact"""


@concise
@dataclass(frozen=True)
class OutputFeedback(Law):
    """Joint control of a free-floating robot by output feedback, [Mishra] V-A.

    (45) and (52), with the observers (37) and (42) with (51): ``tau = -K w (q - q_wanted) - D w qd + tau^``.  It
    measures joints, rates and the pose of the base, never the base's twist.  The ``pose_gain`` is ``k`` of Lemma 11.
    In (51) and in ``W`` we take ``G = l diag(base_weights)`` for the paper's ``k``: its proof requires only that it is
    constant and positive, and ``dW/dt = -k eps' G eps - qd' D w qd``. With the inertias of the base for weights,
    rotation and position errors decay alike, as fast as they can for ``l = k^2 / 4``.  The observer starts at the true
    state, unless ``pose`` (flat coordinates of the base) or ``locked`` (m) is given.  For robots without gravity, whose
    joints are angles and lengths.

    Put into a run as it is, the observers are integrated with the robot and measure its pose at all times: the law of
    the paper.  With a ``sensor`` it is sampled: between poses the observers predict, and the innovation of a pose is
    ``eps = log(g^(t)^-1 g(t))`` at the instant it was taken, held from when it is available until the next one.

    A ``motion`` is tracked with the feed-forward ``Lq qdd_wanted + Gamma qd_wanted``; use ``curvature`` then.

    Example:
        >>> import fallingcat as fc
        >>> from dataclasses import replace
        >>> cat = replace(fc.robots.two_cylinder_cat(), gravity=np.zeros(3))
        >>> tumbling = cat.state(joints=[0.5, 0.3], twist=[0, 0, 0, 0.17, 0.02, 0])
        >>> law = OutputFeedback(0.3, 0.1, target=(0.5, 0.3), locked=(0.0,) * 6)  # no estimate of the tumbling yet
        >>> run = fc.simulate(cat, tumbling, 3.0, law, dt=5e-3)
        >>> x = law.with_memory(run.law_memory(law.name)[-1]).errors(cat, run.state(-1))
        >>> bool(np.abs(x.locked).max() < 0.02)
        True
    """

    stiffness: float
    """``K`` (N m/rad or N/m)"""
    damping: float
    """``D`` (N m s/rad or N s/m)"""
    weights: tuple[float, ...] | None = None
    """``w`` (n) of the joints, such as the inertias that they move; None: all one"""
    target: tuple[float, ...] | None = None
    """``q_wanted`` (n); None: all zero"""
    compensation: str = "locked"
    pose_gain: float = 100.0
    """``k`` (1/s)"""
    locked_gain: float = 100.0
    """``l`` (N/m and N m/rad; 1/s^2 where weights are inertias)"""
    base_weights: tuple[float, ...] | None = None
    """(m) of the base's directions in ``G``; None: all one"""
    pose: tuple[float, ...] | None = None
    """``g^`` at the start"""
    locked: tuple[float, ...] | None = None
    """``mu^`` at the start"""
    sensor: PoseSensor | None = None
    motion: PeriodicReference | None = None
    """reference motion instead of ``target``"""
    name: str = "output feedback"

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        choice(self.compensation, COMPENSATIONS, "compensation")
        if self.sensor is not None and not isinstance(self.sensor, PoseSensor):
            raise ModelError(f"sensor of {self.name!r} must be a PoseSensor, got {describe(self.sensor)}")
        if self.motion is not None and not isinstance(self.motion, PeriodicReference):
            raise ModelError(f"motion of {self.name!r} must be a PeriodicReference, got {describe(self.motion)}")

    def check(self, model: Model) -> None:
        """Check base, joints, gravity and the sizes of all vectors."""
        if np.any(model.gravity):
            raise ModelError(f"law {self.name!r} needs a robot without gravity; {model.name!r} has gravity")
        if model.m == 0 or model.nq - model.base.nq != model.n:
            raise ModelError(f"law {self.name!r} needs a floating base, and joints that are angles and lengths")
        for name, size in zip(_VECTORS, (model.n, model.m, model.n, model.base.nq, model.m), strict=True):
            if getattr(self, name) is not None:
                vector(getattr(self, name), size, f"{name} of {self.name!r}")
        if self.motion is not None:
            vector(self.motion.mean, model.n, f"mean of the motion of {self.name!r}")
        if min((*(self.weights or ()), *(self.base_weights or ()), 1.0)) <= 0.0:
            raise ModelError(f"weights of {self.name!r} must be positive")

    # the law --------------------------------------------------------------------------------------------------

    def forces(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector_nv:
        """``-K w (q - q_wanted) - D w qd + tau^`` on the joints; no wrench on the base."""
        w, away = self._weights(model), self._deviation(model, state, t)
        tau = -(self.stiffness * w * away.joints) - self.damping * w * away.rates
        if self.compensation == "none" and self.motion is None:
            return concatenate([np.zeros(model.m), tau])
        rel = self.observed(model, state, t).rel
        if self.compensation != "none":
            tau = tau + compensation(rel, self.compensation)
        if self.motion is not None:
            wanted = self.motion(t)
            tau = tau + rel.Lq @ wanted.accelerations + rel.Gamma @ wanted.rates
        return concatenate([np.zeros(model.m), tau])

    def impedance(self, model: Model, state: State) -> tuple[Matrix_nv_nv, Matrix_nv_nv]:
        """``K w`` and ``D w`` on the diagonal."""
        w = self._weights(model)
        return on_joints(model, self.stiffness * w), on_joints(model, self.damping * w)

    def observed(self, model: Model, state: State, t: Scalar = 0.0) -> ObserverEstimates:
        """Estimates of the observers from joints, rates and the pose of the base.

        Args:
            model: Robot.
            state: Measured state; the twist is not used.
            t: Time (s), for a ``motion``.

        Returns:
            Estimated locked velocity, its equations, and the rates of the estimates.
        """
        base, m = model.base, model.m
        pose, mu = pose_of(self.memory), self.memory[12 : 12 + m]
        if self.sensor is None:
            eps = base.log(base.compose(base.inverse(pose), state.pose))
        else:
            eps = self.memory[12 + 2 * m : 12 + 3 * m]
        eta = base.exp(eps)
        mu_o, follow = base.Ad(base.inverse(eta)) @ mu, connection(model, state) @ state.rates
        rel = reduced_equations(model, state._replace(twist=mu_o - follow))
        injected, away = self.pose_gain * eps, self._deviation(model, state, t).rates
        turn = base.ad(rel.A @ away)
        F = base.dexp_right_inverse(eps).T @ (self._gains(model) * eps)
        F = F + rel.S @ away + turn.T @ (rel.Mb @ mu_o) + rel.Mb @ (turn @ mu_o)  # (51), P(qd) mu = S(mu) qd
        right = (rel.D_mu - rel.D_q)[:m] @ rel.xi + F
        rate = solve(rel.Mb, right) - base.ad(injected) @ mu_o  # (42)
        X = base.Ad(eta)
        return ObserverEstimates(eps, mu_o, rel, mu - X @ (follow - injected), X @ rate)

    def _gains(self, model: Model) -> Vector:
        """Diagonal of ``G`` (m)."""
        return self.locked_gain * (np.ones(model.m) if self.base_weights is None else np.array(self.base_weights))

    def _weights(self, model: Model) -> np.ndarray:
        return np.ones(model.n) if self.weights is None else np.array(self.weights)

    def _deviation(self, model: Model, state: State, t: Scalar) -> ReferenceMotion:
        """Deviation from the reference."""
        if self.motion is None:
            target = np.zeros(model.n) if self.target is None else np.array(self.target)
            return ReferenceMotion(state.joints - target, state.rates, None)
        wanted = self.motion(t)
        return ReferenceMotion(state.joints - wanted.joints, state.rates - wanted.rates, None)

    # its state: the estimated pose (3 x 4) and locked velocity; with a sensor also the last eps, that which acts, and
    # the age (s) of the last pose

    def memory_size(self, model: Model) -> int:
        """Estimated pose (12) and locked velocity (m); with a sensor also two innovations (m) and an age."""
        return 12 + model.m + (0 if self.sensor is None else 2 * model.m + 1)

    def begin(self, model: Model, state: State) -> np.ndarray:
        """True pose and locked velocity, or ``pose`` and ``locked``."""
        pose = state.pose if self.pose is None else model.base.element(np.array(self.pose))
        mu = locked_velocity(model, state) if self.locked is None else np.array(self.locked)
        rest = np.zeros(0) if self.sensor is None else np.append(np.zeros(2 * model.m), 1.0 / self.sensor.rate)
        return np.concatenate([np.asarray(pose)[:3].ravel(), mu, rest])

    def memory_rate(self, model: Model, t: Scalar, state: State) -> Vector:
        """Rates of the estimated pose (37) and locked velocity (42)."""
        if self.sensor is not None:
            raise ModelError(f"law {self.name!r} has a sensor and must be sampled: SampledController(law, rate)")
        seen = self.observed(model, state, t)
        return concatenate([(pose_of(self.memory) @ model.base.hat(seen.twist))[:3].reshape(12), seen.locked_rate])

    def after(self, model: Model, t: Scalar, state: State, period: Scalar) -> Vector:
        """Estimates after a period: the pose by the exponential map, the locked velocity by Euler's rule."""
        base, m = model.base, model.m
        pose, mu, rest = pose_of(self.memory), self.memory[12 : 12 + m], self.memory[12 + m :]
        law = self
        if self.sensor is not None:
            due = less_equal(1.0 / self.sensor.rate, rest[-1] + TIME_ROUNDING)
            age = where(due, rest[-1] - 1.0 / self.sensor.rate, rest[-1])
            last = where(due, base.log(base.compose(base.inverse(pose), state.pose)), rest[:m])
            acts = where(less_equal(self.sensor.latency, age + TIME_ROUNDING), last, rest[m : 2 * m])
            law = self.with_memory(concatenate([self.memory[: 12 + m], last, acts, np.reshape(age, 1)]))
            rest = concatenate([last, acts, np.reshape(age + period, 1)])
        seen = law.observed(model, state, t)
        there = base.compose(pose, base.exp(period * seen.twist))
        return concatenate([there[:3].reshape(12), mu + period * seen.locked_rate, rest])

    def noise_size(self, model: Model) -> int:
        """One number for each rate of base and joints, with a sensor."""
        return 0 if self.sensor is None else model.nv

    def sensed(self, model: Model, state: State, noise: Vector) -> State:
        """State with noise on pose and rates, with a sensor."""
        if self.sensor is None:
            return state
        base, m = model.base, model.m
        sizes = np.where(base.selection[:3].any(axis=0), self.sensor.position, self.sensor.rotation)
        pose = base.compose(state.pose, base.exp(sizes * noise[:m]))
        return state._replace(pose=pose, rates=state.rates + self.sensor.rates * noise[m:])

    # Lyapunov function ----------------------------------------------------------------------------------------

    def errors(self, model: Model, state: State, t: Scalar = 0.0) -> ErrorState:
        """Error state and Lyapunov function at a true state, for the current ``memory`` of the law.

        Args:
            model: Robot.
            state: True state.
            t: Time (s), for a ``motion``.

        Returns:
            Errors of pose, locked velocity, rates and joints, with ``W`` and its rate.
        """
        base = model.base
        eta = base.compose(base.inverse(pose_of(self.memory)), state.pose)
        eps, mu = base.log(eta), self.memory[12 : 12 + model.m]
        rel, w = reduced_equations(model, state), self._weights(model)
        mu_e, G = rel.mu - base.Ad(base.inverse(eta)) @ mu, self._gains(model)
        away, qd, _ = self._deviation(model, state, t)
        parts = (
            0.5 * (eps @ (G * eps)),
            0.5 * (mu_e @ rel.Mb @ mu_e),
            0.5 * (qd @ rel.Lq @ qd),
            0.5 * self.stiffness * (away @ (w * away)),
        )
        rate = -self.pose_gain * (eps @ (G * eps)) - self.damping * (qd @ (w * qd))
        each = concatenate([np.reshape(x, 1) for x in parts])
        return ErrorState(eps, mu_e, qd, away, parts[0] + parts[1] + parts[2] + parts[3], each, rate)


class ObserverEstimates(NamedTuple):
    """Estimates of the observers, and their rates."""

    eps: Vector
    """``m``"""
    locked: Vector
    """``m``: ``mu_o``; the base's twist is about ``mu_o - A qd``"""
    rel: ReducedEquations
    """with ``mu_o`` for the locked velocity"""
    twist: Twist
    """``m``: ``V^`` of (37), with which the estimated pose moves"""
    locked_rate: Vector
    """``m``: of ``mu^`` (42)"""


def compensation(rel: ReducedEquations, kind: str) -> Vector:
    """Compensation ``tau^`` (n) of the force of the momentum on the joints, (45).

    ``-(S/2 + ad~(Mb mu) A)' mu``, and ``+ B qd`` with the ``curvature``.
    """
    m = len(rel.mu)
    tau = -(rel.D_mu[m:, :m] @ rel.mu)
    return tau + rel.B @ rel.rates if kind == "curvature" else tau


def pose_of(memory: Vector) -> Pose:
    """Estimated pose (4 x 4)."""
    rows = memory[:12].reshape(3, 4)
    return homogeneous(rows[:, :3], rows[:, 3])
