"""Algorithms that branch on their numbers, written as plain Python loops, as machine code."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from .cpu import native, plain, syntax
from .cpu.threads import once
from .store import recall

Vector: TypeAlias = np.ndarray
"""Of float64."""
Integers: TypeAlias = np.ndarray
"""Of int64."""
Matrix: TypeAlias = np.ndarray
"""Rows of float64."""


fields = syntax.fields


class Written:
    """Python functions of plain loops (see :mod:`.cpu.syntax`), the last of which is called.

    ``go = written.bound(x, A, 3)`` gives a function without arguments that runs on what these arrays hold by then;
    where there is no machine code, the Python functions themselves run.
    """

    def __init__(self, *functions: Callable[..., Any]) -> None:
        self.functions, self.last = functions, functions[-1]

    @once
    def _library(self) -> native.Library:
        code = recall.compiled(
            syntax.module(self.functions), make=lambda text: native.object_code(native.optimised(text))
        )
        return native.Library(code, (f"{self.last.__name__}_entry",))

    def bound(self, *arguments: Any) -> Callable[[], int]:
        """The last function for these arguments: arrays, which are kept and may change, and numbers, which may not."""
        if plain.reason() is not None:
            return lambda: int(self.last(*arguments))
        table = b"".join(map(_passed, arguments))
        memory = ctypes.create_string_buffer(table, len(table))
        function, at = self._library.function(f"{self.last.__name__}_entry", 1, counts=0), ctypes.addressof(memory)

        def go() -> int:
            return int(function(at))

        go.kept = (arguments, memory)  # type: ignore[attr-defined]
        return go


def _passed(x: Any) -> bytes:
    """As it stands in the table of arguments."""
    if isinstance(x, tuple):
        return b"".join(map(_passed, x))
    if not isinstance(x, np.ndarray):
        return struct.pack("<d" if isinstance(x, float) else "<q", x)
    if x.dtype not in (np.float64, np.int64) or (x.size and x.strides[-1] != x.itemsize):
        raise TypeError("arrays are of float64 or int64, with rows that lie in one piece")
    at = struct.pack("<q", x.ctypes.data)
    return at + struct.pack("<q", x.strides[0] // x.itemsize) if x.ndim == 2 else at
