"""Hard contacts in simulations: balls that bounce and rest, blocks that stick and slide, feet, walking rims, floors."""

from dataclasses import dataclass

import numpy as np
import pytest
from residuals import agree

import fallingcat as fc
from fallingcat.arrays import less, where
from fallingcat.contact import CompliantFloor, HardContacts, corners
from fallingcat.lie import R3, SE2, SO3

G = 9.81
BALL = fc.robots.free_body(R3())
TILT = 0.5


def at(x, y, z):
    H = np.eye(4)
    H[:3, 3] = x, y, z
    return H


def names(run):
    return [event.name for event in run.events]


def balanced(run):
    """The ledger: energy changes by the work through all ports, impacts included."""
    energy = sum(run.energies())
    works = (run.ledger.base + run.ledger.joints).sum(axis=1)
    turned = np.abs(np.diff(energy)).sum() + np.ptp(run.energies()[0]) + 1e-6
    assert np.abs((energy - energy[0]) - works).max() < 1e-6 * turned


@pytest.mark.parametrize("restitution", [0.5, 0.8])
def test_a_bouncing_ball_loses_height_by_restitution_squared_and_comes_to_rest(restitution):
    floor = HardContacts(("body",), restitution=restitution, rest_speed=0.02)
    run = fc.simulate(BALL, BALL.state(pose=at(0.0, 0.0, 0.5)), 3.0 if restitution == 0.8 else 1.2, contact=floor)
    assert run.status == "finished"
    assert run.modes[-1] == ("stick",)
    times = np.array([event.time for event in run.events])
    agree("first touchdown", times[0], np.sqrt(2.0 * 0.5 / G), 1e-9)
    flights = np.diff(times[:-1])
    bounces = sum(name.startswith("bounce") for name in names(run))
    ratios = flights[1 : bounces - 1] / flights[: bounces - 2]
    agree("flights shrink by e", ratios, np.full(len(ratios), restitution), 1e-5)
    heights = G / 8.0 * flights**2
    agree("heights by e^2", heights[0], 0.5 * restitution**2, 1e-8)
    assert abs(run.poses[-1, 2, 3]) < 1e-8
    assert np.abs(run.twists[-1]).max() < 1e-9
    balanced(run)


def test_a_ball_at_rest_is_carried():
    floor = HardContacts(("body",))
    run = fc.simulate(BALL, BALL.neutral(), 0.1, contact=floor, dt=0.01)
    assert not run.events
    assert np.abs(run.poses[:, :3, 3]).max() < 1e-12
    mode, memory = floor.begin(BALL, BALL.neutral())
    F = floor.point_forces(BALL, mode, BALL.neutral(), memory, np.zeros(3))
    agree("m g", F, [[0.0, 0.0, BALL.mass * G]])


@pytest.mark.parametrize("friction", [0.3, 0.5, 0.6, 0.9])
def test_a_block_on_an_incline(friction):
    """Planar, two corners: at rest below atan(mu), with g (sin - mu cos) above it."""
    block, points = fc.contact.corners(fc.robots.free_body(SE2()), "body", [(0.15, -0.1), (-0.15, -0.1)])
    up = np.array([np.sin(TILT), np.cos(TILT), 0.0])
    down = np.array([np.cos(TILT), -np.sin(TILT), 0.0])
    H = np.eye(4)
    H[:3, 0], H[:3, 1], H[:3, 3] = down, up, 0.1 * up
    run = fc.simulate(
        block, block.state(pose=H), 0.2, contact=HardContacts(points, friction=friction, normal=tuple(up))
    )
    assert run.status == "finished"
    slid = (run.poses[-1, :3, 3] - H[:3, 3]) @ down
    a = G * (np.sin(TILT) - friction * np.cos(TILT)) if friction < np.tan(TILT) else 0.0
    agree("slid", slid, 0.5 * a * 0.2**2, 1e-10)
    assert np.abs(run.poses[:, :3, 3] @ up - 0.1).max() < 1e-10
    balanced(run)


def oracle_of_sliding(friction, v, duration):
    """Coulomb on an incline, in its plane, by tiny midpoint steps with the direction of the velocity itself."""
    x, dt = np.zeros(2), 2e-5
    drive = np.array([G * np.sin(TILT), 0.0])

    def a(v):
        return drive - friction * G * np.cos(TILT) * v / np.linalg.norm(v)

    for _ in range(round(duration / dt)):
        middle = v + 0.5 * dt * a(v)
        x, v = x + dt * middle, v + dt * a(middle)
        if np.linalg.norm(v) < 2e-4 and friction > np.tan(TILT):
            break
    return x


