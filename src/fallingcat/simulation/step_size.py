"""Step sizes that resolve the springs and dampers of a robot."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..contact.capabilities import LinearizedForces, offers
from ..contact.effective_mass import effective_mass
from ..contact.theta_weights import ThetaWeights
from ..dynamics import mass_matrix
from ..errors import NumericsError
from ..model import Model, State
from .integrators.base import Integrator
from .outcome import Diagnostic, DiagnosticKind
from .problem.problem import Problem
from .problem.sampling import common_step

DEFAULT_STEP = 1e-3
"""s"""
MIN_DEFAULT_STEP = 1e-6
"""s: where springs are so stiff that steps had to be shorter, the run says so instead of taking them for ever"""
MAX_RESOLVED_PHASE = 0.5
"""The product of step and rate up to which a rule of order 4 follows springs and dampers."""
MAX_EXPLICIT_PHASE = 1.0
"""The same up to which such a rule is taken by default: stable to 2.8, postures with less inertia take the rest."""
DEFAULT_SWING_PHASE = 0.05
"""The product of step and angular frequency, in default steps of the implicit rule, of what swings under springs: then
arms are right to 0.6 % of their way, in which products of velocities have most of the error."""
MAX_SWING_PHASE = 0.1
"""The same up to which the implicit rule is the default in steps that were given: 1.2 % of the way."""
MAX_REBOUND_ERROR = 0.05
"""Part of the speed before that the speed after a bounce may be wrong by, in default steps of the implicit rule."""
STIFF_STEP = 1e-5
"""s: an implicit method is the default for what explicit ones could not follow in steps of this size"""
MIN_STIFFNESS_RATIO = 10.0
"""Ratio of the rate of decay to that of all that swings, and to what default steps resolve, of a stiff problem."""


def fastest(problem: Problem, state: State, enough: float = 0.0) -> float:
    """Largest rate (1/s) at which springs ``K`` and dampers ``D`` of contact and laws move a robot near ``state``.

    That is the largest eigenvalue of ``M^-1 D``, or the root of that of ``M^-1 K``.  0 where nothing says how stiff it
    is.  Rates up to ``enough`` (1/s) are not looked into: what is found there is a bound.

    >>> import numpy as np
    >>> import fallingcat as fc
    >>> ball = fc.robots.free_body()
    >>> floor = fc.contact.CompliantFloor(("body",), stiffness=(1e4, 0.0), damping=(10.0, 0.0), friction=None)
    >>> rate = fastest(Problem(ball, contact=floor), ball.neutral())
    >>> bool(np.isclose(rate, np.sqrt(1e4 / ball.mass)))
    True
    """
    touching, bound = _intermittent_rate(problem), _bound(problem, state) if enough else np.inf
    if bound <= enough:
        return max(bound, touching)
    found = _impedance(problem, state)
    if found is None:
        return touching
    k, d = (max(0.0, float(np.linalg.eigvalsh(x).max(initial=0.0))) for x in found)
    return max(d, float(np.sqrt(k)), touching)


def _bound(problem: Problem, state: State) -> float:
    """Bound (1/s) of the rate of springs and dampers by row sums of ``M^-1 D`` and ``M^-1 K``, without eigenvalues."""
    known = _inverse_root(problem.model, *_pose_and_joints(state))
    if known is None:
        return np.inf
    sums = [np.zeros((2, problem.model.nv))]
    sums += [
        np.array([np.abs(part).sum(axis=1) for part in x]) for x in _acting_impedances(problem, state) if x is not None
    ]
    with np.errstate(over="ignore", invalid="ignore"):
        k, d = (float((known.inverse * row).sum(axis=1).max(initial=0.0)) for row in sum(sums[1:], start=sums[0]))
    return max(d, float(np.sqrt(k)))


def resolved_by(problem: Problem, state: State, dt: float, phase: float) -> bool:
    """True if the product of steps of ``dt`` (s) and the rate of :func:`fastest` is at most ``phase``."""
    return dt == 0.0 or fastest(problem, state, phase / dt) * dt <= phase  # a run of no duration has no steps


def swinging(problem: Problem, state: State, enough: float = 0.0) -> float:
    """Largest rate (rad/s) at which the springs and dampers of :func:`fastest` let a robot swing.

    That is the largest imaginary part of the roots of ``x^2 M + x D + K``, or a little more.  What dampers hold so much
    that it only decays does not swing, however fast.

    A root with the vector ``u`` swings at ``w^2 = u'K u - (u'D u)^2 / 4 <= u'(K - s D + s^2) u`` for every ``s``: the
    least that symmetric eigenvalues say so.  Those of the roots themselves take a hundred times longer.  Rates up to
    ``enough`` (rad/s) are not looked into.

    >>> import fallingcat as fc
    >>> arm = fc.robots.planar_arm()
    >>> held = Problem(arm, (fc.control.JointSpring(1.0), fc.control.JointDamper(1e3)))
    >>> fastest(held, arm.neutral()) > 1e4, swinging(held, arm.neutral())
    (True, 0.0)
    """
    found, touching = _impedance(problem, state), _intermittent_rate(problem)
    if found is None:
        return touching
    squared = _least_bound(*found, enough * enough)
    return max(float(np.sqrt(squared)) if squared > 0.0 else 0.0, touching)


def _least_bound(K: np.ndarray, D: np.ndarray, enough: float) -> float:
    """Least largest eigenvalue of ``K - s D + s^2`` over ``s``, in which it is convex, by golden sections.

    It is 0 where one is not positive, as nothing swings then, and anything up to ``enough`` that was found first.
    """
    golden, one = 0.5 * (np.sqrt(5.0) - 1.0), np.eye(len(K))

    def bound(s: float) -> float:
        return float(np.linalg.eigvalsh(K - s * D + s * s * one).max(initial=0.0))

    damped = np.diagonal(D) > 0.0
    least = bound(float(np.max(np.diagonal(K)[damped] / np.diagonal(D)[damped], initial=0.0)))  # a good guess
    if least <= enough:
        return least
    most = bound(0.0)
    low, high, least = 0.0, float(np.sqrt(most)), min(least, most)
    inner, outer = high - golden * high, golden * high
    at_inner, at_outer = bound(inner), bound(outer)
    for _ in range(14):  # to 1e-3 of the fastest spring
        least = min(least, at_inner, at_outer)
        if least <= max(enough, 1e-9 * most):
            break
        if at_inner < at_outer:
            high, outer, at_outer = outer, inner, at_inner
            inner = high - golden * (high - low)
            at_inner = bound(inner)
        else:
            low, inner, at_inner = inner, outer, at_outer
            outer = low + golden * (high - low)
            at_outer = bound(outer)
    return least if least > 1e-9 * most else 0.0


def _impedance(problem: Problem, state: State) -> tuple[np.ndarray, np.ndarray] | None:
    """Matrices ``L^-1 K L^-T`` and ``L^-1 D L^-T`` of all laws, function and contact, with ``M = L L'``.

    None where nobody says them, or ``M`` is singular.
    """
    return _scaled_by_mass(problem, state, _acting_impedances(problem, state))


def _acting_impedances(problem: Problem, state: State) -> list[Any]:
    """:func:`_impedances`, and the same of the contact."""
    contact = problem.contact
    return _impedances(problem, state) + ([] if contact is None else [contact.impedance(problem.model, state)])


def _impedances(problem: Problem, state: State) -> list[Any]:
    """Stiffness and damping (nv x nv) as each law, and the function, says them, or None."""
    said: list[Any] = [law.impedance(problem.model, state) for law in problem.laws]
    return said if problem.feedback is None else [*said, _joint_matrices(problem, *problem.feedback.impedance)]


def _scaled_by_mass(problem: Problem, state: State, said: Sequence[Any]) -> tuple[np.ndarray, np.ndarray] | None:
    """The sums of these as :func:`_impedance` has them, if there are any."""
    impedances = [x for x in said if x is not None]
    if not impedances:
        return None
    known = _inverse_root(problem.model, *_pose_and_joints(state))
    if known is None:
        return None
    root = known.root
    with np.errstate(over="ignore", invalid="ignore"):
        K, D = (root @ sum(np.asarray(x[k]) for x in impedances) @ root.T for k in (0, 1))
    if not (np.isfinite(K).all() and np.isfinite(D).all()):
        raise NumericsError(f"springs or dampers on {problem.model.name!r} are so strong that numbers overflow")
    return K, D


class _Inertia(NamedTuple):
    """Mass matrix ``M = L L'`` of a place."""

    root: np.ndarray
    """``L^-1``"""
    inverse: np.ndarray
    """absolute values of ``M^-1``"""


