"""Hard contact with many points on several links, which articulated bodies solve: exact solutions and the law."""

from dataclasses import replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.contact import HardContacts, corners, joint_stops
from fallingcat.contact.rigid.solvers.link_twists import TreeJacobian
from fallingcat.contact.rigid.time_stepping.stepped_contacts import SteppedContacts
from fallingcat.lie import SE3

G, DT = 9.81, 1e-3


def train(carts=4):
    """A beam on carts with vertical axes, each on the 4 corners of its sole; and the names of the points."""
    cart = fc.Body(2.0, (0.0, 0.0, 0.0), np.diag([0.01, 0.01, 0.02]))
    beam = fc.Body(3.0, (0.0, 0.0, 0.0), np.diag([0.02, 0.5, 0.5]))
    links, joints, frames = [fc.Link("beam", beam)], [], []
    for k in range(carts):
        place = np.eye(4)
        place[0, 3], place[2, 3] = 0.4 * (k - 0.5 * (carts - 1)), -0.1
        links.append(fc.Link(f"cart{k}", cart))
        kind = fc.joints.Revolute((0.0, 0.0, 1.0))
        joints.append(fc.Joint(f"axis{k}", kind, "beam", f"cart{k}", placement=place))
        for i, (x, y) in enumerate([(a, b) for a in (0.1, -0.1) for b in (0.1, -0.1)]):
            corner = np.eye(4)
            corner[:3, 3] = x, y, -0.05
            frames.append(fc.model.Frame(f"corner{k}{i}", f"cart{k}", corner))
    model = fc.Model("train", SE3(), tuple(links), tuple(joints), frames=tuple(frames))
    return model, tuple(frame.name for frame in frames)


def tilted(angle):
    """Rotation about y that takes x down a slope, and the normal of the slope."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]), (s, 0.0, c)


@pytest.mark.parametrize(("angle", "friction", "speed"), [(0.0, 0.5, 1.0), (0.3, 0.2, 0.0), (0.3, 0.5, 0.4)])
def test_a_train_slides_as_one_body(angle, friction, speed):
    """Coulomb's law: ``a = g (sin - mu cos)``, in each step exactly; where friction wins it stops and stays."""
    model, points = train()
    R, normal = tilted(angle)
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = R, 0.15 * np.array(normal)
    start = model.state(pose=pose, twist=[speed, 0.0, 0.0, 0.0, 0.0, 0.0])
    floor = HardContacts(points, friction=friction, normal=normal)
    contact = SteppedContacts.of(floor, 0)
    assert isinstance(contact.stacked_jacobian(model, start).jacobian, TreeJacobian)
    run = fc.simulate(model, start, 0.4, contact=floor, dt=DT, integrator="moreau")
    a = G * (np.sin(angle) - friction * np.cos(angle))
    speeds = np.maximum(speed + a * DT * np.arange(401), 0.0)
    gone = DT * speeds[1:].sum()
    assert run.status == "finished"
    assert np.abs(run.twists[:, 0] - speeds).max() < 1e-9
    assert np.abs(run.twists[:, 1:]).max() < 1e-9
    assert np.abs(run.rates).max() < 1e-8
    assert abs((run.poses[-1] - pose)[:3, 3] @ R[:, 0] - gone) < 1e-9
    assert abs(run.contact_forces[-1].sum(axis=0) @ normal - model.mass * G * np.cos(angle)) < 1e-8
    assert run.memory[-1, -1] < 1e-8


@pytest.mark.parametrize("friction", [0.3, 0.5, 0.9])
def test_a_box_slides_to_rest_on_32_points(friction):
    """After ``v^2 / (2 mu g)``, to a step's length: 96 rows of rank 6 come to rest together, and meet the law."""
    box = fc.robots.free_body(body=fc.Body(10.0, np.zeros(3), np.diag([0.2, 0.3, 0.4])))
    grid = [(x, y, -0.1) for x in np.linspace(-0.3, 0.3, 8) for y in np.linspace(-0.2, 0.2, 4)]
    box, points = corners(box, "body", grid)
    pose = np.eye(4)
    pose[2, 3] = 0.1
    floor = HardContacts(points, friction=friction)
    start = box.state(pose=pose, twist=[1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    run = fc.simulate(box, start, 0.4, contact=floor, dt=DT, integrator="moreau")
    speeds = np.maximum(1.0 - friction * G * DT * np.arange(401), 0.0)
    assert run.status == "finished"
    assert run.memory[-1, -1] < 1e-9
    assert np.abs(run.twists[:, 0] - speeds).max() < 1e-9
    assert abs(run.poses[-1, 0, 3] - DT * speeds[1:].sum()) < 1e-9
    assert speeds[-1] > 0.0 or abs(run.poses[-1, 0, 3] - 0.5 / (friction * G)) < DT


def test_stops_of_all_joints_hold_a_robot_that_stands_on_many_points():
    """A quadruped with its legs at their stops: 24 stops beside 4 feet; what stops hold is what friction leaves."""
    dog = fc.robots.quadruped()
    joints = np.tile([0.0, 0.6, -1.2], 4)
    limits = [fc.model.Limits(q - 1e-3, q + 1e-3) for q in joints]
    dog = replace(dog, joints=tuple(replace(j, limits=bound) for j, bound in zip(dog.joints, limits, strict=True)))
    feet = tuple(frame.name for frame in dog.frames)
    start = dog.state(joints=joints)
    pose = np.eye(4)
    pose[2, 3] = 1e-4 - min(fc.link_pose(dog, start, foot)[2, 3] for foot in feet)
    start = start._replace(pose=pose)
    floor = HardContacts(feet, friction=0.8, stops=joint_stops(dog))
    assert isinstance(SteppedContacts.of(floor, 0).stacked_jacobian(dog, start).jacobian, TreeJacobian)
    run = fc.simulate(dog, start, 0.3, contact=floor, dt=DT, integrator="moreau", passive=False)
    assert run.status == "finished"
    assert np.abs(run.joints - joints).max() < 1e-3 + 1e-9
    assert np.abs(run.rates[-1]).max() < 1e-9
    assert np.abs(run.contact_forces[-1].sum(axis=0) - [0.0, 0.0, dog.mass * G]).max() < 1e-7
    forces = SteppedContacts.of(floor, 0).unpack_memory(run.memory[-1]).forces
    pushed = np.zeros(dog.nv)
    for k, foot in enumerate(feet):
        H = fc.link_pose(dog, run.state(-1), foot)
        pushed += (H[:3, :3] @ fc.jacobian(dog, run.state(-1), foot)[:3]).T @ run.contact_forces[-1][k]
    for stop, force in zip(floor.stops, forces[3 * len(feet) :], strict=True):
        pushed[dog.m + stop.rate(dog)] += stop.sign * force
    assert np.abs(pushed - fc.gravity_forces(dog, run.state(-1))).max() < 1e-6
