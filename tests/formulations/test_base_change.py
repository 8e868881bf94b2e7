"""Same robot, other base ([Traversaro] 4): against the model itself rooted elsewhere, and held at a link."""

import numpy as np
import pytest
from hypothesis import given, settings
from random_robots import build, rng_of, robots
from residuals import agree

import fallingcat as fc
from fallingcat.lie import SE2, SE3, Trivial

Ad = SE3().Ad
free = robots(largest=10, bases=(SE3(),))


def some_link(model, rng):
    return str(rng.choice(model.link_names))


def order(model, other):
    """The place in `model` of every velocity of `other`, the same robot with its joints in another order."""
    places = {j.name: v for j, v in zip(model.joints, model.v_slices, strict=True)}
    joints = [model.m + k for name in other.joint_names for k in range(places[name].start, places[name].stop)]
    return [*range(model.m), *joints]


@pytest.mark.parametrize("factorization", fc.dynamics.FACTORIZATIONS)
@settings(max_examples=15)
@given(recipe=free)
def test_a_change_of_base_is_a_robot_rooted_elsewhere(factorization, recipe):
    """Theorem 2: `M_D`, `C_D v_D`, `g_D` and `dM_D/dt`; `C_D` itself for what does not depend on the base."""
    model, state = build(recipe)
    link = some_link(model, rng_of(recipe))
    other, its = model.reroot(link), fc.dynamics.reroot_state(model, state, link)
    p = order(model, other)
    ours = fc.equations(model, state, factorization).change(fc.changes.base_at(model, state, link))
    theirs = fc.equations(other, its, factorization)
    agree("base_at v = rerooted", ours.v[p], theirs.v)
    agree("base_at M = rerooted", ours.M[np.ix_(p, p)], theirs.M)
    agree("base_at Mdot = rerooted", ours.Mdot[np.ix_(p, p)], theirs.Mdot, 1e-11)
    agree("base_at g = rerooted", ours.g[p], theirs.g)
    agree("base_at C v = rerooted", (ours.C @ ours.v)[p], theirs.C @ theirs.v, 1e-11)
    if factorization in ("passive", "coadjoint", "newton_euler", "christoffel"):  # sums over links, base or not
        agree("base_at C = rerooted", ours.C[np.ix_(p, p)], theirs.C, 1e-11)


@settings(max_examples=30)
@given(recipe=free)
def test_the_joints_do_not_care_which_link_is_the_base(recipe):
    model, state = build(recipe)
    rng = rng_of(recipe)
    link, forces = some_link(model, rng), rng.normal(size=model.nv)
    other, its = model.reroot(link), fc.dynamics.reroot_state(model, state, link)
    p, change = order(model, other), fc.changes.base_at(model, state, link)
    motion = fc.forward_dynamics(model, state, forces)
    there = fc.forward_dynamics(other, its, change.forces(forces)[p])
    size = max(1e-11, 1e-14 * np.linalg.cond(fc.mass_matrix(model, state)))
    agree("rerooted forward dynamics", change.acceleration(motion, state.velocity)[p], there, size)
    agree("rerooted joint accelerations", motion[p][6:], there[6:], size)


@settings(max_examples=30)
@given(recipe=free)
def test_forces_remarks_2_and_3(recipe):
    """Joint torques are the same for every base; a wrench on the old base shows at the joints on the way alone."""
    model, state = build(recipe)
    rng = rng_of(recipe)
    link = some_link(model, rng)
    change, J = fc.changes.base_at(model, state, link), fc.jacobian(model, state, link)
    torques = np.concatenate([np.zeros(6), rng.normal(size=model.n)])
    agree("Remark 2: torques stay", change.forces(torques), torques)
    wrench = rng.normal(size=6)
    moved = change.forces(np.concatenate([wrench, np.zeros(model.n)]))
    H = np.linalg.inv(fc.link_pose(model, state, link)) @ state.pose
    agree("Remark 3: the wrench, at the new base", moved[:6], np.linalg.inv(Ad(H)).T @ wrench)
    agree("(20): external joint torques", moved[6:], -J[:, 6:].T @ moved[:6])
    off_the_way = ~np.abs(J[:, 6:]).any(axis=0)
    assert not moved[6:][off_the_way].any()


def test_remark_3_is_printed_without_its_sign():
    """Printed `+ S' X f`; (20), and the power, say minus."""
    cat = fc.robots.cat()
    state = cat.random_state(np.random.default_rng(0))
    change = fc.changes.base_at(cat, state, "tail")
    f = np.concatenate([np.arange(1.0, 7.0), np.zeros(cat.n)])
    moved = change.forces(f)
    printed = np.concatenate([moved[:6], -moved[6:]])
    agree("power of Remark 3", moved @ change.velocity(state.velocity), f @ state.velocity)
    assert abs(printed @ change.velocity(state.velocity) - f @ state.velocity) > 1.0


@settings(max_examples=30)
@given(recipe=free)
def test_origin_of_one_link_and_axes_of_another(recipe):
    """(25)-(28): the mixed Jacobian stacks `J_E` linear and `J_F` angular; body-fixed, both are turned into F."""
    model, state = build(recipe)
    rng = rng_of(recipe)
    E, F = some_link(model, rng), some_link(model, rng)
    linear = fc.jacobian(model, state, E, "mixed")[:3]
    angular = fc.jacobian(model, state, F, "mixed")[3:]
    mixed = fc.changes.base_at(model, state, E, orientation=F, representation="mixed")
    agree("(27)", mixed.T[:6], np.concatenate([linear, angular]))
    R = fc.link_pose(model, state, F)[:3, :3]
    turned = fc.changes.base_at(model, state, E, orientation=F)
    agree("(27), body-fixed", turned.T[:6], np.concatenate([R.T @ linear, R.T @ angular]))
    whole = fc.changes.base_at(model, state, E, orientation=E)
    agree("E[E] is E", whole.T, fc.changes.base_at(model, state, E).T)
    agree("E[E] is E, rate", whole.T_dot, fc.changes.base_at(model, state, E).T_dot, 1e-11)


