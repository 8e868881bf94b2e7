"""Joints that their drives press against the stops, in every method: wrists are light, and their drives are not."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import fallingcat as fc
from fallingcat.contact import CompliantFloor, HardContacts
from fallingcat.control.laws.compliant_stops import MAX_DEPTH, RETURN_TIME
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


@pytest.mark.parametrize("effort", [0.0, EFFORT, 1e6])
@pytest.mark.parametrize("integrator", ["implicit", "moreau"])
def test_the_rebound_does_not_depend_on_the_phase_of_the_step(integrator, effort):
    """It was 0 to 0.44 of the speed; the law has ``1 / (1 + 2 w T)``, by steps that resolve it and by integration."""
    model = hand(effort=effort)
    contact = {"implicit": CompliantFloor, "moreau": HardContacts}[integrator](("tip",), height=-9.0)
    dt, speed = 4e-3, 3.0
    starts = [
        model.state(joints=[0.5 - (4.0 + phase) * speed * dt], rates=[speed]) for phase in np.linspace(0.0, 1.0, 7)
    ]
    many = fc.rollout(model, starts, 0.06, contact=contact, integrator=integrator, dt=dt, every=1)
    exact = fc.simulate(model, starts[0], 0.06, integrator="rosenbrock")
    stiffness = max(250.0, np.sqrt(effort / MAX_DEPTH / 1e-4))
    rebound = rebound_of(RETURN_TIME * stiffness) if stiffness < 1e4 else 0.0
    assert exact.rates[-1, 0] == pytest.approx(-rebound * speed, rel=5e-3, abs=2e-3)
    assert many.rates[-1, :, 0] == pytest.approx(exact.rates[-1, 0], abs=0.003 * speed)
    kinetic = 0.5 * 1e-4 * many.rates[:, :, 0] ** 2
    assert np.diff(kinetic, axis=0).max() < 1e-12  # it only takes energy


def rebound_of(damping, mass=1.0):
    """Speed after a stop ``mass y'' = -clip(y + damping y', 0, 4 y)``, relative to that of the arrival, by scipy."""

    def slope(t, x):
        return [x[1], -np.clip(x[0] + damping * x[1], 0.0, max(4.0 * x[0], 0.0)) / mass]

    end = solve_ivp(slope, (0.0, 40.0 * damping), [0.0, 1.0], rtol=1e-9, atol=1e-12, max_step=0.05 * damping)
    return -end.y[1].min()


@pytest.mark.parametrize("damping", [2.0, 3.0, 6.0, 20.0])
@pytest.mark.parametrize("mass", [1.0, 5.0, 10.0])
def test_the_rebound_is_as_stated(damping, mass):
    stated = 1.0 / (1.0 + 2.0 * damping / np.sqrt(mass))
    assert rebound_of(damping, mass) == pytest.approx(stated, rel=0.06)


def test_the_closed_form_of_the_rebound():
    """``y'' = -min(y + 2 y', 4 y)`` from ``y = 0, y' = 1``: first on the spring 4 y, then critically damped."""
    turn = np.arctan(4.0 / 3.0)  # y' = 1.5 y: y = sin(2 t) / 2
    y, v = 0.5 * np.sin(turn), np.cos(turn)
    t = np.linspace(0.0, 20.0, 200001)
    depth, rate = (y + (y + v) * t) * np.exp(-t), (v - (y + v) * t) * np.exp(-t)
    free = np.argmax(depth + 2.0 * rate < 0.0)
    assert rate[free] == pytest.approx(-0.202, abs=1e-3)
    assert rebound_of(2.0) == pytest.approx(0.202, abs=1e-3)


FAR = {"implicit": CompliantFloor, "moreau": HardContacts}


@pytest.mark.parametrize("effort", [0.0, EFFORT, 100.0])
@pytest.mark.parametrize("integrator", ["implicit", "moreau", "rosenbrock", "rkmk4"])
def test_a_start_beyond_a_stop_returns_alike_in_every_method(integrator, effort):
    """``y'' = -w^2 (y + T y')`` until that is zero: stiff stops threw the hand back with 0.4 w y."""
    model, depth, dt = hand(1e-3, effort), 9e-3, {"implicit": 1e-4, "moreau": 1e-4, "rkmk4": 1e-5}.get(integrator)
    contact = FAR[integrator](("tip",), height=-9.0) if integrator in FAR else None
    run = fc.simulate(model, model.state(joints=[0.5 + depth]), 0.05, None, contact, integrator=integrator, dt=dt)
    w = max(1.0 / 4e-3, np.sqrt(effort / MAX_DEPTH / 1e-3))
    leaves = depth * returned(w)
    assert run.rates[-1, 0] == pytest.approx(-leaves, rel=0.02 if integrator in FAR else 2e-3)
    assert leaves <= depth / RETURN_TIME


def returned(w):
    """Speed (1/s) with which ``y'' = -w^2 (y + T y')`` from ``y = 1`` at rest has no force, in closed form."""
    half = 0.5 * w * w * RETURN_TIME
    root = np.sqrt(max(half * half - w * w, 0.0))
    if root < 1e-6 * half:
        return w / np.e
    slow, fast = half - root, half + root
    t = np.log(fast / slow) / (fast - slow)
    return w * w / (fast - slow) * (np.exp(-slow * t) - np.exp(-fast * t))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("integrator", ["implicit", "moreau", "rkmk4", "momentum"])
def test_steps_approach_one_law(seed, integrator):
    """Arms with a joint beyond its stop, and arms whose joints reach theirs, beside steps with a tolerance.

    A joint that started 9 mrad beyond left with up to five times the speed in fine steps that it had in default ones.
    """
    base = fc.lie.SE3() if integrator == "momentum" else fc.lie.Trivial()
    rng, limits = np.random.default_rng(seed), Limits(-0.6, 0.6, effort=(5.0, 200.0, 3000.0)[seed])
    arm = fc.robots.random_tree(rng, 4, base=base, kinds=["revolute"])
    joints = tuple(replace(joint, limits=limits) for joint in arm.joints)
    arm = replace(arm, joints=joints, gravity=np.zeros(3))
    beyond = arm.state(joints=[*rng.uniform(-0.4, 0.4, arm.n - 1), 0.609])
    arrives = arm.state(joints=rng.uniform(-0.55, 0.55, arm.n), rates=3.0 * rng.normal(size=arm.n))
    contact = FAR[integrator]((arm.links[-1].name,), height=-9.0) if integrator in FAR else None
    starts = [beyond, arrives]
    ends = [fc.simulate(arm, start, 0.12, integrator="rosenbrock") for start in starts]
    exact = np.array([end.joints[-1] for end in ends])
    ways = np.array([np.abs(end.joints - end.joints[0]).max() for end in ends])

    def errors(dt):
        run = fc.rollout(arm, starts, 0.12, None, contact, integrator=integrator, dt=dt)
        return np.abs(run.joints[-1] - exact).max(axis=1) / ways

    fine = 1e-5 if integrator in FAR or integrator == "rkmk4" else 5e-6
    assert errors(fine).max() < 5e-3
    if integrator in FAR:  # default steps
        runs = [fc.simulate(arm, start, 0.12, None, contact, integrator=integrator) for start in starts]
        off = np.array([np.abs(run.joints[-1] - end.joints[-1]).max() for run, end in zip(runs, ends, strict=True)])
        assert (off / ways).max() < 0.05


def test_explicit_steps_say_that_they_return_a_joint_too_slowly():
    model = hand()
    run = fc.simulate(model, model.state(joints=[0.509]), 0.05, integrator="rkmk4")
    assert [found.name for found in run.warnings] == ["wrist"]
    assert "starts 0.009 beyond its upper stop" in run.status
    for start, how in ((0.5005, "rkmk4"), (0.509, "rosenbrock")):
        assert not fc.simulate(model, model.state(joints=[start]), 0.05, integrator=how).warnings


def test_explicit_steps_approach_the_same_depth():
    model, push = hand(1e-2), lambda t, state: [EFFORT]
    depths = [
        fc.simulate(model, model.neutral(), 1.0, push, integrator="rkmk4", dt=dt).joints[-1, 0] for dt in (1e-3, 2e-4)
    ]
    assert depths == pytest.approx([0.5 + 10.0 / (62500.0 * 1e-2)] * 2, abs=1e-4)
    light = [
        fc.simulate(hand(), model.neutral(), 0.2, push, integrator="rkmk4", dt=dt).joints[-1, 0] for dt in (5e-4, 1e-5)
    ]
    assert light[0] > 0.7  # 1 / sqrt(2 T dt) = 354 rad/s is what such steps resolve: a warning says so
    assert light[1] == pytest.approx(0.5 + MAX_DEPTH, abs=1e-4)


def test_resets_beyond_stops_are_refused_as_starts_are():
    model = hand()
    far = model.state(joints=[0.7])
    for start in (lambda: fc.simulate(model, far, 0.01), lambda: fc.Simulator(model).reset(far)):
        with pytest.raises(fc.ModelError, match=r"'wrist' starts .* beyond its upper stop"):
            start()
    fc.Simulator(model, passive=False).reset(far)
