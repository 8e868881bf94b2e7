"""What kernels are given, and what they say to it."""

import gc

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.arrays import concatenate
from fallingcat.compiler.ir import trace as trace_module

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def model():
    return fc.robots.prismatic_hopper()


@pytest.fixture(scope="module")
def kernel(model):
    return fc.compile(model, fc.inverse_dynamics)


@pytest.fixture(scope="module")
def one(model):
    q, v = model.flatten(model.random_state(RNG))
    return [q, v, RNG.normal(size=model.nv)]


def test_what_is_wrong_is_named(kernel, one):
    q, v, a = one
    n = len(v)
    for arguments, message in [
        ((q, v), r"inverse_dynamics takes 3 arguments \(q, v, acceleration\), not 2"),
        ((q, v, a, a), "takes 3 arguments .* not 4"),
        ((), "takes 3 arguments .* not 0"),
        ((q, v, a[:-1]), rf"acceleration must have shape \(\.\.\., {n}\), got \({n - 1},\)"),
        ((q, v, np.append(a, 0.0)), rf"acceleration must have shape \(\.\.\., {n}\), got \({n + 1},\)"),
        ((q, v, 1.0), rf"acceleration must have shape \(\.\.\., {n}\), got \(\)"),
        ((q, v, np.zeros((n, 1))), rf"acceleration must have shape \(\.\.\., {n}\), got \({n}, 1\)"),
        ((q, v + 0j, a), "v holds complex128 and not real numbers"),
        ((q, v.astype(object), a), "v holds object and not real numbers"),
        ((q, ["a"] * n, a), "v holds <U1 and not real numbers"),
        ((q, v > 0.0, a), "v holds bool and not real numbers"),
        ((q, None, a), "v holds object and not real numbers"),
    ]:
        with pytest.raises(fc.ModelError, match=message):
            kernel(*arguments)


def test_ragged_lists_and_batches_that_do_not_fit(kernel, one):
    q, v, a = one
    with pytest.raises(fc.ModelError, match="v is no array"):
        kernel(q, [[1.0], [1.0, 2.0]], a)
    with pytest.raises(fc.ModelError, match=r"batch shapes .*\(2,\).*\(3,\)"):
        kernel(np.stack([q] * 2), np.stack([v] * 3), a)


def test_unknown_keywords(kernel, one):
    with pytest.raises(fc.ModelError, match=r"each once; given are .*thread"):
        kernel(*one, thread=2)
    with pytest.raises(fc.ModelError, match="threads is a whole number above zero, not 0"):
        kernel(*one, threads=0)


def test_everything_that_holds_the_same_numbers_is_taken(kernel, one):
    expected = kernel(*one)
    spaced = [np.repeat(x, 2)[::2] for x in one]
    column = [np.asfortranarray(np.stack([x, x], axis=1))[:, 0] for x in one]
    reverse = [x[::-1].copy()[::-1] for x in one]
    swapped = [x.astype(">f8") for x in one]
    odd = [np.frombuffer(b"\0" + x.tobytes(), dtype=np.uint8)[1:].view(float) for x in one]  # not aligned
    frozen = [x.copy() for x in one]
    for x in frozen:
        x.setflags(write=False)
    lists, tuples = [x.tolist() for x in one], [tuple(x) for x in one]
    subclass = [x.view(np.memmap) for x in one]
    for given in (spaced, column, reverse, swapped, odd, frozen, lists, tuples, subclass):
        result = kernel(*given)
        np.testing.assert_array_equal(result, expected)
        assert type(result) is np.ndarray
    whole = [np.arange(len(x)) % 3 for x in one]
    np.testing.assert_array_equal(kernel(*whole), kernel(*(x.astype(float) for x in whole)))
    half = [x.astype("float32") for x in one]
    np.testing.assert_array_equal(kernel(*half), kernel(*(x.astype(float) for x in half)))


