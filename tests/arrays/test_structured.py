"""Matrices turned about one axis: the same numbers with fewer products."""

from itertools import permutations, product

import numpy as np
import pytest

from fallingcat.arrays import Graph, cos, rotate_matrix, sin

SIGNED = [
    np.eye(3)[list(order)] * np.array(signs)[:, None]
    for order in permutations(range(3))
    for signs in product((1.0, -1.0), repeat=3)
]
EXCHANGES = [Q for Q in SIGNED if np.linalg.det(Q) > 0.0]


def about(axis, c, s):
    """The turn about a coordinate axis, as numbers or expressions."""
    a, b = (axis + 1) % 3, (axis + 2) % 3
    G = np.zeros((3, 3), dtype=object)
    G[axis, axis], G[a, a], G[b, b], G[a, b], G[b, a] = 1.0, c, c, -s, s
    return G


def numbers(graph, out, values):
    return np.array(graph.evaluate([out], values), dtype=float).reshape(3, 3)


@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_every_exchange_of_axes_before_and_after_a_turn(axis, side):
    rng = np.random.default_rng(axis)
    assert len(EXCHANGES) == 24
    for Q in EXCHANGES:
        graph = Graph()
        angle, m = graph.input("angle"), graph.inputs("m", 9).reshape(3, 3)
        G = about(axis, cos(angle), sin(angle))
        x, M = rng.uniform(-3.0, 3.0), rng.normal(size=(3, 3))
        g = about(axis, np.cos(x), np.sin(x)).astype(float)
        R, r = (Q @ G, Q @ g) if side == "after" else (G @ Q, g @ Q)
        out = rotate_matrix(R, m)
        values = {"angle": x, **{f"m{k}": v for k, v in enumerate(M.ravel())}}
        np.testing.assert_allclose(numbers(graph, out, values), r @ M @ r.T, atol=1e-14)
        assert graph.count([out])["mul"] == 4 + 2 + 8  # two of them s^2 and s c, which other matrices share
        assert graph.count([R @ m @ R.T])["mul"] == 24


def test_symmetric_matrices_need_half():
    graph = Graph()
    angle, (a, b, c, d, e, f) = graph.input("angle"), graph.inputs("m", 6)
    M = np.array([[a, b, c], [b, d, e], [c, e, f]])
    out = rotate_matrix(about(2, cos(angle), sin(angle)), M)
    assert out[0, 1] is out[1, 0]
    assert out[0, 2] is out[2, 0]
    assert graph.count([out])["mul"] == 4 + 2 + 4


def test_other_rotations_and_numbers_are_multiplied_out():
    rng = np.random.default_rng(0)
    graph = Graph()
    p, q, m = graph.input("p"), graph.input("q"), graph.inputs("m", 9).reshape(3, 3)
    x, y, M = 0.3, -1.1, rng.normal(size=(3, 3))
    values = {"p": x, "q": y, **{f"m{k}": v for k, v in enumerate(M.ravel())}}
    slanted = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
    for left, right in ((about(0, cos(p), sin(p)), about(1, cos(q), sin(q))), (slanted, about(2, cos(p), sin(p)))):
        R = left @ right
        r = np.array(graph.evaluate([R], values), dtype=float).reshape(3, 3)
        np.testing.assert_allclose(r @ r.T, np.eye(3), atol=1e-15)
        np.testing.assert_allclose(numbers(graph, rotate_matrix(R, m), values), r @ M @ r.T, atol=1e-14)
        np.testing.assert_array_equal(rotate_matrix(r, M), r @ M @ r.T)
    looks_like_one = about(2, cos(p), sin(q))  # no rotation: nothing may be assumed of it
    looks_like_one[1, 0] = sin(p)
    r = np.array(graph.evaluate([looks_like_one], values), dtype=float).reshape(3, 3)
    np.testing.assert_allclose(numbers(graph, rotate_matrix(looks_like_one, m), values), r @ M @ r.T, atol=1e-14)
    fixed = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], dtype=object)
    np.testing.assert_allclose(
        numbers(graph, rotate_matrix(fixed, m), values), fixed.astype(float) @ M @ fixed.astype(float).T, atol=1e-15
    )
