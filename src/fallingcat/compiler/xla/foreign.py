"""Programs that XLA can call, and the programs of their derivatives."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...arrays.differentiate import jacobian_vector_product, vector_jacobian_product
from ...arrays.graph import TooLong
from ...arrays.loops import LoopBody
from ..cache.index import Memory
from ..codegen.c_syntax import identifier
from ..cpu import array_entry as entry
from ..cpu import llvm, native
from ..cpu.operation import ELEMENTS
from ..cpu.threads import making, thread_safe_property
from ..cuda.column_loops import stays
from ..cuda.nvrtc import Code
from ..ir.inputs import function_name
from ..ir.program import MAX_WHOLE_LENGTH, Program, program, recut
from ..ir.trace import Recipe, without_garbage_collection
from .handler import handler, version
from .launcher import Launch, launcher


class Expressions(NamedTuple):
    """Traced inputs, one flat array for each argument, and the outputs that they make."""

    inputs: list[np.ndarray]
    outputs: list[Any]


class Linear(NamedTuple):
    """A program that is linear in its last arguments: ``J d`` or ``J' w`` of another one."""

    parent: Foreign
    active: tuple[int, ...]
    """the arguments of the parent along which ``J`` is the derivative"""
    forward: bool


class Foreign:
    """A program from flat arguments ``(count, size)`` to flat outputs ``(count, outputs)``.

    ``expressions(loops)`` says it, with loops kept or not; ``which`` names it among those of the same recipe.
    """

    def __init__(
        self,
        recipe: Recipe,
        which: str,
        sizes: Sequence[int],
        outputs: int,
        expressions: Callable[[bool | Callable[[LoopBody], bool]], Expressions],
        linear: Linear | None = None,
    ) -> None:
        self.sizes, self.outputs, self.linear = tuple(sizes), outputs, linear
        self._recipe, self._which, self._expressions = recipe, which, expressions
        self._derived: dict[tuple[bool, tuple[int, ...]], Foreign] = {}
        self._launched: dict[str, tuple[str, int]] = {}

    def __repr__(self) -> str:
        return f"{function_name(self._recipe.function)}{self._which}"

    # derivatives ----------------------------------------------------------------------------------------------

    def tangent(self, active: tuple[int, ...]) -> Foreign:
        """``(x, d) -> J d``: how the outputs change where the ``active`` arguments change along ``d``."""
        return self._derivative(active, True)

    def cotangent(self, active: tuple[int, ...]) -> Foreign:
        """``(x, w) -> J' w``: how ``w @ outputs`` changes with the ``active`` arguments, one after the other."""
        return self._derivative(active, False)

    def _derivative(self, active: tuple[int, ...], forward: bool) -> Foreign:
        with making:
            key = (forward, active)
            if key not in self._derived:
                self._derived[key] = self._derive(active, forward)
            return self._derived[key]

    def _derive(self, active: tuple[int, ...], forward: bool) -> Foreign:
        path = f"{self._which}/{'tangent' if forward else 'cotangent'}"
        moved = [self.sizes[i] for i in active]

        def expressions(loops: bool | Callable[[LoopBody], bool]) -> Expressions:
            inputs, outputs = self._straight
            given = [x for i in active for x in inputs[i]]
            graph = inputs[active[0]][0].graph
            try:
                if forward:
                    along = [graph.inputs(f"{path} {i} ", self.sizes[i]) for i in active]
                    directions = dict(zip(given, (d for ds in along for d in ds), strict=True))
                    return Expressions([*inputs, *along], jacobian_vector_product(outputs, directions))
                weights = graph.inputs(f"{path} ", len(outputs))
                return Expressions([*inputs, weights], vector_jacobian_product(outputs, weights, given))
            except TooLong:
                raise self._recipe.too_large from None

        sizes = [*self.sizes, *(moved if forward else [self.outputs])]
        which = f"{path} {','.join(map(str, active))}"
        count = self.outputs if forward else sum(moved)
        return Foreign(self._recipe, which, sizes, count, expressions, Linear(self, active, forward))

    @thread_safe_property
    def _straight(self) -> Expressions:
        """Without loops: what derivatives and other platforms are made of."""
        return self._expressions(False)

    @thread_safe_property
    def program(self) -> Program:
        """One operation after the other, none of them fused."""
        return program(self._straight.inputs, self._straight.outputs, fuse=False)

    # code -----------------------------------------------------------------------------------------------------

    def target(self, dtype: str, count: int) -> str:
        """The name by which XLA finds the code for ``count`` states in arrays of this type."""
        return _register_code(self._one if count == 1 else self._block, ELEMENTS[dtype])

    def on_gpu(self, dtype: str) -> tuple[str, int]:
        """The name by which XLA finds launches for arrays of this type on a GPU, and how much workspace they need."""
        with making, without_garbage_collection():
            if dtype not in self._launched:
                self._launched[dtype] = self._launches(dtype)
            return self._launched[dtype]

    def _launches(self, dtype: str) -> tuple[str, int]:
        code = Code(*self._expressions(stays), dtype, identifier(self._recipe.function))
        return _launching(len(self.sizes), code), max(1, code.stages.places)

    @thread_safe_property
    def _one(self) -> bytes:
        """One state in scalars."""
        return self._code(1)

    @thread_safe_property
    def _block(self) -> bytes:
        """A block of states in SIMD lanes."""
        return self._code(self._lanes)

    @property
    def _lanes(self) -> int:
        return native.cpu().width // np.dtype(self._recipe.dtype).itemsize

    def _code(self, lanes: int) -> bytes:
        """Derivatives of one state are made quickly: calls by XLA take longer than what is lost."""
        which, quick = f"xla{version()} {lanes}{self._which}", lanes == 1 and self.linear is not None
        with without_garbage_collection():
            return Memory(self._recipe).code(which, partial(self._text, lanes), quick)

    def _text(self, lanes: int) -> str:
        inputs, outputs = self._expressions(True)
        made = program(inputs, outputs, fuse=native.cpu().fma)
        cut = made if lanes == 1 else recut(made, MAX_WHOLE_LENGTH)
        type_ = llvm.Type(ELEMENTS[self._recipe.dtype], lanes)
        lines = [llvm.module(cut, type_, "kernel", self._lanes), "declare ptr @malloc(i64)\ndeclare void @free(ptr)"]
        for outside in ELEMENTS.values():
            lines += [*entry.batch(cut, type_, outside), *handler(len(self.sizes), outside, version())]
        return "\n".join(lines)


