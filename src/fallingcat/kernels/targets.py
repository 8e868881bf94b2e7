"""Where kernels can go beside this processor: one emitter each, imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from ..errors import ModelError
from ..model import Model
from .ir.trace import Trace

TARGETS: Final = {"c": ".text.c", "cuda": ".gpu.kernel", "casadi": ".text.casadi", "jax": ".text.jax"}
"""target -> the module whose ``build(model, function, traced, dtype)`` serves it"""


def build(target: str, model: Model, function: Callable[..., Any], traced: Trace, dtype: str) -> Any:
    """What ``compile(model, function, target=target)`` returns for a target other than ``cpu``."""
    check(target)
    return import_module(TARGETS[target], __package__).build(model, function, traced, dtype)


def check(target: str) -> None:
    """An error that lists the targets, if this is none.

    >>> check("fortran")
    Traceback (most recent call last):
    fallingcat.errors.ModelError: target is one of cpu, c, cuda, casadi, jax, not 'fortran'
    """
    if target not in TARGETS:
        raise ModelError(f"target is one of {', '.join(('cpu', *TARGETS))}, not {target!r}")
