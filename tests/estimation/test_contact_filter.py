"""Contact-aided filters: their linear algebra beside numerical derivatives, and what they find in simulated runs."""

import dataclasses
import functools

import numpy as np
import pytest
from hypothesis import given, settings
from laws import generators

import fallingcat as fc
from fallingcat.errors import ModelError
from fallingcat.estimation import IMU, Belief, ContactFilter, ContactSensor, Encoders, add_noise, read, smooth
from fallingcat.estimation.leg_kinematics import leg_positions
from fallingcat.lie import SEk3, rotations

KINDS = ("invariant", "additive")


@functools.cache
def dog():
    model = fc.robots.quadruped()
    return model, tuple(frame.name for frame in model.frames)


@functools.cache
def squatting(duration=1.0):
    """A quadruped on hard ground that moves its trunk over feet that do not slip."""
    model, feet = dog()
    ground = fc.contact.HardContacts(feet, friction=2.0)
    posture = np.array([0.0, 0.6, -1.2] * 4)
    down = np.tile([0.0, 0.15, -0.3], 4)

    def servo(t, state):
        target = posture + down * (1.0 - np.cos(6.0 * t))
        return 300.0 * (target - state.joints) - 6.0 * state.rates

    return fc.simulate(model, model.standing(ground, posture), duration, servo, ground, dt=1e-3)


def random_belief(filter, rng, spread=0.3):
    A = rng.normal(size=(filter.size, filter.size))
    return Belief(filter.group.random(rng), 0.1 * rng.normal(size=6), spread * A @ A.T / filter.size)


def displaced(filter, truth, error):
    """Belief whose error is the given one."""
    element = filter.coordinates.correct(filter.group, truth.element, -error[:-6])
    if filter.error == "invariant":  # exp(xi) X, not only to first order
        element = filter.group.exp(error[:-6]) @ truth.element
    return truth._replace(element=element, bias=truth.bias + error[-6:])


def error_of(filter, belief, truth):
    gone = filter.coordinates.error(filter.group, belief.element, truth.element)
    return np.concatenate([gone, belief.bias - truth.bias])


@pytest.mark.parametrize("error", KINDS)
@given(rng=generators())
@settings(max_examples=2)
def test_the_transition_is_the_derivative_of_the_motion(error, rng):
    model, feet = dog()
    filter = ContactFilter(model, feet, error=error)
    truth, imu = random_belief(filter, rng), rng.normal(size=6) * [1, 1, 1, 9, 9, 9]
    joints, touching = rng.normal(size=model.n), np.array([1.0, 0.0, 1.0, 0.0])
    found = {}
    for dt in (2e-3, 1e-3):
        after, F = filter.predict(truth, imu, joints, touching, dt)
        numeric = np.zeros_like(F)
        for i in range(filter.size):
            e = 1e-6 * np.eye(filter.size)[i]
            ends = [filter.predict(displaced(filter, truth, s * e), imu, joints, touching, dt)[0] for s in (1, -1)]
            numeric[:, i] = (error_of(filter, ends[0], after) - error_of(filter, ends[1], after)) / 2e-6
        found[dt] = np.abs(F - numeric)
        assert found[dt][:, :-6].max() < 1e-7  # rotation, positions, velocity, feet: exact
    assert found[1e-3].max() < 1e-4  # biases: of order dt^2
    assert found[1e-3].max() < 0.3 * found[2e-3].max() + 1e-8


@given(rng=generators())
@settings(max_examples=10)
def test_invariant_errors_of_any_size_move_linearly(rng):
    """The log-linear property: without errors of the bias, ``xi+ = Phi xi`` holds exactly, for turns of 2 rad too."""
    model, feet = dog()
    filter = ContactFilter(model, feet)
    truth, imu, dt = random_belief(filter, rng), rng.normal(size=6) * [2, 2, 2, 20, 20, 20], 0.05
    error = np.concatenate([rng.normal(size=filter.group.dim), np.zeros(6)])
    error[-9:-6] *= 2.0 / np.linalg.norm(error[-9:-6])
    ends = [filter.predict(b, imu, np.zeros(model.n), np.ones(4), dt) for b in (truth, displaced(filter, truth, error))]
    (after, F), (moved, _) = ends
    np.testing.assert_allclose(error_of(filter, moved, after), F @ error, rtol=0, atol=1e-12)