def test_arguments_are_left_alone(kernel, one):
    before = [x.copy() for x in one]
    result = kernel(*one)
    result[:] = 7.0  # the result is the caller's own
    kernel(*(np.stack([x] * 9) for x in one))
    for x, y in zip(one, before, strict=True):
        np.testing.assert_array_equal(x, y)


def test_batch_shapes(kernel, one):
    expected = kernel(*one)
    many = [np.broadcast_to(x, (2, 3, len(x))) for x in one]
    assert kernel(*many).shape == (2, 3, len(expected))
    np.testing.assert_array_equal(kernel(*many)[1, 2], expected)
    np.testing.assert_array_equal(kernel(many[0], one[1], one[2])[0, 1], expected)  # broadcast
    assert kernel(*(x[None] for x in one)).shape == (1, len(expected))
    assert kernel(*(np.zeros((0, len(x))) for x in one)).shape == (0, len(expected))
    assert kernel(*(np.zeros((4, 0, len(x))) for x in one)).shape == (4, 0, len(expected))


def test_nan_and_infinity_pass_through(model, kernel, one):
    q, v, a = (x.copy() for x in one)
    a[-1] = np.nan
    result = kernel(q, v, a)
    assert np.isnan(result[-1])
    many = [np.stack([x] * 5) for x in one]
    many[2][3, 0] = np.nan
    batch = kernel(*many)
    assert np.isnan(batch[3]).any()
    np.testing.assert_array_equal(np.delete(batch, 3, axis=0), np.stack([kernel(*one)] * 4))  # the others are untouched
    v[0] = np.inf
    assert not np.isfinite(kernel(q, v, one[2])).all()


def test_velocity_may_be_given_where_it_does_not_matter(model, one):
    mass = fc.compile(model, fc.mass_matrix)
    assert [argument.name for argument in mass.signature] == ["q"]
    np.testing.assert_array_equal(mass(one[0], one[1]), mass(one[0]))


def test_blocks_are_particular(kernel, one):
    lanes = kernel.lanes
    blocks = [fc.compiler.aligned((2, len(x), lanes)) for x in one]
    for block, x in zip(blocks, one, strict=True):
        block[:] = x[:, None]
    np.testing.assert_array_equal(kernel.blocks(*blocks)[1, :, 0], kernel(*one))
    with pytest.raises(fc.ModelError, match=r"q is a contiguous float64 array of shape"):
        kernel.blocks(blocks[0].astype("float32"), *blocks[1:])
    with pytest.raises(fc.ModelError, match="takes 3 arguments"):
        kernel.blocks(blocks[0])
    if lanes > 1:
        memory = fc.compiler.aligned((blocks[0].size + 1,))[1:].reshape(blocks[0].shape)
        with pytest.raises(fc.ModelError, match="not aligned"):
            kernel.blocks(memory, *blocks[1:])


def test_options_that_make_no_sense(model):
    with pytest.raises(fc.ModelError, match="dtype is one of float64, float32, not 'float16'"):
        fc.compile(model, fc.mass_matrix, dtype="float16")
    with pytest.raises(fc.ModelError, match=r"target is one of cpu, .* not 'fortran'"):
        fc.compile(model, fc.mass_matrix, target="fortran")
    with pytest.raises(fc.ModelError, match="cannot tell the shape of the argument 'gain'"):
        fc.compile(model, lambda model, state, gain: gain)
    with pytest.raises(TypeError, match=r"is not known yet: write where\(x > 0, a, b\)"):
        fc.compile(model, lambda model, state: 1.0 if state.joints[0] > 0.0 else 2.0)
    with pytest.raises(fc.ModelError, match=r"return arrays, tuples, dicts or records, not .*object"):
        fc.compile(model, lambda model, state: object())


