"""Long chains: what has no kernel is refused early, and works without one."""

import tracemalloc

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.lie import SE3
from fallingcat.model import Joint, Link, Model, Revolute
from fallingcat.progress import SlowWarning


def chain(joints):
    """Short links, hinges about x, y, z in turn."""
    body, place = fc.Body(1.0, [0.02, 0.0, 0.0], np.diag([0.01, 0.02, 0.025])), np.eye(4)
    place[0, 3] = 0.05
    hinges = [Revolute(axis) for axis in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))]
    links = tuple(Link(f"link{i}", body) for i in range(joints + 1))
    return Model("chain", SE3(), links, tuple(
        Joint(f"joint{i}", hinges[i % 3], f"link{i}", f"link{i + 1}", place) for i in range(joints)
    ))  # fmt: skip


def state_of(model):
    rng = np.random.default_rng(0)
    state = model.random_state(rng)
    return state._replace(joints=0.1 * state.joints, rates=0.1 * state.rates), rng.normal(size=model.nv)


def test_2000_joints_without_a_kernel():
    """Both ways through the dynamics; what is lost is what the condition of the mass matrix costs."""
    model = chain(2000)
    state, a = state_of(model)
    forces = fc.inverse_dynamics(model, state, a)
    back = fc.forward_dynamics(model, state, forces)
    again = fc.inverse_dynamics(model, state, back)
    np.testing.assert_allclose(again, forces, rtol=0, atol=1e-12 * np.abs(forces).max())
    np.testing.assert_allclose(back, a, rtol=0, atol=1e-6 * np.abs(a).max())
    v = state.velocity
    momentum = fc.inverse_dynamics(model, state, v) - fc.bias_forces(model, state)  # M v
    assert fc.kinetic_energy(model, state) == pytest.approx(0.5 * v @ momentum, rel=1e-10)


@pytest.mark.parametrize("function", [fc.mass_matrix, fc.mass_matrix_derivative, fc.coriolis_matrix])
def test_a_matrix_takes_no_more_memory_than_a_few_of_its_size(function):
    """Rows over what each link carries, not a block for each pair of links."""
    model = chain(300)
    state, _ = state_of(model)
    tracemalloc.start()
    function(model, state)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * 8 * model.nv**2


def test_the_mass_matrix_of_2000_joints():
    model = chain(2000)
    state, a = state_of(model)
    M, bias = fc.mass_matrix(model, state), fc.bias_forces(model, state)
    forces = fc.inverse_dynamics(model, state, a)
    assert (M == M.T).all()
    np.testing.assert_allclose(M @ a + bias, forces, rtol=0, atol=1e-12 * np.abs(forces).max())


@pytest.mark.slow
def test_the_mass_matrix_of_500_joints_is_too_large_for_a_kernel():
    """Known after two of its three million operations; calls run the function itself."""
    model = chain(500)
    with pytest.warns(RuntimeWarning, match="mass_matrix of 'chain' has more than 2,000,000 operations"):
        kernel = fc.compile(model, fc.mass_matrix)
    state, _ = state_of(model)
    q, _ = model.flatten(state)
    M = fc.mass_matrix(model, model.unflatten(q))
    np.testing.assert_array_equal(kernel(np.stack([q, q])), [M, M])


@pytest.mark.parametrize("function", [
    fc.curvature,
    fc.reduced_equations,
    lambda model, state: fc.forward_dynamics_derivatives(model, state, np.zeros(model.nv)),
    lambda model, state: fc.dynamics.inverse_dynamics_regressor(model, state, np.zeros(model.nv)),
])  # fmt: skip
def test_what_would_fill_the_memory_is_refused(function):
    model = chain(9_999)
    with pytest.raises(fc.FallingCatError, match=r"'chain' would take about .* GB of memory, more than 4: "):
        function(model, model.neutral())


def test_hamels_matrix_says_how_long_it_takes():
    model = chain(700)
    with pytest.warns(SlowWarning, match="Hamel's matrix of 'chain' will take about 6 s: take another factorization"):
        fc.coriolis_matrix(model, model.neutral(), "hamel")
