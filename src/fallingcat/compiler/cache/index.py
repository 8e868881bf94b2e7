"""Recall of kernels of earlier runs, without tracing.

Machine code is stored under a digest of its LLVM text, the processor and the versions of the tools.  To write that text
again takes longer than to load the code, so a second record leads from *what was asked for* to it: the numbers of the
model, the name of the function, the options.  That is safe only where these say everything: for functions of this
library (its source files are part of the digest, as long as they are what was imported) on models made of its own
classes.  A function of the user has a name, but its text and what it refers to can change: it is traced each time, and
only its machine code is stored.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib
import json
import os
import sys
import time
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from ...model import Model
from ...progress import report_progress
from ..cpu import native
from ..ir.inputs import Argument
from ..ir.results import Constant, Leaf, Node, Result, fold
from ..ir.trace import Face, Recipe
from . import files as cache

PACKAGE = __name__.partition(".")[0]
_IMPORT_TIME = time.time_ns()
_CLOCK = _IMPORT_TIME - time.monotonic_ns()
"""ns: smaller later where the clock was set back, and then an edit may look older than the import"""
MAX_CLOCK_STEP = 10**9
"""ns: two readings of clocks lie apart when the machine is busy"""


class Unknown(Exception):
    """Something that a digest cannot speak for."""


class Memory:
    """Finds and keeps the code of one kernel; all of it may be absent."""

    def __init__(self, recipe: Recipe) -> None:
        model, function, inputs, state, options, dtype = recipe
        self._model = model
        try:
            asked = [_name(function), dict(inputs), state, dict(options), dtype]
            self._key: str | None = digest(_environment(), sources(), _digest_of(model), *asked)
        except Unknown:
            self._key = None

    def face(self) -> Face | None:
        """The description of the kernel, if it is known."""
        stored = None if self._key is None else cache.read(digest(self._key, "face"))
        return None if stored is None else decoded(json.loads(stored), self._model)

    def keep(self, face: Face) -> None:
        """Remember the description."""
        if self._key is not None:
            try:
                content = json.dumps(encoded(face, self._model)).encode()
            except Unknown:
                self._key = None  # nothing leads to its code either
                return
            cache.write(digest(self._key, "face"), content)

    def code(self, which: str, text: Callable[[], str], quick: bool = False) -> bytes:
        """The object file of the entry ``which``, stored or compiled from ``text()``; ``quick`` if it is not stored."""
        lead, code = self._stored(which)
        if code is None and quick:
            lead, code = self._stored(f"quick {which}")
            return code if code is not None else compiled(f"{text()}\n; quick", lead, native.quick_code)
        return code if code is not None else compiled(text(), lead)

    def knows(self, which: str) -> bool:
        """True if the code of an entry, made well, is stored."""
        return self._stored(which)[1] is not None

    def _stored(self, which: str) -> tuple[str | None, bytes | None]:
        """Key of the code of an entry, and the code."""
        lead = None if self._key is None else digest(self._key, which)
        place = None if lead is None else cache.read(lead)
        return lead, None if place is None else cache.read(place.decode())


def compiled(text: str, lead: str | None = None, make: Callable[[str], bytes] | None = None) -> bytes:
    """The object file of an LLVM text, stored or made; ``lead`` is another key that leads to it."""
    key = digest(_environment(), "packed", text)
    code = cache.read(key)
    if code is None:
        with report_progress("compiling"):
            code = (make or native.object_code)(text)
        cache.write(key, code)
    if lead is not None:
        cache.write(lead, key.encode())
    return code


# digests ------------------------------------------------------------------------------------------------------------


def digest(*parts: Any) -> str:
    """SHA-256 of values of any kind that :func:`_serialize` knows.

    Example:
        >>> digest("a", 1.0) == digest("a", 1.0), digest("a", 1) == digest("a", 1.0), digest("ab") == digest("a", "b")
        (True, False, False)
    """
    said: list[bytes] = []
    _serialize(parts, said)
    return hashlib.sha256(b"".join(said)).hexdigest()


_digests: weakref.WeakKeyDictionary[Model, str] = weakref.WeakKeyDictionary()


def _digest_of(model: Model) -> str:
    """Once for each model: it is frozen."""
    if model not in _digests:
        _digests[model] = digest(model)
    return _digests[model]


def _serialize(x: Any, out: list[bytes]) -> None:
    """Appends an unambiguous writing of ``x``: every piece starts with its kind and length."""
    kind = type(x)
    if kind is np.ndarray:
        if x.dtype.kind not in "fiub":
            raise Unknown(f"an array of {x.dtype}")
        out.append(f"array {x.dtype.str} {x.shape} ".encode())
        out.append(x.tobytes())
    elif x is None or kind in (float, int, str, bool):
        text = repr(x).encode()
        out.append(b"%s %d " % (kind.__name__.encode(), len(text)))
        out.append(text)
    elif kind in (tuple, list):
        out.append(b"%s %d " % (kind.__name__.encode(), len(x)))
        for item in x:
            _serialize(item, out)
    elif kind is dict:
        out.append(b"dict %d " % len(x))
        for key, item in x.items():
            _serialize((key, item), out)
    elif isinstance(x, np.generic):
        _serialize(np.asarray(x), out)
    elif isinstance(x, tuple) and hasattr(kind, "_fields"):
        out.append(_name(kind).encode())
        _serialize(tuple(x), out)
    elif kind is FunctionType:
        out.append(_name(x).encode())
    elif dataclasses.is_dataclass(x):
        out.append(_name(kind).encode())
        for field in dataclasses.fields(x):
            if field.metadata.get("moves", True):
                _serialize(getattr(x, field.name), out)
    else:
        raise Unknown(f"a {kind.__name__}")


def _name(x: Any) -> str:
    """The name of a function or class of this library that is found under this name."""
    module, name = getattr(x, "__module__", None) or "", getattr(x, "__qualname__", "<")
    if "<" in name or _lookup(module, name) is not x:
        raise Unknown(f"{module}.{name}")
    return f"{module}:{name} "


def _lookup(module: str, name: str) -> Any:
    """Object with this name in this library; nothing else is ever looked up."""
    if module.partition(".")[0] != PACKAGE:
        return None
    try:
        return functools.reduce(getattr, name.split("."), sys.modules.get(module) or importlib.import_module(module))
    except (AttributeError, ImportError):
        return None


@functools.cache
def sources() -> str:
    """A digest of this library's own source files, every byte of them; once for each process (4 ms)."""
    if time.time_ns() - time.monotonic_ns() < _CLOCK - MAX_CLOCK_STEP:
        raise Unknown("the clock was set back since the import")
    root = sys.modules[PACKAGE].__path__[0]
    paths = [os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names if name.endswith(".py")]
    whole = hashlib.sha256()
    for path in sorted(paths):
        try:
            with open(path, "rb", buffering=0) as file:
                content, changed = file.read(), os.fstat(file.fileno()).st_ctime_ns
        except OSError:
            raise Unknown("source files") from None
        if changed > _IMPORT_TIME:
            raise Unknown(f"{path} is not what was imported")
        whole.update(f"{path[len(root) :]} {len(content)} ".encode())
        whole.update(content)
    if not paths:  # in an archive
        raise Unknown("source files")
    return whole.hexdigest()


