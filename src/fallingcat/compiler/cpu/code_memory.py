"""Room for machine code: LLVM ends the process where it gets no memory, so it is tried before.

Linux gives a process 65,530 mappings of memory unless ``vm.max_map_count`` says otherwise; libraries share theirs
(``shared_mappings``), but other libraries, threads and arrays take mappings too.
"""

from __future__ import annotations

import gc
import mmap
from typing import Final

MIN_ALLOCATION: Final = 32 << 20
"""Bytes: what LLVM takes for the shortest code"""
SPARE_MAPPINGS: Final = 16
"""Mappings: those of a library and of its linker, and what other threads take meanwhile"""
_PRIVATE: Final = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_ANONYMOUS") else {}


def check_memory(size: int) -> None:
    """MemoryError where LLVM would not get that many bytes, and what it takes at least."""
    size += MIN_ALLOCATION
    if not _can_map([size]):
        raise MemoryError(f"there are no {size >> 20} MB to make machine code")


def check_mappings() -> None:
    """MemoryError where the process may have no mappings for another library; unreferenced kernels are freed."""
    if _can_map([mmap.PAGESIZE] * SPARE_MAPPINGS):
        return
    gc.collect()
    if not _can_map([mmap.PAGESIZE] * SPARE_MAPPINGS):
        raise MemoryError(
            "this process may have no more memory mappings (vm.max_map_count): keep fewer threads, arrays and kernels, "
            "or allow more"
        )


def _can_map(sizes: list[int]) -> bool:
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
