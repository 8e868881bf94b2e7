"""Laws whose numbers are arguments of the code move as laws whose numbers are in it."""

from dataclasses import dataclass

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.control import EnergyController, Law, PolarSpring, RadialDamper, RadialSpring
from fallingcat.simulation.numbers import apart, tuned

SPRING = RadialSpring(2200.0, 0.1411)
LAWS = (SPRING, RadialDamper(20.0), EnergyController(9.0, 2.8382, SPRING), PolarSpring(6.0, 0.01))


@dataclass(frozen=True)
class Kept(Law):
    """A law of somebody else, who hides one of ours: its numbers stay in the code."""

    inner: Law

    @property
    def name(self):
        return self.inner.name

    def forces(self, model, t, state, touching):
        return self.inner.forces(model, t, state, touching)


def test_numbers_go_out_and_in_again():
    blank, numbers = apart(LAWS)
    assert tuned(blank, numbers.tolist()) == LAWS
    assert not apart(blank)[1].any()
    assert apart(tuned(blank, (numbers + 1.0).tolist()))[1].tolist() == (numbers + 1.0).tolist()


def test_laws_of_others_are_left_alone():
    kept = tuple(Kept(law) for law in LAWS)
    assert apart(kept)[0] == kept
    assert not len(apart(kept)[1])


def test_the_motion_is_the_same():
    hopper = fc.robots.revolute_hopper()
    floor = fc.contact.CompliantFloor(("foot",), (1e4, 1e4), (1e3, 1e3))
    pose = hopper.base.element(np.array([2.7676, 0.2574, -2.5243]))
    state = hopper.state(pose=pose, joints=[1.7802], twist=[-0.1919, 0.1263, 0.3301])
    ours, theirs = (fc.simulate(hopper, state, 0.3, laws, floor) for laws in (LAWS, tuple(Kept(law) for law in LAWS)))
    assert [event.name for event in ours.events] == [event.name for event in theirs.events]
    assert ours.poses[-1] == pytest.approx(theirs.poses[-1], abs=1e-8)
    assert ours.ledger.works[-1] == pytest.approx(theirs.ledger.works[-1], abs=1e-8)
    for i in range(0, len(ours), 50):
        one = ours.system.forces(ours.modes[i], 0.0, ours.state(i), ours.memory[i])
        for port, forces in one.items():
            assert ours.port_forces[port][i] == pytest.approx(forces, abs=1e-9 + 1e-11 * np.abs(forces).max())
