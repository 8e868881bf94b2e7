"""Claims of equations of motion, each with the residual that proves or breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

import numpy as np

from ..arrays.types import Matrix
from ..errors import ModelError, describe
from ..model.literals import FACTORIZATIONS
from .evidence import Evidence, worst
from .links import brackets

if TYPE_CHECKING:
    from .equations import EquationsOfMotion

ALL_FACTORIZATIONS = frozenset(FACTORIZATIONS)
PASSIVE = frozenset({"christoffel", "passive", "coadjoint"})
DECOUPLING_FACTORIZATIONS = frozenset({"newton_euler", "hamel"})
CHRISTOFFEL = frozenset({"christoffel"})


@dataclass(frozen=True)
class Claim:
    """Property of equations of motion: a name, a meaning, and a residual.

    ``residual(eom, evidence)`` is relative: at most the tolerance where the property holds.  ``evidence`` has the
    equations link by link and the natural sizes of their entries; :class:`UnprovedError` is raised where the residual
    cannot be had.  Equations with another factorization than ``factorizations`` do not make the claim.

    Example:
        >>> import fallingcat as fc
        >>> off = lambda eom, evidence: worst(eom.M - np.diag(np.diag(eom.M)), evidence.M_size)
        >>> diagonal = Claim("diagonal", "M is diagonal", off)
        >>> hopper = fc.robots.revolute_hopper()
        >>> state = hopper.random_state(np.random.default_rng(0))
        >>> from dataclasses import replace
        >>> change = replace(fc.changes.centroidal(hopper, state), claims=[diagonal])
        >>> fc.equations(hopper, state).change(change).certify()["diagonal"].verdict
        'holds'
    """

    name: str
    """by which certificates find it"""
    meaning: str
    """in words or as an equation"""
    residual: Callable[[EquationsOfMotion, Evidence], float]
    """function of the equations and the evidence"""
    factorizations: frozenset[str] = ALL_FACTORIZATIONS
    """Coriolis matrices that make the claim"""


def _symmetry(eom: EquationsOfMotion, seen: Evidence) -> float:
    return worst(eom.M - eom.M.T, seen.M_size)


def _positivity(eom: EquationsOfMotion, seen: Evidence) -> float:
    return negative_part(eom.M, seen.M_size)


def negative_part(M: Matrix, size: Matrix) -> float:
    """Depth of the spectrum of ``M`` below zero, in units in which the diagonal of ``size`` is one."""
    scale = np.sqrt(np.diag(size))
    unit = np.divide(M, np.outer(scale, scale), out=np.array(M, dtype=float), where=np.outer(scale, scale) > 0.0)
    if not np.isfinite(unit).all():
        return float("nan")
    return max(0.0, -float(np.linalg.eigvalsh(unit).min(initial=0.0)))


def _change(eom: EquationsOfMotion, seen: Evidence) -> float:
    """Residual as mass and momentum: ``M (T T^-1 - 1)``, ``M (v - T v_x)``."""
    T, v = seen.T, seen.links.state.velocity
    one = worst(seen.M @ (T @ seen.inverse - np.eye(len(T))), seen.M_size)
    return max(one, worst(seen.M @ (eom.v - T @ v), seen.M_size @ np.abs(T) @ np.abs(v)))


def _change_rate(eom: EquationsOfMotion, seen: Evidence) -> float:
    """Residual as mass and force: ``M (T - T(now)) T^-1``, ``M (T_dot - dT/dt) T^-1``."""
    M, T, T_dot, Ti = seen.M, seen.T, seen.change.T_dot, seen.inverse
    return max(worst(M @ (T - seen.T_now) @ Ti, seen.M_size), worst(M @ (T_dot - seen.T_dot) @ Ti, seen.C_size))


def _mass(eom: EquationsOfMotion, seen: Evidence) -> float:
    return worst(eom.M - seen.M, seen.M_size)


def _mass_rate(eom: EquationsOfMotion, seen: Evidence) -> float:
    return worst(eom.Mdot - seen.Mdot, seen.C_size + seen.C_size.T)


def _weight(eom: EquationsOfMotion, seen: Evidence) -> float:
    return worst(eom.g - seen.g, seen.g_size)


def _coriolis(eom: EquationsOfMotion, seen: Evidence) -> float:
    return worst(eom.C - seen.coriolis(eom.factorization), seen.C_size)


def _passivity(eom: EquationsOfMotion, seen: Evidence) -> float:
    return worst(seen.Mdot - eom.C - eom.C.T, seen.C_size + seen.C_size.T)


def _torsion(eom: EquationsOfMotion, seen: Evidence) -> float:
    """For body-fixed velocities, where brackets are constant; a change makes and unmakes no torsion."""
    links, Ti = seen.links, seen.inverse
    v, w, there = links.state.velocity, links.random_velocity, links.elsewhere
    along_v = (eom.C + seen.M @ seen.turn) @ (seen.T @ w)
    along_w = there.recursive_coriolis(eom.factorization) @ v
    bracket = links.M @ (brackets(links.model, v) @ w)
    size = seen.C_size @ np.abs(seen.T @ w) + np.abs(Ti).T @ (there.sizes(there.J, there.J_dot) @ np.abs(v))
    return worst(along_v - Ti.T @ (along_w + bracket), size)


def _forces(eom: EquationsOfMotion, seen: Evidence) -> float:
    return worst(eom.forces(seen.acceleration) - seen.inverse.T @ seen.links.forces, seen.F_size)


def _power(eom: EquationsOfMotion, seen: Evidence) -> float:
    return worst(eom.v @ eom.forces(seen.acceleration) - seen.links.power, np.abs(eom.v) @ seen.F_size)


def _mass_decoupling(eom: EquationsOfMotion, seen: Evidence) -> float:
    m = eom.m
    return max(worst(eom.M[:m, m:], seen.M_size[:m, m:]), worst(eom.M[m:, :m], seen.M_size[m:, :m]))


def _null_space(eom: EquationsOfMotion, seen: Evidence) -> float:
    """Coupling of the internal velocity (m, as many as the external) and what follows it."""
    inner, rest = slice(eom.m, 2 * eom.m), slice(2 * eom.m, None)
    return max(worst(eom.M[a, b], seen.M_size[a, b]) for a, b in ((inner, rest), (rest, inner)))


def _force_decoupling(eom: EquationsOfMotion, seen: Evidence) -> float:
    return worst(eom.C[: eom.m, eom.m :], seen.C_size[: eom.m, eom.m :])


def _invariance(eom: EquationsOfMotion, seen: Evidence) -> float:
    return worst(eom.C[: eom.m] @ eom.v, seen.C_size[: eom.m] @ np.abs(eom.v))


def _gravity(eom: EquationsOfMotion, seen: Evidence) -> float:
    model, m = eom.model, eom.m
    weight = model.base.selection[:3].T @ (model.mass * model.gravity)
    expected = -np.concatenate([weight, np.zeros(len(eom.g) - m)])
    turns = np.concatenate([model.base.selection[3:].any(axis=0), np.zeros(len(eom.g) - m, dtype=bool)])
    return worst(np.where(turns, 0.0, eom.g - expected), seen.g_size)


def _linear_blocks(eom: EquationsOfMotion, seen: Evidence) -> float:
    k = int((~eom.model.base.selection[3:].any(axis=0)).sum())
    return max(worst(eom.C[:k], seen.C_size[:k]), worst(eom.C[:, :k], seen.C_size[:, :k]))


OF_ALL = (
    Claim("symmetry", "M = M'", _symmetry),
    Claim("positivity", "M > 0", _positivity),
    Claim("change", "T T^-1 = 1, v = T [twist; rates]", _change),
    Claim("change rate", "T and dT/dt by complex step", _change_rate),
    Claim("mass", "M = sum J' L J over links", _mass),
    Claim("mass rate", "Mdot by complex step", _mass_rate),
    Claim("weight", "g = -sum J' m g over links", _weight),
    Claim("coriolis", "C by its definition, over links", _coriolis),
    Claim("passivity", "Mdot = C + C'", _passivity, PASSIVE),
    Claim("torsion", "C(v) w - C(w) v = M [v, w]", _torsion, CHRISTOFFEL),
    Claim("forces", "M a + C v + g by Newton-Euler", _forces),
    Claim("power", "v' F = d/dt energy", _power),
)
"""Claims of every set of equations."""

OF_SOME = (
    Claim("mass decoupling", "M_xy = 0", _mass_decoupling),
    Claim("force decoupling", "C_xy = 0", _force_decoupling, DECOUPLING_FACTORIZATIONS),
    Claim("null space", "M_yz = 0: internal motion and null space do not couple", _null_space),
    Claim("invariance", "C_x v_x + C_xy v_y = 0", _invariance),
    Claim("gravity", "g = (-m g, 0, 0)", _gravity),
    Claim("linear blocks", "C_G has zero linear rows and columns", _linear_blocks, CHRISTOFFEL),
)
"""Claims that a change of velocity may make about its equations, by name."""

_BY_NAME = {claim.name: claim for claim in OF_SOME}


def named_claims(claims: Iterable[str | Claim]) -> tuple[Claim, ...]:
    """Claims that a change makes, in the library's order and then the user's own by name.

    An unknown one is an error.
    """
    if not isinstance(claims, Iterable):
        raise ModelError(f"claims are names of claims or Claim records, not {describe(claims)}")
    found = [_check_name(claim) for claim in ([claims] if isinstance(claims, str) else claims)]
    known = [claim for claim in OF_SOME if claim in found]
    own = sorted({claim for claim in found if claim not in known}, key=lambda claim: claim.name)
    taken = [claim.name for claim in (*OF_ALL, *OF_SOME, *own)]
    for claim in own:
        if taken.count(claim.name) > 1:
            raise ModelError(f"there are two claims called {claim.name!r}")
    return (*known, *own)


def _check_name(claim: str | Claim) -> Claim:
    if isinstance(claim, Claim):
        return claim
    if isinstance(claim, str) and claim in _BY_NAME:
        return _BY_NAME[claim]
    nearest = get_close_matches(str(claim), _BY_NAME, n=1, cutoff=0.0)[0]
    raise ModelError(f"there is no claim {claim!r}: the nearest is {nearest!r}, of {', '.join(_BY_NAME)}")
