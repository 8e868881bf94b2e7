"""A LaTeX document of a derivation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import sympy

from ..derivation import Named
from .names import harmless, identifiers, legend, underscored

if TYPE_CHECKING:
    from ..derivation import Derivation

_LINE: Final = 95
"""Characters that fit into a line."""
_COLUMNS: Final = 10
"""Columns that a matrix may have."""
_INVISIBLE: Final = re.compile(r"\\(left|right|bigl|bigr|frac|dot|ddot|sqrt|operatorname)\b|[{}_^ ]")


def document(d: Derivation, named: Named, meanings: dict[str, str], header: list[str]) -> str:
    """A whole document: needs ``amsmath`` and ``geometry`` only."""
    names = symbol_names(d, named)
    lines = [f"% {line}" for line in header]
    lines += [r"\documentclass{article}", r"\usepackage{amsmath}", r"\usepackage[margin=2cm]{geometry}"]
    lines += [r"\allowdisplaybreaks", r"\begin{document}", rf"\section*{{{harmless(d.model.name, 'latex')}}}"]
    lines += [r"\begin{itemize}", *(rf"\item {line}" for line in legend(d, "latex")), r"\end{itemize}"]
    if named.definitions:
        lines += [r"\section*{Common factors}"]
        lines += _aligned([_equation(_text(x, names), _text(e, names)) for x, e in named.definitions.items()])
    for name, x in named.expressions.items():
        lines += [rf"\section*{{{underscored(meanings[name])}}}"]
        lines += _aligned(_equations(_text(sympy.Symbol(name), {}), x, names))
    return "\n".join([*lines, r"\end{document}", ""])


def _text(x: Any, names: dict[Any, str]) -> str:
    """An expression, with short fractions only: a sum over a name is ``1/name (sum)``."""
    return str(sympy.latex(x, symbol_names=names, long_frac_ratio=2))


def _equations(name: str, x: Any, names: dict[Any, str]) -> list[str]:
    """One equation, or one for each entry that is not zero where a matrix is too wide."""
    if not isinstance(x, (sympy.MatrixBase, sympy.NDimArray)):
        return [_equation(name, _text(x, names))]
    if isinstance(x, sympy.MatrixBase) and _fits(name, x, names):
        return [f"{name} &= {_text(x, names)}"]
    entries = [(place, x[place]) for place in places(x.shape) if x[place] != 0]
    at = (f"{name}^{{({','.join(str(k + 1) for k in place)})}}" for place, _ in entries)
    return [_equation(left, _text(entry, names)) for left, (_, entry) in zip(at, entries, strict=True)] or [
        f"{name} &= 0"
    ]


def _fits(name: str, M: Any, names: dict[Any, str]) -> bool:
    widths = [[_width(_text(x, names)) for x in M.row(i)] for i in range(M.rows)]
    return M.cols <= _COLUMNS and _width(name) + sum(max(column) + 3 for column in zip(*widths, strict=True)) < _LINE


def _aligned(equations: list[str]) -> list[str]:
    return [r"\begin{align*}", " \\\\\n".join(equations), r"\end{align*}"]


def _equation(left: str, right: str) -> str:
    """``left = right``, in several lines where it is long."""
    if _width(left + right) < _LINE:
        return f"{left} &= {right}"
    # parentheses that may stand in two lines
    pieces = _pieces(right.replace(r"\left(", r"\bigl(").replace(r"\right)", r"\bigr)"))
    lines = [f"{left} &= {next(pieces)}"]
    for piece in pieces:
        if _width(lines[-1] + piece) < _LINE:
            lines[-1] += piece
        else:
            lines.append(rf"&\qquad {{}}{piece}")
    return " \\\\\n".join(lines)


def _pieces(text: str) -> Iterator[str]:
    """A sum in parts, each but the first with its sign; what stands in braces stays together."""
    depth = start = 0
    for i, c in enumerate(text):
        depth += (c == "{") - (c == "}")
        if depth == 0 and i > start and text[i : i + 3] in (" + ", " - "):
            yield text[start:i]
            start = i
    yield text[start:]


def _width(text: str) -> int:
    """Characters that are seen, about."""
    return len(re.sub(r"\\[A-Za-z]+", "sin", _INVISIBLE.sub("", text))) + 2 * len(re.findall(" [-+] ", text))


def places(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The indices of all entries."""
    return list(np.ndindex(*shape))


def symbol_names(d: Derivation, named: Named) -> dict[Any, str]:
    """How symbols are written: rates with dots; what a user called his own, by a generated name."""
    parameters = {x for e in (*named.definitions.values(), *named.expressions.values()) for x in e.free_symbols}
    parameters -= {*d.q, *d.v, *d.a, *named.definitions}
    names = identifiers(sorted(parameters, key=str))
    return {x: _indexed(names.get(x, str(x))) for x in (*parameters, *named.definitions, *d.q, *d.v, *d.a)}


_HEADS: Final = {
    "qd": r"\dot{q}",
    "qdd": r"\ddot{q}",
    "vd": r"\dot{v}",
    "wd": r"\dot{\omega}",
    "w": r"\omega",
    "nd": r"\dot{n}",
    "theta": r"\theta",
}


def _indexed(name: str) -> str:
    head, _, index = name.partition("_")
    return _HEADS.get(head, head) + (f"_{{{index}}}" if index else "")
