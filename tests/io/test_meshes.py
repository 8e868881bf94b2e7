"""Masses of meshes: tiny files, read by us and by MuJoCo; and files that nobody should trust."""

import os
import struct

import numpy as np
import pytest

from fallingcat.errors import FileError
from fallingcat.io import limits, read
from fallingcat.io.diagnostics import Reader
from fallingcat.io.meshes import files as meshes
from fallingcat.io.meshes import polygons
from fallingcat.lie.rotations import matrix_from_quaternion

BOX = np.array([[x, y, z] for x in (0.0, 0.3) for y in (0.0, 0.2) for z in (0.0, 0.1)])
SIDES = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
# a prism over an L, which is not convex, with its ends as one polygon each
L = np.array([[0, 0], [0.4, 0], [0.4, 0.1], [0.1, 0.1], [0.1, 0.3], [0, 0.3]])
PRISM = np.array([0.02, -0.05, 0.01]) + np.vstack([np.c_[L, np.zeros(6)], np.c_[L, np.full(6, 0.05)]])
ENDS = [[5, 4, 3, 2, 1, 0], [6, 7, 8, 9, 10, 11], *([i, (i + 1) % 6, (i + 1) % 6 + 6, i + 6] for i in range(6))]


def fan(faces):
    return [[f[0], f[i], f[i + 1]] for f in faces for i in range(1, len(f) - 1)]


BOX_FACES = fan(SIDES)
# the end of an L is cut where it bends inwards
PRISM_FACES = [
    [3, 2, 1],
    [3, 1, 0],
    [3, 0, 5],
    [3, 5, 4],
    *([9, 7, 8], [9, 6, 7], [9, 11, 6], [9, 10, 11]),
    *fan(ENDS[2:]),
]


def stl(vertices, faces):
    triangles = [struct.pack("<3f", 0, 0, 0) + np.asarray(vertices)[f].astype("<f4").tobytes() + b"\0\0" for f in faces]
    return b"solid, or so it says".ljust(80) + struct.pack("<I", len(triangles)) + b"".join(triangles)


def text_stl(vertices, faces):
    corners = ["".join(f"vertex {x!r} {y!r} {z!r}\n" for x, y, z in np.asarray(vertices)[f].tolist()) for f in faces]
    return ("solid s\n" + "".join(f"facet normal 0 0 1\nouter loop\n{c}endloop\nendfacet\n" for c in corners)).encode()


def obj(vertices, faces, form="{}"):
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in np.asarray(vertices).tolist()]
    return "\n".join(lines + ["f " + " ".join(form.format(i + 1) for i in f) for f in faces]).encode()


def msh(vertices, faces):
    counts = struct.pack("<4i", len(vertices), 0, 0, len(faces))
    return counts + np.asarray(vertices, "<f4").tobytes() + np.asarray(faces, "<i4").tobytes()


@pytest.fixture
def files(tmp_path):
    """Writes a mesh and a free body with a geom of it, into a new folder: MuJoCo remembers meshes by their path."""
    folders = iter(range(1000))

    def write(data, mesh="", geom="type='mesh' density='800'", name="m.obj", before="", inside=""):
        folder = tmp_path / str(next(folders))
        folder.mkdir()
        (folder / name).write_bytes(data)
        body = f"<freejoint/><geom mesh='m' {geom} pos='.1 .2 .3' euler='10 20 30'/>{inside}"
        path = folder / "robot.xml"
        path.write_text(
            f"<mujoco>{before}<asset><mesh name='m' file='{name}' {mesh}/></asset>"
            f"<worldbody><body name='a'>{body}</body></worldbody></mujoco>"
        )
        return path

    return write


def theirs(path):
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_path(str(path))
    R = matrix_from_quaternion(np.roll(model.body_iquat[1], -1))
    return model.body_mass[1], model.body_ipos[1], model.body_inertia[1], R @ np.diag(model.body_inertia[1]) @ R.T


