"""Laws whose numbers are arguments of the code move as laws whose numbers are in it."""

from dataclasses import dataclass

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.control import Law
from fallingcat.simulation.problem.law_parameters import split_parameters, tuned
from fallingcat.studies.hoppers import EnergyController, PolarSpring, RadialDamper, RadialSpring

SPRING = RadialSpring(2200.0, 0.1411)
LAWS = (SPRING, RadialDamper(20.0), EnergyController(9.0, 2.8382, SPRING), PolarSpring(6.0, 0.01))


@dataclass(frozen=True)
class Kept(Law):
    """A law of somebody else, who hides one of ours, and opts out: its numbers stay in the code."""

    inner: Law
    tunable = ()

    @property
    def name(self):
        return self.inner.name

    def forces(self, model, t, state, touching):
        return self.inner.forces(model, t, state, touching)


@dataclass(frozen=True)
class Wrapped(Kept):
    """The same without opting out."""

    tunable = None


@dataclass(frozen=True)
class Pull(Law):
    """A law of one's own, of every joint towards zero."""

    gain: float
    damping: float = 0.5
    name: str = "pull"

    def forces(self, model, t, state, touching):
        tau = -self.gain * np.sin(state.joints) - self.damping * state.rates
        return np.concatenate([np.zeros(model.m), tau])


class Branching(Pull):
    """The same, but it looks at a value."""

    def forces(self, model, t, state, touching):
        return super().forces(model, t, state, touching) if self.gain > 0.0 else np.zeros(model.nv)


class Looking(Pull):
    """The same, but it looks only while something touches."""

    def forces(self, model, t, state, touching):
        if "foot" in touching and float(self.gain) > 1e9:
            return np.zeros(model.nv)
        return super().forces(model, t, state, touching)


@dataclass(frozen=True)
class Rubbing(Pull):
    """Its dry friction is a number that decides which rows a step has."""

    def dry_friction(self, model):
        return np.full(model.n, self.damping)


HOPPER, CAT = fc.robots.revolute_hopper(), fc.robots.two_cylinder_cat()


def test_numbers_go_out_and_in_again():
    blank, numbers = split_parameters(LAWS, HOPPER)
    assert tuned(blank, numbers.tolist()) == LAWS
    assert not split_parameters(blank, HOPPER)[1].any()
    assert split_parameters(tuned(blank, (numbers + 1.0).tolist()), HOPPER)[1].tolist() == (numbers + 1.0).tolist()


def test_laws_that_opt_out_are_left_alone():
    kept = tuple(Kept(law) for law in LAWS)
    assert split_parameters(kept, HOPPER)[0] == kept
    assert not len(split_parameters(kept, HOPPER)[1])


def test_laws_of_others_are_taken_apart():
    wrapped, numbers = tuple(Wrapped(law) for law in LAWS), split_parameters(LAWS, HOPPER)[1]
    assert split_parameters(wrapped, HOPPER)[1].tolist() == numbers.tolist()
    assert tuned(split_parameters(wrapped, HOPPER)[0], numbers.tolist()) == wrapped
    assert split_parameters([Pull(2.0)], CAT)[1].tolist() == [2.0, 0.5]


@pytest.mark.parametrize("kind", [Branching, Looking, Rubbing])
def test_what_branches_on_its_numbers_keeps_them(kind):
    law = kind(2.0)
    assert split_parameters([law], CAT)[0] == (law,)
    state = CAT.state(joints=[0.3, 0.2], rates=[2.0, 1.0])
    run, other = (fc.simulate(CAT, state, 0.1, law) for law in (law, kind(3.0, damping=0.3)))
    assert run.status == other.status == "finished"
    assert np.abs(run.joints[-1] - other.joints[-1]).max() > 1e-4


def test_robots_differ_in_gains_of_a_law_of_ones_own():
    """They were refused: numbers were those of the library's laws only."""
    gains, start = [1.0, 2.0, 5.0], CAT.state(joints=[0.3, 0.2])
    simulator = fc.simulation.BatchSimulator(CAT, [start] * 3, [[Pull(k)] for k in gains], dt=1e-3)
    simulator.step(100)
    for i, k in enumerate(gains):
        alone = fc.simulation.BatchSimulator(CAT, [start], [Pull(k)], dt=1e-3)
        alone.step(100)
        np.testing.assert_array_equal(simulator.state.joints[i], alone.state.joints[0])
    with pytest.raises(fc.errors.ModelError, match="differ from those of the first"):
        fc.simulation.BatchSimulator(CAT, [start] * 2, [[Branching(1.0)], [Branching(2.0)]])


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
        one = ours.problem.forces(ours.modes[i], 0.0, ours.state(i), ours.memory[i])
        for port, forces in one.items():
            assert ours.port_forces[port][i] == pytest.approx(forces, abs=1e-9 + 1e-11 * np.abs(forces).max())
