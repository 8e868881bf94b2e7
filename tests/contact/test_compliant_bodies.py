"""Compliant contact between bodies: springs, dampers and friction, beside closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support.object_scenes import G, at, gripper, squeezed, stack, table

import fallingcat as fc
from fallingcat.contact import BodyContacts, CompliantBodies, CompliantFloor, body_pairs
from fallingcat.model import combine, rigid_object
from fallingcat.model.shapes import Box, Sphere

K = 1e4  # N/m


def bouncing(damping):
    """Speed (m/s) of 1 kg that falls on a spring and a damper, 0.12 s after it was 5 cm above them at -1 m/s."""

    def slope(t, y):
        return [y[1], -G + (max(0.0, -K * y[0] - damping * y[1]) if y[0] < 0.0 else 0.0)]

    return solve_ivp(slope, (0.0, 0.12), [0.05, -1.0], max_step=2e-5, rtol=1e-9).y[1, -1]


@pytest.mark.parametrize("damping", [pytest.param(0.0, marks=pytest.mark.slow), 20.0])
def test_a_ball_bounces_as_on_a_spring_to_first_order(damping):
    scene = combine({"table": table(), "ball": rigid_object(Sphere(0.05), mass=1.0)})
    touch = BodyContacts(body_pairs(scene), stiffness=K, damping=damping)
    start, errors = scene.state(joints=at(0.0, 0.0, 0.1), rates=[0.0, 0.0, -1.0, 0.0, 0.0, 0.0]), []
    for dt in (2e-4, 1e-4):
        run = fc.simulate(scene, start, 0.12, contact=touch, dt=dt)
        errors.append(run.rates[-1, 2] - bouncing(damping))
        assert run.energy_residual < 1e-9
        assert "contacts gave" not in run.status
    assert abs(errors[1]) < 0.025
    assert 1.7 < errors[0] / errors[1] < 2.3


@pytest.mark.slow
def test_cubes_rest_at_the_depth_of_their_weight():
    scene, start, touch = stack(2, friction=0.5)
    touch = replace(touch, stiffness=K, damping=50.0)
    run = fc.simulate(scene, start, 1.0, contact=touch, dt=1e-3)
    sunk = (start.joints - run.state(-1).joints)[[2, 9]]
    assert np.allclose(sunk, [2.0 * G / (4.0 * K), 3.0 * G / (4.0 * K)], atol=1e-12)
    assert run.status == "finished"


@pytest.mark.slow
def test_a_cube_on_a_slope_is_held_by_springs_and_does_not_creep():
    tilt = 0.2
    scene, start, touch = stack(1, tilt, friction=0.5)
    run = fc.simulate(scene, start, 2.0, contact=replace(touch, stiffness=K, damping=50.0), dt=1e-3)
    pull, turn = G * np.sin(tilt), G * np.sin(tilt) * 0.05 / (4.0 * K * 0.05**2)
    assert run.state(-1).joints[0] == pytest.approx(pull / (4.0 * K) + 0.05 * turn, rel=5e-3)
    assert np.abs(run.rates[-1]).max() < 1e-12


@pytest.mark.slow
def test_a_cube_slides_down_a_slope_as_coulomb_says():
    tilt = 0.6
    scene, start, touch = stack(1, tilt, friction=0.5)
    run = fc.simulate(scene, start, 0.5, contact=replace(touch, stiffness=K, damping=50.0), dt=1e-3)
    last = (run.rates[-1, 0] - run.rates[250, 0]) / (run.times[-1] - run.times[250])
    assert last == pytest.approx(G * (np.sin(tilt) - 0.5 * np.cos(tilt)), rel=1e-3)


@pytest.mark.slow
def test_a_block_between_two_compliant_fingers_slips_at_the_limit():
    scene = gripper()
    touch = BodyContacts(body_pairs(scene, [("hand/l", "cube"), ("hand/r", "cube")]), stiffness=K, damping=20.0)
    start = scene.state(joints=[-0.04, 0.04, *at(0.0, 0.0, 0.0)])
    stays, falls = (
        fc.simulate(scene, start, 0.4, squeezed(share * 0.5 * G), contact=touch, dt=1e-3) for share in (1.002, 0.99)
    )
    assert abs(stays.rates[-1, 4]) < 1e-9
    assert (falls.rates[-1, 4] - falls.rates[200, 4]) / 0.2 == pytest.approx(-0.01 * G, rel=1e-2)


def test_springs_of_bodies_are_checked():
    pairs = body_pairs(gripper())
    with pytest.raises(fc.ModelError, match="beside a stiffness"):
        BodyContacts(pairs, damping=1.0)
    with pytest.raises(fc.ModelError, match="leave restitution out"):
        BodyContacts(pairs, stiffness=1e4, restitution=0.5)
    with pytest.raises(fc.ModelError, match="damping between bodies is not negative"):
        BodyContacts(pairs, stiffness=1e4, damping=-1.0)
    with pytest.raises(fc.ModelError, match="stiffness between bodies"):
        BodyContacts(pairs, stiffness=0.0)


# CompliantBodies: the law of compliant floors between bodies, in implicit steps ---------------------------------------


@pytest.mark.slow
def test_a_stack_of_three_sinks_as_its_weight_says():
    scene, start, touch = stack(3)
    run = fc.simulate(scene, start, 1.0, contact=CompliantBodies(touch.pairs, stiffness=K, damping=50.0), dt=1e-3)
    assert (run.integrator, run.status) == ("implicit", "finished")
    sunk = (start.joints - run.state(-1).joints)[[2, 9, 16]]
    assert np.allclose(sunk, np.array([3.0, 5.0, 6.0]) * G / (4.0 * K), rtol=1e-6)
    assert np.allclose(run.contact_pushes[-1].reshape(3, 4).sum(axis=1), np.array([3.0, 2.0, 1.0]) * G)


@pytest.mark.slow
def test_compliant_bodies_that_tumble_against_each_other_keep_their_momentum():
    box = rigid_object(Box((0.1, 0.12, 0.14)), mass=1.0)
    scene = combine({"a": box, "b": rigid_object(Box((0.2, 0.1, 0.1)), mass=2.0)}, gravity=np.zeros(3))
    rates = np.array([1.0, 0.0, 0.0, 1.0, 2.0, 3.0, -1.0, 0.1, 0.2, -1.0, 0.5, 2.0])
    start = scene.state(joints=[*at(0.0, 0.0, 0.0), *at(0.16, 0.03, 0.02)], rates=rates)
    touch, errors = CompliantBodies(body_pairs(scene), stiffness=K, damping=20.0), []
    for dt in (4e-4, 2e-4):
        run = fc.simulate(scene, start, 0.05, contact=touch, dt=dt)
        momenta = run.momenta()
        assert run.penetration.max() > 1e-3
        errors.append(np.abs(momenta - momenta[0]).max())
    assert errors[1] < 0.4 * errors[0]  # as in flight, of order 2
    for i in range(0, len(run.times), 25):
        forces = run.port_forces["contact normal"][i] + run.port_forces["contact tangential"][i]
        Ad = [fc.lie.SE3().Ad(np.linalg.inv(fc.link_pose(scene, run.state(i), name))) for name in ("a", "b")]
        assert np.abs(Ad[0].T @ forces[:6] + Ad[1].T @ forces[6:]).max() < 1e-12 * max(1.0, np.abs(forces).max())


@pytest.mark.slow
@pytest.mark.parametrize("damping", [0.0, 20.0])
def test_a_ball_bounces_as_on_a_spring_in_implicit_steps(damping):
    scene = combine({"table": table(), "ball": rigid_object(Sphere(0.05), mass=1.0)})
    touch = CompliantBodies(body_pairs(scene), stiffness=K, damping=damping, friction=None)
    start = scene.state(joints=at(0.0, 0.0, 0.1), rates=[0.0, 0.0, -1.0, 0.0, 0.0, 0.0])
    run = fc.simulate(scene, start, 0.12, contact=touch, dt=4e-4, integrator="implicit")
    assert run.rates[-1, 2] == pytest.approx(bouncing(damping), abs=5e-3)
    assert run.energy_residual < 1e-9


@pytest.mark.slow
def test_a_box_on_a_table_stops_where_coulomb_says():
    """After ``v^2 / (2 mu g)``, beside springs that deflect by 0.1 mm."""
    scene = combine({"table": table(), "box": rigid_object(Box((0.3, 0.3, 0.02)), mass=2.0)})
    touch = CompliantBodies(body_pairs(scene), stiffness=2e4, damping=300.0, friction=0.4)
    start = scene.state(joints=at(0.0, 0.0, 0.01 - 2.0 * G / 8e4), rates=[1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    run = fc.simulate(scene, start, 0.6, contact=touch, dt=1e-3)
    assert run.joints[-1, 0] == pytest.approx(1.0 / (2.0 * 0.4 * G), abs=1e-3)
    assert np.abs(run.rates[-1]).max() < 1e-9


@pytest.mark.slow
def test_a_block_between_coupled_fingers_slips_at_the_limit():
    scene = gripper()
    touch = CompliantBodies(body_pairs(scene, [("hand/l", "cube"), ("hand/r", "cube")]), stiffness=K, damping=20.0)
    start = scene.state(joints=[-0.04, 0.04, *at(0.0, 0.0, 0.0)])
    stays, falls = (
        fc.simulate(scene, start, 0.4, squeezed(share * 0.5 * G), contact=touch, dt=1e-3) for share in (1.002, 0.9)
    )
    assert abs(stays.rates[-1, 4]) < 1e-9
    assert (falls.rates[150, 4] - falls.rates[50, 4]) / 0.1 == pytest.approx(-0.1 * G, rel=2e-2)  # 0.1 % of friction


@pytest.mark.slow
def test_implicit_steps_and_error_control_follow_one_law():
    """Two balls on a table that hit each other and spin: Rosenbrock locates what implicit steps do not."""
    ball = rigid_object(Sphere(0.05), mass=0.5)
    scene = combine({"table": table(), "a": ball, "b": ball})
    start = scene.state(
        joints=[*at(0.0, 0.0, 0.0495), *at(0.11, 0.03, 0.0495)], rates=[1.0, 0.0, 0.0, 0.0, 5.0, 3.0, *np.zeros(6)]
    )
    touch = CompliantBodies(body_pairs(scene), stiffness=K, damping=30.0, friction=0.3)
    exact = fc.simulate(scene, start, 0.1, contact=touch, integrator="rosenbrock")
    errors = [
        np.abs(fc.simulate(scene, start, 0.1, contact=touch, dt=dt).state(-1).joints - exact.state(-1).joints).max()
        for dt in (1e-3, 1.25e-4)
    ]
    assert errors[1] < 3e-4
    assert errors[1] < 0.2 * errors[0]  # of order 1, as they slide


@pytest.mark.slow
def test_a_compliant_floor_joint_stops_and_dry_friction_act_beside_bodies():
    """A cube on a cube on the ground, pushed by a slide with friction to its stop."""
    cube = rigid_object(Box((0.1, 0.1, 0.1)), mass=1.0)
    along = fc.joints.Prismatic((1.0, 0.0, 0.0))
    limits = fc.model.Limits(lower=-0.3, upper=0.03)
    placement = np.eye(4)
    placement[:3, 3] = -0.07, 0.0, 0.15
    pusher = fc.Model(
        "pusher",
        fc.lie.Trivial(),
        [fc.Link("rail"), replace(rigid_object(Box((0.02, 0.1, 0.05)), mass=0.5).links[0], name="plate")],
        [fc.Joint("slide", along, "rail", "plate", placement, limits=limits, passive=fc.model.Passive(friction=2.0))],
    )
    scene = combine({"pusher": pusher, "lower": cube, "upper": cube})
    feet = fc.contact.collision_points(scene, ["lower"])
    pairs = body_pairs(feet.model, [("lower", "upper"), ("pusher/plate", "upper")])
    touch = CompliantBodies(pairs, friction=(0.2, 0.0), floor=CompliantFloor(feet, friction=0.9))
    start = feet.model.state(joints=[0.0, *at(0.0, 0.0, 0.05), *at(0.0, 0.0, 0.15)])
    push = fc.control.ExternalWrench("pusher/plate", (5.0, 0.0, 0.0))
    run = fc.simulate(feet.model, start, 1.0, push, contact=touch, dt=1e-3)
    assert (run.integrator, run.status) == ("implicit", "finished")
    assert run.joints[-1, 0] == pytest.approx(0.03, abs=2e-3)  # at its stop
    assert abs(run.joints[-1, 1]) < 2e-3  # the lower cube stays, but for the springs of the floor
    assert 0.019 < run.joints[-1, 8] < 0.045  # and does not fall
    on_ground = run.contact_pushes[-1][: len(touch.floor.points)]
    assert on_ground.sum() == pytest.approx(2.0 * G, rel=1e-2)


@pytest.mark.slow
def test_batches_of_compliant_bodies_take_the_steps_of_single_runs():
    scene, start, touch = stack(2)
    touch = CompliantBodies(touch.pairs)
    rates = [0.2, 0.1, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    start = scene.state(joints=[*at(0.0, 0.0, 0.06), *at(0.03, 0.01, 0.18)], rates=rates)
    run = fc.simulate(scene, start, 0.2, contact=touch, dt=1e-3)
    many = fc.rollout(scene, fc.State.stack([start, start]), 0.2, contact=touch, dt=1e-3)
    sim = fc.Simulator(scene, touch, dt=1e-3, state=start)
    for _ in range(200):
        sim.step()
    assert np.array_equal(sim.state.joints, run.state(-1).joints)
    assert np.allclose(many.joints[-1], run.state(-1).joints, rtol=0.0, atol=1e-12)


@pytest.mark.slow
def test_friction_and_masses_of_each_scene():
    scene, start, touch = stack(1, tilt=0.3)
    touch = CompliantBodies(touch.pairs, stiffness=K, damping=50.0, friction=0.5)
    parameters = {"friction": np.array([0.1, 0.5]), "cube0.mass": np.array([1.0, 2.0])}
    runs = fc.rollout(scene, fc.State.stack([start, start]), 0.5, contact=touch, dt=1e-3, parameters=parameters)
    assert runs.joints[-1, 0, 0] == pytest.approx(0.5 * G * (np.sin(0.3) - 0.1 * np.cos(0.3)) * 0.25, rel=2e-2)
    assert abs(runs.joints[-1, 1, 0]) < 1e-3
    assert 0.05 - runs.joints[-1, 1, 2] > 1.9 * 9.0 / (4.0 * K)


@pytest.mark.slow
def test_compliant_bodies_pass_the_checks_of_contacts():
    """Events are located as well: two balls on a line take Rosenbrock steps by default, alone and in batches."""
    along = fc.joints.Prismatic((1.0, 0.0, 0.0))
    links = [fc.Link("rail"), *(fc.Link(name, fc.Body(1.0), collisions=(Sphere(0.1),)) for name in "ab")]
    joints = [fc.Joint(name, along, "rail", name) for name in "ab"]
    scene = fc.Model("sliders", fc.lie.Trivial(), links, joints, gravity=np.zeros(3))
    touch = CompliantBodies(body_pairs(scene, [("a", "b")]), stiffness=K, damping=20.0)
    start = scene.state(joints=[0.0, 0.21], rates=[1.0, -0.5])
    assert fc.testing.check_contact(touch, scene, start)
    run = fc.simulate(scene, start, 0.1, contact=touch)
    many = fc.rollout(scene, fc.State.stack([start, start]), 0.1, contact=touch)
    assert run.integrator == "rosenbrock"
    assert np.allclose(many.rates[-1], run.rates[-1], atol=1e-5)


def test_compliant_bodies_refuse_what_they_cannot_be():
    scene = gripper()
    pairs = body_pairs(scene)
    with pytest.raises(fc.ModelError, match="stiffness between bodies is one finite number or two"):
        CompliantBodies(pairs, stiffness=0.0)
    with pytest.raises(fc.ModelError, match="friction between bodies needs damping"):
        CompliantBodies(pairs, stiffness=K, damping=0.0)
    with pytest.raises(fc.ModelError, match="floor of compliant bodies is a CompliantFloor"):
        CompliantBodies(pairs, floor=fc.contact.HardContacts(("cube",)))
    with pytest.raises(fc.ModelError, match="body_pairs"):
        CompliantBodies(())
    with pytest.raises(fc.ModelError, match="admissible impulses"):
        fc.simulate(scene, scene.neutral(), 0.1, contact=CompliantBodies(pairs), integrator="moreau")
    with pytest.raises(fc.ModelError, match="deep in another body, whose springs hold"):
        fc.simulate(scene, scene.state(joints=[0.0, 0.04, *at(0.0, 0.0, 0.0)]), 0.1, contact=CompliantBodies(pairs))
