"""Branches: what only a condition asks for is skipped where it does not hold, and nothing else changes."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.arrays import Graph, array, branch, concatenate, less, where, while_loop
from fallingcat.compiler.ir.instructions import Chunk, Repeat
from fallingcat.compiler.ir.program import program


def long(x):
    for k in range(20):
        x = 0.3 * x * x + 0.01 * (k + 1)
    return x


def chosen(model, x):
    """Branches that need each other, before a loop and in it; values of one stretch that only a later one reads."""
    one, other = less(x[0], 0.0), less(x[1], 0.0)
    early = long(x[2])
    a = branch(one, early, x[2])
    b = branch(other, long(0.1 * a), 0.7)
    c = branch(one, long(0.1 * b) + early, b)

    def again(z):
        d = branch(one, long(0.1 * z[0]) + early, 0.5 * z[0])
        e = branch(other, long(0.1 * d), 0.0)
        yield array([d, z[1] + e]), -1.0 - z[0] * z[0]
        yield array([d + branch(other, long(0.2 * d), 0.1), z[1] + 1.0]), z[1] - 3.0

    return concatenate([array([a, b, c, where(one, 1.0, 2.0)]), while_loop(again, array([c, a]), 4)])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_choices_are_those_of_numbers(dtype):
    kernel = fc.compile(fc.robots.free_body(), chosen, inputs={"x": 4}, state=None, dtype=dtype)
    x = np.random.default_rng(0).normal(size=(67, 4)).astype(dtype)
    expected = np.array([chosen(None, row) for row in x.astype(float)])
    found = kernel(x)
    np.testing.assert_allclose(found, expected, rtol=1e-12 if dtype == "float64" else 1e-4)
    np.testing.assert_array_equal(found, [kernel(row) for row in x])


def test_what_a_condition_alone_asks_for_is_guarded():
    graph = Graph(loops=True)
    x = graph.inputs("x", 4)
    made = program([x], chosen(None, x))
    chunks = [c for c in made.chunks if isinstance(c, Chunk)]
    (repeat,) = (c for c in made.chunks if isinstance(c, Repeat))
    for part in (chunks, repeat.chunks):
        skipped, done = ([len(c.instructions) for c in part if (c.guard is None) is free] for free in (False, True))
        assert sum(skipped) > 4 * sum(done) > 0
    assert all(line.value not in c.otherwise for c in chunks for line in c.instructions if line.op != "select")


def test_a_short_branch_is_none():
    graph = Graph(loops=True)
    x = graph.inputs("x", 2)
    made = program([x], [branch(less(x[0], 0.0), x[1] * x[1], 0.0)])
    assert all(c.guard is None for c in made.chunks)


def within(model, x):
    """Branches within others, whose guards are found there; what two of them need, before a loop and in it."""
    outer, shared = less(x[0], 0.0), long(x[2])
    inner = [less(branch(outer, long(0.1 * x[3] + k), 9.0), 0.5 + x[1]) for k in (0.0, 0.4)]

    def summed(z):
        parts = [branch(near, long(0.1 * (shared + z + k)) + shared, 0.0) for k, near in enumerate(inner)]
        return branch(outer, long(0.1 * (parts[0] + parts[1])), 0.0)

    found = while_loop(lambda z: (array([summed(0.1 * z[0]), z[1] + 1.0]), z[1] - 2.0), array([summed(x[3]), x[1]]), 4)
    return concatenate([array([branch(outer, branch(inner[1], long(shared), x[1]), x[1])]), found])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_branches_within_branches_are_those_of_numbers(dtype):
    kernel = fc.compile(fc.robots.free_body(), within, inputs={"x": 4}, state=None, dtype=dtype)
    x = np.random.default_rng(1).normal(size=(67, 4)).astype(dtype)
    expected = np.array([within(None, row) for row in x.astype(float)])
    found = kernel(x)
    np.testing.assert_allclose(found, expected, rtol=1e-12 if dtype == "float64" else 1e-4)
    np.testing.assert_array_equal(found, [kernel(row) for row in x])


def test_what_branches_within_one_need_is_guarded_by_that():
    graph = Graph(loops=True)
    x = graph.inputs("x", 4)
    made = program([x], within(None, x))
    (repeat,) = (c for c in made.chunks if isinstance(c, Repeat))
    for part in ([c for c in made.chunks if isinstance(c, Chunk)], repeat.chunks):
        inner = {c.guard: c.within for c in part if c.within is not None}
        assert len(inner) == 2
        assert len({*inner.values()}) == 1
        assert sum(len(c.instructions) for c in part if c.guard is None) < 20
