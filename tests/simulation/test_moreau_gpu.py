"""Hard contacts on a GPU, which a few lines emulate here: the steps of the CPU, to rounding."""

import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest
from support.emulated_gpu import emulated

import fallingcat as fc
from fallingcat.compiler.cuda.column_loops import MAX_COMMON_ROUNDS, Rounds
from fallingcat.compiler.cuda.stages import Stage
from fallingcat.contact import HardContacts, joint_stops
from fallingcat.contact.rigid.solvers.proximal_newton import DIGITS, MAX_VELOCITY_ERROR
from fallingcat.contact.rigid.time_stepping.stepped_contacts import MAX_LAW_ERROR
from fallingcat.model import Passive
from fallingcat.simulation import BatchSimulator, DiagnosticKind

pytestmark = pytest.mark.skipif(shutil.which("g++") is None or sys.platform == "win32", reason="needs a C++ compiler")


@pytest.fixture(autouse=True)
def cupy(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "cupy", emulated(tmp_path))


def everything():
    """An arm with stops, dry friction and a gear that falls on a ground that is rough and throws back; 5 starts."""
    arm = fc.robots.planar_arm()
    joints = tuple(
        replace(joint, limits=fc.model.Limits(-2.0, limit), passive=Passive(friction=friction))
        for joint, limit, friction in zip(arm.joints, (2.0, 0.45, 2.0), (0.5, 0.0, 0.0), strict=True)
    )
    arm = replace(arm, joints=joints).close_loops(fc.model.Couple("gear", "joint3", "joint2", (0.0, -0.5)))
    many = [arm.state(joints=[1.2, x, -0.5 * x], rates=[1.0 + x, 8.0 * x, -4.0 * x]) for x in np.linspace(0.3, 0.44, 5)]
    floor = HardContacts(("end_effector",), height=1.2, friction=0.4, restitution=0.3, stops=joint_stops(arm))
    return arm, many, fc.control.JointDamper(0.01), floor


def landing(scene, count=3):
    """Robots above the ground whose joints move."""
    model, pose, joints, points, laws = scene
    rng, start = np.random.default_rng(1), model.state(pose=pose, joints=joints)
    many = [start._replace(rates=rng.normal(size=model.n)) for _ in range(count)]
    return model, many, laws, HardContacts(points, friction=0.8)


def dogs():
    dog, pose, joints = fc.robots.quadruped(), np.eye(4), np.tile([0.0, 0.6, -1.2], 4)
    pose[2, 3] = 0.34
    laws = fc.control.JointSpring(200.0, tuple(joints)), fc.control.JointDamper(5.0)
    return landing((dog, pose, joints, tuple(frame.name for frame in dog.frames), laws))


@pytest.mark.parametrize(("scene", "steps"), [(everything, 40), pytest.param(dogs, 20, marks=pytest.mark.slow)])
def test_steps_are_those_of_the_cpu(scene, steps):
    model, many, laws, floor = scene()
    batches = [BatchSimulator(model, many, laws, floor, dt=2e-3, target=target) for target in ("cpu", "cuda")]
    for simulator in batches:
        simulator.step(1)
    one, other = (simulator.packed() for simulator in batches)
    np.testing.assert_allclose(other, one, rtol=0.0, atol=1e-12 * np.abs(one).max())
    pushed = np.zeros(len(floor.points) + len(floor.stops), dtype=bool)
    for _ in range(steps):
        for simulator in batches:
            simulator.step(1)
        one, other = (simulator.packed() for simulator in batches)
        pushed |= np.any(batches[0].stepper.modes(one), axis=0)
        np.testing.assert_allclose(other, one, rtol=0.0, atol=1e-10 * np.abs(one).max())
    assert pushed[: len(floor.points)].any()
    assert pushed[len(floor.points) :].any() == bool(floor.stops)


@pytest.mark.parametrize("friction", [0.4, None])
def test_single_precision_meets_the_law(friction):
    """Poses to its rounding; no step is left as far from the law as a status would tell."""
    model, many, laws, floor = everything()
    floor = replace(floor, friction=friction)
    runs = [
        fc.rollout(model, many, 0.1, laws, floor, dt=2e-3, integrator="moreau", target=target, dtype=dtype)
        for target, dtype in (("cpu", "float64"), ("cuda", "float32"))
    ]
    assert {found.kind for run in runs for found in run.warnings} <= {
        DiagnosticKind.STEP_ERROR,
        DiagnosticKind.BELOW_GROUND,
    }  # 2 ms; legs without points
    np.testing.assert_allclose(runs[1].joints[-1], runs[0].joints[-1], rtol=0.0, atol=1e-4)
    assert DIGITS["float64"].rounds ** 2 * DIGITS["float64"].left < MAX_VELOCITY_ERROR < MAX_LAW_ERROR


def test_robots_of_their_own_mass_and_friction_move_as_single_runs():
    """On the CPU to the last bits, on the GPU to rounding; stops, dry friction and gears among them."""
    model, many, laws, floor = everything()
    masses, frictions = np.linspace(0.5, 2.0, 5), np.linspace(0.0, 1.0, 5)
    about = {"dt": 2e-3, "parameters": {"link3.mass": masses, "friction": frictions}}
    here, there = (BatchSimulator(model, many, laws, floor, target=target, **about) for target in ("cpu", "cuda"))
    for simulator in (here, there):
        simulator.step(40)
    np.testing.assert_allclose(there.packed(), here.packed(), rtol=0.0, atol=1e-10 * np.abs(here.packed()).max())
    for i in (0, 4):
        bodies = {"link3": replace(model.links[-1].body, mass=masses[i])}
        links = tuple(replace(link, body=bodies.get(link.name, link.body)) for link in model.links)
        own = replace(model, links=links), many[i], 0.08, laws, replace(floor, friction=frictions[i])
        alone = fc.simulate(*own, integrator="moreau", dt=2e-3)
        np.testing.assert_allclose(here.state.joints[i], alone.joints[-1], rtol=0.0, atol=1e-13)
        np.testing.assert_allclose(here.works[i], alone.ledger.works[-1], rtol=0.0, atol=1e-12)


def test_rounds_are_two_stages():
    """A few for all, then the others for those that are left; what comes before and after is not in them."""
    model, many, laws, floor = everything()
    kernel = BatchSimulator(model, many, laws, floor, dt=2e-3).stepper.on("cuda", "float32")[0]
    first, *between, last = kernel.stages.stages
    assert isinstance(first, Stage)
    rounds = [stage.most for stage in between if isinstance(stage, Rounds)]
    # restitution is solved for on its own, after the step without it
    assert rounds == 2 * [MAX_COMMON_ROUNDS, DIGITS["float32"].rounds - MAX_COMMON_ROUNDS]
    assert isinstance(last, Stage)
