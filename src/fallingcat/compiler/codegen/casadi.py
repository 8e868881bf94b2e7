"""A kernel as a ``casadi.Function``, for optimal control: the program's instructions on ``SX`` scalars."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from ...arrays.operations import OPERATIONS
from ...errors import ExtraMissingError, ModelError
from ..ir.program import program
from ..ir.results import named_arrays
from ..ir.trace import Recipe, trace
from .c_syntax import identifier


def build(recipe: Recipe) -> Any:
    """Make a ``casadi.Function`` with inputs named like the arguments.

    Outputs are named like the fields of the result, or ``out``.

    Matrices keep their shape and their exact zeros (as sparsity); arrays of rank 3 have their last two axes joined.
    """
    try:
        import casadi
    except ImportError:
        raise ExtraMissingError("casadi", purpose="target='casadi'") from None
    if recipe.dtype != "float64":
        raise ModelError(f"target='casadi' computes in float64, not in {recipe.dtype}")
    traced = trace(recipe, whole=True)
    made = program(traced.inputs, traced.outputs, fuse=False)
    widths = [math.prod(argument.shape[1:]) for argument in traced.arguments]
    inputs = [
        casadi.SX.sym(f"a{k}", argument.shape[0] if argument.shape else 1, width)
        for k, (argument, width) in enumerate(zip(traced.arguments, widths, strict=True))
    ]
    values: dict[int, Any] = {
        x: inputs[place.argument][divmod(place.offset, widths[place.argument])] for x, place in made.inputs.items()
    }
    for line in made.instructions:
        operands = [values[x] if isinstance(x, int) else x for x in line.operands]
        values[line.value] = _apply(casadi, line.op, operands)
    arrays = named_arrays(traced.result)
    outputs = [_matrix(casadi, made.outputs[leaf.start : leaf.end], leaf.shape, values) for _, leaf in arrays]
    names = [name for name, _ in arrays]
    arguments = _distinct_names(
        [_identifier(argument.name, f"a{k}") for k, argument in enumerate(traced.arguments)], "a"
    )
    results = [
        _identifier(name, f"out{k}") if name else ("out" if len(names) == 1 else f"out{k}")
        for k, name in enumerate(names)
    ]
    return casadi.Function(
        identifier(recipe.function), inputs, outputs, arguments, _distinct_names(results, "out", arguments)
    )


def _apply(casadi: Any, op: str, operands: list[Any]) -> Any:
    """CasADi's own function where it has one; arithmetic is that of its numbers."""
    own = OPERATIONS[op].names.get("casadi")
    return OPERATIONS[op].evaluate(*operands) if own is None else getattr(casadi, own)(*operands)


def _matrix(casadi: Any, flat: list[Any], shape: tuple[int, ...], values: dict[int, Any]) -> Any:
    """An ``SX`` with the entries ``flat`` in C order; exact zeros stay structural."""
    rows = shape[0] if shape else 1
    columns = len(flat) // rows if rows else 0
    entries = [
        (k, values[x] if isinstance(x, int) else x) for k, x in enumerate(flat) if isinstance(x, int) or x != 0.0
    ]
    entries.sort(key=lambda entry: (entry[0] % max(columns, 1), entry[0]))  # CasADi stores column by column
    sparsity = casadi.Sparsity.triplet(
        rows, columns, [k // columns for k, _ in entries], [k % columns for k, _ in entries]
    )
    return casadi.SX(sparsity, casadi.vertcat(*(x for _, x in entries))) if entries else casadi.SX(rows, columns)


def _identifier(name: str, otherwise: str) -> str:
    """A name that CasADi takes."""
    fine = re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name, re.ASCII) and "__" not in name and not name.endswith("_")
    return name if fine and name.lower() not in ("null", "jac", "hess") else otherwise


def _distinct_names(names: list[str], letter: str, others: Sequence[str] = ()) -> list[str]:
    return [f"{letter}{k}" if name in others or name in names[:k] else name for k, name in enumerate(names)]
