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
from .phase_step import friction_cone, weight_of
from .problem import Problem
from .riccati import Policy, Recursion
from .stepping import Point


class Nodes(NamedTuple):
    """Motion as the solver has it: nodes need not be where the steps before them end."""

    q: FloatArray
    v: FloatArray
    memory: FloatArray
    forces: FloatArray
    contact: FloatArray
    """``steps x 3 points`` (N, in the world); of steps with given contacts"""
    closed: bool = False
    """True if every node is where the step before it ends"""

    def at(self, i: Any) -> Point:
        """State and memory of a node, or of several."""
        return self.q[i], self.v[i], self.memory[i]


@dataclass(frozen=True)
class Rows:
    """Numbers for each constraint: of nodes, of the last one, and of friction cones."""

    node: FloatArray
    """``steps x rows``; those of the start do not count"""
    final: FloatArray
    cones: FloatArray
    """``steps x rows``"""


@dataclass(frozen=True)
class Penalties:
    """Augmented Lagrangian: ``weight / 2 |c + multiplier / weight|^2``."""

    weight: float
    multipliers: Rows


class Expansion(NamedTuple):
    """Costs and constraints about a motion; slopes and derivatives are in the arrays of the recursion."""

    cost: float
    """with the penalties"""
    plain: float
    """without them"""
    gap: float
    """largest difference between a node and the step before it"""
    gaps: float
    """sum of the gaps' sizes"""
    rows: Rows


