"""Laws of the dynamics on random robots: equations of motion, balances, symmetries.

Residuals are relative; where equations are solved, the tolerance grows with the condition of the mass matrix.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from oracles.motion import bracket
from residuals import agree, residual
from robot_laws import REPRESENTATIONS, along, law, solving, some_link, some_wrenches, with_velocity

import fallingcat as fc
from fallingcat.lie import SE3

PASSIVE = ("christoffel", "passive", "coadjoint")
Ad = SE3().Ad


# forward, inverse, mass ---------------------------------------------------------------------------------------


@law()
def test_forward_and_inverse_are_inverses(recipe, model, state, rng):
    a, wrenches, written = rng.normal(size=model.nv), some_wrenches(model, rng), str(rng.choice(REPRESENTATIONS))
    forces = fc.inverse_dynamics(model, state, a, wrenches, written)
    found = fc.forward_dynamics(model, state, forces, wrenches, written)
    agree("forward(inverse) = identity", found, a, solving(recipe))
    forces = 10.0 * rng.normal(size=model.nv)
    a = fc.forward_dynamics(model, state, forces, wrenches, written)
    size = np.abs(fc.mass_matrix(model, state)).max(initial=0.0) * np.abs(a).max(initial=0.0)
    agree("inverse(forward) = identity", fc.inverse_dynamics(model, state, a, wrenches, written), forces, 1e-12, size)


@law()
def test_mass_matrix_is_symmetric_and_positive(recipe, model, state, rng):
    M = fc.mass_matrix(model, state)
    assert (M == M.T).all()
    if len(M):
        np.linalg.cholesky(M)
    v = state.velocity
    agree("T = v' M v / 2", fc.kinetic_energy(model, state), 0.5 * v @ M @ v)


@law()
def test_forces_are_the_same_for_every_factorization(recipe, model, state, rng):
    a, v = rng.normal(size=model.nv), state.velocity
    M, g, wanted = fc.mass_matrix(model, state), fc.gravity_forces(model, state), fc.inverse_dynamics(model, state, a)
    agree("bias = C v + g", fc.bias_forces(model, state), wanted - M @ a, scale=np.abs(wanted).max(initial=1.0))
    for name in fc.dynamics.FACTORIZATIONS:
        C = fc.coriolis_matrix(model, state, name)
        agree(f"M a + C v + g = inverse dynamics, {name}", M @ a + C @ v + g, wanted)


@law()
def test_mass_matrix_rate(recipe, model, state, rng):
    rate = fc.mass_matrix_derivative(model, state)
    assert (rate == rate.T).all()
    agree("Mdot = complex step of M", rate, along(lambda s: fc.mass_matrix(model, s), model, state))


@law()
def test_passive_ones_are_passive(recipe, model, state, rng):
    rate = fc.mass_matrix_derivative(model, state)
    for name in PASSIVE:
        C = fc.coriolis_matrix(model, state, name)
        agree(f"Mdot = C + C', {name}", C + C.T, rate)


@law()
def test_christoffel_is_torsion_free(recipe, model, state, rng):
    """C(v) w - C(w) v = M [v, w], with the brackets of the base's and of every joint's group."""
    v, w = state.velocity, rng.normal(size=model.nv)
    C_v, C_w = (fc.coriolis_matrix(model, with_velocity(model, state, x)) for x in (v, w))
    agree("C(v) w - C(w) v = M [v, w]", C_v @ w - C_w @ v, fc.mass_matrix(model, state) @ bracket(model, v, w))


@law()
def test_christoffel_is_the_mean(recipe, model, state, rng):
    christoffel, passive, coadjoint = (fc.coriolis_matrix(model, state, name) for name in PASSIVE)
    agree("christoffel = (passive + coadjoint) / 2", christoffel, 0.5 * (passive + coadjoint))


@law()
def test_coriolis_matrices_are_linear_in_the_velocity(recipe, model, state, rng):
    name, w = str(rng.choice(fc.dynamics.FACTORIZATIONS)), rng.normal(size=model.nv)
    both = [state.velocity, w, 2.0 * state.velocity - 3.0 * w]
    C_v, C_w, C = (fc.coriolis_matrix(model, with_velocity(model, state, x), name) for x in both)
    agree("C(2 v - 3 w) = 2 C(v) - 3 C(w)", C, 2.0 * C_v - 3.0 * C_w)


# balances -----------------------------------------------------------------------------------------------------


def largest_forces(model, state, a):
    """`|M| |a|` (nv): the size of the forces that balance, whose rounding is what a solved acceleration leaves."""
    return np.abs(fc.mass_matrix(model, state)) @ np.abs(a)


def world_wrench(model, state, wrenches, written):
    """The sum of wrenches about the world's origin, along its axes."""
    total, poses = np.zeros(6), fc.forward_kinematics(model, state)
    for name, given_wrench in wrenches.items():
        H = poses[name]
        if written == "mixed":
            H = np.block([[np.eye(3), H[:3, 3:]], [np.zeros((1, 3)), np.ones((1, 1))]])
        total += given_wrench if written == "inertial" else Ad(SE3().inverse(H)).T @ given_wrench
    return total


