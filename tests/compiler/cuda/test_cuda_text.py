"""The CUDA text and its calls, run on the CPU: see ``support/emulated_gpu.py``."""

import shutil
import sys

import jax
import numpy as np
import pytest
from support.emulated_gpu import DeviceArray, emulated

import fallingcat as fc
from fallingcat.arrays import array, cos, less, sin, where
from fallingcat.arrays import columns as product_of
from fallingcat.compiler import compile
from fallingcat.compiler.cuda import column_loops as repeated
from fallingcat.compiler.cuda import cost_model as machine
from fallingcat.compiler.cuda import emit_columns as cuda_repeated
from fallingcat.compiler.cuda import emitter as cuda
from fallingcat.compiler.cuda import kernel as kernel_file
from fallingcat.compiler.cuda import stages
from fallingcat.errors import ModelError

pytestmark = pytest.mark.skipif(shutil.which("g++") is None or sys.platform == "win32", reason="needs a C++ compiler")


@pytest.fixture
def cupy(monkeypatch, tmp_path):
    module = emulated(tmp_path)
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


def columns(model, kernel, count, rng):
    """Random arguments in columns, and the states in them."""
    states = [model.random_state(rng) for _ in range(count)]
    q, v = (np.array(x).T for x in zip(*(model.flatten(state) for state in states), strict=True))
    known = {"q": q, "v": v}
    given = [known[a.name] if a.name in known else rng.normal(size=(a.size, count)) for a in kernel.signature]
    return states, given


@pytest.mark.parametrize(
    ("function", "dtype", "shape", "largest", "tolerance"),
    [
        (fc.inverse_dynamics, "float64", None, stages.MAX_STAGE_INSTRUCTIONS, 1e-12),
        (fc.forward_dynamics, "float32", None, stages.MAX_STAGE_INSTRUCTIONS, 1e-4),
        (fc.forward_dynamics, "float64", cuda.Shape(32, 1, 30), 1_500, 1e-11),
        (fc.mass_matrix, "float64", cuda.Shape(32, 1, 12), stages.MAX_STAGE_INSTRUCTIONS, 1e-12),
    ],
)
def test_the_text_computes_what_numpy_computes(cupy, monkeypatch, function, dtype, shape, largest, tolerance):
    if shape is not None:
        monkeypatch.setattr(cuda, "SHAPES", {dtype: (shape,)})
    if largest != stages.MAX_STAGE_INSTRUCTIONS:
        monkeypatch.setattr(repeated, "fastest", lambda program, kind: stages.stages(program, kind, largest))
    model = fc.robots.humanoid()
    kernel = compile(model, function, target="cuda", dtype=dtype)
    if shape is not None:
        assert any(text.shared for text in kernel.texts)
    assert len(kernel.texts) > 3 or largest == stages.MAX_STAGE_INSTRUCTIONS
    states, given = columns(model, kernel, 5, np.random.default_rng(3))  # fewer than the threads of a block
    found = kernel.columns(*(cupy.asarray(x.astype(dtype)) for x in given))
    further = given[[a.name for a in kernel.signature].index("v") + 1 :] if len(given) > 1 else []
    for k, state in enumerate(states):
        expected = np.ravel(function(model, state, *(x[:, k] for x in further)))
        assert np.abs(found[:, k] - expected).max() <= tolerance * np.abs(expected).max()


