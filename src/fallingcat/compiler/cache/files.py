"""Files of machine code, kept between runs: private, verified, bounded, and never needed.

The folder is ``kernels`` in ``$FALLINGCAT_CACHE``, else in the user's own cache folder (``$XDG_CACHE_HOME/fallingcat``
or ``~/.cache/fallingcat``); ``FALLINGCAT_CACHE=off`` does without.  It belongs to the user alone (mode 0700): a folder
that someone else owns, could write to, or that is a link is not used, because what is read from it is executed.  Each
file starts with a digest of its own name and content and is ignored when that does not match.  Files appear whole
(written aside, then renamed), so processes may share the folder, and the ones not used for longest make room for new
ones; one write in so many looks whether they must.  Where nothing can be written, everything works without.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

MAX_CACHE_BYTES = 256 * 2**20
"""Bytes that the files may take together; ``$FALLINGCAT_CACHE_MIB`` says otherwise."""
_MAGIC = b"fallingcat cache 1\n"
_HEAD = len(_MAGIC) + 64 + 1
_BLOCK = 4096  # bytes that even a small file takes
_ABANDONED_AGE = 3600.0  # seconds after which a file that was never renamed is swept away
_POSIX = os.open in os.supports_dir_fd and hasattr(os, "geteuid")
_READ_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)  # a pipe in the place of a file must not make us wait
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | (_READ_FLAGS & ~os.O_RDONLY)

_reported: set[str] = set()


class Unusable(Exception):
    """Error that says why the folder is not used; ``suspicious`` when the user should know."""

    def __init__(self, reason: str, suspicious: bool = False) -> None:
        super().__init__(reason)
        self.suspicious = suspicious


class Info(NamedTuple):
    """Data that ``fallingcat cache info`` shows."""

    folder: str | None
    files: int
    bytes: int
    limit: int
    problem: str | None
    """reason why the cache is not used, if it is not"""


def read(key: str) -> bytes | None:
    """The content stored under ``key`` (64 hexadecimal digits), if it is there and whole."""
    name = _name(key)
    with suppress(OSError, Unusable), _folder(create=False) as folder:
        file = folder.open(name, _READ_FLAGS | _NONBLOCK)
        with os.fdopen(file, "rb") as stream:
            _check_file(os.fstat(file))
            data = stream.read(_limit() + 1)
        content = data[_HEAD:]
        if data[:_HEAD] == _header(key, content):
            with suppress(OSError):
                folder.touch(name)
            return content
    return None


def write(key: str, content: bytes) -> None:
    """Keep ``content`` under ``key``, if possible; other files may go."""
    if len(content) + _HEAD > _limit():
        return
    with suppress(OSError, Unusable), _folder(create=True) as folder:
        spilled = f".{_name(key)}.{os.getpid()}.{secrets.token_hex(8)}"
        try:
            with os.fdopen(folder.open(spilled, _CREATE), "wb") as stream:
                stream.write(_header(key, content) + content)
            folder.rename(spilled, _name(key))
        except BaseException:  # Ctrl-C too
            with suppress(OSError):
                folder.remove(spilled)
            raise
        if _triggers_cleanup(key, len(content)):
            _evict(folder)


def info() -> Info:
    """The state of the cache."""
    try:
        with _folder(create=False) as folder:
            sizes = [entry.size for entry in folder.entries()]
            return Info(str(folder.path), len(sizes), sum(sizes), _limit(), None)
    except FileNotFoundError:
        return Info(str(_path()), 0, 0, _limit(), None)
    except (OSError, Unusable) as error:
        return Info(None if _path() is None else str(_path()), 0, 0, _limit(), str(error))


def clear() -> int:
    """Delete every file; how many there were.  Code that is loaded stays loaded."""
    count = 0
    with suppress(FileNotFoundError), _folder(create=False) as folder:
        for entry in folder.entries():
            with suppress(OSError):
                folder.remove(entry.name)
                count += 1
    return count


# the folder ---------------------------------------------------------------------------------------------------------


class _Entry(NamedTuple):
    name: str
    size: int
    used: float


class _Folder:
    """A folder that was checked; on POSIX every access goes through its descriptor, so that it cannot be swapped."""

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self.path, self._at = path, descriptor

    def _relative_path(self, name: str) -> str:
        return name if self._at is not None else str(self.path / name)

    def open(self, name: str, flags: int) -> int:
        return os.open(self._relative_path(name), flags, 0o600, dir_fd=self._at)

    def rename(self, name: str, to: str) -> None:
        os.replace(self._relative_path(name), self._relative_path(to), src_dir_fd=self._at, dst_dir_fd=self._at)

    def remove(self, name: str) -> None:
        os.unlink(self._relative_path(name), dir_fd=self._at)

    def touch(self, name: str) -> None:
        # the time of change is the time of last use: access times are often not kept
        os.utime(self._relative_path(name), dir_fd=self._at)

    def entries(self) -> list[_Entry]:
        """Our files (abandoned ones too), the one not used for longest first."""
        out = []
        with os.scandir(self._at if self._at is not None else self.path) as scan:
            for entry in scan:
                with suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    if _ours(entry.name) and not stat.S_ISDIR(status.st_mode):
                        size = max(status.st_size, 512 * getattr(status, "st_blocks", 0))  # what the disk gives it
                        out.append(_Entry(entry.name, size, status.st_mtime))
        return sorted(out, key=lambda entry: entry.used)


@contextmanager
def _folder(create: bool) -> Iterator[_Folder]:
    """The folder, checked; :class:`Unusable` or OSError where there is none to use."""
    path = _path()
    if path is None:
        raise Unusable("switched off, or there is no home")
    if create:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
    try:
        if not _POSIX:
            if path.is_symlink():
                raise Unusable(f"{path} is a link", suspicious=True)
            path.stat()
            yield _Folder(path, None)
            return
        descriptor = _open_folder(path)
        try:
            yield _Folder(path, descriptor)
        finally:
            os.close(descriptor)
    except Unusable as error:
        if error.suspicious and str(error) not in _reported:
            _reported.add(str(error))
            warnings.warn(f"kernels are not cached: {error}", RuntimeWarning, stacklevel=2)
        raise


def _open_folder(path: Path) -> int:
    if path.is_symlink():
        raise Unusable(f"{path} is a link", suspicious=True)
    descriptor = os.open(path, _READ_FLAGS | os.O_DIRECTORY)
    status = os.fstat(descriptor)
    problem = None
    if status.st_uid != os.geteuid():
        problem = f"{path} belongs to another user"
    elif status.st_mode & 0o077:
        problem = f"{path} is open to other users (chmod 700 it)"
    if problem:
        os.close(descriptor)
        raise Unusable(problem, suspicious=True)
    return descriptor


def _path() -> Path | None:
    """Folder that the environment names."""
    said = os.environ.get("FALLINGCAT_CACHE", "")
    if said.lower() == "off":
        return None
    if said:
        return Path(os.path.abspath(said)) / "kernels"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) / "fallingcat" / "kernels" if local else None
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # the rule of XDG: relative paths do not count
        home = os.path.expanduser("~")
        if not os.path.isabs(home):
            return None
        base = os.path.join(home, "Library/Caches" if sys.platform == "darwin" else ".cache")
    return Path(base) / "fallingcat" / "kernels"


def _limit() -> int:
    said = os.environ.get("FALLINGCAT_CACHE_MIB", "")
    return int(said) * 2**20 if said.isascii() and said.isdigit() and len(said) < 9 else MAX_CACHE_BYTES


# the files ----------------------------------------------------------------------------------------------------------


def _name(key: str) -> str:
    if len(key) != 64 or not set(key) <= set("0123456789abcdef"):
        raise ValueError(f"a key is 64 hexadecimal digits, not {key!r}")
    return f"{key}.fck"


def _ours(name: str) -> bool:
    return name.endswith(".fck") or (name.startswith(".") and ".fck." in name)


def _header(key: str, content: bytes) -> bytes:
    digest = hashlib.sha256(key.encode() + content).hexdigest()
    return _MAGIC + digest.encode() + b"\n"


def _check_file(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode) or (_POSIX and (status.st_uid != os.geteuid() or status.st_mode & 0o022)):
        raise Unusable("not a file of ours")


def _triggers_cleanup(key: str, size: int) -> bool:
    """True if the file that was written is one of those after which the folder is looked at.

    That takes time with many files: on average after every 64th part of the limit.  The key, a digest, is as good as a
    die.
    """
    return int(key[:12], 16) * (_limit() // 64) < 16**12 * (size + _BLOCK)


def _evict(folder: _Folder) -> None:
    """Delete what was abandoned; and above nine tenths of the limit what was not used for longest, down to eight."""
    entries = folder.entries()
    # a date in the future is of a clock that was set back since
    total, limit, now = sum(entry.size for entry in entries), _limit(), time.time()
    target = (0.8 if total > 0.9 * limit else 1.0) * limit
    for entry in entries:
        if total > target or (entry.name.startswith(".") and abs(now - entry.used) > _ABANDONED_AGE):
            with suppress(OSError):
                folder.remove(entry.name)
            total -= entry.size
