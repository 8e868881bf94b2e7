"""Machine code of one kernel: each entry point is compiled at its first use, and runs on flat arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ..ir.inputs import FLAT_STATE_FIELDS, function_name
from ..ir.program import MAX_WHOLE_LENGTH, Program, program, recut
from ..ir.results import is_array, leaves, size
from ..ir.trace import Face, Recipe, Trace, without_garbage_collection
from . import array_entry as entry
from . import llvm, native
from .operation import ELEMENTS
from .python_call import has_own_memory, single
from .threads import run_in_background, run_parts, shares, thread_safe_property

Code = Callable[[str, Callable[[], str], bool], bytes]
"""The object file of a way in, by its name: found again, or compiled from the text that the second argument writes,
quickly if the third says so."""
QUICK_CODE_OPERATIONS, QUICK_CODE_PASSES = 3_000, 5_000
"""Operations of a program from which on code is made quickly at first, and passes after which it is made well."""
BACKGROUND_OPERATIONS, BACKGROUND_CALLS = 20_000, 1_000
"""Operations of a program from which on code for single calls is made quickly at first, and calls, or passes of steps,
after which it is made well, in another thread: it takes 1.5 times as long, some microseconds that a second of compiling
has to earn."""
OPERATIONS_PER_CALL = 10**9
"""Operations of a call that iterates several blocks: some tenths of a second, between which Ctrl-C is heard."""


class MachineCode:
    """Runs the program of a :class:`Kernel`; :class:`.ByNumPy` has the same methods.

    ``rows`` are the arguments, each ``(count, size)``, and ``out`` is ``(count, outputs)``; ``one`` asks for the code
    that takes one state in scalars, not a block in SIMD lanes.  What is called for many states ``seldom`` has code for
    that made quickly at first.
    """

    def __init__(
        self, recipe: Recipe, face: Face, tracing: Callable[[], Trace], code: Code, seldom: bool = False
    ) -> None:
        self._name, self._dtype = function_name(recipe.function), recipe.dtype
        self._face, self._tracing, self._code = face, tracing, code
        self._work = sum((face.operations or {}).values())
        self._passes, self._seldom = 0, seldom
        self._better: dict[bool, native.Library | None] = {}  # steps made well in another thread, or to be so
        self._waiting = ""  # text of code that may be made well later
        self.lanes: int = native.cpu().width // np.dtype(recipe.dtype).itemsize

    @thread_safe_property
    def program(self) -> Program:
        """Made when it is needed: code from the cache lives without."""
        traced = self._tracing()
        return program(traced.inputs, traced.outputs, fuse=native.cpu().fma)

    # runs -----------------------------------------------------------------------------------------------------

    def batch(self, rows: Sequence[np.ndarray], out: np.ndarray, threads: int) -> None:
        """Every state once."""
        self._passes += -(-len(out) // self.lanes)
        library = self._quick_batch if self._seldom and self._passes < QUICK_CODE_PASSES else self._batch
        function = library.function("batch", len(rows) + 1)
        self._run_in_threads(
            function, [*rows, out], threads, self.lanes, self._work, "for a batch of"
        )  # cut between blocks

    def batcher(self, rows: Sequence[np.ndarray], out: np.ndarray, threads: int) -> Callable[[], Any]:
        """:meth:`batch` of what the arrays hold whenever it is called."""
        if threads > 1:
            return lambda: self.batch(rows, out, threads)
        addresses, blocks = [x.ctypes.data for x in (*rows, out)], -(-len(out) // self.lanes)
        functions: dict[native.Library, Any] = {}

        def go() -> Any:
            self._passes += blocks
            library = self._quick_batch if self._seldom and self._passes < QUICK_CODE_PASSES else self._batch
            if library not in functions:
                functions[library] = library.function("batch", len(addresses))
            if functions[library](*addresses, len(out)):
                raise MemoryError(f"there is no memory for a batch of {self._name}")
            return rows, out  # which live as long as this

        return go

    def blocks(self, rows: Sequence[np.ndarray], out: np.ndarray, threads: int) -> None:
        """As :meth:`batch`, where a row is a block of states already, value by value."""
        function = self._batch.function("blocks", len(rows) + 1)
        self._run_in_threads(function, [*rows, out], threads, 1, self._work * self.lanes, "for a batch of")

    def iterate(self, rows: Sequence[np.ndarray], kept: np.ndarray, every: int, threads: int, one: bool) -> None:
        """Feed outputs back as inputs; every ``every``-th time is ``kept``: ``(times, count, outputs)``."""
        lanes, (times, count) = 1 if one else self.lanes, kept.shape[:2]
        function = self._stepping(one, times * every * -(-count // lanes)).function("iterate", len(rows) + 1, counts=4)
        few = max(1, OPERATIONS_PER_CALL // (self._work * times * every * lanes)) * lanes

        def part(bounds: tuple[int, int]) -> None:
            for first in range(*bounds, few):
                pointers = (x[first:].ctypes.data for x in (*rows, kept[0]))
                if function(*pointers, min(few, bounds[1] - first), times, every, count):
                    raise MemoryError(f"there is no memory to iterate {self._name}")

        run_parts(part, shares(count, threads, lanes, self._work * times * every))

    def stepper(self, rows: Sequence[np.ndarray], out: np.ndarray) -> Callable[[], Any]:
        """:meth:`iterate` of one state, once, of what the arrays hold whenever it is called."""
        addresses = [x.ctypes.data for x in (*rows, out)]
        functions: dict[native.Library, Any] = {}

        def go() -> Any:
            library = self._stepping(True, 1)
            if library not in functions:
                functions[library] = library.function("iterate", len(addresses), counts=4)
            if functions[library](*addresses, 1, 1, 1, 1):
                raise MemoryError(f"there is no memory to iterate {self._name}")
            return rows, out  # which live as long as this

        return go

    def _stepping(self, one: bool, passes: int) -> native.Library:
        """The code for that many steps more: made quickly at first, if it is long, and well if there are many."""
        self._passes += passes
        if self._work >= BACKGROUND_OPERATIONS and self._passes >= BACKGROUND_CALLS and one not in self._better:
            self._better[one] = None
            run_in_background(self._improve, one)
        better = self._better.get(one)
        if better is not None:
            return better
        if self._work >= BACKGROUND_OPERATIONS or (
            self._work >= QUICK_CODE_OPERATIONS and self._passes < QUICK_CODE_PASSES
        ):
            return self._quick_one if one else self._quick_block
        return self._iterate_one if one else self._iterate_block

    def _improve(self, one: bool) -> None:
        lanes = 1 if one else self.lanes
        with suppress(MemoryError):  # what there is will do
            code = self._code(f"iterate{lanes}", lambda: self._repeated_text("iterate", lanes), False)
            self._better[one] = native.Library(code, ("iterate",))

    def until(self, rows: Sequence[np.ndarray], out: np.ndarray, most: int, threads: int, one: bool) -> None:
        """Feed outputs back as inputs until the last output is positive, ``most`` times at most."""
        library, unit = (self._until_one, 1) if one else (self._until_block, self.lanes)
        function = library.function("until", len(rows) + 1, counts=2)
        self._run_in_threads(function, [*rows, out], threads, unit, self._work * most, "to repeat", most)

    def repeater(self, rows: Sequence[np.ndarray], out: np.ndarray, most: int) -> Callable[[], Any]:
        """:meth:`until` of one state, of what the arrays hold whenever it is called."""
        addresses = [x.ctypes.data for x in (*rows, out)]
        function = self._until_one.function("until", len(addresses), counts=2)

        def go() -> Any:
            if function(*addresses, 1, most):
                raise MemoryError(f"there is no memory to repeat {self._name}")
            return rows, out  # which live as long as this

        return go

    def _run_in_threads(
        self, function: Any, rows: list[np.ndarray], threads: int, unit: int, work: int, purpose: str, *most: int
    ) -> None:
        """``function(rows..., count, *most)`` for whole units of rows on several threads."""

        def part(bounds: tuple[int, int]) -> None:
            first, end = bounds
            if function(*(x[first:].ctypes.data for x in rows), end - first, *most):
                raise MemoryError(f"there is no memory {purpose} {self._name}")

        run_parts(part, shares(len(rows[-1]), threads, unit, work))

    # code -----------------------------------------------------------------------------------------------------

    @property
    def source(self) -> str:
        """The LLVM text of :attr:`single`."""
        type_, result = self._type(1), self._face.result
        shape, parts = (leaves(result)[0].shape, []) if is_array(result) else ((size(result),), leaves(result))
        again = has_own_memory(self.program, type_)
        text = llvm.module(self.program, type_, "kernel", self.lanes, clear=not again)
        no_velocity = self._face.state == FLAT_STATE_FIELDS[:1]
        return "\n".join([text, *single(self.program, self._face.arguments, shape, type_, parts, no_velocity)])

    @thread_safe_property
    def single(self) -> native.Library:
        """One state, called from Python."""
        return self._library("single", lambda: self.source, ("single", "work_size"))

    def quick_single(self) -> native.Library:
        """The same, made quickly where it is not stored."""

        def text() -> str:
            self._waiting = self.source
            return self._waiting

        return self._library("single", text, ("single", "work_size"), quick=True)

    def better_single(self) -> native.Library:
        """:attr:`single` after :meth:`quick_single`, for a background thread: no call waits for LLVM."""
        text = self._waiting or self.source
        self._waiting = ""
        return native.Library(self._code("single", lambda: text, False), ("single", "work_size"))

    @thread_safe_property
    def _batch(self) -> native.Library:
        return self._library("batch", self._batch_text, ("blocks", "batch"))

    @thread_safe_property
    def _quick_batch(self) -> native.Library:
        return self._library("batch", self._batch_text, ("blocks", "batch"), quick=True)

    def _batch_text(self) -> str:
        type_, cut = self._type(self.lanes), recut(self.program, MAX_WHOLE_LENGTH)
        return "\n".join([llvm.module(cut, type_, "kernel"), *entry.blocks(cut, type_), *entry.batch(cut, type_)])

    @thread_safe_property
    def _iterate_one(self) -> native.Library:
        return self._iteration_library("iterate", 1)

    @thread_safe_property
    def _iterate_block(self) -> native.Library:
        return self._iteration_library("iterate", self.lanes)

    @thread_safe_property
    def _quick_one(self) -> native.Library:
        return self._iteration_library("iterate", 1, quick=True)

    @thread_safe_property
    def _quick_block(self) -> native.Library:
        return self._iteration_library("iterate", self.lanes, quick=True)

    @thread_safe_property
    def _until_one(self) -> native.Library:
        return self._iteration_library("until", 1)

    @thread_safe_property
    def _until_block(self) -> native.Library:
        return self._iteration_library("until", self.lanes)

    def _iteration_library(self, which: str, lanes: int, quick: bool = False) -> native.Library:
        return self._library(f"{which}{lanes}", lambda: self._repeated_text(which, lanes), (which,), quick)

    def _repeated_text(self, which: str, lanes: int) -> str:
        type_, cut = self._type(lanes), self.program if lanes == 1 else recut(self.program, MAX_WHOLE_LENGTH)
        return "\n".join([llvm.module(cut, type_, "kernel", self.lanes), *getattr(entry, which)(cut, type_)])

    def _library(
        self, which: str, text: Callable[[], str], functions: Sequence[str], quick: bool = False
    ) -> native.Library:
        with without_garbage_collection():
            return native.Library(self._code(which, text, quick), functions)

    def _type(self, lanes: int) -> llvm.Type:
        return llvm.Type(ELEMENTS[self._dtype], lanes)
