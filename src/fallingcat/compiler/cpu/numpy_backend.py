"""Kernels without machine code: the same program, run by NumPy, one operation for all states at a time.

Slower (a microsecond or so for each operation and each run of states), but it needs nothing, and gives what the machine
code gives up to rounding: products and sums are rounded one after the other here.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...arrays import Traced
from ...arrays.loops import rows_of
from ...arrays.operations import OPERATIONS
from ...caching import cached_property
from ..ir.inputs import function_name
from ..ir.program import Program, program
from ..ir.results import flatten
from ..ir.trace import Face, Recipe, Trace, call_with_flat_values

STATES_PER_RUN = 512
"""States in one run: their values stay in the processor's cache."""

_FUNCTIONS: dict[str, Callable[..., Any]] = {op: getattr(np, row.names["numpy"]) for op, row in OPERATIONS.items()}


class NumPyRunner:
    """Runner of a :class:`Kernel` without machine code; the methods are those of :class:`.MachineCode`, on one thread.

    How states are computed differs: ``batch(rows, out, threads)``, from flat arguments ``(count, size)`` to flat
    results ``(count, outputs)``, both of one dtype.
    """

    batch: Callable[..., None]
    lanes = 1

    def blocks(self, rows: Sequence[np.ndarray], out: np.ndarray, threads: int) -> None:
        """A block is one state here."""
        self.batch(rows, out, threads)

    def iterate(self, rows: Sequence[np.ndarray], kept: np.ndarray, every: int, threads: int, one: bool) -> None:
        """Feed outputs back as inputs; every ``every``-th time is ``kept``: ``(times, count, outputs)``."""
        x, *rest = rows
        for out in kept:
            for _ in range(every):
                self.batch([x, *rest], out, threads)
                x = out[:, : x.shape[1]].copy()  # what is written must not be what is read

    def stepper(self, rows: Sequence[np.ndarray], out: np.ndarray) -> Callable[[], Any]:
        """:meth:`iterate` of one state, once, of what the arrays hold whenever it is called."""
        return lambda: self.batch(rows, out, 1)

    def batcher(self, rows: Sequence[np.ndarray], out: np.ndarray, threads: int) -> Callable[[], Any]:
        """:meth:`batch` of what the arrays hold whenever it is called."""
        return lambda: self.batch(rows, out, threads)

    def until(self, rows: Sequence[np.ndarray], out: np.ndarray, most: int, threads: int, one: bool) -> None:
        """Feed outputs back as inputs until the last output is positive, ``most`` times at most."""
        size, left = rows[0].shape[1], np.arange(len(out))
        for _ in range(most):
            now = np.empty_like(out, shape=(len(left), out.shape[1]))
            self.batch(rows, now, threads)
            out[left], open_ = now, ~(now[:, -1] > 0.0)
            left, rows = left[open_], [now[open_, :size], *(x[open_] for x in rows[1:])]
            if not len(left):
                break

    def repeater(self, rows: Sequence[np.ndarray], out: np.ndarray, most: int) -> Callable[[], Any]:
        """:meth:`until` of one state, of what the arrays hold whenever it is called."""
        return lambda: self.until(rows, out, most, 1, True)


class TracedProgram(NumPyRunner):
    """The program of a trace."""

    source = ""

    def __init__(self, traced: Trace) -> None:
        self._traced, self._nodes = traced, traced.graph.needed(traced.outputs)

    @cached_property
    def program(self) -> Program:
        """For those who ask what is done."""
        return program(self._traced.inputs, self._traced.outputs, fuse=False)

    def batch(self, rows: Sequence[np.ndarray], out: np.ndarray, threads: int) -> None:
        """Run the program of all states, one operation at a time."""
        with np.errstate(all="ignore"):  # as in machine code: NaN and infinity pass through
            for start in range(0, len(out), STATES_PER_RUN):
                self._run([x[start : start + STATES_PER_RUN] for x in rows], out[start : start + STATES_PER_RUN])

    def _run(self, arrays: list[np.ndarray], out: np.ndarray) -> None:
        given = zip(self._traced.inputs, arrays, strict=True)
        known = {x: np.ascontiguousarray(rows[:, i]) for flat, rows in given for i, x in enumerate(flat)}
        _run(self._nodes, known, out.dtype.type)
        for place, x in enumerate(self._traced.outputs):
            out[:, place] = known.get(x, x)


def _run(nodes: Sequence[Traced], known: dict[Any, Any], dtype: Any) -> None:
    """Adds what the nodes come to, for all states at once, to what is ``known``."""
    for node in nodes:
        if node.op == "loop":  # of `arrays.while_loop`: all others are written out
            known[node] = _run_while_loop(node, known, dtype)
        elif node.op == "part":
            known[node] = known[node.args[0]][node.args[1]]
        elif node.op != "input":
            known[node] = _FUNCTIONS[node.op](*(known[x] if isinstance(x, Traced) else dtype(x) for x in node.args))


def _run_while_loop(loop: Traced, known: dict[Any, Any], dtype: Any) -> list[Any]:
    """The numbers with which each state has arrived."""
    body = loop.args[0]
    x, done = [known.get(row[0], row[0]) for row in rows_of(loop)], False
    for _ in range(body.max_steps):
        local = known | dict(zip(body.symbols, x, strict=True))
        _run(body.nodes, local, dtype)
        *new, arrived = [local.get(y, y) for y in body.outputs]
        x = [np.where(done, before, after) for before, after in zip(x, new, strict=True)]
        done = done | (arrived > 0.0)
        if np.all(done):
            break
    return x


class UntracedFunction(NumPyRunner):
    """A function too large to be traced, called state by state."""

    def __init__(self, recipe: Recipe, face: Face) -> None:
        self._recipe, self._face = recipe, face

    def batch(self, rows: Sequence[np.ndarray], out: np.ndarray, threads: int) -> None:
        """Call the function itself, one state after the other."""
        with np.errstate(all="ignore"):
            for row, *values in zip(out, *(x.astype(float) for x in rows), strict=True):
                outputs: list[float] = []
                flatten(call_with_flat_values(self._recipe, self._face.state, self._face.arguments, values), outputs)
                row[:] = outputs

    @property
    def program(self) -> Program:
        """There is none."""
        raise self._recipe.too_large

    @property
    def source(self) -> str:
        """There is none."""
        raise self._recipe.too_large


@functools.cache
def reason() -> str | None:
    """Reason why this process cannot make machine code; None when it can.  Tried once, with an empty module."""
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
    warnings.warn(f"kernels run as plain NumPy, slower: {why}", RuntimeWarning, stacklevel=5)


def report_uncompiled(recipe: Recipe) -> None:
    """Say that a function is too large for a kernel, and what that costs."""
    cost = f"calls run {function_name(recipe.function)} itself, as slow as uncompiled, one state after the other"
    warnings.warn(f"{recipe.too_large}: {cost}", RuntimeWarning, stacklevel=5)