def test_a_frame_can_be_the_base():
    cat = fc.robots.cat()
    state = cat.random_state(np.random.default_rng(0))
    change = fc.changes.base_at(cat, state, "front_left_paw")
    agree("frame as base", change.velocity(state.velocity)[:6], fc.link_twist(cat, state, "front_left_paw"))
    assert change.name == "base at front_left_paw"
    given = fc.changes.base_at(cat, state, cat.frame("front_left_paw"))
    agree("frame as base, by record", given.T, change.T)
    assert fc.equations(cat, state).change(change).certify().passed


def test_planar_robots_change_their_base_in_the_plane():
    model = fc.robots.random_tree(np.random.default_rng(0), 4, kinds=["revolute"], planar=True)
    assert isinstance(model.base, SE2)
    state = model.random_state(np.random.default_rng(1))
    other, its = model.reroot("link3"), fc.dynamics.reroot_state(model, state, "link3")
    p = order(model, other)
    ours = fc.equations(model, state).change(fc.changes.base_at(model, state, "link3"))
    theirs = fc.equations(other, its)
    agree("planar base_at M", ours.M[np.ix_(p, p)], theirs.M)
    agree("planar base_at C", ours.C[np.ix_(p, p)], theirs.C)
    assert ours.certify().passed


# held at a link -----------------------------------------------------------------------------------------------------


def held(model, state, link):
    """The motion with the same joint rates in which the link stands still."""
    J = fc.jacobian(model, state, link)
    twist = -np.linalg.solve(J[:, :6], J[:, 6:] @ state.rates)
    return fc.State(state.pose, state.joints, twist, state.rates)


@settings(max_examples=30)
@given(recipe=robots(largest=6, bases=(SE3(),)))
def test_fixed_at_is_the_constrained_robot(recipe):
    """Lemma 5 (46)-(48) against multipliers, which know nothing of a change of base."""
    model, state = build(recipe)
    rng = rng_of(recipe)
    link, torques = some_link(model, rng), rng.normal(size=model.n)
    still = held(model, state, link)
    J, J_dot = fc.jacobian(model, still, link), fc.dynamics.jacobian_derivative(model, still, link)
    forces = np.concatenate([np.zeros(6), torques])
    motion = fc.dynamics.constrained_forward_dynamics(model, still, forces, J, J_dot @ still.velocity)
    fixed = fc.formulations.fixed_at(model, state, link)
    size = max(1e-11, 1e-13 * np.linalg.cond(fixed.M)) if model.n else 1e-11
    agree("fixed_at: joint accelerations", fixed.forward(torques), motion.acceleration[6:], size)
    agree("fixed_at: (48), the contact wrench", fixed.wrench(torques), motion.multipliers, 10 * size)


@settings(max_examples=30)
@given(recipe=robots(largest=6, bases=(SE3(),)))
def test_fixed_at_is_the_robot_on_a_pedestal(recipe):
    """... and against the model rooted at the link and bolted to the world there."""
    model, state = build(recipe)
    rng = rng_of(recipe)
    link = some_link(model, rng)
    rooted, its = model.reroot(link), fc.dynamics.reroot_state(model, state, link)
    bolted = fc.Model("bolted", Trivial(), rooted.links, rooted.joints, its.pose[:3, :3].T @ model.gravity)
    at_rest = bolted.state(joints=its.joints, rates=its.rates)
    p = [i - 6 for i in order(model, rooted)[6:]]
    fixed = fc.formulations.fixed_at(model, state, link)
    agree("fixed_at M = bolted", fixed.M[np.ix_(p, p)], fc.mass_matrix(bolted, at_rest))
    agree("fixed_at C = bolted", fixed.C[np.ix_(p, p)], fc.coriolis_matrix(bolted, at_rest), 1e-11)
    agree("fixed_at g = bolted", fixed.g[p], fc.gravity_forces(bolted, at_rest))


def test_corollary_1_of_traversaro():
    """(48) inverts `J M^-1 J'`, not the printed `J M J'`; its inverse is `I^C - F H^-1 F'`."""
    cat = fc.robots.cat()
    state = cat.random_state(np.random.default_rng(0))
    still = held(cat, state, "rear")
    whole = fc.formulations.fixed_at(cat, state, "rear").whole
    M, J = whole.M, np.eye(6, cat.nv)
    inverted = np.linalg.inv(J @ np.linalg.solve(M, J.T))
    agree("Corollary 1, corrected", inverted, M[:6, :6] - M[:6, 6:] @ np.linalg.solve(M[6:, 6:], M[6:, :6]))
    assert np.linalg.eigvalsh(inverted)[0] > 0.0
    torques = np.ones(cat.n)
    push = whole.C @ np.concatenate([np.zeros(6), still.rates]) + whole.g - np.concatenate([np.zeros(6), torques])
    wrench = fc.formulations.fixed_at(cat, state, "rear").wrench(torques)
    agree("(48)", inverted @ (J @ np.linalg.solve(M, push)), wrench, 1e-11)
    printed = (J @ M @ J.T) @ (J @ np.linalg.solve(M, push))
    assert np.abs(printed - wrench).max() > 1e-2
