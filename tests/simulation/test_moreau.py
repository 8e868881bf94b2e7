"""Time stepping on hard contacts: exact solutions, the runs that locate their events, and the law itself."""

from dataclasses import replace

import numpy as np
import pytest
from random_robots import Robot, build

import fallingcat as fc
from fallingcat.contact import HardContacts, corners, joint_stops
from fallingcat.contact.rigid.solvers.proximal_newton import DIGITS
from fallingcat.errors import ModelError
from fallingcat.lie import SE2, SE3, Trivial
from fallingcat.model import Passive
from fallingcat.simulation import BatchSimulator, Moreau

G, DT = 9.81, 1e-3
BLOCK = corners(fc.robots.free_body(SE2()), "body", [(0.15, -0.1), (-0.15, -0.1)])
BALL = fc.robots.free_body()
DOG = fc.robots.quadruped()
FEET = tuple(frame.name for frame in DOG.frames)


def run(model, state, duration, contact, controller=None, dt=DT, **options):
    return fc.simulate(model, state, duration, controller, contact, dt=dt, integrator="moreau", **options)


def lifted(height, axis=2):
    pose = np.eye(4)
    pose[axis, 3] = height
    return pose


def standing(height=0.36):
    joints = np.tile([0.0, 0.6, -1.2], 4)
    twist = [0.3, 0.1, 0.0, 0.2, 0.1, 0.3]
    laws = fc.control.JointSpring(200.0, tuple(joints)), fc.control.JointDamper(5.0)
    return DOG.state(pose=lifted(height), joints=joints, twist=twist), laws


# exact solutions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("friction", [0.0, 0.3, 0.6, 1.0, None])
def test_a_block_on_a_slope_slides_or_stays(friction):
    """Velocities of a constant acceleration are exact, places a half step ahead; what is held is at rest."""
    model, points = BLOCK
    slope, length = 0.5, 0.2
    up, down = np.array([np.sin(slope), np.cos(slope), 0.0]), np.array([np.cos(slope), -np.sin(slope), 0.0])
    pose = np.eye(4)
    pose[:3, 0], pose[:3, 1], pose[:3, 3] = down, up, 0.1 * up
    slid = run(model, model.state(pose=pose), length, HardContacts(points, friction=friction, normal=tuple(up)))
    mu = np.inf if friction is None else friction
    a = G * max(0.0, np.sin(slope) - mu * np.cos(slope)) if mu else G * np.sin(slope)
    assert slid.status == "finished"
    assert np.abs(slid.twists[-1] - [a * length, 0.0, 0.0]).max() < 1e-12
    assert abs((slid.poses[-1] - pose)[:3, 3] @ down - 0.5 * a * length * (length + DT)) < 1e-12
    assert abs(slid.contact_forces[-1].sum(axis=0) @ up - model.mass * G * np.cos(slope)) < 1e-9
    assert slid.penetration.max() < 1e-12


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_a_ball_falls_bounces_and_rests(restitution):
    """Without losses the ball comes as high as it was; without bounces it lies on the ground, at rest."""
    floor = HardContacts(("body",), restitution=restitution, rest_speed=0.05)
    fall = run(BALL, BALL.state(pose=lifted(0.5)), 1.2, floor)
    height = fall.poses[:, 2, 3]
    assert fall.status == "finished"
    assert height.min() > -1e-15
    landed = int(np.argmin(height[:400]))
    if restitution == 0.0:
        assert np.abs(fall.twists[landed + 2 :]).max() < 1e-15
        assert np.abs(fall.contact_forces[-1] - [0.0, 0.0, BALL.mass * G]).max() < 1e-9
    else:
        speed = np.sqrt(2.0 * G * 0.5)
        assert abs(height[landed:].max() - restitution**2 * 0.5) < 2.0 * speed * DT
        assert restitution < 1.0 or abs(height[landed:].max() - 0.5) < 1e-12


