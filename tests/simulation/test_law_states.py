"""Laws with a state of their own in steps that locate nothing: order of the state, batches, floors, GPUs."""

import shutil
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from hunt_crossley import HuntCrossley
from integral_law import Integral
from support.emulated_gpu import emulated

import fallingcat as fc
from fallingcat.arrays import exp
from fallingcat.control import Law
from fallingcat.simulation import BatchSimulator, EventLocator, Implicit, Moreau

ARM, BALL = fc.robots.planar_arm(), fc.robots.free_body()
SWING = ARM.state(joints=[0.5, 0.3, -0.2], rates=[1.0, -0.5, 0.3])
LAW = Integral(8.0)
POSE = np.eye(4)
POSE[2, 3] = 0.05
THROWN = BALL.state(pose=POSE, twist=[0.5, 0.0, 0.0, 0.1, 0.2, 0.3])


@dataclass(frozen=True)
class Filter(Law):
    """A force along z that follows ``wanted`` with a pole faster than steps, and knows its own future."""

    pole: float = 5000.0
    wanted: float = 4.0
    name: str = "filter"

    def memory_size(self, model):
        return 1

    def memory_rate(self, model, t, state):
        return self.pole * (self.wanted - self.memory)

    def after(self, model, t, state, period):
        return self.wanted + (self.memory - self.wanted) * exp(-self.pole * period)

    def forces(self, model, t, state, touching):
        return np.concatenate([np.zeros(2), self.memory, np.zeros(model.nv - 3)])


@dataclass(frozen=True)
class Held(Law):
    """It begins with the height of the base, and pushes it along x by that."""

    name: str = "held"

    def memory_size(self, model):
        return 1

    def begin(self, model, state):
        return state.pose[2, 3:4]

    def forces(self, model, t, state, touching):
        return np.concatenate([self.memory, np.zeros(model.nv - 1)])


@dataclass(frozen=True)
class Lift(Law):
    """A force along z by the integral of the height, of a body that does not turn: a linear motion."""

    gain: float = 400.0
    name: str = "lift"

    def memory_size(self, model):
        return 1

    def memory_rate(self, model, t, state):
        return state.pose[2, 3:4] + 0.1 * state.twist[2:3] - 0.01 * np.cos(40.0 * t)

    def forces(self, model, t, state, touching):
        return np.concatenate([np.zeros(2), -self.gain * self.memory, np.zeros(3)])


LIFT = Lift()


def ends(integrator, dt, contact=None, law=LIFT, duration=0.2):
    start = BALL.state(pose=POSE, twist=[0.0, 0.0, 0.4, 0.0, 0.0, 0.0])
    run = fc.simulate(BALL, start, duration, law, contact, integrator=integrator, dt=dt)
    return np.array([run.poses[-1, 2, 3], run.twists[-1, 2], run.law_memory(law.name)[-1, 0]])


FAR = fc.contact.HardContacts(("body",), height=-9.0)


@pytest.mark.parametrize(("integrator", "contact", "order"), [(Implicit(), None, 2), (Moreau(), FAR, 1)])
def test_order(integrator, contact, order):
    """Beside RKMK4: of height, velocity and state of the law."""
    fine = ends("rkmk4", 1e-4)
    errors = np.array([np.abs(ends(integrator, dt, contact) - fine) for dt in (4e-3, 2e-3)])
    np.testing.assert_allclose(np.log2(errors[0] / errors[1]), order, atol=0.15)
    assert (errors > 1e-9).all()


def test_flights_keep_their_momentum_to_rounding():
    cat = fc.robots.two_cylinder_cat()
    start, law = cat.state(joints=[0.3, 0.2], rates=[1.0, -0.5]), Integral(2.0)
    fine = fc.simulate(cat, start, 0.4, law, integrator="rkmk4", dt=2e-4)
    errors = []
    for dt in (2e-2, 1e-2):
        run = fc.simulate(cat, start, 0.4, law, dt=dt)
        assert run.integrator == "momentum"
        spin = fc.momentum(cat, run.state(-1), "centroidal") - fc.momentum(cat, start, "centroidal")
        assert np.abs(spin[3:]).max() < 1e-14
        errors.append(
            [
                np.abs(a[-1] - b[-1]).max()
                for a, b in ((run.joints, fine.joints), (run.law_memory("integral"), fine.law_memory("integral")))
            ]
        )
    np.testing.assert_allclose(np.log2(np.divide(*errors)), 5.0, atol=0.4)
    many = fc.rollout(cat, [start] * 2, 0.4, law, dt=1e-2)
    np.testing.assert_array_equal(many.joints[-1, 1], run.joints[-1])


