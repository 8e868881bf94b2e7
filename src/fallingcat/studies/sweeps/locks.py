"""A lock for each chunk of a store, between threads, processes and machines that share a file system.

The system holds it, so that one who dies leaves none behind; one who is stopped while writing lets others wait.
"""

from __future__ import annotations

import errno
import importlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from ...errors import FileError

LONGEST_WAIT: Final = 120.0
"""s: a commit takes a fraction of a second"""
_PROCESS_LOCK: Final = threading.Lock()
"""Locks of files are those of a process: closing one file gives up all of them."""
_NO_LOCKS: Final = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)
"""Errors of file systems without locks: what others have written is still read before it is written over."""


@contextmanager
def lock_part(path: Path, k: int) -> Iterator[None]:
    """Alone with part ``k`` of what the file at ``path`` stands for; an error that names it after two minutes."""
    with _PROCESS_LOCK:
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise FileError(f"the file cannot be written: {error.strerror}", file=str(path)) from None
        try:
            give_back = _take(file, path, k)
            try:
                yield
            finally:
                give_back()
        finally:
            with suppress(OSError):
                os.close(file)


def _take(file: int, path: Path, k: int) -> Callable[[], None]:
    """Waits for the lock of part ``k``; gives what ends it, where closing the file does not."""
    attempt, give_back = _system(file, k)
    until = time.monotonic() + LONGEST_WAIT
    while True:
        try:
            attempt()
            return give_back
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return _no_lock
            if error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK) or time.monotonic() > until:
                text = f"chunk {k} is being written by another process for {LONGEST_WAIT:.0f} s"
                raise FileError(text, file=str(path.parent)) from None
        time.sleep(0.02)


def _system(file: int, k: int) -> tuple[Callable[[], None], Callable[[], None]]:
    """Functions that lock byte ``k`` of a file without waiting, and release it, on this system."""
    try:
        import fcntl
    except ImportError:
        pass
    else:
        return lambda: fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, k), _no_lock
    try:
        windows: Any = importlib.import_module("msvcrt")
    except ImportError:
        return _no_lock, _no_lock

    def lock_byte(mode: int) -> None:
        os.lseek(file, k, os.SEEK_SET)
        windows.locking(file, mode, 1)

    return lambda: lock_byte(windows.LK_NBLCK), lambda: lock_byte(windows.LK_UNLCK)


def _no_lock() -> None:
    """Do nothing, on systems without locks."""
