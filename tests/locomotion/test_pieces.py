"""Schedules, swings, footsteps, pendulum: their laws, on several kinds of number."""

import casadi
import numpy as np
import pytest
from numpy.testing import assert_allclose
from odd_arguments import changes, tried

from fallingcat import arrays
from fallingcat import locomotion as loco
from fallingcat.errors import ModelError, NumericsError
from fallingcat.locomotion.sway import reachable_supports, support_sway

GAITS = {
    "trot": loco.trot(),
    "pace": loco.pace(),
    "bound": loco.bound(),
    "gallop": loco.gallop(),
    "walk": loco.walk(),
    "biped": loco.biped_walk(),
}


# schedules --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAITS)
def test_feet_stand_for_their_share_of_the_period(name):
    gait = GAITS[name]
    times = (np.arange(200) + 0.5) * gait.period / 200
    mask = np.array([gait.contacts(t) for t in times])
    assert set(np.unique(mask)) == {0.0, 1.0}
    assert_allclose(mask.mean(axis=0), gait.duty, atol=6e-3)
    assert_allclose([gait.contacts(t + 3 * gait.period) for t in times[::50]], mask[::50])
    swing = np.array([gait.swing(t) for t in times])
    assert ((swing == 0.0) | (mask == 0.0)).all()
    rising = np.diff(swing, axis=0)[(mask[1:] == 0.0) & (mask[:-1] == 0.0)]
    assert_allclose(rising, gait.period / 200 / gait.flight, atol=1e-9)


def test_touchdown_is_at_the_offset():
    gait = loco.Schedule(0.8, 0.6, (0.0, 0.25, 0.7))
    for foot, offset in enumerate(gait.offsets):
        before, after = (gait.contacts(0.8 * (2 + offset) + dt)[foot] for dt in (-1e-6, 1e-6))
        assert (before, after) == (0.0, 1.0)


@pytest.mark.parametrize("period", [0.4, 0.3, 0.7])
def test_feet_take_turns_at_sampled_times(period):
    """At whole multiples of half a period one pair touches down as the other leaves; both stood open there before."""
    gait = loco.trot(period)
    counts = {int(gait.contacts(0.5 * k * period).sum()) for k in range(200)}
    assert counts == {2}


def test_support_of_the_gaits():
    count = {
        name: {int(gait.contacts(t).sum()) for t in np.linspace(0.003, gait.period, 97)} for name, gait in GAITS.items()
    }
    assert count["trot"] == count["pace"] == count["bound"] == {2}
    assert count["walk"] == {3}
    assert 0 in count["gallop"]
    assert count["biped"] == {1, 2}


def test_a_schedule_compiles_to_other_numbers():
    t, gait = casadi.SX.sym("t"), loco.trot()
    f = casadi.Function("f", [t], [arrays.to_casadi(gait.contacts(t)), arrays.to_casadi(gait.swing(t))])
    for time in (0.03, 0.31, 1.77):
        contacts, swing = f(time)
        assert_allclose(np.array(contacts).ravel(), gait.contacts(time))
        assert_allclose(np.array(swing).ravel(), gait.swing(time), atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.4, 0.0, (0.0,)), "duty of a schedule must be in"),
        ((0.4, 1.2, (0.0,)), "duty of a schedule must be in"),
        ((0.4, 0.5, ()), "offsets of a schedule must be one number for each foot, got"),
        ((0.4, 0.5, (np.nan,)), "offset of a schedule must be a finite number, got"),
        ((0.4, 0.5, ("left",)), "offset of a schedule must be a finite number, got 'left'"),
        ((-1.0, 0.5, (0.0,)), "period of a schedule must be positive"),
        (("fast", 0.5, (0.0,)), "period of a schedule must be positive"),
    ],
)
def test_schedules_are_checked(arguments, message):
    with pytest.raises(ModelError, match=message):
        loco.Schedule(*arguments)


def test_times_and_feet_of_schedules_are_checked():
    with pytest.raises(NumericsError, match=r"the time of a schedule must be finite \(s\), got nan"):
        loco.trot().contacts(np.nan)  # gave a mask without contact
    with pytest.raises(ModelError, match=r"the time of a schedule \(s\) must be a finite number"):
        loco.trot().swing(np.zeros(2))
    for wrong in (0, 2.5, "four", 10**9):
        with pytest.raises(ModelError, match="feet must be a whole number from 1 to 1000"):
            loco.stand(wrong)
    assert_allclose(loco.Schedule(0.4, 0.5, (-3.25, 0.0)).contacts(0.35), [1.0, 0.0])  # one, 3.25 periods earlier


# sway -------------------------------------------------------------------------------------------------------------