@pytest.mark.parametrize("friction", [0.3, 0.8])
def test_friction_turns_with_the_velocity(friction):
    """Pushed sideways on an incline, in space: a curved path, which ends at rest where friction can hold."""
    R = SO3().exp(np.array([0.0, TILT, 0.0]))
    R = R[:3, :3]
    floor = HardContacts(("body",), friction=friction, normal=tuple(R[:, 2]))
    run = fc.simulate(BALL, BALL.state(twist=R[:, 1]), 0.4, contact=floor)
    path = (run.poses[-1, :3, 3] @ R)[:2]
    agree("path", path, oracle_of_sliding(friction, np.array([0.0, 1.0]), 0.4), 2e-5)
    assert names(run) == (["stick body"] if friction == 0.8 else [])
    balanced(run)


def test_a_point_begins_to_slide_the_way_it_is_pushed():
    way, floor = np.array([0.6, -0.8, 0.0]), HardContacts(("body",), friction=0.8)
    limit, state = 0.8 * BALL.mass * G, BALL.neutral()
    mode, memory = floor.begin(BALL, state)
    assert (floor.guards(BALL, mode, state, memory, 0.9999 * limit * way) > 0.0).all()
    beyond = floor.guards(BALL, mode, state, memory, 1.0001 * limit * way)
    slip = floor.jump(BALL, mode, int(np.argmin(beyond)), state, memory, 1.0001 * limit * way)
    assert beyond.min() < 0.0
    assert (slip.name, slip.mode) == ("slip body", ("slide",))
    applied = 2.0 * limit * way
    forces = floor.forces(BALL, slip.mode, state, slip.memory, applied)
    agree("friction at its limit, against the push", forces["contact tangential"], -limit * way)
    assert (floor.guards(BALL, slip.mode, state, slip.memory, applied) > 0.0).all()
    with pytest.raises(fc.NumericsError, match="other forces"):
        floor.jump(BALL, mode, int(np.argmin(beyond)), state, memory, np.zeros(3))


def test_stick_slip_under_a_changing_force():
    """A planar block pushed by a force that grows and dies down: slips at mu m g and sticks again."""
    block = fc.robots.free_body(SE2())
    push = lambda t, s: np.array([40.0 * np.sin(np.pi * t / 0.4) if t < 0.4 else 0.0, 0.0, 0.0])  # noqa: E731
    run = fc.simulate(block, block.neutral(), 0.7, push, HardContacts(("body",), friction=0.8), dt=2e-3)
    assert names(run) == ["slip body", "stick body"]
    limit = 0.8 * block.mass * G
    agree("slips at the limit", 40.0 * np.sin(np.pi * run.events[0].time / 0.4), limit, 1e-6)
    spent = run.events[1].time  # momentum: the push until 0.4 s against friction until it stops
    given = 40.0 * 0.4 / np.pi * (np.cos(np.pi * run.events[0].time / 0.4) + 1.0)
    agree("sticks when the momentum is gone", limit * (spent - run.events[0].time), given, 1e-5)
    balanced(run)


def test_a_flat_foot_lands_on_all_corners_and_carries_them_alike():
    box, points = fc.contact.corners(
        fc.robots.free_body(),
        "body",
        [(0.15, 0.1, -0.05), (-0.15, 0.1, -0.05), (-0.15, -0.1, -0.05), (0.15, -0.1, -0.05)],
    )
    floor = HardContacts(points)
    start = box.state(pose=at(0.0, 0.0, 0.15), twist=[0.5, 0.0, 0.0, 0.0, 0.0, 0.0])
    run = fc.simulate(box, start, 0.25, contact=floor, integrator="rkmk4")
    assert names(run) == ["touchdown body_1, body_2, body_3, body_4"]
    assert run.modes[-1] == ("stick",) * 4
    agree("all kinetic energy is lost", run.events[0].loss, 0.5 * box.mass * (0.5**2 + 2.0 * G * 0.1), 1e-8)
    F = floor.point_forces(box, run.modes[-1], run.state(-1), run.memory[-1], np.zeros(6))
    agree("shares", F[:, 2], np.full(4, 0.25 * box.mass * G), 1e-6)
    balanced(run)


def test_a_tilted_box_comes_to_rest_without_gaining_energy():
    box, points = fc.contact.corners(fc.robots.free_body(SE2()), "body", [(0.15, -0.1), (-0.15, -0.1)])
    H = at(0.0, 0.3, 0.0)
    H[:2, :2] = [[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]]
    run = fc.simulate(box, box.state(pose=H, twist=[1.0, 0.0, 0.0]), 1.0, contact=HardContacts(points, 0.5, 0.3))
    energy = sum(run.energies())
    assert run.status == "finished"
    assert np.diff(energy).max() < 1e-8 * energy[0]
    assert run.modes[-1] == ("stick", "stick")
    agree("lies flat", run.poses[-1, :2, :2], np.eye(2), 1e-7)
    assert {"bounce", "touchdown"} <= {name.split()[0] for name in names(run)}
    balanced(run)


