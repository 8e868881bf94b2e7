"""Addresses of the numbers of matrix columns as a profile and an offset, so that few of them come from tables."""

from __future__ import annotations

from typing import NamedTuple

MAX_PROFILES = 6
"""Profiles that a thread holds in registers; further addresses come from a table."""


class Pattern(NamedTuple):
    """Places of a number for each thing: ``profile[thing] + offset``, for things from ``first`` to ``end`` alone."""

    profile: int
    offset: int
    first: int
    end: int


class Patterns:
    """Profiles that the places of many numbers follow: those of a matrix are one for its columns, one offset a row.

    Example:
        >>> patterns = Patterns()
        >>> [patterns.of({0: 10, 1: 20, 2: 30}), patterns.of({1: 21, 2: 31}), patterns.of({0: 5, 1: 6})]
        [Pattern(profile=0, offset=0, first=0, end=3), Pattern(profile=0, offset=1, first=1, end=3), Pattern(profile=1,
        offset=0, first=0, end=2)]
    """

    def __init__(self) -> None:
        self.profiles: list[dict[int, int]] = []

    def of(self, places: dict[int, int]) -> Pattern | None:
        """The pattern of these places (thing -> place); None where things are left out between, or all profiles are."""
        first, end = min(places), max(places) + 1
        if len(places) < end - first:
            return None
        for number, profile in enumerate(self.profiles):
            apart = {place - profile[k] for k, place in places.items() if k in profile}
            if len(apart) == 1:
                offset = apart.pop()
                profile.update((k, place - offset) for k, place in places.items() if k not in profile)
                return Pattern(number, offset, first, end)
        if len(self.profiles) == MAX_PROFILES:
            return None
        self.profiles.append(dict(places))
        return Pattern(len(self.profiles) - 1, 0, first, end)
