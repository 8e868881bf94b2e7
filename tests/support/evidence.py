"""Which items of the reference documents a test evaluates: those of its printed equations, and those that it cites.

A module of `tests/documents` evaluates the items of its sections, functions under `@PRINTED` that return
`{item: (left, right)}`; `test_equations` compares both sides.  Any other test says in its docstring which items it
evaluates: `(2.9)-(2.11)`, `Lemma 3.1`, `EXP revolute I-III`.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from fallingcat.studies import coverage_table as covered

TESTS = Path(__file__).parents[1]
WORDS = r"agree|misprint|close|assert|check|raises|laws|same|equal|passes|compared"
KINDS = r"Lemma|Theorem|Proposition|Property|Corollary|Remark|Def\.|Definition|Table|Figure|Fig\.|Example|Algorithm"
CITED = re.compile(
    r"(?<!\w)\([\dA.]*\d\)-\([\dA.]*\d\)|(?<!\w)\([\dA.]*\d[a-e]?\)"
    rf"|(?:{KINDS}|Program) (?:[A-Z]\.)?[\dIV.]*[\dIV](?:-[\d.]*\d)?"
    r"|EXP (?:revolute|prismatic) [IV]+(?:-[IV]+)?"
    r"|section 5 any Lie group|section 2\.4|G\[B\] on SE\(2\)|A\.2\.1 sample program|Table A\.1"
    r"|4\.3\.2 commanded angles"
)


def evidence(test: str) -> set[str]:
    """Items that a test of a row, `path::name` below `tests`, evaluates; none if it is gone or asserts nothing."""
    path, _, name = test.partition("::")
    function = checks(path).get(name)
    if function is None:
        return set()
    return printed(path) if name == "test_equations" else cited(ast.get_docstring(function) or "")


@cache
def checks(path: str) -> dict[str, ast.FunctionDef]:
    """The tests of a file that can fail: pytest finds them, and something is asserted, there or by a helper."""
    file = TESTS / path
    if not re.fullmatch(r"test_\w+\.py", file.name) or not file.exists():
        return {}
    nodes = [node for node in ast.parse(file.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)]
    return {node.name: node for node in nodes if node.name.startswith("test_") and asserts(node)}


def asserts(function: ast.FunctionDef) -> bool:
    """Whether a function asserts something."""
    calls = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    named = any(re.search(WORDS, ast.unparse(call).rpartition(".")[2], re.IGNORECASE) for call in calls)
    return named or any(isinstance(node, ast.Assert) for node in ast.walk(function))


@cache
def printed(path: str) -> set[str]:
    """Items of the sections of a module of printed equations."""
    out: set[str] = set()
    for node in ast.parse((TESTS / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and any(ast.unparse(d) == "PRINTED" for d in node.decorator_list):
            last = node.body[-1]
            assert isinstance(last, ast.Return), f"{path}: {node.name} does not end with its equations"
            assert isinstance(last.value, ast.Dict), f"{path}: {node.name} returns no dictionary of equations"
            out |= {ast.literal_eval(key) for key in last.value.keys if key is not None}
    return out


def cited(text: str) -> set[str]:
    """Items that a docstring names; letters of equations do not count."""
    found = (re.sub(r"[a-e]\)$", ")", match[0]) for match in CITED.finditer(" ".join(text.split())))
    return {item for each in found for item in covered.expanded(each)}
