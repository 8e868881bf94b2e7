"""Room for machine code: LLVM ends the process where it gets no memory, so it is tried before.

Every library in memory takes up to three mappings of the process (constants, table, code), of which Linux gives 65,530
unless ``vm.max_map_count`` says otherwise: some 21,000 libraries.  A process that has many shares mappings among them:
the system joins neighbours of equal access, so constants and tables get that of the code.
"""

from __future__ import annotations

import bisect
import ctypes
import functools
import gc
import mmap
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

AT_LEAST: Final = 32 << 20
"""Bytes: what LLVM takes for the shortest code"""
SPARE: Final = 16
"""Mappings: those of a library and of its linker, and what other threads take meanwhile"""
READ, WRITE, EXECUTE = 1, 2, 4
"""Access of memory, as Linux counts"""
LINUX: Final = sys.platform.startswith("linux")
_PRIVATE: Final = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_ANONYMOUS") else {}


def check_memory(size: int) -> None:
    """MemoryError where LLVM would not get that many bytes, and what it takes at least."""
    size += AT_LEAST
    if not _mapped([size]):
        raise MemoryError(f"there are no {size >> 20} MB to make machine code")


def check_mappings() -> None:
    """MemoryError where the process may have no mappings for another library; kernels that nobody has are freed."""
    if _mapped([mmap.PAGESIZE] * SPARE):
        return
    gc.collect()
    if not _mapped([mmap.PAGESIZE] * SPARE):
        raise MemoryError(
            "this process may have no more memory mappings (vm.max_map_count): a kernel takes three or more, so keep "
            "fewer of them, or allow more"
        )


def _mapped(sizes: list[int]) -> bool:
    """True if mappings of these sizes can be had, of alternating rights: the system would join equal ones."""
    held: list[mmap.mmap] = []
    try:
        for k, size in enumerate(sizes):
            rights = {"prot": mmap.PROT_READ | mmap.PROT_WRITE * (k % 2)} if _PRIVATE else {}
            held.append(mmap.mmap(-1, size, **_PRIVATE, **rights))
    except (OSError, ValueError, OverflowError):
        return False
    finally:
        for one in held:
            one.close()
    return True


# one mapping for many libraries ---------------------------------------------------------------------------------------


class Mapping(NamedTuple):
    """A line of ``/proc/self/maps``."""

    start: int
    end: int
    access: str
    anonymous: bool


def join_mappings(code: Iterable[int], tables: Iterable[int]) -> None:
    """Give constants before code, and tables that are filled, the access of code: read and execute.

    JITLink puts the constants, the table and the code of a library behind one another, and libraries side by side.
    ``code`` and ``tables`` are addresses of libraries that live.  Systems without such a limit are left alone.
    """
    if not LINUX:
        return
    for table in tables:
        protect(table, EXECUTE)
    mappings = list(_mappings())
    starts = [mapping.start for mapping in mappings]
    for place in code:
        k = bisect.bisect(starts, place) - 1
        before = mappings[k - 1]
        if before.end == mappings[k].start and before.access == "r--p" and before.anonymous:
            _mprotect()(before.start, before.end - before.start, READ | EXECUTE)


def protect(table: int, access: int) -> None:
    """Reading and ``access`` for the page that a table has for itself: writing, to fill it; executing, to join it."""
    if LINUX:
        _mprotect()(table - table % mmap.PAGESIZE, mmap.PAGESIZE, READ | access)


def _mappings() -> Iterator[Mapping]:
    for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines():
        where, access, *rest = line.split()
        start, end = (int(address, 16) for address in where.split("-"))
        yield Mapping(start, end, access, anonymous=len(rest) == 3)


@functools.cache
def _mprotect() -> Callable[[int, int, int], Any]:
    function = ctypes.CDLL(None).mprotect
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return function
