"""LLVM text cut into modules that take a second each: between them Python runs, and hears Ctrl-C.

The functions of chunks (see :mod:`fallingcat.compiler.cpu.llvm`) go into modules of their own, each with the
constants and helpers that it uses; what is left calls them by name.  The linker puts all together again.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator

MAX_MODULE_LENGTH = 2**21
"""Characters of a module: LLVM takes about 0.4 s for a million."""

_UNIT = re.compile(r"\n(?=define |declare |@)")
_NAME = re.compile(r"(?:define[^@]*|declare[^@]*|)@([\w.]+)")
_CHUNK = re.compile(r"define internal void @\w+_chunk\d+\(")


def modules(text: str) -> list[str]:
    """The module as several ones that are linked together; one that is short stays as it is."""
    if len(text) <= MAX_MODULE_LENGTH:
        return [text]
    units = _UNIT.split(text)
    chunks = [unit for unit in units if _CHUNK.match(unit)]
    shared = {_name(unit): unit for unit in units if not _CHUNK.match(unit)}
    declared = [unit.partition(" {\n")[0].replace("define internal", "declare", 1) for unit in chunks]
    return [*(_module(part, shared) for part in _chunk_groups(chunks)), "\n".join([*shared.values(), *declared])]


def _chunk_groups(chunks: list[str]) -> Iterator[list[str]]:
    """The chunks in groups that are no longer than a module."""
    part: list[str] = []
    for chunk in chunks:
        if part and sum(map(len, part)) + len(chunk) > MAX_MODULE_LENGTH:
            yield part
            part = []
        part.append(chunk)
    yield part


def _module(chunks: list[str], shared: dict[str, str]) -> str:
    """The chunks, for others to call, with all that they mention."""
    public = [chunk.replace("define internal", "define", 1) for chunk in chunks]
    used: dict[str, None] = {}
    waiting = list(chunks)
    while waiting:
        for name in set(re.findall(r"@([\w.]+)", waiting.pop())) & shared.keys() - used.keys():
            used[name] = None
            waiting.append(shared[name])
    return "\n".join([*public, *(shared[name] for name in sorted(used))])


def _name(unit: str) -> str:
    found = _NAME.match(unit)
    assert found is not None
    return found[1]


def packed(objects: Iterable[bytes]) -> bytes:
    """Object files as one string of bytes.

    Example:
        >>> unpacked(packed([b"one", b"", b"three"]))
        [b'one', b'', b'three']
    """
    return b"".join(part for code in objects for part in (struct.pack("<q", len(code)), code))


def unpacked(code: bytes) -> list[bytes]:
    """The object files in what :func:`packed` made."""
    objects, place = [], 0
    while place < len(code):
        start = place + 8
        place = start + struct.unpack_from("<q", code, place)[0]
        objects.append(code[start:place])
    return objects
