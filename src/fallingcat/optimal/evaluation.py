"""Costs, constraints and dynamics of a motion, with their derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..arrays.types import FloatArray
from ..caching import cached_property
from ..compiler import compile
from ..errors import ModelError, NumericsError, describe
from ..model import Model, State
from .problem import Problem

Point = tuple[FloatArray, FloatArray, FloatArray]
"""Flat configuration, velocity and memory, of one node or of several."""


class Nodes(NamedTuple):
    """Motion as the solver has it: nodes need not be where the steps before them end."""

    q: FloatArray
    v: FloatArray
    memory: FloatArray
    forces: FloatArray


@dataclass(frozen=True)
class Penalties:
    """Augmented Lagrangian: penalties and multipliers of the constraints."""

    weight: float
    equality: FloatArray
    """``(steps + 1) x rows``"""
    inequality: FloatArray
    """``(steps + 1) x rows``, not negative"""


class Expansion(NamedTuple):
    """Costs and dynamics to second and first order about a motion."""

    cost: float
    """with the penalties"""
    plain: float
    """without them"""
    slopes: FloatArray
    hessians: FloatArray
    dynamics: FloatArray
    gaps: FloatArray
    equality: FloatArray
    inequality: FloatArray


class Evaluation:
    """Kernels of a problem, on whole motions at once."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.model = problem, problem.model
        self.step = problem.dynamics.step.function
        self.nv = problem.model.nv
        self.start_at(problem.start)
        self.kept = len(self.first[2])
        self.carried = self.kept if "memory" in problem.dynamics.rows else 0
        """memory that is part of ``x``"""
        self.size = 2 * self.nv + self.carried

    def start_at(self, state: State) -> None:
        """Move the start of all motions."""
        q, v = self.model.flatten(state)
        memory = self.problem.dynamics.step.begin(state)
        self.first: Point = (np.asarray(q, dtype=float), np.asarray(v, dtype=float), memory)

    # kernels --------------------------------------------------------------------------------------------------

    @cached_property
    def displaced(self) -> Any:
        """``(q, d) -> q``."""
        sizes = {"q": self.model.nq, "tangent": self.nv}
        return compile(self.model, _displaced, inputs=sizes)

    @cached_property
    def difference(self) -> Any:
        """``(q, p) -> d``."""
        sizes = {"q": self.model.nq, "p": self.model.nq}
        return compile(self.model, _difference, inputs=sizes)

    def away(self, a: Point, b: Point) -> FloatArray:
        """``x`` of ``b`` relative to ``a``."""
        parts = [self.difference(a[0], b[0]), b[1] - a[1]]
        if self.carried:
            parts.append(b[2] - a[2])
        return np.concatenate(parts, axis=-1)

    def advanced(self, x: Point, u: FloatArray) -> Point:
        """State and memory one step later."""
        if not self.kept:
            q, v = self.step(x[0], x[1], u)
            return q, v, x[2]
        q, v, memory = self.step(*x, u)
        return q, v, memory

    # guess ----------------------------------------------------------------------------------------------------

    def guess(self, forces: Any, states: State | None) -> Nodes:
        """Nodes to begin with."""
        steps, n = self.problem.steps, self.model.n
        try:
            u = np.broadcast_to(np.asarray(0.0 if forces is None else forces, dtype=float), (steps, n)).copy()
        except (TypeError, ValueError):
            raise ModelError(f"forces must have shape {(steps, n)}, got {describe(forces)}") from None
        if not np.isfinite(u).all():
            raise ModelError("the guess of the forces must be finite")
        u = np.clip(u, *self.problem.limits)
        if states is None:
            return self.rolled_out(u)
        if states.batch != (steps + 1,):
            raise ModelError(f"the guess must have {steps + 1} states, got {describe(states.batch)}")
        q, v = (np.array(x, dtype=float) for x in self.model.flatten(states))
        q[0], v[0] = self.first[:2]
        memory = np.array([self.problem.dynamics.step.begin(states.at(i)) for i in range(steps + 1)])
        return Nodes(q, v, memory.reshape(steps + 1, self.kept), u)

    def rolled_out(self, u: FloatArray) -> Nodes:
        """Motion under given forces."""
        path = [self.first]
        for i, force in enumerate(u):
            path.append(self.advanced(path[-1], force))
            if not all(np.isfinite(part).all() for part in path[-1]):
                raise NumericsError("the motion under the guess of the forces is not finite", time=(i + 1) * self.dt)
        return nodes_of(path, u)

    @property
    def dt(self) -> float:
        """Step (s)."""
        return self.problem.dynamics.step.dt

    def penalties(self, weight: float) -> Penalties:
        """Penalties of the constraints, with multipliers of zero."""
        problem, about = self.problem, (*self.first[:2], np.zeros(self.model.n))
        _, equal, unequal = problem.node_values(*about, problem.node_data[0])
        _, final, _ = problem.final_values(*about, problem.node_data[-1])
        count = problem.steps + 1
        return Penalties(weight, np.zeros((count, max(len(equal), len(final)))), np.zeros((count, len(unequal))))

    # costs ----------------------------------------------------------------------------------------------------

    def cost(self, nodes: Nodes, penalties: Penalties) -> float:
        """Cost with the penalties; infinite where it is not a number."""
        data, n = self.problem.node_data, self.model.n
        cost, equal, unequal = self.problem.node_values(nodes.q[:-1], nodes.v[:-1], nodes.forces, data[:-1])
        last, last_equal, _ = self.problem.final_values(nodes.q[-1], nodes.v[-1], np.zeros(n), data[-1])
        total = 0.5 * float((cost * cost).sum() + (last * last).sum())
        weight = penalties.weight
        for c, multipliers in ((equal[1:], penalties.equality[1:-1]), (last_equal, penalties.equality[-1])):
            total += 0.5 * weight * float(((c + multipliers[..., : c.shape[-1]] / weight) ** 2).sum())
        shifted = np.maximum(0.0, unequal[1:] + penalties.inequality[1:-1] / weight)
        total += 0.5 * weight * float((shifted * shifted).sum())
        return total if np.isfinite(total) else np.inf

    # expansion ------------------------------------------------------------------------------------------------

    def expanded(self, nodes: Nodes, penalties: Penalties) -> Expansion:
        """Costs and dynamics about a motion."""
        steps, size, n, data = self.problem.steps, self.size, self.model.n, self.problem.node_data
        here = (nodes.q[:-1], nodes.v[:-1])
        memory = (nodes.memory[:-1],) if self.kept else ()
        A, B = self.problem.dynamics.function(*here, *memory, nodes.forces)
        dynamics = np.concatenate([A, B], axis=-1)
        cost, equal, unequal = self.problem.node_terms(*here, nodes.forces, data[:-1])
        end = (nodes.q[-1], nodes.v[-1], np.zeros(n), data[-1])
        last, last_equal, _ = self.problem.final_terms(*end)
        slopes, hessians = np.zeros((steps + 1, size + n)), np.zeros((steps + 1, size + n, size + n))
        plain = 0.0
        inner, final = slice(1, steps), slice(steps, steps + 1)  # the start is given
        for rows, where in ((cost, slice(0, steps)), (last[None], final)):
            plain += self.add(slopes[where], hessians[where], rows[..., 0], rows[..., 1:])
        total = plain
        for rows, where, multipliers, holds in (
            (equal[inner], inner, penalties.equality, True),
            (last_equal[None], final, penalties.equality, True),
            (unequal[inner], inner, penalties.inequality, False),
        ):
            about = (slopes[where], hessians[where])
            total += self.add_constraints(*about, rows, multipliers[where], penalties.weight, holds)
        equality = np.zeros((steps + 1, max(equal.shape[1], last_equal.shape[0])))
        equality[inner, : equal.shape[1]] = equal[inner, :, 0]
        equality[-1, : last_equal.shape[0]] = last_equal[:, 0]
        inequality = np.full((steps + 1, unequal.shape[1]), -np.inf)
        inequality[inner] = unequal[inner, :, 0]
        return Expansion(total, plain, slopes, hessians, dynamics, self.gaps(nodes), equality, inequality)

    def add(self, slopes: FloatArray, hessians: FloatArray, r: FloatArray, J: FloatArray) -> float:
        """Add residuals; ``J`` is by configuration, velocity and forces."""
        if not r.shape[-1]:
            return 0.0
        slope, hessian = (r[:, None] @ J)[:, 0], np.swapaxes(J, 1, 2) @ J
        x, u, m = slice(0, 2 * self.nv), slice(self.size, None), 2 * self.nv  # no term depends on the memory
        slopes[:, x] += slope[:, :m]
        slopes[:, u] += slope[:, m:]
        for rows, columns, part in ((x, x, hessian[:, :m, :m]), (u, x, hessian[:, m:, :m]), (u, u, hessian[:, m:, m:])):
            hessians[:, rows, columns] += part
        hessians[:, x, u] += hessian[:, :m, m:]
        if not np.isfinite(r).all():
            raise NumericsError(f"the cost is not finite at node {int(np.argmin(np.isfinite(r).all(axis=-1)))}")
        return 0.5 * float((r * r).sum())

    def add_constraints(
        self,
        slopes: FloatArray,
        hessians: FloatArray,
        rows: FloatArray,
        multipliers: FloatArray,
        weight: float,
        equal: bool,
    ) -> float:
        """Add ``weight / 2 |c + multiplier / weight|^2``, of inequalities where it is positive."""
        if not rows.shape[1]:
            return 0.0
        shifted = rows[..., 0] + multipliers[:, : rows.shape[1]] / weight
        active = np.ones_like(shifted) if equal else (shifted > 0.0).astype(float)
        root = np.sqrt(weight) * active
        return self.add(slopes, hessians, root * shifted, root[..., None] * rows[..., 1:])

    def gaps(self, nodes: Nodes) -> FloatArray:
        """By how much each node lies behind the step before it."""
        after = self.advanced((nodes.q[:-1], nodes.v[:-1], nodes.memory[:-1]), nodes.forces)
        found = np.zeros((self.problem.steps + 1, self.size))
        found[1:] = self.away((nodes.q[1:], nodes.v[1:], nodes.memory[1:]), after)
        return found


def nodes_of(path: list[Point], forces: FloatArray) -> Nodes:
    """Nodes from points, one after the other."""
    q, v, memory = (np.array(part) for part in zip(*path, strict=True))
    return Nodes(q, v, memory, forces)


def _displaced(model: Model, q: Any, tangent: Any) -> Any:
    return model.integrate(q, tangent)


def _difference(model: Model, q: Any, p: Any) -> Any:
    return model.difference(q, p)