def test_a_function_that_is_too_large_is_left_where_it_gets_so(model, monkeypatch):
    monkeypatch.setattr(trace_module, "MAX_OPERATIONS", 50)
    graphs, original = [], trace_module.Graph
    monkeypatch.setattr(trace_module, "Graph", lambda *given: graphs.append(original(*given)) or graphs[-1])
    with pytest.warns(RuntimeWarning, match=r"<lambda> of .* has more than 50 operations, the most of a kernel"):
        fc.compile(model, lambda model, state: fc.mass_matrix_derivative(model, state))
    assert len(graphs[0].nodes) == 50


def test_results_without_inputs(model):
    kernel = fc.compile(model, lambda model, state: np.array([1.0, 2.0]))
    q, _ = model.flatten(model.random_state(RNG))
    np.testing.assert_array_equal(kernel(q), [1.0, 2.0])
    np.testing.assert_array_equal(kernel(np.stack([q] * 3)), [[1.0, 2.0]] * 3)
    assert fc.compile(model, lambda model, state: np.zeros((0, 3)))(q).shape == (0, 3)


def test_the_call_outlives_its_kernel(model, one):
    expected = fc.inverse_dynamics(model, model.unflatten(*one[:2]), one[2])
    call = fc.compile(model, fc.inverse_dynamics).__call__
    gc.collect()
    np.testing.assert_allclose(call(*one), expected, atol=1e-12)


def test_kernels_do_not_leak(model, one):
    import tracemalloc

    kernel = fc.compile(model, fc.inverse_dynamics)
    many = [np.stack([x] * 20) for x in one]
    for _ in range(3):
        kernel(*one), kernel(*many)
    tracemalloc.start()
    for _ in range(2000):
        kernel(*one)
    for _ in range(50):
        kernel(*many)
    with pytest.raises(fc.ModelError):
        kernel(one[0])
    gc.collect()
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 100_000


def test_it_describes_itself(kernel, model):
    assert "inverse_dynamics(q(" in repr(kernel)
    assert [a.name for a in kernel.signature] == ["q", "v", "acceleration"]
    assert [a.size for a in kernel.signature] == [model.nq, model.nv, model.nv]
    assert "define" in kernel.source
    assert kernel.operations["mul"] > 0


def test_a_compiled_change_keeps_its_claims(tmp_path, monkeypatch):
    """Claims hold functions; those of the library come back from the cache too."""
    monkeypatch.setenv("FALLINGCAT_CACHE", str(tmp_path))
    cat = fc.robots.cat()
    state = cat.random_state(np.random.default_rng(0))
    for _ in range(2):  # traced, then remembered
        change = fc.compile(cat, fc.changes.centroidal)(*cat.flatten(state))
        assert change.claims == fc.changes.centroidal(cat, state).claims
        assert fc.equations(cat, state).change(change).certify()["mass decoupling"].verdict == "holds"


def test_shapes_belong_to_functions():
    """An `x` of yours has no shape that another function's `x` has."""
    arm = fc.robots.planar_arm()

    def mine(model, state, x):
        return x * state.joints[0]

    with pytest.raises(fc.ModelError, match=r"cannot tell the shape of the argument 'x': say inputs=\{'x': ...\}"):
        fc.compile(arm, mine)
    q = arm.flatten(arm.random_state(np.random.default_rng(0)))[0]
    np.testing.assert_array_equal(fc.compile(arm, mine, inputs={"x": 5})(q, np.arange(5.0)), np.arange(5.0) * q[0])


@pytest.mark.parametrize("batch", [(), (3,), (70,)])
def test_inputs_may_be_empty(batch):
    arm = fc.robots.planar_arm()

    def both(model, state, memory, gains):
        return concatenate([memory, gains * 2.0, state.joints])

    kernel = fc.compile(arm, both, inputs={"memory": 0, "gains": 2})
    q = np.random.default_rng(0).normal(size=(*batch, arm.nq))
    out = kernel(q, np.zeros((*batch, 0)), np.ones((*batch, 2)))
    np.testing.assert_array_equal(out, np.concatenate([2.0 * np.ones((*batch, 2)), q], axis=-1))
