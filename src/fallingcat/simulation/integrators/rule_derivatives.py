"""Derivatives of steps that are linear combinations of slopes: a rule runs on values with their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...arrays import concatenate, scale
from ...arrays.differentiate import value_and_jacobian
from ...arrays.tree_elimination import TreeElimination
from ...dynamics.derivative_sweeps import changes, motion_of
from ...dynamics.derivatives import by_motion, mass_of
from ...dynamics.sweeps import places_above
from ...errors import ModelError
from ...model import Model, State
from ..problem.problem import Problem
from ..problem.vector_field import layout_of
from .implicit.step import moving
from .law_jacobian import body_numbers
from .step_arguments import StepArguments, of_arguments
from .step_jacobian import (
    Displacement,
    StepJacobian,
    check_differentiable,
    columns,
)


@dataclass(frozen=True, eq=False)
class Tangent:
    """A vector (k) with its derivatives (k x columns); rules add them and multiply them by numbers."""

    value: Any
    slope: Any
    __array_ufunc__ = None  # numbers of NumPy leave the product to this class

    def __add__(self, other: Any) -> Tangent:
        return Tangent(self.value + other.value, self.slope + other.slope)

    def __mul__(self, factor: Any) -> Tangent:
        return Tangent(scale(factor, self.value), scale(factor, self.slope))

    __rmul__ = __mul__

    def split(self, *sizes: int) -> list[Tangent]:
        """Parts of some sizes, and the rest."""
        ends = np.cumsum(sizes)
        return [Tangent(*pair) for pair in zip(np.split(self.value, ends), np.split(self.slope, ends), strict=True)]


def joined(*parts: Tangent) -> Tangent:
    """Vectors one after the other."""
    return Tangent(concatenate([part.value for part in parts]), concatenate([part.slope for part in parts]))


class Columns:
    """Directions along which steps are differentiated: configuration, velocity, memory, joint forces, numbers.

    Args:
        source: StepArguments of the step.
        memory: Size of the memory that is differentiated.
        further: Number of further directions, which come last.
    """

    def __init__(self, source: StepArguments, memory: int, further: int = 0) -> None:
        nv, asked = source.model.nv, source.model.n if len(source.forces) else 0
        self.widths = [nv, nv, memory, asked, len(source.wanted), further]

    def along(self, which: int, rows: int | None = None) -> Any:
        """Unit directions of one kind; zero (rows x columns) where there are none."""
        width = self.widths[which]
        return columns(self.widths, {which: np.eye(width)} if width else {}, width if rows is None else rows)

    def result(self, J: Any) -> StepJacobian:
        """Derivatives of a step."""
        ends = np.cumsum(self.widths)
        return StepJacobian(J[:, : ends[2]], J[:, ends[2] : ends[3]], J[:, ends[3] : ends[4]])


class Forces(NamedTuple):
    """Forces of laws and controller with their derivatives, and rates of the memory of laws."""

    source: StepArguments
    kinds: Any
    """arrays of numbers of the kind of the step"""
    lines: Columns

    def at(
        self, t: Any, state: State, moved: Any, moves: Any, memory: Tangent, braked: Callable[..., Any] | None = None
    ) -> tuple[Tangent, Tangent, Tangent]:
        """Forces (nv) and memory rates at a state whose configuration and velocity change by ``moved`` and ``moves``.

        Beside them the armature (n) with which joints are ``braked``.
        """
        source, kinds = self.source, self.kinds
        model, given = source.model, source.forces
        nv, m, k, asked = model.nv, model.m, len(memory.value), self.lines.widths[3]
        sizes = np.cumsum([nv, nv, k, asked])

        def forces(y: Any) -> Any:
            way, velocity, laws, joints, own = np.split(y, sizes)
            at = moving(model.configuration.displace(state, way), velocity)
            problem = source.problem(own)[0].with_memory(laws)[0]
            applied = problem.applied((), t, at, joints if asked else None)
            brakes = np.zeros(model.n) if braked is None else braked(problem, at, applied)
            rates = [law.memory_rate(problem.model, t, at) for law in problem.laws] if k else []
            return concatenate([problem.total(applied), brakes, *rates])

        y = concatenate([np.zeros(nv), state.velocity, memory.value, given[m:], source.values])
        value, D = value_and_jacobian(forces, y, kinds)
        q, v, laws, joints, own = np.split(D, sizes, axis=1)
        found = q @ moved + v @ moves + laws @ memory.slope + joints @ self.lines.along(3, asked)
        whole = Tangent(value, found + own @ self.lines.along(4, len(source.wanted)))
        total, brakes, rates = whole.split(nv, model.n)
        return total, rates, brakes


def acceleration(
    model: Model, state: State, moved: Any, moves: Any, forces: Tangent, brakes: Tangent, numbers: Callable[[Any], Any]
) -> Tangent:
    """Acceleration with its derivatives, under forces and with the armature ``brakes`` (n) of joints.

    ``numbers(a)`` are the derivatives of the inverse dynamics at ``a`` along all columns that change bodies.
    """
    motion = motion_of(model, state)
    bias = [s.T @ f for s, f in zip(motion.axes, motion.sums(motion.bias_forces), strict=True)]
    m, M = model.m, mass_of(model, motion)
    armature = concatenate([np.zeros(m), brakes.value])
    solved = TreeElimination(M + armature[:, None] * np.eye(model.nv), places_above(model))
    a = solved.solve((forces.value - motion.places.vector(bias))[:, None])[:, 0]
    q, v = by_motion(motion, changes(model, state, motion, a)[1])
    braked = concatenate([np.zeros((m, brakes.slope.shape[1])), a[m:, None] * brakes.slope])
    return Tangent(a, solved.solve(forces.slope - q @ moved - v @ moves - braked - numbers(a)))


class _Field:
    """``dy/dt`` of ``y = [x; v; memory]`` in exponential coordinates around a state, with its derivatives."""

    def __init__(self, source: StepArguments, start: State, memory: Any, lines: Columns, kinds: Any) -> None:
        self.source, self.start, self.lines, self.kinds = source, start, lines, kinds
        self.nv = source.model.nv
        self.forces, self.model = Forces(source, kinds, lines), source.problem(source.values)[0].model
        nv, kept = self.nv, len(memory)
        nowhere = Tangent(np.zeros(nv), np.zeros((nv, sum(lines.widths))))
        full_memory = lines.along(2) if lines.widths[2] else lines.along(2, kept)
        self.origin = joined(nowhere, Tangent(start.velocity, lines.along(1)), Tangent(memory, full_memory))

    def __call__(self, t: Any, y: Tangent) -> Tangent:
        """Slope at a time and a vector."""
        x, v, memory = y.split(self.nv, self.nv)
        group, way = self.model.configuration, Displacement.of(self.model, x.value)
        there = moving(group.displace(self.start, x.value), v.value)
        moved = way.start(self.lines.along(0)) + way.way(x.slope)
        rate, D = value_and_jacobian(
            lambda z: group.logarithm_rate(*np.split(z, 2)), concatenate([v.value, x.value]), self.kinds
        )
        forces, rates, brakes = self.forces.at(t, there, moved, v.slope, memory)

        def numbers(a: Any) -> Any:
            own = body_numbers(self.source, there, a, self.kinds)
            return own @ self.lines.along(4, len(self.source.wanted))

        a = acceleration(self.model, there, moved, v.slope, forces, brakes, numbers)
        return joined(Tangent(rate, D @ concatenate([v.slope, x.slope])), a, rates)


@of_arguments
def step_jacobian(source: StepArguments, *, rule: Any, whole: bool = True) -> StepJacobian:
    """Derivatives of the step of a rule from ``x = [count; packed]``, by the ``wanted`` numbers too."""
    model, memory, dt = source.model, source.memory, source.clock[0]
    check_differentiable(model, rule.name)
    if not rule.combines:
        raise ModelError(
            f"derivatives of steps are those of 'implicit', 'moreau', 'momentum', 'rkmk4', not {rule.name!r}"
        )
    start, full_memory, _ = layout_of(_of(source), memory).unpack(source.x[1:])
    lines, kinds = Columns(source, memory if whole else 0), [start.pose, start.velocity, source.numbers]
    field = _Field(source, start, full_memory, lines, kinds)
    end, _ = rule.step(field, source.x[0] * dt, field.origin, dt)
    place, velocity, kept = end.split(model.nv, model.nv)
    way = Displacement.of(model, place.value)
    rows = [way.start(lines.along(0)) + way.way(place.slope), velocity.slope, *([kept.slope] if whole else [])]
    return lines.result(concatenate(rows))


def _of(source: StepArguments) -> Problem:
    return source.problem(source.values)[0]
