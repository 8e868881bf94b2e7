"""Potentials, momenta and the Hamiltonian: [Feurstein] (3.10), (3.19), (3.31)-(3.36)."""

import numpy as np
import pytest
from hypothesis import given, settings
from kinds import KINDS
from random_robots import BASES, Robot, build, rng_of, robots
from residuals import agree

import fallingcat as fc
from fallingcat.arrays import concatenate, sin
from fallingcat.errors import ModelError, NumericsError
from fallingcat.lie import SE3, SO3

STEP = 1e-40


def some_potential(rng):
    """A smooth function of where the base is, how it is turned, and of all joints."""
    weights = rng.normal(size=(3, 4))

    def potential(state):
        place = (weights * state.pose[:3]).sum()
        return sin(place) + sum((k + 1.0) * sin(q) for k, q in enumerate(state.joints)) + 0.3 * place * place

    return potential


@settings(max_examples=25)
@given(recipe=robots(largest=5))
def test_forces_of_a_potential_do_its_work(recipe):
    """`dU/dt = potential_forces . v` along any motion; gravity's are those of the library."""
    model, state = build(recipe)
    U = some_potential(rng_of(recipe))
    moved = fc.dynamics.displace(model, state, 1j * STEP * state.velocity)
    power = np.imag(U(moved)) / STEP
    agree("dU/dt", fc.dynamics.potential_forces(model, state, U) @ state.velocity, power, 1e-11)
    weight = fc.dynamics.potential_forces(model, state, lambda s: fc.potential_energy(model, s))
    agree("gravity", weight, fc.gravity_forces(model, state), 1e-11, scale=1.0)


def test_euler_under_a_potential_of_the_rotation():
    """(3.19), (3.32a) written out: the base feels `[R' dU/do; -sum r_i x dU/dr_i]`."""
    rng = np.random.default_rng(3)
    body = fc.robots.free_body()
    W, u = rng.normal(size=(3, 3)), rng.normal(size=3)
    state = body.random_state(rng)
    found = fc.dynamics.potential_forces(body, state, lambda s: (W * s.pose[:3, :3]).sum() + u @ s.pose[:3, 3])
    R = state.pose[:3, :3]
    agree("R' dU/do", found[:3], R.T @ u)
    agree("-sum r_i x dU/dr_i", found[3:], -sum(np.cross(R[i], W[i]) for i in range(3)))


@settings(max_examples=20)
@given(recipe=robots(largest=4))
def test_hamilton_moves_the_robot_as_newton_does(recipe):
    """`dh/dt = ad(v)' h - dH/dx + F` against `d(M v)/dt` of the accelerations; every base and kind of joint."""
    model, state = build(recipe)
    rng = rng_of(recipe)
    U, F = some_potential(rng), rng.normal(size=model.nv)
    H = fc.dynamics.hamiltonian(model, state, potential=U)
    M = fc.mass_matrix(model, state)
    agree("h = M v", H.momenta, M @ state.velocity)
    agree("dH/dh = v", H.by_momenta, state.velocity)
    agree("H = T + U", H.value, fc.kinetic_energy(model, state) + U(state))
    free = (
        F - fc.dynamics.potential_forces(model, state, U) + fc.gravity_forces(model, state)
    )  # ours instead of gravity
    a = fc.forward_dynamics(model, state, free)
    rate = M @ a + fc.mass_matrix_derivative(model, state) @ state.velocity
    said = model.configuration.ad(state.velocity).T @ H.momenta - H.by_configuration + F
    scale = max(1.0, float(np.abs(M).max() * np.abs(a).max(initial=0.0)))
    agree("Hamilton's equation", said, rate, 1e-9, scale)
    again = fc.dynamics.hamiltonian(model, state._replace(twist=0.0 * state.twist), H.momenta, U)
    tolerance = max(1e-11, 1e-14 * np.linalg.cond(M))
    agree("of other momenta", again.by_momenta, state.velocity, tolerance)
    agree("of other momenta", again.value, H.value, tolerance)


def test_the_hamiltonian_is_kept_in_flight():
    """(3.36) and after: along Hamilton's own flow, `dH/dx . v + dH/dh . dh/dt = 0`."""
    for seed, base in enumerate(BASES):
        model, state = build(Robot(base, 3, seed))
        H = fc.dynamics.hamiltonian(model, state)
        rate = model.configuration.ad(state.velocity).T @ H.momenta - H.by_configuration
        power = H.by_configuration @ state.velocity + H.by_momenta @ rate
        agree("dH/dt = 0", power, 0.0, 1e-12, scale=float(np.abs(H.by_momenta * rate).sum() + 1.0))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_number(kind):
    model = fc.robots.random_tree(
        np.random.default_rng(1), 1, ["revolute"], base=SO3() if kind != "sympy" else fc.lie.SE2()
    )
    state = model.random_state(np.random.default_rng(2))
    q, v = model.flatten(state)

    def U(s):
        return s.pose[0, 1] * s.pose[1, 1] + s.joints[0] * s.joints[0]

    def answers(q, v):
        state = model.unflatten(q, v)
        forces = fc.dynamics.potential_forces(model, state, U)
        return (
            forces
            if kind == "sympy"
            else concatenate([forces, *fc.dynamics.hamiltonian(model, state, potential=U)[1:]])
        )

    agree(kind, KINDS[kind](answers, q, v), answers(q, v), 1e-12)


def test_what_is_no_potential_is_named():
    cat = fc.robots.cat()
    state = cat.random_state(np.random.default_rng(0))
    for bad, words in (
        (3.0, "a potential is a function State -> J, not 3.0"),
        (lambda: 0.0, "the potential is a function of a State"),
        (lambda s: s.joints, "the potential is one number"),
        (lambda s: None, "the potential is one number"),
        (lambda s: fc.kinetic_energy(cat, s), "the potential depends on the velocity"),
    ):
        with pytest.raises(ModelError, match=words):
            fc.dynamics.potential_forces(cat, state, bad)
    with pytest.raises(NumericsError, match="the potential is not finite here"):
        fc.dynamics.potential_forces(cat, state, lambda s: np.nan * s.joints[0])
    with pytest.raises(ModelError, match="momenta must have shape"):
        fc.dynamics.hamiltonian(cat, state, np.zeros(3))
    assert isinstance(cat.base, SE3)