def test_a_contact_that_starts_closed_or_coming():
    on = run(BALL, BALL.neutral(), 0.01, HardContacts(("body",)))
    assert np.abs(on.twists).max() < 1e-16
    assert on.touching[1:] == (frozenset({"body"}),) * 10
    down, elastic = BALL.state(twist=[0.0, 0.0, -1.0, 0.0, 0.0, 0.0]), HardContacts(("body",), restitution=0.5)
    coming = run(BALL, down, 0.01, elastic)
    assert abs(coming.twists[1, 2] - 0.5) < 1e-15
    assert np.abs(coming.poses[:, 2, 3].min()) < 1e-15


def test_a_ball_rolls_down_a_slope():
    """Held at its lowest point it rolls: 5/7 of what a sliding one has; on a terrain too."""
    r, slope, length = 0.1, 0.3, 0.2
    marble = fc.robots.free_body(body=fc.Body(2.0, (0, 0, 0), 0.4 * 2.0 * r**2 * np.eye(3)))
    up, down = np.array([np.sin(slope), 0.0, np.cos(slope)]), np.array([np.cos(slope), 0.0, -np.sin(slope)])
    pose = np.eye(4)
    pose[:3, 3] = r * up
    hills = fc.contact.HeightField([2.0 * np.tan(slope), 0.0, -2.0 * np.tan(slope)], spacing=2.0, origin=(-2.0, 0.0))
    for floor in (
        HardContacts(("body",), friction=0.5, normal=tuple(up), radius=r),
        HardContacts(("body",), friction=0.5, radius=r, terrain=hills),
    ):
        roll = run(marble, marble.state(pose=pose), length, floor, dt=1e-3)
        speed = roll.poses[-1, :3, :3] @ roll.twists[-1, :3] @ down
        assert abs(speed - 5.0 / 7.0 * G * np.sin(slope) * length) < 1e-12
        assert roll.touching[-1] == {"body"}


def swinging(friction):
    """A bar of 1 kg and 1 m on a hinge."""
    bar = fc.Body(1.0, (0.0, 0.0, -0.5), 1e-3 * np.eye(3))
    joint = fc.Joint("hinge", fc.joints.Revolute((0.0, 1.0, 0.0)), "wall", "bar", passive=Passive(friction=friction))
    return fc.Model("bar", Trivial(), (fc.Link("wall", bar), fc.Link("bar", bar)), (joint,))


@pytest.mark.parametrize(("friction", "torque"), [(0.5 * G + 1e-3, 0.0), (0.5 * G - 2.0, 2.0)])
def test_dry_friction_holds_joints_beside_contacts(friction, torque):
    """A bar that friction holds does not move at all; one that it cannot hold falls by what is left."""
    bar = swinging(friction)
    tip = replace(bar, frames=(fc.model.Frame("tip", "bar", lifted(-1.0)),))
    fall = run(tip, tip.state(joints=[np.pi / 2.0]), 0.05, HardContacts(("tip",), height=-5.0))
    assert fall.status == "finished"
    assert abs(abs(fall.rates[1, 0]) - DT * torque / 0.251) < 1e-13
    assert torque or np.abs(fall.rates).max() < 1e-13


# beside runs that locate their events ---------------------------------------------------------------------------------


@pytest.mark.parametrize("friction", [0.0, 0.6])
def test_a_rocking_box_is_of_order_one(friction):
    """It falls on its other edge and comes to rest."""
    model, points = BLOCK
    pose = np.eye(4)
    pose[:2, :2] = [[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]]
    pose[1, 3] = -min(fc.link_pose(model, model.state(pose=pose), p)[1, 3] for p in points)
    floor, start = HardContacts(points, friction=friction), model.state(pose=pose)
    located = fc.simulate(model, start, 0.4, contact=floor, integrator="rkmk4")
    errors = []
    for dt in (2e-3, 1e-3, 5e-4):
        stepped = run(model, start, 0.4, floor, dt=dt)
        errors.append(max(np.abs(stepped.at(t).pose - located.at(t).pose).max() for t in (0.05, 0.1, 0.15)))
    assert errors[0] < 5e-3
    assert 0.9 < np.log2(errors[0] / errors[2]) / 2.0 < 1.1
    assert np.abs(stepped.twists[-1]).max() < 1e-12 or friction == 0.0


