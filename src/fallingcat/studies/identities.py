"""Equations that documents claim, as studies: residuals over random robots and random elements of groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import Annotated, Any, Final, NamedTuple, SupportsFloat

import numpy as np
from pydantic import Field

from ..errors import ModelError
from ..formulations import Certificate
from ..formulations.survey import survey
from ..lie import R1, R2, R3, SE2, SE3, SO2, SO3, Cylindrical, Group, Helical, PseudoPlanar, Schoenflies
from ..model import Model, robots
from ..visualization import Table
from .kind import Figures, Parameters, Progress, StudyKind, study_kind
from .tables import Study

STEP: Final = 1e-30
"""Step of complex-step derivatives."""


class CertificateParameters(Parameters):
    """A random tree, and how many states of it."""

    links: Annotated[int, Field(ge=2, le=60)] = 5
    states: Annotated[int, Field(ge=1, le=1000)] = 5
    seed: Annotated[int, Field(ge=0)] = 0


class CertificateResult(NamedTuple):
    """The worst of every check over all states."""

    model: Model
    certificates: Sequence[Certificate]

    def residual(self, formulation: str, factorization: str, claim: str) -> float:
        """Residual of one claim; ``formulation`` may leave out the name of a link at its end."""
        for found in self.certificates:
            if found.formulation.startswith(formulation) and found.factorization == factorization:
                check: Any = found[claim]
                return float("nan") if check.reason else float(check.residual)
        known = ", ".join(dict.fromkeys(f"{c.formulation}/{c.factorization}" for c in self.certificates))
        raise ModelError(f"there is no certificate {formulation}/{factorization}: there are {known}")


@study_kind
class Certificates(StudyKind[CertificateParameters, CertificateResult]):
    """Study kind that certifies every formulation with every Coriolis matrix by independent quantities."""

    name, parameters = "certificates", CertificateParameters
    measures: Mapping[str, Callable[[CertificateResult], SupportsFloat]] = {
        "checks": lambda seen: sum(len(c.claims) for c in seen.certificates),
        "not_proved": lambda seen: sum(not check.holds for c in seen.certificates for check in c.claims),
        "worst": lambda seen: max(check.residual for c in seen.certificates for check in c.claims),
    }
    further_measures = ("FORMULATION/FACTORIZATION/CLAIM",)
    resolution = frozenset(CertificateParameters.model_fields)  # an identity holds for all

    def measure(self, name: str) -> Callable[[CertificateResult], SupportsFloat]:
        """Measure by name, also ``centroidal/christoffel/gravity``: the largest relative residual of a claim."""
        parts = name.split("/")
        return (lambda seen: seen.residual(*parts)) if len(parts) == 3 else super().measure(name)

    def run(self, parameters: CertificateParameters, progress: Progress) -> CertificateResult:
        """Certify the equations of a random tree at random states."""
        rng = np.random.default_rng(parameters.seed)
        model = robots.random_tree(rng, parameters.links, kinds=["revolute", "prismatic"])
        shares = iter(accumulate([1.0 / parameters.states] * parameters.states))
        done = survey(model, parameters.states, parameters.seed, advance=lambda: progress("certifying", next(shares)))
        return CertificateResult(model, done)

    def figures(self, study: Study, seen: CertificateResult) -> Figures:
        """Table of all certificates."""
        rows = [
            (c.formulation, c.factorization, str(len(c.claims)), f"{max(x.residual for x in c.claims):.1e}", c.verdict)
            for c in seen.certificates
        ]
        header = ("equations", "Coriolis matrix", "claims", "largest residual", "")
        good = [c.passed for c in seen.certificates]
        return Figures((), (Table("All that the equations claim, at every state", header, rows, good=good),))


# groups ---------------------------------------------------------------------------------------------------------------


class GroupParameters(Parameters):
    """Number of random elements of each group."""

    samples: Annotated[int, Field(ge=1, le=1000)] = 20
    seed: Annotated[int, Field(ge=0)] = 0


def _size(x: Any, y: Any) -> float:
    """Difference, relative to the compared values."""
    x, y = np.asarray(x), np.asarray(y)
    return float(np.abs(x - y).max(initial=0.0) / max(1.0, float(np.abs(y).max(initial=0.0))))


def _velocity(group: Group, rng: np.random.Generator) -> float:
    """``V = S(phi) dphi/dt`` is ``g^-1 dg/dt`` of ``g = exp(phi)``: [From] (28)."""
    phi, rate = rng.normal(size=(2, group.dim))
    moved = np.imag(group.exp(phi + 1j * STEP * rate)) / STEP
    return _size(group.hat(group.dexp_right(phi) @ rate), np.linalg.solve(group.exp(phi), moved))


def _series(group: Group, rng: np.random.Generator) -> float:
    """``S = sum (-1)^k ad^k / (k + 1)!``: [From] (29)."""
    phi = 0.5 * rng.normal(size=group.dim)
    term = total = np.eye(group.dim)
    for k in range(1, 40):
        term = -term @ group.ad(phi) / (k + 1)
        total = total + term
    return _size(group.dexp_right(phi), total)


def _coriolis(group: Group, rng: np.random.Generator) -> float:
    """``C v = -ad~(M v) v`` by the sums over ``S`` and its derivatives, with the index of (54)."""
    phi, v = rng.normal(size=(2, group.dim))
    half = rng.normal(size=(group.dim, group.dim))
    h = half @ half.T @ v
    steps = [np.imag(group.dexp_right(phi + 1j * STEP * e)) / STEP for e in np.eye(group.dim)]
    dS = np.reshape(steps, (group.dim,) * 3).transpose(1, 2, 0)
    inverse = np.linalg.inv(group.dexp_right(phi))
    C = np.einsum("li,slm,mj,s->ij", inverse, dS, inverse, h) - np.einsum("li,sml,mj,s->ij", inverse, dS, inverse, h)
    return _size(C, -group.adt(h))


def _power(group: Group, rng: np.random.Generator) -> float:
    """``v' C v = 0``: a free body keeps its energy."""
    v, half = rng.normal(size=group.dim), rng.normal(size=(group.dim, group.dim))
    h = half @ half.T @ v
    return abs(float(v @ group.adt(h) @ v)) / float(np.abs(v) @ np.abs(group.adt(h)) @ np.abs(v) or 1.0)


