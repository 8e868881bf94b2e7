"""The least torques that turn a satellite, beside CasADi and IPOPT in a transcription of their own."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import fallingcat as fc

EXAMPLE = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "gallery" / "optimal_turn.py"))
T, N, WANTED, REACH = (EXAMPLE[name] for name in ("T", "N", "WANTED", "REACH"))


def transcribed(model):
    """Forces (N x n) of multiple shooting with quaternions, by IPOPT."""
    casadi = pytest.importorskip("casadi")
    f = fc.simulation.step(model, dt=T / N, target="casadi")
    problem = casadi.Opti()
    Q, V, U = (problem.variable(size, count) for size, count in ((model.nq, N + 1), (model.nv, N + 1), (model.n, N)))
    for k in range(N):
        q, v = f(Q[:, k], V[:, k], U[:, k])
        problem.subject_to(Q[:, k + 1] == q)
        problem.subject_to(V[:, k + 1] == v)
    start = model.flatten(model.state(joints=[0.5, 1.0]))[0]
    problem.subject_to(Q[:, 0] == start)
    problem.subject_to(V[:, 0] == 0)
    problem.subject_to(Q[5, N] == np.sin(0.5 * WANTED))  # z of the quaternion
    problem.subject_to(Q[7:, N] == start[7:])
    problem.subject_to(V[model.m :, N] == 0)
    problem.subject_to(problem.bounded(-REACH, casadi.vec(Q[7:, :]), REACH))
    problem.minimize(casadi.sumsqr(U) * T / N)
    way = 2.0 * np.pi * np.arange(N + 1) / N
    problem.set_initial(Q[7:, :], start[7:, None] + np.stack([np.cos(way) - 1.0, -np.sin(way)]))
    angle = WANTED * np.arange(N + 1) / N
    problem.set_initial(Q[5:7, :], np.stack([np.sin(0.5 * angle), np.cos(0.5 * angle)]))
    quiet = {"print_level": 0, "sb": "yes", "tol": 1e-6, "hessian_approximation": "limited-memory"}
    problem.solver("ipopt", {"print_time": False}, quiet)
    found = problem.solve()
    return found.value(U).T


def test_the_optimum_of_a_satellite_is_that_of_ipopt():
    model = EXAMPLE["satellite"]()
    problem, guess = EXAMPLE["turn"](model)
    found = fc.optimal.solve(problem, states=guess, iterations=500)
    assert found.converged
    assert all(check.passed for check in found.certify())
    forces = transcribed(model)
    assert found.cost == pytest.approx((forces**2).sum() * T / N, rel=1e-6)
    np.testing.assert_allclose(found.forces, forces, atol=1e-4)  # N m, of 1.2
    assert np.arcsin(found.states.pose[-1, 1, 0]) == pytest.approx(WANTED, abs=1e-6)
    assert np.abs(found.states.joints).max() == pytest.approx(REACH, abs=1e-6)
