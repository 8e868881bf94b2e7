"""A robot stepped by calls moves as in all other runs."""

from __future__ import annotations

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.model import robots
from fallingcat.simulation import BatchSimulator, EventLocator

SIT = np.tile([0.0, 0.6, -1.2], 4)


def standing(contact):
    model = robots.quadruped()
    feet = tuple(frame.name for frame in model.frames)
    pose = np.eye(4)
    pose[2, 3] = 0.36
    ground = {
        "compliant": fc.contact.CompliantFloor(feet, (3e4, 3e4), (300.0, 300.0), friction=0.8),
        "hard": fc.contact.HardContacts(feet, friction=0.8),
        "none": None,
    }[contact]
    return model, model.state(pose=pose, joints=SIT, twist=[0.3, 0.1, 0.0, 0.2, 0.1, 0.3]), ground


@pytest.mark.parametrize("contact", ["compliant", "hard"])
def test_it_moves_as_simulate_does(contact):
    """To the last bit: the same compiled step."""
    model, start, ground = standing(contact)
    torques = np.linspace(-3.0, 3.0, model.n)
    sim = fc.Simulator(model, ground, dt=1e-3, state=start)
    integrator = {"compliant": "implicit", "hard": "moreau"}[contact]
    run = fc.simulate(model, start, 0.1, lambda t, s: torques, ground, integrator=integrator, dt=1e-3)
    for k in range(1, 101):
        sim.step(torques)
        np.testing.assert_array_equal(sim.state.joints, run.joints[k])
        np.testing.assert_array_equal(sim.state.pose, run.poses[k])
    assert sim.time == pytest.approx(0.1)


def test_flights_keep_their_momentum():
    """Under torques that change at every call."""
    model, start, _ = standing("none")
    model = fc.Model(model.name, model.base, model.links, model.joints, gravity=np.zeros(3))
    sim = fc.Simulator(model, state=start)
    before = fc.momentum(model, sim.state, "world")
    for k in range(200):
        sim.step(5.0 * np.sin(0.3 * k + np.arange(model.n)))
    np.testing.assert_allclose(fc.momentum(model, sim.state, "world"), before, atol=1e-11)
    assert np.abs(sim.state.rates).max() > 0.1


def test_forces_change_at_every_call():
    """As in a simulator, whose lanes round differently."""
    model, start, ground = standing("compliant")
    sim, simulator = (
        fc.Simulator(model, ground, state=start),
        BatchSimulator(model, [start], contact=ground, driven=True),
    )
    for k in range(60):
        torques = 20.0 * (SIT - sim.state.joints) - sim.state.rates + np.sin(0.1 * k)
        sim.step(torques, steps=2)
        simulator.step(2, forces=torques[None])
    np.testing.assert_allclose(sim.state.joints, simulator.state.joints[0], atol=1e-11)
    assert np.abs(sim.state.joints - start.joints).max() > 1e-3


def test_it_starts_anew():
    model, start, ground = standing("compliant")
    sim = fc.Simulator(model, ground, state=start)
    sim.step(np.ones(model.n), steps=20)
    first = sim.state.joints.copy()
    sim.reset(start)
    assert sim.time == 0.0
    np.testing.assert_array_equal(sim.state.pose, start.pose)
    sim.step(np.ones(model.n), steps=20)
    np.testing.assert_array_equal(sim.state.joints, first)
    with pytest.raises(fc.ModelError, match="m below the ground"):  # neutral legs reach through it
        sim.reset()
    flying = fc.Simulator(model, state=start)
    flying.reset()
    np.testing.assert_array_equal(flying.state.joints, model.neutral().joints)


def test_what_it_refuses():
    model, start, ground = standing("compliant")
    sim = fc.Simulator(model, ground, state=start)
    with pytest.raises(fc.ModelError, match=r"forces must have shape \(12,\), got"):
        sim.step(np.zeros(5))
    before = sim.state.joints.copy()
    with pytest.raises(fc.NumericsError, match="forces of 'quadruped' not finite: the step was not taken"):
        sim.step(np.full(12, np.nan))
    np.testing.assert_array_equal(sim.state.joints, before)
    sim.step(np.zeros(12))  # it goes on
    foot = fc.contact.CompliantFloor(ground.points[:1], (3e4, 3e4), (300.0, 300.0), friction=0.8)
    with pytest.raises(fc.ModelError, match="a simulator takes fixed steps"):
        fc.Simulator(model, foot, state=start, integrator=EventLocator())


@pytest.mark.parametrize("contact", ["compliant", "hard"])
def test_its_error_is_estimated_on_request(contact):
    """As that of a batch, from where it is, under the inputs that it has; neither it nor its next step changes."""
    model, start, floor = standing(contact)
    servo, push = fc.control.PositionServo(60.0, 2.0), 0.5 * np.ones(model.n)
    sims = [fc.Simulator(model, floor, servo, dt=2e-3, state=start) for _ in range(2)]
    batch = BatchSimulator(model, [start], servo, floor, dt=2e-3, driven=True)
    for sim in (*sims, batch):
        sim.set(targets=SIT + 0.1)
        sim.step(steps=50, forces=push if sim is not batch else push[None])
    found = sims[0].step_error(push, 60)
    np.testing.assert_array_equal(found, batch.step_error(60, push[None]))
    assert 1e-5 < found.angle < 0.1
    for sim in sims:
        sim.step(push, 10)
    np.testing.assert_array_equal(sims[0].state.joints, sims[1].state.joints)
    with pytest.raises(fc.ModelError, match="forces must have shape"):
        sims[0].step_error(np.ones(3))