def test_one_call_fits_every_robot(cupy):
    """Of a pendulum the velocity does not matter, and may be given; a batch of states stands for q and v."""
    pendulum = fc.robots.planar_arm().lock(["joint2", "joint3"])
    states, a = pendulum.random_state(np.random.default_rng(0), 3), np.ones((3, 1))
    kernel = compile(pendulum, fc.inverse_dynamics, target="cuda")
    assert [argument.name for argument in kernel.signature] == ["q", "acceleration"]
    expected = compile(pendulum, fc.inverse_dynamics)(states, a)
    np.testing.assert_allclose(kernel(*pendulum.flatten(states), a), expected, rtol=1e-14)
    np.testing.assert_allclose(kernel(states, acceleration=a), expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("function", "dtype", "shared"),
    [
        (fc.forward_dynamics_derivatives, "float64", machine.SHARED_MEMORY),
        (fc.forward_dynamics_derivatives, "float64", 0),  # too little for what all columns share
        (fc.reduced_equations, "float32", machine.SHARED_MEMORY),
    ],
)
def test_columns_of_dense_results_are_one_loop(cupy, monkeypatch, function, dtype, shared):
    """A loop over columns stays one, two columns at a time, and gives what NumPy gives."""
    monkeypatch.setattr(repeated, "MAX_STAGE_INSTRUCTIONS", 300)
    monkeypatch.setattr(cuda_repeated, "SHARED_MEMORY", shared)
    model = fc.robots.random_tree(np.random.default_rng(1), 7, kinds=["revolute"])  # an odd number
    kernel = compile(model, function, target="cuda", dtype=dtype)
    loops = [stage for stage in kernel.stages.stages if isinstance(stage, repeated.RepeatedInstructions)]
    assert [loop.things for loop in loops] == ([39] if function is fc.forward_dynamics_derivatives else [7, 7])
    assert all(cuda_repeated.stage_layout(loop, dtype).per_thread == 2 for loop in loops)
    halves = function is fc.reduced_equations  # of symmetric and skew matrices; what all columns share is used once
    assert ("the rest is for others" in kernel.source) == ("= fc_several(" in kernel.source) == halves
    states, given = columns(model, kernel, 37, np.random.default_rng(11))  # a block and some lanes
    found = kernel(*(x.T.astype(dtype) for x in given))
    tolerance = 1e-11 if dtype == "float64" else 1e-4
    for k in (0, 31, 36):
        expected = function(model, states[k], *(x[:, k] for x in given[2:]))
        for one, other in zip(found, expected, strict=True):
            if isinstance(other, np.ndarray):
                np.testing.assert_allclose(one[k], other, rtol=0.0, atol=tolerance * max(1.0, np.abs(other).max()))


def test_what_a_loop_finds_may_be_used_again(cupy, monkeypatch):
    """By the straight line after it, by another loop, negative, and twice."""
    monkeypatch.setattr(repeated, "MAX_STAGE_INSTRUCTIONS", 1)

    def twice(model, x, y):
        product = product_of(lambda column: y @ column, x)
        again = product_of(lambda column: product[:, :4] @ column, x + product)
        return {"first": product, "second": -again, "sum": product[0] + again[1], "once more": product}

    inputs = {"x": (4, 5), "y": (4, 4)}
    kernel = compile(fc.robots.cat(), twice, target="cuda", inputs=inputs)
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(3, 20)), rng.normal(size=(3, 4, 4))
    found = kernel(x.reshape(3, 4, 5), y)
    for k in range(3):
        product = y[k] @ x[k].reshape(4, 5)
        again = product[:, :4] @ (x[k].reshape(4, 5) + product)
        np.testing.assert_allclose(found["first"][k], product, atol=1e-13)
        np.testing.assert_allclose(found["second"][k], -again, atol=1e-13)
        np.testing.assert_allclose(found["sum"][k], product[0] + again[1], atol=1e-13)
        np.testing.assert_allclose(found["once more"][k], product, atol=1e-13)


def test_loops_that_share_what_another_shares_go_with_it(cupy, monkeypatch):
    """Over as many columns: what they share, and columns that both take, are read once; others are apart."""
    monkeypatch.setattr(repeated, "MAX_STAGE_INSTRUCTIONS", 1)

    def both(model, x, y, z):
        return {
            "smaller": product_of(lambda a, b: b - y @ a, x, x[::-1]),
            "larger": product_of(lambda column: y @ (z @ column), x),
            "fewer": product_of(lambda column: y @ column, x[:, :4]),
        }

    inputs = {"x": (4, 5), "y": (4, 4), "z": (4, 4)}
    kernel = compile(fc.robots.cat(), both, target="cuda", inputs=inputs)
    loops = [stage for stage in kernel.stages.stages if isinstance(stage, repeated.RepeatedInstructions)]
    assert sorted((loop.things, len(loop.shared), len(loop.rows)) for loop in loops) == [(4, 16, 4), (5, 32, 4)]
    rng = np.random.default_rng(2)
    x, y, z = rng.normal(size=(3, 4, 5)), rng.normal(size=(3, 4, 4)), rng.normal(size=(3, 4, 4))
    found = kernel(x, y, z)
    np.testing.assert_allclose(found["smaller"], x[:, ::-1] - y @ x, atol=1e-13)
    np.testing.assert_allclose(found["larger"], y @ z @ x, atol=1e-13)
    np.testing.assert_allclose(found["fewer"], (y @ x)[:, :, :4], atol=1e-13)


