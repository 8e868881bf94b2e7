"""Common parts of C and CUDA text: types, constants, one statement per instruction, harmless comments."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ..._version import __version__
from ...arrays.operations import CONDITIONS, OPERATIONS
from ...escaping import READABLE, comment
from ...model import Model
from ..ir.inputs import Argument
from ..ir.instructions import Instruction
from ..ir.trace import Trace


@dataclass(frozen=True)
class Real:
    """The number type of a text: ``double`` or ``float``."""

    dtype: str

    @property
    def text(self) -> str:
        """Type in C."""
        return "double" if self.dtype == "float64" else "float"

    def function(self, name: str) -> str:
        """Name of a C function for this type."""
        return name if self.dtype == "float64" else f"{name}f"

    def constant(self, x: float) -> str:
        """The literal that reads back to the same bits.

        Example:
            >>> Real("float64").constant(-0.1), Real("float32").constant(0.1), Real("float32").constant(1e100)
            ('(-0.1)', '0.1f', 'INFINITY')
        """
        with np.errstate(over="ignore"):
            x = float(np.dtype(self.dtype).type(x))
        if not math.isfinite(x):
            text = "NAN" if math.isnan(x) else "INFINITY"
        elif self.dtype == "float64":
            text = repr(abs(float(x)))
        else:
            text = f"{np.float32(abs(x))!s}"
            text = (text if "." in text or "e" in text else f"{text}.0") + "f"
        return f"(-{text})" if math.copysign(1.0, x) < 0 and not math.isnan(x) else text


def expression(real: Real, op: str, x: list[str]) -> str:
    """The right-hand side of an instruction; a condition is the number 1 or 0."""
    if op in ("fma", "fms", "fnma"):
        a, b, c = x
        return f"{real.function('fma')}({'-' if op == 'fnma' else ''}{a}, {b}, {'-' if op == 'fms' else ''}{c})"
    if op in CONDITIONS:
        return f"({OPERATIONS[op].names['c'].format(*x)}) ? {real.constant(1.0)} : {real.constant(0.0)}"
    if op == "select":
        return f"({x[0]} != {real.constant(0.0)}) ? {x[1]} : {x[2]}"
    text = OPERATIONS[op].names["c"]
    return text.format(*x) if "{}" in text else f"{real.function(text)}({', '.join(x)})"


def statement(real: Real, line: Instruction, x: list[str]) -> str:
    """C statement of one instruction."""
    return f"const {real.text} v{line.value} = {expression(real, line.op, x)};"


def identifier(function: Any) -> str:
    """``fc_`` and the function's name where that is plain lower-case ASCII; else ``fc_function``.

    Example:
        >>> identifier(lambda model, state: 0)
        'fc_function'
    """
    name = str(getattr(function, "__name__", ""))
    return f"fc_{name}" if re.fullmatch(r"[a-z][a-z0-9_]{0,48}", name, re.ASCII) else "fc_function"


_RESERVED_TEXT = """
    auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while and and_eq asm
    bitand bitor bool catch class compl constexpr decltype delete explicit export false friend mutable namespace new
    noexcept not not_eq nullptr operator or or_eq private protected public template this throw true try typeid typename
    using virtual wchar_t xor xor_eq main stdin stdout stderr errno fabs fmax fma out work w
"""
RESERVED: Final = frozenset(_RESERVED_TEXT.split())
"""Words of C and C++, and those of the text itself."""


def argument_names(arguments: tuple[Argument, ...]) -> list[str]:
    """Each argument's own name where that is a plain word that means nothing else in C; else ``a0``, ``a1``, ...

    Example:
        >>> argument_names((Argument("q", (3,), ""), Argument("double", (3,), ""), Argument("sin", (), "")))
        ['q', 'a1', 'a2']
    """
    taken = RESERVED | {name.split("(")[0] for each in OPERATIONS.values() for name in [each.names.get("c", "")]}
    taken |= {f"{name}f" for name in taken}
    plain = [a.name for a in arguments if re.fullmatch(r"[a-z][a-z_]{0,40}", a.name, re.ASCII)]
    return [
        a.name if a.name in plain and a.name not in taken and plain.count(a.name) == 1 else f"a{i}"
        for i, a in enumerate(arguments)
    ]


def readable(text: str) -> str:
    """Our own words as comment text: what could end a comment or a line is left out.

    Example:
        >>> readable("twist, then rates (m/s, rad/s)")
        'twist, then rates (m/s, rad/s)'
    """
    return re.sub(r"[^ -~]|[\\\\?*]", "", text)


def table(
    model: Model, arguments: tuple[Argument, ...], traced: Trace, operations: int, names: Sequence[str]
) -> Iterator[str]:
    """Comment lines that say what goes in and out, and which joint is where; ``names`` are those of the arguments."""
    robot = comment(model.name, READABLE)
    yield f" * Generated by fallingcat {__version__} for the robot {robot}: {operations} operations."
    yield " * SI units, radians; matrices row by row."
    for name, argument in zip(names, arguments, strict=True):
        original = "" if name == argument.name else f"{comment(argument.name, READABLE)}: "
        yield f" *   {name}[{argument.size}]  {original}{readable(argument.meaning)}".rstrip()
    yield f" *   out[{len(traced.outputs)}]"
    places = zip(model.joints, model.q_slices, model.v_slices, strict=True)
    for joint, q, v in places:
        where = f"q[{model.base.nq + q.start}]" if q.stop > q.start else "-"
        speed = f"v[{model.m + v.start}]" if v.stop > v.start else "-"
        yield f" *   joint {where} {speed}  {comment(joint.name, READABLE)}{' (follows)' if joint.mimic else ''}"
