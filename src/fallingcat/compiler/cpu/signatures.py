"""Signatures of functions of plain loops: their annotations as types of LLVM."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

TYPES = {"int": "i64", "bool": "i1", "float": "double", "Vector": "vector", "Integers": "integers", "Matrix": "matrix"}
ELEMENT = {"vector": "double", "integers": "i64", "matrix": "double"}


class Signature(NamedTuple):
    """Arguments and results of a function; a record is its fields, ``record.field``."""

    name: str
    parameters: tuple[tuple[str, str], ...]
    result: str
    tree: ast.FunctionDef
    constants: dict[str, Any]
    """constants of its module, by name"""


def signature(function: Callable[..., Any]) -> Signature:
    """Signature of a function whose annotations are of :data:`TYPES`."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    known = inspect.getmodule(function).__dict__
    parameters = tuple(pair for a in tree.args.args for pair in _parameters(a.arg, a.annotation, known))
    result = "void" if tree.returns is None or ast.unparse(tree.returns) == "None" else TYPES[ast.unparse(tree.returns)]
    return Signature(tree.name, parameters, result, tree, known)


def _parameters(name: str, type_of: ast.expr | None, known: dict[str, Any]) -> list[tuple[str, str]]:
    annotation = "nothing" if type_of is None else ast.unparse(type_of)
    if annotation in TYPES:
        return [(name, TYPES[annotation])]
    return [(f"{name}.{field}", TYPES[type_]) for field, type_ in fields(known[annotation]).items()]


def fields(record: type) -> dict[str, str]:
    """Names and types of a record's fields, as they are written: ``from __future__ import annotations``."""
    return {name: str(getattr(x, "__forward_arg__", x)) for name, x in record.__annotations__.items()}


def flat(parameters: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Names and LLVM types of what is passed: two for a matrix."""
    out = []
    for name, type_ in parameters:
        out.append((name, "ptr" if type_ in ELEMENT else type_))
        if type_ == "matrix":
            out.append((f"{name}.stride", "i64"))
    return out
