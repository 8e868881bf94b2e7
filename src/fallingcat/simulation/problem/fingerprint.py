"""Fingerprints of laws, contacts and integrators: whether a kernel that was traced from one may be used again.

Objects of this library are frozen and compare by their fields.  A class of the user's own promises nothing: its numbers
may be assigned to, its methods replaced, and these read names from outside.  All of that is part of its fingerprint.
"""

from __future__ import annotations

import functools
import inspect
import sys
import sysconfig
import types
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from ...model import Model

OWN = __name__.partition(".")[0]
_PLAIN = frozenset((type(None), bool, int, float, complex, str, bytes))
_PASSIVE = (types.GetSetDescriptorType, types.MemberDescriptorType)
_Seen = dict[int, tuple[int, Any]]


class Unrecognizable(Exception):
    """An object whose changes cannot be detected."""


def fingerprint(x: Any) -> Any:
    """A hashable value that differs wherever other code might be traced from ``x``.

    Args:
        x: Laws, contacts, functions, classes, numbers, and tuples, lists or dicts of them.

    Returns:
        Nested tuples of plain values, code objects, classes and models.

    Raises:
        Unrecognizable: ``x`` refers to an object that cannot be compared, such as a generator or an open file.

    >>> gains = [1.0, np.zeros(2)]
    >>> before = fingerprint(gains)
    >>> gains[1][0] = 3.0
    >>> fingerprint(gains) == before
    False
    """
    return _fingerprint_of(x, {})


def _fingerprint_of(x: Any, seen: _Seen) -> Any:
    kind = type(x)
    if kind in _PLAIN:
        return (kind, x.hex() if kind is float else x)
    if kind is tuple and _is_plain(x):
        return (kind, x)
    if isinstance(x, (np.ndarray, np.generic)) and not x.dtype.hasobject:
        return (kind, x.dtype.str, x.shape, x.tobytes())
    if isinstance(x, (Model, types.BuiltinFunctionType, types.CodeType, np.ufunc, np.dtype)):
        return x
    if id(x) in seen:
        return ("again", seen[id(x)][0])
    seen[id(x)] = (len(seen), x)  # which keeps it alive: its id stays its own
    for family, parts in _PARTS.items():
        if isinstance(x, family):
            return (kind, *(_fingerprint_of(part, seen) for part in parts(x)))
    if isinstance(x, types.FunctionType):
        return _function(x, seen)
    if isinstance(x, types.ModuleType):
        return x
    return _class(x, seen) if isinstance(x, type) else _instance(x, seen)


_PARTS: dict[Any, Any] = {
    (tuple, list): iter,
    dict: lambda x: (part for item in x.items() for part in item),
    (set, frozenset): lambda x: sorted(x, key=repr),
    types.MethodType: lambda x: (x.__self__, x.__func__),
    functools.partial: lambda x: (x.func, x.args, x.keywords),
    property: lambda x: (x.fget, x.fset),
    (staticmethod, classmethod): lambda x: (x.__func__,),
    functools.cached_property: lambda x: (x.func,),
}
"""Parts of containers and wrappers, by their classes."""


def _function(function: types.FunctionType, seen: _Seen) -> Any:
    """Its code, what it is bound to, and what a function of the user's own reads from its module."""
    cells = [_content(cell) for cell in function.__closure__ or ()]
    if _is_installed(function.__module__):
        return (function.__code__, *(_fingerprint_of(x, seen) for x in cells)) if cells else function
    names = set(_names(function.__code__))
    read = [function.__globals__[name] for name in sorted(names & function.__globals__.keys())]
    attributes = (x for module in (*cells, *read) for x in _attributes(module, names))
    bound = (function.__defaults__, function.__kwdefaults__, *cells, *read, *attributes)
    return (function.__code__, *(_fingerprint_of(x, seen) for x in bound))


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return "empty"


def _names(code: types.CodeType) -> Iterator[str]:
    """All names that a function, or one inside it, looks up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _attributes(value: Any, names: set[str]) -> Iterator[Any]:
    """Values that a function with these names may read from a module of the user's own."""
    if isinstance(value, types.ModuleType) and not _is_installed(value.__name__):
        yield from (vars(value)[name] for name in sorted(names & vars(value).keys()))


def _class(cls: type, seen: _Seen) -> Any:
    """A class of the user's own with all that it and its bases define."""
    own = [base for base in cls.__mro__ if not _is_installed(base.__module__)]
    defined = [(name, x) for base in own for name, x in vars(base).items() if not _is_machinery(name, x)]
    return (cls, *(_fingerprint_of(x, seen) for x in defined)) if own else cls


def _is_machinery(name: str, x: Any) -> bool:
    special = name.startswith("__") and name.endswith("__") and not inspect.isroutine(x)
    return special or name == "_abc_impl" or isinstance(x, _PASSIVE)


def _instance(x: Any, seen: _Seen) -> Any:
    kind: Any = type(x)
    if not _is_installed(kind.__module__):
        if not hasattr(x, "__dict__") or any(vars(base).get("__slots__") for base in kind.__mro__):
            raise Unrecognizable(f"a {kind.__name__}, whose fields are hidden")
        return (_class(kind, seen), _fingerprint_of(vars(x), seen))
    if kind.__module__.partition(".")[0] != OWN:
        raise Unrecognizable(f"a {kind.__module__}.{kind.__name__}")
    if not is_dataclass(x):
        hash(x)
        return x
    held = [getattr(x, name) for name in field_names(kind)]
    return (kind, *[value if _is_plain(value) else _fingerprint_of(value, seen) for value in held])


def _is_plain(x: Any) -> bool:
    """True for a number, a text or a row of them, as the fields of this library's frozen classes are."""
    return type(x) in _PLAIN or (type(x) is tuple and {*map(type, x)} <= _PLAIN)


@functools.cache
def field_names(kind: Any) -> tuple[str, ...]:
    """Names of the fields of a dataclass."""
    return tuple(field.name for field in fields(kind))


@functools.cache
def _is_installed(module: str | None) -> bool:
    """True if a module belongs to this library, to Python, or to an installed package: such code does not change."""
    top = (module or "").partition(".")[0]
    if top == OWN or top in sys.stdlib_module_names:
        return True
    file = getattr(sys.modules.get(top), "__file__", None) or ""
    return bool(file) and file.startswith(tuple(sysconfig.get_paths()[place] for place in ("purelib", "platlib")))
