"""Certificates: what a set of equations claims, checked against quantities that it was not made from.

The clock is complex step through other algorithms: the rate of the mass matrix comes from the composite-body mass
matrix a moment later, power from the energies of the links, forces from recursive Newton-Euler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..dynamics import coriolis_matrix, inverse_dynamics, kinetic_energy, mass_matrix, potential_energy
from ..dynamics.checks import choice, positive
from ..lie.rotations import block_diagonal
from ..model import Model, State
from .equations import EquationsOfMotion
from .time import STEP, later

PASSIVE = frozenset({"christoffel", "passive", "coadjoint"})
DECOUPLING = frozenset({"newton_euler", "hamel"})


class Check(NamedTuple):
    """One property: its relative residual, and whether the equations claim it."""

    name: str
    residual: float
    tolerance: float
    claimed: bool
    meaning: str

    @property
    def holds(self) -> bool:
        """Whether the residual is within the tolerance."""
        return bool(self.residual <= self.tolerance)


class Certificate(NamedTuple):
    """The checks of one set of equations; ``str()`` is a table."""

    formulation: str
    factorization: str
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether everything that is claimed holds."""
        return all(check.holds for check in self.checks if check.claimed)

    def __getitem__(self, name: Any) -> Any:
        if isinstance(name, str):
            named = {check.name: check for check in self.checks}
            return named[choice(name, tuple(named), "check")]
        return tuple.__getitem__(self, name)

    def __str__(self) -> str:
        rows = [f"{self.formulation} equations, {self.factorization} matrix: {'passed' if self.passed else 'FAILED'}"]
        for check in self.checks:
            verdict = ("holds" if check.holds else "BROKEN") if check.claimed else "not claimed"
            rows.append(f"  {check.name:<18} {check.residual:9.2e}  {verdict:<12} {check.meaning}")
        return "\n".join(rows)


def certify(eom: EquationsOfMotion, tolerance: float = 1e-9) -> Certificate:
    """Check a set of equations; see :meth:`EquationsOfMotion.certify`."""
    positive(tolerance, "tolerance")
    rng = np.random.default_rng(0)
    add: list[Check] = []

    def check(name: str, claimed: bool, meaning: str, residual: Callable[[], float]) -> None:
        add.append(Check(name, residual(), tolerance, claimed, meaning))

    square = eom.changes.T.shape[0] == eom.changes.T.shape[1]
    natural = size(eom.M) * size(eom.state.velocity)  # what a Coriolis matrix is made of, where it vanishes
    passive, claims = eom.factorization in PASSIVE, eom.changes.claims
    check("symmetry", True, "M = M'", lambda: relative(eom.M - eom.M.T, eom.M))
    check("positivity", True, "M > 0", lambda: negative_part(eom.M))
    if eom.changes.at is not None and square:
        rate = _mass_rate(eom)
        check("mass rate", True, "Mdot by complex step", lambda: relative(eom.Mdot - rate, rate, natural))
        check("passivity", passive, "Mdot = C + C'", lambda: relative(rate - eom.C - eom.C.T, rate, eom.C, natural))
    if square:
        check("torsion", eom.factorization == "christoffel", "C(v) w - C(w) v = M [v, w]", lambda: _torsion(eom, rng))
        a = rng.normal(size=len(eom.v))
        check("forces", True, "M a + C v + g by Newton-Euler", lambda: _forces(eom, a))
        check("power", True, "v' F = d/dt energy", lambda: _power(eom, a))
    m = eom.m
    if "decoupled mass" in claims:
        check("mass decoupling", True, "M_xy = 0", lambda: relative(eom.M[:m, m:], eom.M))
        decouples = eom.factorization in DECOUPLING
        check("force decoupling", decouples, "C_xy = 0", lambda: relative(eom.C[:m, m:], eom.C, natural))
    if "invariant base" in claims:
        check(
            "invariance",
            True,
            "C_x v_x + C_xy v_y = 0",
            lambda: relative(eom.C[:m] @ eom.v, eom.C, natural, scale=eom.v),
        )
    if "constant gravity" in claims:
        check("gravity", True, "g = (-m g, 0, 0)", lambda: _gravity(eom))
    if "linear blocks" in claims:
        torsion_free = eom.factorization == "christoffel"
        check("linear blocks", torsion_free, "C_G has zero linear rows and columns", lambda: _linear_blocks(eom))
    return Certificate(eom.name, eom.factorization, tuple(add))


