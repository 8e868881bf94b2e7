"""Compiled functions of one robot."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..arrays.types import Vector
from ..errors import ModelError, describe
from ..model import Model, State
from ..model.states import shapes_of
from .cache.index import Memory
from .cpu import numpy_backend as plain
from .cpu.machine_code import MachineCode
from .cpu.single_calls import improve
from .cpu.state_blocks import aligned
from .cpu.threads import thread_safe_property
from .ir.inputs import (
    FLAT_STATE_FIELDS,
    Argument,
    batch_shape,
    bound_arguments,
    check_batch,
    check_count,
    flat_state,
    inputs_of,
)
from .ir.program import Program
from .ir.results import Leaf, rebuild, size
from .ir.results import named_arrays as named_leaves
from .ir.trace import Face, Recipe, Trace


class Kernel:
    """Function of one robot as machine code: ``k(q, v, ...)``.

    Arguments are arrays (see :attr:`signature`, or ``help(k)``) with any leading batch shape, all the same, in their
    order or by name; results have the same leading shape, and go into ``out`` if that is given.  A
    :class:`~fallingcat.State`, or a batch of them, may stand for ``q, v``: ``k(states, ...)``.  The same inputs give
    the same bits, whatever the batch size or number of threads.  Numbers are not looked at: NaN and infinity pass
    through to the results that depend on them.  Quaternions may have any length but zero, which gives NaN.  Copies and
    pickles hold the model, the name of the function and the options, and are made anew.

    Args:
        recipe: Model, function and options.
        face: Arguments and results.
        tracing: Function that traces the recipe when it is needed.
        memory: Store of compiled code; None: NumPy runs the program.
        single: Make code for calls of one state.

    Example:
        >>> from fallingcat.compiler import compile
        >>> from fallingcat.dynamics import mass_matrix
        >>> from fallingcat.model import robots
        >>> cat = robots.two_cylinder_cat()
        >>> k = compile(cat, mass_matrix, state=["joints"])
        >>> k(np.zeros((100, 2))).shape  # a batch
        (100, 8, 8)
    """

    def __init__(
        self, recipe: Recipe, face: Face, tracing: Callable[[], Trace], memory: Memory | None, single: bool
    ) -> None:
        self._recipe, self._face, self._tracing = recipe, face, tracing
        self.model, self.function = recipe.model, recipe.function
        self.dtype = np.dtype(recipe.dtype)
        self.name = getattr(recipe.function, "__name__", "function")
        self._memory, self._single_calls = memory, single
        self._size, self._sizes = size(face.result), [argument.size for argument in face.arguments]
        self._work = sum((face.operations or {}).values())

    # what it is -----------------------------------------------------------------------------------------------

    @property
    def signature(self) -> tuple[Argument, ...]:
        """Name, shape and meaning of each argument."""
        return self._face.arguments

    @thread_safe_property
    def _runner(self) -> MachineCode | plain.NumPyRunner:
        """Machine code, or NumPy where there is none."""
        if self._face.operations is None:
            return plain.UntracedFunction(self._recipe, self._face)
        if self._memory is None:
            return plain.TracedProgram(self._tracing())
        return MachineCode(self._recipe, self._face, self._tracing, self._memory.code, seldom=not self._single_calls)

    @property
    def program(self) -> Program:
        """Straight-line program behind it."""
        made: Program = self._runner.program
        return made

    @property
    def operations(self) -> dict[str, int]:
        """Exact number of operations of each kind, before fusing."""
        if self._face.operations is None:
            raise self._recipe.too_large
        return self._face.operations

    @property
    def source(self) -> str:
        """LLVM text of the single-state code; empty where NumPy runs the same program."""
        text: str = self._runner.source
        return text

    @property
    def __signature__(self) -> inspect.Signature:
        """Signature ``(q, v, ..., *, threads=1, out=None)``."""
        P = inspect.Parameter
        names = [argument.name for argument in self.signature]
        kind = P.POSITIONAL_OR_KEYWORD if len(set(names)) == len(names) else P.POSITIONAL_ONLY
        names = names if kind is P.POSITIONAL_OR_KEYWORD else [f"{name}_{i}" for i, name in enumerate(names)]
        arguments = [P(name, kind) for name in names]
        options = [P("threads", P.KEYWORD_ONLY, default=1), P("out", P.KEYWORD_ONLY, default=None)]
        return inspect.Signature([*arguments, *options])

    @property
    def about(self) -> str:
        """Text of ``help(k)``: the arguments with their shapes and units, then the function's own words."""
        rows = [(a.name, _batched(a.shape), a.meaning) for a in self.signature]
        rows += [(name or "result", _batched(leaf.shape), "") for name, leaf in named_leaves(self._face.result)]
        wide = [max(len(row[i]) for row in rows) for i in (0, 1)]
        table = [f"    {name:<{wide[0]}}  {shape:<{wide[1]}}  {meaning}".rstrip() for name, shape, meaning in rows]
        own, first = inspect.cleandoc(self.function.__doc__ or ""), self._face.state
        also = [f"A State, or a batch of them, may stand for {', '.join(first)}."] if first else []
        also += ["The velocity does not matter: v may be given after q, and is ignored."] * (
            first == FLAT_STATE_FIELDS[:1]
        )
        return "\n".join([f"{self.name}{self.__signature__} of {self.model.name!r}", "", *table, "", *also, "", own])

    def __repr__(self) -> str:
        arguments = ", ".join(map(str, self.signature))
        how = "uncompiled" if self._face.operations is None else f"{self._work} operations"
        return f"<Kernel {self.name}({arguments}) of {self.model.name!r}: {how}>"

    def __reduce__(self) -> Any:
        return _made_of, tuple(self._recipe)

    # calls ----------------------------------------------------------------------------------------------------

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Results for arrays, or for states; see the class."""
        return self._slow(*arguments, **options)

    def optimized(self) -> Kernel:
        """Make the code for calls of one state as fast as it will be, now.

        That of large kernels is made quickly at first; after some hundred calls another thread makes code that takes
        two thirds of the time, with the same bits.  Before a control loop, or to measure, do not wait for that.

        Returns:
            This kernel.

        Example:
            >>> from fallingcat.compiler import compile
        >>> from fallingcat.dynamics import mass_matrix
            >>> from fallingcat.model import robots
            >>> k = compile(robots.cat(), mass_matrix).optimized()
        """
        if inspect.isfunction(type(self).__dict__.get("__call__")):
            improve(self)
        return self

    def _slow(self, *arguments: Any, **options: Any) -> Any:
        """Call with any arguments; :func:`compile` puts a fast path for arrays of one state before it."""
        if arguments and isinstance(arguments[0], State) and self._face.state:
            said = inputs_of(self.model, self._face.state, arguments[0], _flattener)
            return self(*said, *arguments[1:], **options)
        return self._of_arrays(*arguments, **options)

    def _of_arrays(self, *arguments: Any, threads: int = 1, out: np.ndarray | None = None, **by_name: Any) -> Any:
        """Any array-likes of the right shapes, with any leading batch shape."""
        rows, lead = self._argument_rows(
            self._arguments_in_order(arguments, by_name) if by_name else arguments, threads
        )
        flat = self._empty(lead) if out is None else self._result_buffer(out, lead, rows)
        if flat.size:
            self._runner.batch(rows, flat, threads)
        return rebuild(self._face.result, flat.reshape((*lead, self._size))) if out is None else out

    def _result_buffer(self, out: Any, lead: tuple[int, ...], rows: Sequence[np.ndarray]) -> np.ndarray:
        """``(count, size)``: where results go that are one array."""
        if not isinstance(self._face.result, Leaf):
            raise ModelError(f"{self.name} gives a record, which cannot be written into one array")
        shape = (*lead, *self._face.result.shape)
        fits = isinstance(out, np.ndarray) and out.shape == shape and out.dtype == self.dtype
        if not fits or not out.flags.c_contiguous or not out.flags.writeable:
            kind = f" of {out.dtype}" if isinstance(out, np.ndarray) and out.dtype != self.dtype else ""
            rule = f"out is a contiguous {self.dtype} array of shape {shape} that can be written"
            raise ModelError(f"{rule}, not {describe(out)}{kind}")
        if any(np.may_share_memory(out, x) for x in rows):
            raise ModelError("out shares memory with an argument, which is read while results are written")
        return np.asarray(out.reshape(-1, self._size) if self._size else self._empty(lead))

    def _argument_rows(self, arguments: Sequence[Any], threads: int) -> tuple[list[np.ndarray], tuple[int, ...]]:
        """Each argument as contiguous rows ``(count, size)`` of :attr:`dtype`, and the batch shape."""
        arguments = self._arguments_in_order(arguments)
        check_count(self.name, self.signature, arguments)
        arrays, leads = [], []
        for argument, given in zip(self.signature, arguments, strict=True):
            x = given if type(given) is np.ndarray and given.dtype is self.dtype else _real(argument, given)
            lead = argument.lead(x.shape)
            if not x.flags.c_contiguous or x.dtype is not self.dtype:
                check_batch(lead, max(self._size, argument.size))
                x = np.ascontiguousarray(x, dtype=self.dtype)
            leads.append(lead)
            arrays.append(x)
        _check_threads(threads)
        lead = leads[0] if leads else ()
        if leads.count(lead) < len(leads):
            lead = batch_shape(leads)
            check_batch(lead, self._size)
            arrays = [self._tiled(x, (*lead, *a.shape)) for x, a in zip(arrays, self.signature, strict=True)]
        check_batch(lead, self._size)
        count = math.prod(lead)
        return [x.reshape(count, size) for x, size in zip(arrays, self._sizes, strict=True)], lead

    def _arguments_in_order(self, arguments: Sequence[Any], by_name: Mapping[str, Any] | None = None) -> Sequence[Any]:
        return bound_arguments(self.name, self.model, self.signature, self._face.state, arguments, by_name)

    def _tiled(self, x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        if x.shape == shape:
            return x
        whole = np.empty(shape, dtype=self.dtype)  # half the time of np.broadcast_to
        whole[...] = x
        return whole

    def _empty(self, lead: tuple[int, ...]) -> np.ndarray:
        return np.empty((math.prod(lead), self._size), dtype=self.dtype)

    def blocks(self, *arguments: np.ndarray, threads: int = 1) -> np.ndarray:
        """Flat outputs of states that lie in blocks already.

        The fastest way: no transposing.

        Args:
            *arguments: ``(blocks, size, lanes)`` each, aligned, with :attr:`lanes` states in a block.
            threads: Number of threads.

        Returns:
            ``(blocks, outputs, lanes)``.
        """
        check_count(self.name, self.signature, arguments)
        if not all(isinstance(x, np.ndarray) and x.ndim == 3 for x in arguments):
            raise ModelError("the arguments are contiguous arrays of shape (blocks, size, lanes)")
        count = arguments[0].shape[0]
        for argument, x in zip(self.signature, arguments, strict=True):
            shape, alignment = (count, argument.size, self.lanes), self.lanes * self.dtype.itemsize
            if x.shape != shape or x.dtype != self.dtype or not x.flags.c_contiguous:
                raise ModelError(f"{argument.name} is a contiguous {self.dtype} array of shape {shape}")
            if x.ctypes.data % alignment:
                raise ModelError(f"{argument.name} is not aligned to {alignment} bytes: use kernels.aligned()")
        _check_threads(threads)
        out = aligned((count, self._size, self.lanes), self.dtype)
        if out.size:
            self._runner.blocks([x.reshape(count, -1) for x in arguments], out.reshape(count, -1), threads)
        return out

    @property
    def lanes(self) -> int:
        """States in one block: SIMD lanes of this processor."""
        lanes: int = self._runner.lanes
        return lanes

    def iterate(self, *arguments: Vector, rows: int, every: int = 1, threads: int = 1) -> np.ndarray:
        """Iterate ``x -> f(x, ...)`` in machine code, ``rows * every`` times.

        The first outputs are the first argument of the next time, as in the step of a simulation.

        Args:
            *arguments: First values, of the shapes of the inputs, with at most one batch axis.
            rows: Number of outputs that are kept.
            every: Steps from one of them to the next.
            threads: Number of threads.

        Returns:
            ``rows x (batch) x outputs``.
        """
        given, lead = self._argument_rows(arguments, threads)
        if len(lead) > 1 or not given or self.signature[0].size > self._size:
            raise ModelError(f"{self.name} is no step: its outputs do not begin with its first argument, or many axes")
        if min(rows, every) < 1:
            raise ModelError(f"rows and every are whole numbers above zero, not {describe(rows)}, {describe(every)}")
        kept = np.empty((rows, len(given[0]), self._size), dtype=self.dtype)
        if kept.size:
            self._runner.iterate(given, kept, every, threads, one=not lead)
        return kept.reshape(rows, *lead, self._size)

    def until(self, *arguments: Vector, most: int, threads: int = 1) -> np.ndarray:
        """Iterate ``x -> f(x, ...)`` in machine code until the last output is positive.

        As :meth:`iterate`, for what converges: each state stops by itself, with what the last time gave; the next of a
        batch then takes its place among the SIMD lanes.

        Args:
            *arguments: First values, with any batch shape.
            most: Largest number of steps.
            threads: Number of threads.

        Returns:
            ``(batch) x outputs``.
        """
        rows, lead = self._argument_rows(arguments, threads)
        if not rows or self.signature[0].size >= self._size:
            raise ModelError(f"{self.name} cannot be repeated: its outputs are not its first argument and a last flag")
        if isinstance(most, bool) or not isinstance(most, int) or most < 1:
            raise ModelError(f"most is a whole number above zero, not {describe(most)}")
        out = self._empty(lead)
        if out.size:
            self._runner.until(rows, out, most, threads, one=not lead)
        return out.reshape(*lead, self._size)

    def stepper(self, *arrays: np.ndarray, out: np.ndarray | None = None) -> tuple[Callable[[], Any], np.ndarray]:
        """Step of one state for a loop, as :meth:`iterate`: ``go, out = k.stepper(x, ...)``.

        Each ``go()`` starts from what the arrays hold by then, and what it finds is in ``out``.

        Args:
            *arrays: Arguments of one state, contiguous.
            out: Where results go (outputs), contiguous; None: a new array.

        Returns:
            Function without arguments, and its output (outputs).
        """
        rows, out = self._single(arrays), np.zeros(self._size, dtype=self.dtype) if out is None else out
        if out.shape != (self._size,) or out.dtype != self.dtype or not out.flags.c_contiguous:
            raise ModelError(f"out is a contiguous {self.dtype} array of shape {(self._size,)}, not {describe(out)}")
        return self._runner.stepper(rows, out.reshape(1, -1)), out

    def batcher(self, *arrays: np.ndarray, threads: int = 1) -> tuple[Callable[[], Any], Any]:
        """Batch of states for a loop: ``go, results = k.batcher(q, v, ...)``.

        Each ``go()`` computes from what the arrays hold by then, and what it finds is in ``results``: a call without
        the 30 us that checks and new arrays take.

        Args:
            *arrays: Arguments with one batch axis, contiguous.
            threads: Number of threads.

        Returns:
            Function without arguments, and its results, which are written anew every time.
        """
        check_count(self.name, self.signature, arrays)
        _check_threads(threads)
        count = len(arrays[0])
        for argument, x in zip(self.signature, arrays, strict=True):
            shape = (count, *argument.shape)
            if x.shape != shape or x.dtype != self.dtype or not x.flags.c_contiguous:
                raise ModelError(f"{argument.name} is a contiguous {self.dtype} array of shape {shape}")
        flat, rows = self._empty((count,)), [x.reshape(count, -1) if x.size else np.zeros((count, 0)) for x in arrays]
        return self._runner.batcher(rows, flat, threads), rebuild(self._face.result, flat)

    def repeater(self, *arrays: np.ndarray, most: int) -> tuple[Callable[[], Any], np.ndarray]:
        """Iteration of one state for a loop, as :meth:`until` and :meth:`stepper`.

        Args:
            *arrays: Arguments of one state, contiguous.
            most: Largest number of steps.

        Returns:
            Function without arguments, and its output (outputs).
        """
        rows, out = self._single(arrays), self.until(*arrays, most=most)
        return self._runner.repeater(rows, out.reshape(1, -1), most), out

    def _single(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The memory of one state's arguments."""
        bound_arguments = self._arguments_in_order(arrays)
        check_count(self.name, self.signature, bound_arguments)
        for argument, x in zip(self.signature, bound_arguments, strict=True):
            if not isinstance(x, np.ndarray) or x.dtype != self.dtype or not x.flags.c_contiguous:
                raise ModelError(f"{argument.name} is no contiguous {self.dtype} array")
            if argument.lead(x.shape):
                raise ModelError(f"{argument.name} is that of one state, without batch axes")
        return [x.reshape(1, -1) for x in bound_arguments]


