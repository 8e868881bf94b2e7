"""Targets, gains and controls that change at every call move a robot as laws that say so themselves."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest
from support.emulated_gpu import emulated

import fallingcat as fc
from fallingcat.arrays import concatenate, less, where
from fallingcat.compiler import compilation
from fallingcat.control import Actuators, JointDamper, Law, PositionServo
from fallingcat.model import robots
from fallingcat.simulation import BatchSimulator, Implicit, MomentumRungeKutta

DOG, SIT, DT, HELD = robots.quadruped(), np.tile([0.0, 0.6, -1.2], 4), 1e-3, 20
FEET = tuple(frame.name for frame in DOG.frames)
GROUNDS = {
    "implicit": fc.contact.CompliantFloor(FEET, (3e4, 3e4), (300.0, 300.0), friction=0.8),
    "moreau": fc.contact.HardContacts(FEET, friction=0.8),
}
KP, KD = 60.0, 2.0
TARGETS = SIT + 0.3 * np.random.default_rng(1).normal(size=(5, 12))


def standing(height: float = 0.36) -> fc.State:
    pose = np.eye(4)
    pose[2, 3] = height
    return DOG.state(pose=pose, joints=SIT, twist=[0.3, 0.1, 0.0, 0.2, 0.1, 0.3])


@dataclass(frozen=True)
class Scheduled(Law):
    """Servos whose targets are a table over time."""

    name: str = "scheduled"

    def forces(self, model, t, state, touching):
        targets = TARGETS[-1] + 0.0 * t
        for k in reversed(range(len(TARGETS) - 1)):
            targets = where(less(t, (k + 1) * HELD * DT), TARGETS[k], targets)
        return concatenate([np.zeros(model.m), KP * (targets - state.joints) - KD * state.rates])

    def impedance(self, model, state):
        K, D = np.zeros((2, model.nv, model.nv))
        for matrix, gain in ((K, KP), (D, KD)):
            np.fill_diagonal(matrix[model.m :, model.m :], gain)
        return K, D


@pytest.mark.parametrize("method", GROUNDS)
def test_targets_that_change_are_a_law_of_time(method):
    """Every 20 ms, with the servo foreseen within the step."""
    run = fc.simulate(DOG, standing(), len(TARGETS) * HELD * DT, Scheduled(), GROUNDS[method], integrator=method, dt=DT)
    sim = fc.Simulator(DOG, GROUNDS[method], PositionServo(KP, KD), dt=DT, state=standing())
    for targets in TARGETS:
        sim.step(targets=targets, steps=HELD)
    assert sim.time == pytest.approx(run.times[-1])
    np.testing.assert_allclose(sim.state.joints, run.joints[-1], atol=1e-12)
    np.testing.assert_allclose(sim.state.pose, run.poses[-1], atol=1e-12)
    assert np.abs(run.joints[-1] - SIT).max() > 0.05


def test_in_flight_momentum_is_kept_meanwhile():
    cat, rng = robots.two_cylinder_cat(), np.random.default_rng(2)
    start = cat.state(rates=[0.3, -0.2])
    sim, before = fc.Simulator(cat, laws=PositionServo(0.2, 0.02), state=start), fc.momentum(cat, start, "centroidal")
    state = start
    for targets in 0.5 * rng.normal(size=(6, 2)):
        sim.step(targets=targets, steps=20)
        state = fc.simulate(cat, state, 0.02, PositionServo(0.2, 0.02, targets), dt=DT).state(-1)
    np.testing.assert_allclose(sim.state.joints, state.joints, atol=1e-12)
    spin = fc.momentum(cat, sim.state, "centroidal")[3:]
    np.testing.assert_allclose(spin, before[3:], atol=1e-14)


def test_nothing_is_compiled_again(monkeypatch):
    """Neither for other targets, gains and forces, nor for a second robot with other gains."""
    about = {"dt": DT, "state": standing()}
    sim = fc.Simulator(DOG, GROUNDS["implicit"], PositionServo(KP, KD), **about)
    simulator = BatchSimulator(DOG, [standing()] * 2, PositionServo(KP, KD), GROUNDS["implicit"], dt=DT, driven=True)
    sim.step(targets=SIT)
    simulator.step(1, np.zeros((2, 12)))
    asked = []
    monkeypatch.setattr(compilation, "compiled", lambda *given, **how: asked.append(given))
    sim.step(np.ones(12), targets=TARGETS[0], kp=np.full(12, 80.0))
    sim.set(kd=np.full(12, 3.0))
    sim.step()
    simulator.step(3, np.ones((2, 12)), targets=TARGETS[:2], kd=np.full(12, 1.0))
    assert not asked


def test_gains_that_are_set_are_those_that_are_given():
    sims = [
        fc.Simulator(DOG, GROUNDS["implicit"], PositionServo(kp, kd, SIT), dt=DT, state=standing())
        for kp, kd in ((KP, KD), (90.0, 3.0))
    ]
    sims[0].set(kp=np.full(12, 90.0), kd=np.full(12, 3.0))
    for sim in sims:
        sim.step(steps=50)
    np.testing.assert_array_equal(sims[0].state.joints, sims[1].state.joints)


def test_each_robot_of_a_batch_has_its_own():
    """As alone, also after others have left."""
    simulator = BatchSimulator(DOG, [standing()] * 3, PositionServo(KP, KD), GROUNDS["implicit"], dt=DT)
    simulator.step(20, targets=TARGETS[:3], kp=np.linspace(50.0, 70.0, 3)[:, None] * np.ones(12))
    simulator.keep([0, 2])
    simulator.step(20)
    simulator.step(20, targets=SIT)
    for row, i in enumerate((0, 2)):
        sim = fc.Simulator(DOG, GROUNDS["implicit"], PositionServo(50.0 + 10.0 * i, KD), dt=DT, state=standing())
        sim.step(targets=TARGETS[i], steps=40)
        sim.step(targets=SIT, steps=20)
        np.testing.assert_allclose(simulator.state.joints[row], sim.state.joints, atol=1e-12)
    assert np.abs(simulator.state.joints[0] - simulator.state.joints[1]).max() > 1e-3


def test_robots_that_begin_with_gains_of_their_own_take_targets():
    laws = [[PositionServo(kp, KD, SIT)] for kp in (40.0, 80.0)]
    simulator = BatchSimulator(DOG, [standing()] * 2, laws, GROUNDS["implicit"], dt=DT)
    simulator.step(40, targets=TARGETS[0])
    for i, kp in enumerate((40.0, 80.0)):
        sim = fc.Simulator(DOG, GROUNDS["implicit"], PositionServo(kp, KD), dt=DT, state=standing())
        sim.step(targets=TARGETS[0], steps=40)
        np.testing.assert_allclose(simulator.state.joints[i], sim.state.joints, atol=1e-12)


def test_effort_limits_bound_servos():
    arm = robots.planar_arm()
    weak = replace(arm, joints=tuple(replace(joint, limits=fc.model.Limits(effort=2.0)) for joint in arm.joints))
    goal, ends = np.array([1.0, 0.0, 0.0]), []
    for model in (arm, weak):
        sim = fc.Simulator(model, laws=PositionServo(4e3, 40.0), dt=DT, integrator=Implicit())
        sim.step(targets=goal, steps=50)
        ends.append(sim.state.joints[0])
        run = fc.simulate(model, model.neutral(), 0.05, PositionServo(4e3, 40.0, goal), integrator="implicit", dt=DT)
        np.testing.assert_array_equal(sim.state.joints, run.joints[-1])
    assert ends[0] - ends[1] > 0.1


def test_controls_of_a_file_are_inputs():
    """MuJoCo's ``ctrl``."""
    arm = robots.planar_arm()
    servos = [
        fc.model.Actuator(f"servo {i}", name, "position", kp=50.0, kv=5.0) for i, name in enumerate(arm.joint_names)
    ]
    arm = replace(arm, actuators=(*servos[:2], fc.model.Actuator("motor", arm.joint_names[2], "motor")))
    sim = fc.Simulator(arm, laws=Actuators(), dt=DT, integrator=Implicit())
    sim.step(controls=[0.3, -0.2, 0.5], steps=100)
    law = Actuators((0.3, -0.2, 0.5))
    run = fc.simulate(arm, arm.neutral(), 0.1, law, integrator="implicit", dt=DT)
    np.testing.assert_array_equal(sim.state.joints, run.joints[-1])


