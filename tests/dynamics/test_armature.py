"""Rotors: what they add, where they add nothing, what is refused; the laws on random robots have them too."""

from dataclasses import replace

import numpy as np
import pytest
from random_robots import driven

import fallingcat as fc
from fallingcat.lie import SE3
from fallingcat.model.joints import Fixed, Free, Planar, Revolute, Spherical, Universal

EQUAL = {"rtol": 1e-13, "atol": 1e-13}
ALONE = (fc.bias_forces, fc.gravity_forces, fc.coriolis_matrix, fc.mass_matrix_derivative, fc.potential_energy)
ALONE += (fc.momentum, fc.centroidal_momentum_matrix, fc.dynamics.locked_inertia, fc.connection, fc.curvature)


def with_armature(model, armature):
    return replace(model, joints=tuple(replace(joint, armature=armature) for joint in model.joints))


@pytest.fixture(scope="module")
def cats():
    """A cat, the same with rotors, the rotors (n), a state and an acceleration."""
    plain, rng = fc.robots.cat(), np.random.default_rng(0)
    model = driven(plain, rng)
    return plain, model, model.armature, plain.random_state(rng), rng.normal(size=plain.nv)


def test_a_rotor_adds_to_the_diagonal_the_forces_and_the_energy(cats):
    plain, model, a, state, acceleration = cats
    added = np.diag([0.0] * 6 + a.tolist())
    np.testing.assert_allclose(fc.mass_matrix(model, state), fc.mass_matrix(plain, state) + added, **EQUAL)
    forces = fc.inverse_dynamics(plain, state, acceleration) + added @ acceleration
    np.testing.assert_allclose(fc.inverse_dynamics(model, state, acceleration), forces, **EQUAL)
    energy = fc.kinetic_energy(plain, state) + 0.5 * state.rates @ (a * state.rates)
    np.testing.assert_allclose(fc.kinetic_energy(model, state), energy, **EQUAL)


@pytest.mark.parametrize("function", ALONE, ids=lambda f: f.__name__)
def test_a_rotor_adds_nothing_to_momentum_weight_and_coriolis_forces(cats, function):
    plain, model, _, state, _ = cats
    np.testing.assert_array_equal(function(model, state), function(plain, state))


def test_reduced_equations_have_rotors_in_the_shape_inertia_alone(cats):
    plain, model, a, state, _ = cats
    with_, without = fc.reduced_equations(model, state), fc.reduced_equations(plain, state)
    np.testing.assert_allclose(with_.Lq, without.Lq + np.diag(a), **EQUAL)
    for name in ("Mb", "A", "mu", "P", "S", "Gamma", "B", "D_q", "D_mu", "g"):
        np.testing.assert_array_equal(getattr(with_, name), getattr(without, name), err_msg=name)


def test_a_compiled_function_knows_the_rotors(cats):
    plain, model, _, state, _ = cats
    for robot in (plain, model, with_armature(plain, 1.0)):  # each its own kernel, in the cache too
        M = fc.compile(robot, fc.mass_matrix)(*robot.flatten(state))
        np.testing.assert_allclose(M, fc.mass_matrix(robot, state), rtol=1e-12, atol=1e-12)


def test_a_massless_link_moves_if_its_rotor_has_inertia():
    body = fc.Body(1.0, [0.0, 0.0, 0.1], np.diag([0.1, 0.1, 0.1]))
    links = (fc.Link("trunk", body), fc.Link("pointer"))
    joint = fc.Joint("dial", Revolute(), "trunk", "pointer", armature=0.5)
    model = fc.Model("dial", SE3(), links, (joint,))
    state, forces = model.neutral(), np.array([0.0] * 6 + [2.0])
    assert fc.forward_dynamics(model, state, forces)[6] == 4.0
    with pytest.raises(fc.ModelError, match=r"kinematic model.*'pointer'"):
        fc.forward_dynamics(with_armature(model, 0.0), state, forces)


@pytest.mark.parametrize("method", [fc.simulation.RKMK4(), fc.simulation.MomentumMidpoint()], ids=lambda m: m.name)
def test_a_flight_with_rotors_keeps_energy_and_momentum(cats, method):
    _, model, _, state, _ = cats
    run = fc.simulate(model, state, 0.05, integrator=method, dt=1e-4, passive=False)
    states = run.state(0), run.state(-1)
    before, after = (fc.kinetic_energy(model, s) + fc.potential_energy(model, s) for s in states)
    assert abs(after - before) <= 1e-8 * fc.kinetic_energy(model, state)
    spins = [fc.momentum(model, s, "centroidal")[3:] for s in states]
    np.testing.assert_allclose(spins[1], spins[0], rtol=0.0, atol=1e-10)


def test_another_base_link_and_welds_keep_or_drop_the_rotor():
    plain = fc.robots.cat()
    model = with_armature(plain, 0.25)
    assert model.reroot(model.link_names[-1]).armature.tolist() == [0.25] * model.n
    locked = model.lock(model.joint_names[:1])
    assert locked.armature.tolist() == [0.25] * (model.n - 1)
    assert replace(plain.joints[0], kind=Fixed()).armature.shape == (0,)


@pytest.mark.parametrize(
    ("kind", "armature"),
    [
        (Revolute(), -1e-9),
        (Revolute(), np.nan),
        (Revolute(), np.inf),
        (Revolute(), [0.1, 0.1]),
        (Revolute(), "heavy"),
        (Spherical(), [1.0, 1.0, 1.001]),
        (Spherical(), [0.0, 0.0, 1.0]),
        (Planar(), 1.0),
        (Free(), [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]),
    ],
)
def test_what_is_refused(kind, armature):
    with pytest.raises(fc.ModelError, match="armature of joint 'knee'"):
        fc.Joint("knee", kind, "thigh", "shank", armature=armature)


@pytest.mark.parametrize(
    ("kind", "armature", "rates"),
    [
        (Revolute(), 0.1, [0.1]),
        (Fixed(), 0.1, []),
        (Spherical(), 2.0, [2.0] * 3),
        (Universal(), [1.0, 2.0], [1.0, 2.0]),
        (Planar(), [0.0, 0.0, 3.0], [0.0, 0.0, 3.0]),
        (Free(), [0.0] * 3 + [4.0] * 3, [0.0] * 3 + [4.0] * 3),
    ],
)
def test_what_is_taken(kind, armature, rates):
    assert fc.Joint("knee", kind, "thigh", "shank", armature=armature).armature.tolist() == rates
