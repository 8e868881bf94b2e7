"""Stretches of the workspace, each for a time: where one is done with, another may begin."""

from __future__ import annotations

from bisect import bisect_right
from heapq import heappop, heappush
from typing import NamedTuple


class _Area(NamedTuple):
    size: int
    zeros: bool


class Areas:
    """Memory areas, requested one by one under provisional places, then placed.

    Example:
        >>> areas = Areas()
        >>> early, late = areas.room(8, time=1), areas.room(8, time=5)
        >>> areas.touch(early, 3)  # it is read for the last time
        >>> areas.settle()
        >>> areas.place(early + 2), areas.place(late + 2), areas.size
        (2, 2, 8)
    """

    def __init__(self) -> None:
        self.size = 0
        self.clear: list[tuple[int, int]] = []
        self._areas: list[_Area] = []
        self._starts: list[int] = []
        self._first: list[int] = []
        self._last: list[int] = []
        self._settled: list[int] = []
        self._end = 0

    def room(self, count: int, time: int, zeros: bool = False) -> int:
        """A new area, in use at ``time``; with ``zeros`` it is zero at first, and never another's."""
        start, self._end = self._end, self._end + count + 1  # a gap: neighbours now need not be neighbours later
        self._areas.append(_Area(count, zeros))
        self._starts.append(start)
        self._first.append(time)
        self._last.append(time)
        return start

    def touch(self, place: int, time: int) -> None:
        """The area around this place is in use at ``time``."""
        k = bisect_right(self._starts, place) - 1
        self._first[k], self._last[k] = min(self._first[k], time), max(self._last[k], time)

    def settle(self) -> None:
        """Give each area its place."""
        self._settled = [0] * len(self._areas)
        ends: list[tuple[int, int]] = []  # (last use, area)
        free: dict[int, list[int]] = {}
        for k in sorted(range(len(self._areas)), key=lambda k: (not self._areas[k].zeros, self._first[k])):
            count, zeros = self._areas[k]
            while ends and ends[0][0] < self._first[k]:
                done = heappop(ends)[1]
                free.setdefault(self._areas[done].size, []).append(self._settled[done])
            if not zeros and free.get(count):
                self._settled[k] = free[count].pop()
            else:
                self._settled[k], self.size = self.size, self.size + count
            if not zeros:
                heappush(ends, (self._last[k], k))
        first = sum(area.size for area in self._areas if area.zeros)
        self.clear = [(0, first)] if first else []

    def place(self, provisional: int) -> int:
        """Final place of a provisional one."""
        k = bisect_right(self._starts, provisional) - 1
        return self._settled[k] + provisional - self._starts[k]