@law()
def test_power_balance(recipe, model, state, rng):
    """d/dt (T + U) = forces . v, external wrenches included."""
    forces, wrenches = 10.0 * rng.normal(size=model.nv), some_wrenches(model, rng)
    written = str(rng.choice(REPRESENTATIONS))
    a = fc.forward_dynamics(model, state, forces, wrenches, written)

    def energy(s):
        return fc.kinetic_energy(model, s) + fc.potential_energy(model, s)

    work = [w @ fc.link_twist(model, state, name, written) for name, w in wrenches.items()]
    given_power = forces @ state.velocity + sum(work)
    size = np.abs(state.velocity) @ largest_forces(model, state, a)
    agree("d/dt (T + U) = power of the forces", along(energy, model, state, a), given_power, scale=max(1.0, size))


@law()
def test_momentum_rate_is_the_total_wrench(recipe, model, state, rng):
    """In the world frame; what a base that is not free lacks is a constraint wrench, which does no work."""
    forces, wrenches = 10.0 * rng.normal(size=model.nv), some_wrenches(model, rng)
    written = str(rng.choice(REPRESENTATIONS))
    a = fc.forward_dynamics(model, state, forces, wrenches, written)
    rate = along(lambda s: fc.momentum(model, s, "world"), model, state, a)
    weight = model.mass * model.gravity
    external = np.concatenate([weight, np.cross(fc.center_of_mass(model, state), weight)])
    external += world_wrench(model, state, wrenches, written)
    missing = Ad(state.pose).T @ (rate - external)  # in the base frame
    arm = 1.0 + np.abs(state.pose[:3, 3]).max()  # moments about the world's origin cancel against those of the base
    size = arm * max(np.abs(external).max(), largest_forces(model, state, a).max(initial=0.0))
    agree("momentum rate = total wrench", model.base.selection.T @ missing, forces[: model.m], scale=max(1.0, size))
    if isinstance(model.base, SE3):
        base = Ad(SE3().inverse(state.pose)).T @ forces[:6]
        agree("momentum rate = total wrench, SE(3)", rate, external + base, scale=max(1.0, size))


@law()
def test_wrenches_agree_in_every_representation(recipe, model, state, rng):
    """A wrench is a force J' w in each of its three representations, which are those of J."""
    link, wrench, a = some_link(model, rng), rng.normal(size=6), np.zeros(model.nv)
    without = fc.inverse_dynamics(model, state, a)
    for representation in REPRESENTATIONS:
        found = without - fc.inverse_dynamics(model, state, a, {link: wrench}, representation)
        J = fc.jacobian(model, state, link, representation)
        agree("external wrench = J' w", found, J.T @ wrench, scale=np.abs(without).max(initial=1.0))


# symmetries ---------------------------------------------------------------------------------------------------