class LocatedContacts(HardContacts):
    """Hard contacts whose events are located however many points there are: an independent reference, slow to make."""

    def unlocated_reason(self, model):
        return ""


@pytest.mark.slow
def test_a_quadruped_lands_as_events_have_it():
    start, laws = standing()
    floor = HardContacts(FEET, friction=0.8)
    located = fc.simulate(DOG, start, 0.3, laws, LocatedContacts(FEET, friction=0.8), integrator="rkmk4")
    errors = [
        np.abs(run(DOG, start, 0.3, floor, laws, dt=dt).poses[-1] - located.poses[-1]).max() for dt in (2e-3, 5e-4)
    ]
    assert errors[1] < 1e-3
    assert errors[1] < 0.5 * errors[0]


def test_many_points_take_time_steps_by_default():
    start, laws = standing()
    assert fc.simulate(DOG, start, 0.002, laws, HardContacts(FEET, friction=0.8)).integrator == "moreau"
    assert fc.simulate(BALL, BALL.neutral(), 0.002, contact=HardContacts(("body",))).integrator == "rkmk4"


def test_stops_are_hit_as_events_have_it():
    arm = fc.robots.planar_arm()
    arm = replace(arm, joints=tuple(replace(joint, limits=fc.model.Limits(-1.0, 1.0)) for joint in arm.joints))
    floor = HardContacts(stops=joint_stops(arm, restitution=0.3))
    start = arm.state(rates=[3.0, 0.0, 0.0])
    located = fc.simulate(arm, start, 0.5, contact=floor)
    errors = []
    for dt in (1e-3, 2.5e-4):
        swing = run(arm, start, 0.5, floor, dt=dt)
        assert np.abs(swing.joints).max() < 1.0 + 1e-6
        errors.append(np.abs(swing.joints[-1] - located.joints[-1]).max())
    assert errors[1] < 0.4 * errors[0]


# the law --------------------------------------------------------------------------------------------------------------


def above(model, state, points, height):
    """The same state with its lowest point at ``height``."""
    up = -model.gravity / np.linalg.norm(model.gravity)
    pose = state.pose.copy()
    pose[:3, 3] += (height - min(up @ fc.link_pose(model, state, p)[:3, 3] for p in points)) * up
    return state._replace(pose=pose)


