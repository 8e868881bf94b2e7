"""The traced scalar: sharing, folding, signs, counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallingcat.arrays import Graph, Traced, arctan2, cos, less, sin, where
from fallingcat.errors import FallingCatError, NumericsError  # noqa: F401


@pytest.fixture
def xyz():
    return Graph().inputs("x", 3)


def test_equal_expressions_are_the_same_object(xyz):
    x, y, _ = xyz
    assert x * y is y * x
    assert x + y is y + x
    assert sin(x + y) is sin(y + x)


def test_exact_zeros_and_ones_disappear(xyz):
    x = xyz[0]
    assert 0.0 * x == 0.0
    assert x + 0.0 is x
    assert x - 0.0 is x
    assert 1.0 * x is x
    assert x / 1.0 is x
    assert x - x == 0.0
    assert x / x == 1.0
    assert 0.0 / x == 0.0
    assert x**1 is x
    assert x**0 == 1.0


def test_signs_move_outwards(xyz):
    x, y, _ = xyz
    assert (-x) * y is -(x * y)
    assert (-x) * (-y) is x * y
    assert x - y is -(y - x)
    negative = -x
    assert -negative is x
    assert 0.0 - x is -x
    assert (-x) + (-y) is -(x + y)
    assert (-2.0) * x is -(2.0 * x)
    assert sin(-x) is -sin(x)
    assert cos(-x) is cos(x)
    assert x / (-y) is -(x / y)


def test_constants_multiply_into_constants(xyz):
    x = xyz[0]
    assert 3.0 * (2.0 * x) is 6.0 * x
    assert (x / 4.0) * 4.0 is x
    assert np.float64(2.0) * x is 2.0 * x is x * np.int64(2)


def test_dense_matrices_leave_sparse_traces(xyz):
    identity = np.eye(3) @ np.diag(xyz) @ np.eye(3)
    assert identity[0, 0] is xyz[0]
    assert identity[0, 1] == 0.0
    assert xyz[0].graph.count([identity]) == {}


def test_counts_what_is_needed_and_nothing_else(xyz):
    x, y, z = xyz
    unused = sin(z)  # noqa: F841
    assert x.graph.count([x * y + cos(x * y), x * y]) == {"mul": 1, "cos": 1, "add": 1}


def test_a_branch_on_a_traced_value_is_refused(xyz):
    with pytest.raises(TypeError, match="where"):
        bool(xyz[0] < 1.0)
    with pytest.raises(TypeError, match="no number yet"):
        float(xyz[0])
    with pytest.raises(TypeError, match="whole and half powers"):
        xyz[0] ** 0.3
    with pytest.raises(TypeError, match="instead of =="):
        xyz[0] == 0.0  # noqa: B015


def test_select_of_equal_branches_is_the_branch(xyz):
    x, y, _ = xyz
    assert where(less(x, y), x, x) is x
    assert where(less(x, y), 1.0, 1.0) == 1.0
    assert repr(where(x > 1.0, x, y)) == "select(1.0 < x0, x0, x1)"


def test_two_graphs_do_not_mix_names():
    assert Graph().input("x") is not Graph().input("x")


# random expressions: the trace of an expression has its value, whatever was folded on the way
leaves = st.sampled_from([0, 1, 2]) | st.sampled_from([0.0, 1.0, -1.0, 0.5, -3.0])
unary = st.sampled_from(["neg", "sin", "cos", "square"])
trees = st.recursive(
    leaves,
    lambda inner: (
        st.tuples(unary, inner) | st.tuples(st.sampled_from(["+", "-", "*", "/", "?", "atan2"]), inner, inner)
    ),
    max_leaves=25,
)


def build(tree, xs):
    if isinstance(tree, int):
        return xs[tree]
    if isinstance(tree, float):
        return tree
    op, *parts = tree
    a = [build(p, xs) for p in parts]
    return {
        "neg": lambda: -a[0],
        "sin": lambda: sin(a[0]),
        "cos": lambda: cos(a[0]),
        "square": lambda: a[0] ** 2 if isinstance(a[0], Traced) else a[0] * a[0],
        "+": lambda: a[0] + a[1],
        "-": lambda: a[0] - a[1],
        "*": lambda: a[0] * a[1],
        "/": lambda: a[0] / (a[1] * a[1] + 1.0),
        "?": lambda: where(less(a[0], a[1]), a[0], a[1]),
        "atan2": lambda: arctan2(a[0] + 2.0, a[1] * a[1] + 1.0),
    }[op]()


@given(trees, st.lists(st.floats(-2, 2), min_size=3, max_size=3))
def test_folding_keeps_the_value(tree, values):
    graph = Graph()
    out = build(tree, graph.inputs("x", 3))
    expected = float(build(tree, np.array(values)))
    [got] = graph.evaluate([out], {f"x{i}": v for i, v in enumerate(values)})
    assert got == pytest.approx(expected, rel=1e-12, abs=1e-12)
