"""Kernels under JAX: the numbers of the CPU's kernels under every transformation."""

import copy
import gc
import pickle
import threading
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fallingcat as fc
from fallingcat.compiler.ir import trace as tracing
from fallingcat.compiler.ir.instructions import Loop
from fallingcat.compiler.xla import function, primitive
from fallingcat.errors import ModelError

CAT, HOPPER = fc.robots.two_cylinder_cat(), fc.robots.revolute_hopper()


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def both(model, f, **options):
    return fc.compile(model, f, target="jax", **options), fc.compile(model, f, **options)


def states(model, count, seed=0):
    rng = np.random.default_rng(seed)
    return model.random(rng, count), rng.normal(size=(count, model.nv)), rng.normal(size=(count, model.nv))


def step(model, q, v, u):
    """Explicit in forces, symplectic in the rest."""
    v = v + 1e-3 * fc.forward_dynamics(model, model.unflatten(q, v), u)
    return model.integrate(q, 1e-3 * v), v


def step_of(model):
    return {"inputs": {"q": model.nq, "v": model.nv, "u": model.nv}}


def same(found, expected):
    jax.tree.map(np.testing.assert_array_equal, found, expected)


# calls --------------------------------------------------------------------------------------------------------------


def test_the_bits_of_the_kernel_of_the_cpu():
    f, kernel = both(CAT, fc.forward_dynamics)
    q, v, u = states(CAT, 21)
    same(f(q[0], v[0], u[0]), kernel(q[0], v[0], u[0]))
    same(jax.jit(f)(q, v, u), kernel(q, v, u))
    same(jax.jit(jax.vmap(f))(q, v, u), kernel(q, v, u))
    same(jax.vmap(f, in_axes=(1, None, 0), out_axes=1)(q.T, v[0], u), kernel(q, v[0], u).T)
    grid = jax.jit(jax.vmap(jax.vmap(f, (None, 0, None)), (0, None, None)))(q, v[:3], u[0])
    same(grid, kernel(q[:, None], v[:3], u[0]))
    same(f(q.reshape(3, 7, -1), v[0], u.reshape(3, 7, -1)), kernel(q, v[0], u).reshape(3, 7, -1))
    assert f(q[:0], v[:0], u[:0]).shape == (0, CAT.nv)
    assert jax.vmap(f)(q[:0], v[:0], u[:0]).shape == (0, CAT.nv)


def test_records_fields_single_numbers_and_nothing_at_all():
    rel, kernel = both(CAT, fc.reduced_equations)
    q, v, _ = states(CAT, 3)
    found, expected = rel(q, v), kernel(q, v)
    assert type(found) is type(expected)
    for name in ("Mb", "A", "mu", "D_q"):
        same(getattr(found, name), getattr(expected, name))
    energy, kernel = both(HOPPER, fc.kinetic_energy)
    q, v, _ = states(HOPPER, 2)
    same(energy(q[0], v[0]), kernel(q[0], v[0]))
    assert energy(q[0], v[0]).shape == ()
    posed, kernel = both(CAT, fc.momentum, state=["pose", "twist"], frame="world")
    rng = np.random.default_rng(3)
    pose, twist = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 6))
    same(jax.jit(posed)(pose, twist), kernel(pose, twist))
    mass, kernel = both(CAT, fc.mass_matrix)
    q, v, _ = states(CAT, 2)
    same(mass(q, v), kernel(q))  # the velocity does not matter, but may be given
    constant, kernel = both(CAT, fc.mass_matrix, state=[])
    same(jax.jit(constant)(), kernel())


def test_loops_in_kernels():
    model = fc.robots.cat()
    mass, kernel = both(model, fc.mass_matrix)
    q = model.random(np.random.default_rng(5), 9)
    assert any(isinstance(chunk, Loop) for chunk in kernel.program.chunks)
    same(mass(q), kernel(q))
    same(mass(q[3]), kernel(q[3]))


def test_code_outlives_the_function():
    f, kernel = both(HOPPER, fc.inverse_dynamics)
    x = states(HOPPER, 3)
    made = jax.jit(f).lower(*x).compile()
    del f
    gc.collect()
    same(made(*x), kernel(*x))


