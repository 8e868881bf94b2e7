"""Predictive control of contact forces: equations of motion, limits, optimality by another solver."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from fallingcat.errors import ModelError, NumericsError
from fallingcat.lie import SO3
from fallingcat.locomotion import RigidBodyMPC, trot

FEET = np.array([[x, y, 0.0] for x in (0.2, -0.2) for y in (0.15, -0.15)])
INERTIA = np.diag([0.2, 0.6, 0.7])


def problem(horizon=4, seed=0, **options):
    rng = np.random.default_rng(seed)
    mpc = RigidBodyMPC(18.0, INERTIA, dt=0.05, horizon=horizon, **options)
    state = 0.05 * rng.normal(size=12)
    state[5] += 0.3
    wanted = np.zeros((horizon, 12))
    wanted[:, 3], wanted[:, 5], wanted[:, 9] = 0.05 * 0.5 * np.arange(1, horizon + 1), 0.3, 0.5
    gait = trot(0.2)
    contacts = np.array([gait.contacts(0.05 * k) for k in range(horizon)])
    return mpc, state, wanted, np.tile(FEET, (horizon, 1, 1)), contacts


def integrated(mpc, state, wanted, feet, forces):
    """States by the equations of motion, period by period."""
    theta, p, omega, v = np.split(state.copy(), 4)
    states = []
    for k in range(mpc.horizon):
        R = SO3().exp(wanted[k, :3])[:3, :3]
        torque = np.cross(feet[k] - wanted[k, 3:6], forces[k]).sum(axis=0)
        alpha, a = np.linalg.solve(R @ mpc.inertia @ R.T, torque), forces[k].sum(axis=0) / mpc.mass
        a = a - [0.0, 0.0, mpc.gravity]
        theta, p = theta + mpc.dt * omega + 0.5 * mpc.dt**2 * alpha, p + mpc.dt * v + 0.5 * mpc.dt**2 * a
        omega, v = omega + mpc.dt * alpha, v + mpc.dt * a
        states.append(np.concatenate([theta, p, omega, v]))
    return np.array(states)


def cost(mpc, wanted, states, forces):
    return float((np.array(mpc.weights) * (states - wanted) ** 2).sum() + mpc.effort * (forces**2).sum())


@pytest.mark.parametrize("friction", [0.6, 0.1])
def test_forces_give_the_predicted_motion_within_their_limits(friction):
    mpc, state, wanted, feet, contacts = problem(friction=friction, most=120.0)
    found = mpc.solve(state, wanted, feet, contacts)
    assert_allclose(found.states, integrated(mpc, state, wanted, feet, found.forces), atol=1e-12)
    assert_allclose(found.forces[contacts == 0.0], 0.0)
    up, across = found.forces[..., 2], np.linalg.norm(found.forces[..., :2], axis=-1)
    assert (across <= friction * up + 1e-6).all()
    assert up.max() <= 120.0 + 1e-6
    assert found.optimality < 1e-8


def test_no_other_forces_cost_less():
    """SLSQP, which knows nothing of the condensed matrices, finds the same forces."""
    mpc, state, wanted, feet, contacts = problem(horizon=2, friction=0.3, effort=1e-4)
    found = mpc.solve(state, wanted, feet, contacts)
    stands, mu = contacts > 0.5, mpc.friction / np.sqrt(2.0)

    def forces_of(x):
        forces = np.zeros((2, 4, 3))
        forces[stands] = 100.0 * x.reshape(-1, 3)
        return forces

    def objective(x):
        forces = forces_of(x)
        return cost(mpc, wanted, integrated(mpc, state, wanted, feet, forces), forces)

    def room(x):
        f = x.reshape(-1, 3)
        return np.concatenate([mu * f[:, 2] + side * f[:, axis] for axis in (0, 1) for side in (1.0, -1.0)])

    start = np.tile([0.0, 0.0, 0.9], int(stands.sum()))
    other = minimize(
        objective, start, constraints={"type": "ineq", "fun": room}, options={"maxiter": 500, "ftol": 1e-14}
    )
    best = cost(mpc, wanted, found.states, found.forces)
    assert best <= other.fun * (1.0 + 1e-7)
    assert_allclose(forces_of(other.x), found.forces, atol=0.5)  # N


def test_without_contact_it_falls():
    mpc, state, wanted, feet, contacts = problem()
    found = mpc.solve(state, wanted, feet, 0.0 * contacts)
    assert_allclose(found.states[-1, 11], state[11] - mpc.gravity * 0.2)
    assert_allclose(found.forces, 0.0)


def test_bad_input_is_named():
    mpc, state, wanted, feet, contacts = problem()
    with pytest.raises(NumericsError, match="state must be finite"):
        mpc.solve(np.full(12, np.nan), wanted, feet, contacts)
    with pytest.raises(ModelError, match=r"reference must have shape \(4, 12\), got \(3, 12\)"):
        mpc.solve(state, wanted[:3], feet, contacts)
    with pytest.raises(ModelError, match=r"contacts must have shape \(4, feet\), got \(4,\)"):
        mpc.solve(state, wanted, feet, np.ones(4))
    with pytest.raises(ModelError, match="inertia must be a positive definite 3 x 3 matrix"):
        RigidBodyMPC(18.0, -INERTIA)
    with pytest.raises(ModelError, match="contacts must be 0 or 1"):
        mpc.solve(state, wanted, feet, np.full(contacts.shape, np.nan))
    for wrong in (INERTIA + np.eye(3, k=1), "heavy"):
        with pytest.raises(ModelError, match="inertia must be a positive definite 3 x 3 matrix"):
            RigidBodyMPC(18.0, wrong)
    with pytest.raises(ModelError, match="horizon must be a positive number of periods"):
        RigidBodyMPC(18.0, INERTIA, horizon=0)
