"""The certificate of the reduced Euler-Lagrange equations: what [Mishra] claims of them, from other algorithms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import is_numeric, numbers_only
from ..arrays.types import Matrix, Twist, Vector
from ..dynamics.checks import check_robot, positive
from ..errors import ModelError, describe
from ..model import Model, State
from .certificate import Certificate, Check, check_residual
from .claims import negative_part
from .connection import connection
from .decoupling import locked
from .evidence import LOST_DIGITS, Evidence, worst
from .links import Links
from .reduced import ReducedEquations, reduced_equations
from .slice import curvature_slice
from .velocity_change import VelocityChange, upper


@numbers_only("it judges residuals; reduced_equations can be compiled")
def certify_reduced(
    model: Model, state: State, rel: ReducedEquations | None = None, tolerance: float = 1e-9
) -> Certificate:
    """Certificate of the REL equations of a robot at a state ([Mishra] Theorems 1 and 2, Properties 2 and 3).

    They are held against sums over the links, complex-step rates, recursive Newton-Euler, the energies of the links,
    swept areas, and themselves at other velocities.

    Args:
        model: Robot.
        state: Configuration and velocity.
        rel: Equations to check; None: those of :func:`reduced_equations`.
        tolerance: Largest relative residual with which a claim holds.

    Returns:
        Checks, with their residuals and verdicts.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> fc.formulations.certify_reduced(cat, cat.random_state(np.random.default_rng(0))).passed
        True
    """
    check_robot(model, state)
    positive(tolerance, "tolerance")
    if rel is not None and not isinstance(rel, ReducedEquations):
        raise ModelError(f"rel is what reduced_equations gives, not {describe(rel)}")
    rel = reduced_equations(model, state) if rel is None else rel
    if not is_numeric(rel.D_mu):
        raise ModelError("certificates are of plain numbers: certify the equations at a state of floats")
    seen = Evidence(Links(model, state), _change(model, state, rel))
    parts = _Parts(model, state, rel, seen)
    checks: list[Check] = []

    def check(name: str, meaning: str, residual: Callable[[], float]) -> None:
        checks.append(check_residual(name, meaning, residual, tolerance))

    M, C, m = seen.M_size, seen.C_size, model.m
    a, v = seen.acceleration, np.abs(rel.xi)
    check("symmetry", "Lambda = Lambda'", lambda: worst(rel.Lambda - rel.Lambda.T, M))
    check("positivity", "Lambda > 0", lambda: negative_part(rel.Lambda, M))
    check("velocity", "xi = [twist + A rates; rates]", lambda: _velocity(rel, seen))
    check("connection", "A by the locked change", lambda: worst(seen.M @ (seen.T - seen.T_now) @ seen.inverse, M))
    check("mass decoupling", "Lambda = T^-T M T^-1", lambda: worst(rel.Lambda - seen.M, M))
    check("passivity", "dLambda/dt = D_q + D_q'", lambda: worst(seen.Mdot - rel.D_q - rel.D_q.T, C + C.T))
    check("skewness", "D_mu = -D_mu'", lambda: worst(rel.D_mu + rel.D_mu.T, C + C.T))
    check("skewness of B", "B = -B'", lambda: worst(rel.B + rel.B.T, (C + C.T)[m:, m:]))
    check("commutativity", "P(rates) mu = S(mu) rates", lambda: worst(rel.P @ rel.mu - rel.S @ rel.rates, C[:m] @ v))
    check("curvature", "B = mu' Mb DA by swept areas", parts.curvature)
    check("coriolis", "Gamma by its definition, over links", parts.coriolis)
    check("parts", "D_q of P, Gamma; D_mu of S, A, B", parts.block_residual)
    check("separation", "D_q by rates, D_mu by mu alone", parts.separation)
    check("weight", "g = -sum J' m g over links", lambda: worst(rel.g - seen.g, seen.g_size))
    check(
        "forces",
        "by Newton-Euler",
        lambda: worst(_forces_on_xi(rel, a) - seen.inverse.T @ seen.links.forces, seen.F_size),
    )
    check(
        "power",
        "xi' F = d/dt energy",
        lambda: worst(rel.xi @ _forces_on_xi(rel, a) - seen.links.power, v @ seen.F_size),
    )
    return Certificate("reduced", "two-part", tuple(checks))


def _change(model: Model, state: State, rel: ReducedEquations) -> VelocityChange:
    """``xi = T [twist; rates]`` with the connection of the equations themselves; its rate is that of the true one."""
    one_x, one_y = np.eye(model.m), np.eye(model.n)
    T, inverse = upper(one_x, one_x, rel.A, one_y, one_y)
    change = locked(model, state)
    return VelocityChange(T, change.T_dot, inverse, "reduced", at=change.at)


class _Parts:
    """The two parts of the equations: ``D_q`` by the shape's motion, ``D_mu`` by the locked one."""

    def __init__(self, model: Model, state: State, rel: ReducedEquations, seen: Evidence) -> None:
        self.model, self.state, self.rel, self.evidence = model, state, rel, seen
        self.shape, self.locked_motion = (
            self._state_with(np.zeros(model.m), rel.rates),
            self._state_with(rel.mu, np.zeros(model.n)),
        )

    def curvature(self) -> float:
        """Residual of [Mishra] Theorem 2: ``y' B x = mu' Mb DA(x, y)``, for one ``x`` and every axis ``y``."""
        rel, m, x = self.rel, self.model.m, self.evidence.links.random_velocity[self.model.m :]
        areas = [rel.mu @ rel.Mb @ curvature_slice(self.model, self.state, x, y) for y in np.eye(self.model.n)]
        return worst(rel.B @ x - np.array(areas).reshape(-1), self.evidence.C_size[m:, m:] @ np.abs(x))

    def coriolis(self) -> float:
        """Residual of (19d): ``Gamma`` is the shape's block of the coadjoint matrix without momentum."""
        m, seen = self.model.m, self._evidence_at(self.shape)
        return worst(self.rel.Gamma - seen.coriolis("coadjoint")[m:, m:], self._size(seen)[m:, m:])

    def block_residual(self) -> float:
        """Residual of [Mishra] (18), (20): every block where it belongs."""
        rel, m, C = self.rel, self.model.m, self.evidence.C_size
        turn = rel.group.adt(rel.Mb @ rel.mu)
        side = 0.5 * rel.S + turn @ rel.A
        D_q = np.block([[0.5 * rel.P, np.zeros_like(side)], [np.zeros_like(side.T), rel.Gamma]])
        D_mu = np.block([[turn, -side], [side.T, -rel.B]])
        return max(worst(rel.D_q - D_q, C), worst(rel.D_mu - D_mu, C + C.T), worst(rel.P - rel.P.T, C[:m, :m]))

    def separation(self) -> float:
        """Residual of ``D_q`` and ``D_mu`` against the shape moving without momentum, and the locked robot."""
        by_rates, by_mu = (reduced_equations(self.model, at) for at in (self.shape, self.locked_motion))
        sizes = [self._size(self._evidence_at(at)) for at in (self.shape, self.locked_motion)]
        D_q, D_mu = self.rel.D_q - by_rates.D_q, self.rel.D_mu - by_mu.D_mu
        return max(worst(D, size + size.T) for D, size in zip((D_q, D_mu), sizes, strict=True))

    def _state_with(self, mu: Twist, rates: Vector) -> State:
        """State of the same configuration with another locked velocity and other rates."""
        pose, joints, _, _ = self.state
        return State(pose, joints, mu - connection(self.model, self.state) @ rates, rates)

    def _evidence_at(self, state: State) -> Evidence:
        return Evidence(Links(self.model, state), locked(self.model, state))

    def _size(self, seen: Evidence) -> Matrix:
        """Natural size of a part; the other part leaves its rounding."""
        return seen.C_size + LOST_DIGITS * self.evidence.C_size


def _velocity(rel: ReducedEquations, seen: Evidence) -> float:
    xi, speed = seen.T @ seen.links.state.velocity, np.abs(seen.T) @ np.abs(seen.links.state.velocity)
    size = seen.M_size @ speed
    return max(worst(seen.M @ (x - xi), size) for x in (rel.xi, np.concatenate([rel.mu, rel.rates])))


def _forces_on_xi(rel: ReducedEquations, a: Vector) -> Vector:
    """The forces on ``xi`` for ``dxi/dt = a``."""
    return rel.Lambda @ a + (rel.D_q - rel.D_mu) @ rel.xi + rel.g
