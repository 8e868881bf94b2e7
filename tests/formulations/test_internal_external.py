"""Internal and external velocities ([Feurstein] 3.3.4): the six axioms, and the generalized Jacobian."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from random_robots import build, rng_of, robots
from residuals import agree

import fallingcat as fc
from fallingcat.lie import SE2, SE3

WEIGHTS = ("inertia", "moore_penrose")


def arm(joints, seed=0):
    """A chain of hinges and sliders: `joints = 6` is square, more are redundant."""
    rng = np.random.default_rng(seed)
    model = fc.robots.random_tree(rng, joints, kinds=["revolute", "prismatic"], branching=0.0)
    return model, model.random_state(rng), model.link_names[-1]


CASES = [(6, 0), (6, 3), (8, 1), (11, 2)]
cases = pytest.mark.parametrize(("joints", "seed"), CASES)
weights = pytest.mark.parametrize("weight", WEIGHTS)


@settings(max_examples=40)
@given(recipe=robots(largest=10, bases=(SE3(),)))
def test_the_internal_jacobian_is_the_generalized_jacobian(recipe):
    """Move the joints with zero momentum and watch the link: by momentum conservation alone."""
    model, state = build(recipe)
    rng = rng_of(recipe)
    link, rates = str(rng.choice(model.link_names)), rng.normal(size=model.n)
    H = fc.momentum_matrix(model, state)
    twist = np.linalg.solve(H[:, :6], -H[:, 6:] @ rates)
    free = fc.State(state.pose, state.joints, twist, rates)
    agree("no momentum", fc.momentum(model, free), np.zeros(6), scale=np.abs(H).max() * np.abs(free.velocity).max())
    J = fc.internal_jacobian(model, state, link)
    agree("generalized Jacobian", J @ rates, fc.link_twist(model, free, link), 1e-11)


@cases
@weights
def test_axiom_1_the_internal_velocity_depends_on_the_joints_alone(joints, seed, weight):
    model, state, link = arm(joints, seed)
    change = fc.internal_external(model, state, link, weight)
    assert not change.T[6:, :6].any()
    assert np.linalg.matrix_rank(change.T[6:, 6:]) == 6


@cases
@weights
def test_axiom_2_joint_torques_are_no_external_force(joints, seed, weight):
    model, state, link = arm(joints, seed)
    change = fc.internal_external(model, state, link, weight)
    torques = np.concatenate([np.zeros(6), np.random.default_rng(0).normal(size=joints)])
    assert not change.forces(torques)[:6].any()


@cases
@weights
def test_axiom_3_the_mass_matrix_decouples(joints, seed, weight):
    model, state, link = arm(joints, seed)
    change = fc.internal_external(model, state, link, weight)
    eom = fc.equations(model, state).change(change)
    agree("M_ei = 0", eom.M[:6, 6:], np.zeros((6, 6)), scale=np.abs(eom.M).max())
    # (3.93)
    M, right = fc.mass_matrix(model, state), change.inverse[6:, 6:]
    A = np.linalg.solve(M[:6, :6], M[:6, 6:])
    agree("(3.93): M_i", eom.M[6:, 6:], right.T @ (M[6:, 6:] - M[6:, :6] @ A) @ right, 1e-11)
    agree("J J# = 1", change.T[6:, 6:] @ right, np.eye(6), 1e-11)


@cases
@weights
@pytest.mark.parametrize("factorization", fc.FACTORIZATIONS)
def test_axiom_4_the_coriolis_forces_decouple(joints, seed, weight, factorization):
    """`C_ei = 0` for the matrices that decouple; for the passive ones `C_e v_ext + C_ei v_int` is the momentum's.

    In free flight `d(M_e v_ext)/dt = 0`, so `C_e v_e + C_ei v_i = dM_e/dt v_e` for motions within the right inverse.
    """
    model, state, link = arm(joints, seed)
    change = fc.internal_external(model, state, link, weight)
    shown = change.inverse @ (change.T @ state.velocity)  # the part of the motion that these velocities know
    state = fc.State(state.pose, state.joints, shown[:6], shown[6:])
    change = fc.internal_external(model, state, link, weight)
    eom = fc.equations(model, state, factorization).change(change)
    scale = np.abs(eom.C).max()
    if factorization in ("newton_euler", "hamel"):
        agree("C_ei = 0", eom.C[:6, 6:], np.zeros((6, 6)), 1e-11, scale)
    rate = eom.Mdot[:6, :6] @ eom.v[:6]
    agree("C_e v_e + C_ei v_i = dM_e/dt v_e", (eom.C @ eom.v)[:6], rate, 1e-10, scale * np.abs(eom.v).max())


@cases
def test_axiom_5_the_external_force_is_expressed_at_the_center_of_mass(joints, seed):
    model, state, link = arm(joints, seed)
    change = fc.internal_external(model, state, link)
    center = fc.center_of_mass(model, state)
    push = np.array([1.0, -2.0, 3.0])
    J = fc.jacobian(model, state, model.link_names[0], "mixed")
    arm_of_force = center - state.pose[:3, 3]
    # a force through the center of mass, applied by way of the base
    wrench = np.concatenate([push, np.cross(arm_of_force, push)])
    external = change.forces(J.T @ wrench)[:6]
    agree("external force at the center of mass", external, np.concatenate([push, np.zeros(3)]))


@cases
def test_axiom_6_a_body_velocity_is_the_sum_of_both(joints, seed):
    """(3.96): `nu_j = A_jc v_ext + v_int`."""
    model, state, link = arm(joints, seed)
    change = fc.internal_external(model, state, link)
    v = change.velocity(state.velocity)
    H_wc = np.eye(4)
    H_wc[:3, 3] = fc.center_of_mass(model, state)
    A_jc = SE3().Ad(np.linalg.inv(fc.link_pose(model, state, link)) @ H_wc)
    agree("nu_j = A_jc v_ext + v_int", A_jc @ v[:6] + v[6:], fc.link_twist(model, state, link))


def test_square_ones_are_certified():
    for seed in range(4):
        model, state, link = arm(6, seed)
        for factorization in fc.FACTORIZATIONS:
            certificate = fc.equations(model, state, factorization).change(fc.internal_external(model, state, link))
            assert certificate.certify(1e-8).passed


def test_weights_differ_where_there_is_a_choice():
    """`inertia` is dynamically consistent: internal motion of least energy for the link's velocity."""
    model, state, link = arm(9, 0)
    consistent, plain = (fc.internal_external(model, state, link, w).inverse[6:, 6:] for w in WEIGHTS)
    Lq = fc.reduced_equations(model, state).Lq
    wish = np.arange(6.0)
    energy = [x @ Lq @ x for x in (consistent @ wish, plain @ wish)]
    assert energy[0] < energy[1]
    square, _ = (fc.internal_external(*arm(6, 0), w).inverse for w in WEIGHTS)
    agree("square: no choice", square, _, 1e-10)


def test_redundant_changes_know_their_limits():
    model, state, link = arm(8, 0)
    change = fc.internal_external(model, state, link)
    assert change.T.shape == (12, 14)
    assert change.at is None
    with pytest.raises(fc.ModelError, match="drops velocities"):
        change.inverted()
    assert fc.equations(model, state).change(change).certify().passed


@settings(max_examples=20)
@given(recipe=robots(largest=6, bases=(SE3(),)))
def test_planar_internal_velocities_have_three_components(recipe):
    rng = rng_of(recipe)
    model = fc.robots.random_tree(rng, 5, kinds=["revolute"], planar=True, branching=0.0)
    assume(isinstance(model.base, SE2))
    state = model.random_state(rng)
    J = fc.internal_jacobian(model, state, model.link_names[-1])
    assert J.shape == (3, 5)
    assume(np.linalg.cond(J) < 1e4)
    change = fc.internal_external(model, state, model.link_names[-1])
    agree("planar J J# = 1", change.T[3:, 3:] @ change.inverse[3:, 3:], np.eye(3), 1e-10)
