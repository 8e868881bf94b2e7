"""Control on estimates: sensors read tick by tick, and robots that walk on what the filter believes."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat import locomotion as loco
from fallingcat.errors import ModelError, NumericsError
from fallingcat.estimation import IMU, ContactFilter, Encoders, EstimatedFeedback, FootSwitches, read
from tests.support.walking_robots import BENT, DOG, FEET, GROUND, humanoid, in_heading, largest_tilt

NOISY = IMU(gyro=2e-4, accelerometer=3e-3)
BIAS = (0.01, -0.005, 0.01, 0.1, -0.1, 0.05)


def feedback(loop, delay=0.0, **options):
    imu = IMU(gyro=2e-4, accelerometer=3e-3, delay=delay)
    filter, switches = ContactFilter(DOG, FEET, NOISY), FootSwitches(DOG, FEET, GROUND)
    sensors = {"imu": imu, "encoders": Encoders(delay=delay), "contact_delay": delay}
    return EstimatedFeedback(loop, filter, switches, **sensors, **options)


def trotted(duration, pushes=(), speed=0.5, **options):
    loop = loco.QuadrupedWalk(DOG, FEET, BENT).compile(loco.VelocityCommand(speed))
    seen = feedback(loop, **options)
    laws = [fc.control.SampledController(seen, rate=500.0), *pushes]
    return fc.simulate(DOG, DOG.standing(GROUND, BENT), duration, laws, GROUND, dt=1e-3), seen


def drift(run, seen):
    """Error of the estimated place (m) at the end, and root mean square error of the velocity (m/s)."""
    times, states = seen.history
    true = [run.at(t) for t in times[::10]]
    speed = states.twist[::10, :3] - np.array([state.twist[:3] for state in true])
    return np.linalg.norm(states.pose[::10][-1, :2, 3] - true[-1].pose[:2, 3]), np.sqrt(np.mean(speed**2))


def test_a_quadruped_trots_on_estimates():
    run, seen = trotted(2.0, delay=0.002, bias=BIAS, seed=3)
    assert largest_tilt(run) < 3.0
    np.testing.assert_allclose(in_heading(run, 1.0)[0], [0.5, 0.0], atol=0.04)
    off, speed = drift(run, seen)
    assert off < 0.1
    assert speed < 0.02
    gone = np.abs(seen.belief.bias - BIAS)
    assert gone[[0, 1]].max() < 0.003  # rad/s; a bias about the vertical takes longer
    assert not np.array_equal(seen.history[1].pose[-1], run.at(seen.history[0][-1]).pose)


def test_readings_of_the_loop_are_those_of_the_run():
    """Without noise the filter makes the steps that it makes on readings of the whole run."""
    loop = loco.QuadrupedWalk(DOG, FEET, BENT).compile(loco.VelocityCommand(0.3))
    filter = ContactFilter(DOG, FEET, NOISY)
    masks = []

    def switched(t, state):
        masks.append(FootSwitches(DOG, FEET, GROUND)(t, state))
        return masks[-1]

    seen = EstimatedFeedback(loop, filter, switched, bias=BIAS, seed=None)
    law = fc.control.SampledController(seen, rate=500.0)
    run = fc.simulate(DOG, DOG.standing(GROUND, BENT), 0.2, law, GROUND, dt=1e-3)
    readings = read(run, FEET, 500, NOISY, bias=BIAS)
    count = len(masks)
    readings = readings._replace(
        times=readings.times[:count], imu=readings.imu[: count - 1], joints=readings.joints[:count],
        rates=readings.rates[:count], touching=np.array(masks),
    )  # fmt: skip
    found = filter.run(readings, filter.begin(run.state(0)))
    np.testing.assert_allclose(seen.history[1].pose, found.poses, atol=1e-9)


def test_delays_are_whole_ticks():
    got = []
    filter = ContactFilter(DOG, FEET)
    late = EstimatedFeedback(
        lambda t, state: got.append(state.joints),
        filter,
        lambda t, state: np.ones(4),
        encoders=Encoders(delay=0.004),
        seed=None,
    )
    for k in range(6):
        late(0.002 * k, DOG.state(joints=np.full(12, 0.01 * k)))
    np.testing.assert_allclose([joints[0] for joints in got], [0.0, 0.0, 0.0, 0.01, 0.02, 0.03], atol=1e-12)
    late(0.0, DOG.neutral())  # begins anew
    assert len(late.history[0]) == 1


def test_switches_close_in_the_ground_and_above_hard_ground():
    soft, hard = FootSwitches(DOG, FEET, GROUND), FootSwitches(DOG, FEET, fc.contact.HardContacts(FEET))
    touching = DOG.state(joints=BENT)
    touching = DOG.state(position=[0.0, 0.0, -fc.link_pose(DOG, touching, FEET[0])[2, 3]], joints=BENT)
    assert hard(0.0, touching).all()
    assert not soft(0.0, touching).any()
    deeper = DOG.state(position=touching.pose[:3, 3] - [0.0, 0.0, 2e-3], joints=BENT)
    assert soft(0.0, deeper).all()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_it_recovers_from_pushes_on_estimates(seed):
    pushes = [
        fc.control.Push("trunk", (0.0, 80.0, 0.0), start=1.5 + 0.4 * k, duration=0.1, name=f"push {k}")
        for k in range(5)
    ]
    bias = np.repeat([0.01, 0.1], 3) * np.random.default_rng(seed).standard_normal(6)
    run, seen = trotted(6.0, pushes, speed=1.0, delay=0.002, bias=bias, seed=seed)
    np.testing.assert_allclose(in_heading(run, 4.5)[0], [1.0, 0.0], atol=0.05)
    assert largest_tilt(run) < 5.0
    assert drift(run, seen)[1] < 0.02


@pytest.mark.slow
def test_a_humanoid_walks_on_estimates():
    robot, contacts, posture = humanoid()
    points = (*contacts[0], *contacts[1])
    ground = fc.contact.CompliantFloor(points, stiffness=(3e4, 3e4), damping=(500.0, 500.0), friction=0.8)
    walk = loco.HumanoidWalk(robot, ("left_sole", "right_sole"), contacts, posture)
    filter = ContactFilter(robot, points, NOISY)
    loop = walk.compile(loco.VelocityCommand(0.3))
    seen = EstimatedFeedback(loop, filter, FootSwitches(robot, points, ground), bias=BIAS, seed=0)
    law = fc.control.SampledController(seen, rate=500.0)
    run = fc.simulate(robot, robot.standing(ground, posture), 8.0, law, ground, dt=1e-3)
    np.testing.assert_allclose(in_heading(run, 4.0)[0], [0.3, 0.0], atol=0.05)
    assert largest_tilt(run) < 10.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"controller": 3.0}, "controller and touching must be functions of time and state, got 3.0"),
        ({"touching": None}, "controller and touching must be functions of time and state, got None"),
        ({"filter": DOG}, "filter must be a ContactFilter, got a Model"),
        ({"imu": Encoders()}, "a sensor must be of kind IMU, got a Encoders"),
        ({"bias": [1.0, 2.0]}, "bias must be 6 finite numbers"),
        ({"contact_delay": -1.0}, "contact_delay must be a time that is not negative"),
    ],
)
def test_bad_arguments_are_named(options, message):
    good = {"controller": lambda t, s: np.zeros(12), "filter": ContactFilter(DOG, FEET), "touching": lambda t, s: 0}
    with pytest.raises(ModelError, match=message):
        EstimatedFeedback(**(good | options))


def test_bad_calls_are_named():
    filter, still = ContactFilter(DOG, FEET), DOG.state(joints=BENT)
    seen = EstimatedFeedback(lambda t, s: np.zeros(12), filter, lambda t, s: [1, 0])
    with pytest.raises(ModelError, match="touching must return 4 truth values"):
        seen(0.0, still)
    seen = EstimatedFeedback(lambda t, s: np.zeros(12), filter, lambda t, s: np.ones(4))
    with pytest.raises(NumericsError, match="the time of a tick must be finite"):
        seen(np.nan, still)
    with pytest.raises(ModelError, match="rates holds a number that is not finite"):
        seen(0.0, still._replace(rates=np.full(12, np.nan)))
    with pytest.raises(ModelError, match="ground must be a floor or hard contacts with the points front_left_foot"):
        FootSwitches(DOG, FEET, fc.contact.CompliantFloor(("trunk",)))
    with pytest.raises(ModelError, match=r"ground must be a floor or hard contacts .*, got None"):
        FootSwitches(DOG, FEET, None)
