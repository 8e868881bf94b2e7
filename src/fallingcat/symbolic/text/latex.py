"""A LaTeX document of a derivation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import sympy

from ..readable import NamedExpressions
from .names import escape_underscores, identifiers, legend, safe_name
from .printers import decimals

if TYPE_CHECKING:
    from ..derivation import Derivation

_LINE: Final = 92
"""Characters that fit into a line."""
_ROWS: Final = 60
"""Lines of one environment."""
_COLUMNS: Final = 10
"""Columns that a matrix may have."""
_INVISIBLE: Final = re.compile(r"\\(left|right|bigl|bigr|frac|dot|ddot|sqrt|operatorname)\b|[{}_^ ]")


def document(d: Derivation, named: NamedExpressions, meanings: dict[str, str], header: list[str]) -> str:
    """A whole document: needs ``amsmath`` and ``geometry`` only."""
    names = symbol_names(d, named)
    lines = [f"% {line}" for line in header]
    lines += [r"\documentclass{article}", r"\usepackage{amsmath}", r"\usepackage[margin=2cm]{geometry}"]
    lines += [r"\allowdisplaybreaks", r"\begin{document}", rf"\section*{{{safe_name(d.model.name, 'latex')}}}"]
    lines += [r"\begin{itemize}", *(rf"\item {line}" for line in legend(d, "latex")), r"\end{itemize}"]
    if named.definitions:
        lines += [r"\section*{Common factors}"]
        lines += _align_environments(
            [_equation(_text(x, names), _text(e, names)) for x, e in named.definitions.items()]
        )
    for name, x in named.expressions.items():
        lines += [rf"\section*{{{escape_underscores(meanings[name])}}}"]
        lines += _align_environments(_equations(_text(sympy.Symbol(name), {}), x, names))
    return "\n".join([*lines, r"\end{document}", ""])


def _text(x: Any, names: dict[Any, str]) -> str:
    """An expression, with short fractions only: a sum over a name is ``1/name (sum)``."""
    return str(sympy.latex(decimals(x), symbol_names=names, long_frac_ratio=2, full_prec=False))


def _equations(name: str, x: Any, names: dict[Any, str]) -> list[list[str]]:
    """One equation, or one for each entry that is not zero where a matrix is too wide."""
    if not isinstance(x, (sympy.MatrixBase, sympy.NDimArray)):
        return [_equation(name, _text(x, names))]
    texts = {place: _text(x[place], names) for place in places(x.shape)}
    if isinstance(x, sympy.MatrixBase) and _fits_on_line(name, x.shape, texts):
        return [[f"{name} &= {_text(x, names)}"]]
    left = {place: f"{name}^{{({','.join(str(k + 1) for k in place)})}}" for place in texts if x[place] != 0}
    return [_equation(at, texts[place]) for place, at in left.items()] or [[f"{name} &= 0"]]


def _fits_on_line(name: str, shape: tuple[int, int], texts: dict[tuple[int, ...], str]) -> bool:
    """True if a matrix is narrower than a line."""
    rows, columns = shape
    widths = (max((_width(texts[i, j]) for i in range(rows)), default=0) + 3 for j in range(columns))
    return columns <= _COLUMNS and _width(name) + sum(widths) < _LINE


def _align_environments(equations: list[list[str]]) -> list[str]:
    """Lines of the equations, in several environments, because TeX keeps each as a whole."""
    lines = [line for equation in equations for line in equation]
    blocks = (lines[start : start + _ROWS] for start in range(0, len(lines), _ROWS))
    return [text for block in blocks for text in (r"\begin{align*}", " \\\\\n".join(block), r"\end{align*}")]


def _equation(left: str, right: str) -> list[str]:
    """The lines of ``left = right``."""
    if _width(left + right) < _LINE:
        return [f"{left} &= {right}"]
    # parentheses that may stand in two lines
    pieces = _pieces(right.replace(r"\left(", r"\bigl(").replace(r"\right)", r"\bigr)"))
    lines = [f"{left} &= {next(pieces)}"]
    for piece in pieces:
        if _width(lines[-1] + piece) < _LINE:
            lines[-1] += piece
        else:
            lines.append(rf"&\qquad {{}}{piece}")
    return lines


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


def symbol_names(d: Derivation, named: NamedExpressions) -> dict[Any, str]:
    """LaTeX names of symbols: rates with dots; a user's own symbols by a generated name."""
    parameters = {x for e in (*named.definitions.values(), *named.expressions.values()) for x in e.free_symbols}
    parameters -= {*d.q, *d.v, *d.a, *named.definitions}
    names = identifiers(sorted(parameters, key=str))
    return {x: _with_index(names.get(x, str(x))) for x in (*parameters, *named.definitions, *d.q, *d.v, *d.a)}


_HEADS: Final = {
    "qd": r"\dot{q}",
    "qdd": r"\ddot{q}",
    "vd": r"\dot{v}",
    "wd": r"\dot{\omega}",
    "w": r"\omega",
    "nd": r"\dot{n}",
    "theta": r"\theta",
}


def _with_index(name: str) -> str:
    head, _, index = name.partition("_")
    return _HEADS.get(head, head) + (f"_{{{index}}}" if index else "")
