"""Choices between SymPy expressions: ``Less`` and ``Select`` are kept, decided, differentiated and printed."""

import numpy as np
import pytest
import sympy
from sympy.core.relational import Relational

from fallingcat.arrays import less, where
from fallingcat.arrays.kinds.sympy import Less, Select
from fallingcat.lie import SE3, series

x, y = sympy.symbols("x y", real=True)
FLIP = Select(Less(x, 1), x**2, y)
NESTED = Select(Less(FLIP, y), FLIP + 1, sympy.sin(FLIP))  # a choice between choices, by a choice


def flip(x, y):
    return x * x if x < 1 else y


def nested(x, y):
    f = flip(x, y)
    return f + 1 if f < y else np.sin(f)


POINTS = [(0.5, 2.0), (0.5, 0.1), (1.0, 3.0), (2.0, -1.0)]


def test_the_functions_of_arrays_build_them():
    assert less(x, 1) == Less(x, 1)
    assert where(less(x, 1), x**2, y) == FLIP
    entries = where(less(np.array([x, y]), 0.0), 1.0, np.array([x, y]))
    assert list(entries) == [Select(Less(x, 0.0), 1.0, x), Select(Less(y, 0.0), 1.0, y)]


def test_only_constants_are_decided():
    assert Less(1, 2) is sympy.true
    assert Less(2.0, 2.0) is sympy.false
    assert Less(sympy.sqrt(2), sympy.pi / 2) is sympy.true
    assert Less(-sympy.oo, 0) is sympy.true
    assert isinstance(Less(x**2, -1), Less)  # SymPy's < would look into the assumptions
    for not_ordered in (sympy.nan, sympy.zoo, sympy.I):
        assert isinstance(Less(not_ordered, 1), Less)


def test_a_decided_choice_is_its_branch():
    assert Select(True, x, y) is x
    assert Select(False, x, y) is y
    assert Select(Less(x, y), x, x) is x


@pytest.mark.parametrize("point", POINTS)
def test_substitution_decides(point):
    values = dict(zip((x, y), point, strict=True))
    assert FLIP.subs(values) == flip(*point)
    assert float(NESTED.subs(values)) == pytest.approx(nested(*point), rel=1e-14)
    assert float(NESTED.evalf(subs=values)) == pytest.approx(nested(*point), rel=1e-14)
    assert FLIP.subs(x, y) == Select(Less(y, 1), y**2, y)
    assert FLIP.subs({x: sympy.Rational(1, 2)}) == sympy.Rational(1, 4)


def test_the_branch_that_is_not_taken_may_be_infinite():
    assert Select(Less(x, 1), 1, 1 / x).subs(x, 0) == 1


def test_derivative():
    assert FLIP.diff(x) == Select(Less(x, 1), 2 * x, 0)
    assert FLIP.diff(y) == Select(Less(x, 1), 0, 1)
    assert FLIP.diff(x, 2) == Select(Less(x, 1), 2, 0)
    assert FLIP.diff(sympy.Symbol("z")) == 0
    for point in POINTS[:2] + POINTS[3:]:  # not at the jump
        values, h = dict(zip((x, y), point, strict=True)), 1e-6
        slope = (nested(point[0] + h, point[1]) - nested(point[0] - h, point[1])) / (2 * h)
        assert float(NESTED.diff(x).subs(values)) == pytest.approx(slope, abs=1e-8)


@pytest.mark.parametrize("t", [0.0, 0.3, 0.999, 1.0, 1.7])
def test_derivative_of_a_guarded_series(t):
    """No 0/0 from the branch that is not taken."""
    for f, df in ((series.b, series.b1), (series.c, series.c1), (series.d, series.d1)):
        assert float(f(x).diff(x).subs(x, t)) == pytest.approx(df(t), rel=1e-12)


def test_rewriting_as_piecewise():
    assert Less(x, y).rewrite(Relational) == (x < y)
    assert FLIP.rewrite(sympy.Piecewise) == sympy.Piecewise((x**2, x < 1), (y, True))
    rewritten = NESTED.rewrite(sympy.Piecewise)
    assert not rewritten.has(Select, Less)
    for point in POINTS:
        values = dict(zip((x, y), point, strict=True))
        assert float(rewritten.subs(values)) == pytest.approx(nested(*point), rel=1e-14)


@pytest.mark.parametrize("modules", ["math", "numpy", "scipy", "mpmath", "jax", None])
@pytest.mark.parametrize("cse", [False, True])
def test_lambdify(modules, cse):
    function = sympy.lambdify([x, y], NESTED, modules=modules, cse=cse)
    for point in POINTS:
        assert float(function(*point)) == pytest.approx(nested(*point), rel=1e-6)  # JAX: single precision


def test_lambdify_for_arrays():
    function = sympy.lambdify([x, y], NESTED, modules="numpy", cse=True)
    np.testing.assert_allclose(function(*np.array(POINTS).T), [nested(*p) for p in POINTS], rtol=1e-15)


def test_lambdify_of_a_large_graph():
    """The logarithm of SE(3) as a tree has 220 million nodes; common parts named first, it compiles at once."""
    G = SE3()
    symbols = sympy.symbols("g:16", real=True)
    out = list(G.log(np.array(symbols, dtype=object).reshape(4, 4)))
    parts, reduced = sympy.cse(out, order="none")
    function = sympy.lambdify(symbols, reduced, modules="math", cse=lambda e: (parts, e))
    for g in (G.identity(), *(G.random(np.random.default_rng(seed)) for seed in range(3))):
        np.testing.assert_allclose(function(*g.flat), G.log(g), rtol=1e-12, atol=1e-13)


def test_printing():
    assert str(FLIP) == "Select(Less(x, 1), x**2, y)"
    assert sympy.latex(Less(x, y)) == "x < y"
    assert sympy.latex(FLIP) == sympy.latex(sympy.Piecewise((x**2, x < 1), (y, True)))
    assert "cases" in sympy.latex(NESTED)
    assert "x < 1" in sympy.pretty(FLIP)
    assert sympy.pycode(FLIP) == "((x**2) if (x < 1) else (y))"
    assert " ".join(sympy.ccode(FLIP).split()) == "((x < 1) ? ( pow(x, 2) ) : ( y ))"


def test_assumptions_are_those_of_both_branches():
    z = sympy.Symbol("z")
    assert FLIP.is_real
    assert FLIP.is_commutative
    assert sympy.sqrt(FLIP**2) == sympy.Abs(FLIP)
    assert Select(Less(x, 1), x, z).is_real is None
    assert Select(Less(x, 1), x, sympy.I).is_real is not True


def test_conditions_combine():
    inside = Less(-1, x) & Less(x, 1)
    window = Select(inside, 1, 0)
    assert [window.subs(x, value) for value in (-2, 0, 2)] == [0, 1, 0]
    assert Select(~Less(x, 1), x, y).subs(x, 0) == y
    assert sympy.lambdify(x, window, modules="math")(0.5) == 1


def test_simplification_leaves_choices_alone():
    assert sympy.simplify(Less(x, y)) == Less(x, y)
    assert sympy.simplify(Select(Less(x, 1), sympy.sin(x) ** 2 + sympy.cos(x) ** 2, y)) == Select(Less(x, 1), 1, y)