class Evaluation:
    """Kernels of a problem, on whole motions at once.

    Args:
        problem: Problem.
        threads: Threads that share the nodes.
    """

    first: Point
    """start of all motions"""

    def __init__(self, problem: Problem, threads: int = 1) -> None:
        self.problem, self.model, self.stepping = problem, problem.model, problem.stepping
        self.nv, self.steps, self.sizes = problem.model.nv, problem.stepping.steps, problem.stepping.sizes
        self.kept, self.size = self.sizes.kept, self.sizes.x
        self.equal = [np.arange(sum(rows)) < rows[0] for rows in problem.rows]
        self.used = np.minimum(np.arange(self.steps), 1.0)[:, None]
        """0 at the start, which is given"""
        self.recursion = Recursion(self.steps, self.size, self.model.n, 2 * self.nv, self.stepping.implied)
        self.data, self.threads = problem.node_data.copy(), threads
        self.start_at(problem.start)
        steps, n = self.steps, self.model.n
        shapes = ((steps + 1, self.model.nq), (steps + 1, self.nv), (steps + 1, self.kept), (steps, n))
        self._q, self._v, self._memory, self._u = (np.zeros(shape) for shape in shapes)
        self._weight, self._last_weight = np.zeros((steps, 1)), np.zeros((1, 1))
        self._shifts, self._last_shifts = (
            np.zeros((count, sum(rows))) for count, rows in zip((steps, 1), problem.rows, strict=True)
        )

    def __getstate__(self) -> tuple[Problem, int, FloatArray, Point]:
        """Compiled calls are bound to the arrays of this evaluation: a copy has its own."""
        return self.problem, self.threads, self.data, self.first

    def __setstate__(self, state: tuple[Problem, int, FloatArray, Point]) -> None:
        problem, threads, data, first = state
        self.__init__(problem, threads)  # type: ignore[misc]
        self.data[:], self.first = data, first

    def start_at(self, state: State) -> None:
        """Move the start of all motions."""
        q, v = self.model.flatten(state)
        memory = self.stepping.begin(state)
        self.first = (np.asarray(q, dtype=float), np.asarray(v, dtype=float), memory)

    # kernels --------------------------------------------------------------------------------------------------

    @cached_property
    def difference(self) -> Any:
        """``(q, p) -> d``."""
        sizes = {"q": self.model.nq, "p": self.model.nq}
        return compile(self.model, _difference, inputs=sizes)

    def away(self, a: Point, b: Point) -> FloatArray:
        """``x`` of ``b`` relative to ``a``."""
        parts = [self.difference(a[0], b[0]), b[1] - a[1]]
        if self.sizes.carried:
            parts.append(b[2] - a[2])
        return np.concatenate(parts, axis=-1)

    @cached_property
    def _follower(self) -> tuple[list[Any], FloatArray, FloatArray, FloatArray, FloatArray]:
        """Calls of the step of each node, one after the other; their first state, rows, results and step length."""
        kernel, parts = self.stepping.follow, self.sizes.parts
        n = self.sizes.nq + self.sizes.nv + self.kept
        x, about, length = np.zeros(n), np.zeros((self.steps, sum(parts))), np.zeros(1)
        outs, calls, first = np.zeros((self.steps, kernel._size)), [], x
        for row, out in zip(about, outs, strict=True):
            calls.append(kernel.stepper(x, row, length, out=out)[0])
            x = out[:n]
        return calls, first, about, outs, length

    @cached_property
    def _kernels(self) -> Any:
        """Derivatives of the steps; terms and costs of nodes and of the last one: calls and results."""
        problem, ahead = self.problem, slice(0, -1)
        at = (self._q[ahead], self._v[ahead], self._memory[ahead])
        here = (*at[:2], self._u, self.data[ahead], self._weight, self._shifts)
        last = (self._last_weight, self._last_shifts)
        end = (self._q[-1:], self._v[-1:], np.zeros((1, self.model.n)), self.data[-1:], *last)
        linear = self.stepping.linearizer(at, self._u, self.recursion.arrays, self.threads)
        terms = [kernel.batcher(*x) for kernel, x in ((problem.node_terms, here), (problem.final_terms, end))]
        costs = [kernel.batcher(*x) for kernel, x in ((problem.node_cost, here), (problem.final_node_cost, end))]
        return linear, terms, costs

    def _load(self, nodes: Nodes, penalties: Penalties) -> None:
        """Put a motion where the kernels look."""
        self._q[:], self._v[:], self._memory[:], self._u[:] = nodes[:4]
        weight, multipliers = penalties.weight, penalties.multipliers
        np.multiply(weight, self.used, out=self._weight)
        self._last_weight[0, 0] = weight
        np.divide(multipliers.node, weight, out=self._shifts)
        np.divide(multipliers.final, weight, out=self._last_shifts[0])

    def followed(self, nodes: Nodes, policy: Policy | None, length: float) -> Nodes | None:
        """Motion under a policy, with a share ``1 - length`` of the gaps left open; None if it is not finite."""
        calls, first, about, outs, step_length = self._follower
        if policy is not None:
            self._fill(about, nodes, policy)
        step_length[0] = length
        np.concatenate(self.first, out=first)
        for go in calls:
            go()
        found = outs.copy()
        if not np.isfinite(found).all():
            return None
        sizes = self.sizes
        ends = np.cumsum((sizes.nq, sizes.nv, sizes.kept, sizes.n)).tolist()
        q, v, memory = (
            np.concatenate([start[None], found[:, a:b]])
            for start, a, b in zip(self.first, [0, *ends], ends[:3], strict=False)
        )
        closed = nodes.closed or length == 1.0
        return Nodes(q, v, memory, found[:, ends[2] : ends[3]], found[:, ends[3] :], closed)

    def _fill(self, about: FloatArray, nodes: Nodes, policy: Policy) -> None:
        """Numbers of each node that :func:`.follow` needs."""
        low, high = self.problem.limits
        steps, n = self.steps, self.sizes.n
        parts = [nodes.q[:-1], nodes.v[:-1], nodes.memory[:-1, : self.sizes.carried], nodes.forces, policy.k]
        parts += [policy.K.reshape(steps, -1), self.recursion.gaps[1:]]
        limits = [np.broadcast_to(low, (steps, n)), np.broadcast_to(high, (steps, n)), self.stepping.rows]
        np.concatenate([*parts, *limits], axis=1, out=about)

    # guess ----------------------------------------------------------------------------------------------------

    def guess(self, forces: Any, states: State | None) -> Nodes:
        """Nodes to begin with."""
        steps, n = self.steps, self.model.n
        try:
            u = np.broadcast_to(np.asarray(0.0 if forces is None else forces, dtype=float), (steps, n)).copy()
        except (TypeError, ValueError, OverflowError):
            raise ModelError(f"forces must have shape {(steps, n)}, got {describe(forces)}") from None
        if not np.isfinite(u).all():
            raise ModelError("the guess of the forces must be finite")
        u = np.clip(u, *self.problem.limits)
        if states is None:
            return self.rolled_out(u)
        if not isinstance(states, State):
            raise ModelError(f"states must be a State whose fields have a first axis, got {describe(states)}")
        if states.batch != (steps + 1,):
            said = f"a batch of shape {states.batch}" if states.batch else "one"
            raise ModelError(f"the guess must have {steps + 1} states, got {said}")
        q, v = (np.array(x, dtype=float) for x in self.model.flatten(states))
        q[0], v[0] = self.first[:2]
        memory = np.array([self.stepping.begin(states.at(i)) for i in range(steps + 1)])
        memory = memory.reshape(steps + 1, self.kept)
        contact = self.stepping.advanced((q[:-1], v[:-1], memory[:-1]), u)[1]
        return Nodes(q, v, memory, u, contact)

    def rolled_out(self, u: FloatArray) -> Nodes:
        """Motion under given forces."""
        _, _, about, outs, _ = self._follower
        q, v, memory = (np.broadcast_to(x, (self.steps + 1, len(x))) for x in self.first)
        still = Nodes(q, v, memory, u, np.zeros((self.steps, 0)), True)
        zero = np.zeros_like(self.recursion.K)
        self._fill(about, still, Policy(np.zeros_like(u), zero, 0.0, 0.0, 0.0, self.recursion.adjoint))
        found = self.followed(still, None, 1.0)
        if found is None:
            bad = int(np.argmin([np.isfinite(out).all() for out in outs]))
            raise NumericsError(
                "the motion under the guess of the forces is not finite", time=float(self.stepping.times[bad + 1])
            )
        return found

    def penalties(self, weight: float) -> Penalties:
        """Penalties of the constraints, with multipliers of zero."""
        node, final = (sum(rows) for rows in self.problem.rows)
        shapes = ((self.steps, node), (final,), (self.steps, self.stepping.cones))
        return Penalties(weight, Rows(*(np.zeros(shape) for shape in shapes)))

    # costs ----------------------------------------------------------------------------------------------------

    def cost(self, nodes: Nodes, penalties: Penalties) -> float:
        """Cost with the penalties; infinite where it is not a number."""
        self._load(nodes, penalties)
        (go, own), (finish, last) = self._kernels[2]
        go()
        finish()
        total = float(own.sum() + last[0])
        if self.stepping.cones:
            total += self._cone_cost(self._cones(nodes.contact), penalties)[0]
        return total if np.isfinite(total) else np.inf

    def _cones(self, contact: FloatArray) -> FloatArray:
        """``steps x rows``: values of the friction cones, zero of points that are not held."""
        friction = getattr(self.stepping.dynamics, "friction", None) or 0.0
        forces = contact.reshape(-1, 3).T / weight_of(self.model)
        values = friction_cone(forces, friction).reshape(2, self.steps, -1)
        return (values * self.stepping.rows[:, 1 : 1 + values.shape[2]]).transpose(1, 2, 0).reshape(self.steps, -1)

    def _cone_cost(self, cones: FloatArray, penalties: Penalties) -> tuple[float, FloatArray]:
        """Penalty of the friction cones, and by how much they are exceeded."""
        beyond = np.maximum(0.0, cones + penalties.multipliers.cones / penalties.weight)
        return 0.5 * penalties.weight * float((beyond * beyond).sum()), beyond

    # expansion ------------------------------------------------------------------------------------------------

    def expanded(self, nodes: Nodes, penalties: Penalties) -> Expansion:
        """Costs and dynamics about a motion; slopes, Hessians, dynamics and gaps go to the recursion."""
        self._load(nodes, penalties)
        room, (linear, ((go, terms), (finish, last)), _) = self.recursion, self._kernels
        after, cones = linear()
        go()
        finish()
        self._scattered_terms(terms, last)
        plain, total = float(terms.plain.sum() + last.plain[0]), float(terms.total.sum() + last.total[0])
        if cones.shape[1]:
            cost, beyond = self._cone_cost(cones[..., 0], penalties)
            total += cost
            hit = np.flatnonzero((beyond > 0.0).any(axis=1))  # of most motions few steps or none
            if hit.size:
                J, own = cones[hit, :, 1:], beyond[hit]
                room.slopes[hit] += penalties.weight * (own[:, None] @ J)[:, 0]
                active = (penalties.weight * (own > 0.0))[..., None] * J
                room.hessians[hit] += np.swapaxes(J, 1, 2) @ active
        if nodes.closed:
            room.gaps[:] = 0.0
        else:
            after = self.stepping.advanced(nodes.at(slice(0, -1)), nodes.forces)[0] if after is None else after
            room.gaps[1:] = self.away(nodes.at(slice(1, None)), after)
        rows = Rows(
            np.concatenate([terms.equality, terms.inequality], axis=-1),
            np.concatenate([last.equality[0], last.inequality[0]], axis=-1),
            cones[..., 0].copy(),
        )
        if not np.isfinite(total):
            raise NumericsError(self._nonfinite_term(rows))
        away = np.abs(room.gaps)
        return Expansion(total, plain, float(away.max()), float(away.sum()), rows)

    def _scattered_terms(self, terms: Any, last: Any) -> None:
        """Slopes and Hessians of the terms, which do not depend on the memory, to their places."""
        room, m, size = self.recursion, 2 * self.nv, self.size
        if m == size:
            room.slopes[:-1], room.hessians[:-1] = terms.slope, terms.hessian
            room.slopes[-1], room.hessians[-1] = last.slope[0], last.hessian[0]
            return
        for i, own in ((slice(0, -1), terms), (slice(-1, None), last)):
            room.slopes[i, ..., :m], room.slopes[i, ..., size:] = own.slope[..., :m], own.slope[..., m:]
            for a, b in ((slice(0, m), slice(0, m)), (slice(m, None), slice(size, None))):
                for c, d in ((slice(0, m), slice(0, m)), (slice(m, None), slice(size, None))):
                    room.hessians[i, ..., b, d] = own.hessian[..., a, c]

    def _nonfinite_term(self, rows: Rows) -> str:
        """Which term of which node is not finite."""
        for name, values in (("constraint", rows.node), ("friction cone", rows.cones)):
            bad = np.argwhere(~np.isfinite(values))
            if len(bad):
                return f"the {name} is not finite at node {bad[0][0]}: row {bad[0][1]} is {values[tuple(bad[0])]}"
        if not np.isfinite(rows.final).all():
            row = int(np.argmin(np.isfinite(rows.final)))
            return f"the final constraint is not finite at node {self.steps}: row {row} is {rows.final[row]}"
        costs = self._kernels[1][0][1].plain
        node = int(np.argmin(np.isfinite(costs))) if not np.isfinite(costs).all() else self.steps
        return f"the {'final ' if node == self.steps else ''}cost is not finite at node {node}"


def _difference(model: Model, q: Any, p: Any) -> Any:
    return model.difference(q, p)
