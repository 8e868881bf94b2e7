"""Kernels on the GPU, through CuPy: ``compile(model, function, target="cuda")``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import ExtraMissingError, ModelError
from ..model import Model
from . import cuda, limbs
from .ctext import identifier
from .program import Program, program
from .schedule import schedule
from .trace import Argument, Trace

CROWDED = {"float32": 110, "float64": 55}
"""With more waiting values than this a thread runs short of registers, and the limbs get warps of their own."""


def build(model: Model, function: Callable[..., Any], traced: Trace, dtype: str) -> CudaKernel:
    """The kernel; its text can be read on a machine without a GPU."""
    return CudaKernel(model, function, traced, dtype)


class CudaKernel:
    """A function of one robot on the GPU: ``k(q, v, ...)``.

    Arguments are arrays on the GPU (CuPy, JAX, Torch: anything with DLPack) of shape ``(..., size)``, all with the same
    leading batch shape; the result is of the kind of the first.  :meth:`columns` is the way without any copy.
    """

    def __init__(self, model: Model, function: Callable[..., Any], traced: Trace, dtype: str) -> None:
        self.model, self.function, self._trace = model, function, traced
        self.dtype = np.dtype(dtype)
        self.name = identifier(function)
        self._limbs = limbs.limbs(model) if len(self.program.instructions) <= cuda.STRAIGHT else None

    @property
    def signature(self) -> tuple[Argument, ...]:
        """Name, size and meaning of each argument."""
        return self._trace.arguments

    @cached_property
    def program(self) -> Program:
        """The straight-line program behind it, in an order for few registers."""
        plain = program(self._trace.inputs, self._trace.outputs, fuse=True)
        if len(plain.instructions) > cuda.STRAIGHT:
            return plain
        return replace(plain, instructions=schedule(plain.instructions, plain.inputs, plain.outputs))

    @property
    def operations(self) -> dict[str, int]:
        """Exact number of operations of each kind, before fusing."""
        return self._trace.graph.count(self._trace.outputs)

    @cached_property
    def source(self) -> str:
        """The CUDA text."""
        if self._limbs is not None:
            return limbs.text(self.program, self.model, self._limbs, self.dtype.name, self.name)
        return cuda.text(self.program, self.dtype.name, self.name)

    def __repr__(self) -> str:
        arguments = ", ".join(f"{a.name}({a.size})" for a in self.signature)
        return f"<CudaKernel {self.name}({arguments}): {sum(self.operations.values())} operations>"

    # calls ----------------------------------------------------------------------------------------------------

    def columns(self, *arguments: Any) -> Any:
        """The flat outputs ``(outputs, n)`` for arguments ``(size, n)``: state ``i`` in column ``i``.

        Nothing is copied: contiguous arrays of :attr:`dtype` on the GPU are taken as they are, by DLPack.
        """
        cupy = _cupy()
        arrays = [_received(cupy, x) for x in arguments]
        self._check(arrays, columns=True)
        for argument, x in zip(self.signature, arrays, strict=True):
            if x.dtype != self.dtype or not x.flags.c_contiguous:
                raise ModelError(f"{argument.name} is a contiguous {self.dtype} array of shape ({argument.size}, n)")
        return _returned(self._launch(arrays, arrays[0].shape[1]), arguments[0])

    def __call__(self, *arguments: Any) -> Any:
        """The result with the leading batch shape of the arguments; they are turned into columns first."""
        from .trace import rebuild

        cupy = _cupy()
        arrays = [_received(cupy, x) for x in arguments]
        self._check(arrays, columns=False)
        lead = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
        count = int(np.prod(lead, dtype=int))
        columns = []
        for x in arrays:
            rows = cupy.broadcast_to(x, (*lead, x.shape[-1])).reshape(count, x.shape[-1])
            columns.append(cupy.ascontiguousarray(rows.T, dtype=self.dtype))
        flat = self._launch(columns, count).T.reshape(*lead, len(self._trace.outputs))
        return rebuild(self._trace.structure, _returned(flat, arguments[0]))

    def _check(self, arrays: list[Any], columns: bool) -> None:
        wanted = self.signature
        if len(arrays) != len(wanted):
            names = ", ".join(a.name for a in wanted)
            raise ModelError(f"{self.name} takes {len(wanted)} arguments ({names}), not {len(arrays)}")
        axis, text = (0, "({}, n)") if columns else (-1, "(..., {})")
        for argument, x in zip(wanted, arrays, strict=True):
            if x.ndim == 0 or (columns and x.ndim != 2) or x.shape[axis] != argument.size:
                raise ModelError(f"{argument.name} has shape {text.format(argument.size)}, not {x.shape}")
            if x.dtype.kind not in "fiu":
                raise ModelError(f"{argument.name} holds {x.dtype} and not real numbers")
            if columns and x.shape[1] != arrays[0].shape[1]:
                raise ModelError(f"{argument.name} has {x.shape[1]} columns, {wanted[0].name} has {arrays[0].shape[1]}")

    def _launch(self, columns: list[Any], count: int) -> Any:
        out = _cupy().empty((len(self._trace.outputs), count), dtype=self.dtype)
        if count:
            states, threads = (32, 32 * self._limbs.parts) if self._limbs is not None else (128, 128)
            self.function_on_device((-(-count // states),), (threads,), (*columns, out, np.int64(count)))
        return out

    @cached_property
    def function_on_device(self) -> Any:
        """The compiled ``cupy.RawKernel`` (its ``num_regs``, ``local_size_bytes`` tell what it needs)."""
        options = ("-std=c++17", "--fmad=true")
        return _cupy().RawModule(code=self.source, options=options, backend="nvrtc").get_function(self.name)


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
    library = type(like).__module__.partition(".")[0]
    if library == "torch":
        import torch

        return torch.from_dlpack(x)
    if library in ("jax", "jaxlib"):
        import jax

        return jax.dlpack.from_dlpack(_cupy().ascontiguousarray(x))
    return x.get() if isinstance(like, (np.ndarray, list)) else x
