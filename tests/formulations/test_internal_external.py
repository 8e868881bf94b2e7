"""Internal and external velocities ([Feurstein] 3.3.4): the six axioms, and the generalized Jacobian."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from kinds import KINDS
from random_robots import BASES, build, rng_of, robots
from residuals import agree

import fallingcat as fc
from fallingcat.arrays import concatenate
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
    J = fc.formulations.internal_jacobian(model, state, link)
    agree("generalized Jacobian", J @ rates, fc.link_twist(model, free, link), 1e-11)


@cases
@weights
def test_axiom_1_the_internal_velocity_depends_on_the_joints_alone(joints, seed, weight):
    model, state, link = arm(joints, seed)
    change = fc.changes.internal_external(model, state, link, weight)
    assert not change.T[6:, :6].any()
    assert np.linalg.matrix_rank(change.T[6:12, 6:]) == 6


@cases
@weights
def test_axiom_2_joint_torques_are_no_external_force(joints, seed, weight):
    model, state, link = arm(joints, seed)
    change = fc.changes.internal_external(model, state, link, weight)
    torques = np.concatenate([np.zeros(6), np.random.default_rng(0).normal(size=joints)])
    assert not change.forces(torques)[:6].any()


@cases
@weights
def test_axiom_3_the_mass_matrix_decouples(joints, seed, weight):
    model, state, link = arm(joints, seed)
    change = fc.changes.internal_external(model, state, link, weight)
    eom = fc.equations(model, state).change(change)
    agree("M_ei = 0", eom.M[:6, 6:], np.zeros((6, joints)), scale=np.abs(eom.M).max())
    # (3.93)
    M, right = fc.mass_matrix(model, state), change.inverse[6:, 6:12]
    A = np.linalg.solve(M[:6, :6], M[:6, 6:])
    Lq = M[6:, 6:] - M[6:, :6] @ A
    agree("(3.93): M_i", eom.M[6:12, 6:12], right.T @ Lq @ right, 1e-11)
    agree("J J# = 1", change.T[6:12, 6:] @ right, np.eye(6), 1e-11)
    J, W = fc.formulations.internal_jacobian(model, state, link), Lq if weight == "inertia" else np.eye(joints)
    by_hand = np.linalg.solve(W, J.T) @ np.linalg.inv(J @ np.linalg.solve(W, J.T))
    agree("J# = W^-1 J' (J W^-1 J')^-1", right, by_hand, 1e-9)


@cases
@weights
@pytest.mark.parametrize("factorization", fc.dynamics.FACTORIZATIONS)
def test_axiom_4_the_coriolis_forces_decouple(joints, seed, weight, factorization):
    """`C_ei = 0` for the matrices that decouple; for the passive ones `C_e v_ext + C_ei v_int` is the momentum's.

    In free flight `d(M_e v_ext)/dt = 0`, so `C_e v_e + C_ei v_i = dM_e/dt v_e`.
    """
    model, state, link = arm(joints, seed)
    change = fc.changes.internal_external(model, state, link, weight)
    eom = fc.equations(model, state, factorization).change(change)
    scale = np.abs(eom.C).max()
    if factorization in ("newton_euler", "hamel"):
        agree("C_ei = 0", eom.C[:6, 6:], np.zeros((6, joints)), 1e-11, scale)
    rate = eom.Mdot[:6, :6] @ eom.v[:6]
    agree("C_e v_e + C_ei v_i = dM_e/dt v_e", (eom.C @ eom.v)[:6], rate, 1e-10, scale * np.abs(eom.v).max())


@cases
def test_axiom_5_the_external_force_is_expressed_at_the_center_of_mass(joints, seed):
    model, state, link = arm(joints, seed)
    change = fc.changes.internal_external(model, state, link)
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
    change = fc.changes.internal_external(model, state, link)
    v = change.velocity(state.velocity)
    H_wc = np.eye(4)
    H_wc[:3, 3] = fc.center_of_mass(model, state)
    A_jc = SE3().Ad(np.linalg.inv(fc.link_pose(model, state, link)) @ H_wc)
    agree("nu_j = A_jc v_ext + v_int", A_jc @ v[:6] + v[6:12], fc.link_twist(model, state, link))


# redundant robots: the null space is part of the motion -----------------------------------------------------------

MOVING = [base for base in BASES if base.dim]


def redundant(base, extra, seed):
    """A random robot with hinges, sliders, balls and cardans on `base`, and its farthest link."""
    rng = np.random.default_rng([base.dim, extra, seed])
    kinds = ["revolute", "prismatic"] if seed % 2 else None
    while True:
        model = fc.robots.random_tree(rng, base.dim + extra, kinds=kinds, base=base, branching=0.0)
        state, link = model.random_state(rng), model.link_names[-1]
        if np.linalg.cond(fc.formulations.internal_jacobian(model, state, link)) < 1e3:
            return model, state, link


everywhere = pytest.mark.parametrize("base", MOVING, ids=str)


@everywhere
@weights
@pytest.mark.parametrize("extra", [0, 1, 4])
def test_the_changed_equations_move_the_robot_as_the_plain_ones_do(base, weight, extra):
    """Accelerations by the articulated-body algorithm; the rate of `T` by complex step."""
    for seed in range(2):
        model, state, link = redundant(base, extra, seed)
        change = fc.changes.internal_external(model, state, link, weight)
        agree("T T^-1 = 1", change.T @ change.inverse, np.eye(model.nv), 1e-10)
        agree("dT/dt by complex step", change.T_dot, np.imag(change.at(1e-40j)) / 1e-40, 1e-9)
        forces = np.random.default_rng(seed).normal(size=model.nv)
        expected = change.acceleration(fc.forward_dynamics(model, state, forces), state.velocity)
        for factorization in fc.dynamics.FACTORIZATIONS:
            eom = fc.equations(model, state, factorization).change(change)
            agree("internal/external acceleration", eom.forward(change.forces(forces)), expected, 1e-10)
            certificate = eom.certify()
            assert certificate.passed, str(certificate)
            names = {check.name for check in certificate.checks}
            assert {"mass rate", "forces", "power"} <= names
            assert ("null space" in names) == (weight == "inertia" and model.n > model.m)


@everywhere
def test_the_null_space_decouples_in_the_inertia_metric(base):
    """All three blocks of the mass matrix are apart; in the metric of the rates, internal and null space are not."""
    model, state, link = redundant(base, 3, 0)
    m, size = 2 * model.m, model.nv - 2 * model.m
    consistent, plain = (fc.changes.internal_external(model, state, link, weight) for weight in WEIGHTS)
    M = fc.equations(model, state).change(consistent).M
    agree("M_(ei)n = 0", M[:m, m:], np.zeros((m, size)), 1e-11, np.abs(M).max())
    N = plain.inverse[model.m :, m:]
    right = plain.inverse[model.m :, model.m : m]
    agree("moore_penrose: J#' N = 0", right.T @ N, np.zeros((model.m, size)), 1e-11, np.abs(right).max())
    assert np.abs(fc.equations(model, state).change(plain).M[:m, m:]).max() > 1e-6


@everywhere
@weights
def test_motions_in_the_null_space_leave_the_link_and_the_momentum_alone(base, weight):
    model, state, link = redundant(base, 2, 1)
    change = fc.changes.internal_external(model, state, link, weight)
    v = change.inverse @ np.concatenate([np.zeros(2 * model.m), [1.0, -2.0], np.ones(model.nv - 2 * model.m - 2)])
    moving = fc.State(state.pose, state.joints, v[: model.m], v[model.m :])
    S, C = base.selection, base.coselection
    scale = np.abs(v).max() * np.abs(fc.mass_matrix(model, state)).max()
    agree("no momentum", S.T @ fc.momentum(model, moving), np.zeros(model.m), 1e-10, scale)
    agree("a link at rest", C @ fc.link_twist(model, moving, link), np.zeros(model.m), 1e-10, np.abs(v).max())


def test_the_null_space_is_counted_by_the_same_joints_everywhere():
    """`v_null` is what two joints do beyond `J# v_int`, the same two at every state: a smooth function of the state."""
    model, _, link = arm(8, 1)
    counted = set()
    for seed in range(5):
        change = fc.changes.internal_external(model, model.random_state(np.random.default_rng(seed)), link)
        N = change.inverse[6:, 12:]
        ones = [tuple(i for i in range(8) if np.allclose(N[i], row, atol=1e-9)) for row in np.eye(2)]
        counted.add(tuple(ones))
    assert len(counted) == 1
    assert all(len(joint) == 1 for joint in counted.pop())


def test_the_user_counts_the_null_space():
    model, state, link = arm(8, 1)
    Z = np.random.default_rng(0).normal(size=(8, 2))
    change = fc.changes.internal_external(model, state, link, null_space=Z)
    agree("Z' N = 1", Z.T @ change.inverse[6:, 12:], np.eye(2), 1e-11)
    assert fc.equations(model, state).change(change).certify(1e-8).passed
    with pytest.raises(fc.ModelError, match=r"null_space must have shape \(8, 2\), got \(2, 8\)"):
        fc.changes.internal_external(model, state, link, null_space=Z.T)
    blind = np.linalg.qr(fc.formulations.internal_jacobian(model, state, link).T)[0][
        :, :2
    ]  # both count internal motion only
    with pytest.raises(fc.NumericsError, match="null_space misses motions in the null space of"):
        fc.changes.internal_external(model, state, link, null_space=blind)


def test_what_drops_velocities_has_no_equations():
    model, state, link = arm(8, 0)
    change = fc.changes.internal_external(model, state, link)
    wide = fc.VelocityChange(change.T[:12], change.T_dot[:12], change.inverse[:, :12], "wide")
    with pytest.raises(fc.ModelError, match="the change 'wide' drops velocities"):
        fc.equations(model, state).change(wide)
    with pytest.raises(fc.ModelError, match="drops velocities"):
        wide.inverted()


@pytest.mark.parametrize("kind", ["traced", "casadi", "jax"])
@weights
def test_every_kind_of_number(kind, weight):
    rng = np.random.default_rng(3)
    model = fc.robots.random_tree(rng, 5, kinds=["revolute"], planar=True, branching=0.0)
    q, v = model.flatten(model.random_state(rng))

    def flat(q, v):
        change = fc.changes.internal_external(model, model.unflatten(q, v), model.link_names[-1], weight)
        return concatenate([change.T, change.T_dot, change.inverse])

    agree(f"internal/external, {kind} = float", KINDS[kind](flat, q, v), flat(q, v), 1e-9)


def test_weights_differ_where_there_is_a_choice():
    """`inertia` is dynamically consistent: internal motion of least energy for the link's velocity."""
    model, state, link = arm(9, 0)
    consistent, plain = (fc.changes.internal_external(model, state, link, w).inverse[6:, 6:12] for w in WEIGHTS)
    Lq = fc.reduced_equations(model, state).Lq
    wish = np.arange(6.0)
    energy = [x @ Lq @ x for x in (consistent @ wish, plain @ wish)]
    assert energy[0] < energy[1]
    square, _ = (fc.changes.internal_external(*arm(6, 0), w).inverse for w in WEIGHTS)
    agree("square: no choice", square, _, 1e-10)


