"""The collision shapes of files as points and balls, against MuJoCo and closed forms."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.cube_mesh import cube_file

import fallingcat as fc
from fallingcat.contact import collision_points, rim
from fallingcat.errors import FileError, ModelError
from fallingcat.geometry.contact_points import touches
from fallingcat.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Mesh, Shape, Sphere

mujoco = pytest.importorskip("mujoco")

BODY = fc.Body(2.0, (0.0, 0.0, 0.0), np.diag([0.01, 0.012, 0.015]))


def placed(z: float = 0.0, turn: np.ndarray | None = None) -> np.ndarray:
    H = np.eye(4)
    H[2, 3] = z
    H[:3, :3] = np.eye(3) if turn is None else turn
    return H


def brick(*shapes: Shape, body: fc.Body = BODY) -> fc.Model:
    return fc.Model("brick", fc.lie.SE3(), (fc.Link("body", body, collisions=shapes),))


def lowest(model: fc.Model, points: tuple[str, ...], radii: tuple[Any, ...], state: fc.State) -> float:
    ground = fc.contact.plane(model)
    return float(min(touch.site.height for touch in touches(model, state, points, ground, radii)))


def support(shape: Shape, n: np.ndarray) -> float:
    """How far the shape reaches along ``n`` in its own frame, by its formula."""
    if isinstance(shape, Sphere):
        return shape.radius
    if isinstance(shape, Box):
        return float(0.5 * np.abs(n) @ shape.size)
    if isinstance(shape, Ellipsoid):
        return float(np.linalg.norm(n * shape.radii))
    ends = 0.5 * shape.length * abs(n[2])
    return float(ends + shape.radius * (1.0 if isinstance(shape, Capsule) else np.hypot(n[0], n[1])))


SHAPES = (Sphere(0.1), Capsule(0.05, 0.3), Box((0.2, 0.3, 0.1)), Cylinder(0.1, 0.2), Ellipsoid((0.1, 0.2, 0.15)))


@pytest.mark.parametrize(("shape", "slack"), list(zip(SHAPES, (0.0, 0.0, 0.0, 2e-4, 0.0), strict=True)))
def test_points_reach_as_far_as_their_shape(shape: Shape, slack: float) -> None:
    """Exactly; cylinders up to the thickness of their rims, and none reaches beyond its shape."""
    rng = np.random.default_rng(0)
    placement = fc.robots.free_body().random_state(rng).pose
    model, points, radii = collision_points(brick(shape.moved(placement)))
    for _ in range(50):
        state = model.random_state(rng)
        H = state.pose @ placement
        exact = H[2, 3] - support(shape, H[2, :3])
        gap = lowest(model, points, radii, state) - exact
        assert -1e-12 < gap <= 1e-12 + slack * (H[2, 3] - exact)


GEOMS = {
    "box": '<geom type="box" size="0.1 0.15 0.05"/>',
    "capsule": '<geom type="capsule" size="0.05 0.15"/>',
    "cylinder": '<geom type="cylinder" size="0.08 0.1"/>',
    "sphere": '<geom type="sphere" size="0.1" pos="0 0 0.02"/>',
    "three": '<geom type="capsule" size="0.02 0.15"/><geom size="0.06" pos="0 0 0.15"/>'
    '<geom type="box" size="0.05 0.05 0.05" pos="0 0 -0.15" euler="0 0 20"/>',
}


@pytest.mark.parametrize("what", GEOMS)
def test_a_file_comes_to_rest_as_mujoco_has_it(what: str, tmp_path: Path) -> None:
    """Height and tilt after two seconds on the floor; both floors give way by less than a millimetre."""
    text = f"""<mujoco><option timestep="0.001" integrator="implicitfast"/><worldbody>
      <geom type="plane" size="5 5 1"/>
      <body name="body" pos="0 0 0.3" euler="20 30 40"><freejoint/>{GEOMS[what]}</body></worldbody></mujoco>"""
    theirs = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    start = placed(0.3, data.xmat[1].reshape(3, 3).copy())
    mujoco.mj_step(theirs, data, 3000)
    path = tmp_path / "body.xml"
    path.write_text(text)
    model, points, radii = collision_points(fc.load(path))
    K = model.mass * 9.81 / 5e-4
    floor = fc.contact.CompliantFloor(points, (K, K), (0.02 * K, 0.02 * K), 1.0, radius=radii)
    run = fc.simulate(model, model.state(pose=start), 3.0, contact=floor, integrator="implicit", dt=1e-3)
    assert run.poses[-1, 2, 3] == pytest.approx(data.xpos[1, 2], abs=1e-3)
    np.testing.assert_allclose(
        run.poses[-1, 2, :3], data.xmat[1].reshape(3, 3)[2], atol=5e-3 if what == "three" else 1e-6
    )
    assert run.contact_pushes[-1].sum() == pytest.approx(9.81 * model.mass, rel=1e-6)


def test_a_box_tips_where_its_weight_leaves_its_edge() -> None:
    model, points, radii = collision_points(brick(Box((0.2, 0.3, 0.5))))
    for factor, tips in ((0.97, False), (1.03, True)):
        slope = np.arctan(factor * 0.2 / 0.5)
        up = np.array([np.sin(slope), 0.0, np.cos(slope)])
        turn = np.array([[np.cos(slope), 0.0, np.sin(slope)], [0.0, 1.0, 0.0], [-np.sin(slope), 0.0, np.cos(slope)]])
        start = placed(turn=turn)
        start[:3, 3] = 0.25 * up
        floor = fc.contact.HardContacts(points, friction=2.0, normal=tuple(up), radius=radii)
        run = fc.simulate(model, model.state(pose=start), 0.2, contact=floor)
        assert abs(run.twists[-1, 4]) > 0.05 if tips else abs(run.twists[-1, 4]) < 1e-6
        if tips:  # about its edge: the moment of the weight over the inertia there
            inertia, arm = 0.012 + 2.0 * (0.1**2 + 0.25**2), np.hypot(0.1, 0.25)
            alpha = 2.0 * 9.81 * arm * np.sin(slope - np.arctan(0.2 / 0.5)) / inertia
            early = run.at(0.05)
            assert early.twist[4] == pytest.approx(alpha * 0.05, rel=0.02)


def test_links_are_chosen_and_named(tmp_path: Path) -> None:
    mass = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    text = f"""<robot name="two">
      <link name="base">{mass}<collision><geometry><box size="1 1 1"/></geometry></collision></link>
      <link name="foot">{mass}
        <collision><origin xyz="0 0 -0.5"/><geometry><sphere radius="0.1"/></geometry></collision>
        <collision><geometry><cylinder radius="0.1" length="0.4"/></geometry></collision></link>
      <joint name="knee" type="revolute"><parent link="base"/><child link="foot"/><axis xyz="0 1 0"/>
        <limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
    path = tmp_path / "two.urdf"
    path.write_text(text)
    robot = fc.load(path)
    whole, foot = collision_points(robot), collision_points(robot, ["foot"])
    assert len(whole.points) == 8 + 1 + 10
    assert foot.points[:2] == ("foot_sphere1", "foot_cylinder2_1")
    assert foot.radii == (0.1, *[rim(0.1)] * 2, *[0.0] * 8)
    np.testing.assert_allclose(foot.model.frame("foot_sphere1").placement[:3, 3], [0.0, 0.0, -0.5])