@pytest.mark.parametrize(("friction", "seed"), [(0.0, 0), (0.5, 1), (None, 2)])
def test_the_law_of_contact_on_random_robots(friction, seed):
    """Momentum, cones, and either a push or a distance: from the equations of motion and the Jacobians alone."""
    model, start = build(Robot(SE3(), 6, seed))
    model = replace(model, gravity=(3.0, -2.0, -9.0))
    points, up = tuple(model.link_names[-3:]), -model.gravity / np.linalg.norm(model.gravity)
    falling = np.concatenate([-start.pose[:3, :3].T @ up, np.zeros(3)])
    angles = all(joint.kind.group.additive for joint in model.joints)
    joints = (0.3 if angles else 1.0) * start.joints
    start = start._replace(joints=joints, twist=falling, rates=0.3 * start.rates)
    fall = run(model, above(model, start, points, 0.002), 0.04, HardContacts(points, friction=friction), passive=False)
    mu, pushes, drags = np.inf if friction is None else friction, 0, 0
    for before, after, forces in zip(fall.states, list(fall.states)[1:], fall.contact_forces[1:], strict=False):
        pushed, turn = np.zeros(model.nv), before.pose[:3, :3].T @ after.pose[:3, :3]
        ended = np.concatenate(
            [turn @ after.twist[:3], turn @ after.twist[3:], after.rates]
        )  # in the axes of the start
        for point, F in zip(points, forces, strict=True):
            H = fc.link_pose(model, before, point)
            J = H[:3, :3] @ fc.jacobian(model, before, point)[:3]
            u, push, drag = J @ ended, F @ up, F - (F @ up) * up
            reach, along, hair = u @ up + H[:3, 3] @ up / DT, u - (u @ up) * up, 1e-8 * max(1.0, np.abs(u).max())
            assert push >= 0.0
            assert reach > -hair
            assert push == 0.0 or reach < hair
            assert np.linalg.norm(drag) <= (mu * push if push else 0.0) * (1.0 + 1e-9) + 1e-12
            if push and np.linalg.norm(drag) < mu * push * (1.0 - 1e-6):
                assert np.linalg.norm(along) < hair
            elif push and mu:
                assert abs(drag @ along + np.linalg.norm(drag) * np.linalg.norm(along)) < 1e-6 * np.linalg.norm(drag)
            pushed, pushes, drags = pushed + J.T @ F, pushes + (push > 0.0), drags + (np.linalg.norm(drag) > 1e-9)
        gained = fc.mass_matrix(model, before) @ (ended - before.velocity)
        steady = np.concatenate([np.cross(before.twist[:3], before.twist[3:]), np.zeros(model.nv - 3)])  # in the world
        missing = gained - DT * (pushed - fc.inverse_dynamics(model, before, steady))
        assert np.abs(missing).max() < 1e-10 * max(1.0, np.abs(DT * pushed).max())
    assert fall.memory[-1, -1] < 1e-8
    assert pushes > 2
    assert (drags > 2) == (friction != 0.0)


SLAB = fc.Body(2.0, np.zeros(3), np.diag([1.0 / 120.0, 1.0 / 60.0, 13.0 / 600.0]))
TILE = corners(fc.robots.free_body(SE2()), "body", [(x, y) for x in (0.15, -0.15) for y in (0.1, -0.1)])
BOX = corners(
    fc.robots.free_body(body=SLAB),
    "body",
    [(x, y, z) for x in (0.15, -0.15) for y in (0.1, -0.1) for z in (0.05, -0.05)],
)


@pytest.mark.parametrize(("friction", "restitution"), [(0.0, 0.0), (0.3, 0.6), (1.0, 0.0)])
@pytest.mark.parametrize(("model", "points"), [TILE, pytest.param(*BOX, marks=pytest.mark.slow)])
def test_contacts_only_take_energy(model, points, friction, restitution):
    """Boxes, some corners of which are redundant, thrown: no work of contacts is positive; without bounces they rest,
    on the ground.
    """
    rng = np.random.default_rng(3)
    starts = [above(model, model.random_state(rng), points, 0.05) for _ in range(16)]
    fall = fc.rollout(model, starts, 1.5, contact=HardContacts(points, friction, restitution), dt=DT, every=1)
    work = fall.works[:, :, [fall.ports.index("contact normal"), fall.ports.index("contact tangential")]].sum(axis=2)
    given = (work - np.minimum.accumulate(work, axis=0)).max(axis=0)
    assert (given < 2e-3 * np.abs(work).max(axis=0)).all()
    assert fall.memory[-1, :, -1].max() < 1e-3
    if friction and not restitution:
        assert np.median(np.abs(fall.twists[-1]).max(axis=1)) < 1e-12


def test_corners_that_depend_on_each_other_arrive():
    """Boxes thrown on eight corners: as faces land, loads shift among corners, and no step runs out of rounds."""
    rng = np.random.default_rng(1)
    model, points = BOX
    starts = [above(model, model.random_state(rng), points, 0.05) for _ in range(64)]
    fall = fc.rollout(model, starts, 0.4, contact=HardContacts(points, friction=1.0), dt=DT, every=400)
    assert fall.memory[-1, :, -1].max() < DIGITS["float64"].left * DIGITS["float64"].rounds ** 2