def assert_as_in_mujoco(path, **options):
    body = read(path, **options)[0].links[0].body
    mass, center, moments, inertia = theirs(path)
    np.testing.assert_allclose(body.mass, mass, rtol=1e-12)
    np.testing.assert_allclose(body.center, center, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.eigvalsh(body.inertia)[::-1], moments, rtol=1e-12)
    # MuJoCo turns the inertia to principal axes, which it finds to some eight digits
    np.testing.assert_allclose(body.inertia, inertia, rtol=0, atol=1e-6 * moments.max())


@pytest.mark.parametrize("rule", ["legacy", "exact", "convex", "shell"])
@pytest.mark.parametrize("placed", ["", "scale='.5 2 .1'", "refpos='.1 0 -.2' refquat='1 -1 0 .5' scale='2 2 2'"])
@pytest.mark.parametrize("heavy", ["density='800'", "mass='3'"])
def test_four_rules(files, rule, placed, heavy):
    if rule == "convex":
        pytest.importorskip("scipy")
    assert_as_in_mujoco(files(obj(PRISM, PRISM_FACES), f"inertia='{rule}' {placed}", f"type='mesh' {heavy}"))


def test_the_rules_differ(files):
    pytest.importorskip("scipy")
    masses = {
        rule: read(files(obj(PRISM, PRISM_FACES), f"inertia='{rule}'"))[0].mass
        for rule in ("legacy", "exact", "convex")
    }
    assert masses["exact"] == pytest.approx(800 * 0.05 * 0.06, rel=1e-6)
    assert masses["convex"] == pytest.approx(800 * 0.05 * 0.09, rel=1e-6)
    assert masses["exact"] < masses["legacy"]


def test_nothing_said_is_the_legacy_rule(files):
    path = files(obj(PRISM, PRISM_FACES))
    assert_as_in_mujoco(path)
    assert read(path)[0].mass > 1.01 * 800 * 0.05 * 0.06


@pytest.mark.parametrize("rule", ["legacy", "exact", "shell"])
def test_mirrors(files, rule):
    assert_as_in_mujoco(files(obj(PRISM, PRISM_FACES), f"inertia='{rule}' scale='-1 1 1'"))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("m.stl", stl(PRISM, PRISM_FACES)),
        ("M.STL", stl(PRISM, PRISM_FACES)),
        ("m.msh", msh(PRISM, PRISM_FACES)),
        ("m.obj", obj(PRISM, PRISM_FACES, "{}/1/2").replace(b"f", b"vt 0 0\nvn 0 0 1\nvn 0 1 0\nf", 1)),
        ("m.obj", obj(PRISM, PRISM_FACES).replace(b"\n", b"\r\n").replace(b"v ", b"v\t ")),
        ("m.obj", obj(PRISM, PRISM_FACES).replace(b"\nv", b" 1.0\nv")),
        ("m.obj", b"# a comment\no thing\ng part\n" + obj(PRISM, PRISM_FACES) + b"\no empty\n"),
        ("m.obj", obj(PRISM, [[i - len(PRISM) - 1 for i in f] for f in PRISM_FACES])),
    ],
)
def test_formats(files, name, data):
    assert_as_in_mujoco(files(data, name=name))


def test_an_stl_of_text(files):
    """MuJoCo does not read it: the same triangles in binary do."""
    as_text, binary = (read(files(f(PRISM, PRISM_FACES), name="m.stl"))[0].links[0].body for f in (text_stl, stl))
    np.testing.assert_allclose(as_text.inertia, binary.inertia, rtol=1e-14)


def test_of_several_objects_the_first(files):
    second = obj(PRISM + 1.0, [[i + 12 for i in f] for f in PRISM_FACES])
    path = files(obj(PRISM, PRISM_FACES) + b"\no second\n" + second)
    assert_as_in_mujoco(path)
    assert any("only the first object" in message for message in read(path)[1])


def test_a_cloud_of_points_has_the_mass_of_its_hull(files):
    pytest.importorskip("scipy")
    assert_as_in_mujoco(files(obj(PRISM, [])))


