"""Names of links and joints: what cannot be a name, and what had better not be one."""

from __future__ import annotations

import unicodedata
from typing import Final

from .diagnostics import Located, Reader
from .limits import MAX_NAME

_PLAIN_CHARACTERS: Final = frozenset("_-.:/ ")


class Names:
    """The names of one kind ("link", "joint") in one file: each checked, no two the same.

    Example:
        >>> reader = Reader("r.urdf")
        >>> names = Names("link", reader)
        >>> names.add("arm", None)
        >>> names.add("arm", None)
        Traceback (most recent call last):
        fallingcat.errors.FileError: r.urdf: two links are called 'arm'
    """

    def __init__(self, kind: str, reader: Reader) -> None:
        self.kind, self.reader = kind, reader
        self.places: dict[str, Located | None] = {}
        self._folded: dict[str, str] = {}

    def add(self, name: str, place: Located | None) -> None:
        """Take up a name, or refuse it."""
        check_name(self.reader, place, self.kind, name)
        if name in self.places:
            self.reader.fail(place, f"two {self.kind}s are called {name!r}")
        twin = self._folded.setdefault(unicodedata.normalize("NFKC", name), name)
        if twin != name:
            self.reader.warn(place, f"looks like another {self.kind}, {twin!a}, in other Unicode characters")
        self.places[name] = place

    def __contains__(self, name: str) -> bool:
        return name in self.places


def check_name(reader: Reader, place: Located | None, kind: str, name: str) -> None:
    r"""Refuse names that are empty, too long or hold control characters; warn of those that need escaping.

    Example:
        >>> reader = Reader("r.urdf")
        >>> check_name(reader, None, "joint", "\\input{/etc/passwd}")
        >>> reader.warnings
        ["r.urdf: the joint's name holds unusual characters: '\\\\' '{' '}'"]
    """
    if not name.strip():
        reader.fail(place, f"a {kind} needs a name that is not empty")
    if len(name) > MAX_NAME:
        reader.fail(place, f"a name has at most {MAX_NAME} characters, not {len(name):,}")
    if name.isascii() and name.isidentifier():  # most names; nothing to look for
        return
    if any(unicodedata.category(c) in ("Cc", "Cs") for c in name):
        reader.fail(place, f"the {kind}'s name holds a control character", ascii(name))
    odd = sorted(
        {c for c in name if not (c.isalnum() or c in _PLAIN_CHARACTERS or unicodedata.category(c) in ("Mn", "Mc"))}
    )
    if odd:
        reader.warn(place, f"the {kind}'s name holds unusual characters: {' '.join(map(ascii, odd))}")
    if name != name.strip():
        reader.warn(place, f"the {kind}'s name begins or ends with a space")
    if ".." in name.split("/"):
        reader.warn(place, f"the {kind}'s name looks like a path")
