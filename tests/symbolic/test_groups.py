"""[From] Tables 1 and 2, derived for every group; the page in the docs is what the script writes."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import sympy

from fallingcat.single_body import coriolis_from_series
from fallingcat.symbolic.groups import GROUPS, row

DOCS = Path(__file__).parents[2] / "docs"
P = sympy.symbols("p_1:7", real=True)


@pytest.mark.parametrize("name", GROUPS)
def test_the_general_theorem_gives_the_bracket(name):
    group, found = GROUPS[name], row(GROUPS[name])
    assert found.by_bracket == found.C
    assert found.C == -found.C.T
    h = np.random.default_rng(0).normal(size=group.dim)
    number = np.array(found.C.subs(dict(zip(P, h, strict=False))), dtype=float).reshape(group.dim, group.dim)
    assert np.abs(number - coriolis_from_series(group, h)).max(initial=0.0) < 1e-15


def test_what_is_printed_and_what_is_misprinted():
    p1, p2, p3 = P[:3]
    printed = sympy.Matrix([[0, -p3, p2], [p3, 0, -p1], [-p2, p1, 0]])
    assert -printed == row(GROUPS["SO(3)"]).C
    plane = sympy.Matrix([[0, 0, -p2], [0, 0, p1], [p2, -p1, 0]])
    assert plane == row(GROUPS["SE(2)"]).C
    assert not row(GROUPS["R^3"]).hat[:3, :3].free_symbols
    for name in ("R", "H", "SO(2)"):
        assert row(GROUPS[name]).hat.free_symbols


def test_the_page_is_what_the_script_writes():
    spec = importlib.util.spec_from_file_location("make_from_tables", DOCS / "make_from_tables.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.PAGE.read_text(encoding="utf-8") == script.page()
