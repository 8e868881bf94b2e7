"""Robots in TOML: what the tables mean, and what is said about wrong ones."""

import re
import warnings

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.io import read
from fallingcat.io.base_names import BASES
from fallingcat.io.toml.tables import JointTable
from fallingcat.lie import R3, SE2, SO3
from fallingcat.lie.rotations import about, matrix_from_quaternion
from fallingcat.model import Body, Link, Model
from fallingcat.model.joints import KINDS

PAIR = """
base = "free"
[[link]]
name = "a"
mass = 1
inertia = [1, 1, 1]
[[link]]
name = "b"
mass = 1
inertia = [1, 1, 1]
[[joint]]
name = "j"
type = "revolute"
parent = "a"
child = "b"
"""


@pytest.fixture
def robot(tmp_path):
    def load(text, **options):
        path = tmp_path / "robot.toml"
        path.write_text(text, encoding="utf-8")
        return fc.load(path, **options)

    return load


def test_points_make_a_body(robot):
    text = """
    base = "planar"
    [[link]]
    name = "a"
    points = [{ mass = 1, position = [1, 0] }, { mass = 3, position = [-1, 0], inertia = 0.5 }]
    """
    body = robot(text).links[0].body
    assert body.mass == 4.0
    np.testing.assert_array_equal(body.center, [-0.5, 0.0, 0.0])
    # 1 kg at 1.5 m and 3 kg at 0.5 m from the common center, and a flat body of 0.5 kg m^2 about z
    np.testing.assert_allclose(body.inertia, np.diag([0.25, 3.25, 3.5]), rtol=0, atol=1e-15)


def test_points_agree_with_the_library(robot):
    text = "base = 'free'\n[[link]]\nname = 'a'\npoints = [{mass=1, position=[1,2,3]}, {mass=2, position=[0,1,0]}]"
    ours, body = robot(text).links[0].body, Body.from_points([(1.0, (1.0, 2.0, 3.0)), (2.0, (0.0, 1.0, 0.0))])
    np.testing.assert_array_equal(ours.spatial_inertia, body.spatial_inertia)


@pytest.mark.parametrize(
    ("given", "matrix"),
    [
        ("0.5", np.diag([0.25, 0.25, 0.5])),
        ("[1, 2, 2.5]", np.diag([1.0, 2.0, 2.5])),
        ("[[2, 0.1, 0], [0.1, 2, 0], [0, 0, 3]]", np.array([[2.0, 0.1, 0.0], [0.1, 2.0, 0.0], [0.0, 0.0, 3.0]])),
    ],
)
def test_three_ways_to_say_an_inertia(robot, given, matrix):
    model = robot(f"base = 'free'\nlink = [{{ name = 'a', mass = 1, inertia = {given} }}]")
    np.testing.assert_array_equal(model.links[0].body.inertia, matrix)


