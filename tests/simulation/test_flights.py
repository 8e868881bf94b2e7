"""Flights by the momentum-exact rule: whatever drives pull, and many at once."""

from dataclasses import dataclass

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.arrays import concatenate, less, sqrt, where
from fallingcat.control import JointDamper, JointSpring, Law, Sampled
from fallingcat.simulation import Fleet, MomentumMidpoint

DOG = fc.robots.quadruped()
SERVO = [JointSpring(200.0, tuple(np.zeros(DOG.n))), JointDamper(5.0)]
STARTS = [DOG.random_state(np.random.default_rng(seed)) for seed in range(3)]


def servo(t, state):
    return -200.0 * state.joints - 5.0 * state.rates


@pytest.mark.parametrize("controller", [SERVO, servo, Sampled(lambda t, s: 0.1 * servo(t, s), 500.0)])
@pytest.mark.parametrize("start", STARTS)
def test_stiff_drives_at_their_limits_do_not_stop_a_default_run(start, controller):
    """Joints hit the ends of effort and speed: forces fall steeply with the rates, and passes still arrive."""
    run = fc.simulate(DOG, start, 0.1, controller)
    assert (run.integrator, run.status) == ("momentum", "finished")
    asked, cut = run.port_forces[run.ledger.ports[-1]], run.port_forces["drive limits"]
    assert np.abs(cut).max() > 0.1 * np.abs(asked).max()
    spin = run.momenta("centroidal")[:, 3:]
    assert np.abs(spin - spin[0]).max() < 1e-12 * np.abs(spin).max()
    assert run.energy_residual < 1e-4


def test_it_is_the_motion_that_short_explicit_steps_find():
    """Of order 2 or so, across the kinks of drive limits."""
    fine = fc.simulate(DOG, STARTS[0], 0.05, SERVO, integrator="rkmk4", dt=1e-5, every=5000)
    off = [
        np.abs(fc.simulate(DOG, STARTS[0], 0.05, SERVO, dt=dt, integrator="momentum").joints[-1] - fine.joints[-1])
        for dt in (2.5e-4, 6.25e-5)
    ]
    assert off[0].max() < 2e-3
    assert off[1].max() < 0.1 * off[0].max()


def test_many_fly_as_single_ones():
    many = fc.rollout(DOG, STARTS, 0.02, SERVO, integrator="momentum", dt=5e-4, every=20)
    fleet = Fleet(DOG, STARTS, SERVO, integrator=MomentumMidpoint(), dt=5e-4)
    fleet.step(40)
    for i, start in enumerate(STARTS):
        one = fc.simulate(DOG, start, 0.02, SERVO, integrator="momentum", dt=5e-4)
        np.testing.assert_allclose(many.joints[-1, i], one.joints[-1], rtol=0.0, atol=1e-11)
        np.testing.assert_allclose(many.poses[-1, i], one.poses[-1], rtol=0.0, atol=1e-11)
        np.testing.assert_array_equal(fleet.state.joints[i], many.joints[-1, i])
    assert many.status == "finished"


def test_single_precision_is_refused_by_name():
    with pytest.raises(fc.ModelError, match="float64, not in 'float32': take 'rkmk4'"):
        fc.rollout(DOG, STARTS, 0.02, SERVO, integrator="momentum", target="cuda", dtype="float32")


def test_a_law_that_jumps_is_told():
    """Where it does, there may be no velocity that it allows."""

    @dataclass(frozen=True)
    class Bang(Law):
        name: str = "bang"

        def forces(self, model, t, state, touching):
            pull = where(less(0.5, state.rates), -50.0, where(less(state.rates, 0.5), 50.0, 0.0))
            return concatenate([np.zeros(model.m), pull])

    cat = fc.robots.two_cylinder_cat()
    for method, told in ((MomentumMidpoint(), "the midpoint equations do not converge"), (None, "do not balance")):
        run = fc.simulate(cat, cat.state(joints=[0.4, 0.3]), 0.5, Bang(), integrator=method, dt=1e-3)
        assert run.integrator == "momentum"
        assert told in run.status
        assert len(run) > 1
        spin = run.momenta("centroidal")[:, 3:]
        assert np.abs(spin).max() < 1e-12


def test_numbers_that_end_are_named():
    @dataclass(frozen=True)
    class Late(Law):
        name: str = "late"

        def forces(self, model, t, state, touching):
            return concatenate([np.zeros(model.m), sqrt(0.03 - t) * np.ones(model.n)])

    cat = fc.robots.two_cylinder_cat()
    run = fc.simulate(cat, cat.state(joints=[0.4, 0.3]), 0.5, Late(), integrator="momentum", dt=1e-3)
    assert "joint 'spine_z': the motion is no longer finite" in run.status
    assert len(run) == 30  # the last stage of a step is at its end
