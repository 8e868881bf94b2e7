"""Observers and shape laws of [Mishra] V-A: dissipation to rounding, observers against the truth, memory in runs."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.control import Law, OutputFeedback, PeriodicReference, PoseSensor, SampledController
from fallingcat.errors import ModelError
from fallingcat.lie import R3, SE2, SE3, SO2, SO3, Helical, Schoenflies
from tests.support.random_robots import TILTED
from tests.support.robot_laws import along

BASES = (SE3(), SE2(), SO3(), Schoenflies(), R3(), SO2(TILTED), Helical(TILTED, pitch=-0.4))


def robot(base, seed, n=4):
    """In orbit, moving, and an observer that is wrong by less than half a turn."""
    rng = np.random.default_rng(seed)
    model = fc.robots.random_tree(rng, n, kinds=["revolute", "prismatic"], base=base)
    model = replace(model, gravity=np.zeros(3))
    state = model.random_state(rng)
    law = OutputFeedback(
        7.0, 3.0, tuple(0.5 + rng.random(model.n)), tuple(rng.normal(size=model.n)), pose_gain=2.0, locked_gain=5.0,
        base_weights=tuple(0.5 + rng.random(model.m)),
    )  # fmt: skip
    pose = base.compose(state.pose, base.exp(0.7 * rng.normal(size=model.m)))
    return model, state, law, np.concatenate([pose[:3].ravel(), rng.normal(size=model.m)])


@pytest.mark.parametrize("base", BASES, ids=str)
@pytest.mark.parametrize("kind", ["curvature", "locked"])
def test_W_falls_as_58_says_along_the_closed_loop(base, kind):
    """The exact derivative of W along the robot's own dynamics and the observers' is (58)."""
    for seed in range(3):
        model, state, law, memory = robot(base, seed)
        law = replace(law, compensation=kind).with_memory(memory)
        acceleration = fc.forward_dynamics(model, state, law.forces(model, 0.0, state, frozenset()))
        rate = law.memory_rate(model, 0.0, state)

        def W(at, law=law, memory=memory, rate=rate):
            step = 1e-40 if np.iscomplexobj(at.joints) else 0.0
            return law.with_memory(memory + 1j * step * rate).errors(model, at).W  # noqa: B023

        found = along(W, model, state, acceleration)
        wanted, size = law.errors(model, state).rate, law.errors(model, state).W
        assert wanted < 0.0
        assert abs(found - wanted) < 1e-10 * (abs(wanted) + size)


@pytest.mark.parametrize("base", BASES, ids=str)
def test_the_law_never_reads_the_twist(base):
    model, state, law, memory = robot(base, 3)
    law = law.with_memory(memory)
    other = state._replace(twist=state.twist + 1.0)
    for ask in (law.forces, law.memory_rate):
        more = (frozenset(),) if ask == law.forces else ()
        np.testing.assert_array_equal(ask(model, 0.0, state, *more), ask(model, 0.0, other, *more))


@pytest.mark.parametrize("kind", ["curvature", "locked"])
def test_with_the_truth_the_compensation_is_what_momentum_does_to_the_joints(kind):
    """Under it the joints accelerate as without momentum, but for the force of the curvature that 'locked' leaves."""
    model, state, law, _ = robot(SE3(), 5)
    law = replace(law, compensation=kind, stiffness=1e-9, damping=1e-9)
    law = law.with_memory(law.begin(model, state))
    rel = fc.reduced_equations(model, state)
    still = fc.reduced_equations(model, state._replace(twist=-rel.A @ state.rates))
    tau = law.forces(model, 0.0, state, frozenset())
    qdd, without = rel.forward(tau)[6:], still.forward(np.zeros(model.nv))[6:]
    gyroscopic = -np.linalg.solve(rel.Lq, rel.B @ state.rates) if kind == "locked" else 0.0
    np.testing.assert_allclose(qdd, without + gyroscopic, rtol=1e-6, atol=1e-7)


@pytest.fixture(scope="module")
def tumbler():
    """A small arm in the plane, spinning."""
    model = fc.robots.random_tree(np.random.default_rng(1), 2, kinds=["revolute"], planar=True)
    model = replace(model, gravity=np.zeros(3))
    state = model.state(joints=[0.4, -0.8], twist=[0.1, -0.2, 0.6], rates=[0.3, -0.2])
    rel = fc.reduced_equations(model, state)
    law = OutputFeedback(
        9.0, 4.0, tuple(np.diag(rel.Lq)), (0.4, -0.8), pose_gain=6.0, locked_gain=9.0,
        base_weights=tuple(np.diag(rel.Mb)), pose=(0.1, -0.1, 0.5), locked=(0.0, 0.0, 0.0),
    )  # fmt: skip
    return model, state, law


def errors(model, run, law, i=-1):
    return law.with_memory(run.law_memory(law.name)[i]).errors(model, run.state(i))


def test_observers_find_the_truth_and_W_falls(tumbler):
    model, state, law = tumbler
    run = fc.simulate(model, state, 12.0, law, dt=1e-2)
    assert run.status == "finished"
    assert run.integrator == "momentum"
    W = [errors(model, run, law, i).W for i in range(0, len(run), 40)]
    assert (np.diff(W) < 0.0).all()
    x = errors(model, run, law)
    assert np.abs(x.locked).max() < 1e-5
    assert np.abs(x.joints).max() < 1e-5
    assert np.linalg.norm(fc.momentum(model, run.state(-1), frame="world")) > 0.1  # it still tumbles


def test_springs_alone_keep_an_error(tumbler):
    model, state, law = tumbler
    run = fc.simulate(model, state, 12.0, replace(law, compensation="none"), dt=1e-2)
    assert np.abs(errors(model, run, law).joints).max() > 1e-2


def test_the_integrated_observer_is_an_independent_integration_of_its_equations(tumbler):
    """Beside the robot or on its own along the recorded motion, by SciPy: the same estimate."""
    from scipy.integrate import solve_ivp

    model, state, law = tumbler
    run = fc.simulate(model, state, 0.05, law, dt=1e-3)

    def slope(t, y):
        moving = fc.State(y[:12].reshape(3, 4), y[12:14], y[14:17], y[17:19])
        moving = moving._replace(pose=np.vstack([moving.pose, [0.0, 0.0, 0.0, 1.0]]))
        knows = law.with_memory(y[19:])
        a = fc.forward_dynamics(model, moving, knows.forces(model, t, moving, frozenset()))
        turned = (moving.pose @ model.base.hat(moving.twist))[:3].ravel()
        return np.concatenate([turned, moving.rates, a, knows.memory_rate(model, t, moving)])

    start = np.concatenate([state.pose[:3].ravel(), state.joints, state.twist, state.rates, law.begin(model, state)])
    found = solve_ivp(slope, (0.0, 0.05), start, method="DOP853", rtol=1e-8, atol=1e-9).y[:, -1]
    np.testing.assert_allclose(run.law_memory(law.name)[-1], found[19:], atol=1e-8)
    np.testing.assert_allclose(run.joints[-1], found[12:14], atol=1e-8)


def test_a_rollout_is_many_runs_with_the_observers_of_each(tumbler):
    model, state, law = tumbler
    states = [state, state._replace(twist=np.array([0.3, 0.1, -0.4]))]
    many = fc.rollout(model, states, 0.2, law, dt=5e-3)
    for i, one in enumerate(states):
        run = fc.simulate(model, one, 0.2, law, dt=5e-3)
        np.testing.assert_allclose(many.memory[-1, i], run.memory[-1], atol=1e-12)
        np.testing.assert_allclose(many.joints[-1, i], run.joints[-1], atol=1e-12)


def test_sampled_fast_and_without_noise_it_is_the_law_of_the_paper(tumbler):
    """The difference goes with the period."""
    model, state, law = tumbler
    exact = fc.simulate(model, state, 1.0, law, dt=2e-3)
    off = []
    for rate in (250.0, 1000.0):
        sampled = replace(law, sensor=PoseSensor(rate))
        run = fc.simulate(model, state, 1.0, SampledController(sampled, rate), dt=4e-3, integrator="rkmk4")
        off.append(np.abs(run.law_memory(law.name)[-1][:15] - exact.memory[-1]).max())
    assert off[1] < 5e-3
    assert 3.0 < off[0] / off[1] < 5.0


def test_slow_late_noisy_poses_still_tell_the_locked_velocity(tumbler):
    model, state, law = tumbler
    sensor = PoseSensor(10.0, latency=0.05, rotation=2e-3, position=2e-3, rates=1e-3)
    law = replace(law, pose_gain=2.0, locked_gain=1.0, sensor=sensor)
    sampled = SampledController(law, 200.0, seed=3)
    run = fc.simulate(model, state, 12.0, sampled, dt=5e-3, integrator="rkmk4")
    late = [errors(model, run, law, i) for i in range(len(run) - 400, len(run), 40)]
    assert max(np.abs(x.locked).max() for x in late) < 0.02  # it begins with an error of 0.6
    assert max(np.abs(x.joints).max() for x in late) < 0.01
    again = fc.simulate(model, state, 0.5, sampled, dt=5e-3, integrator="rkmk4")
    np.testing.assert_array_equal(again.joints, run.joints[: len(again)])  # the same seed
    many = fc.rollout(model, [state], 0.5, sampled, dt=5e-3)
    np.testing.assert_allclose(many.joints[-1, 0], again.joints[-1], atol=1e-12)


def test_a_pose_that_is_late_acts_late_and_is_held(tumbler):
    """The first eps is known after the latency; until then the observers predict."""
    model, state, law = tumbler
    law = replace(law, sensor=PoseSensor(10.0, latency=0.05), locked=None)
    run = fc.simulate(model, state, 0.3, SampledController(law, 100.0), dt=1e-2, integrator="rkmk4")
    acts = run.law_memory(law.name)[:, 18:21]
    first = model.base.log(model.base.compose(model.base.inverse(model.base.element(np.array(law.pose))), state.pose))
    assert not acts[:6].any()  # a look uses what it knew before: 0 to 0.05 s
    np.testing.assert_allclose(acts[6:16], np.tile(first, (10, 1)), atol=1e-12)
    assert np.abs(acts[16] - acts[15]).max() > 1e-3
    assert np.array_equal(acts[16:26], np.tile(acts[16], (10, 1)))


@dataclass(frozen=True)
class Integral(Law):
    """A user's own: an integral term, ``tau = -K s``, ``ds/dt = q``."""

    gain: float
    name: str = "integral"

    def memory_size(self, model):
        return model.n

    def memory_rate(self, model, t, state):
        return np.sin(state.joints)

    def forces(self, model, t, state, touching):
        return np.concatenate([np.zeros(model.m), -self.gain * self.memory])


