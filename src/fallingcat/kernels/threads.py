"""Shares of a batch on several threads, which are kept between calls."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

LEAST = 400_000
"""Operations that are worth waking a thread for: some tens of microseconds."""


def shares(count: int, threads: int, unit: int, operations: int) -> list[tuple[int, int]]:
    """``count`` states in at most ``threads`` parts of whole blocks of ``unit`` states, none of them tiny.

    >>> shares(100, 3, 8, 10**6), shares(100, 3, 8, 10**4), shares(100, 3, 8, 1)
    ([(0, 40), (40, 80), (80, 100)], [(0, 56), (56, 100)], [(0, 100)])
    """
    worth = max(1, count * operations // LEAST)
    share = -(-count // (min(threads, worth) * unit)) * unit
    return [(start, min(start + share, count)) for start in range(0, count, share)]


def together(function: Callable[[T], None], parts: Sequence[T]) -> None:
    """``function`` of every part at the same time; this thread takes the first."""
    if len(parts) > 1:
        others = [_pool(len(parts) - 1).submit(function, part) for part in parts[1:]]
        try:
            function(parts[0])
        finally:
            for other in others:
                other.result()
    else:
        for part in parts:
            function(part)


@functools.cache
def _pool(size: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(size, thread_name_prefix="fallingcat")


if hasattr(os, "register_at_fork"):  # a child process has none of its parent's threads
    os.register_at_fork(after_in_child=_pool.cache_clear)
