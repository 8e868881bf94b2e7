"""Reading a file that is not trusted; writing one as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path

from ..errors import FileError
from .diagnostics import Reader
from .limits import MAX_BYTES


def read_bytes(reader: Reader, most: int = MAX_BYTES) -> bytes:
    """The content of the reader's file, if it is a plain file of a sane size."""
    try:
        if not stat.S_ISREG(os.stat(reader.file).st_mode):  # opening a pipe would wait for somebody to write
            reader.fail(None, "this is not a plain file")
        with open(reader.file, "rb") as stream:
            data = stream.read(most + 1)
    except FileNotFoundError:
        reader.fail(None, "there is no such file")
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        reason = getattr(error, "strerror", None) or str(error)
        reader.fail(None, f"the file cannot be read: {reason}")
    if len(data) > most:
        size = f"{most // 2**20} MiB" if most >= 2**20 else f"{most:,} bytes"
        reader.fail(None, f"the file has more than {size}")
    return data


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write ``text`` in UTF-8, as :func:`write_bytes` does."""
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise FileError(f"the file cannot be written: {error}", file=path) from error
    write_bytes(path, content)


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write to a new file beside ``path``, then put it in its place: no reader ever sees half a file.

    An existing file keeps its permissions, a new one has the usual ones; of a symbolic link the target is replaced.
    Linux gives the new file no name before it is whole: a process that is killed leaves nothing behind.
    """
    temporary = None
    try:
        target = Path(os.path.realpath(path))
        temporary = target.parent / f".{target.name[:64]}.{secrets.token_hex(8)}.tmp"
        descriptor, nameless = _open_new(temporary)
        with open(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(descriptor)
            with contextlib.suppress(FileNotFoundError):
                os.chmod(descriptor if nameless else temporary, target.stat().st_mode & 0o7777)
            if nameless:
                os.link(f"/proc/self/fd/{descriptor}", temporary, src_dir_fd=descriptor, follow_symlinks=True)
        os.replace(temporary, target)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        reason = getattr(error, "strerror", None) or str(error)
        raise FileError(f"the file cannot be written: {reason}", file=path) from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):  # it has its place by now, unless something went wrong
                os.unlink(temporary)


def _open_new(temporary: Path) -> tuple[int, bool]:
    """A new file to write to, and whether it has no name yet."""
    if os.path.isdir("/proc/self/fd"):
        with contextlib.suppress(AttributeError, OSError):  # not every system and not every file system has such files
            return os.open(temporary.parent, os.O_TMPFILE | os.O_WRONLY, 0o666), True
    return os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666), False
