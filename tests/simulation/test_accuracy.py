"""Error estimates of fixed steps, and default steps that meet them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.model import Limits, Passive, robots
from fallingcat.simulation.diagnostics.accuracy import (
    MAX_DEFAULT_ERROR,
    MAX_ERROR,
    MIN_MOTION,
    STEPS_PER_PART,
    Checkpoints,
    ErrorEstimate,
    Errors,
    _repeated_count,
    _selected_parts,
    halvings,
)

SIT = tuple(np.tile([0.0, 0.6, -1.2], 4))


def landing(height=0.36):
    model = robots.quadruped()
    feet = tuple(frame.name for frame in model.frames)
    laws = fc.control.JointSpring(200.0, SIT), fc.control.JointDamper(5.0)
    floor = fc.contact.CompliantFloor(feet, (3e4, 3e4), (300.0, 300.0), friction=0.8)
    pose = np.eye(4)
    pose[2, 3] = height
    return model, model.state(pose=pose, joints=SIT, twist=[0.5, 0.1, 0.0, 0.2, 0.1, 0.3]), laws, floor


def pendulum():
    """A rod that swings: its exact motion is that of very fine steps."""
    arm = robots.planar_arm()
    return arm, arm.state(joints=[1.0, 0.5, -0.3], rates=[3.0, -4.0, 5.0])


def turning():
    """A free body that spins about no axis of symmetry: energy alone does not show where it points."""
    body = robots.free_body(body=fc.Body(1.0, np.zeros(3), np.diag([1.0, 1.05, 1.1])))
    return body, body.state(twist=[0.0, 0.0, 0.0, 3.0, 4.0, 5.0])


def test_the_estimate_of_a_smooth_method_is_its_error():
    """Order 4: within a factor of three, where errors are far above rounding."""
    arm, start = pendulum()
    fine = fc.simulate(arm, start, 0.4, integrator="rkmk4", dt=1e-4)
    for dt in (4e-3, 8e-3):
        run = fc.simulate(arm, start, 0.4, integrator="rkmk4", dt=dt)
        true = np.abs(run.joints[-1] - fine.joints[-1]).max()
        assert true / 3.0 < run.error_estimate.angle < 3.0 * true
        assert run.error_estimate.position == 0.0


@pytest.mark.parametrize("duration", [0.2, 1.5])
@pytest.mark.parametrize("dt", [1e-3, 2e-3, 4e-3])
def test_the_estimate_bounds_the_error_of_a_landing(dt, duration):
    """Of a robot that comes to rest: at least the error, at most 30 times as much, and it grows with the steps."""
    model, start, laws, floor = landing()
    run = fc.simulate(model, start, duration, laws, floor, dt=dt)
    fine = fc.simulate(model, start, duration, laws, floor, dt=dt / 32.0, every=32)
    way = np.linalg.norm(run.poses[-1, :3, 3] - fine.poses[-1, :3, 3])
    angle = np.abs(run.joints[-1] - fine.joints[-1]).max()
    assert way <= run.error_estimate.position <= 30.0 * way
    assert angle <= run.error_estimate.angle <= 30.0 * angle


def test_errors_that_are_large_are_reported():
    model, start, laws, floor = landing(0.5)
    coarse = fc.simulate(model, start, 0.4, laws, floor, dt=2e-2)
    assert coarse.error_estimate.relative > MAX_ERROR
    assert coarse.status.startswith("finished, but")
    turned = fc.simulate(*turning(), 0.4, integrator="semi_implicit", dt=0.02)
    assert "the estimated error of steps of 0.02 s is" in turned.status
    assert fc.simulate(*pendulum(), 0.4, integrator="rkmk4", dt=1e-3).status == "finished"


def test_default_steps_meet_the_tolerance():
    """A light box that is thrown on a stiff floor: 1 ms would not do, and samples stay those of the default step."""
    body = fc.Link("box", fc.Body(0.5, (0.0, 0.0, 0.0), 5e-4 * np.eye(3)))
    at = fc.lie.SE3().exp
    corners = tuple(
        fc.model.Frame(f"c{x}{y}", "box", at([0.05 * x, 0.05 * y, -0.05, 0.0, 0.0, 0.0]))
        for x in (-1, 1)
        for y in (-1, 1)
    )
    model = fc.Model("box", fc.lie.SE3(), (body,), frames=corners)
    floor = fc.contact.CompliantFloor(tuple(c.name for c in corners), (1e5, 1e5), (100.0, 100.0), friction=0.3)
    start = model.state(pose=at([0.0, 0.0, 0.08, 0.2, 0.3, 0.0]), twist=[1.0, 0.3, -0.5, 1.0, 2.0, 3.0])
    given, chosen = (fc.simulate(model, start, 0.2, contact=floor, dt=dt) for dt in (1e-3, None))
    fine = fc.simulate(model, start, 0.2, contact=floor, dt=1e-6, every=1000)
    off = [np.linalg.norm(run.poses[-1, :3, 3] - fine.poses[-1, :3, 3]) for run in (given, chosen)]
    assert given.error_estimate.relative > MAX_DEFAULT_ERROR >= chosen.error_estimate.relative
    assert off[1] < off[0]
    assert off[1] < MAX_DEFAULT_ERROR * np.linalg.norm(fine.poses[-1, :3, 3] - fine.poses[0, :3, 3])
    np.testing.assert_allclose(chosen.times[:-1], np.arange(len(chosen) - 1) * chosen.times[1], atol=1e-12)


def test_runs_that_events_end_meet_the_tolerance_too():
    model, start, laws, floor = landing(0.5)
    low = fc.Event("low", lambda t, state: state.pose[2, 3] - 0.31, terminal=True)
    run = fc.simulate(model, start, 1.0, laws, floor, events=[low])
    assert run.status == "stopped by the event 'low'"
    assert run.error_estimate.relative <= MAX_DEFAULT_ERROR


@pytest.mark.parametrize(("kp", "kd"), [(200.0, 2.0), (2000.0, 20.0)])
def test_the_estimate_of_a_function_is_the_error_of_its_steps(kp, kd):
    """One that steps hold, and one that they foresee; what never answers twice in the same way is sampled, in order."""
    arm, calls = robots.planar_arm(), []
    start, law = arm.state(joints=[0.6] * arm.n), fc.control.Impedance(np.zeros(arm.n), kp, kd)

    def drive(t, state):
        return -kp * state.joints - kd * state.rates

    def counting(t, state):
        calls.append(t)
        return drive(t, state) + 1e-9 * len(calls)

    run, other = (fc.simulate(arm, start, 0.2, f, integrator="implicit", dt=2e-3) for f in (drive, counting))
    fine = fc.simulate(arm, start, 0.2, law, integrator="rkmk4", dt=5e-5)
    off = np.abs(run.joints[-1] - fine.joints[-1]).max()
    assert off < run.error_estimate.angle < 6.0 * off
    np.testing.assert_allclose(calls[-100:], 2e-3 * np.arange(100), atol=1e-12)
    assert max(calls[:-100]) < 1e-5  # at the start it is tried out
    assert other.error_estimate.angle > 0.0  # of steps under the forces that were recorded


@pytest.mark.parametrize("method", ["rkmk4", "semi_implicit"])
def test_explicit_steps_of_functions_and_with_events_are_estimated(method):
    arm, start = pendulum()
    spring = fc.control.JointSpring(20.0)
    high = fc.Event("high", lambda t, state: state.joints[0] - 10.0)
    fine = fc.simulate(arm, start, 0.2, spring, integrator="rkmk4", dt=5e-5).joints[-1]
    for laws, events in ((lambda t, s: -20.0 * s.joints, ()), (spring, [high])):
        run = fc.simulate(arm, start, 0.2, laws, integrator=method, dt=4e-3, events=events)
        off = np.abs(run.joints[-1] - fine).max()
        assert 0.5 * off < run.error_estimate.angle < 10.0 * off


def test_functions_on_floors_are_estimated_as_laws_are():
    model, start, _, floor = landing()
    rest = start.joints
    run = fc.simulate(model, start, 0.2, lambda t, s: 100.0 * (rest - s.joints) - 3.0 * s.rates, floor, dt=1e-3)
    law = fc.simulate(model, start, 0.2, fc.control.Impedance(rest, 100.0, 3.0), floor, dt=1e-3)
    np.testing.assert_allclose(run.error_estimate, law.error_estimate, rtol=1e-6)


def test_a_function_that_refuses_what_longer_steps_reach_does_not_end_the_run():
    arm, start = pendulum()

    def drive(t, state):
        if np.abs(state.rates).max() > 100.0:
            raise ValueError("far away")
        return -fc.mass_matrix(arm, state) @ (500.0 * state.rates)  # stable in steps of 5 ms, not of 10

    run = fc.simulate(arm, start, 2.0, drive, integrator="rkmk4", dt=5e-3)
    assert run.code is fc.simulation.StatusCode.FINISHED
    assert np.isinf(run.error_estimate.relative)


def servo(kp, kd, rate, latency=0.0):
    return fc.control.SampledController(lambda t, s: kp * (SIT - s.joints) - kd * s.rates, rate=rate, latency=latency)


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize(("dt", "rate"), [(1e-3, 250.0), (4e-3, 250.0), (4e-3, 800.0)])
def test_the_estimate_under_a_sampled_controller(dt, rate, hard):
    """Under the forces that it gave, in steps half as long, also of those that its samples cut short."""
    model, start, _, floor = landing()
    floor = fc.contact.HardContacts(floor.points, friction=0.8) if hard else floor
    run, fine = (fc.simulate(model, start, 1.0, servo(60.0, 1.0, rate), floor, dt=x) for x in (dt, dt / 16.0))
    off = np.abs(run.joints[-1] - fine.joints[-1]).max()
    assert 0.8 * off < run.error_estimate.angle < 15.0 * off
    assert run.unestimated == ""


@pytest.mark.parametrize(("rate", "latency"), [(100.0, 0.0), (100.0, 3.3e-3), (30.0, 0.0), (2000.0, 1e-4)])
def test_the_estimate_under_forces_that_change_within_steps(rate, latency):
    """Samples that lie between steps are where they were: methods of order 4 in flight show next to no error."""
    arm, start = pendulum()
    held = fc.control.SampledController(lambda t, s: -2.0 * s.rates, rate=rate, latency=latency)
    run, fine = (fc.simulate(arm, start, 0.5, held, integrator="rkmk4", dt=dt) for dt in (2e-3, 2.5e-4))
    off = np.abs(run.joints[-1] - fine.joints[-1]).max()
    assert run.error_estimate.angle < max(1e-9, 60.0 * off)
    assert run.status == "finished"


def test_rollouts_under_a_sampled_law_estimate_as_runs_do():
    model, start, _, floor = landing()
    many = [start._replace(twist=start.twist + 0.01 * i) for i in range(3)]
    law = fc.control.SampledController([fc.control.Impedance(SIT, 60.0, 1.0)], rate=500.0)
    alone = [fc.simulate(model, each, 0.4, law, floor, dt=2e-3).error_estimate for each in many]
    batch = fc.rollout(model, many, 0.4, law, floor, dt=2e-3).error_estimate
    np.testing.assert_allclose(batch, np.max(alone, axis=0), rtol=1e-6)


@pytest.mark.parametrize("hard", [False, True])
def test_steps_from_outside_are_estimated_on_request(hard):
    """Those of the first 0.25 s of a landing: at least what steps 16 times shorter find; nothing moves meanwhile."""
    model, start, laws, floor = landing()
    floor = fc.contact.HardContacts(floor.points, friction=0.8) if hard else floor
    many, pushes = [start._replace(twist=start.twist + 0.01 * i) for i in range(12)], 0.5 * np.ones((12, model.n))
    batches = [fc.simulation.BatchSimulator(model, many, laws, floor, dt=dt, driven=True) for dt in (2e-3, 1.25e-4)]
    error, before = batches[0].step_error(125, pushes), batches[0].state.joints.copy()
    np.testing.assert_array_equal(before, [each.joints for each in many])
    for batch, steps in zip(batches, (125, 2000), strict=True):
        batch.step(steps, pushes)
    off = np.abs(batches[0].state.joints - batches[1].state.joints).max()
    assert 0.8 * off < error.angle < 5.0 * off
    with pytest.raises(fc.ModelError, match="steps"):
        batches[0].step_error(0, pushes)


def test_a_sampled_controller_that_shakes_its_robot_is_reported():
    """Its gains are too high for 250 Hz: steps of 1 ms are 0.2 rad off, and said nothing of it."""
    kinds = fc.simulation.DiagnosticKind.STEP_ERROR, fc.simulation.DiagnosticKind.OSCILLATION
    model, start, _, floor = landing()
    run = fc.simulate(model, start, 1.0, servo(200.0, 5.0, 250.0), floor, dt=1e-3)
    assert tuple(warning.kind for warning in run.warnings) == kinds
    assert run.error_estimate.angle > 0.1


@pytest.mark.parametrize(("gains", "shakes"), [((60.0, 1.0, 500.0), False), ((200.0, 5.0, 250.0), True)])
def test_it_is_reported_whatever_samples_are_kept(gains, shakes):
    """Rollouts, which keep ends alone by default, and runs with ``every`` said nothing of it."""
    model, start, _, floor = landing()
    many = [start._replace(twist=start.twist + 0.01 * i) for i in range(3)]
    law = fc.control.SampledController([fc.control.Impedance(SIT, *gains[:2])], rate=gains[2])
    runs = [fc.simulate(model, start, 0.4, servo(*gains), floor, dt=1.25e-4, every=every) for every in (1, 10**6)]
    runs += [fc.rollout(model, many, 0.4, law, floor, dt=1.25e-4)]
    for run, which in zip(runs, (None, None, [0, 1, 2]), strict=True):
        found = [each.robots for each in run.warnings if each.kind is fc.simulation.DiagnosticKind.OSCILLATION]
        assert [x if x is None else x.tolist() for x in found] == [which] * shakes


@pytest.mark.parametrize(("kd", "shakes"), [(0.1, False), (1.0, False), (3.0, True), (5.0, True)])
def test_dampers_faster_than_steps_under_forces_that_jump(kd, shakes):
    """Their errors do not fall as steps do: an arm with a light hand was 11 mrad off and was said to be by 6."""
    about = {"passive": Passive(damping=2.0, friction=1.0), "limits": Limits(effort=20.0, velocity=3.14)}
    arm = robots.planar_arm()
    hand = replace(arm.links[-1], body=fc.Body(0.1, (0, 0, 0), 1e-4 * np.eye(3)))
    joints = tuple(replace(joint, **about) for joint in arm.joints)
    arm = replace(arm, links=(*arm.links[:-1], hand), joints=joints, gravity=np.zeros(3))
    held = fc.control.SampledController(lambda t, s: 100.0 * (0.3 - s.joints) - kd * s.rates, rate=1000.0)
    run, fine = (fc.simulate(arm, arm.state(joints=[0.1, 0.1, 0.05]), 0.3, held, dt=dt) for dt in (None, 5e-5))
    off = np.abs(run.joints[-1] - fine.joints[-1]).max()
    assert off < run.error_estimate.angle < (20.0 * off if shakes else 2e-3)
    found = [warning for warning in fine.warnings if warning.kind is fc.simulation.DiagnosticKind.OSCILLATION]
    assert ["joint3" in str(warning) and "sample faster" in str(warning) for warning in found] == [True] * shakes


def test_why_there_is_no_estimate(tmp_path):
    arm, start = pendulum()
    adaptive = fc.simulate(arm, start, 0.1, integrator="rosenbrock")
    assert adaptive.unestimated == "'rosenbrock' chooses its steps by their error"
    assert fc.simulate(arm, start, 1e-3, dt=1e-3).unestimated == "there are fewer than two steps of equal size"
    body = robots.free_body()
    ground = fc.contact.HardContacts((body.links[0].name,), restitution=0.5)
    high = body.state(position=[0.0, 0.0, 0.1])
    located = fc.simulate(body, high, 0.3, None, ground, integrator="rkmk4", dt=1e-3)
    assert located.unestimated == "the contact switches between modes at located events"
    function = fc.simulate(arm, start, 0.1, lambda t, s: -1e-9 * np.sign(s.joints - start.joints))
    assert function.unestimated == "the controller is a function that is not smooth at the start"
    law = fc.simulate(arm, start, 0.1, fc.control.JointDamper(0.1), dt=1e-3)
    assert (law.unestimated, law.error_estimate is None) == ("", False)
    many = fc.rollout(arm, [start] * 2, 0.1, integrator="rosenbrock")
    assert many.unestimated == "'located' chooses its steps by their error"
    for run in (adaptive, law):
        run.save(tmp_path / "run.npz")
        again = fc.Trajectory.load(tmp_path / "run.npz", arm)
        assert (again.error_estimate, again.unestimated) == (run.error_estimate, run.unestimated)


def test_what_is_not_estimated():
    """Adaptive steps, and runs of one step."""
    arm, start = pendulum()
    assert fc.simulate(arm, start, 0.1, integrator="rosenbrock").error_estimate is None
    assert fc.simulate(arm, start, 0.0, lambda t, s: np.zeros(3)).error_estimate is None
    assert fc.simulate(arm, start, 1e-3, dt=1e-3).error_estimate is None
    still = fc.simulate(arm, arm.state(joints=[-np.pi / 2.0, 0.0, 0.0]), 0.1, dt=1e-3)
    assert still.error_estimate.relative < 1e-6


def test_steps_that_run_away_at_twice_the_size():
    assert halvings(ErrorEstimate(np.inf, 0.0, np.inf)) == 4
    assert [halvings(ErrorEstimate(0.0, 0.0, MAX_DEFAULT_ERROR * x)) for x in (0.5, 1.0, 1.1, 2.0, 2.1, 1e9)] == [
        0,
        0,
        1,
        1,
        2,
        4,
    ]
    assert halvings(None) == 0


def test_largest_errors_of_each_robot():
    """Relative to motions that are at least so large; numbers that are not finite are infinite errors."""
    errors = np.array([[1e-4, 2e-4, 3e-4, 1e-4], [np.nan, 0.0, 0.0, 1e-3], [0.0, 0.0, 0.0, 0.0]])
    motions = np.array([[1.0, 1e-3, 1e-3, np.nan], [1.0, 1.0, 1.0, 1.0], [np.inf, 0.0, 0.0, 0.0]])
    each = Errors(errors, motions).each
    assert each[0] == ErrorEstimate(3e-4, 2e-4, 3e-4 / MIN_MOTION[2])
    assert each[1] == ErrorEstimate(np.inf, 1e-3, np.inf)
    assert each[2] == ErrorEstimate(0.0, 0.0, 0.0)
    assert Errors(errors, motions).worst([True, False, True]) == each[0]
    assert Errors(errors, motions).worst().relative == np.inf
    assert Errors(errors, motions).worst(False) is None


def test_checkpoints_are_whole_steps():
    """Those of events, within steps, are passed over; the last step may be short."""
    seen = Checkpoints(1e-3)
    for t in (0.0, 1e-3, 0.1 * STEPS_PER_PART * 1e-3 + 3e-4, STEPS_PER_PART * 1e-3, STEPS_PER_PART * 1e-3, 0.3, 0.3005):
        seen.see(t, np.array([t]))
    assert [point.steps for point in seen] == [0, STEPS_PER_PART, 300]
    assert seen.before_next(0.3) == STEPS_PER_PART - 300 % STEPS_PER_PART
    assert not list(Checkpoints(1e-3))


@pytest.mark.parametrize("every", [1, 3, 50, 10**6])
def test_the_estimate_does_not_hang_on_what_is_kept(every):
    model, start, laws, floor = landing()
    errors = [fc.simulate(model, start, 0.6, laws, floor, dt=1e-3, every=k).error_estimate for k in (1, every)]
    assert errors[1] == errors[0]


def test_parts_stand_for_all_of_a_run():
    """A fifth is repeated, the most active parts among them; weights add up to the number of parts."""
    activity = np.ones(1000)
    activity[[17, 500]] = 50.0
    chosen = _selected_parts(activity, _repeated_count(1000, 100_000))
    assert 0.15 * 1000 < len(chosen) < 0.25 * 1000
    assert {(17, 1.0), (500, 1.0)} <= set(chosen)
    assert sum(weight for _, weight in chosen) == pytest.approx(1000.0)
    assert _selected_parts(np.ones(3), 2) == [(0, 1.0), (1, 2.0)]
    assert _selected_parts(np.array([1.0, 3.0, 0.0]), 1) == [(1, 4.0 / 3.0)]
    assert [_repeated_count(count, 250 * count) for count in (1, 2, 5, 6)] == [1, 1, 1, 2]
    assert (MIN_MOTION > 0.0).all()


def test_rollouts_estimate_and_choose_as_well():
    """Up to eight simulations are repeated; default steps are halved where the first steps ask for it."""
    model, start, laws, floor = landing()
    many = [start._replace(twist=start.twist + 0.01 * i) for i in range(20)]
    errors = [fc.rollout(model, many, 0.2, laws, floor, dt=dt).error_estimate for dt in (1e-3, 2e-3, 4e-3)]
    assert errors[0].position < errors[1].position < errors[2].position
    few = [fc.rollout(model, many[:k], 1.2, laws, floor, dt=2e-3) for k in (1, 2)]
    alone = [fc.simulate(model, start, 1.2, laws, floor, dt=2e-3).error_estimate for start in many[:2]]
    np.testing.assert_allclose(few[0].error_estimate, alone[0], rtol=1e-9)  # the estimator of single runs
    np.testing.assert_allclose(few[1].error_estimate, np.max(alone, axis=0), rtol=1e-9)
    body, spinning = turning()
    fast = spinning._replace(twist=50.0 * spinning.twist)
    coarse, chosen = (
        fc.rollout(body, [fast] * 3, 0.1, integrator="semi_implicit", dt=dt, every=1) for dt in (1e-3, None)
    )
    assert coarse.error_estimate.relative > MAX_ERROR
    (found,) = (warning for warning in coarse.warnings if warning.kind is fc.simulation.DiagnosticKind.STEP_ERROR)
    assert found.robots.tolist() == [0, 1, 2]
    assert found.value == coarse.error_estimate.relative
    assert chosen.error_estimate.relative < 0.2 * coarse.error_estimate.relative
    np.testing.assert_allclose(chosen.times, coarse.times, atol=1e-12)
    foot = fc.contact.CompliantFloor(floor.points[:1], (3e4, 3e4), (300.0, 300.0), friction=0.8)
    assert fc.rollout(model, many[:2], 0.01, laws, foot, integrator="located").error_estimate is None
    cat = robots.two_cylinder_cat()
    flight = fc.rollout(cat, [cat.state(rates=[1.0, 0.5 + i], twist=[0, 0, 1.0, 0, 1.0, 0]) for i in range(3)], 0.3)
    assert flight.error_estimate.relative < 1e-6
