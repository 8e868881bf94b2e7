"""How robots look: the shapes of their files, or capsules from joint to joint; meshes within what a page can hold."""

import base64
import struct

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.lie import SE3
from fallingcat.model import Body, Frame, Joint, Link, Model, Revolute
from fallingcat.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Mesh, Sphere
from fallingcat.visualization import Solid, Triangles, appearance, model_shapes
from fallingcat.visualization import shapes as drawn
from fallingcat.visualization.appearance import DEFAULT_COLOR, ball, tube
from fallingcat.visualization.meshes import read_meshes, simplify_mesh

BODY = Body(1.0, np.zeros(3), np.eye(3))
H = SE3().random(np.random.default_rng(3))


def one(*visuals, collisions=()):
    return Model("r", SE3(), (Link("a", BODY, visuals, collisions),))


def stl(path, triangles):
    """``m x 3 x 3`` corners as a binary STL."""
    facets = [struct.pack("<12fH", *np.zeros(3), *corners.ravel(), 0) for corners in triangles]
    path.write_bytes(bytes(80) + struct.pack("<I", len(facets)) + b"".join(facets))


def points_of(solid):
    return solid.triangles.points @ solid.transform[:3, :3].T + solid.transform[:3, 3]


def area(triangles):
    a, b, c = (triangles.points[triangles.faces[:, k]] for k in range(3))
    return 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum()


def test_each_kind_is_drawn_where_it_is():
    shapes = [
        Sphere(0.1, placement=H),
        Capsule(0.1, 0.4, placement=H, color=(1.0, 0.0, 0.5, 0.25)),
        Box((0.2, 0.4, 0.6), placement=H),
        Cylinder(0.1, 0.4, placement=H),
        Ellipsoid((0.1, 0.2, 0.3), placement=H),
    ]
    ball_, capsule, box, cylinder, ellipsoid = appearance(one(*shapes)).shapes["a"]
    np.testing.assert_allclose(ball_.start, H[:3, 3])
    assert (ball_.radius, ball_.color) == (0.1, DEFAULT_COLOR)
    np.testing.assert_allclose(capsule.end - capsule.start, 0.4 * H[:3, 2])
    assert (capsule.color, capsule.opacity) == ("#ff0080", 0.25)
    np.testing.assert_allclose(box.half, [0.1, 0.2, 0.3])
    local = (points_of(cylinder) - H[:3, 3]) @ H[:3, :3]
    np.testing.assert_allclose(np.ptp(local, axis=0), [0.2, 0.2, 0.4], atol=1e-12)
    local = (points_of(ellipsoid) - H[:3, 3]) @ H[:3, :3]
    np.testing.assert_allclose(((local / [0.1, 0.2, 0.3]) ** 2).sum(axis=1), 1.0)


def test_solids_of_unit_size_look_outwards():
    for solid, volume in ((tube(200), np.pi), (ball(100, 200), 4.0 / 3.0 * np.pi)):
        a, b, c = (solid.points[solid.faces[:, k]] for k in range(3))
        assert np.einsum("mi,mi->", a, np.cross(b, c)) / 6.0 == pytest.approx(volume, rel=1e-3)


def test_visuals_go_before_collisions_and_both_before_capsules():
    assert len(appearance(one(Sphere(0.1), collisions=(Box((1, 1, 1)),))).shapes["a"]) == 1
    (box,) = appearance(one(collisions=(Box((1, 1, 1)),))).shapes["a"]
    assert isinstance(box, drawn.Box)
    hidden = Sphere(0.1, color=(1.0, 1.0, 1.0, 0.0))
    assert isinstance(appearance(one(hidden, collisions=(Box((1, 1, 1)),))).shapes["a"][0], drawn.Box)


