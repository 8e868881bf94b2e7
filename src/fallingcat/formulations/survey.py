"""All certificates of a robot over random states: what ``fallingcat certify`` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..lie import SE3
from ..model import Model, State
from ..model.literals import FACTORIZATIONS
from .base_change import base_at
from .certificate import Certificate, Check, certify
from .decoupling import center_of_mass_base, centroidal, locked, momentum_map
from .equations import equations
from .evidence import Evidence
from .links import Links
from .reduced_certificate import certify_reduced
from .representations import body, inertial, mixed
from .velocity_change import VelocityChange

Make = Callable[[Model, State], VelocityChange]


def formulations(model: Model) -> dict[str, Make]:
    """Named changes of velocity that suit a robot's base."""
    suited: dict[str, Make] = {"body": body, "mixed": mixed, "inertial": inertial}
    if model.m:
        suited |= {"centroidal": centroidal, "locked": locked, "momentum map": momentum_map}
    if isinstance(model.base, SE3):
        suited["G[B]"] = center_of_mass_base
        if len(model.links) > 1:
            last = model.link_names[-1]
            suited[f"base at {last}"] = lambda model, state: base_at(model, state, last)
    return suited


def survey(
    model: Model,
    states: int = 10,
    seed: int = 0,
    tolerance: float = 1e-9,
    advance: Callable[[], None] = lambda: None,
) -> list[Certificate]:
    """Certificates of every formulation with every factorization, and of the reduced equations.

    Each check is the worst over random states; ``advance`` is called after each of the ``states``.

    Example:
        >>> import fallingcat as fc
        >>> all(certificate.passed for certificate in survey(fc.robots.cat(), states=1))
        True
    """
    rng = np.random.default_rng(seed)
    worst: list[Certificate] = []
    for _ in range(states):
        found = list(_certificates(model, model.random_state(rng), tolerance))
        worst = [_worse_certificate(a, b) for a, b in zip(worst, found, strict=True)] if worst else found
        advance()
    return worst


def _certificates(model: Model, state: State, tolerance: float) -> Iterator[Certificate]:
    links = Links(model, state)
    plain = [equations(model, state, factorization) for factorization in FACTORIZATIONS]
    for make in formulations(model).values():
        change = make(model, state)
        seen = Evidence(links, change)
        for eom in plain:
            yield certify(eom.change(change), tolerance, seen)
    if model.m:
        yield certify_reduced(model, state, tolerance=tolerance)


def _worse_certificate(a: Certificate, b: Certificate) -> Certificate:
    """The worse verdict of each check, and of two alike the larger residual."""
    pairs = zip(a.checks, b.checks, strict=True)
    return a._replace(checks=tuple(max(pair, key=_severity) for pair in pairs))


def _severity(check: Check) -> tuple[int, float]:
    """Order of a check by verdict and residual; one that is not a number is the largest."""
    rank = ("holds", "unproved", "broken").index(check.verdict)
    return rank, float("inf") if np.isnan(check.residual) else check.residual
