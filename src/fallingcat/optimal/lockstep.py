"""Iterations of many optimal control problems of one structure, side by side: each as :mod:`.solver` takes them."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from ..arrays.types import FloatArray
from ..compiler import compile
from .evaluation import _difference
from .lanes import Lanes
from .phase_step import CONE_ROUNDING, weight_of
from .problem import Problem
from .solver import MIN_DECREASE, ROUNDING
from .trials import Trials


class Expansion(NamedTuple):
    """Costs and constraints about the motions, one number for each lane."""

    cost: FloatArray
    """with the penalties"""
    plain: FloatArray
    gap: FloatArray
    """largest difference between a node and the step before it"""
    gaps: FloatArray
    """sum of the gaps' sizes"""
    violation: FloatArray
    """largest violation of a constraint"""
    complementarity: FloatArray
    """largest product of an inequality and its multiplier"""


class Motions:
    """Motions of all lanes, their expansions and line searches; see :class:`.Evaluation` for one.

    Args:
        problem: Problem whose structure all motions share.
        lanes: Processor.
    """

    def __init__(self, problem: Problem, lanes: Lanes) -> None:
        self.problem, self.lanes, self.xp = problem, lanes, lanes.xp
        self.stepping, self.kernels = problem._on(lanes.target)
        stepping = self.stepping
        self.sizes, self.steps, self.nv = stepping.sizes, stepping.steps, problem.model.nv
        count, sizes = lanes.count, self.sizes
        self.rows = [sum(rows) for rows in problem.rows]
        self._constrained = any(self.rows) or bool(stepping.cones)
        self.equal = [np.arange(sum(rows)) < rows[0] for rows in problem.rows]
        self.at, self.end = self.tables((self.steps, count), 0), self.tables((count,), 1)
        self.contact = self.xp.zeros((self.steps, count, stepping.contacts))
        self.cones = self.xp.zeros((self.steps, count, stepping.cones))
        self.first = self.xp.zeros((count, sizes.nq + sizes.nv + sizes.kept))
        self.recursions = lanes.recursions(self.steps, sizes.x, sizes.n, 2 * self.nv, stepping.implied)
        self.arrays = type(self.recursions.arrays)(*(self.xp.moveaxis(x, 1, 0) for x in self.recursions.arrays))
        self.weight, self.closed = np.ones(count), np.ones(count, dtype=bool)
        self.multipliers = [self.xp.zeros((self.steps, count, self.rows[0])), self.xp.zeros((count, self.rows[1]))]
        self.multipliers.append(self.xp.zeros_like(self.cones))
        self._used = lanes.array(np.minimum(np.arange(self.steps), 1.0)[:, None])
        self._bind()

    def tables(self, rows: tuple[int, ...], last: int) -> Any:
        """Arguments of the kernels of nodes, or of the last one."""
        s, data = self.sizes, self.problem.node_data.shape[1]
        sizes = {"q": s.nq, "v": s.nv, "memory": s.kept, "forces": s.n, "row": s.row}
        sizes |= {"data": data, "weight": 1, "shifts": self.rows[last]}
        return SimpleNamespace(**{name: self.lanes.table((), rows, size) for name, size in sizes.items()})

    def bound(
        self, kernel: Any, tables: Any, names: Any = ("q", "v", "forces", "data", "weight", "shifts")
    ) -> Callable[[], Any]:
        """Kernel on tables."""
        return self.lanes.bound(kernel, *(getattr(tables, name) for name in names))

    def _bind(self) -> None:
        """Kernels on the tables."""
        lanes, steps, count, sizes, stepping = self.lanes, self.steps, self.lanes.count, self.sizes, self.stepping
        self.at.row[...] = lanes.array(stepping.rows)[:, None]
        linear, names = stepping.linear_kernel()
        self._linear = self.bound(linear, self.at, names)
        next_kernel, next_names = stepping.next_kernel()
        self._next: Callable[[], Any] = lambda: self.bound(next_kernel, self.at, next_names)
        self._terms, self._last_terms = self.bound(self.kernels[0], self.at), self.bound(self.kernels[1], self.end)
        difference = compile(
            self.problem.model, _difference, inputs={"q": sizes.nq, "p": sizes.nq}, target=lanes.target
        )
        self._from, self._to = (lanes.table((), (steps, count), sizes.nq) for _ in range(2))
        self._difference = lanes.bound(difference, self._from, self._to)
        self.limits = tuple(lanes.array(np.broadcast_to(x, (sizes.n,)).copy()) for x in self.problem.limits)
        self._trials: dict[int, Trials] = {}

    def trials(self, at_once: int) -> Trials:
        """Room for motions by so many step lengths at a time."""
        if at_once not in self._trials:
            self._trials[at_once] = Trials(self, at_once)
        return self._trials[at_once]

    # motions --------------------------------------------------------------------------------------------------

    def load(self, which: Any, first: Any, data: Any, forces: Any, states: Any) -> Any:
        """Put guesses into lanes, by a roll-out of the forces if there are no states.

        Returns:
            Truth values of the lanes whose motion is finite.
        """
        put, sizes = self.lanes.array, self.sizes
        lanes, ends = put(np.flatnonzero(which)), np.cumsum((0, sizes.nq, sizes.nv, sizes.kept))
        self.first[lanes] = put(first)
        self.at.data[:, lanes] = put(np.swapaxes(data[:, :-1], 0, 1))
        self.end.data[lanes] = put(data[:, -1])
        self.at.forces[:, lanes] = put(np.swapaxes(forces, 0, 1))
        for multiplier in self.multipliers:
            multiplier[..., lanes, :] = 0.0
        for i, name in enumerate(("q", "v", "memory")):
            if states is None:
                own = self.first[lanes, ends[i] : ends[i + 1]]
                getattr(self.at, name)[:, lanes], getattr(self.end, name)[lanes] = own, own
            else:
                nodes = put(np.swapaxes(states[i], 0, 1).copy())
                getattr(self.at, name)[:, lanes], getattr(self.end, name)[lanes] = nodes[:-1], nodes[-1]
        if states is None:
            for x in (self.arrays.k, self.arrays.K, self.arrays.gaps):
                x[:, lanes] = 0.0
            trials = self.trials(1)
            finite = trials.roll_out((1.0,))[0]
            trials.commit(which & finite, np.zeros(len(which), dtype=int))
            self.closed[which] = True
            return which & finite
        self.closed[which] = False
        if self.contact.shape[-1]:
            self.contact[:, lanes] = self._next_states()[1][:, lanes]
        return which.copy()

    def take(self, other: Motions, which: Any) -> None:
        """Motions of some lanes of others, perhaps on another processor."""
        there, here = other.lanes.array(np.flatnonzero(which)), slice(int(which.sum()))

        def put(x: Any) -> Any:
            return x if self.lanes.target == other.lanes.target else self.lanes.array(other.lanes.host(x))

        for name in ("q", "v", "memory", "forces", "data"):
            getattr(self.at, name)[:, here] = put(getattr(other.at, name)[:, there])
            if name != "forces":
                getattr(self.end, name)[here] = put(getattr(other.end, name)[there])
        self.first[here], self.contact[:, here] = put(other.first[there]), put(other.contact[:, there])
        for mine, yours in zip(self.multipliers, other.multipliers, strict=True):
            mine[..., here, :] = put(yours[..., there, :])
        self.weight[here], self.closed[here] = other.weight[which], other.closed[which]

    def _next_states(self) -> Any:
        """States one step later than those of each node, and contact forces as far as they are known."""
        found = self._next()()
        if self.stepping.cones or self.sizes.row:
            return (found.q, found.v, self.at.memory), found.contact.reshape(*found.contact.shape[:2], -1)
        return (found[0], found[1], found[2] if self.sizes.kept else self.at.memory), None

    # costs ----------------------------------------------------------------------------------------------------

    def load_penalties(self, nodes: Any, end: Any) -> None:
        """Put penalties where the kernels look: tables of nodes and ends, perhaps with an axis of step lengths."""
        if not self._constrained:
            return
        weight, lead = self.lanes.array(self.weight), (slice(None), *(None,) * (end.weight.ndim - 2))
        nodes.weight[..., 0] = (weight * self._used)[lead]
        nodes.shifts[...] = (self.multipliers[0] / weight[:, None])[lead]
        end.weight[..., 0], end.shifts[...] = weight, self.multipliers[1] / weight[:, None]

    def total(self, values: Any) -> Any:
        """Sum over the first axis, in the order of a sum over one motion."""
        return self.xp.ascontiguousarray(self.xp.moveaxis(values, 0, -1)).sum(axis=-1)

    def cone_cost(self, cones: Any) -> tuple[Any, Any]:
        """Penalty of friction cones (steps x ... x lanes x rows), and by how much they are exceeded."""
        weight = self.lanes.array(self.weight)
        shift = self.multipliers[2] / weight[:, None]
        lead = (slice(None), None) if cones.ndim == 4 else (slice(None),)
        beyond = self.xp.maximum(0.0, cones + shift[lead])
        squares = self.xp.moveaxis(beyond * beyond, 0, -2)
        squares = self.xp.ascontiguousarray(squares).reshape(*squares.shape[:-2], -1)
        return 0.5 * weight * squares.sum(axis=-1), beyond

    def cone_values(self, contact: Any) -> Any:
        """Values of the friction cones, zero of points that are not held."""
        friction = getattr(self.stepping.dynamics, "friction", None) or 0.0
        x, y, z = (contact[..., i::3] / weight_of(self.problem.model) for i in range(3))
        sideways = self.xp.sqrt(x * x + y * y + CONE_ROUNDING**2) - CONE_ROUNDING
        values = self.xp.stack([sideways - friction * z, -z], axis=-1)
        held = self.at.row[:, :, 1 : 1 + values.shape[-2], None]
        return (values * (held if values.ndim == 4 else held[:, None])).reshape(*values.shape[:-2], -1)

    # expansion ------------------------------------------------------------------------------------------------

    def expanded(self) -> Expansion:
        """Costs and dynamics about the motions, whose slopes, Hessians and gaps go to the recursions."""
        xp, room, size = self.xp, self.arrays, self.sizes.x
        self.load_penalties(self.at, self.end)
        linear, terms, last = self._linear(), self._terms(), self._last_terms()
        after = None
        if self.sizes.row:
            room.dynamics[...], room.start[...], room.way[...] = linear.rate, linear.start, linear.way
            room.dt[...], after = linear.dt, (linear.q, linear.v, self.at.memory)
        else:
            room.dynamics[..., :size], room.dynamics[..., size:] = linear.A, linear.B
        self._scattered_terms(terms, last)
        plain, total = (self.total(x) + y for x, y in ((terms.plain, last.plain), (terms.total, last.total)))
        if self.stepping.cones:
            self.cones[...] = linear.cones[..., 0]
            cost, beyond = self.cone_cost(self.cones)
            total, J = total + cost, linear.cones[..., 1:]
            weight = self.lanes.array(self.weight)[:, None]
            room.slopes[:-1] += weight * (beyond[..., None, :] @ J)[..., 0, :]
            room.hessians[:-1] += xp.swapaxes(J, -1, -2) @ ((weight * (beyond > 0.0))[..., None] * J)
        self._gaps(after)
        away = xp.abs(xp.ascontiguousarray(xp.moveaxis(room.gaps, 1, 0))).reshape(self.lanes.count, -1)
        self.node_rows = xp.concatenate([terms.equality, terms.inequality], axis=-1)
        self.end_rows = xp.concatenate([last.equality, last.inequality], axis=-1)
        found = (total, plain, away.max(axis=-1), away.sum(axis=-1), *self._constraints())
        return Expansion(*self.lanes.host(xp.stack(found)))

    def _scattered_terms(self, terms: Any, last: Any) -> None:
        """Slopes and Hessians of the terms, which do not depend on the memory, to their places."""
        room, m, size = self.arrays, 2 * self.nv, self.sizes.x
        for nodes, own in ((slice(0, -1), terms), (-1, last)):
            if m == size:
                room.slopes[nodes], room.hessians[nodes] = own.slope, own.hessian
                continue
            room.slopes[nodes], room.hessians[nodes] = 0.0, 0.0
            room.slopes[nodes][..., :m], room.slopes[nodes][..., size:] = own.slope[..., :m], own.slope[..., m:]
            for a, b in ((slice(0, m), slice(0, m)), (slice(m, None), slice(size, None))):
                for c, d in ((slice(0, m), slice(0, m)), (slice(m, None), slice(size, None))):
                    room.hessians[nodes][..., b, d] = own.hessian[..., a, c]

    def _gaps(self, after: Any) -> None:
        """By how much nodes lie behind the steps before them."""
        gaps, at, end, xp = self.arrays.gaps, self.at, self.end, self.xp
        gaps[...] = 0.0
        if self.closed.all():
            return
        q, v, memory = self._next_states()[0] if after is None else after
        nodes = [xp.concatenate([getattr(at, name)[1:], getattr(end, name)[None]]) for name in ("q", "v", "memory")]
        self._from[...], self._to[...] = nodes[0], q
        parts = [self._difference(), v - nodes[1]]
        if self.sizes.carried:
            parts.append(memory - nodes[2])
        gaps[1:] = xp.where(self.lanes.array(self.closed)[:, None], 0.0, xp.concatenate(parts, axis=-1))

    def _constraints(self) -> tuple[Any, Any]:
        """Largest violation of a constraint, and largest product of an inequality and its multiplier."""
        xp, count = self.xp, self.lanes.count
        if not self._constrained:
            return xp.zeros(count), xp.zeros(count)
        worst, products = [xp.zeros((count, 1))], [xp.zeros((count, 1))]
        about = zip((self.node_rows[1:], self.end_rows[None], self.cones), self.multipliers, strict=True)
        for (values, multipliers), equal in zip(about, (*self.equal, None), strict=True):
            own = multipliers[None] if multipliers.ndim == 2 else multipliers[-len(values) :]
            chosen = np.zeros(values.shape[-1], dtype=bool) if equal is None else equal
            beyond = xp.where(self.lanes.array(chosen), xp.abs(values), values)
            worst.append(xp.moveaxis(beyond, 1, 0).reshape(count, -1))
            free = self.lanes.array(np.where(chosen, 0.0, 1.0))
            products.append(xp.moveaxis(xp.abs(own * values * free), 1, 0).reshape(count, -1))
        return tuple(xp.concatenate(x, axis=-1).max(axis=-1) for x in (worst, products))

    def next_multipliers(self, which: Any) -> None:
        """Multipliers of some lanes after a minimum, with the weights that it was found with."""
        xp, weight = self.xp, self.lanes.array(self.weight)[:, None]
        chosen = self.lanes.array(which)[:, None]
        rows = (self.node_rows, self.end_rows, self.cones)
        for i, (old, values, equal) in enumerate(zip(self.multipliers, rows, (*self.equal, None), strict=True)):
            moved = old + weight * values
            kind = np.zeros(values.shape[-1], dtype=bool) if equal is None else equal
            moved = xp.where(self.lanes.array(kind), moved, xp.maximum(0.0, moved))
            if i == 0:
                moved[:1] = 0.0
            self.multipliers[i] = xp.where(chosen, moved, old)

    # steps ----------------------------------------------------------------------------------------------------

    def policies(self, which: Any, damping: Any) -> tuple[Any, Any]:
        """Policies of some lanes; see :meth:`.CpuRecursions.run`."""
        low, high = self.limits
        self.arrays.low[...], self.arrays.high[...] = low - self.at.forces, high - self.at.forces
        return self.recursions.run(which, damping)

    def searched(self, which: Any, about: Expansion, report: Any, flat: Any) -> Any:
        """Take for each lane the first of the step lengths that lowers cost and gaps together.

        Args:
            which: Lanes.
            about: Expansions.
            report: Gradient, slope and curvature of the policies.
            flat: Numbers of steps that may still be taken where rounding hides the change; they are counted down.

        Returns:
            Truth values of the lanes that moved.
        """
        gap, (_, slope, curvature) = about.gaps, report.T
        price, open_ = np.zeros(len(gap)), gap > 1e-9
        if open_.any():
            price[open_] = 10.0 * self.lanes.host(self.xp.abs(self.arrays.adjoint).max(axis=(0, -1)))[open_]
        merit = about.cost + price * gap
        left, moved = which.copy(), np.zeros(len(which), dtype=bool)
        rounding = ROUNDING * (1.0 + np.abs(merit))
        for lengths in self.lanes.lengths:
            if not left.any():
                break
            trials, choice = self.trials(len(lengths)), np.zeros(len(which), dtype=int)
            finite, costs, taken = trials.roll_out(lengths), trials.costs(), np.zeros(len(which), dtype=bool)
            for i, length in enumerate(lengths):
                decrease = merit - costs[i] - price * ((1.0 - length) * gap)
                expected = -length * (slope + 0.5 * length * curvature) + length * price * gap
                enough = (decrease > 0.0) & (decrease >= MIN_DECREASE * expected)
                unseen = (flat > 0) & (np.abs(decrease) <= rounding) & (expected <= rounding)
                take = left & finite[i] & (enough | unseen)
                flat[take & ~enough] -= 1
                choice[take] = i
                left, taken = left & ~take, taken | take
                self.closed |= take & (length == 1.0)
            trials.commit(taken, choice)
            moved |= taken
        return moved