@pytest.mark.parametrize("times", [0, 1, 2, 5])
@pytest.mark.parametrize("parts", [1, 2])
def test_many_calls_in_one_launch_are_calls_in_turn(cupy, monkeypatch, times, parts):
    """In launches of three, of what is one kernel, or else launch after launch; the arguments stay as they are."""
    monkeypatch.setattr(kernel_file, "CALLS_PER_LAUNCH", 3)
    monkeypatch.setattr(repeated, "MAX_STAGE_INSTRUCTIONS", 1 if parts == 2 else stages.MAX_STAGE_INSTRUCTIONS)

    def turned(model, x, y):
        """The last number is a result that is no expression."""
        first = product_of(lambda column: y @ column, x) if parts == 2 else y @ x
        return {"x": first + 0.1 * x, "last": np.zeros(1)}

    kernel = compile(fc.robots.cat(), turned, target="cuda", inputs={"x": (4, 4), "y": (4, 4)})
    with pytest.raises(ModelError, match="gives 17 numbers and takes 16 as x"):
        kernel.iterate(np.zeros((16, 5)), np.zeros((16, 5)), every=2)

    def again(model, x, y):
        return turned(model, x, y)["x"]

    kernel = compile(fc.robots.cat(), again, target="cuda", inputs={"x": (4, 4), "y": (4, 4)})
    assert (len(kernel.texts) == 1) == (parts == 1)
    rng = np.random.default_rng(3)
    x, y = (cupy.asarray(rng.normal(size=(16, 300)) / 3.0) for _ in range(2))  # blocks, and fewer
    before, expected = np.array(x), x
    for _ in range(times):
        expected = kernel.columns(expected, y)
    np.testing.assert_array_equal(kernel.iterate(x, y, every=times), expected)
    np.testing.assert_array_equal(x, before)


def test_calls_take_batches_of_any_shape_and_return_what_they_were_given(cupy):
    model = fc.robots.revolute_hopper()
    kernel = compile(model, fc.reduced_equations, target="cuda")
    rng = np.random.default_rng(6)
    states, (q, v) = columns(model, kernel, 6, rng)
    rel = kernel(q.T.reshape(2, 3, -1), v.T.reshape(2, 3, -1))
    assert type(rel.Lq) is np.ndarray
    assert rel.Lq.shape == (2, 3, model.n, model.n)
    np.testing.assert_allclose(rel.Lq[1, 2], fc.reduced_equations(model, states[5]).Lq, atol=1e-12)
    one = kernel(q[:, 0], v[:, 0])
    np.testing.assert_allclose(one.xi, fc.reduced_equations(model, states[0]).xi, atol=1e-12)
    assert kernel(np.zeros((0, model.nq)), np.zeros((0, model.nv))).mu.shape == (0, model.m)
    here = kernel(cupy.asarray(q.T), cupy.asarray(v[:, 0]))  # one velocity for all
    assert type(here.mu) is DeviceArray
    assert here.mu.shape == (6, model.m)


def test_matrices_and_numbers_are_inputs_too(cupy):
    model = fc.robots.revolute_hopper()
    state = model.random_state(np.random.default_rng(8))

    def task(model, state, gain, t):
        return gain @ fc.bias_forces(model, state) * t

    inputs = {"gain": (2, model.nv), "t": ()}
    kernel = compile(model, task, target="cuda", inputs=inputs, state=["pose", "joints", "rates"])
    gain, t = np.arange(2.0 * model.nv).reshape(2, -1), np.array([0.5, -1.0, 2.0])
    found = kernel(state.pose[:3], state.joints, state.rates, gain, t)
    expected = task(model, state._replace(twist=np.zeros(model.m)), gain, 1.0)
    np.testing.assert_allclose(found, t[:, None] * expected, atol=1e-12 * np.abs(expected).max())
    with pytest.raises(ModelError, match=r"gain must have shape \(..., 2, 4\), got \(4, 2\)"):
        kernel(state.pose[:3], state.joints, state.rates, gain.T, t)


