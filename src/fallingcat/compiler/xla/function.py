"""``compile(model, function, target="jax")``: machine code under ``jit``, ``vmap`` and ``grad``."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ...arrays.loops import LoopBody
from ...errors import ExtraMissingError, ModelError
from ...records import short_text
from ..cache.index import Memory
from ..codegen.c_syntax import identifier
from ..codegen.jax import interpret_program
from ..cpu import numpy_backend as plain
from ..ir.inputs import batch_shape, bound_arguments, check_count
from ..ir.program import program
from ..ir.results import builder, leaves
from ..ir.results import size as size_of
from ..ir.trace import Face, Recipe, Trace, trace
from .foreign import Expressions, Foreign
from .handler import version


def build(recipe: Recipe) -> Function:
    """``f(q, v, ...)`` of JAX arrays ``(..., *shape)`` whose batch shapes fit together.

    On the CPU XLA calls machine code, which computes in the recipe's ``dtype``; results are of the type of the arrays.
    On a GPU, with CuPy, it launches the kernels of ``target="cuda"``, which compute in the type of the arrays; so does
    XLA on other platforms, where it compiles the program itself.
    """
    try:
        import jax  # noqa: F401
    except ImportError:
        raise ExtraMissingError("jax", purpose="target='jax'") from None
    why = plain.reason() or _reason()
    if why is None:
        return Function(recipe, *_foreign(recipe))
    _warn_once(why)
    traced = trace(recipe)
    made = program(traced.inputs, traced.outputs, fuse=False)
    return Function(recipe, traced.face, functools.partial(interpret_program, made))


def _foreign(recipe: Recipe) -> tuple[Face, Callable[..., Any]]:
    """Face of the kernel, and machine code for its flat arguments."""
    memory = Memory(recipe)
    traced: Callable[[bool | Callable[[LoopBody], bool]], Trace] = functools.cache(functools.partial(trace, recipe))
    face = memory.face()
    if face is None:
        face = traced(True).face
        memory.keep(face)
    if face.operations is None:
        raise recipe.too_large
    outputs = size_of(face.result)

    def expressions(loops: bool | Callable[[LoopBody], bool]) -> Expressions:
        return Expressions(traced(loops).inputs, traced(loops).outputs)

    kernel = Foreign(recipe, "", [a.size for a in face.arguments], outputs, expressions)

    def call(flats: list[Any], lead: tuple[int, ...], dtype: Any) -> Any:
        import jax.numpy as jnp

        from .primitive import call

        count = math.prod(lead)
        rows = [jnp.broadcast_to(x, (*lead, x.shape[-1])).astype(dtype).reshape((count, x.shape[-1])) for x in flats]
        return call.bind(*rows, kernel=kernel, count=count, dtype=dtype.name).reshape((*lead, outputs))

    return face, call


class Function:
    """``f(q, v, ...)`` from and to JAX arrays and records; pickled as its recipe, and made again from it."""

    def __init__(self, recipe: Recipe, face: Face, flat: Callable[..., Any]) -> None:
        import jax

        self._recipe, self._face, self._build = recipe, face, builder(face.result)
        self._numbers = jax.jit(functools.partial(_numbers, face, flat), inline=True)
        self.__name__ = self.__qualname__ = identifier(recipe.function)
        self.__doc__ = f"{', '.join(map(str, face.arguments))} -> {size_of(face.result)} numbers"

    def __repr__(self) -> str:
        arguments = ", ".join(map(str, self._face.arguments))
        return f"<JAX function {self._recipe.function.__name__}({arguments}) of {short_text(self._recipe.model.name)}>"

    def __call__(self, *arguments: Any, **by_name: Any) -> Any:
        """Results for JAX arrays, with any leading batch shape."""
        import jax.numpy as jnp

        face = self._face
        given = bound_arguments(self.__name__, self._recipe.model, face.arguments, face.state, arguments, by_name)
        check_count(self.__name__, face.arguments, given)
        arrays = [jnp.asarray(x) for x in given]
        _batch_shapes(face, arrays)
        return self._build(self._numbers(arrays))

    def __reduce__(self) -> Any:
        return build, (self._recipe,)


def _numbers(face: Face, flat: Callable[..., Any], arrays: list[Any]) -> tuple[Any, ...]:
    """The arrays of the result, one after the other."""
    import jax.numpy as jnp

    leads = _batch_shapes(face, arrays)
    flats = [x.reshape((*own, a.size)) for a, x, own in zip(face.arguments, arrays, leads, strict=True)]
    dtype = jnp.result_type(*arrays, jnp.float32) if arrays else jnp.result_type(float)
    out = flat(flats, jnp.broadcast_shapes(*leads), dtype)
    parts = leaves(face.result)
    return tuple(out[..., p.start : p.end].reshape((*out.shape[:-1], *p.shape)) for p in parts)


def _batch_shapes(face: Face, arrays: Sequence[Any]) -> list[tuple[int, ...]]:
    """The batch shapes of real arrays that fit the arguments and each other."""
    for argument, x in zip(face.arguments, arrays, strict=True):
        if x.dtype.kind not in "fiuV":
            raise ModelError(f"{argument.name} holds {x.dtype} and not real numbers")
    leads = [argument.lead(x.shape) for argument, x in zip(face.arguments, arrays, strict=True)]
    batch_shape(leads)
    return leads


@functools.cache
def _reason() -> str | None:
    """Reason why XLA cannot call machine code here; None when it can."""
    try:
        version()
    except (OSError, ValueError) as error:
        return str(error)
    return None


@functools.cache
def _warn_once(why: str) -> None:
    """Say once that XLA compiles kernels itself, and why."""
    message = f"target='jax' lets XLA compile the program, for seconds instead of calling machine code: {why}"
    warnings.warn(message, RuntimeWarning, stacklevel=6)