def test_links_without_shapes_are_capsules_from_joint_to_joint():
    rods = (Link("upper", BODY), Link("lower", Body(1.0, [0.0, 0.0, -0.2], np.eye(3))), Link("tip", BODY))
    joints = tuple(
        Joint(name, Revolute((1.0, 0.0, 0.0)), a, b, SE3().element([*place, 0.0, 0.0, 0.0, 1.0]))
        for name, a, b, place in (("knee", "upper", "lower", (0, 0, -0.5)), ("toe", "lower", "tip", (0, 0.1, -0.4)))
    )
    model = Model("r", SE3(), rods, joints, frames=(Frame("hip", "upper", SE3().element([0.1, 0, 0, 0, 0, 0, 1.0])),))
    shapes = model_shapes(model)
    assert [list(c.end) for c in shapes["upper"]] == [[0.0, 0.0, -0.5], [0.1, 0.0, 0.0]]
    assert [list(c.end) for c in shapes["lower"]] == [[0.0, 0.1, -0.4]]
    (tip,) = shapes["tip"]  # nothing hangs on it, and its mass is at its joint: a ball
    assert tip.radius == pytest.approx((3.0 / (4000.0 * np.pi)) ** (1 / 3))
    assert model_shapes(fc.robots.random_tree(np.random.default_rng(0), 5)).keys() == {f"link{i}" for i in range(6)}


@pytest.mark.parametrize("robot", [fc.robots.cat, fc.robots.humanoid, fc.robots.quadruped, fc.robots.orbital_arm])
def test_sample_robots_are_drawn_as_the_solids_they_are_made_of(robot):
    for link in robot().links:
        assert len(link.visuals) == len(link.collisions) == 1
        H = link.collisions[0].placement
        np.testing.assert_allclose(H[:3, 3], link.body.center, atol=1e-12)
        if link.collisions[0].kind == "cylinder":
            r, length = link.collisions[0].radius, link.collisions[0].length
            side = (3.0 * r**2 + length**2) / 12.0
            inertia = link.body.mass * H[:3, :3] @ np.diag([side, side, r**2 / 2]) @ H[:3, :3].T
            np.testing.assert_allclose(inertia, link.body.inertia, rtol=1e-12, atol=1e-15)