@pytest.mark.parametrize(
    ("key", "R"),
    [
        ("angle = 0.3", about((0.0, 0.0, 1.0), 0.3)),
        ("rpy = [0.1, 0.2, 0.3]", about((0, 0, 1), 0.3) @ about((0, 1, 0), 0.2) @ about((1, 0, 0), 0.1)),
        ("quaternion = [0.6, 0, 0, 0.8]", matrix_from_quaternion(np.array([0.6, 0.0, 0.0, 0.8]))),
        (
            "rotation = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]",
            np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
        ),
    ],
)
def test_four_ways_to_say_a_rotation(robot, key, R):
    placement = robot(f"{PAIR}position = [1, 2]\n{key}\n").joints[0].placement
    np.testing.assert_allclose(placement[:3, :3], R, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(placement[:3, 3], [1.0, 2.0, 0.0])


@pytest.mark.parametrize("name", KINDS)
def test_every_type_has_a_default_axis(robot, name):
    pitch = "pitch = 0.1" if name in ("helical", "pseudo_planar") else ""
    model = robot(PAIR.replace('"revolute"', f'"{name}"\n{pitch}'), fixed="keep")
    assert model.joints[0].kind == (KINDS[name](pitch=0.1) if pitch else KINDS[name]())


def test_every_kind_of_joint_has_a_type():
    from fallingcat.model import joints

    kinds = {k for k in vars(joints).values() if isinstance(k, type) and issubclass(k, joints.JointKind)}
    assert set(KINDS.values()) == kinds - {joints.JointKind, joints.Reversed}
    for kind in KINDS.values():  # and every number of it a key
        assert set(kind.__dataclass_fields__) <= set(JointTable.model_fields)


def test_the_armature_is_a_number_or_one_for_each_rate(robot):
    assert robot(f"{PAIR}armature = 0.5\n").armature.tolist() == [0.5]
    assert robot(f"{PAIR}armature = [0.5]\n").armature.tolist() == [0.5]
    assert robot(PAIR.replace('"revolute"', '"universal"\narmature = [1, 2]')).armature.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("given", ["-1", "[1, 2]", "'heavy'", "inf", "1e41", "{ x = 1 }"])
def test_an_armature_that_is_none(robot, given):
    with pytest.raises(fc.FileError, match="armature"):
        robot(f"{PAIR}armature = {given}\n")


@pytest.mark.parametrize("name", BASES)
def test_every_base_has_a_name(robot, name):
    pitched = name in ("helical", "pseudo-planar")
    given = f'{{ group = "{name}", pitch = 0.1 }}' if pitched else f'"{name}"'
    model = robot(f"base = {given}\nlink = [{{ name = 'a', mass = 1, inertia = [1, 1, 1] }}]")
    assert type(model.base) is BASES[name]


def test_gravity_points_down_in_the_plane_too(robot):
    link = "link = [{ name = 'a', mass = 1 }]\n"
    assert robot(f"base = 'planar'\n{link}").gravity.tolist() == [0.0, -9.81, 0.0]
    assert robot(f"base = 'free'\n{link}").gravity.tolist() == [0.0, 0.0, -9.81]
    assert robot(f"base = 'planar'\ngravity = [0, -1.62]\n{link}").gravity.tolist() == [0.0, -1.62, 0.0]


def test_the_caller_has_the_last_word(robot):
    text = "base = 'free'\nlink = [{ name = 'a', mass = 1 }]\n"
    model = robot(text, base="spherical", gravity=(0.0, 0.0, 0.0))
    assert isinstance(model.base, SO3)
    assert not model.gravity.any()
    assert robot(text, base="planar").gravity.tolist() == [0.0, -9.81, 0.0]
    assert isinstance(robot(text, base=R3()).base, R3)


def test_fixed_joints_are_merged_or_kept(robot):
    text = PAIR.replace("revolute", "fixed")
    merged, kept = robot(text), robot(text, fixed="keep")
    assert (len(merged.links), merged.mass, [f.name for f in merged.frames]) == (1, 2.0, ["b"])
    assert (len(kept.links), kept.mass, kept.joints[0].kind.name) == (2, 2.0, "fixed")


def test_a_massless_link_may_carry_a_mass(robot):
    """Two hinges with nothing between them: a cardan joint in the words of URDF."""
    text = PAIR.replace('name = "a"\nmass = 1\ninertia = [1, 1, 1]', 'name = "a"')
    assert robot(text, base="fixed").mass == 1.0
    with pytest.warns(fc.FileWarning, match="no mass resists the base"):  # seven freedoms, one body
        assert robot(text).links[0].body.mass == 0.0


def test_what_nothing_resists_makes_a_kinematic_model(robot, tmp_path):
    """It is saved and loaded again without further ado."""
    text = PAIR.replace('name = "b"\nmass = 1\ninertia = [1, 1, 1]', 'name = "b"')
    with pytest.warns(fc.FileWarning, match=r"'b': no mass resists this link: .* massless=\"weld\""):
        model = robot(text)
    assert model.idle_links == ("b",)
    fc.save(model, tmp_path / "again.toml")
    with pytest.warns(fc.FileWarning, match="a kinematic model"):
        again = fc.load(tmp_path / "again.toml")
    state = model.state(joints=[0.3])
    np.testing.assert_array_equal(fc.jacobian(again, state, "b"), fc.jacobian(model, state, "b"))
    with pytest.raises(fc.ModelError, match="is a kinematic model"):
        fc.mass_matrix(again, state)
    still = text + "[[link]]\nname = 'c'\n[[joint]]\nname = 'k'\ntype = 'fixed'\nparent = 'b'\nchild = 'c'\n"
    with pytest.raises(fc.FileError, match="no joint is left that moves"):
        robot(still, massless="weld")
    mass = "[[link]]\nname = 'c'\nmass = 1\n[[joint]]\nname = 'k'\ntype = 'prismatic'\nparent = 'a'\nchild = 'c'\n"
    with pytest.warns(fc.FileWarning, match="this joint moves no mass and is fixed"):
        assert robot(text + mass, massless="weld").joint_names == ("k",)


def test_all_mistakes_are_said_at_once(tmp_path):
    text = PAIR.replace('"revolute"', '"revolut"').replace("mass = 1", "mass = -1").replace('base = "free"', "base = 3")
    (tmp_path / "bad.toml").write_text(text)
    with pytest.raises(fc.FileError) as caught:
        fc.load(tmp_path / "bad.toml")
    message = str(caught.value)
    assert message.count("greater than or equal to 0, not -1") == 2
    assert re.search(r"base: .*line 3: \[\[link\]\] 'a': mass.*line 7: \[\[link\]\] 'b': mass.*'revolut'", message)
    assert "\n" not in message


def test_a_flood_of_mistakes_stays_readable(tmp_path):
    links = "".join(f"[[link]]\nname = 'l{i}'\nmas = 1\n" for i in range(5000))
    (tmp_path / "bad.toml").write_text(f"base = 'free'\n{links}")
    with pytest.raises(fc.FileError, match=r"and 4,980 more$") as caught:
        fc.load(tmp_path / "bad.toml")
    assert len(str(caught.value)) < 5000


def test_physics_is_strict_and_can_be_set_to_warn(robot):
    text = PAIR.replace("inertia = [1, 1, 1]", "inertia = [1, 1, 3]")
    with pytest.raises(fc.FileError, match=r"'a': .*triangle.*'b': .*triangle.*physics=\"warn\""):
        robot(text)
    with pytest.warns(fc.FileWarning, match="triangle"):
        model = robot(text, physics="warn")
    assert model.links[1].body.inertia[2, 2] == 3.0


def test_points_rods_and_plates_are_bodies(robot):
    for inertia in ("[0, 0, 0]", "[0, 1, 1]", "[1, 1, 2]"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            robot(PAIR.replace("[1, 1, 1]", inertia))


def test_lines_are_those_of_the_tables(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text("# a comment\n\n" + PAIR.replace('child = "b"', 'child = "c"'))
    with pytest.raises(fc.FileError) as caught:
        fc.load(path)
    assert path.read_text().splitlines()[caught.value.line - 1] == "[[joint]]"
    assert caught.value.element == "[[joint]] 'j'"


def test_a_rotation_of_seven_digits_is_kept_as_it_is(tmp_path):
    H = np.eye(4)
    H[:2, :2] = [[0.9553365, -0.2955202], [0.2955202, 0.9553365]]
    frame = fc.model.Frame("f", "a", H)
    model = Model("a", SE2(), (Link("a", Body(1.0)),), gravity=np.array([0.0, -9.81, 0.0]), frames=(frame,))
    fc.save(model, tmp_path / "a.toml")
    np.testing.assert_array_equal(fc.load(tmp_path / "a.toml").frames[0].placement, H)


def test_saving_twice_gives_the_same_bytes(tmp_path):
    model = fc.robots.humanoid()
    fc.save(model, tmp_path / "a.toml")
    again, _ = read(tmp_path / "a.toml", fixed="keep")
    fc.save(again, tmp_path / "b.toml")
    assert (tmp_path / "a.toml").read_bytes() == (tmp_path / "b.toml").read_bytes()