@law()
def test_nothing_depends_on_the_base_pose(recipe, model, state, rng):
    """Left-invariance: without gravity; with it, when gravity turns along."""
    a, moved = rng.normal(size=model.nv), state._replace(pose=model.base.random(rng) @ state.pose)
    name = str(rng.choice(fc.dynamics.FACTORIZATIONS))
    assert (fc.coriolis_matrix(model, state, name) == fc.coriolis_matrix(model, moved, name)).all()
    assert (fc.mass_matrix(model, state) == fc.mass_matrix(model, moved)).all()
    assert (fc.momentum(model, state) == fc.momentum(model, moved)).all()
    weightless = replace(model, gravity=np.zeros(3))
    forces = fc.inverse_dynamics(weightless, state, a)
    assert (forces == fc.inverse_dynamics(weightless, moved, a)).all()
    turn = moved.pose[:3, :3] @ state.pose[:3, :3].T
    turned = replace(model, gravity=turn @ model.gravity)
    found = fc.inverse_dynamics(turned, moved, a)
    agree("left-invariance, gravity turned along", found, fc.inverse_dynamics(model, state, a))


@law()
def test_gravity_identity(recipe, model, state, rng):
    """[Traversaro] (12): g = -M [R' gravity; 0; 0]; for any base group with the momentum in place of M's rows."""
    fall = np.concatenate([state.pose[:3, :3].T @ model.gravity, np.zeros(3)])
    g = fc.gravity_forces(model, state)
    agree("g = -A' [R' gravity; 0]", g, -fc.momentum_matrix(model, state).T @ fall)
    if isinstance(model.base, SE3):
        M = fc.mass_matrix(model, state)
        agree("g = -M [R' gravity; 0; 0], [Traversaro] (12)", g, -M @ np.concatenate([fall, np.zeros(model.n)]))
    d = rng.normal(size=model.nv)
    slope = along(lambda s: fc.potential_energy(model, s), model, state, direction=d)
    agree("g = dU/dx", g @ d, slope, scale=np.abs(g).sum())


def by_joint(model, x):
    """The part of an nv-vector that belongs to each joint, by name."""
    return {j.name: x[model.m :][place] for j, place in zip(model.joints, model.v_slices, strict=True)}


def in_order_of(model, parts):
    return np.concatenate([np.zeros(0), *(parts[name] for name in model.joint_names)])


@law()
def test_re_rooting_changes_nothing(recipe, model, state, rng):
    """The same robot on another base link: accelerations of the joints, energies, momentum."""
    model = replace(model, base=SE3())
    state = state._replace(twist=rng.normal(size=6))
    link, torques, wrenches = some_link(model, rng), rng.normal(size=model.n), some_wrenches(model, rng)
    other, moved = model.reroot(link), fc.dynamics.reroot_state(model, state, link)
    for name in ("kinetic_energy", "potential_energy"):
        f = getattr(fc, name)
        agree("re-rooting keeps energies", f(other, moved), f(model, state))
    agree("re-rooting keeps the momentum", fc.momentum(other, moved, "world"), fc.momentum(model, state, "world"))
    forces = np.concatenate([np.zeros(6), torques])
    other_forces = np.concatenate([np.zeros(6), in_order_of(other, by_joint(model, forces))])
    a = fc.forward_dynamics(model, state, forces, wrenches, "inertial")
    b = fc.forward_dynamics(other, moved, other_forces, wrenches, "inertial")
    tolerance = 10.0 * solving(recipe)
    found = in_order_of(model, by_joint(other, b))
    agree("re-rooting keeps joint accelerations", found, a[6:], tolerance, np.abs(a).max())
    base = fc.dynamics.link_acceleration(model, state, a, link)
    agree("re-rooting moves the base acceleration", b[:6], base, tolerance, np.abs(a).max())