def _mass_rate(eom: EquationsOfMotion) -> np.ndarray:
    """``dM_y/dt``: the mass matrix a moment later, changed by what the change is then."""
    assert eom.changes.at is not None
    moved = later(eom.model, eom.state, 1j * STEP)
    inverse = eom.changes.inverse
    T_dot = np.imag(eom.changes.at(1j * STEP)) / STEP
    M, M_dot = mass_matrix(eom.model, eom.state), np.imag(mass_matrix(eom.model, moved)) / STEP
    inverse_dot = -(inverse @ T_dot @ inverse)
    half = inverse_dot.T @ M @ inverse
    return np.asarray(half + half.T + inverse.T @ M_dot @ inverse)


def brackets(model: Model, v: np.ndarray) -> np.ndarray:
    """``nv x nv``: ``[v, .]`` in the algebra of the base and of every joint."""
    groups = [model.base, *(joint.kind.group for joint in model.joints)]
    ends = np.cumsum([g.dim for g in groups])
    return np.asarray(block_diagonal([g.ad(v[e - g.dim : e]) for g, e in zip(groups, ends, strict=True) if g.dim]))


def _torsion(eom: EquationsOfMotion, rng: np.random.Generator) -> float:
    """Changed back to body-fixed velocities, where brackets are constant; a change makes and unmakes no torsion."""
    model, state = eom.model, eom.state
    v, w = state.velocity, rng.normal(size=model.nv)
    other = State(state.pose, state.joints, w[: model.m], w[model.m :])
    T, turn = eom.changes.T, eom.changes.T_dot @ eom.changes.inverse
    C_v, C_w = T.T @ (eom.C + eom.M @ turn) @ T, coriolis_matrix(model, other, eom.factorization)
    rounding = np.abs(T).T @ (np.abs(eom.C) + np.abs(eom.M @ turn)) @ np.abs(T) @ np.abs(w)  # of changing back
    M = mass_matrix(model, state)
    bracket = M @ (brackets(model, v) @ w) if model.nv else w
    natural = size(M) * size(v) * size(w)  # where all of it vanishes
    return relative(C_v @ w - C_w @ v - bracket, rounding, C_w @ v, natural)


def _forces(eom: EquationsOfMotion, a: np.ndarray) -> float:
    inverse = eom.changes.inverse
    at_body = inverse @ (a - eom.changes.T_dot @ (inverse @ eom.v))
    expected = inverse.T @ inverse_dynamics(eom.model, eom.state, at_body)
    return relative(eom.forces(a) - expected, expected, eom.M @ a)


def _power(eom: EquationsOfMotion, a: np.ndarray) -> float:
    inverse = eom.changes.inverse
    at_body = inverse @ (a - eom.changes.T_dot @ (inverse @ eom.v))
    moved = later(eom.model, eom.state, 1j * STEP, at_body)
    rate = np.imag(kinetic_energy(eom.model, moved) + potential_energy(eom.model, moved)) / STEP
    power = eom.v @ eom.forces(a)
    return abs(float(power - rate)) / max(float(np.abs(eom.v) @ np.abs(eom.forces(a))), 1e-300)


def _gravity(eom: EquationsOfMotion) -> float:
    G = eom.model.base
    weight = G.selection.T @ np.concatenate([eom.model.mass * eom.model.gravity, np.zeros(3)])
    expected = -np.concatenate([weight, np.zeros(len(eom.g) - eom.m)])
    slides = ~G.selection[3:].any(axis=0)
    rows = np.concatenate([slides, np.ones(len(eom.g) - eom.m, dtype=bool)])
    return relative((eom.g - expected)[rows], expected, eom.g)


def _linear_blocks(eom: EquationsOfMotion) -> float:
    k = int((~eom.model.base.selection[3:].any(axis=0)).sum())
    natural = size(eom.M) * size(eom.state.velocity)
    return max(relative(eom.C[:k], eom.C, natural), relative(eom.C[:, :k], eom.C, natural))


def negative_part(M: Any) -> float:
    """How far below zero the spectrum of a symmetric matrix reaches, relative to its largest entry."""
    return max(0.0, -float(np.linalg.eigvalsh(M).min(initial=0.0))) / size(M)


def size(x: Any) -> float:
    """The largest entry of ``x``, never zero."""
    return max(float(np.abs(x).max(initial=0.0)), 1e-300)


def relative(residual: Any, *sizes: Any, scale: Any = 1.0) -> float:
    """The largest entry of ``residual``, relative to the largest entries of what it is a difference of."""
    return float(np.abs(residual).max(initial=0.0)) / (max(size(x) for x in sizes) * max(size(scale), 1e-300))
