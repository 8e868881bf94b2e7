"""Checks of the arguments of contacts by kind and shape, which run before their methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.arguments import holds_numbers
from ..arrays.types import Vector
from ..dynamics.checks import check_fields
from ..errors import ModelError, describe

if TYPE_CHECKING:
    from .base import Contact


def _check(contact: Contact, model: Any, mode: Any, state: Any, memory: Vector, applied: Vector) -> None:
    """Check the arguments of a method of a contact by kind and shape, not by value."""
    check_fields(model, state)
    contact.check_mode(mode)
    for name, x, size in (("memory", memory, contact.memory_size), ("applied", applied, model.nv)):
        shape = getattr(x, "shape", None)
        if shape is None or len(shape) != 1 or size not in (None, shape[0]) or not holds_numbers(x):
            raise ModelError(f"{name} is an array of {'' if size is None else f'{size} '}numbers, not {describe(x)}")


def _check_jump(
    contact: Contact, model: Any, mode: Any, guard: Any, state: Any, memory: Vector, applied: Vector
) -> None:
    _check(contact, model, mode, state, memory, applied)
    if isinstance(guard, bool) or not isinstance(guard, (int, np.integer)) or guard < 0:
        raise ModelError(f"guard is the number of a guard, not {describe(guard)}")


ARGUMENT_CHECKS: Mapping[str, Callable[..., None]] = {
    "begin": lambda contact, model, state: check_fields(model, state),
    "touching": lambda contact, mode: contact.check_mode(mode),
    **dict.fromkeys(["forces", "guards", "memory_rate", "touch", "point_forces"], _check),
    "jump": _check_jump,
}
"""Check of the arguments of each method of a contact, by its name; it runs before the method."""
