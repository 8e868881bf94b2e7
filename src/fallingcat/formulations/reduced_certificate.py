"""The certificate of the reduced Euler-Lagrange equations: what [Mishra] claims of them, from other algorithms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dynamics import inverse_dynamics, kinetic_energy, mass_matrix, potential_energy
from ..dynamics.checks import check_robot, positive
from ..errors import ModelError, told
from ..model import Model, State
from .certificate import Certificate, Check, negative_part, relative, size
from .connection import connection
from .decoupling import locked
from .reduced import ReducedEquations, reduced_equations
from .slice import curvature_slice
from .time import STEP, later


def certify_reduced(
    model: Model, state: State, rel: ReducedEquations | None = None, tolerance: float = 1e-9
) -> Certificate:
    """Check the REL equations of a robot at a state ([Mishra] Theorems 1 and 2, Properties 2 and 3).

    ``rel`` are the equations to check, if not those of :func:`reduced_equations`.  They are held against the
    composite-body mass matrix, its complex-step rate, recursive Newton-Euler, the energies of the links, and swept
    areas.

    >>> import fallingcat as fc
    >>> cat = fc.robots.cat()
    >>> fc.certify_reduced(cat, cat.random_state(np.random.default_rng(0))).passed
    True
    """
    check_robot(model, state)
    positive(tolerance, "tolerance")
    if rel is not None and not isinstance(rel, ReducedEquations):
        raise ModelError(f"rel is what reduced_equations gives, not {told(rel)}")
    rel = reduced_equations(model, state) if rel is None else rel
    rng = np.random.default_rng(0)
    checks: list[Check] = []

    def check(name: str, meaning: str, residual: Callable[[], float]) -> None:
        checks.append(Check(name, residual(), tolerance, True, meaning))

    Lambda = _decoupled_mass(model, state)
    rate = np.imag(_decoupled_mass(model, later(model, state, 1j * STEP))) / STEP
    natural = size(Lambda) * size(state.velocity)
    x, y, a = rng.normal(size=model.n), rng.normal(size=model.n), rng.normal(size=model.nv)
    check("symmetry", "Lambda = Lambda'", lambda: relative(rel.Lambda - rel.Lambda.T, Lambda))
    check("positivity", "Lambda > 0", lambda: negative_part(rel.Lambda))
    check("mass decoupling", "Lambda = T^-T M T^-1", lambda: relative(rel.Lambda - Lambda, Lambda))
    check("passivity", "dLambda/dt = D_q + D_q'", lambda: relative(rate - rel.D_q - rel.D_q.T, rate, natural))
    check("skewness", "D_mu = -D_mu'", lambda: relative(rel.D_mu + rel.D_mu.T, rel.D_mu, natural))
    check("skewness of B", "B = -B'", lambda: relative(rel.B + rel.B.T, rel.B, natural))
    check("commutativity", "P(rates) mu = S(mu) rates", lambda: _commutativity(rel, natural))
    check("curvature", "B = mu' Mb DA by swept areas", lambda: _curvature(model, state, rel, x, y))
    check("separation", "D_q by rates, D_mu by mu alone", lambda: _separation(model, state, rel, rng, natural))
    check("forces", "by Newton-Euler", lambda: _forces(model, state, rel, a))
    check("power", "xi' F = d/dt energy", lambda: _power(model, state, rel, a))
    return Certificate("reduced", "two-part", tuple(checks))


def _decoupled_mass(model: Model, state: State) -> Any:
    """``T^-T M T^-1`` by composite bodies, with the connection of that matrix."""
    M, m = mass_matrix(model, state), model.m
    A = np.linalg.solve(M[:m, :m], M[:m, m:])
    back = np.block([[np.eye(m), -A], [np.zeros((model.n, m)), np.eye(model.n)]])
    return back.T @ M @ back


def _commutativity(rel: ReducedEquations, natural: float) -> float:
    """[Mishra] Property 2, (27)."""
    return relative(rel.P @ rel.mu - rel.S @ rel.rates, natural, scale=rel.xi)


def _curvature(model: Model, state: State, rel: ReducedEquations, x: Any, y: Any) -> float:
    """[Mishra] Theorem 2: ``y' B x = mu' Mb DA(x, y)``, relative to the brackets that both are made of."""
    area = rel.mu @ rel.Mb @ curvature_slice(model, state, x, y)
    brackets = size(rel.mu @ rel.Mb) * size(rel.A @ x) * size(rel.A @ y)
    return relative(np.array([y @ rel.B @ x - area]), np.abs(y) @ np.abs(rel.B) @ np.abs(x), brackets)


def _separation(model: Model, state: State, rel: ReducedEquations, rng: np.random.Generator, natural: float) -> float:
    """``D_q`` stays when the base moves otherwise, ``D_mu`` when the joints do and ``mu`` stays."""
    A = connection(model, state)
    twist, rates = rng.normal(size=model.m), rng.normal(size=model.n)
    drifting = reduced_equations(model, State(state.pose, state.joints, twist, state.rates))
    bending = reduced_equations(model, State(state.pose, state.joints, rel.mu - A @ rates, rates))
    sizes = natural * max(1.0, size(twist), size(rates)) / min(1.0, size(state.velocity))
    return max(relative(rel.D_q - drifting.D_q, sizes), relative(rel.D_mu - bending.D_mu, sizes))


def _forces(model: Model, state: State, rel: ReducedEquations, a: Any) -> float:
    expected = rel.forces(inverse_dynamics(model, state, _at_body(model, state, rel, a)))
    return relative(_left(rel, a) - expected, expected, rel.Lambda @ a)


def _power(model: Model, state: State, rel: ReducedEquations, a: Any) -> float:
    moved = later(model, state, 1j * STEP, _at_body(model, state, rel, a))
    rate = np.imag(kinetic_energy(model, moved) + potential_energy(model, moved)) / STEP
    forces = _left(rel, a)
    return abs(float(rel.xi @ forces - rate)) / max(float(np.abs(rel.xi) @ np.abs(forces)), 1e-300)


def _left(rel: ReducedEquations, a: Any) -> Any:
    """The forces on ``xi`` for ``dxi/dt = a``."""
    return rel.Lambda @ a + (rel.D_q - rel.D_mu) @ rel.xi + rel.g


def _at_body(model: Model, state: State, rel: ReducedEquations, a: Any) -> Any:
    change = locked(model, state)
    return change.inverse @ (a - change.T_dot @ (change.inverse @ rel.xi))