def test_feet_are_what_is_lowest() -> None:
    """A dog of boxes and balls: its feet, in the pose in which it stands; tilted, two of them."""
    dog = fc.robots.quadruped()
    ends = [name for name in dog.link_names if name.endswith("shank")]
    shapes = Sphere(0.02, placement=dog.frame("front_left_foot").placement), Box((0.05, 0.05, 0.05))
    links = tuple(replace(link, collisions=shapes if link.name in ends else ()) for link in dog.links)
    dog = replace(dog, links=links)
    whole, standing = collision_points(dog), fc.contact.feet(dog)
    assert len(whole.points) == 4 * 9
    assert list(standing.groups) == ends
    assert standing.points[0] == "front_left_foot"  # the frame that is there
    assert standing.groups[ends[1]] == ("front_right_foot",)
    assert standing.model.frames == dog.frames
    assert standing.radii == (0.02,) * 4
    nose = placed(turn=np.array([[np.cos(0.3), 0.0, np.sin(0.3)], [0.0, 1.0, 0.0], [-np.sin(0.3), 0.0, np.cos(0.3)]]))
    tilted = fc.contact.feet(dog, dog.state(pose=nose))
    assert len(tilted.points) == 2
    assert set(tilted.points) < set(standing.points)


def test_names_of_feet_are_those_of_their_links() -> None:
    feet = fc.contact.feet(fc.robots.humanoid())
    assert feet.groups["left_ankle_roll_link"] == tuple(f"left_ankle_roll_link_foot_{k}" for k in (1, 2, 3, 4))
    assert [point for points in feet.groups.values() for point in points] == list(feet.points)
    body = fc.Body(1.0, np.zeros(3), np.eye(3))
    foot = fc.Model("foot", fc.lie.SE3(), (fc.Link("right_foot", body, collisions=(Sphere(0.1),)),))
    assert fc.contact.feet(foot).points == ("right_foot_1",)  # the link itself is right_foot
    leg = fc.Model("leg", fc.lie.SE3(), (fc.Link("leg", body, collisions=(Sphere(0.1),)),))
    assert fc.contact.feet(leg).points == ("leg_foot",)