@pytest.mark.parametrize("rule", ["legacy", "exact"])
def test_polygons_that_are_not_plane(files, rule):
    """Cut where MuJoCo cuts them: quadrangles, and the ends of the prism with their six corners."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        path = files(obj(PRISM + 0.02 * rng.normal(size=PRISM.shape), ENDS), f"inertia='{rule}'")
        assert_as_in_mujoco(path)


@pytest.mark.parametrize("n", [40, 100, 101])
def test_round_polygons(files, n):
    """Ends of a cylinder with many corners, wherever the origin is."""
    a = np.linspace(0.0, 2 * np.pi, n, endpoint=False)
    round_ = np.c_[0.1 * np.cos(a), 0.07 * np.sin(a)]  # three different moments
    vertices = np.vstack([np.c_[round_, np.zeros(n)], np.c_[round_, np.full(n, 0.2)]])
    faces = [list(range(n))[::-1], list(range(n, 2 * n)), *([i, (i + 1) % n, (i + 1) % n + n, i + n] for i in range(n))]
    for shift in ([0, 0, 0], [0.3, 0.1, 0], [0.05, 0.02, 0.3]):
        assert_as_in_mujoco(files(obj(vertices[:, [1, 2, 0]] + shift, faces)))


def test_open_and_inverted_meshes(files):
    mujoco = pytest.importorskip("mujoco")
    assert_as_in_mujoco(files(obj(BOX, BOX_FACES[2:])))  # without one side
    inverted = [f[::-1] for f in BOX_FACES]
    assert_as_in_mujoco(files(obj(BOX, inverted)))  # the legacy rule takes no offence
    one = [BOX_FACES[0][::-1], *BOX_FACES[1:]]
    for faces, words in ((inverted, "triangles look inwards"), (one, "look outwards, and some do not")):
        path = files(obj(BOX, faces), "inertia='exact'")
        with pytest.raises(FileError, match=words):
            read(path)
        with pytest.raises(ValueError, match="orient"):
            mujoco.MjModel.from_xml_path(str(path))


@pytest.mark.parametrize("kind", ["sphere", "capsule", "cylinder", "ellipsoid", "box"])
@pytest.mark.parametrize("around", ["false", "true"])
def test_shapes_in_the_place_of_a_mesh(files, kind, around):
    before = f"<compiler fitaabb='{around}'/>"
    assert_as_in_mujoco(
        files(obj(PRISM, PRISM_FACES), "", f"type='{kind}' fitscale='1.2' density='500'", before=before)
    )


def test_where_meshes_are(files):
    for compiler in ("meshdir='a' assetdir='x'", "assetdir='a/b' strippath='true'"):
        path = files(b"", before=f"<compiler {compiler}/>")
        (path.parent / "a" / "b").mkdir(parents=True)
        (path.parent / "a" / "b" / "m.obj").write_bytes(obj(PRISM, PRISM_FACES))
        path.write_text(path.read_text().replace("file='m.obj'", "file='b/m.obj'"))
        assert_as_in_mujoco(path)


def test_a_mesh_beside_the_file_that_is_included(files):
    path = files(obj(PRISM, PRISM_FACES))
    robot = path.parent / "robots" / "robot.xml"
    robot.parent.mkdir()
    robot.write_text("<mujoco><include file='../robot.xml'/></mujoco>")
    assert_as_in_mujoco(robot, inside=path.parent)


def test_meshes_have_default_classes_too(files):
    before = "<default><mesh scale='2 2 2'/><default class='thin'><mesh inertia='shell'/></default></default>"
    assert_as_in_mujoco(files(obj(PRISM, PRISM_FACES), before=before))
    assert_as_in_mujoco(files(obj(PRISM, PRISM_FACES), "class='thin'", before=before))


def test_a_mesh_in_the_file_itself(files):
    path = files(b"")
    inline = "vertex='{}' face='{}'".format(*(" ".join(map(str, np.ravel(x))) for x in (PRISM, PRISM_FACES)))
    path.write_text(path.read_text().replace("file='m.obj'", inline))
    assert_as_in_mujoco(path)
    path.write_text(path.read_text().replace("face='3 2 1", "face='3 2 99"))
    with pytest.raises(FileError, match="numbers of vertices, 0 to 11"):
        read(path)


def test_a_mesh_of_what_never_moves_keeps_its_mass(files):
    path = files(obj(PRISM, PRISM_FACES))
    arm = "<body name='b'><joint/><geom size='.1' mass='1'/></body>"
    path.write_text(path.read_text().replace("<freejoint/>", arm))
    model, messages = read(path, fixed="keep")
    assert messages == []
    mass, center, _, _ = theirs(path)
    np.testing.assert_allclose(model.links[1].body.mass, mass, rtol=1e-12)
    np.testing.assert_allclose(model.links[1].body.center, center, rtol=0, atol=1e-14)


def test_no_mesh_is_opened_where_no_mass_depends_on_it(files):
    path = files(b"not a mesh", inside="<inertial mass='1' pos='0 0 0' diaginertia='1 1 1'/>")
    assert read(path)[0].mass == 1.0
    path = files(b"not a mesh", geom="type='mesh' mass='0'", inside="<geom size='.1' mass='2'/>")
    assert read(path)[0].mass == 2.0


# files that nobody should trust --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("m.stl", b"", "no STL file"),
        ("m.stl", stl(BOX, BOX_FACES)[:-1].replace(b"solid", b"liquid"), "no STL file"),
        ("m.stl", stl(BOX, BOX_FACES)[:-1], "at least 4 vertices, not 0"),
        ("m.stl", b"\0" * 80 + struct.pack("<I", 2**32 - 1), "no STL file"),
        ("m.stl", stl(BOX * np.nan, BOX_FACES), "finite numbers"),
        ("m.stl", stl(BOX * 1e20, BOX_FACES), "finite numbers up to 1e\\+09"),
        ("m.stl", b"solid s\nvertex 1 2\nvertex 3", "a vertex has 3 numbers"),
        ("m.stl", b"solid s" + b"\nvertex 1 2 3" * 4, "3 corners each, and there are 4"),
        ("m.stl", b"solid s", "at least 4 vertices, not 0"),
        ("m.obj", b"", "at least 4 vertices, not 0"),
        ("m.obj", obj(BOX[:3], [[0, 1, 2]]), "at least 4 vertices, not 3"),
        ("m.obj", obj(BOX, BOX_FACES).replace(b"0.3", b"nan"), "finite numbers"),
        ("m.obj", obj(BOX, BOX_FACES).replace(b"0.3", b"1e999"), "finite numbers"),
        ("m.obj", obj(BOX, BOX_FACES).replace(b"0.3", b"0x3"), "a vertex has 3 numbers"),
        ("m.obj", obj(BOX, BOX_FACES).replace(b"0.3", b"1_0"), "a vertex has 3 numbers"),
        ("m.obj", obj(BOX, [[0, 1, 8]]), "there are 8 of them"),
        ("m.obj", obj(BOX, [[0, 1, -1]]), "made of the numbers of vertices"),
        ("m.obj", obj(BOX, [[0, 1, -20]]), "there are 8 of them"),
        ("m.obj", obj(BOX, [[0, 1, 2, 8]]), "there are 8 of them"),
        ("m.obj", obj(BOX, [[0, 1, 10**30]]), "numbers of vertices"),
        ("m.obj", obj(BOX, [[0, 1, 2]]).replace(b"f 1", b"f one"), "numbers of vertices"),
        ("m.obj", obj(BOX, [[0, 1, 2]]), "the volume of the mesh is 0 m.3"),
        ("m.obj", obj(BOX, BOX_FACES) + b"\nf 1 2 3" * 400_000, "at most 400,000 faces, not 400,012"),
        ("m.obj", b"v 1 2 3\n" * 1_200_001, "at most 1,200,000 vertices"),
        ("m.obj", b"v 1 2 3\n" * 100_001, "a mesh with a convex hull has at most 100,000 vertices"),
        ("m.obj", obj(BOX * [1, 1, 0], BOX_FACES), "a thin sheet has inertia='shell'"),
        ("m.msh", msh(BOX, BOX_FACES)[:-4], "no MSH file"),
        ("m.msh", struct.pack("<4i", -1, 0, 0, 0), "no MSH file"),
        ("m.msh", b"\1", "no MSH file"),
        ("m.msh", msh(BOX, [[0, 1, 9]]), "there are 8 of them"),
        ("m.dae", b"<xml/>", "from .stl, .obj, .msh files, not from '.dae'"),
        ("m", b"<xml/>", "files, not from ''"),
    ],
)
def test_bad_meshes_are_refused_by_name(files, name, data, words):
    with pytest.raises(FileError, match=words) as caught:
        read(files(data, name=name))
    assert name in str(caught.value) or "<mesh name='m'>" in str(caught.value)


def test_points_in_a_plane_have_no_hull(files):
    pytest.importorskip("scipy")
    for points in (BOX * [1, 1, 0], BOX * 0):
        with pytest.raises(FileError, match="no convex hull with a volume"):
            read(files(obj(points, [])))


def test_corners_end_before_patience_does(files):
    """A star whose ears are hard to find, many times over."""
    faces = [list(np.random.default_rng(i).permutation(100)) for i in range(500)]
    points = np.random.default_rng(0).normal(size=(100, 3))
    with pytest.raises(FileError, match="too many corners"):
        read(files(obj(points, faces)))
    assert polygons.MAX_WORK <= 5_000_000


def test_meshes_stay_in_the_robots_folder(files):
    path = files(obj(PRISM, PRISM_FACES))
    tmp_path = path.parent
    robot = tmp_path / "robots" / "robot.xml"
    robot.parent.mkdir()
    robot.write_text(path.read_text().replace("file='m.obj'", "file='../m.obj'"))
    assert f"are read, up to '{tmp_path}': inside=" in read(robot)[1][0]
    with pytest.raises(FileError, match="leads out of the robot's folder"):
        read(robot, inside=robot.parent)
    assert read(robot, inside=tmp_path)[0].mass == read(robot)[0].mass == read(path)[0].mass
    os.symlink(tmp_path / "m.obj", robot.parent / "m.obj")
    robot.write_text(path.read_text())
    with pytest.raises(FileError, match="leads out"):
        read(robot)
    robot.write_text(path.read_text().replace("file='m.obj'", f"file='{tmp_path}/m.obj'"))
    with pytest.raises(FileError, match="no absolute path"):
        read(robot, inside=tmp_path)
    os.mkfifo(robot.parent / "m.stl")  # opening it would wait for ever
    robot.write_text(path.read_text().replace("file='m.obj'", "file='m.stl'"))
    with pytest.raises(FileError, match="not a plain file"):
        read(robot)


def test_how_much_is_read(files, tmp_path, monkeypatch):
    monkeypatch.setattr("fallingcat.io.mjcf.meshes.MAX_MESH_BYTES", 1000)
    with pytest.raises(FileError, match="MiB together"):
        read(files(obj(PRISM, PRISM_FACES) + b"\n#" + b" " * 1000))
    monkeypatch.setattr("fallingcat.io.mjcf.meshes.MAX_MESHES", 0)
    with pytest.raises(FileError, match="at most 0 meshes"):
        read(files(obj(PRISM, PRISM_FACES)))
    (tmp_path / "large.obj").write_bytes(b"#" * 2000)
    with pytest.raises(FileError, match="more than 1,000 bytes"):
        meshes.read_mesh(Reader(tmp_path / "large.obj"), 1000)
    assert limits.MAX_MESH_BYTES == 64 * 2**20


@pytest.mark.parametrize("kind", [float, np.int64])
def test_unique_rows_are_those_of_numpy(kind):
    rng = np.random.default_rng(4)
    for count, values in ((0, 3), (1, 3), (50, 2), (400, 6), (2000, 50)):
        rows = rng.integers(-values, values, size=(count, 3)).astype(kind)
        expected, first, place = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        found = meshes.unique_rows(rows)
        np.testing.assert_array_equal(found[0], first)
        np.testing.assert_array_equal(found[1], place.reshape(-1))
        np.testing.assert_array_equal(rows[found[0]], expected)