@settings(max_examples=20)
@given(recipe=robots(largest=6, bases=(SE3(),)))
def test_planar_internal_velocities_have_three_components(recipe):
    rng = rng_of(recipe)
    model = fc.robots.random_tree(rng, 5, kinds=["revolute"], planar=True, branching=0.0)
    assume(isinstance(model.base, SE2))
    state = model.random_state(rng)
    J = fc.formulations.internal_jacobian(model, state, model.link_names[-1])
    assert J.shape == (3, 5)
    assume(np.linalg.cond(J) < 1e4)
    change = fc.changes.internal_external(model, state, model.link_names[-1])
    agree("planar J J# = 1", change.T[3:6, 3:] @ change.inverse[3:, 3:6], np.eye(3), 1e-10)


def test_a_null_space_that_couples_breaks_its_claim():
    """Moore and Penrose's inverse leaves the null space coupled: claiming otherwise is found."""
    arm = fc.robots.orbital_arm()
    state = arm.random_state(np.random.default_rng(0))
    change = fc.changes.internal_external(arm, state, arm.link_names[-1], "moore_penrose")
    proud = replace(change, claims=(*change.claims, "null space"))
    certificate = fc.equations(arm, state).change(proud).certify()
    assert [check.name for check in certificate.checks if check.verdict == "broken" and check.claimed] == ["null space"]