def _jacobi(group: Group, rng: np.random.Generator) -> float:
    """``ad([x, y]) = ad(x) ad(y) - ad(y) ad(x)``."""
    x, y = rng.normal(size=(2, group.dim))
    X, Y = group.ad(x), group.ad(y)
    return _size(group.ad(X @ y), X @ Y - Y @ X)


GROUPS: Final[dict[str, Group]] = {
    "SE(3)": SE3(), "SE(2)": SE2(), "SO(3)": SO3(), "X(z)": Schoenflies(), "SO(2)": SO2(), "H": Helical(pitch=0.3),
    "R": R1(), "R2": R2(), "R3": R3(), "C": Cylindrical(), "Y": PseudoPlanar(pitch=0.3),
}  # fmt: skip
LAWS: Final[dict[str, Callable[[Group, np.random.Generator], float]]] = {
    "velocity": _velocity, "series": _series, "coriolis": _coriolis, "power": _power, "jacobi": _jacobi,
}  # fmt: skip


@study_kind
class Groups(StudyKind[GroupParameters, dict[str, float]]):
    """The equations of a body on every subgroup of SE(3), at random elements."""

    name, parameters, resolution = "group-identities", GroupParameters, frozenset(GroupParameters.model_fields)
    measures: Mapping[str, Callable[[dict[str, float]], SupportsFloat]] = {
        name: partial(lambda seen, name: seen[name], name=name)
        for name in (f"{g}/{law}" for g in GROUPS for law in LAWS)
    }

    def run(self, parameters: GroupParameters, progress: Progress) -> dict[str, float]:
        """Evaluate the residual of every law on every group."""
        out = {}
        for group, one in GROUPS.items():
            for law, residual in LAWS.items():
                rng = np.random.default_rng(parameters.seed)
                out[f"{group}/{law}"] = max(residual(one, rng) for _ in range(parameters.samples))
        return out

    def figures(self, study: Study, seen: dict[str, float]) -> Figures:
        """Table of all residuals."""
        rows = [(group, *(f"{seen[f'{group}/{law}']:.1e}" for law in LAWS)) for group in GROUPS]
        return Figures((), (Table("Largest relative residuals", ("group", *LAWS), rows),))
