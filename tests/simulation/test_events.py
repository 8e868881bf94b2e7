"""Events: located to 1e-10 s, none lost, none told twice, whatever the values at the ends of steps."""

import sys
from dataclasses import replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.errors import ModelError, NumericsError
from fallingcat.simulation.events import TIME_TOLERANCE

BODY = fc.robots.free_body()
CLOCK = replace(BODY, gravity=np.zeros(3))
"""Stands still: events are functions of time alone."""


def at_height(z, **motion):
    pose = np.eye(4)
    pose[2, 3] = z
    return BODY.state(pose=pose, **motion)


def ticks(function, duration=0.05, dt=1e-2, *, direction=0, terminal=False, **how):
    event = fc.Event("tick", lambda t, s: function(t), direction, terminal)
    return fc.simulate(CLOCK, CLOCK.neutral(), duration, events=[event], dt=dt, **how)


# zeros at the ends of steps


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("integrator", ["momentum", "rkmk4", "rosenbrock"])
def test_a_zero_at_the_end_of_a_step_happens_once_and_there(sign, terminal, integrator):
    run = ticks(lambda t: sign * (t - 0.02), terminal=terminal, integrator=integrator)
    assert [event.time for event in run.events] == pytest.approx([0.02], abs=TIME_TOLERANCE)
    assert run.times[-1] == pytest.approx(0.02 if terminal else 0.05, abs=TIME_TOLERANCE)


@pytest.mark.parametrize("direction", [-1, 0, 1])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_touching_zero_counts_from_the_side_it_came(direction, sign):
    run = ticks(lambda t: sign * abs(t - 0.02), direction=direction)
    assert len(run.events) == (direction != sign)  # from above is downwards
    assert run.status == "finished"


def test_zero_over_an_interval_happens_when_it_is_reached():
    run = ticks(lambda t: min(0.0, t - 0.02) + max(0.0, t - 0.03))
    assert [event.time for event in run.events] == pytest.approx([0.02], abs=TIME_TOLERANCE)


@pytest.mark.parametrize("function", [lambda t: 0.0, lambda t: t, lambda t: -t])
def test_zero_at_the_start_is_no_event(function):
    assert ticks(function).events == ()


def test_a_zero_that_is_left_and_comes_back_is_one():
    run = ticks(lambda t: t * (0.035 - t), terminal=True)
    assert run.times[-1] == pytest.approx(0.035, abs=TIME_TOLERANCE)


def test_a_step_between_two_values_is_located():
    run = ticks(lambda t: -1.0 if t < 0.0234 else 1.0)
    assert [event.time for event in run.events] == pytest.approx([0.0234], abs=TIME_TOLERANCE)


def test_infinite_values_are_signs():
    run = ticks(lambda t: -np.inf if t < 0.0234 else np.inf)
    assert [event.time for event in run.events] == pytest.approx([0.0234], abs=TIME_TOLERANCE)


def test_two_crossings_within_a_step_cancel_out():
    bump = lambda t: (t - 0.012) * (t - 0.018)  # noqa: E731
    assert ticks(bump, dt=1e-2).events == ()
    assert [event.time for event in ticks(bump, dt=4e-3).events] == pytest.approx([0.012, 0.018], abs=TIME_TOLERANCE)


def test_adaptive_steps_do_not_pass_over_events():
    """A ball thrown up: the Rosenbrock method would take the whole flight in a few steps."""
    up = at_height(0.0, twist=[0.0, 0.0, 3.0, 0.0, 0.0, 0.0])
    mark = fc.Event("mark", lambda t, s: s.pose[2, 3] - 0.45)
    run = fc.simulate(BODY, up, 0.6, integrator="rosenbrock", events=[mark])
    roots = np.sort(np.roots([-0.5 * 9.81, 3.0, -0.45]))
    np.testing.assert_allclose([event.time for event in run.events], roots, atol=2e-8)  # of the tolerance


# several at one instant


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_a_terminal_event_stops_wherever_it_is_listed(order):
    """Told in the order in which they are listed, however finely each one was located."""
    heights = [fc.Event(str(k), lambda t, s, k=k: (k + 1.0) * (s.pose[2, 3] + 0.1), -1, k == 1) for k in range(3)]
    run = fc.simulate(BODY, BODY.neutral(), 0.5, events=[heights[k] for k in order], dt=0.05)
    assert [event.name for event in run.events] == [str(k) for k in order]
    assert len({event.time for event in run.events}) == 1
    assert run.times[-1] == pytest.approx(np.sqrt(0.2 / 9.81), abs=TIME_TOLERANCE)
    assert run.status == "stopped by the event '1'"