def _real(argument: Argument, given: Any) -> np.ndarray:
    """An argument as an array of real numbers."""
    try:
        x = np.asarray(given)
    except ValueError:
        raise ModelError(f"{argument.name} is no array: its rows differ in length") from None
    if x.dtype.kind not in "fiu" or isinstance(given, np.ma.MaskedArray):
        kind = "a mask" if x.dtype.kind in "fiu" else x.dtype
        raise ModelError(f"{argument.name} holds {kind} and not real numbers")
    return x


def _check_threads(threads: Any) -> None:
    if not isinstance(threads, int) or threads < 1:
        raise ModelError(f"threads is a whole number above zero, not {threads!r}")


@functools.lru_cache(maxsize=8)
def _flattener(model: Model) -> Kernel:
    """:func:`flat_state` of one robot."""
    from .compilation import compile

    shapes = dict(zip(State._fields, shapes_of(model), strict=True))
    kernel: Kernel = compile(model, flat_state, inputs=shapes)
    return kernel


def _made_of(*recipe: Any) -> Kernel:
    """The kernel of a recipe; for copies and pickles."""
    from .compilation import compiled

    kernel: Kernel = compiled(Recipe(*recipe), "cpu")
    return kernel


def _batched(shape: tuple[int, ...]) -> str:
    return f"({', '.join(['...', *map(str, shape)])})"
