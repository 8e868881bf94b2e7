"""Reading a file that is not trusted; writing one as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
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
    """Write ``text`` in UTF-8 to a new file beside ``path``, then put it in its place: nobody ever sees half a file.

    An existing file keeps its permissions; of a symbolic link the target is replaced.
    """
    temporary = ""
    try:
        target = Path(os.path.realpath(path))
        with tempfile.NamedTemporaryFile(
            "w",
            dir=target.parent,
            prefix=f".{target.name[:64]}.",
            suffix=".tmp",
            delete=False,
            encoding="utf-8",
            newline="\n",
        ) as stream:
            temporary = stream.name
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL, a name that UTF-8 cannot write
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        reason = getattr(error, "strerror", None) or str(error)
        raise FileError(f"the file cannot be written: {reason}", file=path) from error


def _mode(target: Path) -> int:
    """The permissions of the file that is replaced, or those of any new file."""
    try:
        return target.stat().st_mode & 0o7777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
