"""Kernels without machine code: the same program, run by NumPy, one operation for all states at a time.

Slower (a microsecond or so for each operation and each run of states), but it needs nothing, and gives what the machine
code gives up to rounding: products and sums are rounded one after the other here.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...arrays.operations import OPERATIONS
from ..ir.inputs import named
from ..ir.program import Program, program
from ..ir.results import flatten
from ..ir.trace import Face, Recipe, Trace, called

RUN = 512
"""States in one run: their values stay in the processor's cache."""

_FUNCTIONS: dict[str, Callable[..., Any]] = {op: getattr(np, row.names["numpy"]) for op, row in OPERATIONS.items()}


class Plain:
    """The program of a trace, for :class:`Kernel` to run."""

    def __init__(self, traced: Trace) -> None:
        self.program: Program = program(traced.inputs, traced.outputs, fuse=False)

    def __call__(self, arrays: list[np.ndarray], out: np.ndarray) -> None:
        """From flat arguments ``(count, size)`` to flat results ``(count, outputs)``, both of one dtype."""
        with np.errstate(all="ignore"):  # as in machine code: NaN and infinity pass through
            for start in range(0, len(out), RUN):
                self._run([x[start : start + RUN] for x in arrays], out[start : start + RUN])

    def iterate(self, arrays: list[np.ndarray], outputs: int, rows: int, every: int) -> np.ndarray:
        """``rows x count x outputs``: what comes out goes in again, and every ``every``-th time is kept."""
        (x, *rest), kept = arrays, []
        for k in range(rows * every):
            out = np.empty((len(x), outputs), dtype=x.dtype)
            self([x, *rest], out)
            x = np.ascontiguousarray(out[:, : x.shape[1]])
            kept += [out] if (k + 1) % every == 0 else []
        return np.array(kept)

    def _run(self, arrays: list[np.ndarray], out: np.ndarray) -> None:
        dtype = out.dtype.type
        known: dict[int, Any] = {x: np.ascontiguousarray(arrays[a][:, i]) for x, (a, i) in self.program.inputs.items()}
        for value, op, operands in self.program.instructions:
            known[value] = _FUNCTIONS[op](*(known[x] if isinstance(x, int) else dtype(x) for x in operands))
        for place, x in enumerate(self.program.outputs):
            out[:, place] = known[x] if isinstance(x, int) else x


class Uncompiled(NamedTuple):
    """A function too large to be traced, for :class:`Kernel` to call, state by state."""

    recipe: Recipe
    face: Face

    def __call__(self, arrays: list[np.ndarray], out: np.ndarray) -> None:
        """As :meth:`Plain.__call__`."""
        with np.errstate(all="ignore"):
            for row, *values in zip(out, *(x.astype(float) for x in arrays), strict=True):
                outputs: list[float] = []
                flatten(called(self.recipe, self.face.state, self.face.arguments, values), outputs)
                row[:] = outputs

    @property
    def program(self) -> Program:
        """There is none."""
        raise self.recipe.too_large


@functools.cache
def reason() -> str | None:
    """Why this process cannot make machine code; None when it can.  Tried once, with a module that does nothing."""
    try:
        from . import native

        native.cpu()
        code = native.object_code("define i32 @nothing(i64 %x) {\n  ret i32 0\n}")
        library = native.Library(code, ("nothing",))
        library.function("nothing", 0)(0)
    except ImportError:
        return "llvmlite is not installed (pip install llvmlite)"
    except Exception as error:  # whatever LLVM says: an unknown processor, memory that may not be executed
        text = str(error).strip() or "no reason given"
        return f"LLVM cannot make code for this machine ({type(error).__name__}: {text.splitlines()[0][:120]})"
    return None


@functools.cache
def tell(why: str) -> None:
    """Say once that kernels are slow, and why."""
    warnings.warn(f"kernels run as plain NumPy, slower: {why}", RuntimeWarning, stacklevel=4)


def tell_uncompiled(recipe: Recipe) -> None:
    """Say that a function is too large for a kernel, and what that costs."""
    cost = f"calls run {named(recipe.function)} itself, as slow as uncompiled, one state after the other"
    warnings.warn(f"{recipe.too_large}: {cost}", RuntimeWarning, stacklevel=4)
