"""Where kernels can go beside this processor: one emitter each, imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from ..errors import ModelError
from .ir.trace import Recipe

TARGETS: Final = {"c": ".text.c", "cuda": ".gpu.kernel", "casadi": ".text.casadi", "jax": ".xla.function"}
"""target -> the module whose ``build(recipe)`` serves it"""


def build(target: str, recipe: Recipe) -> Any:
    """What ``compile(model, function, target=target)`` returns for a target other than ``cpu``."""
    check(target)
    return import_module(TARGETS[target], __package__).build(recipe)


def check(target: str) -> None:
    """An error that lists the targets, if this is none.

    >>> check("fortran")
    Traceback (most recent call last):
    fallingcat.errors.ModelError: target is one of cpu, c, cuda, casadi, jax, not 'fortran'
    """
    if target not in TARGETS:
        raise ModelError(f"target is one of {', '.join(('cpu', *TARGETS))}, not {target!r}")