def test_a_law_of_ones_own_may_remember(tumbler):
    """Two of them side by side."""
    model, state, _ = tumbler
    laws = [Integral(2.0), Integral(3.0, "more")]
    run = fc.simulate(model, state, 0.3, laws, dt=1e-3)
    total = np.trapezoid(np.sin(run.joints), run.times, axis=0)
    for law in laws:
        np.testing.assert_allclose(run.law_memory(law.name)[-1], total, atol=1e-6)
    sampled = fc.simulate(model, state, 0.3, SampledController(Integral(5.0), 1000.0), integrator="rkmk4")
    np.testing.assert_allclose(sampled.joints[-1], run.joints[-1], atol=5e-3)  # held for 1 ms
    np.testing.assert_allclose(run.port_forces["more"][-1, 3:], -3.0 * total, atol=1e-5)
    with pytest.raises(ModelError, match="no law 'other'"):
        run.law_memory("other")


def test_memory_goes_through_the_jumps_of_contacts():
    hopper = fc.robots.revolute_hopper()
    start = hopper.state(pose=hopper.base.element(np.array([0.0, 0.2, -2.5174])), joints=[1.7802])
    floor = fc.contact.CompliantFloor(("foot",), (3e3, 3e3), (8.0, 8.0))
    laws = [fc.studies.hoppers.RadialSpring(2200.0, 0.14), Integral(0.0)]
    run = fc.simulate(hopper, start, 0.3, laws, floor, dt=1e-3, integrator="rkmk4")
    assert any(event.name.startswith("touchdown") for event in run.events)
    total = np.trapezoid(np.sin(run.joints), run.times, axis=0)
    np.testing.assert_allclose(run.law_memory("integral")[-1], total, rtol=1e-4)
    without = fc.simulate(hopper, start, 0.3, laws[:1], floor, dt=1e-3, integrator="rkmk4")
    np.testing.assert_allclose(run.joints[-1], without.joints[-1], atol=1e-6)


