"""Expressions as GPU kernels: their stages, the CUDA text, and what NVRTC makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ...caching import cached_property
from ...errors import ExtraMissingError
from ..codegen.c_syntax import Real
from ..ir.trace import without_garbage_collection
from . import emit_columns as cuda_repeated
from . import emit_iterated as cuda_looped
from . import emit_while as cuda_rounds
from . import emitter as cuda
from .column_loops import RepeatedInstructions, Rounds, split_into_stages
from .stages import Stage, Stages

_TEXTS: dict[type, Callable[..., cuda.Text]] = {
    Stage: cuda.text,
    RepeatedInstructions: cuda_repeated.text,
    Rounds: cuda_rounds.text,
}


class Code:
    """Kernels ``name_0``, ``name_1``, ... in turn, which compute ``outputs`` from traced ``inputs``, state by state."""

    def __init__(self, inputs: Sequence[np.ndarray], outputs: Sequence[Any], dtype: str, name: str) -> None:
        self._inputs, self._outputs, self._dtype, self._name = inputs, outputs, dtype, name

    @cached_property
    def stages(self) -> Stages:
        """One GPU kernel, or several one after the other."""
        with without_garbage_collection():
            return split_into_stages(self._inputs, self._outputs, self._dtype)

    @cached_property
    def texts(self) -> list[cuda.Text]:
        """For each stage its kernel and what a launch needs."""
        arguments, stages = len(self._inputs), self.stages.stages
        with without_garbage_collection():
            return [_TEXTS[type(x)](x, arguments, self._dtype, f"{self._name}_{k}") for k, x in enumerate(stages)]

    @cached_property
    def prelude(self) -> str:
        """Functions that all kernels call."""
        return "\n".join(_prelude(Real(self._dtype)))

    @cached_property
    def looped(self) -> cuda.Text | None:
        """The kernel that does it again and again to what it gives, if it is one straight line."""
        stage, *others = self.stages.stages
        if others or not isinstance(stage, Stage) or len(self._outputs) != np.size(self._inputs[0]):
            return None
        with without_garbage_collection():
            return cuda_looped.text(stage, len(self._inputs), self._dtype, f"{self._name}_looped")

    @cached_property
    def kernels(self) -> list[Any]:
        """The compiled ``cupy.RawKernel`` of each stage (``num_regs``, ``local_size_bytes`` tell what it needs)."""
        device = cupy_module().cuda.Device()
        if len(self.texts) == 1:
            return [self._compile(self.texts[0], device)]
        with ThreadPoolExecutor() as pool:  # NVRTC takes about a second for each thousand instructions
            return list(pool.map(lambda text: self._compile(text, device), self.texts))

    @cached_property
    def loop(self) -> Any:
        """The compiled kernel of :attr:`looped`."""
        assert self.looped is not None
        return self._compile(self.looped, cupy_module().cuda.Device())

    def _compile(self, text: cuda.Text, device: Any) -> Any:
        with device:
            code = f"{self.prelude}\n{text.source}"
            module = cupy_module().RawModule(code=code, options=("-std=c++17",), backend="nvrtc")
            kernel = module.get_function(text.name)
            kernel.max_dynamic_shared_size_bytes = text.shared
            return kernel


def _prelude(real: Real) -> Iterator[str]:
    yield from cuda.prelude(real)
    yield from cuda_repeated.prelude(real)


def cupy_module() -> Any:
    """CuPy, or an error that says how to get it."""
    try:
        import cupy
    except ImportError:
        raise ExtraMissingError("gpu", package="cupy", purpose="running a kernel on the GPU") from None
    return cupy