@pytest.mark.parametrize("error", KINDS)
@given(rng=generators())
@settings(max_examples=5)
def test_a_correction_is_the_best_linear_one(error, rng):
    """Beside the textbook's update with the numerical derivative of the measurement, in Joseph's form."""
    model, feet = dog()
    filter = ContactFilter(model, feet, error=error)
    joints, touching = rng.normal(size=model.n), np.array([1.0, 1.0, 0.0, 1.0])
    positions, noises = leg_positions(filter, model, joints)
    truth = random_belief(filter, rng)
    X = truth.element.copy()
    X[:3, 5:] = (X[:3, 3] + positions @ X[:3, :3].T + 0.01 * rng.normal(size=(4, 3))).T
    belief = truth._replace(element=X)

    def seen(b):
        R = b.element[:3, :3]
        return np.concatenate([R.T @ (b.feet[i] - b.position) for i in (0, 1, 3)])

    H = np.zeros((9, filter.size))
    for i in range(filter.size):
        e = 1e-6 * np.eye(filter.size)[i]
        H[:, i] = (seen(displaced(filter, belief, e)) - seen(displaced(filter, belief, -e))) / 2e-6
    N = np.zeros((9, 9))
    for k, i in enumerate((0, 1, 3)):
        N[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = noises[i]
    P = belief.covariance
    K = P @ H.T @ np.linalg.inv(H @ P @ H.T + N)
    A = np.eye(filter.size) - K @ H
    expected = A @ P @ A.T + K @ N @ K.T
    correction = K @ (seen(belief) - np.concatenate([positions[i] for i in (0, 1, 3)]))
    found = filter._with_feet_on_the_ground(belief, positions, noises, touching)
    np.testing.assert_allclose(found.covariance, expected, rtol=0, atol=1e-6 * np.abs(P).max())
    gone = error_of(filter, belief, found)
    np.testing.assert_allclose(gone, correction, rtol=0, atol=2e-2 * np.abs(correction).max())


@pytest.mark.parametrize("error", KINDS)
def test_compiled_steps_are_the_plain_ones(error):
    model, feet = dog()
    filter, rng = ContactFilter(model, feet[:2], error=error), np.random.default_rng(1)
    kernel = filter.compile()
    many = [random_belief(filter, rng) for _ in range(3)]
    imu, joints, touching = rng.normal(size=6), rng.normal(size=model.n), np.array([1.0, 0.0])
    found = kernel(*(np.array(part) for part in zip(*many, strict=True)), imu, joints, touching, np.array(2e-3))
    for i, belief in enumerate(many):
        plain = filter.step(belief, imu, joints, touching, 2e-3)
        for a, b in zip(found, plain, strict=True):
            np.testing.assert_allclose(a[i], b, rtol=1e-11, atol=1e-12)


def test_without_noise_the_motion_is_found():
    """Feet that do not slip, readings without noise: what is left is the integration of positions."""
    run = squatting()
    model, feet = dog()
    readings = read(run, feet, rate=500)
    assert readings.touching[1:].all()
    filter = ContactFilter(model, feet)
    found = filter.run(readings, filter.begin(run.state(0)))
    moved = np.array([run.at(t).pose for t in readings.times])
    assert np.ptp(moved[:, 2, 3]) > 0.02
    np.testing.assert_allclose(found.poses, moved, rtol=0, atol=1e-3)


def tilted(model, run, degrees=60.0, speed=1.0):
    """Guess that is wrong by a turn about a horizontal axis and by a velocity."""
    R = rotations.exp(np.radians(degrees) * np.array([0.6, 0.8, 0.0]))
    start = run.state(0)
    pose = start.pose.copy()
    pose[:3, :3] = R @ pose[:3, :3]
    return start._replace(pose=pose, twist=np.array([speed, 0.0, 0.0, 0.0, 0.0, 0.0]))


def tilt_error(found, run):
    """Angles between the true and the estimated vertical."""
    truth = np.array([run.at(t).pose[2, :3] for t in found.times])
    return np.arccos(np.clip(np.einsum("ki,ki->k", found.poses[:, 2, :3], truth), -1.0, 1.0))


def test_it_converges_from_60_degrees_and_1_meter_per_second():
    run = squatting()
    model, feet = dog()
    readings = read(run, feet, 500, rng=np.random.default_rng(0), bias=[0.01, -0.01, 0.005, 0.1, -0.05, 0.1])
    angles = {}
    for error in KINDS:
        filter = ContactFilter(model, feet, error=error)
        found = filter.run(readings, filter.begin(tilted(model, run), rotation=1.0, velocity=1.0))
        angles[error] = tilt_error(found, run)
    assert angles["invariant"][0] == pytest.approx(np.pi / 3)
    assert angles["invariant"][250:].max() < np.radians(1.0)
    assert angles["additive"][-1] > angles["invariant"][-1]  # the usual filter trusts itself too early


def test_heading_and_place_cannot_be_seen_and_the_invariant_filter_knows_it():
    run = squatting()
    model, feet = dog()
    readings = read(run, feet, 500, rng=np.random.default_rng(0))
    yaw = {}
    for error in KINDS:
        filter = ContactFilter(model, feet, error=error)
        found = filter.run(readings, filter.begin(tilted(model, run, 20.0, 0.0), rotation=0.4, position=0.1))
        deviations = found.beliefs.deviations
        yaw[error] = deviations[:, -7]  # about the vertical
        assert (deviations[:, 0] > 0.09).all() or error == "additive"
    assert yaw["invariant"][-1] >= 0.4 * (1.0 - 1e-9)
    assert yaw["additive"][-1] < 0.39  # false knowledge


def consistency(runs, seed=0):
    """Mean of the squared errors in units of the covariance, for position, velocity, rotation, biases (15)."""
    run, rng = squatting(), np.random.default_rng(seed)
    model, feet = dog()
    imu, encoders = IMU(gyro=1e-3, accelerometer=1e-2, gyro_walk=1e-4, accelerometer_walk=1e-3), Encoders(angles=2e-3)
    filter = ContactFilter(model, feet, imu, encoders, slip=1e-4)
    prior = {"rotation": 0.1, "velocity": 0.2, "position": 0.05, "gyro_bias": 0.01, "accelerometer_bias": 0.1}
    truth = filter.begin(run.state(0), **prior)
    spread = np.linalg.cholesky(truth.covariance)
    errors = rng.standard_normal((runs, filter.size)) @ spread.T
    starts = [displaced(filter, truth, error)._replace(bias=np.zeros(6)) for error in errors]
    clean = read(run, feet, 200, imu, encoders)
    many = clean._replace(
        **{name: np.repeat(getattr(clean, name)[:, None], runs, axis=1) for name in ("joints", "rates", "touching")},
        imu=clean.imu[:, None] - errors[:, -6:],
        biases=clean.biases[:, None] - errors[:, -6:],
    )
    many = add_noise(many, imu, encoders, rng)
    found = filter.run(many, Belief(*(np.array(part) for part in zip(*starts, strict=True))))
    end, pick = run.at(found.times[-1]), np.r_[0:6, filter.size - 9 : filter.size]
    exact = filter.begin(end).element
    squares = []
    for i in range(runs):
        belief = Belief(*(part[-1, i] for part in found.beliefs))
        error = error_of(filter, belief, Belief(exact, many.biases[-1, i], None))[pick]
        squares.append(error @ np.linalg.solve(belief.covariance[np.ix_(pick, pick)], error))
    return np.array(squares)


def test_errors_are_as_large_as_the_filter_says():
    """Normalized estimation error squared: chi-squared with 15 degrees of freedom, mean 15, deviation 5.5."""
    squares = consistency(60)
    assert 15.0 - 4.0 * np.sqrt(30.0 / 60) < squares.mean() < 15.0 + 4.0 * np.sqrt(30.0 / 60)


@pytest.mark.slow
def test_errors_are_as_large_as_the_filter_says_in_1000_runs():
    squares = consistency(1000, seed=1)
    assert 15.0 - 4.0 * np.sqrt(30.0 / 1000) < squares.mean() < 15.0 + 4.0 * np.sqrt(30.0 / 1000)


def test_a_pose_from_outside_shows_heading_and_place():
    run = squatting()
    model, feet = dog()
    filter = ContactFilter(model, feet)
    belief = filter.begin(tilted(model, run, 20.0), rotation=0.5, position=0.5)
    for _ in range(30):
        belief = filter.correct_pose(belief, run.state(0).pose, rotation=0.01, position=0.01)
    np.testing.assert_allclose(belief.rotation, run.state(0).pose[:3, :3], atol=1e-3)
    np.testing.assert_allclose(belief.position, run.state(0).pose[:3, 3], atol=1e-3)
    assert belief.deviations[:3].max() < 0.003
    assert belief.deviations[-9:-6].max() < 0.003


def test_smoothing_is_better_than_filtering_and_ends_with_it():
    run = squatting(0.5)
    model, feet = dog()
    imu = IMU(gyro=1e-2, accelerometer=0.1)
    filter = ContactFilter(model, feet, imu, slip=1e-3)
    readings = read(run, feet, 100, imu, rng=np.random.default_rng(3))
    start = filter.begin(tilted(model, run, 10.0, 0.3), rotation=0.2, velocity=0.3)
    filtered, smoothed = filter.run(readings, start), smooth(filter, readings, start)
    assert tilt_error(smoothed, run)[:25].mean() < 0.5 * tilt_error(filtered, run)[:25].mean()
    np.testing.assert_array_equal(smoothed.poses[-1], filtered.poses[-1])
    fixed = smooth(filter, readings, start, lag=10)
    assert tilt_error(fixed, run)[:25].mean() < tilt_error(filtered, run)[:25].mean()
    whole = smooth(filter, readings, start, lag=1000)
    np.testing.assert_allclose(whole.poses, smoothed.poses, rtol=0, atol=1e-10)


def test_a_unit_away_from_the_base():
    """The estimated base does not depend on where the unit sits."""
    model, feet = dog()
    H = np.eye(4)
    H[:3, :3], H[:3, 3] = rotations.exp(np.array([0.3, -0.5, 1.0])), [0.2, -0.1, 0.05]
    frames = (*model.frames, fc.model.Frame("imu", model.link_names[0], H))
    away = dataclasses.replace(model, frames=frames)
    run = squatting()
    moved = dataclasses.replace(run, model=away)
    imu = IMU("imu")
    filter = ContactFilter(away, feet, imu)
    readings = read(moved, feet, 500, imu)
    found = filter.run(readings, filter.begin(run.state(0)))
    truth = [run.at(t) for t in readings.times]
    np.testing.assert_allclose(found.poses, [s.pose for s in truth], rtol=0, atol=1e-3)
    linear = np.array([s.twist[:3] for s in truth])
    assert np.abs(found.twists[:-1, :3] - linear[:-1]).mean() < 5e-3


def test_delays_shift_readings():
    run = squatting()
    _, feet = dog()
    now = read(run, feet, 100)
    late = read(run, feet, 100, IMU(delay=0.02), Encoders(delay=0.03), ContactSensor(delay=0.01))
    np.testing.assert_allclose(late.imu[10:], now.imu[8:-2], atol=1e-9)
    np.testing.assert_allclose(late.joints[10:], now.joints[7:-3], atol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda m: ContactFilter(m, ["nowhere"]), "nowhere"),
        (lambda m: ContactFilter(m, [], error="best"), "error must be one of invariant, additive"),
        (lambda m: ContactFilter(m, [], slip=-1.0), "slip must be"),
        (lambda m: ContactFilter(fc.robots.planar_arm(), []), r"free base, SE\(3\)"),
        (lambda m: ContactFilter(m, [], IMU(link=dog()[1][0])), "fixed to the base link"),
        (lambda m: IMU(gyro=float("nan")), "gyro of IMU"),
        (lambda m: Encoders(angles=-1.0), "angles of Encoders"),
        (lambda m: read(squatting(), ["hand"], 100), "'hand' is no contact point"),
        (lambda m: read(squatting(), [], 0.0), "rate must be"),
        (lambda m: read(squatting(), [], 0.1), "no whole period"),
        (lambda m: SEk3(0), "vectors must be"),
        (lambda m: ContactFilter("go2", []), "the first argument is a Model"),
        (lambda m: ContactFilter(m, "foot"), "feet must be a list of names"),
        (lambda m: ContactFilter(m, None), "feet must be a list of names"),
        (lambda m: ContactFilter(m, [dog()[1][0]] * 2), "a foot is named twice"),
        (lambda m: ContactFilter(m, [], Encoders()), "a sensor must be of kind IMU"),
        (lambda m: read(3, [], 100), "run must be a Trajectory"),
        (lambda m: read(squatting(), dog()[1][0], 100), "feet must be a list of names"),
        (lambda m: read(squatting(), [], 100, bias=[1.0, 2.0]), "bias must be 6 finite numbers"),
        (lambda m: read(squatting(), [], 100, rng="noise"), "rng must be a NumPy generator, a seed or None"),
        (lambda m: ContactFilter(m, []).begin(None), "pass a State of 'quadruped', not None"),
        (lambda m: ContactFilter(m, []).begin(m.neutral(), rotation=np.nan), "a standard deviation must be"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ModelError, match=message):
        make(dog()[0])


def test_a_reading_that_is_no_number_is_named_with_its_time():
    run = squatting()
    model, feet = dog()
    filter, readings = ContactFilter(model, feet), read(run, feet, 100)
    readings.imu[7, 2] = np.nan
    with pytest.raises(ModelError, match=r"imu of the readings is not finite at t = 0\.07 s"):
        filter.run(readings, filter.begin(run.state(0)))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (lambda r: r._replace(imu=r.imu[:5]), "imu of readings at 101 times must have 100 rows, got 5"),
        (lambda r: r._replace(times=r.times**2), "times of the readings must grow evenly"),
        (lambda r: r._replace(touching=np.where(r.touching, np.nan, 0.0)), "touching of the readings is not finite"),
        (lambda r: squatting(), "readings must be Readings"),
    ],
)
def test_readings_that_do_not_fit_are_named(changed, message):
    model, feet = dog()
    filter = ContactFilter(model, feet)
    readings, start = read(squatting(), feet, 100), filter.begin(squatting().state(0))
    with pytest.raises(ModelError, match=message):
        filter.run(changed(readings), start)
    with pytest.raises(ModelError, match="a belief must be one of the filter"):
        filter.run(readings, squatting().state(0))


