"""Threads: shares of a batch on several of them, and code that only one makes at a time.

A fork waits until no thread makes code or imports: a child process finds no lock held and nothing half made.  So does
the end of the process.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from typing import Any, TypeVar

from ...caching import cached_property

T = TypeVar("T")

making = threading.RLock()
"""Held while code is made; LLVM itself does one thing at a time."""


class thread_safe_property(cached_property[T]):
    """A cached property that only one thread makes, the others wait for it."""

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        with making:
            return super().__get__(instance, owner)


IMPORT_ROUNDS = 20
"""A module that forks while it is imported itself is never finished."""
MIN_THREAD_OPERATIONS = 400_000
"""Operations that are worth waking a thread for: some tens of microseconds."""


def shares(count: int, threads: int, unit: int, operations: int) -> list[tuple[int, int]]:
    """``count`` states in at most ``threads`` parts of whole blocks of ``unit`` states, none of them tiny.

    Example:
        >>> shares(100, 3, 8, 10**6), shares(100, 3, 8, 10**4), shares(100, 3, 8, 1)
        ([(0, 40), (40, 80), (80, 100)], [(0, 56), (56, 100)], [(0, 100)])
    """
    worth = max(1, count * operations // MIN_THREAD_OPERATIONS)
    share = -(-count // (min(threads, worth) * unit)) * unit
    return [(start, min(start + share, count)) for start in range(0, count, share)]


def run_parts(function: Callable[[T], None], parts: Sequence[T]) -> None:
    """``function`` of every part at the same time; this thread takes the first and those left over."""
    mine, others = list(parts[:1]), []
    for part in parts[1:]:
        try:
            others.append(_pool(len(parts) - 1).submit(function, part))
        except RuntimeError:  # the interpreter shuts down and starts nothing new
            mine.append(part)
    try:
        for part in mine:
            function(part)
    finally:
        for other in others:
            other.result()


def run_in_background(make: Callable[..., None], *arguments: Any) -> None:
    """``make(*arguments)`` in a background thread, for code that no call waits for."""
    with suppress(RuntimeError):  # the interpreter shuts down, or there are too many threads
        threading.Thread(target=make, args=arguments, name="fallingcat compiler").start()


@functools.cache
def _pool(size: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(size, thread_name_prefix="fallingcat")


def _llvm() -> Any:
    """The lock of llvmlite, if it is there: as a context, it holds LLVM still."""
    ffi = sys.modules.get("llvmlite.binding.ffi")
    return getattr(getattr(ffi, "lib", None), "_lock", nullcontext())


def _finish_imports() -> None:
    """Wait for what other threads import: a child process would wait for it for ever, as for lazy parts of NumPy."""
    for _ in range(IMPORT_ROUNDS):  # what is imported may go on to import more
        begun = [name for name, module in tuple(sys.modules.items()) if _is_importing(module)]
        for name in begun:
            with suppress(Exception):  # which is the error of the thread that imports it
                importlib.import_module(name)
        if not begun:
            return


def _is_importing(module: Any) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def _before_fork() -> None:
    _finish_imports()
    making.acquire()
    _llvm().__enter__()


def _after_fork() -> None:
    _llvm().__exit__(None, None, None)
    making.release()


def _in_child() -> None:
    _after_fork()
    _pool.cache_clear()  # a child process has none of its parent's threads


@atexit.register
def _at_exit() -> None:
    """A daemon thread in LLVM, while the process takes LLVM apart, would crash it: wait for it, and let no other in."""
    _llvm().__enter__()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)
