"""Loops of a trace: the same numbers and bits as when everything is written out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.program_runner import run
from random_robots import BASES

import fallingcat as fc
from fallingcat.arrays import Graph, Traced, array, columns, cos, map_each, sin, sqrt, where
from fallingcat.compiler import aligned
from fallingcat.compiler.ir.instructions import Loop
from fallingcat.compiler.ir.program import program, recut
from fallingcat.compiler.ir.trace import Recipe, trace

OPERATIONS = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / (2.0 + b * b),
    lambda a, b: where(a < b, a, b * b),
    lambda a, b: sqrt(a * a + 1.0),
    lambda a, b: -a,
    lambda a, b: sin(a),
    lambda a, b: cos(b),
]


@st.composite
def bodies(draw):
    """A function of some numbers, a few of its results."""
    steps = draw(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 99), st.integers(0, 99)), max_size=12))
    picks = draw(st.lists(st.integers(0, 99), min_size=1, max_size=5))

    def body(numbers):
        numbers = [*numbers, 0.5, -2.0, 0.0]
        for op, a, b in steps:
            numbers.append(OPERATIONS[op](numbers[a % len(numbers)], numbers[b % len(numbers)]))
        return [numbers[k % len(numbers)] for k in picks]

    return body


@st.composite
def functions(draw):
    """A function of a vector: two loops one after the other, with scalars between and after them."""
    first, second = draw(bodies()), draw(bodies())
    count, rest = draw(st.integers(2, 21)), draw(st.integers(0, 5))
    order = draw(st.sampled_from(["rows", "columns", "twice", "some", "jumps"]))

    def function(x):
        shared = [x[0] * x[1], x[2]]
        table = [0.25 * k for k in range(count)]
        zeros = [x[k] if k % 5 == rest else 0.0 for k in range(count)]
        made = map_each(lambda a, b, c, d: first([a, b, c, d, *shared]), x[:count], x[count : 2 * count], table, zeros)
        last = map_each(lambda row, a: second([*row, a, shared[0]]), [row[::-1] for row in made], list(x[:count])[::-1])
        matrix = array([[1.0 * e for e in row] for row in last])
        more = array([made[0][0] + made[-1][-1], shared[1] * last[0][0], 3.0])
        parts = {
            "rows": [matrix],
            "columns": [matrix.T],
            "twice": [matrix.T, matrix.T, array([row[0] for row in made])],
            "some": [matrix.T[:, rest:]],
            "jumps": [matrix.T[:, : count // 2], more, matrix.T[:, count // 2 :]],
        }[order]
        return np.concatenate([np.ravel(part) for part in [*parts, more]])

    return function


@settings(max_examples=60, deadline=None)
@given(functions(), st.integers(5, 60), st.booleans())
def test_a_program_with_loops_says_what_its_trace_says(function, chunk, fuse):
    inputs = np.random.default_rng(0).uniform(0.2, 1.5, 42)
    graph = Graph(loops=True)
    x = graph.inputs("x_", len(inputs))
    outputs = [y if isinstance(y, Traced) else float(y) for y in function(x)]
    expected = np.array(function(inputs), dtype=float)
    np.testing.assert_allclose(graph.evaluate(outputs, {f"x_{k}": y for k, y in enumerate(inputs)}), expected, 1e-9)
    p = program([x], outputs, fuse=fuse, chunk=chunk)
    np.testing.assert_allclose(run(p, [inputs.tolist()]), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(run(recut(p, 500), [inputs.tolist()]), expected, rtol=1e-9, atol=1e-9)


def sliders(count):
    """A robot whose state is a vector of plain numbers."""
    return fc.robots.random_tree(
        np.random.default_rng(0), count, kinds=["prismatic"], base=fc.lie.Trivial(), branching=0.0
    )


@settings(max_examples=12, deadline=None)
@given(functions(), st.sampled_from(["float64", "float32"]))
def test_machine_code_with_loops(function, dtype):
    model = sliders(42)
    kernel = fc.compile(model, lambda model, state: function(state.joints), dtype=dtype)
    states = np.random.default_rng(1).uniform(0.2, 1.5, (11, 42)).astype(dtype)
    expected = np.array([function(x) for x in states.astype(float)], dtype=float)
    one = np.array([kernel(x) for x in states])
    np.testing.assert_allclose(one, expected, rtol=1e-9 if dtype == "float64" else 1e-3, atol=1e-12)
    for threads in (1, 2):
        np.testing.assert_array_equal(kernel(states, threads=threads), one)


def test_a_loop_is_found_where_things_are_alike():
    graph = Graph(loops=True)
    x = graph.inputs("x_", 12)
    results = map_each(lambda a, b: (a * x[0] + b, 2.0, a), list(x[:6]), list(x[6:]))
    assert {r[0].op for r in results} == {"part"}
    assert [r[1] for r in results] == [2.0] * 6  # what needs no loop is in none
    assert [r[2] for r in results] == list(x[:6])
    assert graph.count([r[0] for r in results]) == {"mul": 6, "add": 6}
    few = map_each(lambda a: a * x[0], list(x[:3]))
    assert {r.op for r in few} == {"mul"}
    mixed = map_each(lambda a: a.sum() * 2.0, [x[:2], x[2:5], x[3:5], x[5:7], x[7:9], x[9:12]])
    assert [r.op for r in mixed] == ["part", "mul", "part", "part", "part", "mul"]
    written_out = Graph()
    y = written_out.inputs("x_", 12)
    assert {r.op for r in map_each(lambda a: a * y[0], list(y))} == {"mul"}


def test_conditions_go_through_no_loop():
    graph = Graph(loops=True)
    x = graph.inputs("x_", 8)
    conditions = [a < 0.5 for a in x]
    chosen = map_each(lambda c, a: where(c, a, -a), conditions, list(x))
    assert {r.op for r in chosen} == {"select"}
    assert {r.op for r in map_each(lambda a: a < 0.1, list(x))} == {"less"}
    inside = map_each(lambda a: where(a < 0.5, a, where(x[0] < 0.1, a * a, -a)), list(x))
    values = np.linspace(0.0, 1.0, 8)
    expected = [a if a < 0.5 else a * a for a in values]  # x[0] is 0
    assert {r.op for r in inside} == {"part"}
    np.testing.assert_allclose(graph.evaluate(inside, {f"x_{k}": a for k, a in enumerate(values)}), expected)
    p = program([x], inside)
    np.testing.assert_allclose(run(p, [values.tolist()]), expected)


def test_columns_of_matrices():
    rng = np.random.default_rng(3)
    A, X, Y = rng.normal(size=(5, 5)), rng.normal(size=(5, 9)), rng.normal(size=(5, 9))
    graph = Graph(loops=True)
    a, x, y = (graph.inputs(name, m.size).reshape(m.shape) for name, m in (("a", A), ("x", X), ("y", Y)))
    out = columns(lambda x, y: a @ x - y, x, y)
    values = {f"{n}{k}": v for n, m in (("a", A), ("x", X), ("y", Y)) for k, v in enumerate(m.ravel())}
    found = np.reshape(graph.evaluate([out], values), (5, 9))
    np.testing.assert_allclose(found, A @ X - Y, atol=1e-14)
    np.testing.assert_allclose(columns(lambda x, y: A @ x - y, X, Y), A @ X - Y)


# robots -------------------------------------------------------------------------------------------------------------

LOOPED = [
    fc.coriolis_matrix,
    fc.dynamics.centroidal_momentum_matrix_derivative,
    fc.inverse_dynamics_derivatives,
    fc.forward_dynamics_derivatives,
]


def arguments_of(model, rng, count, kernel):
    rows = []
    for _ in range(count):
        q, v = model.flatten(model.random_state(rng))
        rows.append([q, v, rng.normal(size=model.nv)][: len(kernel.signature)])
    return [np.array(column) for column in zip(*rows, strict=True)]


def parts(result):
    return list(result) if isinstance(result, tuple) else [result]


@pytest.mark.parametrize("function", LOOPED)
def test_the_same_bits_with_loops(function):
    model = fc.robots.cat()
    kernel = fc.compile(model, function)
    assert any(isinstance(chunk, Loop) and len(chunk.instructions) > 2 for chunk in kernel.program.chunks)
    many = arguments_of(model, np.random.default_rng(0), 19, kernel)
    one = [parts(kernel(*state)) for state in zip(*many, strict=True)]
    for threads in (1, 2):
        for k, batch in enumerate(parts(kernel(*many, threads=threads))):
            np.testing.assert_array_equal(batch, np.array([x[k] for x in one]))
    blocks = []
    for x in many:
        block = aligned((2, x.shape[1], kernel.lanes))
        block[:] = x[: 2 * kernel.lanes].reshape(2, kernel.lanes, -1).swapaxes(1, 2)
        blocks.append(block)
    flat = kernel.blocks(*blocks).swapaxes(1, 2).reshape(2 * kernel.lanes, -1)
    wanted = np.array([np.concatenate([np.ravel(x) for x in state]) for state in one[: 2 * kernel.lanes]])
    np.testing.assert_array_equal(flat, wanted)


@pytest.mark.parametrize("base", BASES, ids=str)
def test_derivatives_of_every_base_and_joint(base):
    """The kernels against the function on numbers (which eliminates otherwise), and against differences."""
    rng = np.random.default_rng(5)
    kinds = ["revolute", "prismatic", "spherical", "planar", "revolute", "revolute"]
    model = fc.robots.random_tree(rng, 7, kinds=kinds, base=base)
    state, forces = model.random_state(rng), rng.normal(size=model.nv)
    q, v = model.flatten(state)
    found = fc.compile(model, fc.forward_dynamics_derivatives)(q, v, forces)
    plain = fc.forward_dynamics_derivatives(model, state, forces)
    condition = np.linalg.cond(fc.mass_matrix(model, state))
    for ours, theirs in zip(found, plain, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-14 * condition * np.abs(theirs).max())
    direction, h = rng.normal(size=model.nv), 1e-6
    moved = [fc.forward_dynamics(model, fc.dynamics.displace(model, state, s * h * direction), forces) for s in (1, -1)]
    difference = (moved[0] - moved[1]) / (2.0 * h)
    scale = np.abs(found.configuration).max() + 1.0
    np.testing.assert_allclose(found.configuration @ direction, difference, rtol=0.0, atol=1e-5 * scale)


def test_few_operations_for_derivatives_of_forward_dynamics():
    model = fc.robots.humanoid()
    traced = trace(Recipe(model, fc.forward_dynamics_derivatives), loops=True)
    p = program(traced.inputs, traced.outputs)
    assert len(p.instructions) < 11_000  # straight line, fused; Gauss elimination alone had 200,000
    assert sum(len(c.instructions) for c in p.chunks if isinstance(c, Loop)) < 1_500
