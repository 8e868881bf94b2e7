"""Laws that depend on which points touch: code of every case, where the points are not known while it is generated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import Any

from ...arrays import where


class _ContactQuery(Exception):
    """Somebody wants to know whether a point touches."""

    def __init__(self, name: str) -> None:
        self.name = name


class _Touching(Set[str]):
    """The points that touch, as far as they are known; who asks for more raises :class:`_ContactQuery`."""

    def __init__(self, names: tuple[str, ...], known: Mapping[str, bool]) -> None:
        self._names, self._known = names, known

    @classmethod
    def _from_iterable(cls, names: Iterable[Any]) -> Any:
        return frozenset(names)  # of what is known

    def __contains__(self, name: object) -> bool:
        if name in self._names and name not in self._known:
            raise _ContactQuery(str(name))
        return self._known.get(str(name), False)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name in self._names if name in self])

    def __len__(self) -> int:
        return len(list(iter(self)))


def by_contact_branches(function: Callable[[Any], Any], touching: Mapping[str, Any]) -> Any:
    """Value of a function of the points that touch, where each is a condition on numbers.

    It is evaluated in every case that ``function`` distinguishes, and the one that holds is selected.

    >>> import numpy as np
    >>> known = {"foot": True, "hand": False}
    >>> by_contact_branches(lambda touching: np.array([2.0 if "foot" in touching else 1.0]), known)
    array([2.])
    """
    return _case(function, touching, {})


def asks(function: Callable[[Any], Any], names: Iterable[str]) -> bool:
    """True if a function of the points that touch asks for any of them.

    >>> asks(lambda touching: 2.0 if "foot" in touching else 1.0, ["foot"]), asks(lambda touching: 1.0, ["foot"])
    (True, False)
    """
    try:
        function(_Touching(tuple(names), {}))
    except _ContactQuery:
        return True
    return False


def _case(function: Callable[[Any], Any], touching: Mapping[str, Any], known: dict[str, bool]) -> Any:
    try:
        return function(_Touching(tuple(touching), known))
    except _ContactQuery as asked:
        name = asked.name
    yes, no = (_case(function, touching, known | {name: touches}) for touches in (True, False))
    return where(touching[name], yes, no)
