"""Compilation of functions of one robot: checked, traced or found in the cache, and made a kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..arrays.loops import repeats
from ..dynamics.checks import check_model
from ..errors import ModelError, describe
from ..model import Model
from ..progress import report_progress, warn_of_time, warn_slow
from . import targets
from .cache.index import Memory
from .cpu import native
from .cpu import numpy_backend as plain
from .cpu.code_memory import check_mappings
from .cpu.operation import ELEMENTS
from .cpu.single_calls import single_calls
from .ir.inputs import Shape, check_inputs, function_name, given_state, parameters_of
from .ir.trace import Recipe, TooLarge, Trace, trace, tried, without_garbage_collection
from .kernel import Kernel

SECONDS_PER_OPERATION = 2e-5
"""s of processor time for machine code; measured with 0.2 to 0.9 million operations"""
MAX_TRIED_NV = 500
"""Degrees of freedom up to which a function too large to compile is called in seconds"""


def compile(
    model: Model,
    function: Callable[..., Any],
    *,
    target: str = "cpu",
    dtype: str = "float64",
    inputs: Mapping[str, Shape] | None = None,
    state: Sequence[str] | None = None,
    **options: Any,
) -> Any:
    """Compile a function of one robot to machine code.

    ``k = compile(model, inverse_dynamics); k(q, v, a)``.  A function of more than two million operations is not
    compiled: a warning says so, and calls run ``function`` itself, one state after the other.  It has no
    :attr:`~Kernel.source`, and other targets refuse it.

    Args:
        model: Robot.
        function: Any public function ``f(model, state, ...)`` or your own composition of them.
        target: ``cpu`` for a :class:`Kernel`, or another emitter, such as ``c``, ``cuda``, ``casadi`` or ``jax``.
        dtype: ``float64`` or ``float32``.
        inputs: Shapes of further arguments of your own: a length, or a tuple
            (``{"wrench": 6, "frame": (3, 3), "t": ()}``).  Where the argument after the model is one of them, the
            function takes no state.
        state: Fields of the state that a call gives in the place of ``q`` and ``v``, each as an array of its own:
            ``pose`` (the rows ``[R p]``, 3 x 4), ``joints``, ``twist``, ``rates``.  What is left out is neutral.
        **options: Passed on to the function (``factorization="passive"``).

    Returns:
        Kernel, or what the target makes of it.

    Example:
        >>> import numpy as np
        >>> from fallingcat.dynamics import mass_matrix
        >>> from fallingcat.model import robots
        >>> cat = robots.two_cylinder_cat()
        >>> compile(cat, mass_matrix, state=["joints"])(np.zeros(2)).shape
        (8, 8)
    """
    inputs = {} if inputs is None else inputs
    _check_call(model, function, inputs, state, options)
    given = given_state(function, inputs, state)
    return compiled(Recipe(model, function, dict(inputs), given, options, dtype), target)


def compile_step(
    model: Model,
    function: Callable[..., Any],
    inputs: Mapping[str, Shape],
    state: Sequence[str] | None = None,
    **options: Any,
) -> Kernel:
    """Compile a function that is only iterated, or called for many states.

    No code for single calls is made, and the first code for many states is made quickly; see :func:`compile`.
    """
    _check_call(model, function, inputs, state, options)
    recipe = Recipe(model, function, dict(inputs), given_state(function, inputs, state), options, "float64")
    kernel: Kernel = compiled(recipe, "cpu", single=False)
    return kernel


def compiled(recipe: Recipe, target: str, single: bool = True) -> Any:
    """Kernel of a recipe, or what another target makes of it; ``single`` makes code for calls of one state."""
    if recipe.dtype not in ELEMENTS:
        raise ModelError(f"dtype is one of {', '.join(ELEMENTS)}, not {recipe.dtype!r}")
    what = f"compiling {function_name(recipe.function)} of {recipe.model.name!r}"
    check_mappings()  # before a thread that tells how long it takes: one without room may wait for itself for ever
    with without_garbage_collection(), report_progress(what, by_clock=True):
        return _for_this_processor(recipe, single) if target == "cpu" else targets.build(target, recipe)


def _for_this_processor(recipe: Recipe, single: bool) -> Kernel:
    why = plain.reason()
    if why is not None:
        plain.tell(why)
    kernel = _kernel(recipe, Memory(recipe) if why is None else None, single)
    if kernel._face.operations is None:
        plain.report_uncompiled(recipe)
    elif single and why is None and native.fast_entry():
        kernel.__class__ = type("Kernel", (Kernel,), {"__call__": single_calls(kernel), "__doc__": kernel.about})
    else:
        kernel.__class__ = type("Kernel", (Kernel,), {"__doc__": kernel.about})
    return kernel


def _check_call(model: Any, function: Any, inputs: Any, state: Any, options: Mapping[str, Any]) -> None:
    """Raise an error unless these can be compiled, before anything is traced."""
    check_model(model)
    if not model.is_numeric:
        raise ModelError(f"{model.name!r} has symbols: kernels are of numbers, see fallingcat.symbolic.numbers")
    if not callable(function) or isinstance(function, np.ufunc):
        raise ModelError(f"compile takes a function of a model and a state, not {describe(function)}")
    check_inputs(inputs, state)
    parameters = parameters_of(function)
    names = [p.name for p in parameters]
    anything = any(p.kind is p.VAR_KEYWORD for p in parameters)
    for name in (*inputs, *(() if anything else options)):
        if name not in names:
            raise ModelError(f"{function_name(function)} has no argument {name!r}")
    for name in inputs:
        if name in options:
            raise ModelError(f"{name!r} is an input, so it cannot be {describe(options[name])} for good")


def _announce(recipe: Recipe, operations: int) -> None:
    """Warn where machine code takes long to make, before it is made."""
    what = f"compiling {function_name(recipe.function)} of {recipe.model.name!r}, {operations:,} operations,"
    warn_of_time(what, SECONDS_PER_OPERATION * operations, "machine code is kept for the next time")


def _kernel(recipe: Recipe, memory: Memory | None, single: bool) -> Kernel:
    """Remembered if possible, else traced, or only tried where it is too large for that."""
    tracing: Callable[[], Trace] = partial(trace, recipe, loops=True if memory is not None else repeats)
    face = None if memory is None else memory.face()
    if face is None:
        try:
            traced = tracing()
            face, tracing = traced.face, lambda: traced
            _announce(recipe, sum((face.operations or {}).values()))
        except TooLarge as why:
            if recipe.model.nv > MAX_TRIED_NV:
                warn_slow(f"{why}: two calls show what it gives, minutes perhaps")
            face = tried(recipe)
        if memory is not None:
            memory.keep(face)
    return Kernel(recipe, face, tracing, memory, single)
