"""The recursive algorithms against the three methods of [ETH] 3.3-3.5 and the Hamel equations of [Feurstein]."""

import numpy as np
import pytest
from hypothesis import given, settings
from oracles import free_bodies, hamel, lagrange, link_matrices
from oracles import projected_newton_euler as projected
from oracles.motion import STEP, moving_links
from random_robots import BASES, build, rng_of, robots
from residuals import agree, residual

import fallingcat as fc
from fallingcat.lie import SE3

Ad, ad = SE3().Ad, SE3().ad
ANGLES_AND_LENGTHS = ("revolute", "continuous", "prismatic", "helical", "cylindrical", "universal", "fixed")
SUMS = ("newton_euler", "passive", "coadjoint", "christoffel")


@settings(max_examples=30)
@given(robots(largest=10))
def test_projected_newton_euler(recipe):
    """[ETH] 3.5: M, b and g, each by its own sum."""
    model, state = build(recipe)
    agree("M = projected Newton-Euler", fc.mass_matrix(model, state), projected.mass_matrix(model, state))
    b, g = projected.bias_forces(model, state), projected.gravity_forces(model, state)
    agree("bias forces = projected Newton-Euler", fc.bias_forces(model, state), b + g)
    agree("gravity forces = projected Newton-Euler", fc.gravity_forces(model, state), g)
    agree(
        "momentum = sum over links",
        fc.momentum(model, state, "world"),
        projected.total_momentum(moving_links(model, state)),
    )


@settings(max_examples=30)
@given(robots(largest=10))
def test_lagrange(recipe):
    """[ETH] 3.4: energies from link poses, differentiated by complex step."""
    model, state = build(recipe)
    a = rng_of(recipe).normal(size=model.nv)
    agree("kinetic energy = sum over links", fc.kinetic_energy(model, state), lagrange.kinetic_energy(model, state))
    agree(
        "potential energy = sum over links", fc.potential_energy(model, state), lagrange.potential_energy(model, state)
    )
    agree(
        "inverse dynamics = Lagrange", fc.inverse_dynamics(model, state, a), lagrange.inverse_dynamics(model, state, a)
    )


@settings(max_examples=25)
@given(robots(largest=10))
def test_free_bodies(recipe):
    """[ETH] 3.3: bodies cut free, all joint wrenches unknown."""
    model, state = build(recipe)
    forces = 10.0 * rng_of(recipe).normal(size=model.nv)
    found, wanted = fc.forward_dynamics(model, state, forces), free_bodies.forward_dynamics(model, state, forces)
    condition = np.linalg.cond(fc.mass_matrix(model, state)) if model.nv else 1.0
    agree("forward dynamics = free bodies", found, wanted, 1e-12 * max(1.0, 1e-2 * condition))


@settings(max_examples=25)
@given(robots(largest=8))
@pytest.mark.parametrize("factorization", SUMS)
def test_coriolis_matrices_are_sums_over_links(factorization, recipe):
    """[Mishra] Lemma 1, [Feurstein] (3.41), (3.82): entry by entry, from Jacobians about the centers of mass."""
    model, state = build(recipe)
    found = fc.coriolis_matrix(model, state, factorization)
    agree(f"C {factorization} = sum over links", found, link_matrices.coriolis_matrix(model, state, factorization))


# [Feurstein] Proposition 3.1.1


def robot_of_angles_and_lengths(base, seed):
    rng = np.random.default_rng(seed)
    model = fc.robots.random_tree(rng, int(rng.integers(1, 8)), kinds=ANGLES_AND_LENGTHS, base=base)
    return model, model.random_state(rng)


@pytest.mark.parametrize("base", BASES, ids=str)
def test_hamel_matrix_entry_by_entry(base):
    """(3.37)-(3.39) from derivatives of M, for every base group (the thesis: SE(3) and joints of one coordinate)."""
    for seed in range(6):
        model, state = robot_of_angles_and_lengths(base, seed)
        agree(
            "C hamel = (3.39) from dM/dq",
            fc.coriolis_matrix(model, state, "hamel"),
            hamel.coriolis_matrix(model, state),
        )


@pytest.mark.parametrize("base", BASES, ids=str)
def test_hamel_and_euler_newton_are_the_same_equations(base):
    """Proposition 3.1.1: (3.38) with (3.39) and (3.40) with (3.41) give the same forces, though not the same matrix."""
    different = 0.0
    for seed in range(6):
        model, state = robot_of_angles_and_lengths(base, seed)
        C_h, C_e = hamel.coriolis_matrix(model, state), link_matrices.coriolis_matrix(model, state, "passive")
        agree("Hamel = Euler-Newton (Prop. 3.1.1)", C_h @ state.velocity, C_e @ state.velocity)
        agree("C passive = (3.41)", fc.coriolis_matrix(model, state, "passive"), C_e)
        different = max(different, residual(C_h, C_e))
    assert different > 1e-3


@pytest.mark.parametrize("seed", range(5))
def test_lemma_3_1(seed):
    """(3.42a)-(3.42e) along a motion, and the first row of the proof, (3.44)-(3.46), link by link."""
    rng = np.random.default_rng(seed)
    model = fc.robots.random_tree(rng, 4, kinds=["revolute", "prismatic"])
    state = model.random_state(rng)
    moved = fc.dynamics.displace(model, state, 1j * STEP * state.velocity)
    poses, later = (fc.forward_kinematics(model, s) for s in (state, moved))
    base = model.link_names[0]
    a_b, v = ad(state.twist), state.velocity
    first_row, wanted = np.zeros(6), np.zeros(6)
    for link in model.links:
        A_jb = Ad(SE3().inverse(poses[link.name]) @ poses[base])
        A_dot = np.imag(Ad(SE3().inverse(later[link.name]) @ later[base])) / STEP
        nu_j = fc.link_twist(model, state, link.name)
        nu_jb = v[:6] - np.linalg.solve(A_jb, nu_j)  # the base relative to link j, in the base
        a_jb, a_bj, a_j = ad(nu_jb), ad(-A_jb @ nu_jb), ad(nu_j)
        agree("Lemma 3.1", A_dot, A_jb @ a_jb)  # (3.42a)
        agree("Lemma 3.1", A_jb @ a_jb, -a_bj @ A_jb)  # (3.42c)
        agree("Lemma 3.1", a_j, A_jb @ (a_b - a_jb) @ np.linalg.inv(A_jb))  # (3.42e)
        J_dot = fc.dynamics.jacobian_derivative(model, state, link.name)
        L = link.body.spatial_inertia
        agree("Lemma 3.1", J_dot[:, :6], A_dot)
        first_row += A_jb.T @ L @ (J_dot @ v) - A_jb.T @ a_j.T @ L @ nu_j  # the right-hand side of (3.46)
        wanted += (a_jb.T - a_b.T) @ A_jb.T @ L @ nu_j + A_jb.T @ L @ (J_dot @ v)  # (3.44), summed with (3.45)
    agree("first row of the proof (3.46)", first_row, wanted)
    agree("first row of the proof (3.46)", first_row, (hamel.coriolis_matrix(model, state) @ v)[:6])
