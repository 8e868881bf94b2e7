"""Many robots at once: stepped, steered, reset."""

import sys

import numpy as np
import pytest

import fallingcat as fc
from fallingcat import robots
from fallingcat.errors import ExtraMissingError
from fallingcat.simulation import BatchSimulator

CAT = robots.two_cylinder_cat()
MANY = [CAT.state(rates=[0.1 * i, 0.5]) for i in range(11)]


def dogs(count=5):
    model = robots.quadruped()
    floor = fc.contact.CompliantFloor(
        tuple(frame.name for frame in model.frames), stiffness=(2e4, 2e4), damping=(200.0, 200.0), friction=0.8
    )
    rng = np.random.default_rng(0)
    pose = np.tile(np.eye(4), (count, 1, 1))
    pose[:, 2, 3] = 0.33 + 0.01 * rng.random(count)
    sit = np.tile([0.0, 0.6, -1.2], 4)
    joints = np.tile(sit, (count, 1))
    return model, fc.State(pose, joints, np.zeros((count, 6)), rng.normal(size=(count, 12))), floor, sit


def test_steps_are_those_of_a_rollout():
    model, many, floor, sit = dogs()
    laws = (fc.control.JointSpring(200.0, tuple(sit)), fc.control.JointDamper(5.0))
    simulator = BatchSimulator(model, many, laws, floor)
    simulator.step(20)
    simulator.step(30)
    run = fc.rollout(model, many, 0.05, laws, floor, dt=1e-3)
    np.testing.assert_array_equal(simulator.state.joints, run.joints[-1])
    np.testing.assert_array_equal(simulator.state.pose, run.poses[-1])
    np.testing.assert_array_equal(simulator.works, run.works[-1])
    np.testing.assert_allclose(simulator.times, 0.05, rtol=1e-12)
    assert simulator.ports == run.ports


def test_forces_are_held():
    """Forces of a policy, step by step, are those of a controller in a run alone, which is asked in the middle; steps
    resolve it.
    """
    model, many, floor, sit = dogs()
    simulator = BatchSimulator(model, many, contact=floor, driven=True)
    for _ in range(20):
        middle = simulator.state.joints + 0.5e-3 * simulator.state.rates
        simulator.step(1, forces=-60.0 * (middle - sit) - 0.5 * simulator.state.rates)
    start = fc.State(*(x[3] for x in many))
    alone = fc.simulate(
        model, start, 0.02, lambda t, s: -60.0 * (s.joints - sit) - 0.5 * s.rates, floor, integrator="implicit"
    )
    np.testing.assert_allclose(simulator.state.joints[3], alone.joints[-1], atol=1e-13)
    np.testing.assert_allclose(simulator.works[3, 0], alone.ledger.works[-1, 0], atol=1e-12)
    simulator.step(7, forces=np.zeros((5, 12)))
    np.testing.assert_allclose(simulator.times, 0.027, rtol=1e-12)


def test_some_start_anew():
    simulator = BatchSimulator(CAT, MANY)
    simulator.step(5)
    moved = simulator.state
    simulator.reset([2, 7], [MANY[0], MANY[1]])
    np.testing.assert_array_equal(simulator.times[[2, 7]], 0.0)
    np.testing.assert_array_equal(simulator.state.rates[7], MANY[1].rates)
    np.testing.assert_array_equal(simulator.state.rates[3], moved.rates[3])
    simulator.reset(np.arange(11) == 4, [MANY[0]])
    np.testing.assert_array_equal(simulator.state.rates[4], MANY[0].rates)
    simulator.step(5)
    other = BatchSimulator(CAT, MANY[:1])
    other.step(5)
    np.testing.assert_array_equal(simulator.state.joints[4], other.state.joints[0])


def test_nobody_stays():
    simulator = BatchSimulator(CAT, MANY)
    simulator.keep([])
    assert simulator.count == 0


def test_refusals():
    simulator, driven = BatchSimulator(CAT, MANY), BatchSimulator(CAT, MANY, driven=True)
    with pytest.raises(fc.ModelError, match="driven=True"):
        simulator.step(1, forces=np.zeros((11, 2)))
    with pytest.raises(fc.ModelError, match="driven=True"):
        driven.step(1)
    with pytest.raises(fc.ModelError, match=r"forces must have shape \(11, 2\)"):
        driven.step(1, forces=np.zeros((2, 11)))
    with pytest.raises(fc.ModelError, match="steps is a whole number"):
        simulator.step(0)
    for which, states in (([0, 1], MANY[:1]), ([0.5], MANY[:1]), (np.ones(3, bool), MANY[:1])):
        with pytest.raises(fc.ModelError, match="which of 11 robots to reset"):
            simulator.reset(which, states)
    with pytest.raises(fc.ModelError, match=r"robots to reset are 0 to 10, not \[11\]"):
        simulator.reset([11], MANY[:1])
    for which in (np.ones(3, bool), [11], [0.5], "all"):
        with pytest.raises(fc.ModelError, match="robots to keep are indices of 11, or as many truth values"):
            simulator.keep(which)
    with pytest.raises(fc.ModelError, match="a BatchSimulator takes force laws"):
        BatchSimulator(CAT, MANY, lambda t, s: np.zeros(2))
    with pytest.raises(fc.ModelError, match="float64"):
        BatchSimulator(CAT, MANY, dtype="float32")
    floor = fc.contact.HardContacts((CAT.link_names[0],))
    with pytest.raises(fc.ModelError, match="'implicit', 'moreau' or 'located', not 'rkmk4'"):
        fc.rollout(CAT, MANY, 0.1, contact=floor, target="cuda", integrator="rkmk4")


def test_without_cupy_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ExtraMissingError, match=r"a batch on a GPU needs cupy: pip install '\.\[gpu\]'"):
        BatchSimulator(CAT, MANY, target="cuda")


def test_states_in_single_precision_start_robots_anew():
    """What batches on a GPU return, orthogonal to 4e-6, was refused."""
    rng = np.random.default_rng(0)
    model = fc.robots.quadruped()
    batch = fc.simulation.BatchSimulator(model, [model.random_state(rng) for _ in range(3)])
    single = fc.State(*(np.asarray(x, dtype=np.float32) for x in batch.state))
    single.pose[:, :3, :3] *= np.float32(1.0 + 4e-6)
    batch.reset([0, 1, 2], single)
    R = batch.state.pose[:, :3, :3]
    assert np.abs(R @ R.transpose(0, 2, 1) - np.eye(3)).max() < 1e-14
    assert np.abs(batch.state.pose - single.pose).max() < 1e-5
    single.pose[1, :3, :3] *= np.float32(1.01)
    with pytest.raises(fc.ModelError, match="state 1: pose is no element of the base group"):
        batch.reset([0, 1, 2], single)