@law()
def test_order_does_not_matter(recipe, model, state, rng):
    """Links and joints given in another order."""
    links = [model.links[i] for i in rng.permutation(len(model.links))]
    joints = [model.joints[i] for i in rng.permutation(len(model.joints))]
    other = fc.Model("shuffled", model.base, tuple(links), tuple(joints), model.gravity)
    places = zip(model.joints, model.q_slices, strict=True)
    coordinates = {joint.name: state.joints[place] for joint, place in places}
    moved = fc.State(
        state.pose,
        in_order_of(other, coordinates),
        state.twist,
        in_order_of(other, by_joint(model, state.velocity)),
    )
    a = rng.normal(size=model.nv)
    found = fc.inverse_dynamics(other, moved, np.concatenate([a[: model.m], in_order_of(other, by_joint(model, a))]))
    found = np.concatenate([found[: model.m], in_order_of(model, by_joint(other, found))])
    agree("joint order does not matter", found, fc.inverse_dynamics(model, state, a))


@law()
def test_merging_welds_does_not_matter(recipe, model, state, rng):
    merged, a, wrenches = model.merge_fixed(), rng.normal(size=model.nv), some_wrenches(model, rng)
    for name in ("mass_matrix", "mass_matrix_derivative", "coriolis_matrix"):
        f = getattr(fc, name)
        agree("merging welds does not matter", f(merged, state), f(model, state))
    wanted = fc.inverse_dynamics(model, state, a, wrenches)
    agree("merging welds does not matter", fc.inverse_dynamics(merged, state, a, wrenches), wanted)
    link = some_link(model, rng)  # a frame now, if its joint was a weld
    agree("merging welds does not matter", fc.jacobian(merged, state, link), fc.jacobian(model, state, link))


# what does not hold -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def witness():
    rng = np.random.default_rng(7)
    model = fc.robots.random_tree(rng, 5)
    return model, model.random_state(rng), rng.normal(size=model.nv)


@pytest.mark.parametrize("name", ["newton_euler", "hamel"])
def test_the_others_are_not_passive(witness, name):
    model, state, _ = witness
    C = fc.coriolis_matrix(model, state, name)
    assert residual(C + C.T, fc.mass_matrix_derivative(model, state)) > 1e-2


@pytest.mark.parametrize("name", ["passive", "coadjoint", "newton_euler", "hamel"])
def test_the_others_have_torsion(witness, name):
    model, state, w = witness
    v = state.velocity
    C_v, C_w = (fc.coriolis_matrix(model, with_velocity(model, state, x), name) for x in (v, w))
    assert residual(C_v @ w - C_w @ v, fc.mass_matrix(model, state) @ bracket(model, v, w)) > 1e-2


def test_the_five_are_five(witness):
    model, state, _ = witness
    C = [fc.coriolis_matrix(model, state, name) for name in fc.dynamics.FACTORIZATIONS]
    assert all(residual(C[i], C[j]) > 1e-2 for i in range(5) for j in range(i))


def test_torsion_needs_the_brackets_of_the_joints(witness):
    """With the base's bracket alone (THEORY, joints of one coordinate) the law fails on a ball joint."""
    rng = np.random.default_rng(0)
    model = fc.robots.random_tree(rng, 3, kinds=["spherical"])
    state, w = model.random_state(rng), rng.normal(size=model.nv)
    v = state.velocity
    C_v, C_w = (fc.coriolis_matrix(model, with_velocity(model, state, x)) for x in (v, w))
    of_the_base = bracket(model, v, w) * np.repeat([1.0, 0.0], [model.m, model.n])
    assert residual(C_v @ w - C_w @ v, fc.mass_matrix(model, state) @ of_the_base) > 1e-2


def test_momentum_is_not_kept_by_a_base_that_is_held():
    rng = np.random.default_rng(3)
    model = fc.robots.random_tree(rng, 3, base=fc.lie.R3(), fixed=0.0)
    state = model.random_state(rng)
    a = fc.forward_dynamics(model, state, np.zeros(model.nv))
    rate = along(lambda s: fc.momentum(model, s, "centroidal"), model, state, a)
    assert np.abs(rate[3:]).max() > 1e-2