def test_a_sway_is_the_motion_of_a_pendulum_above_the_feet():
    """Of a pace: from foot to foot, c = d (1 - cosh w (t - T/4) / cosh w T/4) in the left stance."""
    pendulum, period = loco.LinearPendulum(0.3), 0.4
    home = np.array([[0.2, 0.1], [0.2, -0.1], [-0.2, 0.1], [-0.2, -0.1]])
    sway = support_sway(loco.pace(period), home, pendulum.rate)
    start = np.array([pendulum.rate * 0.1 * np.tanh(pendulum.rate * period / 4)])
    for t in (0.0, 0.05, 0.1, 0.2):
        exact = pendulum.motion(np.zeros(1), start, np.array([0.1]), t)
        place, rate, _ = sway.motion(t, 5.0)
        assert_allclose(place, [0.0, exact.position[0]], atol=1.5e-3)
        assert_allclose(rate, [0.0, exact.velocity[0]], atol=0.04)
    for gait in (loco.trot(), loco.walk()):
        assert support_sway(gait, home, pendulum.rate).is_zero


def test_a_sway_begins_at_rest_and_its_rates_are_derivatives():
    home = np.array([[0.2, 0.1], [0.2, -0.1], [-0.2, 0.1], [-0.2, -0.1]])
    sway, h = support_sway(loco.bound(0.4), home, 5.0), 1e-5
    assert_allclose(sway.motion(0.3, 0.0), 0.0, atol=1e-12)
    for t in (0.1, 0.33, 0.7):
        (before, v_before, _), (_, v, a), (after, v_after, _) = (sway.motion(s, s / 0.4) for s in (t - h, t, t + h))
        assert_allclose((after - before) / (2 * h), v, atol=1e-7)
        assert_allclose((v_after - v_before) / (2 * h), a, atol=1e-5)


def test_feet_go_below_the_trunk_where_forces_would_leave_friction_cones():
    home = np.array([[0.2, 0.1], [0.2, -0.1], [-0.2, 0.1], [-0.2, -0.1]])
    center, reach = np.array([0.01, 0.0]), np.array([0.08, 0.05])
    nearer = reachable_supports(loco.pace(), home, reach, center)
    assert_allclose(nearer, center + home * [1.0, 0.5])
    assert_allclose(reachable_supports(loco.trot(), home, reach, center), home)


# swings -----------------------------------------------------------------------------------------------------------


def test_a_swing_begins_and_ends_at_rest_and_its_rates_are_derivatives():
    rng = np.random.default_rng(0)
    start, end, T, h = rng.normal(size=3), rng.normal(size=3), 0.3, 1e-5
    for progress, place in ((0.0, start), (1.0, end)):
        foot = loco.swing_foot(start, end, progress, T, 0.07)
        assert_allclose(foot.position, place, atol=1e-14)
        assert_allclose([foot.velocity, foot.acceleration], 0.0, atol=1e-12)
    for s in (0.1, 0.45, 0.8):
        before, here, after = (loco.swing_foot(start, end, s + d, T, 0.07) for d in (-h, 0.0, h))
        assert_allclose(here.velocity, (after.position - before.position) / (2 * h * T), rtol=1e-7, atol=1e-7)
        assert_allclose(here.acceleration, (after.velocity - before.velocity) / (2 * h * T), rtol=1e-6, atol=1e-5)


def test_a_swing_clears_the_line():
    heights = [loco.swing_foot(np.zeros(3), np.array([0.2, 0.0, 0.0]), s, 0.3, 0.07).position[2] for s in (0.25, 0.5)]
    assert_allclose(heights, [64 * 0.25**3 * 0.75**3 * 0.07, 0.07])


# pendulum ---------------------------------------------------------------------------------------------------------


def test_motion_of_the_pendulum_solves_its_equation():
    pendulum = loco.LinearPendulum(0.7)
    c, v, p, h = np.array([0.1, -0.05]), np.array([0.3, 0.2]), np.array([0.02, 0.03]), 1e-4
    before, here, after = (pendulum.motion(c, v, p, 0.4 + d) for d in (-h, 0.0, h))
    assert_allclose(here.velocity, (after.position - before.position) / (2 * h), rtol=1e-6)
    acceleration = (after.velocity - before.velocity) / (2 * h)
    assert_allclose(acceleration, pendulum.gravity / pendulum.height * (here.position - p), rtol=1e-6)
    assert_allclose(pendulum.dcm(*here), pendulum.dcm_after(pendulum.dcm(c, v), p, 0.4), rtol=1e-12)


def test_a_moving_point_of_zero_moment():
    """The closed form of double support against many constant pieces."""
    pendulum, start, end, T = loco.LinearPendulum(0.8), np.array([0.1, -0.1]), np.array([0.3, 0.1]), 0.2
    dcm = np.array([0.15, 0.02])
    pieces, n = dcm, 20_000
    for k in range(n):
        pieces = pendulum.dcm_after(pieces, start + (k + 0.5) / n * (end - start), T / n)
    assert_allclose(pendulum.dcm_after_ramp(dcm, start, end, T, T), pieces, atol=1e-9)


