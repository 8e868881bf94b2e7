"""Kernels on the GPU, through CuPy: ``compile(model, function, target="cuda")``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...caching import cached_property
from ...errors import ModelError
from ...model import Model
from ..codegen.c_syntax import identifier, table
from ..ir.inputs import Argument, batch_shape, bound_arguments, check_count
from ..ir.results import rebuild
from ..ir.trace import Recipe, Trace, trace
from .column_loops import stays
from .emitter import Text
from .nvrtc import Code, cupy_module
from .stages import Stages

CALLS_PER_LAUNCH = 64
"""Calls in one launch, at most: between launches a run can be interrupted."""


def build(recipe: Recipe) -> CudaKernel:
    """The kernel; its text can be read on a machine without a GPU."""
    return CudaKernel(recipe.model, recipe.function, trace(recipe, stays), recipe.dtype)


class CudaKernel:
    """A function of one robot on the GPU: ``k(q, v, ...)``.

    Arguments are arrays on the GPU (CuPy, JAX, Torch: anything with DLPack; see :attr:`signature`), all with the same
    leading batch shape; the result is of the kind of the first.  :meth:`columns` is the way without any copy.
    """

    def __init__(self, model: Model, function: Callable[..., Any], traced: Trace, dtype: str) -> None:
        self.model, self.function, self._trace = model, function, traced
        self.dtype = np.dtype(dtype)
        self.name = identifier(function)
        self._code = Code(traced.inputs, traced.outputs, dtype, self.name)

    @property
    def signature(self) -> tuple[Argument, ...]:
        """Name, shape and meaning of each argument."""
        return self._trace.arguments

    @property
    def size(self) -> int:
        """Number of outputs."""
        return len(self._trace.outputs)

    @property
    def stages(self) -> Stages:
        """The function as one GPU kernel, or several one after the other."""
        return self._code.stages

    @property
    def operations(self) -> dict[str, int]:
        """Exact number of operations of each kind, before fusing."""
        return self._trace.graph.count(self._trace.outputs)

    @property
    def texts(self) -> list[Text]:
        """For each stage its kernel and what a launch needs; :attr:`source` has all of them."""
        return self._code.texts

    @property
    def kernels(self) -> list[Any]:
        """The compiled ``cupy.RawKernel`` of each stage (``num_regs``, ``local_size_bytes`` tell what it needs)."""
        return self._code.kernels

    @cached_property
    def source(self) -> str:
        """The CUDA text: kernels ``name_0``, ``name_1``, ... to be launched in turn."""
        names = [f"a{i}" for i in range(len(self.signature))]
        about = ["/*", *table(self.model, self.signature, self._trace, sum(self.operations.values()), names), " */"]
        return "\n".join([*about, self._code.prelude, *(text.source for text in self.texts)])

    def __repr__(self) -> str:
        arguments = ", ".join(map(str, self.signature))
        return f"<CudaKernel {self.name}({arguments}): {sum(self.operations.values())} operations>"

    # calls ----------------------------------------------------------------------------------------------------

    def columns(self, *arguments: Any) -> Any:
        """The flat outputs ``(outputs, n)`` for arguments ``(size, n)``: state ``i`` in column ``i``.

        Nothing is copied: contiguous arrays of :attr:`dtype` on the GPU are taken as they are, by DLPack.
        """
        arrays = self._checked(arguments)
        return _as_library_of(self._launch(arrays, arrays[0].shape[1]), arguments[0])

    def iterate(self, *arguments: Any, every: int) -> Any:
        """Outputs of :meth:`columns` after ``every`` times, each of which takes the last ones as its first argument.

        Both are ``outputs x n``: many times in one launch where it is one kernel.
        """
        first = self.signature[0]
        if self.size != first.size:
            raise ModelError(f"{self.name} gives {self.size} numbers and takes {first.size} as {first.name}")
        arrays = self._checked(arguments)
        text, count = self._code.looped, arrays[0].shape[1]
        if text is None or not count:
            for _ in range(every):
                arrays[0] = self._launch(arrays, count)
        else:
            for start in range(0, every, CALLS_PER_LAUNCH):
                arrays[0] = self._launch_loop(text, arrays, min(CALLS_PER_LAUNCH, every - start))
        return _as_library_of(arrays[0], arguments[0])

    def _checked(self, arguments: Sequence[Any]) -> list[Any]:
        """Contiguous columns."""
        cupy = cupy_module()
        arrays = [_as_cupy(cupy, x) for x in arguments]
        check_count(self.name, self.signature, arrays)
        for argument, x in zip(self.signature, arrays, strict=True):
            if x.ndim != 2 or x.shape[0] != argument.size:
                raise ModelError(f"{argument.name} must have shape ({argument.size}, n), got {x.shape}")
            if x.dtype != self.dtype or not x.flags.c_contiguous:
                raise ModelError(f"{argument.name} is a contiguous {self.dtype} array of shape ({argument.size}, n)")
            if x.shape[1] != arrays[0].shape[1]:
                raise ModelError(
                    f"{argument.name} has {x.shape[1]} columns, {self.signature[0].name} has {arrays[0].shape[1]}"
                )
        return arrays

    def __call__(self, *arguments: Any, **by_name: Any) -> Any:
        """The result with the leading batch shape of the arguments; they are turned into columns first."""
        cupy = cupy_module()
        arguments = tuple(bound_arguments(self.name, self.model, self.signature, self._trace.state, arguments, by_name))
        arrays = [_as_cupy(cupy, x) for x in arguments]
        check_count(self.name, self.signature, arrays)
        for argument, x in zip(self.signature, arrays, strict=True):
            if x.dtype.kind not in "fiu":
                raise ModelError(f"{argument.name} holds {x.dtype} and not real numbers")
        lead = batch_shape([a.lead(x.shape) for a, x in zip(self.signature, arrays, strict=True)])
        count = int(np.prod(lead, dtype=int))
        columns = []
        for argument, x in zip(self.signature, arrays, strict=True):
            rows = cupy.broadcast_to(x, (*lead, *argument.shape)).reshape(count, argument.size)
            columns.append(cupy.ascontiguousarray(rows.T, dtype=self.dtype))
        flat = self._launch(columns, count).T.reshape(*lead, self.size)
        return rebuild(self._trace.result, _as_library_of(flat, arguments[0]))

    def batcher(self, *columns: Any, out: Any = None) -> tuple[Callable[[], Any], Any]:
        """Batch of states for a loop: ``go, out = k.batcher(q, v, ...)``, of :meth:`columns`.

        Each ``go()`` computes from what the arrays hold by then, and what it finds is in ``out`` (outputs x n).
        """
        cupy, arrays = cupy_module(), self._checked(columns)
        count = arrays[0].shape[1]
        _check_width(count)
        out = cupy.empty((self.size, count), dtype=self.dtype) if out is None else out
        work = cupy.empty((max(self.stages.places, 1), count), dtype=self.dtype)
        launches = [
            (kernel, (-(-count // text.states),), (text.block,), text.shared)
            for text, kernel in zip(self.texts, self.kernels, strict=True)
        ]
        given = (*arrays, work, work, out, np.uint32(count))

        def go() -> Any:
            for kernel, grid, block, shared in launches if count else ():
                kernel(grid, block, given, shared_mem=shared)
            return out

        return go, out

    def _launch(self, columns: list[Any], count: int) -> Any:
        if not count:
            return cupy_module().empty((self.size, count), dtype=self.dtype)
        return self.batcher(*columns)[0]()

    def _launch_loop(self, text: Text, columns: list[Any], times: int) -> Any:
        """Outputs of so many calls in turn, by one launch."""
        cupy, count = cupy_module(), columns[0].shape[1]
        _check_width(count)
        blocks = -(-count // text.states)
        out = cupy.empty((self.size, count), dtype=self.dtype)
        tiles = cupy.empty((blocks, 2, self.size, text.states), dtype=self.dtype)
        arguments = (*columns, tiles, tiles, out, np.uint32(count), np.uint32(times))
        self._code.loop((blocks,), (text.block,), arguments, shared_mem=text.shared)
        return out


def _check_width(count: int) -> None:
    if count >= 1 << 31:
        raise ModelError(f"{count:,} states at once: 2,147,483,647 at most")


def _as_cupy(cupy: Any, x: Any) -> Any:
    """``x`` as a CuPy array: by DLPack what is on the GPU, a copy of what is a NumPy array or a list."""
    if isinstance(x, cupy.ndarray):
        return x
    return cupy.from_dlpack(x) if hasattr(x, "__dlpack__") and not isinstance(x, np.ndarray) else cupy.asarray(x)


def _as_library_of(x: Any, like: Any) -> Any:
    """``x`` as an array of the library that ``like`` comes from."""
    cupy = cupy_module()
    if isinstance(like, cupy.ndarray):
        return x
    library = type(like).__module__.partition(".")[0]
    if library == "torch":
        import torch

        return torch.from_dlpack(x)
    if library in ("jax", "jaxlib"):
        import jax

        return jax.dlpack.from_dlpack(cupy.ascontiguousarray(x))  # JAX has no strides
    return x.get() if isinstance(like, (np.ndarray, list, tuple, float, int)) else x
