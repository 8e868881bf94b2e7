"""Integrators: their measured order, and what they keep."""

from dataclasses import replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.errors import ModelError
from fallingcat.simulation import (
    RKMK4,
    Event,
    MomentumMidpoint,
    MomentumRungeKutta,
    Rosenbrock,
    SciPy,
    SemiImplicitEuler,
    Trajectory,
    simulate,
)
from fallingcat.testing import check_integrator
from fallingcat.testing.integrators import ShakingTorques


@pytest.fixture(scope="module")
def cat():
    return replace(fc.robots.two_cylinder_cat(), gravity=np.zeros(3))


@pytest.fixture(scope="module")
def tumbling(cat):
    return cat.state(joints=[0.4, 0.3], twist=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6], rates=[1.0, -0.5])


@pytest.fixture(scope="module")
def reference(cat, tumbling):
    return simulate(cat, tumbling, 0.4, integrator="rkmk4", dt=1e-3).state(-1)


def error(state, reference):
    return max(np.abs(state.pose - reference.pose).max(), np.abs(state.joints - reference.joints).max())


FIXED = [MomentumMidpoint(), MomentumRungeKutta(), RKMK4(), SemiImplicitEuler(), Rosenbrock(tolerance=None)]


@pytest.mark.parametrize("method", [*FIXED[:4], Rosenbrock(tolerance=1e-5)], ids=lambda method: type(method).__name__)
def test_laws_of_integrators(method):
    """Those that a user's own are held to: order, energy, momentum, books, compiled and plain, all joints."""
    assert check_integrator(method).passed


def test_the_slope_of_plain_steps_is_the_order(cat, tumbling, reference):
    for method in FIXED:
        runs = [simulate(cat, tumbling, 0.4, lambda t, s: np.zeros(2), integrator=method, dt=dt) for dt in (0.02, 0.01)]
        coarse, fine = (error(run.state(-1), reference) for run in runs)
        assert np.log2(coarse / fine) == pytest.approx(method.order, abs=0.2), method.name


def test_compiled_and_plain_steps_of_scipy_agree(cat, tumbling):
    law = ShakingTorques()
    plain = lambda t, s: law.forces(cat, t, s, frozenset())[cat.m :]  # noqa: E731
    a, b = (simulate(cat, tumbling, 0.05, force, integrator=SciPy(), dt=0.01) for force in (law, plain))
    np.testing.assert_allclose(a.poses, b.poses, atol=1e-12)
    np.testing.assert_allclose(a.rates, b.rates, atol=1e-12)
    np.testing.assert_allclose(a.ledger.joints, b.ledger.joints, atol=1e-10)


@pytest.mark.parametrize("method", ["DOP853", "RK45", "Radau", "LSODA"])
def test_scipy_moves_on_the_group(method, cat, tumbling, reference):
    run = simulate(cat, tumbling, 0.4, integrator=SciPy(method, rtol=1e-9, atol=1e-11), dt=0.05)
    assert error(run.state(-1), reference) < 1e-6
    R = run.poses[:, :3, :3]
    np.testing.assert_allclose(R @ R.transpose(0, 2, 1), np.broadcast_to(np.eye(3), R.shape), atol=1e-13)


def test_the_tolerance_is_met_and_pays(cat, tumbling, reference):
    errors, steps = [], []
    for tolerance in (1e-5, 1e-7, 1e-9):
        run = simulate(cat, tumbling, 0.4, integrator=Rosenbrock(tolerance))
        errors.append(error(run.state(-1), reference))
        steps.append(len(run))
    assert errors[2] < 1e-8
    assert errors[0] > errors[1] > errors[2]
    assert steps[0] < steps[1] < steps[2] < 200


def test_a_tolerance_that_cannot_be_met_stops(cat, tumbling):
    rough = lambda t, s: np.full(2, 1e8 * np.sin(1e9 * t))  # noqa: E731
    run = simulate(cat, tumbling, 0.1, rough, integrator=Rosenbrock(1e-16))
    assert "tolerance" in run.status
    assert len(run) >= 1


@pytest.mark.parametrize("gravity", [(0.0, 0.0, 0.0), (0.0, 0.0, -9.81), (1.0, -2.0, 3.0)])
def test_momentum_is_exact(gravity, cat, tumbling):
    model = replace(cat, gravity=np.array(gravity))
    run = simulate(model, tumbling, 0.3, dt=0.01)
    assert run.integrator == "momentum"
    h, c = run.momenta(), np.array([fc.center_of_mass(model, s) for s in run.states])
    g, m = model.gravity, model.mass
    linear = h[0, :3] + m * g * run.times[:, None]
    np.testing.assert_allclose(h[:, :3], linear, rtol=0, atol=2e-13)
    spin = h[:, 3:] - np.cross(c, h[:, :3])  # about the center of mass: gravity has no say
    np.testing.assert_allclose(spin, np.broadcast_to(spin[0], spin.shape), rtol=0, atol=2e-12)


