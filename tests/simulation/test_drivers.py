"""One problem, one motion: every entry point takes the same default, and warnings are data."""

import json
from dataclasses import replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.contact import CompliantFloor, HardContacts
from fallingcat.control import JointDamper, JointSpring, SampledController
from fallingcat.errors import BrokenLawError, Interrupted
from fallingcat.model import Passive
from fallingcat.model.robots.random_tree import random_tree
from fallingcat.simulation import (
    BatchSimulator,
    Diagnostic,
    DiagnosticKind,
    Implicit,
    Moreau,
    StatusCode,
    default_method,
    defaults,
)
from fallingcat.simulation.diagnostics.accuracy import MAX_DEFAULT_ERROR
from fallingcat.simulation.outcome import as_data, from_data
from fallingcat.simulation.runner.one_by_one import OneByOne
from fallingcat.testing import check_drivers_agree

DOG = fc.robots.quadruped()
FEET = tuple(frame.name for frame in DOG.frames)
CROUCH = np.array([0.0, 0.6, -1.2] * 4)
HOLD = [JointSpring(200.0, tuple(CROUCH)), JointDamper(4.0)]
SOFT = CompliantFloor(FEET, (2e4, 2e4), (300.0, 300.0), friction=0.8)
BALL = fc.robots.free_body()


def landing(count, seed=0):
    rng, pose = np.random.default_rng(seed), np.eye(4)
    pose[2, 3] = 0.36
    return [DOG.state(pose=pose, joints=CROUCH, rates=0.5 * rng.normal(size=12)) for _ in range(count)]


def falling(height=0.01):
    pose = np.eye(4)
    pose[2, 3] = height
    return BALL.state(pose=pose, twist=[0.3, 0.0, -0.5, 1.0, 2.0, 0.0])


def some(model, count=2, seed=0):
    rng = np.random.default_rng(seed)
    return [model.random_state(rng) for _ in range(count)]


CAT, ARM = fc.robots.two_cylinder_cat(), fc.robots.planar_arm()
STICKY = replace(CAT, joints=tuple(replace(j, passive=Passive(friction=0.02, damping=5.0)) for j in CAT.joints))
PROBLEMS = {
    "flight": (CAT, some(CAT)),
    "flight, strong dampers": (CAT, some(CAT), JointDamper(10.0)),
    "arm": (ARM, some(ARM), [JointSpring(50.0), JointDamper(2.0)]),
    "arm, stiff": (ARM, some(ARM), [JointSpring(1e4), JointDamper(300.0)]),
    "compliant floor": (DOG, landing(2), HOLD, SOFT),
    "hard contacts": (DOG, landing(2), HOLD, HardContacts(FEET, friction=0.8)),
    "one point, compliant": (BALL, [falling()] * 2, None, CompliantFloor(("body",), (1e4, 1e4), (20.0, 20.0))),
    "one point, hard": (BALL, [falling()] * 2, None, HardContacts(("body",), friction=0.5, restitution=0.5)),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_entry_point_gives_the_same_motion(name):
    """Of nine ordinary problems the three defaults agreed on two."""
    report = check_drivers_agree(*PROBLEMS[name], duration=0.03)
    assert report.passed
    if name not in ("flight, strong dampers", "arm, stiff", "one point, compliant", "one point, hard"):
        assert report["simulator"].claimed


@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 40))])
def test_random_problems(seed):
    rng = np.random.default_rng(seed)
    model = random_tree(rng, int(rng.integers(1, 9)))
    states = some(model, 3, seed)
    points = tuple(rng.choice(model.link_names, size=min(3, len(model.link_names)), replace=False).tolist())
    contacts = (
        None,
        CompliantFloor(points, (3e3, 3e3), (60.0, 60.0), friction=0.5),
        HardContacts(points, friction=0.5),
    )
    angles = all(joint.kind.group.additive for joint in model.joints)
    springs = [JointSpring(float(rng.uniform(1.0, 50.0)))] if angles else []
    laws = [*springs, JointDamper(float(rng.uniform(0.1, 2.0)))]
    up = [state._replace(pose=lifted(model, state, points)) for state in states]
    check_drivers_agree(model, up, laws, contacts[seed % 3], duration=0.05, passive=False)


