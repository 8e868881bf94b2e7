"""Shapes of files: what is drawn and what touches, where, how large and in which color; Pinocchio and MuJoCo agree."""

import struct

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.io import read, save
from fallingcat.lie import SE3
from fallingcat.model import Body, Link, Model
from fallingcat.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Mesh, Sphere

INERTIAL = "<inertial><mass value='1'/><inertia ixx='.1' iyy='.1' izz='.1' ixy='0' ixz='0' iyz='0'/></inertial>"
TETRAHEDRON = np.array([[0.0, 0.0, 0.0], [0.3, 0.0, 0.0], [0.0, 0.2, 0.0], [0.0, 0.0, 0.1]])


def stl(path, points=TETRAHEDRON):
    """A tetrahedron as a binary STL."""
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    triangles = [struct.pack("<12fH", *np.zeros(3), *points[face].ravel(), 0) for face in faces]
    path.write_bytes(bytes(80) + struct.pack("<I", len(faces)) + b"".join(triangles))


def urdf(tmp_path, inside, more=""):
    file = tmp_path / "robot.urdf"
    file.write_text(f"<robot name='r'>{more}<link name='a'>{INERTIAL}{inside}</link></robot>")
    return read(file)


def mjcf(tmp_path, inside, before=""):
    file = tmp_path / "robot.xml"
    world = f"<worldbody><body name='a'><freejoint/><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/>{inside}</body>"
    file.write_text(f"<mujoco>{before}{world}</worldbody></mujoco>")
    return read(file)


def one(kind, geometry, more=""):
    return f"<{kind}><origin xyz='1 2 3' rpy='0 0 1.5707963267948966'/><geometry>{geometry}</geometry>{more}</{kind}>"


class TestURDF:
    def test_each_geometry(self, tmp_path):
        kinds = ["<box size='1 2 3'/>", "<cylinder radius='1' length='2'/>", "<capsule radius='3' length='4'/>"]
        kinds += ["<sphere radius='5'/>", "<mesh filename='package://r/a.stl' scale='1 2 -3'/>"]
        model, messages = urdf(tmp_path, "".join(one("collision", kind) for kind in kinds))
        box, cylinder, capsule, sphere, mesh = model.links[0].collisions
        assert messages == []
        assert model.links[0].visuals == ()
        assert (type(box), box.size) == (Box, (1.0, 2.0, 3.0))
        assert (type(cylinder), cylinder.radius, cylinder.length) == (Cylinder, 1.0, 2.0)
        assert (type(capsule), capsule.radius, capsule.length) == (Capsule, 3.0, 4.0)
        assert (type(sphere), sphere.radius) == (Sphere, 5.0)
        assert (type(mesh), mesh.path, mesh.scale) == (Mesh, "package://r/a.stl", (1.0, 2.0, -3.0))
        assert mesh.folder == str(tmp_path)
        np.testing.assert_array_equal(box.placement[:3], [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3]])

    def test_colors_by_number_and_by_name(self, tmp_path):
        red = "<material name='red'><color rgba='1 0 0 1'/></material>"
        own = "<material name=''><color rgba='0 0 1 .5'/></material>"
        shapes = [one("visual", "<sphere radius='1'/>", more) for more in ("<material name='red'/>", own, "")]
        model, _ = urdf(tmp_path, "".join(shapes), red)
        assert [s.color for s in model.links[0].visuals] == [(1.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 0.5), None]

    def test_what_has_no_volume_is_no_shape_and_no_error(self, tmp_path):
        model, messages = urdf(tmp_path, one("visual", "<box size='0 1 1'/>") + one("visual", "<sphere radius='1'/>"))
        assert [s.kind for s in model.links[0].visuals] == ["sphere"]
        assert len(messages) == 1

    def test_a_wrong_color_is_a_warning(self, tmp_path):
        bad = "<material name='x'><color rgba='2 a 0'/></material>"
        model, messages = urdf(tmp_path, one("visual", "<sphere radius='1'/>", bad))
        assert model.links[0].visuals[0].color is None
        assert len(messages) == 1

    def test_links_that_are_merged_bring_their_shapes(self, tmp_path):
        tool = "<link name='b'>" + one("visual", "<sphere radius='.1'/>") + "</link>"
        weld = "<joint name='j' type='fixed'><origin xyz='0 0 1'/><parent link='a'/><child link='b'/></joint>"
        model, _ = urdf(tmp_path, one("visual", "<box size='1 1 1'/>"), tool + weld)
        assert [s.kind for s in model.links[0].visuals] == ["box", "sphere"]
        np.testing.assert_allclose(model.links[0].visuals[1].placement[:3, 3], [1.0, 2.0, 4.0], atol=1e-15)

    def test_pinocchio_sees_the_same(self, tmp_path):
        pin = pytest.importorskip("pinocchio")
        stl(tmp_path / "a.stl")
        shapes = [
            one("visual", "<box size='1 2 3'/>", "<material name='m'><color rgba='.1 .2 .3 .4'/></material>"),
            one("visual", "<cylinder radius='.5' length='2'/>").replace("0 0 1.57", "0.3 -0.2 1.57"),
            one("visual", f"<mesh filename='{tmp_path}/a.stl' scale='1 2 3'/>"),
        ]
        model, _ = urdf(tmp_path, "".join(shapes))
        file = str(tmp_path / "robot.urdf")
        theirs = pin.buildGeomFromUrdf(pin.buildModelFromUrdf(file), file, pin.GeometryType.VISUAL).geometryObjects
        for ours, other in zip(model.links[0].visuals, theirs, strict=True):
            np.testing.assert_allclose(ours.placement, other.placement.homogeneous, atol=1e-15)
        box, cylinder, mesh = theirs
        np.testing.assert_allclose(2.0 * box.geometry.halfSide, model.links[0].visuals[0].size)
        np.testing.assert_allclose(box.meshColor, model.links[0].visuals[0].color)
        assert 2.0 * cylinder.geometry.halfLength == model.links[0].visuals[1].length
        np.testing.assert_allclose(mesh.meshScale, model.links[0].visuals[2].scale)