def _register_code(code: bytes, element: str) -> str:
    """The name that XLA knows the code by: its digest, since XLA may keep what calls it in files, for other processes.

    The code stays as long as the process: XLA does not say when it calls it for the last time.
    """
    import jax

    name = f"fallingcat_{hashlib.sha256(code).hexdigest()}"
    with making:
        if name not in _libraries:
            ffi: Any = jax.ffi
            library = native.Library(code, [f"handle_{each}" for each in ELEMENTS.values()])
            for each in ELEMENTS.values():
                capsule = ffi.pycapsule(library.address(f"handle_{each}"))
                ffi.register_ffi_target(f"{name}_{each}", capsule, platform="cpu")
            _libraries[name] = library
    return f"{name}_{element}"


def _launching(inputs: int, code: Code) -> str:
    """The name that XLA knows launches by: the digest of their text; they stay as long as the process, too."""
    import jax

    name = f"fallingcat_{hashlib.sha256(''.join(text.source for text in code.texts).encode()).hexdigest()}"
    if name not in _libraries:
        driver = ctypes.CDLL("libcuda.so.1")
        start = ctypes.cast(driver.cuLaunchKernel, ctypes.c_void_p).value or 0
        launches = [
            Launch(kernel.kernel.ptr, text.states, text.block, text.shared)
            for text, kernel in zip(code.texts, code.kernels, strict=True)
        ]
        text = "\n".join(launcher(inputs, launches, start, version()))
        library = native.Library(native.object_code(text), ["launch"])
        ffi: Any = jax.ffi
        ffi.register_ffi_target(name, ffi.pycapsule(library.address("launch")), platform="CUDA")
        _libraries[name], _kernels[name] = library, code
    return name


_kernels: dict[str, Code] = {}
_libraries: dict[str, native.Library] = {}
