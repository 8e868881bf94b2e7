"""Algorithms that branch on their numbers, written as plain Python loops, as machine code."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from .cache import index as cache_index
from .cpu import loop_syntax as syntax
from .cpu import native
from .cpu import numpy_backend as plain
from .cpu.signatures import signature
from .cpu.threads import thread_safe_property

Vector: TypeAlias = np.ndarray
"""Vector of float64."""
Integers: TypeAlias = np.ndarray
"""Vector of int64."""
Matrix: TypeAlias = np.ndarray
"""Rows of float64."""


class LoopSource:
    """Python functions of plain loops (see :mod:`fallingcat.compiler.cpu.loop_syntax`), the last of which is called.

    ``go = written.bound(x, A, 3)`` gives a function without arguments that runs on what these arrays hold by then;
    where there is no machine code, the Python functions themselves run.
    """

    def __init__(self, *functions: Callable[..., Any]) -> None:
        self.functions, self.last = functions, functions[-1]

    @thread_safe_property
    def _argument_kinds(self) -> list[str]:
        """The kinds of arguments that the last function takes."""
        return [type_ for _, type_ in signature(self.last).parameters]

    @thread_safe_property
    def _library(self) -> native.Library:
        code = cache_index.compiled(
            syntax.module(self.functions), make=lambda text: native.object_code(native.optimize_text(text))
        )
        return native.Library(code, (f"{self.last.__name__}_entry",))

    def bound(self, *arguments: Any) -> Callable[[], int]:
        """The last function for these arguments: arrays, which are kept and may change, and numbers, which may not."""
        given = _flat(arguments)
        kinds = [_kind(x) for x in given]
        if kinds != self._argument_kinds:
            raise TypeError(f"{self.last.__name__} takes {', '.join(self._argument_kinds)}, not {', '.join(kinds)}")
        if plain.reason() is not None:
            return lambda: int(self.last(*arguments))
        table = b"".join(map(_table_bytes, given))
        memory = ctypes.create_string_buffer(table, len(table))
        function, at = self._library.function(f"{self.last.__name__}_entry", 1, counts=0), ctypes.addressof(memory)

        def go() -> int:
            return int(function(at))

        go.kept = (arguments, memory)  # type: ignore[attr-defined]
        return go


def _flat(arguments: tuple[Any, ...]) -> list[Any]:
    """Records as their fields."""
    return [x for given in arguments for x in (given if isinstance(given, tuple) else (given,))]


def _kind(x: Any) -> str:
    """Kind of an argument, in the words of :data:`.signatures.TYPES`."""
    if not isinstance(x, np.ndarray):
        return "double" if isinstance(x, float) else "i64"
    if x.dtype not in (np.float64, np.int64) or (x.size and x.strides[-1] != x.itemsize):
        raise TypeError("arrays are of float64 or int64, with rows that lie in one piece")
    return "integers" if x.dtype == np.int64 else "matrix" if x.ndim == 2 else "vector"


def _table_bytes(x: Any) -> bytes:
    """As it stands in the table of arguments."""
    if not isinstance(x, np.ndarray):
        return struct.pack("<d" if isinstance(x, float) else "<q", x)
    at = struct.pack("<q", x.ctypes.data)
    return at + struct.pack("<q", x.strides[0] // x.itemsize) if x.ndim == 2 else at