def test_methods_without_a_place_for_memory_say_so(tumbler):
    model, state, law = tumbler
    with pytest.raises(ModelError, match="'output feedback' has a state of its own"):
        fc.simulate(model, state, 0.1, law, integrator=fc.simulation.MomentumMidpoint())


def test_implicit_steps_integrate_it(tumbler):
    model, state, law = tumbler
    fine = fc.simulate(model, state, 0.1, law, integrator="rkmk4", dt=1e-3)
    runs = [fc.simulate(model, state, 0.1, law, integrator="implicit", dt=dt) for dt in (1e-3, 5e-4)]
    np.testing.assert_allclose(runs[1].joints[-1], fine.joints[-1], rtol=0.0, atol=1e-4)
    off = [np.abs(run.law_memory(law.name)[-1] - fine.law_memory(law.name)[-1]).max() for run in runs]
    assert off[0] < 2e-3  # products of velocities are of order 1
    assert off[1] < 0.6 * off[0]


def test_what_the_law_is_not_for_is_refused_by_name(tumbler):
    model, state, law = tumbler
    with pytest.raises(ModelError, match="has gravity"):
        fc.simulate(replace(model, gravity=np.array([0.0, -9.81, 0.0])), state, 0.1, law)
    with pytest.raises(ModelError, match="target of 'output feedback' must have shape"):
        fc.simulate(model, state, 0.1, replace(law, target=(0.0,)))
    with pytest.raises(ModelError, match="SampledController"):
        fc.simulate(model, state, 0.1, replace(law, sensor=PoseSensor(10.0)))
    with pytest.raises(ModelError, match="at most one period"):
        PoseSensor(10.0, latency=0.2)
    with pytest.raises(ModelError, match="compensation is one of"):
        replace(law, compensation="some")


