"""One test body over all five kinds of number."""

import numpy as np
import pytest
from kinds import KINDS

import fallingcat as fc
from fallingcat import arrays
from fallingcat.arrays import (
    Graph,
    absolute,
    arccos,
    arcsin,
    arctan,
    arctan2,
    array,
    block,
    clip,
    columns,
    concatenate,
    cos,
    cross,
    exp,
    less,
    less_equal,
    log,
    map_each,
    maximum,
    minimum,
    scale,
    sign,
    sin,
    solve,
    solve_tree,
    sqrt,
    stack,
    tanh,
    where,
)
from fallingcat.arrays.differentiate import jacobian
from fallingcat.arrays.operations import FUNCTIONS

A = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, -1.0], [0.0, -1.0, 5.0]])
TREE = np.array(  # 1, 2, 3 on 0, 4 on 3
    [[9.0, 1, 2, -1, 0.5], [1, 3, 0, 0, 0], [2, 0, 4, 0, 0], [-1, 0, 0, 5, 1], [0.5, 0, 0, 1, 2]]
)
CASES = {
    "sin": (lambda x: sin(x), np.sin),
    "cos": (lambda x: cos(x), np.cos),
    "sqrt": (lambda x: sqrt(x * x), np.abs),
    "exp": (lambda x: exp(x), np.exp),
    "log": (lambda x: log(x * x), lambda x: np.log(x * x)),
    "arctan2": (lambda x: arctan2(x, x[::-1]), lambda x: np.arctan2(x, x[::-1])),
    "tanh": (lambda x: tanh(x), np.tanh),
    "absolute": (lambda x: absolute(x), np.abs),
    "maximum": (lambda x: maximum(x, x[::-1]), lambda x: np.maximum(x, x[::-1])),
    "minimum": (lambda x: minimum(x, 0.1), lambda x: np.minimum(x, 0.1)),
    "sign": (lambda x: sign(array([x[0], 0.0, x[1]])), lambda x: np.sign([x[0], 0.0, x[1]])),
    "less_equal": (lambda x: where(less_equal(x, x[1]), x, 2.0), lambda x: np.where(x <= x[1], x, 2.0)),
    "clip": (lambda x: clip(x, -0.3, 0.4), lambda x: np.clip(x, -0.3, 0.4)),
    "arctan": (lambda x: arctan(x), np.arctan),
    "arcsin": (lambda x: arcsin(tanh(x)), lambda x: np.arcsin(np.tanh(x))),
    "arccos": (lambda x: arccos(tanh(x)), lambda x: np.arccos(np.tanh(x))),
    "less and where": (lambda x: where(less(x, 0.0), -x, x * x), lambda x: np.where(x < 0, -x, x * x)),
    "scalar condition": (lambda x: where(less(x[0], x[1]), x, 2.0 * x), lambda x: x if x[0] < x[1] else 2 * x),
    "array": (lambda x: array([[x[0], 0.0], [1.0, x[1]]]), lambda x: np.array([[x[0], 0], [1, x[1]]])),
    "0-d array": (lambda x: array(x[0]) * A, lambda x: x[0] * A),
    "block": (lambda x: block([[A, x[:, None]], [x[None, :], np.ones((1, 1))]]),
              lambda x: np.block([[A, x[:, None]], [x, 1.0]])),
    "each": (lambda x: stack(map_each(lambda a, b: a * x + b, [x, A[0], A[1], A[2]], [A[2], A[1], x, x])),
             lambda x: np.stack([x * x + A[2], A[0] * x + A[1], A[1] * x + x, A[2] * x + x])),
    "columns": (lambda x: columns(lambda a, b: scale(x[0], a) + A @ b, A * x[:, None], A),
                lambda x: x[0] * (A * x[:, None]) + A @ A),
    "solve_tree": (lambda x: solve_tree(scale(x[0] * x[0], A) + np.eye(3), x, [-1, 0, 1]),
                   lambda x: np.linalg.solve(A * x[0] * x[0] + np.eye(3), x)),
    "solve_tree, columns": (lambda x: solve_tree(TREE, scale(x[1], TREE), [-1, 0, 0, 0, 3]),
                            lambda x: np.eye(5) * x[1]),
    "concatenate": (lambda x: concatenate([x, np.ones(2)]), lambda x: np.append(x, [1, 1])),
    "stack": (lambda x: stack([x, 2.0 * x], axis=1), lambda x: np.stack([x, 2 * x], axis=1)),
    "cross": (lambda x: cross(x, A[0]), lambda x: np.cross(x, A[0])),
    "matmul": (lambda x: A @ x, lambda x: A @ x),
    "solve for a constant matrix": (lambda x: solve(A, x), lambda x: np.linalg.solve(A, x)),
    "solve": (lambda x: solve(A + x[:, None] * x[None, :], np.eye(3)),
              lambda x: np.linalg.inv(A + np.outer(x, x))),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("x", [np.array([0.3, -1.2, 2.5]), np.array([-0.7, 0.1, 1e-3])], ids=["a", "b"])
def test_every_kind_gives_the_numbers_of_numpy(kind, case, x):
    ours, numpys = CASES[case]
    got, expected = KINDS[kind](ours, x), np.asarray(numpys(x))
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("kind", KINDS)
def test_solve_exchanges_rows_where_a_pivot_is_exactly_zero(kind):
    swap = np.array([[0.0, 1.0], [1.0, 0.0]])
    got = KINDS[kind](lambda x: solve(swap * array(x[0]), x), np.array([2.0, 3.0]))
    np.testing.assert_allclose(got, [1.5, 1.0], rtol=1e-15)


SMOOTH = [
    sin,
    cos,
    exp,
    lambda x: sqrt(1.0 + x),
    lambda x: log(2.0 + x),
    lambda x: arctan2(x, 1.0 - x),
    lambda x: where(less(x, 1.0), x * x, x),
    tanh,
    lambda x: absolute(x - 1.0),
    lambda x: clip(2.0 * x, 0.0, 1.0) + maximum(x, 0.1) - minimum(x * x, 0.9),
    arctan,
    arcsin,
    arccos,
]


@pytest.mark.parametrize("function", SMOOTH)
def test_complex_step_gives_derivatives(function):
    x, h = 0.4, 1e-6
    step = np.imag(function(np.array(x + 1e-30j))) / 1e-30
    central = (function(np.array(x + h)) - function(np.array(x - h))) / (2 * h)
    assert step == pytest.approx(float(central), rel=1e-9)


def test_nan_is_not_lost():
    nan, one = np.array([np.nan]), np.array([1.0])
    for function in (maximum, minimum):
        assert np.isnan(function(nan, one)).all()
        assert np.isnan(function(one, nan)).all()
    assert maximum(np.array([np.inf]), np.array([-np.inf])) == np.inf
    assert minimum(np.array([np.inf]), np.array([-np.inf])) == -np.inf
    assert np.isnan(clip(nan, 0.0, 1.0)).all()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_row_of_the_table_is_enough(name):
    """Every function of the table: number, derivative, machine code for one state and for a batch, its name in C."""
    row, model = FUNCTIONS[name], fc.robots.planar_arm()
    function = getattr(arrays, name)

    def of(model, state, x):
        return function(*(0.5 + 0.4 * x[: 3 * row.inputs].reshape(row.inputs, 3)))

    kernel = fc.compile(model, of, inputs={"x": 6})
    x = np.random.default_rng(0).uniform(-1.0, 1.0, size=(70, 6))
    states = np.tile(model.flatten(model.neutral())[0], (70, 1))
    exact = np.array([of(model, None, row) for row in x])
    np.testing.assert_allclose(kernel(states, x), exact, rtol=4e-16, atol=4e-16)
    np.testing.assert_array_equal(kernel(states[3], x[3]), kernel(states, x)[3])
    graph = Graph()
    inputs = graph.inputs("x", row.inputs)
    slopes = graph.evaluate(jacobian([function(*inputs)], inputs)[0], {"x0": 0.3, "x1": 0.7})
    steps = 1e-30j * np.eye(row.inputs)
    by_step = [np.imag(function(*(np.array([0.3, 0.7])[: row.inputs] + step))) / 1e-30 for step in steps]
    np.testing.assert_allclose(slopes, by_step, rtol=1e-14)
    assert row.names["c"] in fc.compile(model, of, inputs={"x": 6}, target="c").source
