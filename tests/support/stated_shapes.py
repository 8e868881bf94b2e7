"""Shapes that signatures state (`fallingcat.arrays.types`), compared with those of values."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, get_args

import numpy as np

from fallingcat.arrays import types

SHAPES = {
    name: tuple(get_args(value)[-1].split()) for name, value in vars(types).items() if hasattr(value, "__metadata__")
}
"""Lengths by name of the type: ``("6", "nv")`` of ``Matrix_6_nv``."""


@cache
def parsed(annotation: str) -> ast.expr:
    return ast.parse(annotation, mode="eval").body


def stated(annotation: Any) -> bool:
    """Whether an annotation states a shape."""
    return isinstance(annotation, str) and any(
        isinstance(node, ast.Name) and node.id in SHAPES for node in ast.walk(parsed(annotation))
    )


def agrees(lengths: tuple[str, ...], value: Any, known: dict[str, int]) -> bool:
    """Whether a value has these lengths; letters that are not yet known get theirs."""
    shape = np.shape(value)
    if lengths[0] == "...":
        lengths = lengths[1:]
        shape = shape[max(len(shape) - len(lengths), 0) :]
    if len(shape) != len(lengths):
        return False
    pairs = zip(lengths, shape, strict=True)
    return all(known.setdefault(name, int(name) if name.isdigit() else n) == n for name, n in pairs)


def faults(annotation: ast.expr, value: Any, known: dict[str, int]) -> Iterator[str]:
    """Parts of a value that have other shapes than its annotation states."""
    match annotation:
        case ast.Name(id=name) if name in SHAPES:
            if not agrees(SHAPES[name], value, known):
                yield f"{name}, not {np.shape(value)} with {known}"
        case ast.BinOp(left=left, right=right):
            options = [list(faults(side, value, dict(known))) for side in (left, right)]
            yield from options[0] if all(options) else []
        case ast.Constant(value=None) if value is not None:
            yield "not None"
        case ast.Name(id="str") if not isinstance(value, str):
            yield "no text"
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=parts)) if value is not None:
            for part, each in zip(parts, value, strict=True):
                yield from faults(part, each, known)
        case ast.Subscript(value=ast.Name(id="dict" | "Mapping"), slice=ast.Tuple(elts=[_, part])) if isinstance(
            value, Mapping
        ):
            for each in value.values():
                yield from faults(part, each, known)


def lengths_of(arguments: Mapping[str, Any]) -> dict[str, int]:
    """Letters that the robot, the group or the joint among the arguments of a call knows."""
    known: dict[str, int] = {}
    for thing in arguments.values():
        model = getattr(thing, "model", thing)
        for letter, attribute in (("nv", "nv"), ("n", "n"), ("m", "m"), ("nq", "nq"), ("m", "dim")):
            value = inspect.getattr_static(model, attribute, None) and getattr(model, attribute, None)
            if isinstance(value, int):
                known.setdefault(letter, value)
    return known
