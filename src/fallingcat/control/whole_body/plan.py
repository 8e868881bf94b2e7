"""Compiled whole-body problem: machine code of the rows that change, and the rows that never do."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...arrays import concatenate, is_numeric
from ...arrays.types import Vector
from ...compiler import Kernel, compile
from ...lie.group import constant
from ...model import Model, State
from ..tasks.packing import count, example
from .problem import ProblemKind, Shape, TorqueLimits, efforts

CONSTANT = -1
"""Source of a row that never changes."""


class Plan(NamedTuple):
    """Compiled problem of a robot, and its constant rows."""

    shape: Shape
    setup: ProblemKind
    kernel: Kernel
    """``(q, v, numbers) -> [rows that change; value; root; lower]``, flat"""
    constant_rows: np.ndarray
    """rows that never change"""
    row_indices: np.ndarray
    """index of each row: in the kernel's, or, counted from -1 downwards, in :attr:`constant_rows`"""
    torque_rows: slice
    """rows of the level of the torques"""


class _Changes(Exception):
    """A row assumed constant is not."""


def changing_rows(
    model: Model, state: State, numbers: Vector, *, setup: ProblemKind, source: tuple[int, ...]
) -> Vector:
    """Flat array of the changing rows, then value, root and lower bounds.

    ``source`` is for each row its own index (it is in the array), -1 (it is constant), or the index of an equal row.
    """
    rows, value, root, lower = setup.problem(model, state, numbers)
    if not is_numeric(rows) and not all(is_numeric(x) for i, j in enumerate(source) if j == CONSTANT for x in rows[i]):
        raise _Changes
    given = [i for i, j in enumerate(source) if i == j]
    return concatenate([rows[given].reshape(-1), value, root, lower])


@lru_cache(maxsize=32)
def plan_of(model: Model, setup: ProblemKind) -> Plan:
    """Compiled problem, made once for a robot and kinds of tasks, contacts and limits."""
    size, shape = count(model, [form for level in setup.forms for form in level]), setup.shape(model)
    size += setup.switches
    torque_rows = slice(*shape.ends[setup.torque_level :][:2])
    source, kept = _sources(model, setup, shape, torque_rows)
    try:
        kernel = compile(model, changing_rows, inputs={"numbers": size}, setup=setup, source=source)
    except _Changes:
        source, kept = tuple(range(len(source))), kept[:0]
        kernel = compile(model, changing_rows, inputs={"numbers": size}, setup=setup, source=source)
    place = np.cumsum([i == j for i, j in enumerate(source)]) - 1
    where = np.where(np.array(source) == CONSTANT, -np.cumsum(np.array(source) == CONSTANT), place[list(source)])
    return Plan(shape, setup, kernel, kept, constant(where.astype(np.int64)), torque_rows)


def _sources(model: Model, setup: ProblemKind, shape: Shape, torque_rows: slice) -> tuple[tuple[int, ...], np.ndarray]:
    """Sources of :func:`changing_rows`, from the rows that are equal at two states, and the constant rows.

    The assumption is verified when the code is traced.
    """
    rng = np.random.default_rng(0)
    numbers = example(model, [form for level in setup.forms for form in level])
    masks = (np.ones(setup.switches), np.full(setup.switches, 0.5))  # rows that a mask changes are not constant
    with np.errstate(all="ignore"):  # the example numbers may not be valid goals
        one, two = (setup.problem(model, model.random_state(rng), np.append(numbers, x)).rows for x in masks)
    fixed = (one == two).all(axis=1)
    source, row = np.where(fixed, CONSTANT, np.arange(len(fixed))), shape.first_limit
    for limit in setup.limits:
        if isinstance(limit, TorqueLimits):
            places = efforts(model)[0]
            source[row : row + len(places)] = shape.equations + torque_rows.start + places
            fixed[row : row + len(places)] = False
            row += len(places)
        else:
            row += len(limit.rows(model, model.neutral()).h)
    return tuple(source.tolist()), constant(one[fixed])
