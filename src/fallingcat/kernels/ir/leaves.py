"""The arrays in a kernel's result, by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from .trace import Constant, is_array


def leaves(structure: Any, name: str = "") -> Iterator[tuple[str, tuple[int, ...]]]:
    """Name and shape of each array, in the order of the flat outputs; keys of a dict are a robot's names, so its arrays
    have none.

    >>> list(leaves((3, 3)))
    [('', (3, 3))]
    """
    if isinstance(structure, Constant):
        return
    if is_array(structure):
        yield name, structure
        return
    kind, parts = structure
    fields = getattr(kind, "_fields", None) or _fields(kind) or ("",) * len(parts)
    for field, part in zip(fields, parts, strict=True):
        yield from leaves(part[1] if kind is dict else part, "_".join(x for x in (name, field) if x))


def _fields(kind: Any) -> tuple[str, ...]:
    return (
        tuple(field.name for field in dataclasses.fields(kind) if field.init) if dataclasses.is_dataclass(kind) else ()
    )
