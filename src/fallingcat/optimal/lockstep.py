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
from .solver import MIN_DECREASE, ROUNDING, STEP_LENGTHS


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
        self.stepping, self._kernels = problem._on(lanes.target)
        stepping = self.stepping
        self.sizes, self.steps, self.nv = stepping.sizes, stepping.steps, problem.model.nv
        count, sizes = lanes.count, self.sizes
        self.rows = [sum(rows) for rows in problem.rows]
        self._constrained = any(self.rows) or bool(stepping.cones)
        self.equal = [np.arange(sum(rows)) < rows[0] for rows in problem.rows]
        self.at, self.end = self._tables((self.steps, count), 0), self._tables((count,), 1)
        self.contact = self.xp.zeros((self.steps, count, stepping.contacts))
        self.cones = self.xp.zeros((self.steps, count, stepping.cones))
        self.first = self.xp.zeros((count, sizes.nq + sizes.nv + sizes.kept))
        self.recursions = lanes.recursions(self.steps, sizes.x, sizes.n, 2 * self.nv)
        self.arrays = type(self.recursions.arrays)(*(self.xp.moveaxis(x, 1, 0) for x in self.recursions.arrays))
        self.weight, self.closed = np.ones(count), np.ones(count, dtype=bool)
        self.multipliers = [self.xp.zeros((self.steps, count, self.rows[0])), self.xp.zeros((count, self.rows[1]))]
        self.multipliers.append(self.xp.zeros_like(self.cones))
        self._used = lanes.array(np.minimum(np.arange(self.steps), 1.0)[:, None])
        self._bind()

    def _tables(self, rows: tuple[int, ...], last: int) -> Any:
        """Arguments of the kernels of nodes, or of the last one."""
        s, data = self.sizes, self.problem.node_data.shape[1]
        sizes = {"q": s.nq, "v": s.nv, "memory": s.kept, "forces": s.n, "row": s.row}
        sizes |= {"data": data, "weight": 1, "shifts": self.rows[last]}
        return SimpleNamespace(**{name: self.lanes.table((), rows, size) for name, size in sizes.items()})

    def _bind(self) -> None:
        """Kernels on the tables."""
        lanes, steps, count, sizes, stepping = self.lanes, self.steps, self.lanes.count, self.sizes, self.stepping
        limits, rows = self.problem.limits, lanes.array(stepping.rows)
        self.at.row[...] = rows[:, None]

        def on(kernel: Any, tables: Any, names: Any = ("q", "v", "forces", "data", "weight", "shifts")) -> Any:
            return lanes.bound(kernel, *(getattr(tables, name) for name in names))

        linear, names = stepping.linear_kernel()
        self._linear = on(linear, self.at, names)
        next_kernel, names = stepping.next_kernel()
        self._next: Callable[[], Any] = lambda: on(next_kernel, self.at, names)
        node_terms, final_terms, node_cost, final_cost = self._kernels
        self._terms, self._last_terms = on(node_terms, self.at), on(final_terms, self.end)
        tried = (lanes.lengths_at_once, count)
        self.trial, self.trial_end = self._tables((steps, *tried), 0), self._tables(tried, 1)
        self._trial_cost, self._trial_end_cost = on(node_cost, self.trial), on(final_cost, self.trial_end)
        self._x, self._length = lanes.table((), tried, self.first.shape[1]), lanes.table((), tried, 1)
        self._about = lanes.table((steps,), tried, sum(sizes.parts))
        self._follow = [lanes.bound(stepping.follow, self._x, self._about[i], self._length) for i in range(steps)]
        parts = sizes.parts
        self._about[..., sum(parts[:-3]) : sum(parts[:-2])] = lanes.array(limits[0])
        self._about[..., sum(parts[:-2]) : sum(parts[:-1])] = lanes.array(limits[1])
        self._about[..., sum(parts[:-1]) :] = rows[:, None, None]
        difference = compile(
            self.problem.model, _difference, inputs={"q": sizes.nq, "p": sizes.nq}, target=lanes.target
        )
        self._from, self._to = (lanes.table((), (steps, count), sizes.nq) for _ in range(2))
        self._difference = lanes.bound(difference, self._from, self._to)
        self.limits = tuple(lanes.array(np.broadcast_to(x, (sizes.n,)).copy()) for x in limits)

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
        self.trial.data[...], self.trial_end.data[...] = self.at.data[:, None], self.end.data[None]
        self.at.forces[:, lanes] = put(np.swapaxes(forces, 0, 1))
        for multiplier in self.multipliers:
            multiplier[..., lanes, :] = 0.0
        for i, name in enumerate(("q", "v", "memory")):
            own = first[:, None, ends[i] : ends[i + 1]] if states is None else states[i]
            nodes = put(np.swapaxes(np.broadcast_to(own, (len(first), self.steps + 1, own.shape[-1])), 0, 1).copy())
            getattr(self.at, name)[:, lanes], getattr(self.end, name)[lanes] = nodes[:-1], nodes[-1]
        if states is None:
            for x in (self.arrays.k, self.arrays.K, self.arrays.gaps):
                x[:, lanes] = 0.0
            finite = self._rollouts(np.ones(self.lanes.lengths_at_once))[0]
            self._commit(which & finite, np.zeros(len(which), dtype=int))
            self.closed[which] = True
            return which & finite
        self.closed[which] = False
        if self.contact.shape[-1]:
            self.contact[:, lanes] = self._next_states()[1][:, lanes]
        return which.copy()

    def _next_states(self) -> Any:
        """States one step later than those of each node, and contact forces as far as they are known."""
        found = self._next()()
        if self.stepping.cones or self.sizes.row:
            return (found.q, found.v, self.at.memory), found.contact.reshape(*found.contact.shape[:2], -1)
        return (found[0], found[1], found[2] if self.sizes.kept else self.at.memory), None

    def _rollouts(self, lengths: Any) -> Any:
        """Motions under the policies by shares of their whole change.

        Returns:
            Truth values, ``lengths x lanes``, of those that are finite; contact forces.
        """
        xp, sizes, at, room = self.xp, self.sizes, self.at, self.arrays
        gains = room.K.reshape(*room.K.shape[:2], -1)
        parts = [at.q, at.v, at.memory[..., : sizes.carried], at.forces, room.k, gains, room.gaps[1:]]
        fill = xp.concatenate(parts, axis=-1)
        self._about[..., : fill.shape[-1]] = fill[:, None]
        self._length[..., 0] = self.lanes.array(np.asarray(lengths))[:, None]
        self._x[...] = self.first[None]
        outs, size = [], self._x.shape[-1]
        for go in self._follow:
            outs.append(go())
            self._x[...] = outs[-1][..., :size]
        found, trial, begin = xp.stack(outs), self.trial, 0
        for name, count in (("q", sizes.nq), ("v", sizes.nv), ("memory", sizes.kept)):
            place = slice(begin, begin + count)
            table, end = getattr(trial, name), getattr(self.trial_end, name)
            table[0], table[1:], end[...] = self.first[:, place], found[:-1, ..., place], found[-1, ..., place]
            begin += count
        trial.forces[...] = found[..., begin : begin + sizes.n]
        self._trial_contact = found[..., begin + sizes.n :]
        return self.lanes.host(xp.isfinite(found).all(axis=(0, -1)))

    def _commit(self, which: Any, choice: Any) -> None:
        """Take trial motions for the motions of some lanes."""
        if not which.any():
            return
        lanes, put = np.flatnonzero(which), self.lanes.array
        here, chosen = put(lanes), put(choice[lanes])
        for name in ("q", "v", "memory", "forces"):
            getattr(self.at, name)[:, here] = getattr(self.trial, name)[:, chosen, here]
            if name != "forces":
                getattr(self.end, name)[here] = getattr(self.trial_end, name)[chosen, here]
        self.contact[:, here] = self._trial_contact[:, chosen, here]

    # costs ----------------------------------------------------------------------------------------------------

    def _update_penalties(self) -> None:
        """Put penalties where the kernels look."""
        if not self._constrained:
            return
        weight = self.lanes.array(self.weight)
        for nodes, end in ((self.at, self.end), (self.trial, self.trial_end)):
            lead = (slice(None),) if nodes is self.at else (slice(None), None)
            nodes.weight[..., 0] = (weight * self._used)[lead]
            nodes.shifts[...] = (self.multipliers[0] / weight[:, None])[lead]
            end.weight[..., 0], end.shifts[...] = weight, self.multipliers[1] / weight[:, None]

    def _total(self, values: Any) -> Any:
        """Sum over the first axis, in the order of a sum over one motion."""
        return self.xp.ascontiguousarray(self.xp.moveaxis(values, 0, -1)).sum(axis=-1)

    def _cone_cost(self, cones: Any) -> tuple[Any, Any]:
        """Penalty of friction cones (steps x ... x lanes x rows), and by how much they are exceeded."""
        weight = self.lanes.array(self.weight)
        shift = self.multipliers[2] / weight[:, None]
        lead = (slice(None), None) if cones.ndim == 4 else (slice(None),)
        beyond = self.xp.maximum(0.0, cones + shift[lead])
        squares = self.xp.moveaxis(beyond * beyond, 0, -2)
        squares = self.xp.ascontiguousarray(squares).reshape(*squares.shape[:-2], -1)
        return 0.5 * weight * squares.sum(axis=-1), beyond

    def _cone_values(self, contact: Any) -> Any:
        """Values of the friction cones, zero of points that are not held."""
        friction = getattr(self.stepping.dynamics, "friction", None) or 0.0
        x, y, z = (contact[..., i::3] / weight_of(self.problem.model) for i in range(3))
        sideways = self.xp.sqrt(x * x + y * y + CONE_ROUNDING**2) - CONE_ROUNDING
        values = self.xp.stack([sideways - friction * z, -z], axis=-1)
        held = self.at.row[:, :, 1 : 1 + values.shape[-2], None]
        return (values * (held if values.ndim == 4 else held[:, None])).reshape(*values.shape[:-2], -1)

    def _trial_costs(self) -> Any:
        """``lengths x lanes``: costs of the trial motions with the penalties; infinite where not finite."""
        total = self._total(self._trial_cost()) + self._trial_end_cost()
        if self.stepping.cones:
            total = total + self._cone_cost(self._cone_values(self._trial_contact))[0]
        total = self.lanes.host(total)
        return np.where(np.isfinite(total), total, np.inf)

    # expansion ------------------------------------------------------------------------------------------------

    def expanded(self) -> Expansion:
        """Costs and dynamics about the motions, whose slopes, Hessians and gaps go to the recursions."""
        xp, room, size = self.xp, self.arrays, self.sizes.x
        self._update_penalties()
        linear, terms, last = self._linear(), self._terms(), self._last_terms()
        after = None
        if self.sizes.row:
            room.dynamics[...], after = linear.F, (linear.q, linear.v, self.at.memory)
        else:
            room.dynamics[..., :size], room.dynamics[..., size:] = linear.A, linear.B
        self._scattered_terms(terms, last)
        plain, total = (self._total(x) + y for x, y in ((terms.plain, last.plain), (terms.total, last.total)))
        if self.stepping.cones:
            self.cones[...] = linear.cones[..., 0]
            cost, beyond = self._cone_cost(self.cones)
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
        steepest = self.lanes.host(self.xp.abs(self.arrays.adjoint).max(axis=(0, -1)))
        price = np.where(gap > 1e-9, 10.0 * steepest, 0.0)
        merit = about.cost + price * gap
        left, moved, at_once = which.copy(), np.zeros(len(which), dtype=bool), self.lanes.lengths_at_once
        rounding = ROUNDING * (1.0 + np.abs(merit))
        for begin in range(0, len(STEP_LENGTHS), at_once):
            if not left.any():
                break
            lengths, choice = STEP_LENGTHS[begin : begin + at_once], np.zeros(len(which), dtype=int)
            finite, costs, taken = self._rollouts(lengths), self._trial_costs(), np.zeros(len(which), dtype=bool)
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
            self._commit(taken, choice)
            moved |= taken
        return moved
