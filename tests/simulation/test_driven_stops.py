"""Joints that their drives press against the stops, in every method: wrists are light, and their drives are not."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.contact import CompliantFloor, HardContacts
from fallingcat.control.laws.passive_joints import MAX_DEPTH
from fallingcat.model import Body, Joint, Limits, Link, Model, Revolute

EFFORT = 10.0


def hand(inertia=1e-4, effort=EFFORT):
    """A forearm and a light hand, 10 N m against a stop at 0.5 rad: 62,500 inertia (N m/rad) would yield by 1.6 rad."""
    bodies = Body(1.0, np.zeros(3), 0.01 * np.eye(3)), Body(0.1, np.zeros(3), inertia * np.eye(3))
    links = tuple(Link(name, body) for name, body in zip(("forearm", "hand"), bodies, strict=True))
    wrist = Joint("wrist", Revolute((0.0, 1.0, 0.0)), "forearm", "hand", limits=Limits(-0.5, 0.5, 10.0, effort))
    tip = np.eye(4)
    tip[0, 3] = 0.1
    frames = (fc.model.Frame("tip", "hand", tip),)
    return Model("hand", fc.lie.Trivial(), links, (wrist,), frames=frames, gravity=np.zeros(3))


@pytest.mark.parametrize("dt", [1e-3, 4e-3])
@pytest.mark.parametrize("integrator", ["implicit", "moreau", "rosenbrock"])
def test_a_stop_holds_the_drive_of_its_joint(integrator, dt):
    model = hand()
    far = {"implicit": CompliantFloor(("tip",), height=-9.0), "moreau": HardContacts(("tip",), height=-9.0)}
    contact = far.get(integrator)
    run = fc.simulate(
        model, model.neutral(), 0.2, lambda t, state: [2.0 * EFFORT], contact, integrator=integrator, dt=dt
    )
    assert abs(run.joints[-1, 0] - 0.5 - MAX_DEPTH) < 1e-4  # the drive is cut to its effort
    assert run.joints.max() < 0.5 + MAX_DEPTH + dt * 10.0  # it arrives at up to its speed limit
    assert not run.warnings


@pytest.mark.parametrize("effort", [EFFORT, 1e6])
@pytest.mark.parametrize("integrator", ["implicit", "moreau"])
def test_the_rebound_does_not_depend_on_the_phase_of_the_step(integrator, effort):
    """It was 0 to 0.44 of the speed; the law itself has 0.202, by steps that resolve it, and by its closed form."""
    model = hand(effort=effort)
    contact = {"implicit": CompliantFloor, "moreau": HardContacts}[integrator](("tip",), height=-9.0)
    dt, speed = 4e-3, 3.0
    starts = [
        model.state(joints=[0.5 - (4.0 + phase) * speed * dt], rates=[speed]) for phase in np.linspace(0.0, 1.0, 7)
    ]
    many = fc.rollout(model, starts, 0.06, contact=contact, integrator=integrator, dt=dt, every=1)
    exact = fc.simulate(model, starts[0], 0.06, integrator="rosenbrock")
    assert exact.rates[-1, 0] == pytest.approx(-0.202 * speed, rel=5e-3)
    assert many.rates[-1, :, 0] == pytest.approx(exact.rates[-1, 0], rel=0.02)
    kinetic = 0.5 * 1e-4 * many.rates[:, :, 0] ** 2
    assert np.diff(kinetic, axis=0).max() < 1e-12  # it only takes energy


def test_the_closed_form_of_the_rebound():
    """``y'' = -min(y + 2 y', 4 y)`` from ``y = 0, y' = 1``: first on the spring 4 y, then critically damped."""
    turn = np.arctan(4.0 / 3.0)  # y' = 1.5 y: y = sin(2 t) / 2
    y, v = 0.5 * np.sin(turn), np.cos(turn)
    t = np.linspace(0.0, 20.0, 200001)
    depth, rate = (y + (y + v) * t) * np.exp(-t), (v - (y + v) * t) * np.exp(-t)
    free = np.argmax(depth + 2.0 * rate < 0.0)
    assert rate[free] == pytest.approx(-0.202, abs=1e-3)


def test_explicit_steps_approach_the_same_depth():
    model, push = hand(1e-2), lambda t, state: [EFFORT]
    depths = [
        fc.simulate(model, model.neutral(), 1.0, push, integrator="rkmk4", dt=dt).joints[-1, 0] for dt in (1e-3, 2e-4)
    ]
    assert depths == pytest.approx([0.5 + 10.0 / (62500.0 * 1e-2)] * 2, abs=1e-4)
    light = [
        fc.simulate(hand(), model.neutral(), 0.2, push, integrator="rkmk4", dt=dt).joints[-1, 0] for dt in (5e-4, 5e-5)
    ]
    assert light[0] > 0.7  # 1 / (4 dt) = 500 rad/s is what such steps resolve: a warning says so
    assert light[1] == pytest.approx(0.5 + MAX_DEPTH, abs=1e-4)


def test_resets_beyond_stops_are_refused_as_starts_are():
    model = hand()
    far = model.state(joints=[0.7])
    for start in (lambda: fc.simulate(model, far, 0.01), lambda: fc.Simulator(model).reset(far)):
        with pytest.raises(fc.ModelError, match=r"'wrist' starts .* beyond its upper stop"):
            start()
    fc.Simulator(model, passive=False).reset(far)