def test_arrays_of_jax_come_and_go_by_dlpack(cupy):
    model = fc.robots.revolute_hopper()
    kernel = compile(model, fc.mass_matrix, target="cuda", dtype="float32")
    states, (q,) = columns(model, kernel, 3, np.random.default_rng(7))
    found = kernel.columns(jax.numpy.asarray(q, jax.numpy.float32))
    assert isinstance(found, jax.Array)
    np.testing.assert_allclose(found[:, 2], np.ravel(fc.mass_matrix(model, states[2])), rtol=1e-4, atol=1e-4)


def test_wrong_arguments_are_refused(cupy):
    model = fc.robots.revolute_hopper()
    kernel = compile(model, fc.bias_forces, target="cuda")
    q, v = cupy.asarray(np.zeros((model.nq, 4))), cupy.asarray(np.zeros((model.nv, 4)))
    with pytest.raises(ModelError, match="takes 2 arguments"):
        kernel.columns(q)
    with pytest.raises(ModelError, match="v must have shape"):
        kernel.columns(q, q[:-1])
    with pytest.raises(ModelError, match="3 columns"):
        kernel.columns(q, cupy.asarray(np.zeros((model.nv, 3))))
    with pytest.raises(ModelError, match="contiguous float64"):
        kernel.columns(q, v[:, ::-1])
    with pytest.raises(ModelError, match="contiguous float64"):
        kernel.columns(q, v.astype(np.float32))
    with pytest.raises(ModelError, match="real numbers"):
        kernel(np.zeros(model.nq, dtype=complex), np.zeros(model.nv))


def turning(model, state, x):
    return array([sin(x[0]), cos(x[0])])


@pytest.mark.parametrize(("dtype", "ulp"), [("float32", 2.0**-23), ("float64", 2.0**-52)])
def test_sine_and_cosine_are_right_to_the_last_digits(cupy, dtype, ulp):
    model = fc.robots.cat()
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.uniform(-10, 10, 2000), rng.uniform(-1e4, 1e4, 2000), [0.0, -0.0, np.pi, np.pi / 4]])
    kernel = compile(model, turning, target="cuda", dtype=dtype, inputs={"x": 1})
    angles = x.astype(dtype)[None]
    sizes = {a.name: a.size for a in kernel.signature}
    given = [angles if name == "x" else np.zeros((size, len(x)), dtype) for name, size in sizes.items()]
    sine, cosine = np.asarray(kernel.columns(*map(cupy.asarray, given)), dtype=np.float64)
    exact = angles[0].astype(np.float64)
    assert np.abs(sine - np.sin(exact)).max() <= 1.5 * ulp
    assert np.abs(cosine - np.cos(exact)).max() <= 1.5 * ulp


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sines_of_any_number_are_no_larger_than_1(cupy, dtype):
    kernel = compile(fc.robots.cat(), turning, target="cuda", dtype=dtype, inputs={"x": 1})
    powers = 10.0 ** np.arange(0, 308 if dtype == "float64" else 38)
    angles = np.concatenate([powers, -powers]).astype(dtype)[None]
    given = [angles if a.name == "x" else np.zeros((a.size, angles.size), dtype) for a in kernel.signature]
    found = np.asarray(kernel.columns(*map(cupy.asarray, given)))
    assert (np.isnan(found) | (np.abs(found) <= 1.0 + 1e-6)).all()
    assert np.isfinite(found[:, np.abs(angles[0]) <= 1e4]).all()


def test_infinity_needs_no_header(cupy):
    """NVRTC has none: the text says itself what it is."""

    def task(model, x):
        return where(less(x, array([np.inf])), x, array([-np.inf]))

    kernel = compile(fc.robots.cat(), task, target="cuda", inputs={"x": 1})
    assert "< INFINITY" in kernel.source
    assert "#define INFINITY __int_as_float(0x7f800000)" in kernel.source
    np.testing.assert_array_equal(kernel(np.array([[2.0], [np.inf]])), [[2.0], [-np.inf]])


def test_a_kernel_tells_what_it_is():
    kernel = compile(fc.robots.cat(), fc.inverse_dynamics, target="cuda")
    assert repr(kernel).startswith("<CudaKernel fc_inverse_dynamics(q(")
    assert [text.name for text in kernel.texts] == ["fc_inverse_dynamics_0"]
    assert sum(kernel.operations.values()) >= len(kernel.stages.stages[0].lines)
