"""The generalized-momentum observer beside the forces of simulated runs."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.errors import ModelError
from fallingcat.estimation import MomentumObserver


def observed(run, observer, forces, dt):
    """Residuals at equally spaced times of a run."""
    times = np.arange(0.0, run.times[-1] + 0.5 * dt, dt)
    seen = [observer.begin(run.at(0.0))]
    for t in times[1:]:
        now = run.at(min(t, run.times[-1]))
        seen.append(observer.step(seen[-1], now, forces(t - 0.5 * dt), dt))
    return times, np.array([s.residual for s in seen])


def test_a_push_is_seen_with_the_delay_of_the_gain():
    """A tumbling arm is pushed all the time: the residual is ``1 - exp(-gain t)`` of the push."""
    arm = fc.robots.orbital_arm()  # no limits of drives
    rng = np.random.default_rng(0)
    push = rng.normal(size=arm.nv)
    start = arm.random_state(rng)._replace(joints=0.3 * rng.uniform(-1, 1, arm.n))  # within its stops
    run = fc.simulate(arm, start, 0.05, lambda t, state: push, dt=1e-4, integrator="rkmk4")
    gain = 50.0
    times, residuals = observed(run, MomentumObserver(arm, gain), lambda t: np.zeros(arm.nv), 1e-4)
    expected = (1.0 - np.exp(-gain * times))[:, None] * push
    np.testing.assert_allclose(residuals, expected, atol=4e-3 * np.abs(push).max())


def test_the_weight_of_a_standing_robot_rests_on_its_feet():
    dog = fc.robots.quadruped()
    feet = [frame.name for frame in dog.frames]
    ground = fc.contact.CompliantFloor(feet, friction=0.8)
    posture = [0.0, 0.6, -1.2] * 4
    spring = fc.control.JointSpring(200.0, tuple(posture))
    damper = fc.control.JointDamper(5.0)
    run = fc.simulate(dog, dog.standing(ground, posture), 1.0, [spring, damper], ground, dt=1e-3)
    observer, dt = MomentumObserver(dog, gain=200.0), 1e-3

    def torques(t):
        state = run.at(t)
        return sum(law.forces(dog, t, state, frozenset()) for law in (spring, damper))

    _, residuals = observed(run, observer, torques, dt)
    forces = observer.contact_forces(run.state(-1), residuals[-1], feet)
    np.testing.assert_allclose(forces, run.contact_forces[-1], atol=0.02 * dog.mass * 9.81)
    assert forces[:, 2].sum() == pytest.approx(dog.mass * 9.81, rel=0.02)


@pytest.mark.parametrize("gain", [0.0, -1.0, float("nan"), float("inf"), "fast"])
def test_the_gain_is_positive(gain):
    with pytest.raises(ModelError, match="gain must be positive"):
        MomentumObserver(fc.robots.cat(), gain)


def test_wrong_forces_are_named():
    dog = fc.robots.quadruped()
    observer, state = MomentumObserver(dog), dog.neutral()
    for wrong, message in ((np.zeros(12), r"forces .* must have shape \(18,\)"), (np.full(18, np.nan), "not finite")):
        with pytest.raises(ModelError, match=message):
            observer.step(observer.begin(state), state, wrong, 1e-3)
    with pytest.raises(ModelError, match=r"residual must have shape \(18,\)"):
        observer.contact_forces(state, np.zeros(12), ["front_left_foot"])
    with pytest.raises(ModelError, match="the first argument is a Model"):
        MomentumObserver("go2")
    with pytest.raises(ModelError, match="pass a State"):
        observer.begin(None)
