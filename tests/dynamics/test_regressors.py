"""Regressors: equal to the recursive algorithms and to Pinocchio; what they identify is a robot that can exist."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.lie import SE2, SE3, SO3, Trivial

pinocchio = pytest.importorskip("pinocchio")


def robots(rng):
    yield fc.robots.revolute_hopper()
    yield fc.robots.cat()
    for base in (SE3(), SE2(), SO3(), Trivial()):
        yield fc.robots.random_tree(rng, 5, base=base)


def test_products_with_parameters_are_the_dynamics():
    rng = np.random.default_rng(0)
    for model in robots(rng):
        state, a, pi = model.random_state(rng), rng.normal(size=model.nv), fc.dynamics.inertial_parameters(model)
        tau = fc.inverse_dynamics(model, state, a)
        tau[model.m :] -= model.armature * a[model.m :]
        assert np.abs(fc.dynamics.inverse_dynamics_regressor(model, state, a) @ pi - tau).max() < 1e-11 * (
            1 + np.abs(tau).max()
        )
        for frame in ("base", "world"):
            h = fc.momentum(model, state, frame)
            assert np.abs(fc.dynamics.momentum_regressor(model, state, frame) @ pi - h).max() < 1e-11 * (
                1 + np.abs(h).max()
            )
        t, u = fc.dynamics.energy_regressors(model, state)
        rotors = 0.5 * state.rates @ (model.armature * state.rates)
        assert abs(t @ pi + rotors - fc.kinetic_energy(model, state)) < 1e-11 * (1 + abs(t @ pi))
        assert abs(u @ pi - fc.potential_energy(model, state)) < 1e-11 * (1 + abs(u @ pi))
        again = fc.dynamics.with_inertial_parameters(model, pi)
        assert np.abs(fc.dynamics.inertial_parameters(again) - pi).max() < 1e-12


def test_pinocchio_has_the_same(tmp_path):
    file = tmp_path / "cat.urdf"
    fc.save(fc.robots.cat(), file)
    peer = pinocchio.buildModelFromUrdf(str(file), pinocchio.JointModelFreeFlyer())
    model, data, rng = fc.load(file), peer.createData(), np.random.default_rng(1)
    state, a = model.random_state(rng), rng.normal(size=model.nv)
    q, v = model.to_pinocchio(state, peer)
    order = [list(peer.names).index(name) for name in model.joint_names]
    rows = [*range(6), *(peer.joints[i].idx_v for i in order)]
    theirs_a = np.zeros(model.nv)
    theirs_a[rows] = a
    Y = pinocchio.computeJointTorqueRegressor(peer, data, q, v, theirs_a)
    merged = model.merge_fixed()
    ours = fc.dynamics.inverse_dynamics_regressor(merged, merged.unflatten(*model.flatten(state)), a)
    columns = np.concatenate([np.arange(10) + 10 * (i - 1) for i in (1, *order)])
    assert np.abs(Y[np.ix_(rows, columns)] - ours).max() < 1e-11 * np.abs(Y).max()
    t, u = fc.dynamics.energy_regressors(merged, merged.unflatten(*model.flatten(state)))
    kinetic = pinocchio.computeKineticEnergyRegressor(peer, data, q, v)
    potential = pinocchio.computePotentialEnergyRegressor(peer, data, q)
    assert np.abs(kinetic[columns] - t).max() < 1e-11 * np.abs(t).max()
    assert np.abs(potential[columns] - u).max() < 1e-11 * np.abs(u).max()


def test_kernels_of_regressors():
    model, rng = fc.robots.revolute_hopper(), np.random.default_rng(2)
    state, a = model.random_state(rng), rng.normal(size=model.nv)
    q, v = model.flatten(state)
    compiled = fc.compile(model, fc.dynamics.inverse_dynamics_regressor)(q, v, a)
    assert np.abs(compiled - fc.dynamics.inverse_dynamics_regressor(model, state, a)).max() < 1e-13
    assert (
        np.abs(
            fc.compile(model, fc.dynamics.momentum_regressor)(q, v) - fc.dynamics.momentum_regressor(model, state)
        ).max()
        < 1e-13
    )


def test_base_parameters_are_enough_and_no_more():
    rng = np.random.default_rng(3)
    for model in (fc.robots.revolute_hopper(), fc.robots.planar_arm(), fc.robots.random_tree(rng, 3, base=SE3())):
        found = fc.dynamics.base_parameters(model)
        Y = np.concatenate(
            [
                fc.dynamics.inverse_dynamics_regressor(model, model.random_state(rng), rng.normal(size=model.nv))
                for _ in range(40)
            ]
        )
        small = Y[:, list(found.columns)]
        assert (
            np.linalg.matrix_rank(small) == len(found.columns) == np.linalg.matrix_rank(Y, tol=1e-8 * np.abs(Y).max())
        )
        assert np.abs(small @ found.P - Y).max() < 1e-9 * np.abs(Y).max()
        pi = fc.dynamics.inertial_parameters(model)
        assert np.abs(small @ (found.P @ pi) - Y @ pi).max() < 1e-9 * (1 + np.abs(Y @ pi).max())
    exact = fc.symbolic.base_parameters(fc.robots.revolute_hopper())
    assert len(exact) == len(fc.dynamics.base_parameters(fc.robots.revolute_hopper()).columns)
    floating = fc.dynamics.base_parameters(fc.robots.revolute_hopper(), fc.dynamics.momentum_regressor)
    assert "m_0 + m_1" in floating.names


def test_a_trajectory_identifies_what_can_be_seen():
    model, rng = fc.robots.planar_arm(), np.random.default_rng(4)
    states, a = [model.random_state(rng) for _ in range(60)], rng.normal(size=(60, model.nv))
    Y = np.concatenate([fc.dynamics.inverse_dynamics_regressor(model, s, x) for s, x in zip(states, a, strict=True)])
    pi = fc.dynamics.inertial_parameters(model)
    noisy = Y @ pi + 0.01 * rng.normal(size=len(Y))
    wrong = fc.dynamics.with_inertial_parameters(model, pi * rng.uniform(0.6, 1.4, size=len(model.links)).repeat(10))
    found = fc.identify(wrong, Y, noisy)
    base = fc.dynamics.base_parameters(model)
    assert np.abs(base.P @ (found.parameters - pi)).max() < 0.02 * np.abs(base.P @ pi).max()
    assert found.residual < 0.011
    for link in found.model.links:
        assert not link.body.problems()


@pytest.mark.parametrize(("prior", "most"), [(1e-3, 20), (1e-6, 25), (1e-9, 25)])
def test_the_search_ends_where_nothing_is_gained(prior, most):
    """Along what motions do not show, a curved valley: straight steps took 190 iterations, and thousands."""
    model, rng = fc.robots.planar_arm(), np.random.default_rng(0)
    states, a = [model.random_state(rng) for _ in range(20)], rng.normal(size=(20, model.nv))
    Y = np.concatenate([fc.dynamics.inverse_dynamics_regressor(model, s, x) for s, x in zip(states, a, strict=True)])
    guess = model.replace_body("link3", fc.Body(2.0, [0.0, 0.0, 0.4], 0.1 * np.eye(3)))
    found = fc.identify(guess, Y, Y @ fc.dynamics.inertial_parameters(model), prior)
    assert found.converged
    assert found.iterations <= most
    assert found.residual < prior  # of forces of size 30
    assert not fc.identify(guess, Y, Y @ fc.dynamics.inertial_parameters(model), prior, iterations=2).converged


def test_what_is_refused():
    model = fc.robots.planar_arm()
    pi = fc.dynamics.inertial_parameters(model)
    with pytest.raises(fc.ModelError, match="frame is one of base, world"):
        fc.dynamics.momentum_regressor(model, model.neutral(), "centroidal")
    with pytest.raises(fc.ModelError, match="parameters must have shape"):
        fc.dynamics.with_inertial_parameters(model, pi[:-1])
    with pytest.raises(fc.ModelError, match="mass of link 'post'"):
        fc.dynamics.with_inertial_parameters(model, -pi)
    with pytest.raises(fc.ModelError, match="forces must have shape"):
        fc.identify(model, np.zeros((3, len(pi))), np.zeros(4))
    impossible = model.replace_body("link1", fc.Body(1.0, np.zeros(3), np.diag([1.0, 1.0, 3.0])))
    with pytest.raises(fc.ModelError, match="cannot exist"):
        fc.identify(impossible, np.zeros((3, len(pi))), np.zeros(3))
