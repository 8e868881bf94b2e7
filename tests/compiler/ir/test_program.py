"""A program says what its trace says: order, fusing, chunks and their workspace."""

import operator
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.program_runner import run

import fallingcat as fc
from fallingcat.arrays import Graph, cos, sin, sqrt, where
from fallingcat.compiler.ir.program import CHUNK_WEIGHT, MAX_WHOLE_LENGTH, program, recut
from fallingcat.compiler.ir.trace import Recipe, trace

BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, lambda a, b: where(a < b, a, b)]
UNARY = [sin, cos, operator.neg, lambda a: sqrt(a * a + 1.0)]


@st.composite
def expressions(draw):
    """A graph with four inputs, and a few of its numbers as outputs."""
    graph = Graph()
    numbers = [*graph.inputs("x_", 4), 0.5, -2.0]
    for _ in range(draw(st.integers(0, 60))):
        a, b = (draw(st.sampled_from(numbers)) for _ in range(2))
        if draw(st.booleans()):
            numbers.append(draw(st.sampled_from(UNARY))(a))
        else:
            b = 1.0 + b * b if draw(st.booleans()) else b
            with suppress(ZeroDivisionError):
                numbers.append(draw(st.sampled_from(BINARY))(a, b))
    outputs = draw(st.lists(st.sampled_from(numbers), min_size=1, max_size=8))
    return graph, [x if not isinstance(x, (int, np.number)) else float(x) for x in outputs]


@given(expressions(), st.integers(1, 20), st.booleans())
def test_a_program_of_random_expressions(case, chunk, fuse):
    graph, outputs = case
    inputs = graph.inputs("x_", 4)
    values = [0.3, -1.7, 2.9, 0.9]
    p = program([inputs], outputs, fuse=fuse, chunk=chunk)
    try:
        expected = graph.evaluate(outputs, {f"x_{i}": x for i, x in enumerate(values)})
    except (ZeroDivisionError, OverflowError, ValueError):
        return
    if not np.isfinite(np.array(expected, dtype=float)).all():
        return
    np.testing.assert_allclose(run(p, [values]), np.array(expected, dtype=float), rtol=1e-9, atol=1e-9)
    assert len(p.instructions) <= sum(graph.count(outputs).values())


@pytest.mark.parametrize("chunk", [7, 100, 10_000])
@pytest.mark.parametrize("function", [fc.inverse_dynamics, fc.forward_dynamics, fc.mass_matrix])
def test_a_program_of_a_robot(function, chunk):
    model = fc.robots.cat()
    traced = trace(Recipe(model, function))
    rng = np.random.default_rng(1)
    q, v = model.flatten(model.random_state(rng))
    arguments = [q, v, rng.normal(size=model.nv)][: len(traced.arguments)]
    names = {str(x): y for xs, ys in zip(traced.inputs, arguments, strict=True) for x, y in zip(xs, ys, strict=True)}
    p = program(traced.inputs, traced.outputs, chunk=chunk)
    expected = np.array(traced.graph.evaluate(traced.outputs, names), dtype=float)
    np.testing.assert_allclose(run(p, [a.tolist() for a in arguments]), expected, atol=1e-10)


def test_operands_come_first_and_everything_is_needed():
    model = fc.robots.humanoid()
    traced = trace(Recipe(model, fc.forward_dynamics))
    p = program(traced.inputs, traced.outputs)
    made = set(p.inputs)
    used = {x for x in p.outputs if isinstance(x, int)}
    for line in p.instructions:
        operands = {x for x in line.operands if isinstance(x, int)}
        assert operands <= made
        made.add(line.value)
        used |= operands
    assert {line.value for line in p.instructions} <= used
    assert [line for chunk in p.chunks for line in chunk.instructions] == p.instructions


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda a, b, c: [a * b + c], {"fma": 1}),
        (lambda a, b, c: [c - a * b], {"fnma": 1}),
        (lambda a, b, c: [a * b - c], {"fms": 1}),
        (lambda a, b, c: [a * b + c, a * b], {"mul": 1, "add": 1}),  # the product is a result itself
        (lambda a, b, c: [a * b + a * b * c], {"mul": 1, "fma": 1}),
    ],
)
def test_fusing_takes_products_that_have_one_use(function, expected):
    inputs = Graph().inputs("x_", 3)
    assert program([inputs], function(*inputs)).operations == expected
    assert not program([inputs], function(*inputs), fuse=False).operations.keys() & {"fma", "fms", "fnma"}


def test_short_programs_are_whole_in_batches_and_long_ones_in_short_pieces():
    """Compilers take more than linear time for long functions."""
    graph = Graph()
    inputs = graph.inputs("x_", 40)
    for length in (MAX_WHOLE_LENGTH // 2, 2 * MAX_WHOLE_LENGTH):
        values = list(inputs)
        while len(graph.nodes) < length:
            values.append(values[-1] * values[-40] + values[-7])
        p = recut(program([inputs], values[-3:]), MAX_WHOLE_LENGTH)
        longest = max(len(c.instructions) for c in p.chunks)
        whole = len(p.instructions) <= MAX_WHOLE_LENGTH
        assert longest == len(p.instructions) if whole else longest <= 2 * CHUNK_WEIGHT


def test_programs_without_instructions():
    graph = Graph()
    inputs = graph.inputs("x_", 2)
    p = program([inputs], [inputs[1], 3.0])
    assert run(p, [[1.0, 2.0]]) == [2.0, 3.0]
    assert p.instructions == []
    assert p.slots == 0