@pytest.mark.parametrize("kind", ["compliant", "hard"])
def test_a_terminal_event_at_the_ground_stops_before_the_contact(kind):
    name = BODY.link_names[0]
    floors = {
        "compliant": fc.contact.CompliantFloor((name,), (2e4, 2e4), (300.0, 300.0)),
        "hard": fc.contact.HardContacts((name,), restitution=0.5),
    }
    ground = fc.Event("ground", lambda t, s: s.pose[2, 3], -1, terminal=True)
    run = fc.simulate(BODY, at_height(0.05), 0.5, contact=floors[kind], events=[ground])
    assert run.status == "stopped by the event 'ground'"
    assert [event.name for event in run.events] == ["ground"]
    assert run.times[-1] == pytest.approx(np.sqrt(0.1 / 9.81), abs=2e-8)
    assert run.twists[-1, 2] == pytest.approx(-np.sqrt(0.1 * 9.81), rel=1e-6)  # before the impact


def test_an_event_that_a_jump_takes_across_zero_happens_then():
    """The velocity of a ball changes its sign at a bounce, and at the top of its flight."""
    hard = fc.contact.HardContacts((BODY.link_names[0],), restitution=0.5)
    turn = fc.Event("up", lambda t, s: s.twist[2], +1, terminal=True)
    run = fc.simulate(BODY, at_height(0.05), 0.5, contact=hard, events=[turn])
    bounce, up = run.events
    assert (bounce.name, up.name) == (f"bounce {BODY.link_names[0]}", "up")
    assert bounce.time == up.time == run.times[-1]
    assert run.twists[-1, 2] > 0.4


# what is no event


def test_a_value_that_is_not_a_number_is_named():
    run = ticks(lambda t: np.nan if t > 0.025 else 1.0)
    assert run.status.startswith("stopped after 0.02 s: t = 0.03 s: the event 'tick' is not a number")
    with pytest.raises(NumericsError, match="t = 0 s: the event 'tick' is not a number"):
        ticks(lambda t: np.nan)


@pytest.mark.parametrize("value", [None, "high", np.zeros(2), 1j])
def test_a_value_that_is_no_value_is_refused(value):
    with pytest.raises(ModelError, match="the event 'tick' gives one number"):
        ticks(lambda t: value)


@pytest.mark.parametrize("event", [lambda t, s: 1.0, ("tick", lambda t, s: 1.0), fc.Event("tick", 3.0),
                                   fc.Event("tick", lambda t, s: 1.0, 2)])  # fmt: skip
def test_what_is_no_event_is_refused(event):
    with pytest.raises(ModelError, match="is no event"):
        fc.simulate(CLOCK, CLOCK.neutral(), 0.1, events=[event])


def test_one_event_needs_no_list():
    tick = fc.Event("tick", lambda t, s: t - 0.05, terminal=True)
    assert fc.simulate(CLOCK, CLOCK.neutral(), 0.1, events=tick).status == "stopped by the event 'tick'"


def test_of_many_events_in_a_step_only_the_first_are_located():
    """Each was located in every step in which it happened: 500 took half a second for one."""
    calls = 0

    def passing(moment):
        def value(t, state):
            nonlocal calls
            calls += 1
            return np.expm1(500.0 * (t - moment))

        return value

    moments = 0.0005 + 0.0001 * np.arange(80)
    events = [fc.Event(f"{k}", passing(moment)) for k, moment in reversed(list(enumerate(moments)))]
    cat = fc.robots.two_cylinder_cat()
    run = fc.simulate(cat, cat.neutral(), 0.01, events=events, integrator="rkmk4", dt=0.01)
    assert [each.name for each in run.events] == [f"{k}" for k in range(80)]
    np.testing.assert_allclose([each.time for each in run.events], moments, rtol=0, atol=1e-9)
    assert calls < 25_000  # 17,139, of which 12,800 at the ends of steps; 45,888 before


def test_a_run_that_keeps_too_much_stops(monkeypatch):
    """A method that follows fast springs took all memory; a message says what to do."""
    module = sys.modules["fallingcat.simulation.runner.run"]
    monkeypatch.setattr(module, "PROGRESS_STEPS", 50)
    monkeypatch.setattr(module, "MAX_SAMPLE_BYTES", 20_000)
    cat = fc.robots.two_cylinder_cat()
    run = fc.simulate(cat, cat.state(joints=[0.1, 0.2]), 1.0, fc.control.JointSpring(1e5), integrator="rosenbrock")
    assert run.code is fc.simulation.StatusCode.STALLED
    assert run.status.endswith("samples are more than 2e-05 GB: keep fewer, every=10, say")
