"""Light joints under strong dampers: default steps are those that the motion needs, not those in which dampers act."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.control import JointDamper, JointSpring, SampledController
from fallingcat.simulation import Problem
from fallingcat.simulation.step_size import fastest, swinging

HAND_RATE = 5e4
"""1/s: an Allegro hand of MuJoCo Menagerie has 7e4"""
DURATION = 0.1


def strongly_damped(seed, base):
    """A robot that moves at once, its joints damped at random over two decades, the fastest stopped at HAND_RATE."""
    rng = np.random.default_rng(seed)
    bare = fc.robots.random_tree(rng, 5, kinds=["revolute"], base=base, fixed=0.0)
    bare = replace(bare, joints=tuple(replace(joint, limits=fc.model.Limits()) for joint in bare.joints))
    state = bare.state(
        joints=rng.uniform(-1.0, 1.0, bare.n), twist=rng.normal(size=bare.m), rates=rng.normal(size=bare.n)
    )
    damping = 10.0 ** rng.uniform(-2.0, 0.0, bare.n)

    def damped(scale):
        joints = (
            replace(joint, passive=fc.model.Passive(damping=scale * d))
            for joint, d in zip(bare.joints, damping, strict=True)
        )
        return replace(bare, joints=tuple(joints))

    laws = fc.control.passive(damped(1.0), 1e-3)
    return damped(HAND_RATE / fastest(Problem(damped(1.0), laws), state)), state


def away(run, reference):
    """How far joints and rates are from a fine run, at most, at samples from 2 ms on."""
    samples = [(t, run.state(i)) for i, t in enumerate(run.times) if t >= 2e-3]
    pairs = [(state, reference.at(min(t, reference.times[-1]))) for t, state in samples]
    return tuple(max(np.abs(getattr(a, x) - getattr(b, x)).max() for a, b in pairs) for x in ("joints", "rates"))


@pytest.mark.parametrize("seed", range(4))
def test_arms_take_the_steps_that_their_motion_needs(seed):
    """10,000 steps before, by rkmk4."""
    arm, state = strongly_damped(seed, fc.lie.Trivial())
    run = fc.simulate(arm, state, DURATION)
    assert run.status == "finished"
    assert run.integrator == "rosenbrock"  # which meets a tolerance, or says that it does not
    assert len(run) < 500
    joints, rates = away(run, fc.simulate(arm, state, DURATION, integrator="rkmk4"))
    assert joints < 1e-6
    assert rates < 1e-4


@pytest.mark.parametrize("seed", range(4))
def test_flights_do_too_and_keep_their_momentum(seed):
    """10,000 steps before."""
    robot, state = strongly_damped(seed, fc.lie.SE3())
    run = fc.simulate(robot, state, DURATION)
    assert run.status == "finished"
    assert run.integrator == "momentum"
    assert len(run) < 300
    spin = run.momenta("centroidal")[:, 3:]
    assert np.abs(spin - spin[0]).max() < 1e-12 * max(1.0, np.abs(spin[0]).max())
    joints, rates = away(run, fc.simulate(robot, state, DURATION, integrator="rkmk4"))
    assert joints < 1e-5
    assert rates < 2e-3  # steps of 1 ms from the start would leave rates ringing at what they began with


@pytest.mark.parametrize("seed", range(2))
def test_under_a_function_a_step_asks_once(seed):
    """40,000 calls before."""
    arm, state = strongly_damped(seed, fc.lie.Trivial())
    push, calls = np.array([joint.passive.damping for joint in arm.joints]), []

    def wave(t, state):
        calls.append(t)
        return push * np.sin(20.0 * t)

    run = fc.simulate(arm, state, DURATION, wave)
    assert run.status == "finished"
    assert len(calls) < 200
    fine = fc.simulate(arm, state, DURATION, wave, integrator="rkmk4")
    assert away(run, fine)[0] < 1e-3


def test_functions_may_shake():
    """A method that looks for its error would find no step that is short enough."""
    arm, state = strongly_damped(0, fc.lie.Trivial())
    rng = np.random.default_rng(0)
    assert fc.simulate(arm, state, DURATION, lambda t, s: 1e-3 * rng.normal(size=arm.n)).status == "finished"


def test_springs_that_swing_are_followed():
    """However strong dampers are elsewhere."""
    cat = fc.robots.two_cylinder_cat()
    state = cat.state(rates=[1.0, 0.5])
    inertia = 1.0 / np.diag(np.linalg.inv(np.asarray(fc.mass_matrix(cat, state))))[6:].min()
    springs = JointSpring(inertia * 4e6)
    problem = Problem(cat, (springs, JointDamper(1e-6)))
    assert swinging(problem, state) == pytest.approx(fastest(problem, state), rel=1e-3)
    run = fc.simulate(cat, state, 0.01, springs)
    assert np.diff(run.times).max() <= 0.5 / fastest(Problem(cat, (springs,)), state)
    assert run.energy_residual < 1e-3


@pytest.mark.parametrize("damping", [1e-3, 0.02])
def test_flights_under_dampers_that_steps_follow_are_as_they_were(damping):
    cat = fc.robots.cat()
    state = cat.state(rates=np.ones(cat.n))
    run = fc.simulate(cat, state, 0.05, JointDamper(damping))
    rate = fastest(run.problem, state)
    assert run.integrator == "momentum"
    assert np.diff(run.times).max() <= max(0.5 / rate, 1e-3) * (1.0 + 1e-9)
    assert np.ptp(np.diff(run.times)) < 1e-12


def test_sampled_controllers_in_flight_are_followed_from_jump_to_jump():
    robot, state = strongly_damped(1, fc.lie.SE3())
    held = SampledController(lambda t, s: np.full(robot.n, np.sign(np.sin(300.0 * t))), rate=100)
    run = fc.simulate(robot, state, 0.02, held)
    assert np.diff(run.times).max() <= 0.5 / HAND_RATE * (1.0 + 1e-9)


@dataclass(frozen=True)
class Jump(fc.control.Law):
    """Pushes from 10 ms on."""

    push: float
    name: str = "jump"

    def forces(self, model, t, state, touching):
        return np.concatenate([np.zeros(model.m), np.full(model.n, self.push)]) * (t > 0.01)


def test_rates_that_ring_after_a_jump_are_reported():
    robot, state = strongly_damped(2, fc.lie.SE3())
    push = 10.0 * max(joint.passive.damping for joint in robot.joints)
    run = fc.simulate(robot, state._replace(rates=0.0 * state.rates), DURATION, Jump(push))
    assert "goes to and fro with the steps under its dampers; take smaller steps" in run.status


def test_a_run_is_looked_at_up_to_its_end_whatever_rounding_says():
    """Runs of 0.3 s by other steps end at 0.30000000000000004, which was 'an array of shape ()' outside of them."""
    ball = fc.robots.free_body()
    run = fc.simulate(ball, ball.neutral(), 0.3, dt=0.1)
    end = np.float64(3 * 0.1)
    assert np.array_equal(run.at(end).pose, run.poses[-1])
    with pytest.raises(fc.errors.ModelError, match=r"from 0 to 0.3 s; 0.4 is outside"):
        run.at(np.float64(0.4))