def limp(points, count):
    rng = np.random.default_rng(0)
    for _ in range(count):
        joints, rates = np.tile([0.0, 0.6, -1.2], 4) + 0.3 * rng.normal(size=12), 3.0 * rng.normal(size=12)
        yield above(DOG, DOG.random_state(rng)._replace(joints=joints, rates=rates), points, 0.05)


SHANKS = tuple(name for name in DOG.link_names if "shank" in name or "thigh" in name)


def thrown(points, friction):
    floor = HardContacts(points, friction)
    return fc.rollout(DOG, list(limp(points, 64)), 0.4, contact=floor, dt=DT, every=1, passive=False)


@pytest.mark.parametrize("points", [FEET, pytest.param(FEET + SHANKS, marks=pytest.mark.slow)])
def test_limp_quadrupeds_meet_the_law_in_every_step(points):
    """Legs without any force, thrown: of 25,600 steps none is 1 mm/s from the law."""
    fall = thrown(points, 0.8)
    assert (fall.memory[-1, :, 0:-1:3] >= 0.0).all()
    assert fall.memory[-1, :, -1].max() < 1e-3


@pytest.mark.slow
def test_a_step_that_is_not_solved_is_reported():
    """Twelve points at a friction of 1.5: one of 64 robots has a step that no round solves."""
    fall = thrown(FEET + SHANKS, 1.5)
    missed = fall.memory[-1, :, -1] > 1e-3
    assert missed.sum() <= 1
    assert ("missed" in fall.status) == missed.any()


def test_the_order_of_points_does_not_matter():
    """Eight corners of two soles, one sole after the other or in turn, on links that move with 6 numbers each."""
    slab = fc.Body(2.0, np.zeros(3), np.diag([0.01, 0.02, 0.02]))
    hinge = fc.Joint("hinge", fc.joints.Revolute((0.0, 1.0, 0.0)), "left", "right")
    pair = fc.Model("pair", SE3(), (fc.Link("left", slab), fc.Link("right", slab)), (hinge,))
    pair, left = corners(pair, "left", [(x, y, -0.1) for x in (0.0, 0.1) for y in (0.05, -0.05)])
    pair, right = corners(pair, "right", [(x, y, -0.1) for x in (-0.1, -0.2) for y in (0.05, -0.05)])
    start = pair.state(pose=lifted(0.15), twist=[0.3, 0.2, 0.0, 0.1, 0.2, 0.5])
    turn = tuple(name for two in zip(left, right, strict=True) for name in two)
    runs = [run(pair, start, 0.2, HardContacts(points, friction=0.5)) for points in (left + right, turn)]
    assert all(one.status == "finished" for one in runs)
    assert np.abs(runs[0].poses[-1] - runs[1].poses[-1]).max() < 1e-9
    assert abs(runs[0].contact_forces[:, :, 2].sum(axis=1).max()) > pair.mass * G


def test_light_feet_carry_the_robot():
    """Shanks of 1e-5 of the trunk's mass; the feet stand still, and push with the weight together."""
    light = tuple(
        replace(link, body=link.body if link.name == "trunk" else fc.Body(1e-5, (0, 0, 0), 1e-8 * np.eye(3)))
        for link in DOG.links
    )
    model, (start, _) = replace(DOG, links=light), standing()
    held = fc.control.JointSpring(500.0, tuple(start.joints)), fc.control.JointDamper(20.0)
    start = above(model, start._replace(twist=np.zeros(6)), FEET, 0.0)
    stands = run(model, start, 1.5, HardContacts(FEET, friction=0.6), held)
    assert stands.status == "finished"
    assert abs(stands.contact_forces[-1, :, 2].sum() / (model.mass * G) - 1.0) < 1e-6
    assert stands.slip[-1].max() < 1e-6


