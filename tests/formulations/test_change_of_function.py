"""`VelocityChange.of`: one function `State -> T`, and rate, inverse and clock derived from it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from formulation_changes import changes
from hypothesis import given, settings
from kinds import KINDS
from random_robots import build, rng_of, robots
from residuals import agree

import fallingcat as fc
from fallingcat.arrays import Graph, concatenate, scale
from fallingcat.arrays.differentiate import derivative
from fallingcat.lie import SE2
from fallingcat.lie.rotations import block_diagonal


@pytest.fixture(scope="module")
def cat():
    model = fc.robots.cat()
    return model, model.random_state(np.random.default_rng(0))


def mujoco(model):
    return lambda state: block_diagonal([state.pose[:3, :3], np.eye(model.nv - 3)])


@settings(max_examples=12)
@given(recipe=robots(largest=6))
def test_the_librarys_own_rates_and_inverses_are_the_derived_ones(recipe):
    """Two ways to every `dT/dt`: by hand, and from `T` alone."""
    model, state = build(recipe)
    for name, change in changes(model, state, rng_of(recipe)).items():
        plain = fc.VelocityChange.of(model, state, function_of(change), name)
        agree(f"derived dT/dt: {name}", plain.T_dot, change.T_dot, 1e-11)
        agree(f"derived inverse: {name}", plain.inverse, change.inverse, 1e-10)


def function_of(change):
    """The function `State -> T` that a change of the library is made of: what its clock calls."""
    return next(cell.cell_contents for cell in change.at._matrix.__closure__ if callable(cell.cell_contents))


def test_derived_changes_pass_every_check(cat):
    model, state = cat
    change = fc.VelocityChange.of(model, state, mujoco(model), "mujoco")
    for factorization in fc.dynamics.FACTORIZATIONS:
        assert fc.equations(model, state, factorization).change(change).certify().passed
    spin = np.zeros_like(change.T)
    spin[:3, :3] = state.pose[:3, :3] @ fc.lie.skew(state.twist[3:])
    agree("derived dT/dt: mujoco", change.T_dot, spin)
    agree("derived inverse: mujoco", change.inverse, change.T.T)


PLANAR = fc.robots.random_tree(np.random.default_rng(3), 2, planar=True)


def bent(state):
    """A change of a planar robot that depends on pose and joints."""
    R, q = state.pose[:2, :2], state.joints
    row = concatenate([np.zeros(3), q[:1] * q[1:2], q[:1] + 2.0])[None, :]
    top = block_diagonal([R, np.eye(2)])
    return concatenate([concatenate([top, np.zeros((4, 1))], axis=1), row])


@pytest.mark.parametrize("kind", KINDS)
def test_rates_are_exact_on_every_kind_of_number(kind):
    assert isinstance(PLANAR.base, SE2)

    def both(q, v):
        change = fc.VelocityChange.of(PLANAR, PLANAR.unflatten(q, v), bent)
        return concatenate([change.T_dot.reshape(-1), change.inverse.reshape(-1)])

    q, v = PLANAR.flatten(PLANAR.random_state(np.random.default_rng(1)))
    agree(f"{kind} = float", KINDS[kind](both, q, v), both(q, v))


def test_a_traced_rate_leaves_no_trace_of_its_time():
    graph = Graph()
    state = PLANAR.unflatten(graph.inputs("q", PLANAR.nq), graph.inputs("v", PLANAR.nv))
    T_dot = fc.VelocityChange.of(PLANAR, state, bent).T_dot
    inputs = {node.args[0] for node in graph.needed([T_dot]) if node.op == "input"}
    assert inputs <= {*(f"q{i}" for i in range(PLANAR.nq)), *(f"v{i}" for i in range(PLANAR.nv))}
    assert T_dot[:2, 3:].tolist() == [[0.0, 0.0], [0.0, 0.0]]  # exact zeros stay


def test_jax_derives_under_jit_and_vmap(cat):
    states = [PLANAR.flatten(PLANAR.random_state(np.random.default_rng(i))) for i in range(3)]
    f = lambda q, v: fc.VelocityChange.of(PLANAR, PLANAR.unflatten(q, v), bent).T_dot  # noqa: E731
    with jax.enable_x64(True):
        found = jax.jit(jax.vmap(f))(*(jnp.stack(x) for x in zip(*states, strict=True)))
    for i, (q, v) in enumerate(states):
        agree("jit of vmap", np.asarray(found[i]), f(q, v))


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_of_a_function_of_time(kind):
    f = lambda x: derivative(lambda t: scale(t + 1.0, x * x) + scale(t * t, x), like=[x])  # noqa: E731
    agree(f"{kind}: d/dt", KINDS[kind](f, np.array([2.0, 3.0])), [4.0, 9.0])


# what it refuses ------------------------------------------------------------------------------------------------------


def test_what_is_no_change_is_refused(cat):
    model, state = cat
    of = lambda matrix, **given: fc.VelocityChange.of(model, state, matrix, "mine", **given)  # noqa: E731
    one = np.eye(model.nv)
    with pytest.raises(fc.ModelError, match="'mine' is a function State -> T, not an array"):
        of(one)
    with pytest.raises(fc.ModelError, match=r"T of the change 'mine' must have shape \(16, 16\), got \(6, 6\)"):
        of(lambda at: np.eye(6))
    with pytest.raises(fc.ModelError, match=r"T_dot of the change 'mine' must have shape \(16, 16\), got \(6, 6\)"):
        of(lambda at: one, T_dot=np.eye(6))
    with pytest.raises(
        fc.ModelError, match=r"the inverse of the change 'mine' must have shape \(16, 16\), got \(16,\)"
    ):
        of(lambda at: one, inverse=np.ones(16))
    with pytest.raises(fc.ModelError, match="T of the change 'mine' holds a number that is not finite"):
        of(lambda at: np.nan * one)
    for singular in (np.ones_like(one), np.diag(np.arange(16.0))):
        with pytest.raises(fc.NumericsError, match="T of the change 'mine' is singular"):
            of(lambda at, T=singular: T)
    scaled = np.diag(np.logspace(-9, 9, 16))  # units, not a singularity
    agree("diagonal", of(lambda at: scaled).inverse @ scaled, one)


def test_functions_that_have_no_rate_by_complex_step_are_refused(cat):
    model, state = cat

    def real(at):
        T = np.eye(model.nv)
        T[:3, :3] = np.real(at.pose[:3, :3])
        return T

    with pytest.raises(fc.ModelError, match="'mine' does not compute with complex numbers"):
        fc.VelocityChange.of(model, state, real, "mine")
    with pytest.raises(fc.ModelError, match="'mine' depends on the velocity"):
        fc.VelocityChange.of(model, state, lambda at: (2.0 + at.twist[0] ** 2) * np.eye(model.nv), "mine")
    with pytest.raises(fc.ModelError, match="Tx does not compute with complex numbers"):
        fc.changes.decoupling(model, state, Tx=lambda at: np.real(real(at)[:6, :6]))
    given = fc.VelocityChange.of(model, state, real, "mine", T_dot=np.zeros((16, 16)))
    assert fc.equations(model, state).change(given).certify()["change rate"].verdict == "unproved"


def test_a_wrong_rate_or_inverse_that_was_given_is_broken(cat):
    model, state = cat
    right = fc.VelocityChange.of(model, state, mujoco(model))
    rate = fc.VelocityChange.of(model, state, mujoco(model), T_dot=0.0 * right.T_dot)
    assert fc.equations(model, state).change(rate).certify()["change rate"].verdict == "broken"
    inverse = fc.VelocityChange.of(model, state, mujoco(model), inverse=right.T)
    assert fc.equations(model, state).change(inverse).certify()["change"].verdict == "broken"