def test_on_floors_it_is_the_located_motion():
    floor, law = fc.contact.CompliantFloor(("body",), (1e4, 1e4), (40.0, 40.0)), Lift(30.0)
    fine = ends("rosenbrock", None, floor, law, 0.25)
    errors = [np.abs(ends("implicit", dt, floor, law, 0.25) - fine).max() for dt in (4e-4, 1e-4)]
    assert errors[0] < 5e-3
    assert errors[1] < 0.4 * errors[0]
    start = BALL.state(pose=POSE, twist=[0.0, 0.0, 0.4, 0.0, 0.0, 0.0])
    located = BatchSimulator(BALL, [start] * 2, law, floor, dt=1e-2, integrator=EventLocator())
    located.step(25)
    np.testing.assert_allclose(located.state.pose[1, 2, 3], fine[0], rtol=0.0, atol=1e-6)


def test_a_contact_and_a_law_of_ones_own_run_in_batches():
    floor = HuntCrossley(("body",), 1e5, 0.3, 0.5)
    many = [THROWN] * 3
    laws = [[Filter(wanted=w), Held()] for w in (0.0, 2.0, 4.0)]
    simulator = BatchSimulator(BALL, many, laws, floor, dt=1e-3, integrator=Implicit())
    simulator.step(150)
    for i, own in enumerate(laws):
        one = fc.simulate(BALL, many[i], 0.15, own, floor, integrator="implicit", dt=1e-3)
        np.testing.assert_allclose(simulator.state.pose[i], one.poses[-1], rtol=0.0, atol=1e-12)
        assert one.law_memory("filter")[-1] == pytest.approx(own[0].wanted, abs=1e-9)
        assert one.law_memory("held")[-1] == pytest.approx(0.05)
    fine = fc.simulate(BALL, many[2], 0.15, laws[2], floor, integrator="rosenbrock")
    np.testing.assert_allclose(simulator.state.pose[2], fine.poses[-1], rtol=0.0, atol=5e-5)


def test_hard_contacts_and_environments_take_them():
    floor, laws = fc.contact.HardContacts(("body",), friction=0.5), [Filter(wanted=3.0)]
    run = fc.rollout(BALL, [THROWN] * 2, 0.2, laws, floor, dt=1e-3, integrator="moreau")
    fine = fc.simulate(BALL, THROWN, 0.2, laws, floor, integrator="rkmk4", dt=2e-4)
    np.testing.assert_allclose(run.poses[-1, 1], fine.poses[-1], rtol=0.0, atol=2e-3)
    simulator = BatchSimulator(ARM, [SWING] * 2, [LAW], dt=1e-3, integrator=Implicit())
    simulator.step(10)
    simulator.reset([1], [SWING])
    assert np.asarray(simulator._series().memory)[0].any()
    assert not np.asarray(simulator._series().memory)[1].any()


def test_environments_take_them():
    environment = pytest.importorskip("fallingcat.simulation.environment")
    env = environment.VectorEnvironment(
        ARM,
        3,
        lambda rng: SWING,
        lambda before, action, after: np.zeros(3),
        actions=([-1.0] * 3, [1.0] * 3),
        laws=[LAW],
    )
    env.reset(seed=1)
    env.step(np.ones((3, 3)))
    simulator = BatchSimulator(ARM, [SWING] * 3, [LAW], driven=True)
    simulator.step(20, np.ones((3, 3)))
    np.testing.assert_array_equal(env.simulator.state.joints, simulator.state.joints)
    assert np.asarray(env.simulator._series().memory).any()


@pytest.mark.skipif(shutil.which("g++") is None or sys.platform == "win32", reason="needs a C++ compiler")
def test_the_gpu_takes_them(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "cupy", emulated(tmp_path))
    floor = HuntCrossley(("body",), 1e5, 0.3, 0.5)
    batches = [
        BatchSimulator(BALL, [THROWN] * 3, [Filter(), Held()], floor, dt=1e-3, integrator=Implicit(2), target=target)
        for target in ("cpu", "cuda")
    ]
    for simulator in batches:
        simulator.step(100)
    one, other = (np.asarray(simulator.state.pose) for simulator in batches)
    np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-12)