@pytest.mark.parametrize("double", [0.05, 0.2])
def test_the_walking_offset_repeats_itself(double):
    pendulum, single = loco.LinearPendulum(0.9), 0.4
    step, sway = np.array([0.15, 0.04]), np.array([0.0, 0.2])
    old, new = np.zeros(2), step + sway
    for sign in (1.0, -1.0, 1.0):
        dcm = new + pendulum.walking_offset(step, sign * sway, single, double)
        end = pendulum.dcm_after(pendulum.dcm_after_ramp(dcm, old, new, double, double), new, single)
        old, new = new, new + step - sign * sway
        assert_allclose(end, new + pendulum.walking_offset(step, -sign * sway, single, double), atol=1e-12)


# footsteps and ground ---------------------------------------------------------------------------------------------


def test_a_step_to_the_capture_point_stops_the_pendulum():
    pendulum = loco.LinearPendulum(0.8)
    c, v = np.array([0.0, 0.0]), np.array([0.4, -0.1])
    foot = pendulum.dcm(c, v)
    late = pendulum.motion(c, v, foot, 5.0)
    assert_allclose(late.position, foot, atol=1e-6)
    assert_allclose(late.velocity, 0.0, atol=1e-6)
    gain = 1.0 / pendulum.rate
    assert_allclose(loco.raibert(c, v, np.zeros(2), 0.0, gain), foot)


def test_the_ground_plane_is_that_of_the_points():
    rng = np.random.default_rng(1)
    xy, plane, center = rng.normal(size=(4, 2)), np.array([0.3, 0.2, -0.1]), np.array([0.5, -0.2])
    points = np.column_stack([xy, [loco.on_plane(plane, center, p) for p in xy]])
    assert_allclose(loco.ground_plane(points, center), plane, atol=1e-12)


# commands ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [np.nan, np.inf, "fast", None, True])
def test_a_command_must_be_finite(wrong):
    with pytest.raises(ModelError, match=r"turning of a VelocityCommand must be finite \(rad/s\), got"):
        loco.VelocityCommand(0.1, turning=wrong)


def test_lists_are_vectors():
    assert_allclose(loco.raibert([0, 0], [1.0, 0.2], [1.0, 0.0], 0.2, 0.15), [0.1, 0.05])
    assert_allclose(loco.swing_foot([0, 0, 0], [0.2, 0, 0], 0.5, 0.25, 0.06).position, [0.1, 0.0, 0.06])
    assert_allclose(loco.LinearPendulum(9.81).dcm([0, 1], [1, 0]), [1.0, 1.0])
    with pytest.raises(ModelError, match=r"duration of a swing must be positive \(s\), got 0.0"):
        loco.swing_foot(np.zeros(3), np.ones(3), 0.5, 0.0, 0.06)


# odd arguments ----------------------------------------------------------------------------------------------------

TWO, THREE = np.zeros(2), np.zeros(3)
PENDULUM = loco.LinearPendulum(0.8)
CALLS = {
    "command": (loco.VelocityCommand, {"forward": 0.1, "sideways": 0.0, "turning": 0.0}),
    "approach": (loco.approach, {"before": THREE, "command": THREE, "most": THREE + 1.0, "dt": 0.01}),
    "schedule": (loco.Schedule, {"period": 0.4, "duty": 0.5, "offsets": (0.0, 0.5)}),
    "stand": (loco.stand, {"feet": 4}),
    "trot": (loco.trot, {"period": 0.4, "duty": 0.5}),
    "biped": (loco.biped_walk, {"single": 0.5, "double": 0.1}),
    "contacts": (loco.trot().contacts, {"t": 0.1}),
    "swing": (loco.trot().swing, {"t": 0.1}),
    "foot": (loco.swing_foot, {"start": THREE, "end": THREE, "progress": 0.5, "duration": 0.2, "clearance": 0.05}),
    "raibert": (loco.raibert, {"hip": TWO, "velocity": TWO, "command": TWO, "stance": 0.2, "gain": 0.1}),
    "step": (
        loco.dcm_step,
        {"dcm": TWO, "offset": TWO, "support": TWO, "reach": (TWO - 1.0, TWO + 1.0), "heading": np.eye(2)},
    ),
    "plane": (loco.ground_plane, {"points": np.eye(3), "center": TWO}),
    "on plane": (loco.on_plane, {"plane": THREE, "center": TWO, "position": TWO}),
    "pendulum": (loco.LinearPendulum, {"height": 0.8, "gravity": 9.81}),
    "motion": (PENDULUM.motion, {"position": TWO, "velocity": TWO, "zero_moment": TWO, "t": 0.1}),
    "dcm": (PENDULUM.dcm, {"position": TWO, "velocity": TWO}),
    "dcm after": (PENDULUM.dcm_after, {"dcm": TWO, "zero_moment": TWO, "t": 0.1}),
    "ramp": (PENDULUM.dcm_after_ramp, {"dcm": TWO, "start": TWO, "end": TWO, "t": 0.1, "duration": 0.3}),
    "offset": (PENDULUM.walking_offset, {"step": TWO, "sway": TWO, "single": 0.4, "double": 0.1}),
}


@pytest.mark.parametrize("name", CALLS)
def test_odd_arguments(name):
    for changed, odd in changes(CALLS[name]):
        tried(CALLS[name], changed, odd)
