"""Flights by the momentum-exact rule: whatever drives pull, and many at once."""

import shutil
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest
from support.emulated_gpu import emulated

import fallingcat as fc
from fallingcat.arrays import concatenate, less, sqrt, where
from fallingcat.control import JointDamper, JointSpring, Law, SampledController
from fallingcat.model import State
from fallingcat.model.robots.random_tree import random_tree
from fallingcat.simulation import BatchSimulator, MomentumMidpoint
from fallingcat.simulation.integrators.momentum.integrator import Flight
from fallingcat.simulation.integrators.momentum.midpoint_step import carried_at

DOG = fc.robots.quadruped()
SERVO = [JointSpring(200.0, tuple(np.zeros(DOG.n))), JointDamper(5.0)]
STARTS = [DOG.random_state(np.random.default_rng(seed)) for seed in range(3)]


def servo(t, state):
    return -200.0 * state.joints - 5.0 * state.rates


@pytest.mark.parametrize("controller", [SERVO, servo, SampledController(lambda t, s: 0.1 * servo(t, s), 500.0)])
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
    simulator = BatchSimulator(DOG, STARTS, SERVO, integrator=MomentumMidpoint(), dt=5e-4)
    simulator.step(40)
    for i, start in enumerate(STARTS):
        one = fc.simulate(DOG, start, 0.02, SERVO, integrator="momentum", dt=5e-4)
        np.testing.assert_allclose(many.joints[-1, i], one.joints[-1], rtol=0.0, atol=1e-11)
        np.testing.assert_allclose(many.poses[-1, i], one.poses[-1], rtol=0.0, atol=1e-11)
        np.testing.assert_array_equal(simulator.state.joints[i], many.joints[-1, i])
    assert many.status == "finished"


def test_single_precision_is_refused_by_name():
    with pytest.raises(fc.ModelError, match="float64, not in 'float32': take 'rkmk4'"):
        fc.rollout(DOG, STARTS, 0.02, SERVO, integrator="momentum", target="cuda", dtype="float32")


def test_a_law_that_jumps_is_reported():
    """Where it does, there may be no velocity that it allows."""

    @dataclass(frozen=True)
    class Bang(Law):
        name: str = "bang"

        def forces(self, model, t, state, touching):
            pull = where(less(0.5, state.rates), -50.0, where(less(state.rates, 0.5), 50.0, 0.0))
            return concatenate([np.zeros(model.m), pull])

    cat = fc.robots.two_cylinder_cat()
    for method, told in ((MomentumMidpoint(), "the midpoint equations do not converge"), (None, "balance is violated")):
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


@pytest.mark.skipif(shutil.which("g++") is None or sys.platform == "win32", reason="needs a C++ compiler")
@pytest.mark.parametrize("friction", [0.0, 0.03])
def test_steps_on_a_gpu_are_those_of_the_cpu(friction, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "cupy", emulated(tmp_path))
    cat = fc.robots.two_cylinder_cat()
    cat = replace(cat, joints=tuple(replace(j, passive=fc.model.Passive(friction=friction)) for j in cat.joints))
    starts = [cat.state(joints=[0.3, 0.2], rates=[0.4 * k, -0.3], twist=0.1 * np.ones(6)) for k in range(3)]
    batches = [
        BatchSimulator(cat, starts, JointSpring(0.5, (0.0, 0.0)), dt=5e-3, target=target) for target in ("cpu", "cuda")
    ]
    for simulator in batches:
        assert isinstance(simulator.stepper, Flight)
        simulator.step(30)
    np.testing.assert_allclose(batches[1].packed(), batches[0].packed(), rtol=0.0, atol=1e-12)
    np.testing.assert_array_equal(batches[1].packed() == 0.0, batches[0].packed() == 0.0)


def test_batches_and_rollouts_keep_their_momentum_by_default():
    """By ``implicit`` and ``rkmk4``, the defaults before, angular momentum drifted by 4e-3 and 1e-9."""
    simulator = BatchSimulator(DOG, STARTS, driven=True)
    begun = [fc.momentum(DOG, start, "centroidal")[3:] for start in STARTS]
    simulator.step(200, forces=np.tile(np.linspace(-0.5, 0.5, DOG.n), (3, 1)))
    many = fc.rollout(DOG, STARTS, 0.2, JointDamper(0.1))
    for states in (simulator.state, State(*(x[-1] for x in (many.poses, many.joints, many.twists, many.rates)))):
        spins = [fc.momentum(DOG, states.at(i), "centroidal")[3:] for i in range(3)]
        np.testing.assert_allclose(spins, begun, rtol=0.0, atol=1e-12 * np.abs(begun).max())
    assert isinstance(simulator.stepper, Flight)


