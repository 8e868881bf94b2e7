"""A LaTeX document of a derivation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy

from ..derivation import Named
from .names import harmless, identifiers, legend, underscored

if TYPE_CHECKING:
    from ..derivation import Derivation

WIDE = 90
"""Characters of a matrix in one line; a wider one is written entry by entry."""


def document(d: Derivation, named: Named, meanings: dict[str, str], header: list[str]) -> str:
    """A whole document: needs ``amsmath`` and ``geometry`` only."""
    names = symbol_names(d, named)
    lines = [f"% {line}" for line in header]
    lines += [r"\documentclass{article}", r"\usepackage{amsmath}", r"\usepackage[margin=2cm]{geometry}"]
    lines += [
        r"\allowdisplaybreaks",
        r"\begin{document}",
        rf"\section*{{{harmless(d.model.name, 'latex')}}}",
        r"\begin{itemize}",
    ]
    lines += [rf"\item {line}" for line in legend(d, "latex")]
    lines += [r"\end{itemize}"]
    if named.definitions:
        lines += [r"\section*{Common factors}", r"\begin{gather*}"]
        lines += [
            rf"{sympy.latex(x, symbol_names=names)} = {sympy.latex(e, symbol_names=names)} \\"
            for x, e in named.definitions.items()
        ]
        lines[-1] = lines[-1].removesuffix(r" \\")
        lines += [r"\end{gather*}"]
    for name, x in named.expressions.items():
        lines += [
            rf"\section*{{{underscored(meanings[name])}}}",
            *_equations(sympy.latex(sympy.Symbol(name)), x, names),
        ]
    return "\n".join([*lines, r"\end{document}", ""])


def _equations(name: str, x: Any, names: dict[Any, str]) -> list[str]:
    whole = sympy.latex(x, symbol_names=names)
    if not isinstance(x, (sympy.MatrixBase, sympy.NDimArray)) or (
        len(whole) < 4 * WIDE and isinstance(x, sympy.MatrixBase)
    ):
        return [r"\begin{gather*}", f"{name} = {whole}", r"\end{gather*}"]
    lines = [r"\begin{gather*}"]
    entries = [(i, x[i]) for i in _places(x.shape)]
    for place, entry in entries:
        if entry != 0:
            at = "".join(str(k + 1) + " " for k in place).strip().replace(" ", ",")
            lines.append(rf"{name}^{{({at})}} = {sympy.latex(entry, symbol_names=names)} \\")
    if len(lines) == 1:
        return [r"\begin{gather*}", f"{name} = 0", r"\end{gather*}"]
    lines[-1] = lines[-1].removesuffix(r" \\")
    return [*lines, r"\end{gather*}"]


def _places(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    import numpy as np

    return list(np.ndindex(*shape))


def symbol_names(d: Derivation, named: Named) -> dict[Any, str]:
    """How symbols are written: rates with dots; what a user called his own, by a generated name."""
    found: dict[Any, str] = {}
    parameters = {x for e in (*named.definitions.values(), *named.expressions.values()) for x in e.free_symbols}
    parameters -= {*d.q, *d.v, *d.a, *named.definitions}
    for x, name in identifiers(sorted(parameters, key=str)).items():
        found[x] = _indexed(name)
    for x in named.definitions:
        found[x] = _indexed(str(x))
    for x in (*d.q, *d.v, *d.a):
        head, _, index = str(x).partition("_")
        dots = {"qd": r"\dot{q}", "qdd": r"\ddot{q}", "vd": r"\dot{v}", "wd": r"\dot{\omega}", "w": r"\omega"}
        dots |= {"theta": r"\theta", "nd": r"\dot{n}"}
        found[x] = dots.get(head, head) + (f"_{{{index}}}" if index else "")
    return found


def _indexed(name: str) -> str:
    head, _, index = name.partition("_")
    return f"{head}_{{{index}}}" if index else head
