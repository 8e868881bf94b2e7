"""A foreign program as a primitive of JAX: what it gives, and how it is batched, differentiated and transposed.

Arguments and result are matrices, one state in each row.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import cache
from itertools import accumulate, pairwise
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ..codegen.jax import interpret_program
from .foreign import Foreign

call: Any = Primitive("fallingcat")
"""``call.bind(*arguments, kernel=..., count=..., dtype=...)``: of ``count`` states"""


@cache
def _eager(kernel: Foreign, count: int, dtype: str) -> Any:
    return jax.jit(lambda *arguments: call.bind(*arguments, kernel=kernel, count=count, dtype=dtype))


def _impl(*arguments: Any, **about: Any) -> Any:
    return _eager(**about)(*arguments)


def _abstract(*arguments: Any, kernel: Foreign, count: int, dtype: str) -> Any:
    return jax.core.ShapedArray((count, kernel.outputs), jnp.dtype(dtype))


def _batching_rule(arguments: Sequence[Any], axes: Sequence[Any], *, kernel: Foreign, count: int, dtype: str) -> Any:
    """One call for all states of all batches."""
    size = next(x.shape[a] for x, a in zip(arguments, axes, strict=True) if a is not None)

    def whole(x: Any, axis: Any) -> Any:
        x = jnp.broadcast_to(x, (size, *x.shape)) if axis is None else jnp.moveaxis(x, axis, 0)
        return x.reshape((size * count, x.shape[-1]))

    given = [whole(x, axis) for x, axis in zip(arguments, axes, strict=True)]
    out = call.bind(*given, kernel=kernel, count=size * count, dtype=dtype)
    return out.reshape((size, count, kernel.outputs)), 0


def _jvp_rule(primals: Sequence[Any], tangents: Sequence[Any], *, kernel: Foreign, **about: Any) -> Any:
    """``f(x)`` and ``J d``."""
    value = call.bind(*primals, kernel=kernel, **about)
    active = tuple(i for i, d in enumerate(tangents) if type(d) is not ad.Zero and kernel.sizes[i])
    if not active:
        return value, jnp.zeros_like(value)
    moved = [tangents[i] for i in active]
    return value, call.bind(*primals, *moved, kernel=kernel.tangent(active), **about)


def _transpose_rule(weight: Any, *arguments: Any, kernel: Foreign, **about: Any) -> list[Any]:
    """``J' w`` of ``J d``, and the other way round."""
    out: list[Any] = [None] * len(arguments)
    assert kernel.linear is not None, "only derivatives are linear"
    parent, active, forward = kernel.linear
    known, count = arguments[: len(parent.sizes)], len(parent.sizes)
    if type(weight) is ad.Zero:
        return out
    if not forward:
        out[count] = call.bind(*known, *_split(weight, parent, active), kernel=parent.tangent(active), **about)
        return out
    wanted = [i for i, x in enumerate(arguments) if type(x) is ad.UndefinedPrimal]
    active = tuple(active[i - count] for i in wanted)
    parts = call.bind(*known, weight, kernel=parent.cotangent(active), **about)
    for i, part in zip(wanted, _split(parts, parent, active), strict=True):
        out[i] = part
    return out


def _split(flat: Any, parent: Foreign, active: Sequence[int]) -> list[Any]:
    """The columns that belong to each of the arguments."""
    ends = accumulate((parent.sizes[i] for i in active), initial=0)
    return [flat[:, start:end] for start, end in pairwise(ends)]


def _lower_for_cpu(context: Any, *arguments: Any, kernel: Foreign, count: int, dtype: str) -> Any:
    return jax.ffi.ffi_lowering(kernel.target(dtype, count))(context, *arguments)


def _lower_for_cuda(*arguments: Any, kernel: Foreign, count: int, dtype: str) -> Any:
    """The kernels of ``target="cuda"``, which take and give columns; without CuPy as elsewhere."""
    if importlib.util.find_spec("cupy") is None:
        return _lower_by_xla(*arguments, kernel=kernel, count=count, dtype=dtype)
    name, places = kernel.on_gpu(dtype)
    ffi: Any = jax.ffi
    like: Any = jax.ShapeDtypeStruct
    results = [like((size, count), jnp.dtype(dtype)) for size in (kernel.outputs, places)]
    return ffi.ffi_call(name, results)(*(x.T for x in arguments))[0].T


def _lower_by_xla(*arguments: Any, kernel: Foreign, count: int, dtype: str) -> Any:
    """On other platforms XLA compiles the program, operation by operation."""
    return interpret_program(kernel.program, arguments, (count,), jnp.dtype(dtype))


call.def_impl(_impl)
call.def_abstract_eval(_abstract)
batching.primitive_batchers[call] = _batching_rule
ad.primitive_jvps[call] = _jvp_rule
ad.primitive_transposes[call] = _transpose_rule
mlir.register_lowering(call, mlir.lower_fun(_lower_by_xla, multiple_results=False))
mlir.register_lowering(call, _lower_for_cpu, platform="cpu")
mlir.register_lowering(call, mlir.lower_fun(_lower_for_cuda, multiple_results=False), platform="cuda")