@functools.cache
def _environment() -> str:
    """Processor and versions: code made elsewhere or by another compiler is other code."""
    cpu, llvm = native.cpu(), native.binding()
    versions = [sys.modules[name].__version__ for name in (PACKAGE, "llvmlite", "numpy")]
    return digest(versions, list(llvm.llvm_version_info), llvm.get_process_triple(), list(cpu), sys.version)


# faces as plain data ------------------------------------------------------------------------------------------------


def encoded(face: Face, model: Model) -> dict[str, Any]:
    """As JSON; :class:`Unknown` where that cannot say it."""
    arguments = [list(argument) for argument in face.arguments]
    return {
        "arguments": arguments,
        "state": list(face.state),
        "result": _encode(face.result, model),
        "operations": face.operations,
    }


def decoded(data: dict[str, Any], model: Model) -> Face:
    """The inverse of :func:`encoded`."""
    arguments = tuple(Argument(name, tuple(shape), meaning) for name, shape, meaning in data["arguments"])
    return Face(arguments, tuple(data["state"]), _decode(data["result"], model), data["operations"])


_PLAIN: dict[str, type] = {"tuple": tuple, "list": list, "dict": dict}


def _encode(result: Result, model: Model) -> dict[str, Any]:
    def constant(at: Constant) -> dict[str, Any]:
        value = at.value
        if value is model:
            return {"model": None}
        if value is model.base:
            return {"base": None}
        if isinstance(value, frozenset) and all(isinstance(item, str) for item in value):
            return {"set": sorted(value)}
        if isinstance(value, FunctionType):
            return {"function": _name(value).strip()}
        if value is None or isinstance(value, str):
            return {"constant": value}
        raise Unknown(f"a {type(value).__name__}")

    def node(at: Node, parts: list[dict[str, Any]]) -> dict[str, Any]:
        if not all(isinstance(key, str) for key in at.keys):
            raise Unknown("keys that are no text")
        name = at.kind.__name__ if at.kind in _PLAIN.values() else _name(at.kind).strip()
        return {"kind": name, "keys": list(at.keys), "parts": parts}

    return fold(result, lambda leaf: {"array": list(leaf.shape), "start": leaf.start}, constant, node)


def _decode(data: dict[str, Any], model: Model) -> Result:
    if "array" in data:
        return Leaf(tuple(data["array"]), data["start"])
    if "kind" in data:
        kind = _PLAIN.get(data["kind"]) or _lookup(*data["kind"].split(":"))
        return Node(kind, tuple(data["keys"]), tuple(_decode(part, model) for part in data["parts"]))
    if "model" in data:
        return Constant(model)
    if "base" in data:
        return Constant(model.base)
    if "set" in data:
        return Constant(frozenset(data["set"]))
    if "function" in data:
        return Constant(_lookup(*data["function"].split(":")))
    return Constant(data["constant"])