def test_only_some_joints_and_several_servos():
    arm = robots.planar_arm()
    first, *rest = arm.joint_names
    servos = [
        PositionServo(50.0, 5.0, only=(first,), name="shoulder"),
        PositionServo(30.0, 3.0, only=tuple(rest[::-1])),
    ]
    sim = fc.Simulator(arm, laws=servos, dt=DT, integrator=Implicit())
    goal = {"shoulder": [0.4], "position servos": [0.1, 0.2]}
    sim.step(targets=goal, steps=100)
    whole = PositionServo([50.0, 30.0, 30.0], [5.0, 3.0, 3.0], [0.4, 0.2, 0.1])
    run = fc.simulate(arm, arm.neutral(), 0.1, whole, integrator="implicit", dt=DT)
    np.testing.assert_allclose(sim.state.joints, run.joints[-1], atol=1e-13)
    with pytest.raises(fc.ModelError, match="'targets' is an input of several laws: say targets="):
        sim.step(targets=[0.1])
    with pytest.raises(fc.ModelError, match="'kp' is an input of 'shoulder', 'position servos', not of 'elbow'"):
        sim.set(kp={"elbow": [1.0]})


@dataclass(frozen=True)
class Fan(Law):
    """A law of somebody else with an input of its own."""

    push: float = 0.0
    name: str = "fan"
    inputs = {"push": "push"}  # noqa: RUF012

    def forces(self, model, t, state, touching):
        return concatenate([np.zeros(model.m), self.push * np.ones(model.n)])