def test_a_step_scanned_a_thousand_times():
    f, kernel = both(HOPPER, step, **step_of(HOPPER))
    q, v, u = (0.1 * x[0] for x in states(HOPPER, 1))

    def last(q, v):
        return jax.lax.scan(lambda x, _: (f(*x, u), None), (q, v), None, length=1000)[0]

    found = jax.jit(last)(q, v)
    for _ in range(1000):
        q, v = kernel(q, v, u)
    same(found, (q, v))
    assert np.isfinite(q).all()


def test_several_threads():
    f, kernel = both(HOPPER, fc.forward_dynamics)
    q, v, u = states(HOPPER, 400)
    expected, found = kernel(q, v, u), {}

    def work(k):
        with jax.enable_x64(True):  # each thread says it for itself
            found[k] = [jax.jit(f)(q[k::4], v[k::4], u[k::4]) for _ in range(20)]

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for k in range(4):
        for one in found[k]:
            same(one, expected[k::4])


def test_arguments_given_away_and_used_twice():
    f, kernel = both(HOPPER, fc.forward_dynamics)
    q, v, _ = states(HOPPER, 50)
    expected = kernel(q, v, kernel(q, v, v))
    given = jax.jit(lambda q, v: f(q, v, f(q, v, v)), donate_argnums=(0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # JAX may find no use for what it was given
        same(given(jnp.array(q), jnp.array(v)), expected)


def test_nan_passes_and_touches_its_own_state_only():
    f, kernel = both(HOPPER, fc.forward_dynamics)
    q, v, u = states(HOPPER, 11)
    u[4, 0] = np.nan
    found = np.asarray(jax.jit(f)(q, v, u))
    assert np.isnan(found[4]).any()
    same(found, kernel(q, v, u))


# types of numbers ---------------------------------------------------------------------------------------------------


def test_arrays_of_single_precision_are_computed_in_double():
    f, kernel = both(CAT, fc.forward_dynamics)
    single = [x.astype(np.float32) for x in states(CAT, 13)]
    found = f(*single)
    assert found.dtype == jnp.float32
    same(found, kernel(*(x.astype(float) for x in single)).astype(np.float32))
    with jax.enable_x64(False):
        plain = jax.jit(f)(*states(CAT, 13))
        assert plain.dtype == jnp.float32
        same(plain, found)
        gradient = jax.grad(lambda u: f(single[0], single[1], u).sum())(jnp.asarray(single[2]))
        assert gradient.dtype == jnp.float32
    exact = jax.grad(lambda u: f(*(x.astype(float) for x in single[:2]), u).sum())(jnp.asarray(single[2], float))
    same(gradient, np.asarray(exact).astype(np.float32))


def test_kernels_of_single_precision():
    f, kernel = both(CAT, fc.inverse_dynamics, dtype="float32")
    arguments = states(CAT, 5)
    expected = kernel(*arguments)
    found = f(*arguments)
    assert found.dtype == jnp.float64
    same(found, expected.astype(float))
    same(f(*(x.astype(np.float32) for x in arguments)), expected)
    same(f(arguments[0], arguments[1], np.ones(CAT.nv, dtype=int)), f(*arguments[:2], np.ones(CAT.nv)))


# what is refused ----------------------------------------------------------------------------------------------------


def test_wrong_arguments():
    f = fc.compile(HOPPER, fc.forward_dynamics, target="jax")
    q, v, u = states(HOPPER, 2)
    for arguments, told in {
        "few": ((q, v), r"takes 3 arguments \(q, v, forces\), not 2"),
        "shape": ((q, v[:, :-1], u), r"v must have shape \(\.\.\., 4\), got \(2, 3\)"),
        "batch": ((q, v, u[[0, 1, 1]]), r"the batch shapes \(2,\), \(2,\), \(3,\) do not fit together"),
        "complex": ((q, v, 1j * u), "forces holds complex128 and not real numbers"),
        "bool": ((q, v, u > 0.0), "forces holds bool and not real numbers"),
    }.values():
        with pytest.raises(ModelError, match=told):
            jax.jit(f)(*arguments)
    with pytest.raises(ModelError, match=r"v must have shape"):
        jax.vmap(f)(q, v[:, :-1], u)


def test_what_is_too_large(monkeypatch):
    monkeypatch.setattr(tracing, "MAX_OPERATIONS", 1000)

    def own(model, state, forces):  # not remembered from elsewhere
        return fc.forward_dynamics(model, state, forces)

    large = fc.robots.cat()
    with pytest.raises(ModelError, match="own of 'cat' has more than 1,000 operations"):
        fc.compile(large, own, target="jax", inputs={"forces": large.nv})
    f = fc.compile(CAT, own, target="jax", inputs={"forces": CAT.nv})
    jax.jit(f)(*(x[0] for x in states(CAT, 1)))
    with pytest.raises(ModelError, match="has more than 1,000 operations"):  # with its derivative
        jax.jit(jax.grad(lambda *x: f(*x).sum()))(*(x[0] for x in states(CAT, 1)))


# elsewhere ----------------------------------------------------------------------------------------------------------


def test_other_platforms_compile_the_program():
    f = fc.compile(HOPPER, fc.forward_dynamics, target="jax")
    arguments = [x[0] for x in states(HOPPER, 1)]
    for made in (jax.jit(f), jax.jit(jax.grad(lambda *x: f(*x).sum()))):
        assert "fallingcat_" in made.lower(*arguments).as_text()
        text = made.trace(*arguments).lower(lowering_platforms=("cuda",)).as_text()
        assert "fallingcat_" not in text
        assert "stablehlo.divide" in text


def test_the_program_elsewhere_gives_the_numbers_of_machine_code():
    f = fc.compile(HOPPER, fc.forward_dynamics, target="jax")
    q, v, u = states(HOPPER, 3)
    about = next(e.params for e in jax.make_jaxpr(f)(q, v, u).eqns if e.primitive is primitive.call)
    base, about, weights = about["kernel"], {name: about[name] for name in ("count", "dtype")}, np.ones_like(u)
    assert str(base.tangent((0, 2))) == "forward_dynamics/tangent 0,2"
    for kernel, arguments in (
        (base, (q, v, u)),
        (base.tangent((0, 2)), (q, v, u, q, v)),
        (base.cotangent((0, 1, 2)), (q, v, u, weights)),
    ):
        found = primitive._lower_by_xla(*map(jnp.asarray, arguments), kernel=kernel, **about)
        expected = primitive.call.bind(*arguments, kernel=kernel, **about)
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())


def test_a_jax_that_cannot_call_machine_code(monkeypatch):
    f, kernel = both(HOPPER, fc.forward_dynamics)
    monkeypatch.setattr(function, "_reason", lambda: "the foreign function interface of JAX 9.9 is 7.1")
    function._warn_once.cache_clear()
    with pytest.warns(RuntimeWarning, match=r"XLA compile the program.*JAX 9.9 is 7.1"):
        traced = fc.compile(HOPPER, fc.forward_dynamics, target="jax")
    q, v, u = states(HOPPER, 4)
    expected = kernel(q, v, u)
    np.testing.assert_allclose(jax.jit(traced)(q, v, u), expected, atol=1e-12 * np.abs(expected).max())
    found = jax.grad(lambda u: traced(q, v, u)[..., 2].sum())(u)
    np.testing.assert_allclose(found, jax.grad(lambda u: f(q, v, u)[..., 2].sum())(u), atol=1e-12)


@pytest.mark.parametrize("again", [lambda k: pickle.loads(pickle.dumps(k)), copy.deepcopy, copy.copy])
def test_kernels_are_pickled_and_copied_as_their_recipe(again):
    kernel = fc.compile(HOPPER, fc.bias_forces, target="jax")
    q, v = HOPPER.flatten(HOPPER.random_state(np.random.default_rng(0)))
    other = again(kernel)
    assert other.__name__ == kernel.__name__
    np.testing.assert_array_equal(jax.jit(other)(q, v), jax.jit(kernel)(q, v))
