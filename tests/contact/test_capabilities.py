"""Integrators ask contacts for capabilities: a contact of one's own runs wherever its protocols allow it."""

import shutil
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from hunt_crossley import HuntCrossley
from support.emulated_gpu import emulated

import fallingcat as fc
from fallingcat.arrays import maximum
from fallingcat.contact import CompliantFloor, Contact, HardContacts, capabilities
from fallingcat.contact.capabilities import AdmissibleImpulses, HybridModes, LinearizedForces, offers
from fallingcat.contact.rigid.solvers.cone_projection import Cone
from fallingcat.simulation import BatchSimulator, Implicit, Moreau

BALL, DOG = fc.robots.free_body(), fc.robots.quadruped()
FEET = tuple(frame.name for frame in DOG.frames)
LAWS = (fc.control.JointDamper(1.0),)
FLOOR = HuntCrossley(("body",), 1e5, 0.3, 0.5)
GROUND = HuntCrossley(FEET, 3e5, 0.3, 0.7)


@dataclass(frozen=True)
class Wind(Contact):
    """Forces without modes or points."""

    force: float = 3.0
    points = ()
    ports = ("wind",)

    def begin(self, model, state):
        return (), np.zeros(0)

    def touching(self, mode):
        return frozenset()

    def forces(self, model, mode, state, memory, applied):
        return {"wind": self.force * np.ones(model.nv)}


def thrown(height=0.05, i=0):
    pose = np.eye(4)
    pose[2, 3] = height + 0.01 * i
    return BALL.state(pose=pose, twist=[0.5, 0.0, 0.0, 0.1, 0.2, 0.3])


def landing(i=0):
    pose = np.eye(4)
    pose[2, 3] = 0.03 + 0.002 * i - min(fc.contact.position(DOG, DOG.neutral(), foot)[2] for foot in FEET)
    return DOG.state(pose=pose, twist=[0.3, 0.0, 0.0, 0.0, 0.0, 0.0])


def off(run, fine):
    pairs = zip(run.state(-1)[:2], fine.state(-1)[:2], strict=True)
    return max(np.abs(a - b).max(initial=0.0) for a, b in pairs)


def test_what_contacts_offer():
    offered = {
        contact: [offers(contact, kind) for kind in (HybridModes, LinearizedForces, AdmissibleImpulses)]
        for contact in (FLOOR, CompliantFloor(("body",), (1.0, 1.0), (1.0, 1.0)), HardContacts(("body",)), Wind())
    }
    yes, no = True, False
    assert list(offered.values()) == [[yes, yes, no], [yes, yes, no], [yes, no, yes], [no, no, no]]
    assert not offers(None, HybridModes)
    assert capabilities._METHODS[HybridModes] == ("guards", "jump")


@pytest.mark.parametrize(
    ("integrator", "words"),
    [
        ("rkmk4", "'rkmk4' needs hybrid modes, which Wind does not offer: add guards, jump"),
        ("scipy", "'scipy' needs hybrid modes"),
        ("implicit", "'implicit' needs linearised forces, which Wind does not offer: add point_impedance, touchdown"),
        ("moreau", "'moreau' needs admissible impulses, which Wind does not offer: add time_stepping"),
    ],
)
def test_refusals_name_what_is_missing(integrator, words):
    with pytest.raises(fc.ModelError, match=words):
        fc.simulate(BALL, thrown(), 0.01, contact=Wind(), integrator=integrator)
    with pytest.raises(fc.ModelError, match="needs admissible impulses, which HuntCrossley does not offer"):
        fc.rollout(BALL, [thrown()], 0.01, contact=FLOOR, integrator="moreau")


def test_the_implicit_step_of_a_ball_converges_to_the_located_one():
    fine = fc.simulate(BALL, thrown(), 0.2, contact=FLOOR, integrator="rosenbrock")
    explicit = fc.simulate(BALL, thrown(), 0.2, contact=FLOOR, integrator="rkmk4", dt=1e-4)
    assert off(explicit, fine) < 1e-7
    runs = [fc.simulate(BALL, thrown(), 0.2, contact=FLOOR, integrator="implicit", dt=dt) for dt in (2e-3, 5e-4)]
    assert off(runs[0], fine) < 3e-5
    assert off(runs[1], fine) < 0.3 * off(runs[0], fine)
    # its ledger is that of the located run
    work = [dict(zip(run.ledger.ports, run.ledger.works[-1], strict=True)) for run in (runs[1], fine)]
    for port in ("floor normal", "floor tangential"):
        assert work[0][port] == pytest.approx(work[1][port], rel=2e-2)


def test_a_quadruped_lands_on_it_in_every_method():
    fine = fc.simulate(DOG, landing(), 0.1, LAWS, GROUND, integrator="rosenbrock")
    errors = [
        off(fc.simulate(DOG, landing(), 0.1, LAWS, GROUND, integrator="implicit", dt=dt), fine) for dt in (1e-3, 5e-5)
    ]  # steps of 1 ms that do not converge are taken in quarters: 2.8e-5 (1.2e-4 without that), 5.6e-6
    assert errors[0] < 1e-4
    assert errors[1] < 0.3 * errors[0]
    default = fc.simulate(DOG, landing(), 0.1, LAWS, GROUND)
    assert (default.integrator, default.status) == ("implicit", "finished")
    assert off(default, fine) < 1e-3
    last = default.contact_forces[-1]
    assert (last[:, 2] > 0.0).any()