def test_a_law_of_yours_names_its_inputs():
    arm = robots.planar_arm()
    sim = fc.Simulator(arm, laws=Fan(), dt=DT, integrator=Implicit())
    sim.step(push=0.5, steps=50)
    run = fc.simulate(arm, arm.neutral(), 0.05, Fan(0.5), integrator="implicit", dt=DT)
    np.testing.assert_allclose(sim.state.joints, run.joints[-1], atol=1e-14)
    assert np.abs(run.joints[-1] - arm.neutral().joints).max() > 1e-4


def test_what_is_refused():
    sim = fc.Simulator(DOG, GROUNDS["implicit"], PositionServo(KP, KD, SIT), dt=DT, state=standing())
    simulator = BatchSimulator(DOG, [standing()] * 3, PositionServo(KP, KD, SIT), GROUNDS["implicit"], dt=DT)
    with pytest.raises(fc.ModelError, match=r"targets of 'position servos' must have shape \(12,\), got an array of"):
        sim.step(targets=np.zeros(5))
    with pytest.raises(fc.ModelError, match=r"must have shape \(12,\) or \(3, 12\), got an array of shape \(2, 12\)"):
        simulator.step(targets=np.zeros((2, 12)))
    before = sim.state.joints.copy()
    with pytest.raises(fc.NumericsError, match="targets of 'quadruped' not finite: the step was not taken"):
        sim.step(targets=np.full(12, np.nan))
    np.testing.assert_array_equal(sim.state.joints, before)
    sim.step()  # with the targets that it had
    assert np.isfinite(sim.state.joints).all()
    bad = np.tile(SIT, (3, 1))
    bad[1, 4] = np.nan
    with pytest.raises(fc.ModelError, match="targets of robot 1 must be finite"):
        simulator.step(targets=bad)
    with pytest.raises(fc.ModelError, match="no law takes 'aims' as an input: they take kp, kd, targets, velocities"):
        sim.step(aims=SIT)
    with pytest.raises(fc.ModelError, match=r"no law takes 'targets' as an input: give laws=fc.control.PositionServo"):
        fc.Simulator(DOG, GROUNDS["implicit"], JointDamper(1.0), state=standing()).step(targets=SIT)
    with pytest.raises(fc.ModelError, match="targets of 'position servos' must have shape"):
        fc.Simulator(DOG, laws=PositionServo(KP, KD, [0.1, 0.2]))


@dataclass(frozen=True)
class Wrong(Fan):
    inputs = {"push": "pull"}  # noqa: RUF012