class TestMeshes:
    def sphere(self, rings=60):
        return ball(rings, 2 * rings)

    def test_a_mesh_is_simplified_to_what_is_asked_and_keeps_its_form(self):
        mesh = self.sphere()
        few = simplify_mesh(mesh, 1000)
        assert 400 < len(few.faces) <= 1000
        np.testing.assert_allclose(np.linalg.norm(few.points, axis=1), 1.0, atol=0.03)
        assert area(few) == pytest.approx(area(mesh), rel=0.06)
        assert simplify_mesh(few, 1000) is few

    def test_a_robot_has_so_many_faces_at_most_and_small_meshes_keep_theirs(self, tmp_path):
        mesh = self.sphere()
        stl(tmp_path / "large.stl", mesh.points[mesh.faces])
        stl(tmp_path / "small.stl", mesh.points[mesh.faces[:50]])
        both = [Mesh(name, str(tmp_path)) for name in ("large.stl", "small.stl", "large.stl")]
        found, troubles = read_meshes(both, most=2000)
        sizes = {key[0]: len(pieces[0][0].faces) for key, pieces in found.items()}
        assert sizes["small.stl"] == 50
        assert 1000 < sizes["large.stl"] <= 1950
        assert troubles == []
        found, _ = read_meshes(both, most=10**6)
        assert len(found["large.stl", str(tmp_path)][0][0].faces) >= len(mesh.faces) - 4 * 60

    def test_coordinates_travel_to_the_sixteenth_bit(self):
        mesh = Triangles(np.random.default_rng(0).normal(size=(100, 3)), np.arange(99).reshape(-1, 3))
        data = mesh.data()
        steps = np.frombuffer(base64.b64decode(data["v"]), "<u2").reshape(-1, 3)
        np.testing.assert_allclose(data["low"] + steps * np.array(data["step"]), mesh.points, atol=1e-4)
        assert np.frombuffer(base64.b64decode(data["f"]), "<u2").tolist() == list(range(99))
        assert Triangles(np.zeros((70_000, 3)), mesh.faces).data()["wide"]

    def test_two_links_share_the_triangles_of_a_file(self, tmp_path):
        mesh = self.sphere(10)
        stl(tmp_path / "a.stl", mesh.points[mesh.faces])
        left, right = (Mesh("a.stl", str(tmp_path), (1.0, s, 1.0)) for s in (1.0, -1.0))
        first, second = appearance(one(left, right)).shapes["a"]
        assert isinstance(first, Solid)
        assert first.triangles is second.triangles
        assert np.linalg.det(second.transform) == pytest.approx(-1.0)

    def test_what_cannot_be_read_is_said_in_one_line_and_the_next_best_is_drawn(self, tmp_path):
        (tmp_path / "bad.stl").write_bytes(b"nonsense")
        (tmp_path / "bad.obj").write_bytes(b"v 1 2\nf 1 2 9\n")
        names = ["bad.stl", "bad.obj", "x.step", *(f"lost{i}.stl" for i in range(5))]
        found = appearance(one(*(Mesh(name, str(tmp_path)) for name in names), collisions=(Sphere(0.1),)))
        assert [type(s) for s in found.shapes["a"]] == [drawn.Capsule]
        assert len(found.notes) == 3  # x.step does not exist either
        assert "lost0.stl, lost1.stl and 3 more (there is no such file)" in " ".join(found.notes)

    def test_a_link_without_its_mesh_is_drawn_by_what_touches_beside_links_that_have_theirs(self, tmp_path):
        """As of the A1 in public repositories without its meshes: the balls of its feet were all that was seen."""
        lost, ball, box = Mesh("lost.dae", str(tmp_path)), Sphere(0.1), Box((1, 1, 1))
        body = fc.Body(1.0, (0, 0, 0), np.eye(3))
        links = (
            fc.Link("trunk", body, visuals=(lost,), collisions=(box,)),
            fc.Link("calf", body, visuals=(lost, ball), collisions=(box, ball)),
            fc.Link("foot", body, visuals=(ball,), collisions=(box,)),
            fc.Link("tail", body, visuals=(lost, ball)),
        )
        hinges = [fc.Joint(link.name, fc.joints.Revolute(), "trunk", link.name) for link in links[1:]]
        found = appearance(fc.Model("dog", fc.lie.SE3(), links, hinges))
        kinds = {name: [type(shape) for shape in each] for name, each in found.shapes.items()}
        assert kinds["trunk"] == [drawn.Box]
        assert kinds["calf"] == [drawn.Box, drawn.Capsule]
        assert kinds["foot"] == kinds["tail"] == [drawn.Capsule]
        assert found.notes == ["not drawn: lost.dae (there is no such file)"]

    def test_a_collada_file_knows_its_own_colors(self, tmp_path):
        effect = (
            "<effect id='e'><profile_COMMON><diffuse><color>0.2 0.4 0.6 1</color></diffuse></profile_COMMON></effect>"
        )
        part = "<triangles material='m'><input semantic='VERTEX' source='#v' offset='0'/><p>0 1 2</p></triangles>"
        text = (
            f"<COLLADA><library_effects>{effect}</library_effects>"
            "<library_materials><material id='red'><instance_effect url='#e'/></material></library_materials>"
            "<library_geometries><geometry id='g'><mesh><source id='p'><float_array>0 0 0 1 0 0 0 1 0</float_array>"
            f"</source><vertices id='v'><input semantic='POSITION' source='#p'/></vertices>{part}</mesh></geometry>"
            "</library_geometries><library_visual_scenes><visual_scene><node><instance_geometry url='#g'>"
            "<instance_material symbol='m' target='#red'/></instance_geometry></node></visual_scene>"
            "</library_visual_scenes></COLLADA>"
        )
        (tmp_path / "a.dae").write_text(text)
        (solid,) = appearance(one(Mesh("a.dae", str(tmp_path), color=(0.0, 0.0, 0.0, 1.0)))).shapes["a"]
        assert solid.color == "#336699"

    def test_packages_are_found_above_the_file(self, tmp_path):
        mesh = self.sphere(4)
        home = tmp_path / "dog_description"
        (home / "urdf").mkdir(parents=True)
        (home / "meshes").mkdir()
        stl(home / "meshes" / "a.stl", mesh.points[mesh.faces])
        for path in ("package://dog_description/meshes/a.stl", "../meshes/a.stl", f"file://{home}/meshes/a.stl"):
            assert appearance(one(Mesh(path, str(home / "urdf")))).notes == []
        climbs = Mesh("../../../../../../etc/a.stl", str(home / "urdf"))
        assert "climbs out of the robot's folders" in appearance(one(climbs)).notes[0]