def lifted(model, state, points):
    """The pose in which the lowest point is a centimetre above the ground."""
    pose, low = state.pose.copy(), min(fc.link_pose(model, state, point)[2, 3] for point in points)
    pose[2, 3] += 0.01 - low if model.m == 6 else 0.0
    return pose


def test_a_driver_that_disagrees_is_found(monkeypatch):
    """The lie: what is stepped from outside takes another method, as it did."""
    monkeypatch.setattr("fallingcat.simulation.batch.batch_simulator.default_method", lambda *_: Implicit())
    with pytest.raises(BrokenLawError, match="'simulator'"):
        check_drivers_agree(CAT, some(CAT), duration=0.01)


def test_a_step_that_disagrees_is_found(monkeypatch):
    """The lie: the step as a function takes another method than a simulator."""
    monkeypatch.setattr("fallingcat.simulation.steps.step_function.default_method", lambda *_: Implicit())
    with pytest.raises(BrokenLawError, match="'step'"):
        check_drivers_agree(CAT, some(CAT), duration=0.01)


def test_flights_of_batches_keep_their_momentum():
    """Angular momentum of a cat drifted by 5e-15 in simulate, 5e-12 in rollout and 4e-3 in a simulator."""
    start = CAT.state(joints=[0.4, 0.3], rates=[1.0, -0.5], twist=[0.1, 0.0, 0.2, 1.0, 0.5, 0.2])
    simulator = BatchSimulator(CAT, [start])
    spins = [fc.momentum(CAT, start, "centroidal")[3:]]
    simulator.step(1000)
    spins += [fc.momentum(CAT, simulator.state.at(0), "centroidal")[3:]]
    spins += [fc.simulate(CAT, start, 1.0).momenta("centroidal")[-1, 3:]]
    assert max(np.abs(spin - spins[0]).max() for spin in spins) < 1e-13 * np.abs(spins[0]).max()


def test_divided_flights_are_those_of_every_entry_point():
    """Dampers beside dry friction ask for shorter steps: what is stepped from outside took ``implicit``, 4e-3 away."""
    start = STICKY.state(rates=[1.0, -0.5], twist=[0.1, 0.0, 0.2, 1.0, 0.5, 0.2])
    report = check_drivers_agree(STICKY, [start, STICKY.state(rates=[0.2, 3.0])], duration=0.05, dt=1e-2)
    assert report["simulator"].claimed
    simulator = BatchSimulator(STICKY, [start], dt=1e-2)
    simulator.step(30)
    spins = [fc.momentum(STICKY, state, "centroidal")[3:] for state in (start, simulator.state.at(0))]
    assert np.abs(spins[1] - spins[0]).max() < 1e-13 * np.abs(spins[0]).max()


def test_preferences_are_those_of_the_table():
    """docs/guides/choosing_an_integrator.md has the same rows as examples."""
    problem = fc.simulation.build_problem(DOG, fc.State.stack(landing(1)), HOLD, SOFT)
    assert [method.name for method in defaults.preferred(problem, landing(1)[0], None)] == ["implicit", "rosenbrock"]
    hard = replace(problem, contact=HardContacts(("front_left_foot",)))
    assert isinstance(default_method(hard, landing(1)[0], None), Moreau)
    assert default_method(hard, landing(1)[0], None, lambda method: method.name == "scipy").name == "implicit"


def test_warnings_are_records():
    hard = CompliantFloor(("body",), (1e5, 1e5), (0.0, 0.0), friction=None)
    run = fc.simulate(BALL, falling(0.05), 0.5, contact=hard, integrator="rkmk4", dt=1e-2)
    assert run.code is StatusCode.FINISHED
    (found,) = run.warnings
    assert found.kind is DiagnosticKind.ENERGY_BALANCE
    assert found.value > found.limit == 0.01
    assert run.status == f"finished, but {found}"


