"""Joints that follow others: the robot is the one without followers, moved along ``v_all = T v``, whatever is asked.

``T`` is constant, so all is pulled back: matrices ``T' X T``, columns ``X T``, forces ``T' f``.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from random_robots import Robot, build_following, following, freed, rng_of, robots
from residuals import agree
from robot_laws import FRAMES, REPRESENTATIONS, some_link, some_wrenches

import fallingcat as fc
from fallingcat.dynamics.forward import response
from fallingcat.lie import SE3


def law(check):
    """A test out of a law, on 25 random robots with followers beside the same without."""

    @settings(max_examples=25, derandomize=True)
    @given(robots(10))
    def test(recipe: Robot) -> None:
        model, state = build_following(recipe)
        check(model, state, freed(model, state), rng_of(recipe))

    test.__name__, test.__doc__ = check.__name__, check.__doc__
    return test


def conditioned(M):
    sizes = np.linalg.eigvalsh(M)
    return max(1e-12, 1e-14 * sizes[-1] / sizes[0]) if len(sizes) else 1e-12


@law
def test_followers_have_no_coordinates(model, state, free, rng):
    names = {joint.name for joint in model.joints if joint.mimic}
    assert not names & set(model.joint_names)
    assert (model.n, model.nv) == (len(state.rates), free.T.shape[1])
    assert model.nq == model.base.nq + len(state.joints)
    again = model.unflatten(*model.flatten(state))
    agree("flat and back", np.concatenate(model.flatten(again)), np.concatenate(model.flatten(state)))
    armature = np.concatenate([np.zeros(model.m), free.model.armature])
    agree("armature", np.diag(free.T.T @ np.diag(armature) @ free.T)[model.m :], model.armature)


@law
def test_places_speeds_and_energies_are_those_of_the_free_robot(model, state, free, rng):
    a, link = rng.normal(size=model.nv), some_link(model, rng)
    poses, wanted = fc.forward_kinematics(model, state), fc.forward_kinematics(free.model, free.state)
    assert list(poses) == list(wanted)
    agree("poses", np.array(list(poses.values())), np.array(list(wanted.values())))
    for written in REPRESENTATIONS:
        twist = fc.link_twist(free.model, free.state, link, written)
        agree(f"link_twist, {written}", fc.link_twist(model, state, link, written), twist)
        wanted = fc.dynamics.link_acceleration(free.model, free.state, free.T @ a, link, written)
        agree(f"link_acceleration, {written}", fc.dynamics.link_acceleration(model, state, a, link, written), wanted)
    for f in (fc.kinetic_energy, fc.potential_energy, fc.center_of_mass, fc.dynamics.center_of_mass_bias):
        agree(f.__name__, f(model, state), f(free.model, free.state))
    for frame in FRAMES:
        for f in (fc.momentum, fc.dynamics.locked_inertia):
            agree(f"{f.__name__}, {frame}", f(model, state, frame), f(free.model, free.state, frame))


@law
def test_columns_of_followers_join_those_of_their_leaders(model, state, free, rng):
    link = some_link(model, rng)
    for written in REPRESENTATIONS:
        for f in (fc.jacobian, fc.dynamics.jacobian_derivative):
            wanted = f(free.model, free.state, link, written) @ free.T
            agree(f"{f.__name__}, {written}", f(model, state, link, written), wanted)
        H = np.einsum(
            "kij,ia,jb->kab", fc.dynamics.kinematic_hessian(free.model, free.state, link, written), free.T, free.T
        )
        agree(f"kinematic_hessian, {written}", fc.dynamics.kinematic_hessian(model, state, link, written), H)
    for frame in FRAMES:
        for f in (fc.momentum_matrix, fc.dynamics.momentum_matrix_derivative):
            agree(f"{f.__name__}, {frame}", f(model, state, frame), f(free.model, free.state, frame) @ free.T)
    wanted = fc.center_of_mass_jacobian(free.model, free.state) @ free.T
    agree("center_of_mass_jacobian", fc.center_of_mass_jacobian(model, state), wanted)


@law
def test_matrices_of_the_dynamics_are_pulled_back(model, state, free, rng):
    M = fc.mass_matrix(model, state)
    assert (M == M.T).all()
    agree("mass_matrix", M, free.T.T @ fc.mass_matrix(free.model, free.state) @ free.T)
    rate = free.T.T @ fc.mass_matrix_derivative(free.model, free.state) @ free.T
    agree("mass_matrix_derivative", fc.mass_matrix_derivative(model, state), rate)
    for name in fc.dynamics.FACTORIZATIONS:
        wanted = free.T.T @ fc.coriolis_matrix(free.model, free.state, name) @ free.T
        agree(f"coriolis_matrix, {name}", fc.coriolis_matrix(model, state, name), wanted)


@law
def test_forces_and_accelerations(model, state, free, rng):
    a, wrenches, written = rng.normal(size=model.nv), some_wrenches(model, rng), str(rng.choice(REPRESENTATIONS))
    wanted = free.T.T @ fc.inverse_dynamics(free.model, free.state, free.T @ a, wrenches, written)
    found = fc.inverse_dynamics(model, state, a, wrenches, written)
    agree("inverse_dynamics", found, wanted)
    agree("gravity_forces", fc.gravity_forces(model, state), free.T.T @ fc.gravity_forces(free.model, free.state))
    tolerance = conditioned(fc.mass_matrix(model, state))
    agree("forward_dynamics", fc.forward_dynamics(model, state, found, wrenches, written), a, tolerance)


@law
def test_links_that_resist_accelerate_as_newton_says(model, state, free, rng):
    """What implicit steps ask: further inertia of links, which gravity pulls, and of joints acts like the wrench
    that accelerating it takes.
    """
    forces, more, link = rng.normal(size=model.nv), rng.uniform(size=model.n), int(rng.integers(len(model.links)))
    X, wrench = rng.normal(size=(6, 6)), rng.normal(size=6)
    found = response(model, state, forces, [(link, wrench)], [(link, X @ X.T)], more)
    name, a = model.link_names[link], found.acceleration
    rate, nu = fc.dynamics.link_acceleration(model, state, a, name), fc.link_twist(model, state, name)
    gravity = fc.link_pose(model, state, name)[:3, :3].T @ model.gravity
    felt = rate + np.concatenate([np.cross(nu[3:], nu[:3]) - gravity, np.zeros(3)])  # of the origin, not what passes it
    tolerance = conditioned(fc.mass_matrix(model, state))
    agree("links", found.links[link], felt, tolerance)
    needed = fc.inverse_dynamics(model, state, a, {name: wrench - X @ X.T @ felt})
    agree("Newton", needed + np.concatenate([np.zeros(model.m), more * a[model.m :]]), forces, tolerance)


@law
def test_forward_dynamics_is_that_of_coupled_joints(model, state, free, rng):
    """The same robot with a constraint for every follower: multipliers instead of fewer coordinates."""
    couples = [
        fc.model.Couple(j.name, j.name, j.mimic.leader, (j.mimic.offset, j.mimic.ratio))
        for j in model.joints
        if j.mimic
    ]
    closed = free.model.close_loops(*couples)
    rows = fc.constraints.equations(closed, free.state)
    agree("the free robot is closed", rows.error, np.zeros(len(couples)))
    agree("and stays so", rows.jacobian @ free.T, np.zeros((len(couples), model.nv)))
    forces = rng.normal(size=free.model.nv)
    wanted = fc.constraints.forward_dynamics(closed, free.state, forces).acceleration
    found = free.T @ fc.forward_dynamics(model, state, free.T.T @ forces)
    tolerance = conditioned(fc.mass_matrix(model, state)) + conditioned(fc.mass_matrix(free.model, free.state))
    agree("forward_dynamics of couples", found, wanted, tolerance)


@law
def test_derivatives_are_pulled_back(model, state, free, rng):
    a, wrenches, written = rng.normal(size=model.nv), some_wrenches(model, rng), str(rng.choice(REPRESENTATIONS))
    found = fc.inverse_dynamics_derivatives(model, state, a, wrenches, written)
    wanted = fc.inverse_dynamics_derivatives(free.model, free.state, free.T @ a, wrenches, written)
    for name, X, Y in zip(found._fields, found, wanted, strict=True):
        agree(f"inverse_dynamics_derivatives, {name}", X, free.T.T @ Y @ free.T)
    M = fc.mass_matrix(model, state)
    forces = fc.inverse_dynamics(model, state, a, wrenches, written)
    forward = fc.forward_dynamics_derivatives(model, state, forces, wrenches, written)
    for name, X, Y in zip(found._fields[:2], forward, found, strict=False):
        agree(f"forward_dynamics_derivatives, {name}", X, -np.linalg.solve(M, Y), 100 * conditioned(M))
    wanted = fc.dynamics.centroidal_dynamics_derivatives(free.model, free.state, free.T @ a)
    for X, Y in zip(fc.dynamics.centroidal_dynamics_derivatives(model, state, a), wanted, strict=True):
        agree("centroidal_dynamics_derivatives", X, Y @ free.T)


@pytest.mark.parametrize("method", [fc.simulation.RKMK4(), fc.simulation.MomentumMidpoint()], ids=lambda m: m.name)
def test_a_flight_keeps_energy_and_momentum(method):
    rng = np.random.default_rng(3)
    model = following(fc.robots.cat(), rng)
    assert 2 <= model.n < fc.robots.cat().n
    state = model.random_state(rng)
    run = fc.simulate(model, state, 0.05, integrator=method, dt=1e-4)
    states = run.state(0), run.state(-1)
    before, after = (fc.kinetic_energy(model, s) + fc.potential_energy(model, s) for s in states)
    assert abs(after - before) <= 1e-8 * fc.kinetic_energy(model, state)
    spins = [fc.momentum(model, s, "centroidal")[3:] for s in states]
    np.testing.assert_allclose(spins[1], spins[0], rtol=0.0, atol=1e-10)


def test_a_run_is_that_of_the_coupled_robot():
    """Springs on the leaders: a run in reduced coordinates beside one of constrained accelerations."""
    rng = np.random.default_rng(4)
    model = following(fc.robots.random_tree(rng, 5, ["revolute"]), rng)
    start = model.random_state(rng)
    run = fc.simulate(model, start, 0.02, laws=fc.control.JointSpring(3.0), dt=1e-3)
    free = freed(model, start)
    couples = [
        fc.model.Couple(j.name, j.name, j.mimic.leader, (j.mimic.offset, j.mimic.ratio))
        for j in model.joints
        if j.mimic
    ]
    closed, at = free.model.close_loops(*couples), free.state
    spread = np.linalg.pinv(free.T).T

    def rate(s):
        q = np.linalg.lstsq(free.T[model.m :, model.m :], s.joints - free_offset, rcond=None)[0]
        forces = spread @ np.concatenate([np.zeros(model.m), -3.0 * q])
        return fc.constraints.forward_dynamics(closed, s, forces).acceleration

    free_offset = free.state.joints - free.T[model.m :, model.m :] @ start.joints
    steps, dt = 200, 1e-4
    for _ in range(steps):  # the midpoint rule
        half = fc.dynamics.displace(closed, at, 0.5 * dt * at.velocity)
        v = at.velocity + 0.5 * dt * rate(at)
        middle = half._replace(twist=v[: model.m], rates=v[model.m :])
        end = fc.dynamics.displace(closed, at, dt * v)
        w = at.velocity + dt * rate(middle)
        at = end._replace(twist=w[: model.m], rates=w[model.m :])
    last = freed(model, run.state(-1)).state
    np.testing.assert_allclose(at.joints, last.joints, atol=1e-5)
    np.testing.assert_allclose(at.pose, last.pose, atol=1e-5)


@law
def test_edits_keep_followers(model, state, free, rng):
    link = some_link(model, rng)
    if isinstance(model.base, SE3):
        other, there = model.reroot(link), fc.dynamics.reroot_state(model, state, link)
        poses, wanted = fc.forward_kinematics(other, there), fc.forward_kinematics(model, state)
        agree("reroot", np.array([poses[name] for name in wanted]), np.array(list(wanted.values())))
        agree("energy after reroot", fc.kinetic_energy(other, there), fc.kinetic_energy(model, state))
    merged = model.merge_fixed()
    agree("merge_fixed", fc.mass_matrix(merged, merged.state(*state)), fc.mass_matrix(model, state))
    held = {name for name in model.joint_names if rng.random() < 0.5}
    places = {name: state.joints[model.q_slices[model.joint_index(name)]] for name in model.joint_names}
    locked = model.lock({name: places[name] for name in held})
    at = locked.state(state.pose, {name: places[name] for name in locked.joint_names}, state.twist)
    kept = [*range(model.m), *(model.m + k for k, name in enumerate(model.rate_joints) if name not in held)]
    agree("lock", fc.mass_matrix(locked, at), fc.mass_matrix(model, state)[np.ix_(kept, kept)])
