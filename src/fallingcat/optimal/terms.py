"""Costs and constraints of a node, with their derivatives, as functions for every kind of number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..arrays import concatenate, less, where
from ..arrays.differentiate import value_and_jacobian
from ..arrays.types import Matrix, Vector
from ..errors import FallingCatError, ModelError, describe
from ..model import Model, State

Term = Callable[..., Vector]
"""``term(model, state, forces, data) -> vector``, by NumPy or ``fallingcat.arrays``, for all kinds of number"""


class Values(NamedTuple):
    """Rows of a node."""

    cost: Any
    equality: Any
    inequality: Any


class Quadratic(NamedTuple):
    """Cost of a node to second order, in ``[configuration; velocity; forces]``."""

    plain: Any
    """cost without penalties"""
    total: Any
    """with them"""
    slope: Any
    hessian: Any
    """Gauss-Newton"""
    equality: Any
    inequality: Any


def term_values(
    model: Model, q: Vector, v: Vector, forces: Vector, data: Vector, *, terms: tuple[Term | None, ...]
) -> Values:
    """Values of terms at a node."""
    joints, m = model.base.nq, model.m
    here = State(model.base.element(q[:joints]), q[joints:], v[:m], v[m:])
    empty = np.zeros(0)
    return Values(*(empty if term is None else _term_rows(term, model, here, forces, data) for term in terms))


def _term_rows(term: Term, model: Model, state: State, forces: Vector, data: Vector) -> Vector:
    """Rows of a term; errors of the user's function name it."""
    name = getattr(term, "__name__", describe(term))
    try:
        found = term(model, state, forces, data)
    except FallingCatError:
        raise
    except (TypeError, ValueError, AttributeError, IndexError, KeyError) as error:
        rule = "a term is a function (model, state, forces, data) by fallingcat.arrays (sin, concatenate, where, ...)"
        raise ModelError(f"term {name}: {error}; {rule}") from error
    if found is None:
        raise ModelError(f"term {name} must return a vector of residuals, got None")
    return np.reshape(found, -1)


def linearized_terms(
    model: Model, q: Vector, v: Vector, forces: Vector, data: Vector, *, terms: tuple[Term | None, ...]
) -> tuple[Matrix, ...]:
    """Values of terms and their derivatives by configuration (tangent), velocity and forces, side by side."""
    joints, m, nv = model.base.nq, model.m, model.nv
    here = State(model.base.element(q[:joints]), q[joints:], v[:m], v[m:])

    def at(term: Term, y: Vector) -> Vector:
        velocity = y[nv : 2 * nv]
        state = model.configuration.displace(here, y[:nv])._replace(twist=velocity[:m], rates=velocity[m:])
        return _term_rows(term, model, state, y[2 * nv :], data)

    found, place = [], concatenate([np.zeros(nv), v, forces])
    for term in terms:
        if term is None:
            found.append(np.zeros((0, 1 + len(place))))
            continue
        value, slopes = value_and_jacobian(lambda y, term=term: at(term, y), place, [q, v, forces, data])  # type: ignore[misc]
        found.append(concatenate([value[:, None], slopes], axis=1))
    return tuple(found)


def quadratic_terms(
    model: Model,
    q: Vector,
    v: Vector,
    forces: Vector,
    data: Vector,
    weight: Any,
    shifts: Vector,
    *,
    terms: tuple[Term | None, ...],
) -> Quadratic:
    """Costs and penalties ``weight / 2 |c + shift|^2``, of inequalities where ``c + shift`` is positive."""
    cost, equal, unequal = linearized_terms(model, q, v, forces, data, terms=terms)
    weight = weight[0]
    own, more = shifts[: len(equal)], shifts[len(equal) :]
    plain = 0.5 * sum((r * r for r in cost[:, 0]), start=0.0)
    rows = [(1.0, r[0], r[1:]) for r in cost]
    rows += [(weight, r[0] + s, r[1:]) for r, s in zip(equal, own, strict=True)]
    for r, s in zip(unequal, more, strict=True):
        rows.append((where(less(0.0, r[0] + s), weight, 0.0), r[0] + s, r[1:]))
    total, size = 0.0, 2 * model.nv + model.n
    slope, hessian = np.full(size, 0.0, dtype=object), np.full((size, size), 0.0, dtype=object)
    for w, r, J in rows:
        felt = [j for j in range(size) if type(J[j]) is not float or J[j] != 0.0]
        total = total + 0.5 * w * (r * r)
        for i in felt:
            own_ = w * J[i]
            slope[i] = slope[i] + own_ * r
            for j in felt:
                if j >= i:
                    hessian[i, j] = hessian[i, j] + own_ * J[j]
    for i in range(size):
        hessian[i:, i] = hessian[i, i:]
    return Quadratic(plain, total, slope, hessian, equal[:, 0], unequal[:, 0])


def penalized_terms(
    model: Model,
    q: Vector,
    v: Vector,
    forces: Vector,
    data: Vector,
    weight: Any,
    shifts: Vector,
    *,
    terms: tuple[Term | None, ...],
) -> Any:
    """:attr:`Quadratic.total` alone."""
    cost, equal, unequal = term_values(model, q, v, forces, data, terms=terms)
    own, more = equal + shifts[: len(equal)], unequal + shifts[len(equal) :]
    beyond = [where(less(0.0, c), c, 0.0) for c in more]
    penalty = sum((c * c for c in (*own, *beyond)), start=0.0)
    return 0.5 * sum((r * r for r in cost), start=0.0) + 0.5 * weight[0] * penalty