def test_all_warnings_are_there_not_the_first_alone():
    """A box in steps that are too long for its rebound, and whose error is large."""
    box, points = fc.contact.corners(BALL, "body", [(x, y, -0.05) for x in (0.1, -0.1) for y in (0.1, -0.1)])
    floor = CompliantFloor(points, (1e5, 1e5), (0.0, 1.0), friction=0.5)
    pose = np.eye(4)
    pose[2, 3] = 0.07
    start = box.state(pose=pose, twist=[0.5, 0.0, 0.0, 2.9, 2.0, 1.0])
    run = fc.simulate(box, start, 0.3, contact=floor, dt=8e-3)
    kinds = [found.kind for found in run.warnings]
    assert kinds[:1] == [DiagnosticKind.REBOUND]
    assert DiagnosticKind.STEP_ERROR in kinds
    assert all(str(found) in run.status for found in run.warnings)
    many = fc.rollout(box, [start] * 2, 0.3, contact=floor, dt=8e-3)
    rebound = next(found for found in many.warnings if found.kind is DiagnosticKind.REBOUND)
    assert rebound.robots.tolist() == [0, 1]


def test_codes_of_runs():
    event = fc.Event("later", lambda t, state: t - 0.01, terminal=True)
    assert fc.simulate(CAT, CAT.neutral(), 0.1, events=[event]).code is StatusCode.EVENT
    broken = fc.simulate(ARM, ARM.state(rates=[1.0, 0.0, 0.0]), 1.0, JointSpring(1e6), integrator="rkmk4", dt=1e-2)
    assert broken.code is StatusCode.FAILED
    assert broken.reason.startswith("stopped after")
    many = fc.rollout(ARM, [ARM.state(rates=[1.0, 0.0, 0.0])] * 2, 1.0, JointSpring(1e6), integrator="rkmk4", dt=1e-2)
    assert many.code is StatusCode.FINISHED
    assert many.codes.tolist() == [StatusCode.FAILED] * 2
    (found,) = many.warnings
    assert (found.kind, found.robots.tolist()) == (DiagnosticKind.NOT_FINITE, [0, 1])


def test_files_keep_codes_and_warnings(tmp_path):
    hard = CompliantFloor(("body",), (1e5, 1e5), (0.0, 0.0), friction=None)
    run = fc.simulate(BALL, falling(0.05), 0.5, contact=hard, integrator="rkmk4", dt=1e-2)
    run.save(tmp_path / "run.npz")
    back = fc.Trajectory.load(tmp_path / "run.npz", BALL)
    assert (back.code, back.status) == (run.code, run.status)
    assert [vars(found) for found in back.warnings] == [vars(found) for found in run.warnings]


def test_warnings_of_batches_are_plain_data_too():
    """Those that name robots could not be written."""
    found = Diagnostic(DiagnosticKind.NOT_FINITE, "broken", advice="smaller steps", robots=np.array([0, 3]))
    (back,) = from_data(json.loads(json.dumps(as_data([found]))))
    assert (back.kind, str(back), back.robots.tolist()) == (found.kind, str(found), [0, 3])
    assert np.isnan(back.value)


def test_robots_that_an_interrupt_left_out_are_not_finite():
    """They were said to be, though their numbers are NaN."""
    floor, calls = HardContacts(("body",)), []

    def once(share):
        calls.append(share)
        raise KeyboardInterrupt

    problem = fc.simulation.build_problem(BALL, fc.State.stack([falling()] * 2), None, floor)
    with pytest.raises(Interrupted) as stopped:
        OneByOne(
            problem, fc.simulation.RKMK4(), fc.State.stack([falling()] * 2), np.array([0.0, 0.01]), 1e-3, once
        ).result()
    assert stopped.value.result.finite.tolist() == [True, False]
    assert np.isnan(stopped.value.result.rates[-1, 1]).all()
    assert np.isnan(stopped.value.result.poses[-1, 1, :3]).all()


def test_touchdowns_of_time_stepping_are_events():
    run = fc.simulate(DOG, landing(1)[0], 0.2, HOLD, SOFT)
    names = [event.name for event in run.events]
    assert run.integrator == "implicit"
    assert all(any(foot in name for name in names if name.startswith("touchdown")) for foot in FEET)


