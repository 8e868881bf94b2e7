"""Motions that a line search tries, of all lanes at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .lockstep import Motions


class Trials:
    """Motions under the policies of all lanes by several shares of their whole change, and their costs.

    Args:
        motions: Motions of all lanes.
        at_once: Number of shares.
    """

    def __init__(self, motions: Motions, at_once: int) -> None:
        self.motions, lanes, sizes, steps = motions, motions.lanes, motions.sizes, motions.steps
        tried = (at_once, lanes.count)
        self.at, self.end = motions.tables((steps, *tried), 0), motions.tables(tried, 1)
        cost, end_cost = motions.kernels[2:]
        self._cost, self._end_cost = motions.bound(cost, self.at), motions.bound(end_cost, self.end)
        self._x, self._length = lanes.table((), tried, motions.first.shape[1]), lanes.table((), tried, 1)
        self._about = lanes.table((steps,), tried, sum(sizes.parts))
        self._follow = lanes.iterated(motions.stepping.follow, self._x, self._about, self._length)
        *_, low, high, row = np.cumsum((0, *sizes.parts[:-1])).tolist()
        self._about[..., low:high], self._about[..., high:row] = motions.limits
        self._about[..., row:] = lanes.array(motions.stepping.rows)[:, None, None]
        self._contact: Any = None

    def roll_out(self, lengths: Any) -> Any:
        """Motions by these shares.

        Returns:
            Truth values, ``lengths x lanes``, of those that are finite.
        """
        motions, at, end, room = self.motions, self.motions.at, self.end, self.motions.arrays
        xp, sizes = motions.xp, motions.sizes
        gains = room.K.reshape(*room.K.shape[:2], -1)
        parts = [at.q, at.v, at.memory[..., : sizes.carried], at.forces, room.k, gains, room.gaps[1:]]
        begin = 0
        for part in parts:
            self._about[..., begin : begin + part.shape[-1]] = part[:, None]
            begin += part.shape[-1]
        self._length[..., 0] = motions.lanes.array(np.asarray(lengths))[:, None]
        self._x[...] = motions.first[None]
        found, begin = self._follow(), 0
        for name, count in (("q", sizes.nq), ("v", sizes.nv), ("memory", sizes.kept)):
            place, table = slice(begin, begin + count), getattr(self.at, name)
            table[0], table[1:] = motions.first[:, place], found[:-1, ..., place]
            getattr(end, name)[...] = found[-1, ..., place]
            begin += count
        self.at.forces[...] = found[..., begin : begin + sizes.n]
        self._contact = found[..., begin + sizes.n :]
        return motions.lanes.host(xp.isfinite(found).all(axis=(0, -1)))

    def costs(self) -> Any:
        """``lengths x lanes``: costs of the motions with the penalties; infinite where not finite."""
        motions = self.motions
        self.at.data[...], self.end.data[...] = motions.at.data[:, None], motions.end.data[None]
        motions.load_penalties(self.at, self.end)
        total = motions.total(self._cost()) + self._end_cost()
        if motions.stepping.cones:
            total = total + motions.cone_cost(motions.cone_values(self._contact))[0]
        total = motions.lanes.host(total)
        return np.where(np.isfinite(total), total, np.inf)

    def commit(self, which: Any, choice: Any) -> None:
        """Take trial motions, one of the shares each, for the motions of some lanes."""
        motions, xp = self.motions, self.motions.xp
        for i in range(self._length.shape[0]):
            chosen = which & (choice == i)
            if not chosen.any():
                continue
            mine = motions.lanes.array(chosen)[:, None]
            xp.copyto(motions.contact, self._contact[:, i], where=mine)
            for name in ("q", "v", "memory", "forces"):
                xp.copyto(getattr(motions.at, name), getattr(self.at, name)[:, i], where=mine)
                if name != "forces":
                    xp.copyto(getattr(motions.end, name), getattr(self.end, name)[i], where=mine)