def _pose_and_joints(state: State) -> Iterator[bytes]:
    """Pose and joints."""
    return (np.asarray(x, dtype=float).tobytes() for x in (state.pose, state.joints))


@functools.lru_cache(maxsize=8)
def _inverse_root(model: Model, pose: bytes, joints: bytes) -> _Inertia | None:
    """Inertia at a pose and joints; None where ``M`` is singular, which steps say by name."""
    at = model.state(np.frombuffer(pose).reshape(4, 4), np.frombuffer(joints))
    try:
        root = np.linalg.inv(np.linalg.cholesky(np.asarray(mass_matrix(model, at), dtype=float)))
    except np.linalg.LinAlgError:
        return None
    return _Inertia(root, np.abs(root.T @ root))


def _joint_matrices(problem: Problem, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
    """``nv x nv``: the symmetric parts of matrices (n x n) of joints, none for the base."""
    m = problem.model.m
    return tuple(np.pad(0.5 * (x + x.T), ((m, 0), (m, 0))) for x in matrices)


def stiff(problem: Problem, state: State) -> bool:
    """True if steps that follow how dampers stop a joint are far shorter than the motion needs."""
    slow = MAX_RESOLVED_PHASE / DEFAULT_STEP
    fast = fastest(problem, state, MIN_STIFFNESS_RATIO * slow) / MIN_STIFFNESS_RATIO
    return fast > slow and fast > swinging(problem, state)


def _intermittent_rate(problem: Problem) -> float:
    """The largest rate (1/s) of laws that no step takes implicitly, as they do not always act."""
    return max((law.fastest_rate(problem.model) for law in problem.laws), default=0.0)


def _default(rate: float) -> float:
    """The step (s) that resolves a rate (1/s): 1 ms at most."""
    return max(MIN_DEFAULT_STEP, min(DEFAULT_STEP, at_most(MAX_RESOLVED_PHASE / rate) if rate else DEFAULT_STEP))


def default_step(problem: Problem, state: State) -> float:
    """The step (s) of a rule of fixed steps to which none was given: 1 ms, or less where springs are faster."""
    return _default(fastest(problem, state, MAX_RESOLVED_PHASE / DEFAULT_STEP))


def damped_step(problem: Problem, state: State) -> float:
    """Default step (s) of a rule that follows dampers in steps of any size, once what they stop at once has stopped.

    Where they are :func:`stiff`, and no controller jumps, 1 ms, or less where springs swing faster.
    """
    jumps = problem.sampling is not None
    return default_step(problem, state) if jumps or not stiff(problem, state) else _default(swinging(problem, state))


def stable_step(problem: Problem, state: State) -> float:
    """Default step (s) of a rule that takes springs implicitly.

    Laws that act at some times only are left out, and so is what a function does to joints other than the one that
    moved. Without a floor, whose steps are those of a rebound, a robot that swings does so in steps that keep its
    energy.
    """
    function = replace(problem, laws=(), contact=None)
    fast = max(_intermittent_rate(problem), unforeseen(function, state))
    if problem.contact is None:
        orders = MAX_RESOLVED_PHASE / DEFAULT_SWING_PHASE  # of order 1, where others are of order 4
        fast = max(fast, orders * swinging(problem, state))
    return min(_default(fast), rebounding_step(Rebound.of(problem, state)))


def default_steps(problem: Problem, method: Integrator, state: State, finer: int = 0) -> tuple[float, float]:
    """Default step (s) of a method of fixed steps, and the first one, from which steps grow to it; halved ``finer``.

    They differ where dampers stop joints at once, and only the first steps have to resolve that.
    """
    dt = (stable_step if method.stable else damped_step if method.damped else default_step)(problem, state)
    if problem.sampling is not None:
        dt = common_step(problem.sampling.sampled, dt)
    grows = problem.contact is None and (method.stable or method.damped) and stiff(problem, state)
    first = min(dt, default_step(problem, state)) if grows else dt
    return dt / 2**finer, first / 2**finer


def predicting(problem: Problem, state: State, dt: float) -> Problem:
    """The problem in steps of ``dt`` (s), which foresee a function only where they do not resolve it."""
    function = replace(problem, laws=(), contact=None)
    resolved = problem.feedback is not None and resolved_by(function, state, dt, MAX_RESOLVED_PHASE)
    return replace(problem, feedback=None) if resolved else problem


def unforeseen(problem: Problem, state: State) -> float:
    """Largest rate (1/s) of what implicit steps do not foresee of laws and function.

    That is how their forces depend on the base, and on other joints than their own.
    """
    m, apart = problem.model.m, []
    for x in (x for x in _impedances(problem, state) if x is not None):
        own = [np.concatenate([np.zeros(m), np.diagonal(part)[m:]]) for part in x]
        apart.append([part - np.diag(d) for part, d in zip(x, own, strict=True)])
    found = _scaled_by_mass(problem, state, [x for x in apart if np.any(x)])
    if found is None:
        return 0.0
    k, d = (float(np.abs(np.linalg.eigvalsh(x)).max(initial=0.0)) for x in found)
    return max(d, float(np.sqrt(k)))


_ONE_DIGIT = np.array([float(f"{digit}e{power}") for power in range(-6, 0) for digit in range(1, 10)])
"""s: steps of 1 us to 0.9 s"""


class Rebound(NamedTuple):
    """Robots that move out of the ground as a whole: one, or many as arrays.

    They have masses ``m`` (kg) on springs ``k`` and dampers ``d`` of all their points, ``K`` and ``D`` of each, whose
    mobility is ``gives`` (1/kg).
    """

    K: float
    D: float
    k: float
    d: float
    m: Any
    gives: Any

    @classmethod
    def of(cls, problem: Problem, state: State, mass: Any = None, gives: Any = None) -> Rebound | None:
        """The robot, or robots with masses of their own (N each); None where nothing throws them back."""
        model, contact = problem.model, problem.contact
        floor: Any = None if contact is None else contact.on_ground
        if floor is None or not offers(contact, LinearizedForces):
            return None
        axes = floor.ground(model).site(state.pose[:3, 3]).axes @ state.pose[:3, :3] @ model.base.selection[:3]
        along = axes @ axes[0]  # of a point, if the base moves out of the ground
        (K, D), rises = floor.point_impedance(model), float(axes[0] @ axes[0])
        k, d = (len(floor.points) * float(x @ along**2) for x in (K, D))
        m = rises * (model.mass if mass is None else mass)
        return (
            None
            if k * rises == 0.0
            else cls(K[0], D[0], k, d, m, effective_mass(model, floor) if gives is None else gives)
        )

    def off(self, dt: Any) -> Any:
        """Error of the speed after a bounce, relative to the speed before, in steps of the implicit rule."""
        z, w = self.d / (2.0 * np.sqrt(self.k * self.m)), np.sqrt(self.k / self.m)
        off_one = z + 1e-9j  # 0 / 0 at 1, and real beside it
        e = np.exp(-2.0 * z * (np.arccos(off_one) / np.sqrt(1.0 - off_one**2)).real)
        more = 0.5 * ThetaWeights.of(self.K, self.D, self.gives, dt).spring * w * dt
        return e * (np.pi * more + z * w * dt + (w * dt) ** 2 / 16.0)


def rebounding_step(rebound: Rebound | None) -> float:
    """Longest step (s) of the implicit rule, to one digit, in which robots bounce as they should.

    It is infinite where nothing throws them back.

    On springs ``k`` and dampers ``d`` that do not pull, a mass ``m`` that would swing at ``w = sqrt(k / m)`` with the
    damping ``z`` leaves with the part ``e = exp(-2 z arccos(z) / sqrt(1 - z^2))`` of its speed, also beyond ``z = 1``.
    The rule adds ``s w dt / 2`` to ``z``, whatever its energy ledger says, with the part ``s`` of springs that it sees
    ahead (:class:`.ThetaWeights`), and meets and leaves the ground up to half a step early or late,
    ``z w dt + (w dt)^2 / 16`` of the speed: steps are so short that ``e`` is right to :data:`MAX_REBOUND_ERROR`.
    """
    if rebound is None:
        return np.inf
    off = rebound.off(_ONE_DIGIT[:, None]).max(axis=1)
    good = _ONE_DIGIT[off <= MAX_REBOUND_ERROR]
    return float(good.max(initial=MIN_DEFAULT_STEP))


def too_long(rebound: Rebound | None, dt: float) -> Diagnostic | None:
    """Steps of ``dt`` (s) that are too long for a rebound."""
    enough = rebounding_step(rebound)
    if dt <= enough * (1.0 + 1e-9):
        return None
    message = f"steps of {dt:g} s are too long for the rebound from this floor"
    return Diagnostic(DiagnosticKind.REBOUND, message, dt, enough, f"take at most {enough:g} s")


def too_fast(problem: Problem, state: State, dt: float) -> str:
    """Message on rates that steps of ``dt`` (s) do not resolve, and steps that would; empty where there are none."""
    rate = fastest(problem, state)
    if rate * dt <= MAX_RESOLVED_PHASE:
        return ""
    return "; ".join(unresolved("springs and dampers move", rate, dt)) + ", or an implicit integrator"


def unresolved(what: str, rate: float, dt: float) -> tuple[str, str]:
    """In words: ``what`` moves at a rate (1/s) that steps of ``dt`` (s) do not resolve; and which steps do."""
    message = f"{what} at up to {rate:.3g} rad/s, too fast for steps of {dt:g} s"
    return message, f"take at most {at_most(MAX_RESOLVED_PHASE / rate):g} s"


def at_most(dt: float) -> float:
    """A step (s), down to one digit."""
    if not np.isfinite(dt):
        return dt
    dt = dt * (1.0 + 1e-9)  # 1 ms less a rounding error is 1 ms
    unit = 10.0 ** np.floor(np.log10(dt))
    return float(np.floor(dt / unit) * unit)