def test_a_motion_is_followed_while_it_tumbles(tumbler):
    """Exactly, where the observers know the truth: W falls as (58) says, on the errors of the motion."""
    model, state, law = tumbler
    motion = PeriodicReference((0.4, -0.8), ((0.3, 0.1),), ((-0.1, 0.2),), count=2, duration=3.0)
    law = replace(law, compensation="curvature", motion=motion, pose=None, locked=None)
    start = state._replace(joints=motion(0.0).joints, rates=np.zeros(2))
    run = fc.simulate(model, start, 3.5, law, dt=5e-3)
    at = [law.with_memory(run.memory[i]).errors(model, run.state(i), run.times[i]) for i in range(0, len(run), 50)]
    assert max(np.abs(x.joints).max() for x in at) < 1e-7
    assert np.abs(run.rates).max() > 0.5
    off = start._replace(joints=start.joints + 0.1)
    law = law.with_memory(law.begin(model, off))
    a = fc.forward_dynamics(model, off, law.forces(model, 0.7, off, frozenset()))
    rate = law.memory_rate(model, 0.7, off)

    def W(t):
        v = off.velocity + t * a
        moved = fc.dynamics.displace(model, off, t * off.velocity)._replace(twist=v[:3], rates=v[3:])
        return law.with_memory(law.memory + t * rate).errors(model, moved, 0.7 + t).W

    wanted = law.errors(model, off, 0.7).rate
    assert wanted < -0.01
    assert abs(np.imag(W(1e-40j)) / 1e-40 - wanted) < 1e-10 * abs(wanted)