class TestMJCF:
    GEOMS = (
        "<geom type='box' size='.1 .2 .3' pos='1 2 3' euler='10 20 30'/>"
        "<geom type='capsule' size='.05' fromto='0 0 0 .3 .1 -.2' rgba='1 0 0 .5'/>"
        "<frame pos='0 1 0' euler='0 90 0'><geom type='cylinder' size='.05 .4' euler='0 0 40'/></frame>"
        "<geom class='ball' material='green'/><geom type='ellipsoid' size='.1 .2 .3' contype='0' conaffinity='0'/>"
        "<geom type='box' size='.1 .1 .1' group='3'/>"
    )
    BEFORE = (
        "<default><geom density='900'/><default class='ball'><geom type='sphere' size='.7'/></default></default>"
        "<asset><material name='green' rgba='0 1 0 1'/></asset>"
    )

    def test_which_are_drawn_and_which_touch(self, tmp_path):
        model, messages = mjcf(tmp_path, self.GEOMS, self.BEFORE)
        (link,) = model.links
        assert messages == []
        assert [s.kind for s in link.visuals] == ["box", "capsule", "cylinder", "sphere", "ellipsoid"]
        assert [s.kind for s in link.collisions] == ["box", "capsule", "cylinder", "sphere", "box"]
        assert [s.color for s in link.visuals] == [None, (1, 0, 0, 0.5), None, (0, 1, 0, 1), None]

    def test_mujoco_sees_the_same(self, tmp_path):
        mujoco = pytest.importorskip("mujoco")
        model, _ = mjcf(tmp_path, self.GEOMS, self.BEFORE)
        peer = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
        data = mujoco.MjData(peer)
        mujoco.mj_kinematics(peer, data)
        drawn = [i for i in range(peer.ngeom) if peer.geom_group[i] < 3]
        sizes = {
            "box": lambda s: np.array(s.size) / 2,
            "capsule": lambda s: (s.radius, s.length / 2),
            "cylinder": lambda s: (s.radius, s.length / 2),
            "sphere": lambda s: (s.radius,),
            "ellipsoid": lambda s: s.radii,
        }
        for i, shape in zip(drawn, model.links[0].visuals, strict=True):
            np.testing.assert_allclose(shape.placement[:3, 3], data.geom_xpos[i], atol=1e-12)
            R, theirs = shape.placement[:3, :3], data.geom_xmat[i].reshape(3, 3)
            if shape.kind == "capsule":  # its two ends are alike
                R, theirs = np.outer(R[:, 2], R[:, 2]), np.outer(theirs[:, 2], theirs[:, 2])
            np.testing.assert_allclose(R, theirs, atol=1e-12)
            mine = np.array(sizes[shape.kind](shape))
            np.testing.assert_allclose(mine, peer.geom_size[i][: len(mine)], atol=1e-12)
            color = (0.5, 0.5, 0.5, 1.0) if shape.color is None else shape.color
            material = peer.geom_matid[i]
            np.testing.assert_allclose(color, peer.geom_rgba[i] if material < 0 else peer.mat_rgba[material], rtol=1e-6)

    @pytest.mark.parametrize(
        "more", ["scale='2 3 4' refpos='.1 0 .2'", "scale='2 2 2' refquat='.8 .6 0 0' refpos='0 1 0'"]
    )
    def test_meshes_are_where_mujoco_has_them(self, tmp_path, more):
        mujoco = pytest.importorskip("mujoco")
        (tmp_path / "assets").mkdir()
        stl(tmp_path / "assets" / "a.stl")
        before = f"<compiler meshdir='assets'/><asset><mesh name='m' file='a.stl' {more}/></asset>"
        model, _ = mjcf(tmp_path, "<geom type='mesh' mesh='m' pos='1 2 3' euler='10 20 30'/>", before)
        (mesh,) = model.links[0].visuals
        assert (mesh.path, mesh.folder) == ("assets/a.stl", str(tmp_path))
        peer = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
        data = mujoco.MjData(peer)
        mujoco.mj_kinematics(peer, data)
        theirs = peer.mesh_vert @ data.geom_xmat[0].reshape(3, 3).T + data.geom_xpos[0]
        ours = (TETRAHEDRON * mesh.scale) @ mesh.placement[:3, :3].T + mesh.placement[:3, 3]
        for point in ours:
            assert np.abs(theirs - point).max(axis=1).min() < 1e-6  # single precision

    def test_a_mesh_that_is_missing_is_kept_and_not_opened(self, tmp_path):
        before = "<asset><mesh name='m' file='nowhere.obj'/></asset>"
        model, messages = mjcf(tmp_path, "<geom type='mesh' mesh='m' rgba='bad'/>", before)
        assert [s.path for s in model.links[0].visuals] == ["nowhere.obj"]
        assert messages == []

    def test_the_ground_is_no_part_of_a_robot(self, tmp_path):
        file = tmp_path / "arm.xml"
        ball = "<geom size='.1' mass='1'/>"
        arm = f"<body name='a'><joint/>{ball}</body>"
        file.write_text(f"<mujoco><worldbody><geom type='plane' size='1 1 1'/>{ball}{arm}</worldbody></mujoco>")
        model, _ = read(file)
        assert [[s.kind for s in link.visuals] for link in model.links] == [["sphere"], ["sphere"]]


