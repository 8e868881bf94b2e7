"""Memory of hard contacts for each point, from one event to the next."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....arrays import concatenate
from .complementarity import OPEN, SLIDE

TOUCHDOWN_DEPTH = 1e-10
"""Depth (m) at which an open point touches down: rounding is no touchdown."""
OPEN_GAP = 1e-12
"""m: how far an open point starts from touching down."""
IDLE_TOUCHDOWN_DEPTH = 1e-8
"""Depth (m) at which a point touches down that rests on the ground without a load."""


class ContactState(NamedTuple):
    """Memory of a point, in the axes of the plane; a run carries it flat, five numbers for each point."""

    place: Any
    """3: where a closed point is held, or from where on an open one touches down (m)"""
    way: Any
    """2: the direction in which it slides"""

    @classmethod
    def of(cls, memory: Any) -> ContactState:
        """``memory`` (..., 5) in its parts, which are views of it."""
        return cls(memory[..., :3], memory[..., 3:])

    @classmethod
    def of_point(cls, memory: Any, i: int) -> ContactState:
        """Memory of point or stop ``i``, from the flat memory of a run."""
        return cls.of(cls.table(memory)[i])

    @classmethod
    def table(cls, memory: Any) -> Any:
        """The flat memory of a run as ``points x 5``, a view of it."""
        return memory.reshape(-1, 5)

    @classmethod
    def at_start(cls, status: str, p: np.ndarray, v: np.ndarray, deeper: float = 0.0) -> ContactState:
        """Memory of a point that changes its status at ``p`` (3, m), with the velocity ``v`` (2, m/s) along the ground.

        It has a place, and the direction in which the point slides.  The place is where a closed point is held.  An
        open one remembers how far below zero it started, if it did, so that it does not touch down where it has just
        left; and ``deeper`` (m) by so much.
        """
        size = float(np.linalg.norm(v))
        start = min(p[0] + TOUCHDOWN_DEPTH - OPEN_GAP, 0.0) - deeper
        place = np.array([start, 0.0, 0.0]) if status == OPEN else p
        return cls(place, v / size if status == SLIDE and size > 0.0 else np.zeros(2))

    @property
    def flat(self) -> Any:
        """All numbers in one vector."""
        return concatenate(list(self))
