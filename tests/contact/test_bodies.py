"""Hard contact between bodies beside closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.cube_mesh import cube_file
from support.object_scenes import G, at, gripper, squeezed, stack, table

import fallingcat as fc
from fallingcat.contact import BodyContacts, CompliantBodies, HardContacts, body_pairs
from fallingcat.model import combine, rigid_object
from fallingcat.model.shapes import Box, Capsule, Ellipsoid, Mesh, Sphere


def sliders(masses=(1.0, 2.0)):
    """Two balls of 10 cm on a line, without gravity."""
    along = fc.joints.Prismatic((1.0, 0.0, 0.0))
    links = [fc.Link("rail"), *(fc.Link(f"b{i}", fc.Body(m), collisions=(Sphere(0.1),)) for i, m in enumerate(masses))]
    joints = [fc.Joint(f"b{i}", along, "rail", f"b{i}") for i in range(len(masses))]
    return fc.Model("sliders", fc.lie.Trivial(), links, joints, gravity=np.zeros(3))


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_balls_on_a_line_bounce_as_newton_says(restitution):
    scene = sliders()
    touch = BodyContacts(body_pairs(scene, [("b0", "b1")]), friction=0.0, restitution=restitution)
    run = fc.simulate(scene, scene.state(joints=[0.0, 0.3], rates=[1.0, -0.5]), 0.2, contact=touch, dt=1e-3)
    together, apart = (1.0 * 1.0 - 2.0 * 0.5) / 3.0, -1.5 * restitution
    expected = [together + 2.0 / 3.0 * apart, together - apart / 3.0]
    assert np.allclose(run.state(-1).rates, expected, atol=1e-12)
    lost = 0.5 * (2.0 / 3.0) * 1.5**2 * (1.0 - restitution**2)
    assert run.energy_residual < 1e-12
    assert run.ledger.work("contact normal")[-1] == pytest.approx(-lost, abs=1e-12)


def test_bodies_that_tumble_against_each_other_keep_their_momentum():
    """Linear momentum to rounding; forces at one place have no moment, so angular momentum as well as in flight."""
    box = rigid_object(Box((0.1, 0.12, 0.14)), mass=1.0)
    scene = combine({"a": box, "b": rigid_object(Box((0.2, 0.1, 0.1)), mass=2.0)}, gravity=np.zeros(3))
    rates = np.array([1.0, 0.0, 0.0, 1.0, 2.0, 3.0, -1.0, 0.1, 0.2, -1.0, 0.5, 2.0])
    start = scene.state(joints=[*at(0.0, 0.0, 0.0), *at(0.16, 0.03, 0.02)], rates=rates)
    run = fc.simulate(scene, start, 0.1, contact=BodyContacts(body_pairs(scene), friction=0.4), dt=1e-3)
    assert run.contact_pushes.max() > 10.0
    momenta = np.array([fc.momentum(scene, run.state(i), "world") for i in range(len(run.times))])
    assert np.abs(momenta - momenta[0])[:, :3].max() < 1e-12
    assert np.abs(momenta - momenta[0])[:, 3:].max() < 1e-4
    for i in range(len(run.times)):
        forces = run.port_forces["contact normal"][i] + run.port_forces["contact tangential"][i]
        Ad = [fc.lie.SE3().Ad(np.linalg.inv(fc.link_pose(scene, run.state(i), name))) for name in ("a", "b")]
        assert np.abs(Ad[0].T @ forces[:6] + Ad[1].T @ forces[6:]).max() < 1e-12 * max(1.0, np.abs(forces).max())


def test_a_box_slides_on_a_table_as_coulomb_says():
    scene = combine({"table": table(), "box": rigid_object(Box((0.2, 0.2, 0.1)), mass=2.0)})
    touch = BodyContacts(body_pairs(scene), friction=0.4)
    start = scene.state(joints=at(0.0, 0.0, 0.05))
    for force in (0.99 * 0.4 * 2.0 * G, 12.0):
        push = fc.control.ExternalWrench("box", (force, 0.0, 0.0), point=(0.0, 0.0, -0.05))
        run = fc.simulate(scene, start, 0.4, push, contact=touch, dt=1e-3)
        speed = max(0.0, force / 2.0 - 0.4 * G) * 0.4
        assert run.state(-1).rates[0] == pytest.approx(speed, abs=1e-9)
        assert run.contact_pushes[-1].sum() == pytest.approx(2.0 * G, rel=1e-9)
        assert run.energy_residual < 1e-9
        assert run.penetration.max() < 1e-12


@pytest.mark.slow
def test_a_block_between_two_fingers_slips_at_the_limit():
    scene = gripper()
    touch = BodyContacts(body_pairs(scene, [("hand/l", "cube"), ("hand/r", "cube")]), friction=0.5)
    start = scene.state(joints=[-0.04, 0.04, *at(0.0, 0.0, 0.0)])
    for force, falls in ((1.001 * 0.5 * G, 0.0), (0.99 * 0.5 * G, 0.01 * G)):  # 2 mu F = m g at F = m g
        run = fc.simulate(scene, start, 0.2, squeezed(force), contact=touch, dt=1e-3)
        assert run.state(-1).rates[4] == pytest.approx(-0.2 * falls, abs=1e-9)
        assert run.status == "finished"


@pytest.mark.slow
@pytest.mark.parametrize(("count", "slope"), [(1, 1.0), (2, 0.5), (3, 1.0 / 3.0)])
def test_a_stack_topples_where_its_weight_leaves_its_foot(count, slope):
    critical = np.arctan(slope)
    for angle, stands in ((critical - 2e-3, True), (critical + 2e-3, False)):
        scene, start, touch = stack(count, angle, friction=2.0)
        run = fc.simulate(scene, start, 1.0, contact=touch, dt=1e-3)
        moved = np.linalg.norm(run.state(-1).joints - start.joints)
        assert (moved < 1e-9) if stands else (moved > 1e-3)


@pytest.mark.slow
def test_a_box_slides_down_a_slope_where_friction_ends():
    for angle, slides in ((np.arctan(0.3) - 1e-3, False), (np.arctan(0.3) + 0.1, True)):
        scene, start, touch = stack(1, angle, friction=0.3)
        run = fc.simulate(scene, start, 0.5, contact=touch, dt=1e-3)
        expected = G * (np.sin(angle) - 0.3 * np.cos(angle)) * 0.5 if slides else 0.0
        assert run.state(-1).rates[0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
def test_a_ball_that_slides_comes_to_roll():
    """It rolls with 5/7 of its first speed, whatever the friction."""
    scene = combine({"table": table(), "ball": rigid_object(Sphere(0.05), mass=1.0)})
    touch = BodyContacts(body_pairs(scene), friction=0.3)
    start = scene.state(joints=at(0.0, 0.0, 0.05), rates=[1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    run = fc.simulate(scene, start, 0.3, contact=touch, dt=1e-3)
    R = fc.link_pose(scene, run.state(-1), "ball")[:3, :3]
    assert np.allclose(R @ run.state(-1).rates[:3], [5.0 / 7.0, 0.0, 0.0], atol=1e-10)
    assert np.allclose(R @ run.state(-1).rates[3:], [0.0, 5.0 / 7.0 / 0.05, 0.0], atol=1e-9)


@pytest.mark.slow
def test_a_floor_beside_bodies_carries_both():
    """A cube on a cube on the plane of HardContacts."""
    cube = rigid_object(Box((0.1, 0.1, 0.1)), mass=1.0)
    scene = combine({"lower": cube, "upper": cube})
    feet = fc.contact.collision_points(scene, ["lower"])
    touch = BodyContacts(body_pairs(feet.model), friction=0.5, floor=HardContacts(feet, friction=0.5))
    start = feet.model.state(joints=[*at(0.0, 0.0, 0.06), *at(0.02, 0.0, 0.17)])
    run = fc.simulate(feet.model, start, 0.5, contact=touch, dt=1e-3)
    assert np.allclose(run.state(-1).joints[[2, 9]], [0.05, 0.15], atol=1e-9)
    assert run.contact_pushes[-1][:8].sum() == pytest.approx(2.0 * G)
    assert run.contact_pushes[-1][8:].sum() == pytest.approx(G)


@pytest.mark.slow
def test_a_pile_of_objects_loses_energy_and_nothing_sinks():
    """Boxes, a ball and a capsule fall on each other as they turn: at first boxes fell through tables on a corner."""
    rng = np.random.default_rng(0)
    shapes = Box((0.1, 0.12, 0.06)), Box((0.08, 0.05, 0.14)), Sphere(0.05), Capsule(0.03, 0.1)
    scene = combine(
        {"table": table(), **{f"{i}": rigid_object(s, rng.uniform(0.2, 2.0)) for i, s in enumerate(shapes)}}
    )
    places = {f"{i}": [*rng.uniform(-0.08, 0.08, 2), 0.15 + 0.2 * i, *_turn(rng)] for i in range(4)}
    start = scene.state(joints=places, rates=rng.normal(size=24) * np.tile([0.3, 0.3, 0.3, 3.0, 3.0, 3.0], 4))
    run = fc.simulate(scene, start, 2.0, contact=BodyContacts(body_pairs(scene), friction=0.5), dt=1e-3)
    assert run.penetration.max() < 1e-3
    assert "contacts gave" not in run.status
    assert "law of contact" not in run.status
    energy = sum(run.energies())
    assert energy[-1] < 0.5 * energy[0]
    assert np.diff(energy).max() < 1e-3 * energy[0]


def _turn(rng):
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


@pytest.mark.slow
def test_all_drivers_take_the_same_steps():
    scene, start, touch = stack(2)
    rates = [0.2, 0.1, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    start = scene.state(joints=[*at(0.0, 0.0, 0.06), *at(0.03, 0.01, 0.18)], rates=rates)
    run = fc.simulate(scene, start, 0.2, contact=touch, dt=1e-3)
    many = fc.rollout(scene, fc.State.stack([start, start]), 0.2, contact=touch, dt=1e-3)
    sim = fc.Simulator(scene, touch, dt=1e-3, state=start)
    for _ in range(200):
        sim.step()
    assert np.allclose(sim.state.joints, run.state(-1).joints, atol=1e-12)
    assert np.allclose(many.joints[-1], run.state(-1).joints, atol=1e-12)
    assert run.error_estimate is not None
    assert many.error_estimate is not None


def test_what_may_touch():
    arm = fc.robots.scara()
    scene = combine({"table": table(), "arm": arm, "cube": rigid_object(Box((0.1, 0.1, 0.1)), mass=1.0)})
    pairs = body_pairs(scene)
    names = {frozenset((pair.first, pair.second)) for pair in pairs}
    assert frozenset(("table", "cube")) in names
    assert not any("arm" in pair and "table" in pair for pair in names)  # both stand still
    assert [pair.points for pair in body_pairs(scene, [("table", "cube")])] == [4]
    rod = combine({"table": table(), "rod": rigid_object(Capsule(0.02, 0.2), mass=1.0)})
    assert body_pairs(rod)[0].names == ("table-rod 1", "table-rod 2")


def test_what_cannot_touch_is_refused():
    scene = combine({"table": table(), "cube": rigid_object(Box((0.1, 0.1, 0.1)), mass=1.0)})
    touch = BodyContacts(body_pairs(scene))
    with pytest.raises(fc.ModelError, match=r"'table-cube 1' starts 0.02 m deep"):
        fc.simulate(scene, scene.state(joints=at(0.0, 0.0, 0.03)), 0.1, contact=touch)
    with pytest.raises(fc.ModelError, match="hybrid modes"):
        fc.simulate(scene, scene.state(joints=at(0.0, 0.0, 0.05)), 0.1, contact=touch, integrator="rkmk4")
    with pytest.raises(fc.ModelError, match="not negative"):
        BodyContacts(body_pairs(scene), friction=-1.0)
    with pytest.raises(fc.ModelError, match="one for each of 1 pairs"):
        BodyContacts(body_pairs(scene), friction=(0.1, 0.2))
    with pytest.raises(fc.ModelError, match="body_pairs"):
        BodyContacts((("table", "cube"),))
    with pytest.raises(fc.ModelError, match="no joint moves"):
        body_pairs(combine({"a": table(), "b": table()}), [("a", "b")])
    stone = fc.Link("stone", fc.Body(1.0, (0, 0, 0), np.eye(3)), collisions=(Mesh("stone.stl"),))
    scene = combine({"table": table(), "stone": fc.Model("stone", fc.lie.SE3(), (stone,))})
    with pytest.raises(fc.errors.FileError, match=r"stone\.stl"):
        body_pairs(scene)
    egg = rigid_object(Ellipsoid((0.05, 0.05, 0.05)), mass=1.0)
    with pytest.raises(fc.ModelError, match="no links of 'scene' can touch"):  # points of both
        body_pairs(combine({"a": egg, "b": egg}))


@pytest.mark.slow
def test_a_mesh_lies_on_a_table_by_its_corners(tmp_path):
    cube_file(tmp_path)
    mesh = Mesh("cube.stl", str(tmp_path), (0.05, 0.05, 0.05))
    body = rigid_object(Box((0.1, 0.1, 0.1)), mass=1.0).links[0]
    scene = combine({"table": table(), "stone": fc.Model("stone", fc.lie.SE3(), (replace(body, collisions=(mesh,)),))})
    pairs = body_pairs(scene)
    assert [pair.points for pair in pairs] == [4]  # hull against box
    start = scene.state(joints=at(0.0, 0.0, 0.06))
    run = fc.simulate(scene, start, 0.5, contact=BodyContacts(pairs), dt=1e-3)
    assert run.state(-1).joints[2] == pytest.approx(0.05, abs=1e-6)
    soft = fc.simulate(scene, start, 0.5, contact=CompliantBodies(pairs, stiffness=1e4, damping=100.0), dt=1e-3)
    assert soft.state(-1).joints[2] == pytest.approx(0.05 - G / 4e4, abs=1e-6)