def test_energy_has_no_trend(cat, tumbling):
    run = simulate(cat, tumbling, 4.0, dt=0.01, every=5, integrator=MomentumMidpoint())
    energy = run.energies()[0]
    drift = np.polyfit(run.times, energy - energy[0], 1)[0] * run.times[-1]
    swing = np.ptp(energy)
    assert swing < 2e-4 * energy[0]
    assert abs(drift) < 0.2 * swing + 1e-12


def test_the_midpoint_rule_is_symplectic(cat):
    """In body-fixed spin, shape and shape momentum a step keeps the Lie-Poisson bracket: ``DF B(z) DF' = B(F(z))``."""

    def step(z):
        still = cat.state(joints=z[3:5])
        v = np.linalg.solve(fc.mass_matrix(cat, still), np.concatenate([np.zeros(3), z[:3], z[5:]]))
        start = still._replace(twist=v[:6], rates=v[6:])
        end = simulate(cat, start, 0.05, dt=0.05, integrator=MomentumMidpoint()).state(-1)
        p = (fc.mass_matrix(cat, end) @ end.velocity)[6:]
        return np.concatenate([end.pose[:3, :3].T @ z[:3], end.joints, p])

    def bracket(z):
        B = np.zeros((7, 7))
        B[:3, :3] = fc.lie.rotations.skew(z[:3])
        B[3:5, 5:], B[5:, 3:5] = np.eye(2), -np.eye(2)
        return B

    z = np.array([0.02, 0.05, -0.03, 0.5, -0.4, 0.03, 0.02])
    h = 1e-6 * np.eye(7)
    D = np.array([(step(z + d) - step(z - d)) / 2e-6 for d in h]).T
    np.testing.assert_allclose(D @ bracket(z) @ D.T, bracket(step(z)), atol=3e-8)


def test_joint_work_is_energy(cat, tumbling):
    run = simulate(cat, tumbling, 0.5, lambda t, s: np.array([0.3 * np.sin(9 * t), -0.2]), dt=1e-3, integrator="rkmk4")
    energy = run.energies()[0]
    np.testing.assert_allclose(run.joint_work(), energy - energy[0], atol=1e-9)
    h = run.momenta()
    np.testing.assert_allclose(h, np.broadcast_to(h[0], h.shape), atol=1e-10)


def test_every_joint_kind_and_base_flies():
    rng = np.random.default_rng(5)
    for base in (fc.lie.SE3(), fc.lie.SE2(), fc.lie.SO3(), fc.lie.Trivial()):
        model = fc.robots.random_tree(rng, 4, base=base, kinds=["spherical", "revolute", "planar", "universal"])
        state = model.random_state(rng)
        coarse, fine = (simulate(model, state, 0.02, integrator="rkmk4", dt=dt) for dt in (4e-3, 2e-3))
        energy = [sum(e[-1] for e in run.energies()) for run in (coarse, fine)]
        start = sum(e[0] for e in fine.energies())
        scale = max(1.0, abs(start))
        assert abs(energy[1] - start) < max(abs(energy[0] - start) / 8, 1e-9 * scale)
        assert model.base.contains(fine.poses[-1])


def test_a_ball_falls_to_the_floor_in_time():
    ball = fc.robots.free_body()
    start = np.eye(4)
    start[2, 3] = 1.5
    floor = Event("floor", lambda t, s: s.pose[2, 3], direction=-1, terminal=True)
    run = simulate(ball, ball.state(pose=start), 2.0, dt=0.01, events=[floor])
    assert run.events[0].name == "floor"
    assert run.times[-1] == pytest.approx(np.sqrt(2 * 1.5 / 9.81), abs=2e-10)
    assert "floor" in run.status


def test_a_run_that_breaks_keeps_what_it_has(cat, tumbling):
    def breaks(t, s):
        return np.array([np.inf if t > 0.05 else 0.0, 0.0])

    run = simulate(cat, tumbling, 0.2, breaks, dt=0.01, integrator="rkmk4")
    assert "finite" in run.status
    assert 0.04 < run.times[-1] < 0.07
    assert np.isfinite(run.rates).all()


def test_bad_input_is_named(cat, tumbling):
    with pytest.raises(ModelError, match="controller gives"):
        simulate(cat, tumbling, 0.1, lambda t, s: np.zeros(5))
    with pytest.raises(ModelError, match="integrator is one of"):
        simulate(cat, tumbling, 0.1, integrator="euler")
    with pytest.raises(ModelError, match="above zero"):
        simulate(cat, tumbling, 0.1, dt=-1.0)
    with pytest.raises(ModelError, match="nothing may pull"):
        simulate(cat, tumbling, 0.1, lambda t, s: np.zeros(cat.nv), integrator="momentum")


def test_save_and_load(cat, tumbling, tmp_path):
    run = simulate(cat, tumbling, 0.05, dt=0.01)
    run.save(tmp_path / "run.npz")
    again = Trajectory.load(tmp_path / "run.npz", cat)
    np.testing.assert_array_equal(again.poses, run.poses)
    with pytest.raises(ModelError, match="another robot"):
        Trajectory.load(tmp_path / "run.npz", fc.robots.cat())
    (tmp_path / "bad.npz").write_bytes(b"no")
    with pytest.raises(fc.FileError, match="no trajectory"):
        Trajectory.load(tmp_path / "bad.npz", cat)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.npz", "run.npz"]