def test_a_rimless_wheel_goes_from_spoke_to_spoke():
    """Passive walking on a slope: the steady speed of McGeer's wheel, by impacts that let the rear spoke go."""
    spokes, radius, slope, inertia = 6, 1.0, 0.15, 0.5
    half = np.pi / spokes
    angles = 2.0 * half * np.arange(spokes) + half
    rim = [(radius * np.sin(a), -radius * np.cos(a)) for a in angles]
    body = fc.Body(1.0, np.zeros(3), np.diag([inertia / 2, inertia / 2, inertia]))
    wheel, points = fc.contact.corners(fc.robots.free_body(SE2(), body), "body", rim)
    up = np.array([np.sin(slope), np.cos(slope), 0.0])
    along = np.array([np.cos(slope), -np.sin(slope), 0.0])
    H = np.eye(4)
    H[:3, 0], H[:3, 1] = along, up
    H[:3, 3] = (radius * np.cos(half) + 1e-4) * up
    speed = 1.5
    start = wheel.state(pose=H, twist=[speed * radius, 0.0, -speed])
    floor = HardContacts(points, normal=tuple(up))
    run = fc.simulate(wheel, start, 4.0, contact=floor, dt=2e-3, integrator="rkmk4")
    assert run.status == "finished"
    landings = [event.time for event in run.events if event.name.startswith("touchdown")]
    assert len(landings) > 4
    # an impact leaves eta of the speed, a step gains the height 2 r sin(half) sin(slope)
    whole = inertia + radius**2
    eta = (inertia + radius**2 * np.cos(2.0 * half)) / whole
    gain = 4.0 * G * radius * np.sin(half) * np.sin(slope) / whole
    steady = np.sqrt(eta**2 * gain / (1.0 - eta**2))  # after an impact
    last = np.searchsorted(run.times, landings[-1], side="right")
    agree("steady speed", -run.twists[last, 2], steady, 2e-2)


@pytest.mark.parametrize("stiffness", [1e5, 1e7])
def test_the_limit_of_a_stiff_floor(stiffness):
    """A hopper whose knee gives way: a compliant floor comes near the hard one as it gets stiffer."""
    hopper = fc.robots.revolute_hopper()
    q = 1.2
    length = 2.0 * 0.12 * np.cos(q / 2.0)
    H = np.eye(4)
    turn = -np.pi / 2.0 - q / 2.0
    H[:2, :2] = [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
    H[1, 3] = length
    state = hopper.state(pose=H, joints=[q])
    assert abs(fc.link_pose(hopper, state, "foot")[1, 3]) < 1e-12
    hard = fc.simulate(hopper, state, 0.05, contact=HardContacts(("foot",)))
    damping = 2.0 * np.sqrt(stiffness)
    floor = CompliantFloor(("foot",), (stiffness, stiffness), (damping, damping))
    soft = fc.simulate(hopper, state, 0.05, contact=floor)
    assert hard.status == soft.status == "finished"
    gap = np.abs(hard.poses[-1] - soft.poses[-1]).max()
    assert gap < 2e3 / stiffness


@dataclass(frozen=True)
class Shove(fc.control.Law):
    """A force along x that begins at an instant."""

    force: float
    begins: float
    name: str = "shove"

    def forces(self, model, t, state, touching):
        return np.array([1.0, 0.0, 0.0]) * where(less(t, self.begins), 0.0, self.force)


@pytest.mark.parametrize("begins", [0.02, 0.0205])
def test_a_shove_that_begins_at_a_step_or_within_one(begins):
    """From rest no step across the jump has its energy accounted for, as there is none to compare it with."""
    model, points = corners(fc.robots.free_body(SE2()), "body", [(0.15, -0.1), (-0.15, -0.1)])
    pose = np.eye(4)
    pose[1, 3] = 0.1
    floor, law = HardContacts(points, friction=0.0), Shove(300.0, begins)
    slid = fc.simulate(model, model.state(pose=pose), 0.05, law, floor, dt=1e-3, integrator="rkmk4")
    assert slid.status == "finished"
    expected = 300.0 / model.mass * (0.05 - begins)
    assert abs(slid.twists[-1, 0] / expected - 1.0) < 1e-5
    assert slid.penetration.max() < 1e-12
