"""Laws of changes of velocity: certificates of every factorization on random robots."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from ..compiler import compile
from ..dynamics import FACTORIZATIONS, displace
from ..errors import ModelError, describe
from ..formulations import Check, VelocityChange, equations
from ..model import Model, State, robots
from .report import Report, Requirement, count, generator, largest, of_type, relative_difference

Make = Callable[[Model, State], VelocityChange]


def check_change(make: Make, models: Iterable[Model] | None = None, rounds: int = 3, seed: int = 0) -> Report:
    """Check the laws of changes of velocity on ``make(model, state)``.

    Every claim of every certificate is one line: the worst residual over robots, states and factorizations.

    Args:
        make: Function of model and state that returns a change of velocity.
        models: Robots that the change is for; None: random robots with free and planar bases.
        rounds: Number of random states of each robot.
        seed: Seed of the random robots and states.

    Returns:
        Table of residuals.

    Raises:
        BrokenLawError: A law does not hold.

    Example:
        >>> import fallingcat as fc
        >>> report = check_change(fc.changes.mixed)
        >>> report.subject, report["rate"].holds, report["passivity"].holds
        ("change 'mixed'", True, True)
    """
    if not callable(make):
        raise ModelError(f"make must be a function of model and state that returns a change, got {describe(make)}")
    if models is not None and not isinstance(models, Iterable):
        raise ModelError(f"models must be a list of models, got {describe(models)}")
    rng = generator(seed)
    known = list(_random_robots(rng) if models is None else models)
    for model in known:
        of_type(model, Model, "models must be a list of models")
    count(rounds, "rounds")
    places = [(make, model, model.random_state(rng)) for model in known for _ in range(rounds)]
    subject = f"change {getattr(make, '__name__', 'of velocity')!r}"
    own = (law.check_cases(subject, places) for law in OWN_LAWS)
    compiled = (COMPILED.check_cases(subject, places[::rounds]) for _ in range(1))
    return Report.of(subject, chain(own, compiled, _claim_checks(subject, places)))


def _claim_checks(subject: str, places: list[tuple[Make, Model, State]]) -> Iterator[Check]:
    """Claims with their worst residuals over places and factorizations."""
    found: list[Check] = []
    with CERTIFICATE.name_errors(subject):
        for make, model, state in places:
            change = make(model, state)
            for factorization in FACTORIZATIONS:
                found += equations(model, state, factorization).change(change).certify().checks
    yield from _worst_checks(found)


def _random_robots(rng: np.random.Generator) -> list[Model]:
    kinds = ["revolute", "prismatic", "spherical", "universal"]
    return [robots.random_tree(rng, 3, kinds=kinds), robots.random_tree(rng, 2, planar=True)]


def _worst_checks(checks: list[Check]) -> list[Check]:
    """Claimed check of each name with the worst verdict and residual; marked where it is not claimed."""
    severity = {"broken": 2, "unproved": 1, "holds": 0}

    def key(check: Check) -> tuple[bool, int, float]:
        return check.claimed, severity[check.verdict], check.residual

    names = dict.fromkeys(check.name for check in checks)
    return [max((check for check in checks if check.name == name), key=key) for name in names]


def _inverse(make: Make, model: Model, state: State) -> float:
    change = make(model, state)
    there_and_back = change.then(change.inverted())
    return largest(
        relative_difference(there_and_back.T, np.eye(model.nv)),
        relative_difference(there_and_back.T_dot, np.zeros((model.nv, model.nv))),
    )


def _rate(make: Make, model: Model, state: State, dt: float = 1e-3) -> float:
    """Error of ``dT/dt``, compared with differences of order 4 of ``make``, which are independent of its claims."""
    T = {k: make(model, displace(model, state, k * dt * state.velocity)).T for k in (-2, -1, 1, 2)}
    rate = (8.0 * (T[1] - T[-1]) - (T[2] - T[-2])) / (12.0 * dt)
    return relative_difference(make(model, state).T_dot, rate)


def matrices(model: Model, state: State, *, make: Make) -> Any:
    """Matrix ``T``, ``dT/dt`` and the inverse, for kernels."""
    change = make(model, state)
    return change.T, change.T_dot, change.inverse


def _compiled_residual(make: Make, model: Model, state: State) -> float:
    found, expected = compile(model, matrices, make=make)(*model.flatten(state)), matrices(model, state, make=make)
    return largest(*(relative_difference(a, b) for a, b in zip(found, expected, strict=True)))


OWN_LAWS = (
    Requirement("inverse", "there and back again changes nothing", 1e-11, _inverse),
    Requirement("rate", "dT/dt, by differences of the change itself", 1e-6, _rate),
)
COMPILED = Requirement("compiled", "machine code gives the same numbers", 1e-11, _compiled_residual)
CERTIFICATE = Requirement("certificate", "every claim of every factorization", 1e-9, _inverse)