def test_steps_that_are_taken_one_by_one_are_the_same():
    """Under a Python controller, with events, and where the last step is shorter."""
    start, laws = standing()
    floor, rest = HardContacts(FEET, friction=0.8), start.joints
    together = run(DOG, start, 0.1005, floor, laws)
    assert together.status == "finished"
    assert together.times[-1] == 0.1005

    def hold(t, state):
        return 200.0 * (rest - state.joints) - 5.0 * state.rates

    below = fc.Event("below", lambda t, state: state.pose[2, 3] - 0.335)
    events = run(DOG, start, 0.1005, floor, laws, events=[below])
    assert [event.name for event in events.events if "foot" not in event.name] == ["below"]
    assert np.abs(events.poses[-1] - together.poses[-1]).max() < 1e-4  # it shortens a step
    driven = run(DOG, start, 0.1005, floor, hold)
    assert driven.status == "finished"
    assert np.abs(driven.poses[-1] - together.poses[-1]).max() < 5e-3  # explicit springs, and implicit ones


# many at once, and what is refused ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def landing():
    start, laws = standing()
    rng = np.random.default_rng(0)
    return [start._replace(rates=rng.normal(size=DOG.n)) for _ in range(5)], laws, HardContacts(FEET, friction=0.8)


def test_rollouts_are_the_single_runs(landing):
    many, laws, floor = landing
    together = fc.rollout(DOG, many, 0.1, laws, floor, dt=DT)
    alone = [run(DOG, state, 0.1, floor, laws) for state in many]
    assert together.status == "finished"
    assert np.abs(together.poses[-1] - [one.poses[-1] for one in alone]).max() < 1e-12
    assert np.abs(together.works[-1] - [one.ledger.works[-1] for one in alone]).max() < 1e-9
    assert all(one.integrator == "moreau" for one in alone)


def test_batches_are_driven_and_reset(landing):
    many, laws, floor = landing
    simulator = BatchSimulator(DOG, many, laws, floor, driven=True)
    simulator.step(20, forces=np.zeros((5, DOG.n)))
    simulator.reset([1], [many[0]])
    assert np.allclose(np.asarray(simulator.times), [0.02, 0.0, 0.02, 0.02, 0.02])


def test_what_time_stepping_refuses(landing):
    many, laws, floor = landing
    deep = many[1]._replace(pose=lifted(0.1))
    with pytest.raises(ModelError, match=r"of robot 1 starts .* below the ground"):
        fc.rollout(DOG, [many[0], deep], 0.1, laws, floor)
    with pytest.raises(ModelError, match="'moreau' needs a contact"):
        fc.simulate(BALL, BALL.neutral(), 0.1, integrator="moreau")
    with pytest.raises(ModelError, match="needs a contact"):
        BatchSimulator(BALL, [BALL.neutral()], integrator=Moreau())


def test_the_status_tells_of_a_law_that_was_missed(landing):
    many, laws, floor = landing
    fine = run(DOG, many[0], 0.01, floor, laws)
    spoiled = fine.memory.copy()
    spoiled[-1, -1] = 0.0025
    assert fine.problem.contact.end_diagnosis(fine.memory[-1]) == ""
    assert "missed by up to 0.0025 m/s" in fine.problem.contact.end_diagnosis(spoiled[-1])


def test_feet_that_stick_whatever_that_takes_land():
    """At times no motion holds all feet that push: the law of contact was missed by 0.02 to 0.5 m/s."""
    sit = DOG.state(joints=[0.0, 0.6, -1.2] * 4, pose=np.eye(4) + np.outer([0, 0, 1, 0], [0, 0, 0, 0.4]))
    hold = [fc.control.JointSpring(200.0, tuple(sit.joints)), fc.control.JointDamper(5.0)]
    glue = HardContacts(FEET, friction=None)
    for run in (fc.simulate(DOG, sit, 0.2, hold, glue), fc.rollout(DOG, [sit], 0.2, hold, glue)):
        assert run.status == "finished"
    limp = fc.simulate(DOG, sit, 0.5, contact=glue)
    assert limp.problem.contact.unpack_memory(limp.memory).left.max() < 1e-7
