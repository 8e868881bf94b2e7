"""Laws of loop closures: rows are derivatives of the error, inner forces change no momentum, and runs stay closed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

import numpy as np

from ..arrays import concatenate
from ..arrays.types import Vector
from ..compiler import compile, fields
from ..constraints.loop_closure import assemble, equations
from ..dynamics import displace
from ..model import Loop, Model, State
from ..model.loops import Rows
from ..simulation import simulate
from .report import Report, Requirement, generator, largest, of_type, relative_difference, require_complete, states_of

STEP = 1e-5
"""Step of central differences (m or rad)."""


def check_loop(loop: Loop, model: Model, states: Iterable[State] | None = None, seed: int = 0) -> Report:
    """Check the laws of loop closures.

    Args:
        loop: Loop closure.
        model: Robot that it closes, given without it.
        states: States near which it can be closed; None: five random ones.
        seed: Seed of the random states.

    Returns:
        Table of residuals.

    Raises:
        BrokenLawError: A law does not hold.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> print(check_loop(fc.model.Couple("gear", "joint2", "joint1", (0.0, -2.0)), arm))
        loop 'gear': passed
          names           ...  holds        links and joints that it names are there
          rows            ...  holds        count finite numbers, and rows for them
          jacobian        ...  holds        d error/dt = J v, by differences
          bias            ...  holds        dJ/dt v, by differences
          compiled        ...  holds        machine code gives the same numbers
          stays closed    ...  holds        error of a run, in m or rad
          energy balance  ...  holds        its forces do no work, in a run
          inner forces    ...  holds        a motion of the base does not open it
    """
    of_type(loop, Loop, "loop must be a Loop")
    of_type(model, Model, "model must be a Model")
    subject, near = f"loop {loop.name!r}", states_of(model, states, generator(seed), 5)
    with NAMES.name_errors(subject):
        closed = replace(model, loops=(loop,))
        at = [assemble(closed, state, base=not loop.internal) for state in near]
    cases = [(loop, closed, state) for state in at]
    trials = [(one, cases) for one in (NAMES, ROWS, JACOBIAN, BIAS, COMPILED)]
    trials += [(one, cases[:2]) for one in (STAYS_CLOSED, ENERGY_BALANCE)] + ([(INNER, cases)] if loop.internal else [])
    return Report.of(subject, chain(one.check_cases(subject, given) for one, given in trials))


def _names(loop: Loop, model: Model, state: State) -> float:
    for place in loop.places:
        model.frame(place)
    for joint in loop.joints:
        model.joint_index(joint)
    return 0.0


def _rows(loop: Loop, model: Model, state: State) -> float:
    rows = equations(model, state)
    shapes = [np.shape(x) for x in rows] == [(loop.count,), (loop.count, model.nv), (loop.count,)]
    return 0.0 if shapes and all(np.isfinite(np.asarray(x, dtype=float)).all() for x in rows) else np.inf


def _neighbouring_states(model: Model, state: State, along: np.ndarray) -> list[Rows]:
    """Rows at states before and after, at the same velocity."""
    there = (displace(model, state, sign * STEP * along) for sign in (1.0, -1.0))
    return [equations(model, place._replace(twist=state.twist, rates=state.rates)) for place in there]


def _jacobian(loop: Loop, model: Model, state: State) -> float:
    """Rows that hold velocities alone have no error wherever they are."""
    pairs = [_neighbouring_states(model, state, unit) for unit in np.eye(model.nv)]
    found = np.array([(ahead.error - behind.error) / (2.0 * STEP) for ahead, behind in pairs]).T
    holonomic = np.array([[*ahead.error, *behind.error] for ahead, behind in pairs]).reshape(len(pairs), 2, -1)
    rows = holonomic.any(axis=(0, 1))
    return relative_difference(found[rows], np.asarray(equations(model, state).jacobian, dtype=float)[rows])


def _bias(loop: Loop, model: Model, state: State) -> float:
    v = state.velocity
    ahead, behind = _neighbouring_states(model, state, v)
    found = (ahead.jacobian - behind.jacobian) @ v / (2.0 * STEP)
    size = max(1.0, float(v @ v))
    return relative_difference(found / size, np.asarray(equations(model, state).bias, dtype=float) / size)


def rows_at(model: Model, state: State) -> Vector:
    """Error, Jacobian and bias, for kernels."""
    rows = equations(model, state)
    return concatenate([rows.error, rows.jacobian.reshape(-1), rows.bias])


def _compiled_residual(loop: Loop, model: Model, state: State) -> float:
    return relative_difference(compile(model, rows_at, state=State._fields)(*fields(state)), rows_at(model, state))


def _stays_closed(loop: Loop, model: Model, state: State) -> float:
    run = require_complete(simulate(model, state, 0.05, integrator="rkmk4", dt=1e-3, passive=False))
    return largest(*(float(np.abs(equations(model, run.state(i)).error).max(initial=0.0)) for i in (-1, len(run) // 2)))


def _energy_balance(loop: Loop, model: Model, state: State) -> float:
    return require_complete(simulate(model, state, 0.05, integrator="rkmk4", dt=1e-3, passive=False)).energy_residual


def _inner(loop: Loop, model: Model, state: State) -> float:
    return float(np.abs(np.asarray(equations(model, state).jacobian, dtype=float)[:, : model.m]).max(initial=0.0))


NAMES = Requirement("names", "links and joints that it names are there", 0.0, _names)
ROWS = Requirement("rows", "count finite numbers, and rows for them", 0.0, _rows)
JACOBIAN = Requirement("jacobian", "d error/dt = J v, by differences", 1e-7, _jacobian)
BIAS = Requirement("bias", "dJ/dt v, by differences", 1e-6, _bias)
COMPILED = Requirement("compiled", "machine code gives the same numbers", 1e-11, _compiled_residual)
STAYS_CLOSED = Requirement("stays closed", "error of a run, in m or rad", 1e-5, _stays_closed)
ENERGY_BALANCE = Requirement("energy balance", "its forces do no work, in a run", 1e-5, _energy_balance)
INNER = Requirement("inner forces", "a motion of the base does not open it", 1e-9, _inner)
