"""Registries: parts by name, of the library, made known by a program, or of installed packages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import entry_points
from typing import Any, TypeVar

from .errors import ModelError, describe

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """Parts of one kind by name.

    A program makes a part known with :meth:`add`; an installed package with an entry point of the :attr:`group`, whose
    part is loaded when it is asked for.  A name has one part: the library's own cannot be replaced.

    Example:
        >>> joints = Registry[type]("joint", "fallingcat.joints", {"none": object})
        >>> joints.add("loose", int), list(joints)
        (<class 'int'>, ['none', 'loose'])
    """

    def __init__(
        self, what: str, group: str, known: Mapping[str, T], check: Callable[[str, Any], None] | None = None
    ) -> None:
        self.what, self.group = what, group
        self._entries, self._check = dict(known), check

    def add(self, name: str, part: T) -> T:
        """Make a part known; what was known under this name stays, unless it is the same part, defined again."""
        if not isinstance(name, str) or not name or not name.isprintable():
            raise ModelError(f"the name of a {self.what} is one line of text, not {describe(name)}")
        if self._check is not None:
            self._check(name, part)
        if name in self._entries and _label(self._entries[name]) != _label(part):
            raise ModelError(f"there is a {self.what} {name!r} already: {_label(self._entries[name])}")
        self._entries[name] = part
        return part

    def __getitem__(self, name: str) -> T:
        if name not in self._entries:
            for entry in entry_points(group=self.group, name=name):
                self.add(name, entry.load())
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._entries, *(entry.name for entry in entry_points(group=self.group))]))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, name: object) -> bool:
        return name in self._entries or (isinstance(name, str) and bool(entry_points(group=self.group, name=name)))


def _label(part: Any) -> str:
    return f"{getattr(part, '__module__', '')}.{getattr(part, '__qualname__', repr(part))}"