def test_methods_that_locate_events_roll_out_robot_by_robot():
    """Contacts of rules switched at the ends of steps, so their times were right to the step alone."""
    starts, floor = [falling(0.01), falling(0.03)], HardContacts(("body",), friction=0.5, restitution=0.8)
    many = fc.rollout(BALL, starts, 0.2, contact=floor, dt=1e-3, every=50)
    assert (many.integrator, many.poses.shape) == ("rkmk4", (5, 2, 4, 4))
    for i, start in enumerate(starts):
        alone = fc.simulate(BALL, start, 0.2, contact=floor, dt=1e-3)
        np.testing.assert_allclose(many.poses[-1, i], alone.poses[-1], atol=1e-12)
        np.testing.assert_allclose(many.works[-1, i], alone.ledger.works[-1], atol=1e-12)


def test_sampled_laws_of_each_robot_have_their_own_record():
    law = SampledController([JointSpring(2.0)], rate=100.0)
    floor = HardContacts((CAT.link_names[0],), friction=0.5)
    starts = [state._replace(pose=lifted(CAT, state, floor.points)) for state in some(CAT, 2)]
    many = fc.rollout(CAT, starts, 0.05, law, floor, integrator="rkmk4", dt=1e-3, passive=False)
    for i, start in enumerate(starts):
        alone = fc.simulate(CAT, start, 0.05, law, floor, integrator="rkmk4", dt=1e-3, passive=False)
        np.testing.assert_allclose(many.joints[-1, i], alone.joints[-1], atol=1e-12)


def late_landing():
    """A light box that tumbles onto a stiff floor after 0.27 s, long after the first 250 steps."""
    box, corners = fc.contact.corners(
        fc.robots.free_body(body=fc.Body(0.5, np.zeros(3), 5e-4 * np.eye(3))),
        "body",
        [(x, y, -0.05) for x in (0.05, -0.05) for y in (0.05, -0.05)],
    )
    floor = CompliantFloor(corners, (1e5, 1e5), (100.0, 100.0), friction=0.3)
    pose = fc.lie.SE3().exp(np.array([0.0, 0.0, 0.5, 0.2, 0.3, 0.0]))
    return box, [box.state(pose=pose, twist=[1.0, 0.3, -0.5, 1.0, 2.0, 3.0])], None, floor


def test_errors_that_are_large_late_make_rollouts_finer_too():
    """Rollouts chose their steps by the first 250 alone, and were in steps of 1 ms here."""
    box, starts, _, floor = late_landing()
    given, chosen = (fc.rollout(box, starts * 2, 0.35, contact=floor, dt=dt) for dt in (1e-3, None))
    assert given.error_estimate.relative > MAX_DEFAULT_ERROR >= chosen.error_estimate.relative
    assert check_drivers_agree(box, starts, contact=floor, duration=0.35).passed


@pytest.mark.parametrize("dt", [None, 2e-3])
def test_durations_that_are_no_whole_number_of_steps(dt):
    """Rollouts stretched their steps, single runs end with a shorter one."""
    run = fc.simulate(DOG, landing(1)[0], 0.0503, HOLD, SOFT, dt=dt)
    many = fc.rollout(DOG, landing(2), 0.0503, HOLD, SOFT, dt=dt, every=1)
    np.testing.assert_array_equal(many.times, run.times)
    np.testing.assert_array_equal(many.poses[:, 0], run.poses)


@pytest.mark.parametrize(("rate", "latency"), [(300.0, 0.0), (230.0, 1.7e-3)])
def test_samples_between_the_steps_of_a_rollout(rate, latency):
    """Rollouts refused controllers whose period is no whole number of steps."""
    held = SampledController([JointSpring(20.0), JointDamper(1.0)], rate, latency)
    run = fc.simulate(ARM, some(ARM)[0], 0.05, held, dt=1e-3)
    many = fc.rollout(ARM, some(ARM), 0.05, held, dt=1e-3)
    np.testing.assert_allclose(many.joints[-1, 0], run.joints[-1], atol=1e-12)
