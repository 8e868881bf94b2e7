"""Kernels on the GPU, through CuPy: ``compile(model, function, target="cuda")``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import ExtraMissingError, ModelError
from ...model import Model
from ..ir.inputs import Argument, batch_shape, check_count
from ..ir.results import rebuild
from ..ir.trace import Recipe, Trace, trace
from ..text.shared import Real, identifier, table
from . import cuda, cuda_repeated
from .repeated import Repeated, cut, dense
from .stages import Stages


def build(recipe: Recipe) -> CudaKernel:
    """The kernel; its text can be read on a machine without a GPU."""
    return CudaKernel(recipe.model, recipe.function, trace(recipe, dense), recipe.dtype)


class CudaKernel:
    """A function of one robot on the GPU: ``k(q, v, ...)``.

    Arguments are arrays on the GPU (CuPy, JAX, Torch: anything with DLPack; see :attr:`signature`), all with the same
    leading batch shape; the result is of the kind of the first.  :meth:`columns` is the way without any copy.
    """

    def __init__(self, model: Model, function: Callable[..., Any], traced: Trace, dtype: str) -> None:
        self.model, self.function, self._trace = model, function, traced
        self.dtype = np.dtype(dtype)
        self.name = identifier(function)

    @property
    def signature(self) -> tuple[Argument, ...]:
        """Name, shape and meaning of each argument."""
        return self._trace.arguments

    @property
    def size(self) -> int:
        """How many numbers it gives."""
        return len(self._trace.outputs)

    @cached_property
    def stages(self) -> Stages:
        """The function as one GPU kernel, or several one after the other."""
        return cut(self._trace.inputs, self._trace.outputs, self.dtype.name)

    @property
    def operations(self) -> dict[str, int]:
        """Exact number of operations of each kind, before fusing."""
        return self._trace.graph.count(self._trace.outputs)

    @cached_property
    def texts(self) -> list[cuda.Text]:
        """For each stage its kernel and what a launch needs; :attr:`source` has all of them."""
        count, dtype = len(self._trace.inputs), self.dtype.name
        made = []
        for k, stage in enumerate(self.stages.stages):
            text = cuda_repeated.text if isinstance(stage, Repeated) else cuda.text
            made.append(text(stage, count, dtype, f"{self.name}_{k}"))
        return made

    @cached_property
    def source(self) -> str:
        """The CUDA text: kernels ``name_0``, ``name_1``, ... to be launched in turn."""
        names = [f"a{i}" for i in range(len(self.signature))]
        about = ["/*", *table(self.model, self.signature, self._trace, sum(self.operations.values()), names), " */"]
        return "\n".join([*about, *_prelude(Real(self.dtype.name)), *(text.source for text in self.texts)])

    def __repr__(self) -> str:
        arguments = ", ".join(map(str, self.signature))
        return f"<CudaKernel {self.name}({arguments}): {sum(self.operations.values())} operations>"

    # calls ----------------------------------------------------------------------------------------------------

    def columns(self, *arguments: Any) -> Any:
        """The flat outputs ``(outputs, n)`` for arguments ``(size, n)``: state ``i`` in column ``i``.

        Nothing is copied: contiguous arrays of :attr:`dtype` on the GPU are taken as they are, by DLPack.
        """
        cupy = _cupy()
        arrays = [_received(cupy, x) for x in arguments]
        check_count(self.name, self.signature, arrays)
        for argument, x in zip(self.signature, arrays, strict=True):
            if x.ndim != 2 or x.shape[0] != argument.size:
                raise ModelError(f"{argument.name} has shape ({argument.size}, n), not {x.shape}")
            if x.dtype != self.dtype or not x.flags.c_contiguous:
                raise ModelError(f"{argument.name} is a contiguous {self.dtype} array of shape ({argument.size}, n)")
            if x.shape[1] != arrays[0].shape[1]:
                raise ModelError(
                    f"{argument.name} has {x.shape[1]} columns, {self.signature[0].name} has {arrays[0].shape[1]}"
                )
        return _returned(self._launch(arrays, arrays[0].shape[1]), arguments[0])

    def __call__(self, *arguments: Any) -> Any:
        """The result with the leading batch shape of the arguments; they are turned into columns first."""
        cupy = _cupy()
        arrays = [_received(cupy, x) for x in arguments]
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
        return rebuild(self._trace.result, _returned(flat, arguments[0]))

    def _launch(self, columns: list[Any], count: int) -> Any:
        cupy = _cupy()
        out = cupy.empty((self.size, count), dtype=self.dtype)
        if not count:
            return out
        if count >= 1 << 31:
            raise ModelError(f"{count:,} states at once: 2,147,483,647 at most")
        work = cupy.empty((max(self.stages.places, 1), count), dtype=self.dtype)
        for text, kernel in zip(self.texts, self.kernels, strict=True):
            arguments = (*columns, work, work, out, np.uint32(count))
            kernel((-(-count // text.states),), (text.block,), arguments, shared_mem=text.shared)
        return out

    @cached_property
    def kernels(self) -> list[Any]:
        """The compiled ``cupy.RawKernel`` of each stage (``num_regs``, ``local_size_bytes`` tell what it needs)."""
        cupy = _cupy()
        prelude = "\n".join(_prelude(Real(self.dtype.name)))
        device = cupy.cuda.Device()

        def compiled(text: cuda.Text) -> Any:
            with device:
                module = cupy.RawModule(code=f"{prelude}\n{text.source}", options=("-std=c++17",), backend="nvrtc")
                kernel = module.get_function(text.name)
                kernel.max_dynamic_shared_size_bytes = text.shared
                return kernel

        if len(self.texts) == 1:
            return [compiled(self.texts[0])]
        with ThreadPoolExecutor() as pool:  # NVRTC takes about a second for each thousand instructions
            return list(pool.map(compiled, self.texts))


def _prelude(real: Real) -> Iterator[str]:
    yield from cuda.prelude(real)
    yield from cuda_repeated.prelude(real)


def _cupy() -> Any:
    try:
        import cupy
    except ImportError:
        raise ExtraMissingError("gpu", package="cupy", purpose="running a kernel on the GPU") from None
    return cupy


def _received(cupy: Any, x: Any) -> Any:
    """``x`` as a CuPy array: by DLPack what is on the GPU, a copy of what is a NumPy array or a list."""
    if isinstance(x, cupy.ndarray):
        return x
    return cupy.from_dlpack(x) if hasattr(x, "__dlpack__") and not isinstance(x, np.ndarray) else cupy.asarray(x)


def _returned(x: Any, like: Any) -> Any:
    """``x`` as an array of the library that ``like`` comes from."""
    cupy = _cupy()
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
