"""A lock for each chunk of a store, between threads, processes and machines that share a file system.

The system holds it, so that one who dies leaves none behind; one who is stopped while writing lets others wait.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from ...errors import FileError

LONGEST_WAIT: Final = 120.0
"""s: a commit takes a fraction of a second"""
_HERE: Final = threading.Lock()
"""Locks of files are those of a process: closing one file gives up all of them."""
_NO_LOCKS: Final = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)
"""Of file systems without locks: what others have written is still read before it is written over."""


@contextmanager
def locked(path: Path, k: int) -> Iterator[None]:
    """Alone with part ``k`` of what the file at ``path`` stands for; an error that names it after two minutes."""
    with _HERE:
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise FileError(f"the file cannot be written: {error.strerror}", file=str(path)) from None
        try:
            _take(file, path, k)
            yield
        finally:
            with suppress(OSError):
                os.close(file)


def _take(file: int, path: Path, k: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        return
    until = time.monotonic() + LONGEST_WAIT
    while True:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, k)
            return
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return
            if error.errno not in (errno.EACCES, errno.EAGAIN) or time.monotonic() > until:
                text = f"chunk {k} is being written by another process for {LONGEST_WAIT:.0f} s"
                raise FileError(text, file=str(path.parent)) from None
        time.sleep(0.02)
