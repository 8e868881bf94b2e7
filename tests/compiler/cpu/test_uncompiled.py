"""A function that is too large for a kernel runs as it is: a warning names it, and the answers are its own."""

import pickle
from functools import partial

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.cli.export_file import export_files
from fallingcat.compiler import compilation
from fallingcat.compiler.cpu import numpy_backend as plain
from fallingcat.compiler.ir import trace as trace_module
from fallingcat.compiler.ir.results import flatten
from fallingcat.progress import SlowWarning

MODEL = fc.robots.two_cylinder_cat()
FUNCTIONS = [fc.mass_matrix, fc.inverse_dynamics, fc.reduced_equations, fc.forward_kinematics]


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Kernels of 50 operations at most, and a cache of its own."""
    monkeypatch.setattr(trace_module, "MAX_OPERATIONS", 50)
    monkeypatch.setenv("FALLINGCAT_CACHE", str(tmp_path))


def compiled(function, **how):
    with pytest.warns(RuntimeWarning, match=f"{function.__name__} of .* has more than 50 operations.* as slow as unc"):
        return fc.compile(MODEL, function, **how)


def numbers(result):
    flat = []
    flatten(result, flat)
    return np.array(flat)


def states(count):
    rng = np.random.default_rng(3)
    flat = [MODEL.flatten(MODEL.random_state(rng)) for _ in range(count)]
    return [np.stack(x) for x in zip(*flat, strict=True)] + [rng.normal(size=(count, MODEL.nv))]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_one_state_and_blocks(small, function):
    kernel = compiled(function)
    given = states(6)[: len(kernel.signature)]
    one = [x[0] for x in given]
    velocity = one[1:2] if len(one) > 1 else []
    expected = function(MODEL, MODEL.unflatten(one[0], *velocity), *one[2:])
    np.testing.assert_array_equal(numbers(kernel(*one)), numbers(expected))
    flat = kernel.blocks(*(np.ascontiguousarray(x[:, :, None]) for x in given))
    for i in range(6):
        np.testing.assert_array_equal(flat[i, :, 0], numbers(kernel(*(x[i] for x in given))))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_same_face_and_result_as_machine_code(monkeypatch, tmp_path, function, dtype):
    code = fc.compile(MODEL, function, dtype=dtype)
    given = states(5)[: len(code.signature)]
    code(*given), code(*(x[0] for x in given))  # a kernel of the cache is traced when a batch needs it: not below
    monkeypatch.setattr(trace_module, "MAX_OPERATIONS", 50)
    monkeypatch.setenv("FALLINGCAT_CACHE", str(tmp_path))
    kernel = compiled(function, dtype=dtype)
    assert kernel.signature == code.signature
    for lead in ((), (5,), (0,), (0, 3)):
        arguments = [x[0] if lead == () else np.empty((*lead, x.shape[1])) if 0 in lead else x for x in given]
        ours, theirs = kernel(*arguments), code(*arguments)
        trees = [flatten(x, []) for x in (ours, theirs)]
        assert trees[0] == trees[1] or isinstance(ours, fc.ReducedEquations)  # its constants hold arrays
        assert numbers(ours).shape == numbers(theirs).shape
        scale = np.abs(numbers(theirs)).max(initial=1.0)
        np.testing.assert_allclose(numbers(ours), numbers(theirs), atol=scale * (1e-12 if dtype == "float64" else 1e-4))
        parts = [x for y in (ours, theirs) for x in (y if isinstance(y, tuple) else [y])]
        assert {x.dtype for x in parts if isinstance(x, np.ndarray)} <= {np.dtype(dtype)}


def test_the_velocity_may_be_left_out_where_it_does_not_matter(small):
    kernel = compiled(fc.mass_matrix)
    q, v, _ = states(1)
    np.testing.assert_array_equal(kernel(q), kernel(q, v))
    bias = compiled(fc.bias_forces)
    with pytest.raises(fc.ModelError, match=r"bias_forces takes 2 arguments \(q, v\), not 1"):
        bias(q)


def test_fields_inputs_and_names(small):
    q, v, a = (x[0] for x in states(1))
    state = MODEL.unflatten(q, v)
    kernel = compiled(fc.mass_matrix, state=["joints"])
    expected = fc.mass_matrix(MODEL, MODEL.state(joints=state.joints))
    np.testing.assert_array_equal(kernel(state.joints), expected)

    def without_state(model, q, t):
        return t * fc.mass_matrix(model, model.state(joints=q)), q[0] < 0.0

    kernel = compiled(without_state, inputs={"q": MODEL.n, "t": ()})
    M, negative = kernel(state.joints, 2.0)
    np.testing.assert_array_equal(M, 2.0 * expected)
    assert negative == float(state.joints[0] < 0.0)

    def weighed(model, state, q, gain=1.0):  # an input that has the name of the robot's own
        return gain * fc.mass_matrix(model, state) @ q

    kernel = compiled(weighed, inputs={"q": MODEL.nv}, gain=3.0)
    np.testing.assert_array_equal(kernel(q, a), weighed(MODEL, MODEL.unflatten(q), a, 3.0))


def test_what_is_wrong_is_named(small):
    kernel = compiled(fc.mass_matrix)
    q = states(1)[0][0]
    for call, message in [
        (partial(kernel), r"mass_matrix takes 1 arguments \(q\), not 0"),
        (partial(kernel, q[1:]), r"q must have shape \(\.\.\., \d+\), got"),
        (partial(kernel, q + 0j), "q holds complex128"),
        (partial(kernel, q, threads=0), "threads is a whole number"),
        (partial(kernel, np.full_like(q, np.nan)), "nan"),
    ]:
        with pytest.raises(fc.ModelError, match=message):
            call()


def test_where_code_is_needed_it_is_refused(small, tmp_path):
    kernel = compiled(fc.mass_matrix)
    assert repr(kernel).endswith("uncompiled>")
    message = "mass_matrix of .* has more than 50 operations, the most of a kernel"
    for what in ("program", "source", "operations"):
        with pytest.raises(fc.ModelError, match=message):
            getattr(kernel, what)
    for target in ("c", "casadi", "jax", "cuda"):
        with pytest.raises(fc.ModelError, match=message):
            fc.compile(MODEL, fc.mass_matrix, target=target)
    with pytest.raises(fc.ModelError, match=message), pytest.warns(RuntimeWarning):
        export_files(MODEL, "mass_matrix", str(tmp_path / "out"), "llvm", "float64", [])


def test_without_llvm(small, monkeypatch):
    monkeypatch.setattr(plain, "reason", lambda: "llvmlite is not installed")
    monkeypatch.setattr(plain, "tell", lambda why: None)
    q = states(1)[0][0]
    np.testing.assert_array_equal(compiled(fc.mass_matrix)(q), fc.mass_matrix(MODEL, MODEL.unflatten(q)))


def test_known_again_and_copied(small, monkeypatch):
    kernel = compiled(fc.mass_matrix)
    q = states(1)[0][0]
    monkeypatch.setattr(trace_module, "Graph", None)  # nothing is traced a second time
    again = compiled(fc.mass_matrix)
    np.testing.assert_array_equal(again(q), kernel(q))
    with pytest.warns(RuntimeWarning):
        copy = pickle.loads(pickle.dumps(kernel))
    np.testing.assert_array_equal(copy(q), kernel(q))


def test_a_function_that_cannot_be_tried(small):
    def choosy(model, state, x):
        product = fc.mass_matrix(model, state) @ x
        if product.dtype != object and x[0] != 1.0:
            raise ValueError("one")
        return product

    with pytest.raises(fc.ModelError, match=r"choosy of .* has more than 50 operations"):
        fc.compile(MODEL, choosy, inputs={"x": MODEL.nv})


def test_a_run_goes_on_with_it(small, monkeypatch):
    """A simulation says that it is slow, and gives what it gives with machine code."""

    def ends():
        model = fc.robots.two_cylinder_cat()
        start = model.random_state(np.random.default_rng(5))
        return fc.simulate(model, start, 0.02).state(-1).velocity

    with pytest.warns(RuntimeWarning, match="has more than 50 operations"):
        slow = ends()
    monkeypatch.undo()
    np.testing.assert_allclose(slow, ends(), rtol=0, atol=1e-11)


def test_the_warning_names_the_line_that_compiles(small):
    with pytest.warns(RuntimeWarning, match="as slow as uncompiled") as told:
        fc.compile(MODEL, fc.mass_matrix)
    assert told[0].filename == __file__


def test_a_large_robot_is_named_before_the_function_is_tried(small, monkeypatch):
    """Two calls of 9,999 links took minutes, and nothing was said before them."""
    monkeypatch.setattr(compilation, "MAX_TRIED_NV", 0)
    monkeypatch.setattr(compilation, "tried", lambda recipe: pytest.fail("tried"))
    with (
        pytest.warns(
            SlowWarning, match="mass_matrix of .* has more than 50 operations.*: two calls show what it gives"
        ),
        pytest.raises(pytest.fail.Exception),
    ):
        fc.compile(MODEL, fc.mass_matrix)
