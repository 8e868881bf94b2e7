"""How fast springs and dampers let a robot move: what steps of a given size have to resolve."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..contact import CompliantFloor
from ..contact.centered import Centered
from ..contact.giving import giving
from ..dynamics import mass_matrix
from ..model import State
from .system import System

DEFAULT_STEP = 1e-3
"""s"""
SHORTEST_DEFAULT = 1e-6
"""s: where springs are so stiff that steps had to be shorter, the run says so instead of taking them for ever"""
RESOLVED = 0.5
"""The product of step and rate up to which a rule of order 4 follows springs and dampers."""
STABLE = 2.0
"""The same up to which such a rule is stable, with a margin (2.8 is where it ends)."""
REBOUND = 0.05
"""Part of the speed before that the speed after a bounce may be wrong by, in default steps of the implicit rule."""
STIFF_STEP = 1e-5
"""s: an implicit method is the default for what explicit ones could not follow in steps of this size"""
STIFF = 10.0
"""How many times faster than all that swings, and than default steps resolve, what only decays is where it is stiff."""


def fastest(system: System, state: State) -> float:
    """The largest rate (1/s) at which springs ``K`` and dampers ``D`` of contact and laws move a robot near ``state``:
    the largest eigenvalue of ``M^-1 D``, or the root of that of ``M^-1 K``.  0 where nothing says how stiff it is.

    >>> import numpy as np
    >>> import fallingcat as fc
    >>> ball = fc.robots.free_body()
    >>> floor = fc.contact.CompliantFloor(("body",), stiffness=(1e4, 0.0), damping=(10.0, 0.0))
    >>> rate = fastest(System(ball, contact=floor), ball.neutral())
    >>> bool(np.isclose(rate, np.sqrt(1e4 / ball.mass)))
    True
    """
    found, touching = _impedance(system, state), _now_and_then(system)
    if found is None:
        return touching
    k, d = (max(0.0, float(np.linalg.eigvalsh(x).max(initial=0.0))) for x in found)
    return max(d, float(np.sqrt(k)), touching)


def swinging(system: System, state: State) -> float:
    """The largest rate (rad/s) at which the same springs and dampers let a robot swing: the largest imaginary part of
    the roots of ``x^2 M + x D + K``.  What dampers hold so much that it only decays does not swing, however fast.

    >>> import fallingcat as fc
    >>> arm = fc.robots.planar_arm()
    >>> held = System(arm, (fc.control.JointSpring(1.0), fc.control.JointDamper(1e3)))
    >>> fastest(held, arm.neutral()) > 1e4, swinging(held, arm.neutral())
    (True, 0.0)
    """
    found, touching = _impedance(system, state), _now_and_then(system)
    if found is None:
        return touching
    K, D = found
    zero, one = np.zeros_like(K), np.eye(len(K))
    roots = np.linalg.eigvals(np.block([[zero, one], [-K, -D]]))
    rounding = 1e-6 * float(np.abs(roots).max(initial=0.0))  # two roots that are the same are found beside each other
    swings = np.abs(roots.imag).max(initial=0.0)
    return max(float(swings) if swings > rounding else 0.0, touching)


def _impedance(system: System, state: State) -> tuple[np.ndarray, np.ndarray] | None:
    """``L^-1 K L^-T`` and ``L^-1 D L^-T`` of all laws and the contact, with ``M = L L'``; None where nobody says them,
    or ``M`` is singular.
    """
    said = [law.impedance(system.model, state) for law in system.laws]
    if system.contact is not None:
        said.append(system.contact.impedance(system.model, state))
    impedances = [x for x in said if x is not None]
    if not impedances:
        return None
    M = np.asarray(mass_matrix(system.model, state), dtype=float)
    try:
        root = np.linalg.inv(np.linalg.cholesky(M))
    except np.linalg.LinAlgError:  # the step itself says by name what is singular
        return None
    K, D = (root @ sum(x[k] for x in impedances) @ root.T for k in (0, 1))
    return K, D


def stiff(system: System, state: State) -> bool:
    """Whether dampers are so strong that steps which follow how they stop a joint are far shorter than the motion
    needs.
    """
    fast = fastest(system, state)
    return fast > STIFF * RESOLVED / DEFAULT_STEP and fast > STIFF * swinging(system, state)


def _now_and_then(system: System) -> float:
    """The largest rate (1/s) of laws that no step takes implicitly, as they do not always act."""
    return max((law.fastest(system.model) for law in system.laws), default=0.0)


def _default(rate: float) -> float:
    """The step (s) that resolves a rate (1/s): 1 ms at most."""
    return max(SHORTEST_DEFAULT, min(DEFAULT_STEP, at_most(RESOLVED / rate) if rate else DEFAULT_STEP))


def default_step(system: System, state: State) -> float:
    """The step (s) of a rule of fixed steps to which none was given: 1 ms, or less where springs are faster."""
    return _default(fastest(system, state))


def damped_step(system: System, state: State) -> float:
    """The same of a rule that follows dampers in steps of any size, once what they stop at once has stopped: where they
    are :func:`stiff`, and no controller jumps, 1 ms, or less where springs swing faster.
    """
    jumps = system.sampling is not None
    return default_step(system, state) if jumps or not stiff(system, state) else _default(swinging(system, state))


def stable_step(system: System, state: State) -> float:
    """The same of a rule that takes springs implicitly, but for those that act now and then."""
    return min(_default(_now_and_then(system)), rebounding_step(Rebound.of(system, state)))


_ONE_DIGIT = np.array([float(f"{digit}e{power}") for power in range(-6, 0) for digit in range(1, 10)])
"""s: steps of 1 us to 0.9 s"""


class Rebound(NamedTuple):
    """Robots of masses ``m`` (kg) that move out of the ground as a whole, on springs ``k`` and dampers ``d`` of all
    their points, ``K`` and ``D`` of each, which give way by ``gives`` (1/kg): one, or many as arrays.
    """

    K: float
    D: float
    k: float
    d: float
    m: Any
    gives: Any

    @classmethod
    def of(cls, system: System, state: State, mass: Any = None, gives: Any = None) -> Rebound | None:
        """The robot, or robots with masses of their own (N each); None where nothing throws them back."""
        floor, model = system.contact, system.model
        if not isinstance(floor, CompliantFloor):
            return None
        axes = floor.ground(model).site(state.pose[:3, 3]).axes @ state.pose[:3, :3] @ model.base.selection[:3]
        along = axes @ axes[0]  # of a point, if the base moves out of the ground
        (K, D), rises = floor.springs, float(axes[0] @ axes[0])
        k, d = (len(floor.points) * float(x @ along**2) for x in (K, D))
        m = rises * (model.mass if mass is None else mass)
        return None if k * rises == 0.0 else cls(K[0], D[0], k, d, m, giving(model, floor) if gives is None else gives)

    def off(self, dt: Any) -> Any:
        """By which part of the speed before the speed after a bounce is wrong, in steps of the implicit rule."""
        z, w = self.d / (2.0 * np.sqrt(self.k * self.m)), np.sqrt(self.k / self.m)
        off_one = z + 1e-9j  # 0 / 0 at 1, and real beside it
        e = np.exp(-2.0 * z * (np.arccos(off_one) / np.sqrt(1.0 - off_one**2)).real)
        more = 0.5 * Centered.of(self.K, self.D, self.gives, dt).spring * w * dt
        return e * (np.pi * more + z * w * dt + (w * dt) ** 2 / 16.0)


def rebounding_step(rebound: Rebound | None) -> float:
    """The longest step (s) of the implicit rule, to one digit, in which robots bounce as they should: infinite where
    nothing throws them back.

    On springs ``k`` and dampers ``d`` that do not pull, a mass ``m`` that would swing at ``w = sqrt(k / m)`` with the
    damping ``z`` leaves with the part ``e = exp(-2 z arccos(z) / sqrt(1 - z^2))`` of its speed, also beyond ``z = 1``.
    The rule adds ``s w dt / 2`` to ``z``, whatever its books say, with the part ``s`` of springs that it sees ahead
    (:class:`.Centered`), and meets and leaves the ground up to half a step early or late, ``z w dt + (w dt)^2 / 16`` of
    the speed: steps are so short that ``e`` is right to :data:`REBOUND`.
    """
    if rebound is None:
        return np.inf
    off = rebound.off(_ONE_DIGIT[:, None]).max(axis=1)
    good = _ONE_DIGIT[off <= REBOUND]
    return float(good.max(initial=SHORTEST_DEFAULT))


def too_long(rebound: Rebound | None, dt: float) -> str:
    """In words: steps of ``dt`` (s) are too long for a rebound; nothing where that is not so."""
    enough = rebounding_step(rebound)
    if dt <= enough * (1.0 + 1e-9):
        return ""
    return f"steps of {dt:g} s are too long for the rebound from this floor; take at most {enough:g} s"


def too_fast(system: System, state: State, dt: float) -> str:
    """Which rates steps of ``dt`` (s) do not resolve, and which would; nothing where that is not so."""
    rate = fastest(system, state)
    return (
        f"{unresolved('springs and dampers move', rate, dt)}, or an implicit integrator" if rate * dt > RESOLVED else ""
    )


def unresolved(what: str, rate: float, dt: float) -> str:
    """In words: ``what`` moves at a rate (1/s) that steps of ``dt`` (s) do not resolve."""
    least = f"take at most {at_most(RESOLVED / rate):g} s"
    return f"{what} at up to {rate:.3g} rad/s, too fast for steps of {dt:g} s; {least}"


def at_most(dt: float) -> float:
    """A step (s), down to one digit."""
    if not np.isfinite(dt):
        return dt
    dt = dt * (1.0 + 1e-9)  # 1 ms less a rounding error is 1 ms
    unit = 10.0 ** np.floor(np.log10(dt))
    return float(np.floor(dt / unit) * unit)
