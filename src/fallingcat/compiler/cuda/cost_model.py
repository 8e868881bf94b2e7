"""Cost of a stage on the GPU, about: arithmetic and traffic with memory, which overlap in part.

Eight warps keep a multiprocessor busy; fewer wait for each other's results.  A program that its cache does not hold is
fetched again by every warp.  The numbers were fitted to 423 stages of 14 functions, measured on an H200 in up to five
layouts each: of the ways to compute a function, the one that is taken loses 2 % in the mean to the fastest.
"""

from __future__ import annotations

from math import hypot
from typing import NamedTuple

from .stages import Stage, costs

SHARED_MEMORY = 227 * 1024
"""Bytes of shared memory on a multiprocessor (Hopper, and more than half as much on others since Volta)."""
REGISTERS = 65_536
"""On a multiprocessor, of 4 bytes."""
INSTRUCTION_RATE = {"float32": 2.0e13, "float64": 1.3e13}
"""Machine instructions per second, of all lanes, ..."""
WARPS, WARP_EXPONENT = 8, 0.8
"""... of so many warps on a multiprocessor; fewer reach their share to this power."""
BANDWIDTH = 3.6e12
"""Bytes per second."""
INSTRUCTION_CACHE, INSTRUCTION_CACHE_MARGIN, UNCACHED_RATE = 8_200, 600, 1.25e12
"""Machine instructions that a multiprocessor holds for sure, and some more, since they are counted here to a twentieth;
per second, those of each warp, if there are too many."""
READ_COST, WRITE_COST, COMPUTE_COST = 4, 4, {"float32": 1.0, "float64": 0.9}
"""Machine instructions for a number from memory and for one to memory, with their addresses; and of :func:`.costs`."""


class Work(NamedTuple):
    """Work of a stage for one state: its times (s) are those of one state of many."""

    rate: float
    """machine instructions per second"""
    computed: float
    """machine instructions that compute"""
    moved: int
    """machine instructions that read and write memory"""
    traffic: float
    """time (s) of these reads and writes alone"""

    @classmethod
    def of(cls, stage: Stage, dtype: str) -> Work:
        """Work of a stage in numbers of this type."""
        written, read = len(stage.outputs) + len(stage.stores), len(stage.inputs)
        computed = COMPUTE_COST[dtype] * sum(costs(stage.lines, dtype))
        traffic = (8 if dtype == "float64" else 4) * (read + written) / BANDWIDTH
        return cls(INSTRUCTION_RATE[dtype], computed, READ_COST * read + WRITE_COST * written, traffic)

    def seconds(self, copies: int, warps: float) -> float:
        """With so many ``copies`` to and from shared memory."""
        length = self.computed + (self.moved + copies)
        held, fetched = self._instruction_times(length, warps)
        missing = min(1.0, max(0.0, (length - INSTRUCTION_CACHE) / INSTRUCTION_CACHE_MARGIN))
        return (1.0 - missing) * held + missing * fetched

    def least(self, warps: float) -> float:
        """However many copies there are: held and fetched take no less, and no more is held, than without any."""
        return min(self.seconds(0, warps), self._instruction_times(self.computed + self.moved, warps)[1])

    def floor(self, warps: float) -> float:
        """However many copies there are, and if this were done in several stages."""
        return hypot((self.computed + self.moved) / max(self._rate(warps), UNCACHED_RATE * warps), self.traffic)

    def _rate(self, warps: float) -> float:
        return self.rate * min(1.0, warps / WARPS) ** WARP_EXPONENT

    def _instruction_times(self, length: float, warps: float) -> tuple[float, float]:
        """If the cache holds so many instructions, and if it does not."""
        return hypot(length / self._rate(warps), self.traffic), length / (UNCACHED_RATE * warps) + self.traffic
