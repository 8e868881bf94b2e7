"""Identification: the minimum of a convex problem, with the deviations that noise brings about."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.dynamics import identification
from fallingcat.lie import SE3, Trivial

ARM = fc.robots.random_tree(np.random.default_rng(3), 4, ["revolute"], Trivial(), fixed=0.0)


def measured(model, samples=60, seed=0):
    """Regressors (samples x nv x parameters) of states and accelerations."""
    rng = np.random.default_rng(seed)
    states, a = model.random_state(rng, samples), rng.normal(size=(samples, model.nv))
    Y = np.array([fc.dynamics.inverse_dynamics_regressor(model, states.at(i), a[i]) for i in range(samples)])
    return states, a, Y


def guess(model, seed=1):
    factors = np.random.default_rng(seed).uniform(0.6, 1.4, size=len(model.links))
    return fc.dynamics.with_inertial_parameters(model, fc.dynamics.inertial_parameters(model) * factors.repeat(10))


@pytest.mark.parametrize(
    "model", [ARM, fc.robots.cat(), fc.robots.random_tree(np.random.default_rng(1), 6, base=SE3())]
)
def test_base_parameters_are_those_of_least_squares(model):
    _, _, Y = measured(model)
    tau = Y @ fc.dynamics.inertial_parameters(model)
    tau = tau + 1e-6 * np.random.default_rng(2).normal(size=tau.shape)
    found = fc.identify(guess(model), Y, tau, prior=1e-9)
    flat = Y.reshape(-1, Y.shape[-1])
    least = np.linalg.lstsq(flat[:, list(found.base.columns)], tau.ravel(), rcond=None)[0]
    np.testing.assert_allclose(found.base.P @ found.parameters, least, atol=1e-6 * np.abs(least).max())
    assert found.converged
    assert len(found.base.columns) == len(fc.dynamics.base_parameters(model).columns)


def test_shapes_of_samples_and_of_rows_are_the_same():
    _, _, Y = measured(ARM, 20)
    tau = Y @ fc.dynamics.inertial_parameters(ARM)
    flat = fc.identify(guess(ARM), Y.reshape(-1, Y.shape[-1]), tau.ravel())
    np.testing.assert_array_equal(fc.identify(guess(ARM), Y, tau).parameters, flat.parameters)


def objective(model, Y, tau, prior, pi):
    """``|Y pi - tau|^2 / 2 + (prior |tau|)^2 D``, in plain words."""
    total = 0.5 * np.sum((Y @ pi - tau) ** 2)  # with a prior that outweighs the noise
    for one, other in zip(fc.dynamics.with_inertial_parameters(model, pi).links, model.links, strict=True):
        P, P0 = (pseudo_inertia(link.body) for link in (one, other))
        ratio = np.linalg.solve(P0, P)
        total += (prior * np.linalg.norm(tau)) ** 2 * (np.trace(ratio) - np.linalg.slogdet(ratio)[1])
    return total


def pseudo_inertia(body):
    h = body.first_moment[:, None]
    return np.block([[body.second_moment, h], [h.T, np.array([[body.mass]])]])


@pytest.mark.parametrize("noise", [0.01, 10.0])
def test_it_is_the_least_of_all_bodies_that_exist(noise):
    """Noise as large as the forces moves what is best to the boundary of bodies that exist."""
    _, _, Y = measured(ARM, 30)
    start, pi = guess(ARM), fc.dynamics.inertial_parameters(ARM)
    tau = Y @ pi + noise * np.random.default_rng(2).normal(size=Y.shape[:2])
    found, rng = fc.identify(start, Y, tau, prior=1e-2), np.random.default_rng(3)
    assert found.converged
    assert not any(link.body.problems() for link in found.model.links)
    least = objective(start, Y, tau, 1e-2, found.parameters)
    for size in (1e-1, 1e-2, 1e-3):
        for _ in range(20):
            nearby = found.parameters * (1.0 + size * rng.uniform(-1.0, 1.0, size=len(ARM.links)).repeat(10))
            assert objective(start, Y, tau, 1e-2, nearby) >= least


@pytest.mark.parametrize(("noise", "most"), [(0.0, 20), (0.01, 20), (1.0, 60), (100.0, 400)])
def test_steps_are_few(noise, most):
    model = fc.robots.random_tree(np.random.default_rng(1), 6)
    _, _, Y = measured(model, 100)
    tau = Y @ fc.dynamics.inertial_parameters(model) + noise * np.random.default_rng(2).normal(size=Y.shape[:2])
    found = fc.identify(guess(model), Y, tau)
    assert found.converged
    assert found.iterations <= most


def test_steps_do_not_grow_with_samples(monkeypatch):
    """2,400 rows took 220 s: each step works on as many rows as there are columns."""
    seen, least = [], identification._minimum
    monkeypatch.setattr(identification, "_minimum", lambda A, *more: (seen.append(A.shape), least(A, *more))[1])
    for samples in (20, 60):
        _, _, Y = measured(ARM, samples)
        fc.identify(ARM, Y, Y @ fc.dynamics.inertial_parameters(ARM))
    assert seen[0] == seen[1]
    assert seen[0][0] <= seen[0][1] + 1


def test_deviations_are_those_of_repeated_measurements():
    _, _, Y = measured(ARM, 40)
    exact, rng = Y @ fc.dynamics.inertial_parameters(ARM), np.random.default_rng(5)
    noisy = [exact + 0.02 * rng.normal(size=exact.shape) for _ in range(60)]
    found = [fc.identify(ARM, Y, tau, prior=1e-8) for tau in noisy]
    spread = np.std([one.base.P @ one.parameters for one in found], axis=0)
    claimed = np.mean([one.base_deviations for one in found], axis=0)
    np.testing.assert_allclose(spread, claimed, rtol=0.4)
    shown = found[0].identifiable
    np.testing.assert_allclose(
        np.std([one.parameters for one in found], axis=0)[shown], found[0].deviations[shown], rtol=0.45
    )
    assert np.isinf(found[0].deviations[~shown]).all()


def test_what_is_identifiable_alone_does_not_depend_on_the_guess():
    arm = fc.robots.planar_arm()
    _, _, Y = measured(arm)
    tau = Y @ fc.dynamics.inertial_parameters(arm)
    one, other = (fc.identify(guess(arm, seed), Y, tau, prior=1e-7) for seed in (1, 2))
    assert 3 < one.identifiable.sum() < len(one.names)
    shown, scale = one.identifiable, np.abs(one.parameters).max()
    np.testing.assert_allclose(one.parameters[shown], other.parameters[shown], atol=1e-6 * scale)
    assert np.abs(one.parameters - other.parameters)[~shown].max() > 1e-2 * scale


def with_joints(model, **values):
    from dataclasses import replace

    joints = []
    for joint in model.joints:
        passive = replace(joint.passive, damping=values["damping"], friction=values["friction"])
        joints.append(replace(joint, passive=passive, armature=values["armature"]))
    return replace(model, joints=tuple(joints))


def test_friction_and_rotors_are_found():
    true = with_joints(ARM, damping=0.3, friction=0.7, armature=0.05)
    states, a, Y = measured(ARM)
    Z = np.array([fc.dynamics.joint_regressor(ARM, states.at(i), a[i]) for i in range(len(a))])
    tau = np.array([fc.inverse_dynamics(true, states.at(i), a[i]) for i in range(len(a))])
    tau = tau + 0.3 * states.rates + 0.7 * np.sign(states.rates)
    found = fc.identify(guess(ARM), Y, tau, joints=Z)
    assert found.residual < 1e-5
    for joint in found.model.joints:
        np.testing.assert_allclose([joint.passive.damping, joint.passive.friction], [0.3, 0.7], rtol=1e-3)
    assert "damping joint1" in found.names or any(name.startswith("damping ") for name in found.names)
    shown = dict(zip(found.names, found.identifiable, strict=True))
    assert all(shown[name] for name in found.names if name.startswith(("damping", "friction")))


def test_friction_is_never_negative():
    states, a, Y = measured(ARM, 20)
    Z = np.array([fc.dynamics.joint_regressor(ARM, states.at(i), a[i], terms=["damping"]) for i in range(len(a))])
    tau = Y @ fc.dynamics.inertial_parameters(ARM) - 0.5 * states.rates
    found = fc.identify(ARM, Y, tau, joints=Z, terms=["damping"])
    assert (found.joint_parameters > 0.0).all()
    assert found.joint_parameters.max() < 0.1


def test_motor_constants_are_found_by_a_known_load():
    """Currents alone say nothing of scale: half of the motion is repeated with a load that is known."""
    states, a, Y = measured(ARM, 60)
    last, load = ARM.link_names[-1], fc.Body(2.0, [0.1, 0.0, 0.2], 0.02 * np.eye(3))
    constants, pi = np.array([0.5, 2.0, 1.5, 0.8]), fc.dynamics.inertial_parameters(ARM)
    carried = np.zeros_like(pi)
    carried[-10:] = fc.dynamics.inertial_parameters(fc.Model("load", SE3(), (fc.Link(last, load),)))
    known = np.where(np.arange(60)[:, None] < 30, Y @ carried, 0.0)
    currents = (Y @ pi + known) / constants
    terms = ["motor"]
    Z = np.array([fc.dynamics.joint_regressor(ARM, states.at(i), a[i], currents[i], terms=terms) for i in range(60)])
    found = fc.identify(guess(ARM), Y, -known, prior=1e-9, joints=Z, terms=terms)
    np.testing.assert_allclose(found.joint_parameters, constants, rtol=1e-5)


def test_links_without_mass_stay_so():
    bare = ARM.replace_body(ARM.link_names[0], fc.Body())
    _, _, Y = measured(bare)
    found = fc.identify(bare, Y, Y @ fc.dynamics.inertial_parameters(bare))
    assert found.model.links[0].body.mass == 0.0
    assert found.residual < 1e-6


def test_compiled_regressors_are_taken_as_they_are():
    states, a, Y = measured(ARM, 5)
    np.testing.assert_allclose(fc.compile(ARM, fc.dynamics.inverse_dynamics_regressor)(states, a), Y, atol=1e-10)
    Z = fc.compile(ARM, fc.dynamics.joint_regressor)(states, a)
    np.testing.assert_allclose(Z, [fc.dynamics.joint_regressor(ARM, states.at(i), a[i]) for i in range(5)], atol=1e-12)


def test_what_is_refused():
    _, _, Y = measured(ARM, 5)
    with pytest.raises(fc.ModelError, match=r"regressor must have shape \(rows, 50\) or \(samples, rows, 50\)"):
        fc.identify(ARM, Y[..., :-1], np.zeros((5, 4)))
    with pytest.raises(fc.ModelError, match="forces must have shape"):
        fc.identify(ARM, Y, np.zeros(3))
    with pytest.raises(fc.ModelError, match="needs currents"):
        fc.dynamics.joint_regressor(ARM, ARM.neutral(), np.zeros(4), terms=["motor"])
    with pytest.raises(fc.ModelError, match="term is one of damping"):
        fc.dynamics.joint_regressor(ARM, ARM.neutral(), np.zeros(4), terms=["stiction"])
    with pytest.raises(fc.ModelError, match="joints has 4 rows, and the regressor 20"):
        fc.identify(ARM, Y, np.zeros((5, 4)), joints=np.zeros((4, 12)))