@pytest.mark.parametrize("friction", [0.0, 0.03])
def test_robots_with_masses_of_their_own_fly_as_single_ones(friction):
    cat = fc.robots.two_cylinder_cat()
    cat = replace(cat, joints=tuple(replace(j, passive=fc.model.Passive(friction=friction)) for j in cat.joints))
    starts = [cat.state(joints=[0.3, 0.2], rates=[0.4 * k, -0.3], twist=0.1 * np.ones(6)) for k in range(3)]
    name, masses = cat.link_names[0], np.array([0.5, 2.0, 8.0])
    simulator = BatchSimulator(cat, starts, parameters={f"{name}.mass": masses})
    assert isinstance(simulator.stepper, Flight)
    simulator.step(50)
    many = fc.rollout(cat, starts, 0.05, parameters={f"{name}.mass": masses}, dt=1e-3)
    for i, mass in enumerate(masses):
        links = [replace(x, body=replace(x.body, mass=mass)) if x.name == name else x for x in cat.links]
        one = fc.simulate(replace(cat, links=tuple(links)), starts[i], 0.05)
        np.testing.assert_allclose(simulator.state.pose[i], one.poses[-1], rtol=0.0, atol=1e-13)
        np.testing.assert_allclose(many.joints[-1, i], one.joints[-1], rtol=0.0, atol=1e-13)


def test_accuracy_of_a_long_chain():
    """Chain of 20 joints at 2 ms against ``rkmk4`` at 0.1 ms; the midpoint rule errs by 1e-4."""
    rng = np.random.default_rng(0)
    chain = fc.robots.random_tree(rng, 20, kinds=["revolute"], branching=0.0)
    start = chain.random_state(rng)
    start = start._replace(rates=0.3 * start.rates)
    fine = fc.simulate(chain, start, 0.2, integrator="rkmk4", dt=1e-4, every=2000, passive=False)
    run = fc.simulate(chain, start, 0.2, dt=2e-3, passive=False)
    assert run.integrator == "momentum"
    np.testing.assert_allclose(run.joints[-1], fine.joints[-1], rtol=0.0, atol=1e-11)


@pytest.mark.parametrize("base", [fc.lie.SE2(), fc.lie.R2(), fc.lie.Schoenflies()], ids=str)
@pytest.mark.parametrize("method", [fc.simulation.MomentumRungeKutta(), fc.simulation.MomentumMidpoint()], ids=type)
def test_bases_in_a_plane_keep_their_momentum(base, method):
    """Of robots whose joints leave the plane; they flew by rkmk4."""
    rng, free = np.random.default_rng(1), base.selection[:3] @ base.selection[:3].T
    model = replace(random_tree(rng, 4, kinds=["revolute"]), base=base, gravity=free @ np.array([1.0, -9.81, 2.0]))
    start, damper = model.random_state(rng), fc.control.JointDamper(0.2)
    run = fc.simulate(model, start, 0.1, damper, integrator=method, dt=5e-4, passive=False)
    fine = fc.simulate(model, start, 0.1, damper, integrator="rkmk4", dt=1e-4, every=10**6, passive=False)
    close = 1e-10 if method.order == 5 else 1e-6
    np.testing.assert_allclose(run.poses[-1], fine.poses[-1], atol=close)
    np.testing.assert_allclose(run.joints[-1], fine.joints[-1], atol=close)
    momenta = run.momenta("centroidal") - np.outer(run.times, [*(model.mass * model.gravity), 0.0, 0.0, 0.0])
    kept = momenta @ base.selection
    assert np.abs(kept - kept[0]).max() < 1e-13 * np.abs(momenta).max()


def test_planar_robots_fly_by_momentum_with_friction_too():
    hopper = fc.robots.revolute_hopper()
    rubs = tuple(replace(joint, passive=fc.model.Passive(friction=0.002)) for joint in hopper.joints)
    hopper = replace(hopper, joints=rubs)
    start = hopper.random_state(np.random.default_rng(0))
    run = fc.simulate(hopper, start, 0.2)
    fine = fc.simulate(hopper, start, 0.2, integrator="implicit", dt=2e-5, every=10**6)
    assert run.integrator == "momentum"
    np.testing.assert_allclose(run.joints[-1], fine.joints[-1], atol=2e-5)
    spin = run.momenta("centroidal")[:, 5]
    assert np.abs(spin - spin[0]).max() < 1e-14
    level = replace(hopper, gravity=np.array([0.0, 0.0, -9.81]))
    assert fc.simulate(level, start, 0.01).integrator != "momentum"


def test_a_flight_starts_with_the_momentum_of_its_state():
    """By a sweep, in a third of the operations that the momentum matrix takes."""
    model = fc.robots.humanoid()
    state = model.random_state(np.random.default_rng(5))
    h, found = fc.momentum(model, state, "centroidal"), carried_at(model, state)
    expected = np.concatenate([fc.center_of_mass(model, state), h[:3] / model.mass, h[3:]])
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("base", [fc.lie.SO2(), fc.lie.SO3()])
def test_bases_on_a_pivot_are_refused_with_the_reason(base):
    """Their momentum about the center of mass changes, by any method: the pivot pushes."""
    model = replace(fc.robots.planar_arm(base=base), gravity=np.zeros(3))
    start = model.state(twist=np.full(model.m, 2.0), rates=[3.0, -2.0, 1.0])
    with pytest.raises(fc.ModelError, match=r"guide it change the momentum about the center of mass, take 'rkmk4'"):
        fc.simulate(model, start, 0.1, integrator="momentum")
    run = fc.simulate(model, start, 0.1)
    assert run.integrator == "rkmk4"
    spin = run.momenta("centroidal")[:, 3:]
    assert np.abs(spin[-1] - spin[0]).max() > 1e-3 * np.abs(spin[0]).max()