@pytest.mark.parametrize("kind", [fc.contact.CompliantFloor, fc.contact.HardContacts])
def test_floors_take_feet_with_their_radii(kind) -> None:
    body = fc.Link("leg", fc.Body(2.0, np.zeros(3), np.eye(3)), collisions=(Sphere(0.1),))
    feet = fc.contact.feet(fc.Model("leg", fc.lie.SE3(), (body,)))
    floor = kind(feet)
    assert (floor.points, floor.radii) == (("leg_foot",), (0.1,))
    assert kind(feet, radius=0.2).radii == (0.2,)
    if kind is fc.contact.CompliantFloor:
        np.testing.assert_allclose(floor.stiffness, 2.0 * 9.81 / 2e-3)
        assert kind(feet, stiffness=(1.0, 2.0)).stiffness == (1.0, 2.0)
        with pytest.raises(fc.ModelError, match="follow from the robot"):
            kind(feet.points).elastic_energy(np.ones(1))


def test_springs_that_are_left_out_follow_from_robot_and_step() -> None:
    """In every run, as those of ``default_springs`` for the same step; given ones stay."""
    model, rest = fc.robots.quadruped(), tuple(np.tile([0.0, 0.6, -1.2], 4))
    feet = tuple(frame.name for frame in model.frames)
    for step in (1e-3, 5e-3):
        named = fc.contact.CompliantFloor(feet, *fc.contact.default_springs(model, feet, step), friction=0.8)
        bare = fc.contact.CompliantFloor(feet, friction=0.8)
        start, law = model.standing(bare, rest), fc.control.JointSpring(200.0, rest)
        ends = [fc.simulate(model, start, 0.05, law, floor, dt=step).poses[-1] for floor in (named, bare)]
        np.testing.assert_array_equal(*ends)
    assert fc.contact.CompliantFloor(feet, (1.0, 2.0)).for_robot(model).stiffness == (1.0, 2.0)


def test_a_mesh_of_a_box_has_the_points_of_the_box(tmp_path: Path) -> None:
    cube_file(tmp_path)
    placement = fc.robots.free_body().random_state(np.random.default_rng(2)).pose
    mesh = Mesh("cube.stl", str(tmp_path), (0.1, 0.15, 0.05), placement=placement)
    model, points, radii = collision_points(brick(mesh))
    same, corners, _ = collision_points(brick(Box((0.2, 0.3, 0.1), placement=placement)))
    found, expected = (
        sorted(np.round(m.frame(p).placement[:3, 3], 6).tolist() for p in names)
        for m, names in ((model, points), (same, corners))
    )
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert radii == (0.0,) * 8


def test_a_mesh_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"ghost\.stl"):
        collision_points(brick(Mesh("ghost.stl", str(tmp_path))))


def test_what_has_no_shapes_is_reported() -> None:
    with pytest.raises(ModelError, match="there are no collision shapes in 'brick'"):
        collision_points(brick())
    for links in ("body", 3):
        with pytest.raises(ModelError, match="links are names of links of 'brick'"):
            collision_points(brick(Sphere(0.1)), links)  # type: ignore[arg-type]
    for links, told in ((["bodi"], "there is no link 'bodi'; do you mean 'body'"), ([3], "there is no link 3")):
        with pytest.raises(ModelError, match=told):
            collision_points(brick(Sphere(0.1)), links)  # type: ignore[arg-type]


def test_what_cannot_move_has_no_points():
    """A table of the world beside an object that falls on the ground: its corners could not touch it."""
    box = Box((0.1, 0.1, 0.1))
    links = [fc.Link(name, fc.Body(1.0, (0, 0, 0), np.eye(3)), collisions=(box,)) for name in ("world", "cube")]
    scene = fc.Model("scene", fc.lie.Trivial(), links, [fc.Joint("free", fc.joints.Free(), "world", "cube")])
    assert set(fc.contact.collision_points(scene).groups) == {"cube"}