PLACED = SE3().random(np.random.default_rng(5))
SHAPES = (
    Sphere(0.1, placement=PLACED),
    Capsule(0.1, 0.3, color=(0.1, 0.2, 0.3, 1.0)),
    Cylinder(0.1, 1 / 3, placement=PLACED),
    Box((0.1, 0.2, 1 / 7)),
)


def assert_same(ours, theirs, tolerance=0.0):
    for a, b in zip(ours, theirs, strict=True):
        assert type(a) is type(b)
        assert a.color == b.color
        assert [getattr(a, key) for key in a.sizes] == [getattr(b, key) for key in b.sizes]
        np.testing.assert_allclose(a.placement, b.placement, rtol=0.0, atol=tolerance)


@pytest.mark.parametrize(("suffix", "tolerance"), [("toml", 0.0), ("urdf", 1e-15)])
def test_shapes_survive_a_file(tmp_path, suffix, tolerance):
    body = Body(1.0, np.zeros(3), np.eye(3))
    more = (Ellipsoid((0.1, 0.2, 0.3)),) if suffix == "toml" else ()
    save(Model("r", SE3(), (Link("a", body, (*SHAPES, *more), SHAPES[::-1]),)), tmp_path / f"r.{suffix}")
    (link,) = fc.load(tmp_path / f"r.{suffix}").links
    assert_same(link.visuals, (*SHAPES, *more), tolerance)
    assert_same(link.collisions, SHAPES[::-1], tolerance)


@pytest.mark.parametrize("suffix", ["toml", "urdf"])
@pytest.mark.parametrize("path", ["meshes/a.stl", "package://dog/a.stl", "../meshes/a.stl"])
def test_meshes_are_found_from_a_file_beside(tmp_path, suffix, path):
    here, there = tmp_path / "dog" / "urdf", tmp_path / "dog" / "saved"
    here.mkdir(parents=True)
    there.mkdir()
    mesh = Mesh(path, str(here), (1.0, 2.0, 3.0), placement=PLACED)
    save(Model("r", SE3(), (Link("a", Body(1.0, np.zeros(3), np.eye(3)), (mesh,)),)), there / f"r.{suffix}")
    (found,) = fc.load(there / f"r.{suffix}").links[0].visuals
    assert found.scale == mesh.scale
    if "://" in path:
        assert found.path == path
    else:
        assert (there / found.path).resolve() == (here / path).resolve()


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ("{ type = 'ball', radius = 1.0 }", "there is no shape 'ball'"),
        ("{ type = 'sphere' }", "'radius' is missing"),
        ("{ type = 'sphere', radius = 1.0, length = 1.0 }", "has no length"),
        ("{ type = 'sphere', radius = 0.0 }", "greater than 0"),
        ("{ type = 'mesh', path = 'http://x/a.stl' }", "is not a local file"),
        ("{ type = 'mesh', path = 'a.stl', scale = [1.0, 0.0, 1.0] }", "no number of a scale is zero"),
        ("{ type = 'box', size = [1.0, 1.0, 1.0], color = [2.0, 0.0, 0.0, 1.0] }", "less than or equal to 1"),
    ],
)
def test_wrong_shapes_of_toml_are_named(tmp_path, shape, words):
    (tmp_path / "r.toml").write_text(f"base = 'free'\n[[link]]\nname = 'a'\nmass = 1.0\nvisual = [{shape}]\n")
    with pytest.raises(fc.errors.FileError) as caught:
        fc.load(tmp_path / "r.toml")
    assert words in str(caught.value)
    assert "[[link]] 'a'" in str(caught.value)