def test_batches_are_single_runs():
    many, dt = [landing(i) for i in range(3)], 1e-3
    simulator = BatchSimulator(DOG, many, LAWS, GROUND, dt=dt, integrator=Implicit())
    simulator.step(60)
    rolled = fc.rollout(DOG, many, 0.06, LAWS, GROUND, dt=dt, integrator="implicit")
    simulator = fc.Simulator(DOG, GROUND, LAWS, dt=dt, state=many[1])
    for _ in range(60):
        simulator.step()
    for i, start in enumerate(many):
        one = fc.simulate(DOG, start, 0.06, LAWS, GROUND, dt=dt, integrator="implicit").state(-1)
        np.testing.assert_allclose(simulator.state.joints[i], one.joints, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(rolled.joints[-1, i], one.joints, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(simulator.state.joints, simulator.state.joints[1], rtol=0.0, atol=1e-12)


def test_robots_differ_in_friction_and_mass():
    many = [thrown()] * 3
    numbers = {"friction": np.array([0.0, 0.5, 0.5]), "body.mass": np.array([1.0, 1.0, 2.0])}
    simulator = BatchSimulator(BALL, many, None, FLOOR, dt=1e-3, integrator=Implicit(), parameters=numbers)
    simulator.step(200)
    speeds = simulator.state.twist[:, 0]
    assert speeds[0] > 0.4
    assert speeds[1] < 0.1
    assert abs(simulator.state.pose[1, 2, 3] - simulator.state.pose[2, 2, 3]) > 1e-3


def test_located_batches_take_it():
    many = [thrown(i=i) for i in range(2)]
    simulator = BatchSimulator(BALL, many, None, FLOOR, dt=1e-2, integrator=fc.simulation.EventLocator())
    simulator.step(20)
    for i, start in enumerate(many):
        fine = fc.simulate(BALL, start, 0.2, contact=FLOOR, integrator="rosenbrock").state(-1)
        np.testing.assert_allclose(simulator.state.pose[i], fine.pose, rtol=0.0, atol=1e-6)


@pytest.mark.skipif(shutil.which("g++") is None or sys.platform == "win32", reason="needs a C++ compiler")
def test_the_gpu_takes_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "cupy", emulated(tmp_path))
    many = [thrown(i=i) for i in range(3)]
    batches = [
        BatchSimulator(BALL, many, None, FLOOR, dt=1e-3, integrator=Implicit(2), target=target)
        for target in ("cpu", "cuda")
    ]
    for simulator in batches:
        simulator.step(150)
    one, other = (np.asarray(simulator.state.pose) for simulator in batches)
    assert (one[:, 2, 3] < 0.03).all()
    np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-12)


# contacts with memory and with cones of their own ---------------------------------------------------------------------


@dataclass(frozen=True)
class Tiles(HardContacts):
    """Hard contacts with a friction of each point."""

    frictions: tuple[float, ...] = ()

    def impulse_sets(self, model):
        return [Cone(3, mu) for mu in self.frictions]


def test_time_stepping_takes_the_sets_of_a_contact():
    model, points = fc.contact.corners(BALL, "body", (0.4, 0.4))
    start = model.state(twist=[1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    alike, same, tiles = (
        fc.simulate(model, start, 0.1, contact=floor, integrator=Moreau(), dt=1e-3).state(-1)
        for floor in (
            HardContacts(points, friction=0.3),
            Tiles(points, friction=0.3, frictions=(0.3,) * 4),
            Tiles(points, friction=0.3, frictions=(0.5, 0.5, 0.1, 0.1)),
        )
    )
    np.testing.assert_array_equal(alike.twist, same.twist)
    assert alike.twist[5] == pytest.approx(0.0, abs=1e-6)
    assert abs(tiles.twist[5]) > 1e-3  # the rougher side turns it


@dataclass(frozen=True)
class Sticky(HuntCrossley):
    """It remembers how deep each point was: a memory of one number for each point."""

    @property
    def memory_size(self):
        return len(self.points)

    def unloaded(self, i, site, p):
        return np.zeros(1)

    def anchor(self, point, ahead, friction, seen):
        _, inside = super().anchor(point, ahead, friction, seen)
        return maximum(-point.position[:1], point.anchor), inside


def test_a_memory_of_another_length_is_kept():
    floor = Sticky(("body",), 1e5, 0.3, 0.5)
    run = fc.simulate(BALL, thrown(), 0.2, contact=floor, integrator="implicit", dt=1e-3)
    plain = fc.simulate(BALL, thrown(), 0.2, contact=FLOOR, integrator="implicit", dt=1e-3)
    np.testing.assert_allclose(run.poses[-1], plain.poses[-1], rtol=0.0, atol=1e-12)
    deepest = -plain.poses[:, 2, 3].min()
    assert run.memory[-1] == pytest.approx(deepest, rel=0.05)


def test_a_robot_rests_on_it_and_does_not_start_deep_in_it():
    standing = DOG.standing(GROUND)
    run = fc.simulate(DOG, standing, 0.002, contact=GROUND)
    assert abs(run.contact_forces[0][:, 2].sum() / (9.81 * DOG.mass) - 1.0) < 1e-6
    deep = thrown(-0.1)
    with pytest.raises(fc.ModelError, match=r"starts 0.1 m below the ground, whose springs hold"):
        fc.simulate(BALL, deep, 0.01, contact=FLOOR)
    with pytest.raises(fc.ModelError, match=r"'body' of robot 1 starts 0.1 m below the ground"):
        BatchSimulator(BALL, [thrown(), deep], None, FLOOR, integrator=Implicit())
    for depth in (0.01, 0.1):  # the integral of K d^1.5
        assert FLOOR.elastic_energy(np.array([depth])) == pytest.approx(0.4 * 1e5 * depth**2.5, rel=2e-3)