def test_inputs_that_a_law_does_not_have_are_named():
    with pytest.raises(fc.ModelError, match="input 'push' of 'fan': its field 'pull' must hold numbers, got None"):
        fc.Simulator(robots.planar_arm(), laws=Wrong())


def test_a_vector_environment_takes_targets():
    """Robots that left numbers, and those that start anew, do not disturb others."""
    arm = robots.planar_arm()
    about = {"reward": lambda before, action, after: after.joints[:, 0], "laws": PositionServo(50.0, 5.0)}
    about |= {"start": lambda rng: arm.neutral(), "actions": (-np.ones(3), np.ones(3)), "horizon": 0.1}
    world = fc.simulation.VectorEnvironment(arm, 2, control=lambda action, state: {"targets": action}, **about)
    world.reset(seed=0)
    sims = [fc.Simulator(arm, laws=PositionServo(50.0, 5.0)) for _ in range(2)]
    actions = np.array([[0.3, -0.2, 0.1], [0.1, 0.2, -0.3]])
    for _ in range(3):
        seen, *_ = world.step(actions)
        for sim, action in zip(sims, actions, strict=True):
            sim.step(targets=action, steps=20)
    joints = slice(12, 15)
    np.testing.assert_allclose(seen[:, joints], [sim.state.joints for sim in sims], atol=1e-13)


def test_gains_that_explicit_steps_do_not_follow_are_refused():
    cat = robots.two_cylinder_cat()
    sim = fc.Simulator(cat, laws=PositionServo(0.2, 0.02), integrator=MomentumRungeKutta())
    sim.set(kp=np.full(2, 0.4))
    with pytest.raises(fc.ModelError, match=r"are too stiff for steps of 0\.001 s of 'momentum', stable up to"):
        sim.set(kp=np.full(2, 1e9))
    sim.step(targets=[0.1, 0.1], steps=10)
    assert np.isfinite(sim.state.joints).all()


@pytest.mark.skipif(shutil.which("g++") is None or sys.platform == "win32", reason="needs a C++ compiler")
def test_on_a_gpu(monkeypatch, tmp_path):
    """The CUDA text, compiled here, with arrays of its own."""
    monkeypatch.setitem(sys.modules, "cupy", emulated(tmp_path))
    cupy = sys.modules["cupy"]
    cat = robots.two_cylinder_cat()
    starts = [cat.state(rates=[0.1 * i, 0.2]) for i in range(3)]
    targets = 0.3 * np.random.default_rng(3).normal(size=(3, 2))
    here, there = (BatchSimulator(cat, starts, PositionServo(0.2, 0.02), dt=DT, target=x) for x in ("cpu", "cuda"))
    for simulator, send in ((here, np.asarray), (there, cupy.asarray)):
        simulator.step(3, targets=send(targets))
        simulator.step(2, targets=np.array([0.1, -0.1]), kp=np.linspace(0.1, 0.3, 3)[:, None] * np.ones(2))
        simulator.keep([2, 0])
        simulator.step(2)
    np.testing.assert_allclose(there.packed(), here.packed(), atol=1e-13)


def test_targets_that_are_no_numbers_break_one_robot():
    """Whose episode ends; the others go on as they would."""
    arm = robots.planar_arm()
    about = {"reward": lambda before, action, after: after.joints[:, 0], "laws": PositionServo(50.0, 5.0)}
    about |= {"start": lambda rng: arm.neutral(), "actions": (-np.ones(3), np.ones(3)), "horizon": 1.0}
    odd = np.array([[0.0], [np.nan]])
    worlds = [
        fc.simulation.VectorEnvironment(arm, 2, control=lambda action, state, x=x: {"targets": action + x}, **about)
        for x in (odd, 0.0 * odd[:1])
    ]
    ends = []
    for world in worlds:
        world.reset(seed=0)
        ends.append(world.step(np.full((2, 3), 0.2)))
    np.testing.assert_array_equal(ends[0][2], [False, True])
    np.testing.assert_array_equal(ends[0][4]["broken"], [False, True])
    np.testing.assert_allclose(ends[0][0][0], ends[1][0][0], atol=1e-14)