def test_steps_take_lists_and_truth_values_and_name_what_is_wrong():
    model, feet = dog()
    filter, start = ContactFilter(model, feet), squatting().state(0)
    belief, still, joints = filter.begin(start), [0.0, 0.0, 0.0, 0.0, 0.0, 9.81], list(start.joints)
    found = filter.step(belief, still, joints, [True] * 4, 0.01)
    expected = filter.step(belief, np.array(still), start.joints, np.ones(4), 0.01)
    np.testing.assert_array_equal(found.covariance, expected.covariance)
    for arguments, message in (
        ((still[:5], joints, np.ones(4), 0.01), r"imu must have shape \(6,\)"),
        ((still, joints[:5], np.ones(4), 0.01), r"joints must have shape \(12,\)"),
        ((still, joints, np.ones(2), 0.01), r"touching must have shape \(4,\)"),
        ((still, joints, np.ones(4), 0.0), "dt is a positive number, not 0.0"),
        ((np.full(6, np.nan), joints, np.ones(4), 0.01), "imu holds a number that is not finite"),
    ):
        with pytest.raises(ModelError, match=message):
            filter.step(belief, *arguments)
    for pose, message in ((np.eye(3), "pose must have shape"), (2.0 * np.eye(4), "pose is no element")):
        with pytest.raises(ModelError, match=message):
            filter.correct_pose(belief, pose, 0.1, 0.1)
