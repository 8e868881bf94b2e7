"""Calls of kernels for one state: machine code behind a builtin function, made quickly at first where it is long."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..ir.results import builder, is_array
from . import machine_code, native
from .threads import run_in_background

Kernel = Any
"""A :class:`fallingcat.compiler.Kernel`, which is made of this."""


def single_calls(kernel: Kernel) -> Callable[..., Any]:
    """The way in for arrays of one state, which hands everything else on: see :data:`.BACKGROUND_OPERATIONS`."""
    if kernel._work < machine_code.BACKGROUND_OPERATIONS or kernel._memory is None or kernel._memory.knows("single"):
        return _entry(kernel, kernel._runner.single)
    quick, calls = _entry(kernel, kernel._runner.quick_single()), itertools.count(1)

    def call(self: Kernel, *arguments: Any, **options: Any) -> Any:
        if next(calls) == machine_code.BACKGROUND_CALLS:
            run_in_background(improve, self)
        return quick(*arguments, **options)

    return call


def improve(kernel: Kernel) -> None:
    """Code that is made well in the place of that which was made quickly."""
    with suppress(MemoryError):  # what there is will do
        better, before = _entry(kernel, kernel._runner.better_single()), type(kernel).__call__
        type(kernel).__call__ = better
        # Freed within the assignment, the code before would let other threads run, whose type still knows it.
        del before


def _entry(kernel: Kernel, library: native.Library) -> Callable[..., Any]:
    build = None if is_array(kernel._face.result) else builder(kernel._face.result)
    call: Callable[..., Any] = library.python_function(kernel._slow, build, kernel.name, kernel.dtype)
    return call
