"""Derivatives of traced expressions, against complex steps and finite differences."""

import numpy as np
import pytest

from fallingcat.arrays import Graph, arctan2, array, cos, exp, less, log, sin, sqrt, where
from fallingcat.arrays.differentiate import jacobian, jacobian_vector_product, substitute, vector_jacobian_product


def smooth(x):
    a, b, c = x
    return array(
        [
            sin(a * b) + cos(c) / (1.0 + b * b),
            sqrt(1.0 + a * a) * exp(-c) - log(2.0 + b * b),
            (a - b) * (b - c) ** 3 - 4.0,
            a * 0.0 + 7.0,
        ]
    )


def kinked(x):
    return array([arctan2(x[0], x[1]), where(less(x[0], x[2]), x[0] * x[1], x[2])])


def evaluate(graph, matrix, x):
    flat = graph.evaluate(matrix.ravel(), {f"x{i}": value for i, value in enumerate(x)})
    return np.array(flat, dtype=float).reshape(matrix.shape)


@pytest.mark.parametrize("seed", range(5))
def test_against_complex_steps(seed):
    x = np.random.default_rng(seed).normal(size=3)
    graph = Graph()
    inputs = graph.inputs("x", 3)
    J = evaluate(graph, jacobian(smooth(inputs), inputs), x)
    steps = x + 1e-30j * np.eye(3)
    np.testing.assert_allclose(J, np.array([np.imag(smooth(z)) / 1e-30 for z in steps]).T, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("x", [(0.3, -0.4, 1.0), (0.9, 0.2, -0.5)])
def test_angles_and_cases(x):
    graph = Graph()
    inputs = graph.inputs("x", 3)
    J = evaluate(graph, jacobian(kinked(inputs), inputs), x)
    rows = [(kinked(np.array(x) + d) - kinked(np.array(x) - d)) / 2e-6 for d in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(J, np.array(rows).T, atol=1e-9)


@pytest.mark.parametrize("law", [smooth, kinked])
def test_along_one_direction_and_for_one_weight(law):
    x, d = np.random.default_rng(6).normal(size=(2, 3))
    graph = Graph()
    inputs, directions = graph.inputs("x", 3), graph.inputs("d", 3)
    outputs = law(inputs)
    weights = graph.inputs("w", len(outputs))
    w = np.arange(1.0, 1.0 + len(outputs))
    names = {f"{name}{i}": z for name, zs in (("x", x), ("d", d), ("w", w)) for i, z in enumerate(zs)}
    J = evaluate(graph, jacobian(outputs, inputs), x)
    forward = graph.evaluate(jacobian_vector_product(outputs, dict(zip(inputs, directions, strict=True))), names)
    backward = graph.evaluate(vector_jacobian_product(outputs, weights, inputs), names)
    np.testing.assert_allclose(forward, J @ d, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(backward, w @ J, rtol=1e-13, atol=1e-14)
    some = graph.evaluate(vector_jacobian_product(outputs, weights, inputs[:1]), names)
    np.testing.assert_allclose(some, (w @ J)[:1], rtol=1e-13, atol=1e-14)


def test_what_does_not_depend_is_exactly_zero():
    graph = Graph()
    x = graph.inputs("x", 3)
    assert jacobian(array([x[0] * x[0], 3.0 + 0.0 * x[1]]), x)[1].tolist() == [0.0, 0.0, 0.0]
    assert jacobian(np.array([1.0, 2.0]), np.array([0.5])).tolist() == [[0.0], [0.0]]
    assert jacobian_vector_product([x[0], 2.0], {x[1]: x[2]}) == [0.0, 0.0]
    assert vector_jacobian_product([x[0], 2.0], [x[1], x[1]], [x[2], x[0]]) == [0.0, x[1]]
    assert vector_jacobian_product([], [], []) == []


def test_substitution_folds_and_keeps_the_rest():
    graph = Graph()
    x = graph.inputs("x", 3)
    folded = substitute(smooth(x), {x[0]: 0.0, x[1]: 0.0})
    assert graph.count([folded[1]]).keys() <= {"exp", "sub", "neg", "add"}
    values = {"x0": 0.0, "x1": 0.0, "x2": 0.7}
    np.testing.assert_allclose(graph.evaluate(folded, values), smooth(np.array([0.0, 0.0, 0.7])), rtol=1e-15)
    all_known = substitute(kinked(x), {x[0]: 0.3, x[1]: -0.4, x[2]: 1.0})
    np.testing.assert_allclose(all_known.astype(float), kinked(np.array([0.3, -0.4, 1.0])), rtol=1e-15)
