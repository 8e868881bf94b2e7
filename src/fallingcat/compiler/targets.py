"""Targets of kernels beside this processor: one emitter each, imported at its first use."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..errors import ModelError, describe
from ..registry import Registry
from .ir.trace import Recipe


def _check(name: str, build: Any) -> None:
    if not callable(build):
        raise ModelError(f"a target is a function build(recipe), not {describe(build)}")


def _lazy(module: str) -> Callable[[Recipe], Any]:
    return lambda recipe: import_module(module, __package__).build(recipe)


TARGETS = Registry[Callable[[Recipe], Any]](
    "target",
    "fallingcat.targets",
    {
        name: _lazy(module)
        for name, module in {
            "c": ".codegen.c",
            "cuda": ".cuda.kernel",
            "casadi": ".codegen.casadi",
            "jax": ".xla.function",
            "javascript": ".codegen.javascript",
        }.items()
    },
    _check,
)
"""target -> the function ``build(recipe)`` that serves it"""


def build(target: str, recipe: Recipe) -> Any:
    """Result of ``compile(model, function, target=target)`` for a target other than ``cpu``."""
    check(target)
    return TARGETS[target](recipe)


def check(target: str) -> None:
    """An error that lists the targets, if this is none.

    Example:
        >>> check("fortran")
        Traceback (most recent call last):
        fallingcat.errors.ModelError: target is one of cpu, c, cuda, casadi, jax, javascript, not 'fortran'
    """
    if target not in TARGETS:
        raise ModelError(f"target is one of {', '.join(('cpu', *TARGETS))}, not {target!r}")
