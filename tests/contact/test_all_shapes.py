"""By default all collision shapes of a robot touch the ground, and a run says where some cannot."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.errors import ModelError
from fallingcat.geometry.collision_points import collision_points
from fallingcat.geometry.contact_points import touches
from fallingcat.geometry.reduced_points import MAX_DEPTH, MAX_RELATIVE_DEPTH, reduce_points, shape_points
from fallingcat.lie import SE3
from fallingcat.model import Body, Joint, Limits, Link, Model, Revolute
from fallingcat.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Sphere
from fallingcat.simulation import DiagnosticKind

FLOORS = {"compliant": fc.contact.CompliantFloor, "hard": fc.contact.HardContacts}


def at(*xyz):
    H = np.eye(4)
    H[:3, 3] = xyz
    return H


def table():
    """A box on a leg: folded at the hip, the box is over the ground on its leg alone."""
    trunk = Body(2.0, np.zeros(3), np.diag([0.02, 0.02, 0.02]))
    leg = Body(0.5, np.array([0.0, 0.0, -0.2]), np.diag([0.01, 0.01, 0.002]))
    links = (
        Link("trunk", trunk, collisions=(Box((0.3, 0.2, 0.1)), Sphere(0.03))),
        Link("leg", leg, collisions=(Sphere(0.03, placement=at(0.0, 0.0, -0.4)),)),
    )
    hip = Joint("hip", Revolute((0.0, 1.0, 0.0)), "trunk", "leg", limits=Limits(-2.5, 2.5, effort=50.0))
    return Model("table", SE3(), links, (hip,))


def lowest(model, state):
    points = collision_points(model)
    found = touches(points.model, state, points.points, fc.contact.plane(model), points.radii)
    return min(touch.site.height for touch in found)


@pytest.mark.parametrize("floor", FLOORS)
def test_a_limp_robot_lies_on_its_shapes(floor):
    """It falls over and comes to rest on trunk and leg, not in the ground."""
    model, ground = table(), FLOORS[floor](friction=0.8)
    start = model.standing(ground)
    pose = start.pose.copy()
    pose[2, 3] += 0.05
    pose[:3, :3] = fc.lie.rotations.about(np.array([0.0, 1.0, 0.0]), 0.2)
    run = fc.simulate(model, model.state(pose=pose), 1.0, contact=ground)
    assert run.status == "finished"
    assert lowest(model, run.state(-1)) > -0.02
    assert run.state(-1).pose[2, 3] < 0.3


@pytest.mark.parametrize("floor", FLOORS)
def test_a_run_on_feet_says_what_fell_through(floor):
    model = table()
    feet = fc.contact.feet(model)
    assert {feet.model.frame(point).link for point in feet.points} == {"leg"}
    ground = FLOORS[floor](feet, friction=0.8)
    start = feet.model.standing(ground)
    pose = start.pose.copy()
    pose[:3, :3] = fc.lie.rotations.about(np.array([0.0, 1.0, 0.0]), 0.3)
    run = fc.simulate(feet.model, feet.model.state(pose=pose), 1.5, contact=ground)
    (found,) = [warning for warning in run.warnings if warning.kind is DiagnosticKind.BELOW_GROUND]
    assert (found.name, found.value > 0.05) == ("trunk", True)
    assert "leave out the points" in run.status


def test_drivers_take_the_same_points():
    model, ground = table(), fc.contact.CompliantFloor(friction=0.8)
    start = model.standing(ground)
    run = fc.simulate(model, start, 0.02, contact=ground, dt=1e-3)
    states = fc.State(*(np.stack([x, x]) for x in start))
    many = fc.rollout(model, states, 0.02, contact=ground, dt=1e-3)
    np.testing.assert_array_equal(many.joints[-1, 0], run.state(-1).joints)
    assert run.problem.contact.points == shape_points(model).points
    with pytest.raises(ModelError, match="follow from the robot"):
        ground.begin(model, start)


def test_springs_carry_the_robot_on_few_points():
    """Of many points some touch: the springs are those of four."""
    model, ground = table(), fc.contact.CompliantFloor(friction=0.8)
    _, floor = ground.on_robot(model)
    assert floor.stiffness == fc.contact.default_springs(model, floor.points[:4])[0]
    assert len(floor.points) > 4


def test_few_points_stand_for_many():
    """On planes of any direction the points that are left out are lower than the others by the stated depth at most."""
    rng = np.random.default_rng(0)
    turned = SE3().exp(rng.normal(size=6))
    shapes = (
        Box((0.3, 0.2, 0.1)),
        Capsule(0.05, 0.3, placement=at(0.1, 0.0, 0.1)),
        Cylinder(0.1, 0.2),
        Ellipsoid((0.1, 0.2, 0.05), placement=turned),
        Sphere(0.02),
    )
    link = Link("body", Body(1.0, np.zeros(3), np.eye(3)), collisions=shapes)
    whole = collision_points(Model("brick", SE3(), (link,)))
    few = reduce_points(whole)
    assert len(few.points) < 0.7 * len(whole.points)
    ways = rng.normal(size=(500, 3))
    ways /= np.linalg.norm(ways, axis=1)[:, None]

    def support(points):
        state, some = whole.model.neutral(), (points.points, points.radii)
        grounds = [fc.contact.plane(whole.model, tuple(-way)) for way in ways]
        return np.array(
            [-min(at.site.height for at in touches(points.model, state, some[0], g, some[1])) for g in grounds]
        )

    extent = (support(whole) + support(whole)).max()
    assert (support(whole) - support(few)).max() < max(MAX_DEPTH, MAX_RELATIVE_DEPTH * extent)


def test_a_robot_without_shapes_is_named():
    body = Link("body", Body(1.0, np.zeros(3), np.eye(3)))
    model = Model("bare", SE3(), (body,))
    with pytest.raises(ModelError, match="no collision shapes in 'bare'"):
        fc.simulate(model, model.state(), 0.01, contact=fc.contact.CompliantFloor())
