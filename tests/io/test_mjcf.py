"""What an MJCF file means, rule by rule; MuJoCo's own opinion is in test_peers_mjcf."""

import os

import numpy as np
import pytest

from fallingcat.dynamics import mass_matrix
from fallingcat.errors import FallingCatError, FileError
from fallingcat.io import read
from fallingcat.lie import SE3, Trivial
from fallingcat.model import Continuous, Prismatic, Revolute, Spherical

BALL = "<geom size='.1' mass='1'/>"
FREE = f"<body name='a' pos='0 0 1'><freejoint/>{BALL}<body name='b'><joint name='j'/>{BALL}</body></body>"
ARM = f"<body name='a' pos='0 0 1'>{BALL}<body name='b' pos='1 0 0'><joint name='j'/>{BALL}</body></body>"


@pytest.fixture
def load(tmp_path):
    """A model and the warnings from the inside of ``<worldbody>`` and what stands before it."""

    def load(inside, before="", **options):
        file = tmp_path / "robot.xml"
        file.write_text(f"<mujoco model='r'>{before}<worldbody>{inside}</worldbody></mujoco>")
        return read(file, **options)

    return load


def rejected(load, *args, **options):
    with pytest.raises(FileError) as caught:
        load(*args, **options)
    return str(caught.value)


class TestBase:
    def test_a_free_body_is_the_base(self, load):
        model, messages = load(FREE)
        assert isinstance(model.base, SE3)
        assert model.link_names == ("a", "b")
        assert messages == []

    def test_otherwise_the_world_is_the_base_and_what_is_fixed_to_it_joins_it(self, load):
        model, _ = load(ARM)
        assert isinstance(model.base, Trivial)
        assert model.link_names == ("world", "b")
        assert model.mass == 2.0
        (frame,) = model.frames
        assert (frame.name, frame.link) == ("a", "world")
        np.testing.assert_array_equal(frame.placement[:3, 3], [0.0, 0.0, 1.0])

    def test_kept_fixed_bodies_are_links(self, load):
        model, _ = load(ARM, fixed="keep")
        assert model.link_names == ("world", "a", "b")

    @pytest.mark.parametrize("base", ["planar", "spherical", "translational", "schoenflies", "fixed"])
    def test_another_group_for_a_free_base(self, load, base):
        model, messages = load(FREE, base=base)
        assert model.link_names == ("a", "b")
        assert model.m < 6
        assert any("begins at the world's origin" in message for message in messages)

    def test_a_body_fixed_to_the_world_can_be_set_free(self, load):
        model, messages = load(ARM, base="free")
        assert isinstance(model.base, SE3)
        assert model.link_names == ("a", "b")
        assert messages == []

    def test_scenery_is_left_behind_when_the_robot_is_set_free(self, load):
        model, messages = load(f"<body name='table'>{BALL}</body>" + ARM, base="free")
        assert model.link_names == ("a", "b")
        assert "no part of the robot" in messages[0]

    def test_bodies_joined_to_the_world_stay_there(self, load):
        hinged = f"<body name='a'><joint/>{BALL}</body>"
        assert "joined to the world" in rejected(load, hinged, base="free")
        assert "one root" in rejected(load, hinged + hinged.replace("'a'", "'b'"), base="free")
        assert load(hinged, base="fixed")[0].link_names == ("world", "a")

    def test_a_massless_free_body_stays_the_base_frame(self, load):
        model, messages = load(f"<body name='root'><freejoint/><body name='trunk' pos='0 0 1'>{BALL}</body></body>")
        assert (model.link_names, messages) == (("root",), [])
        np.testing.assert_array_equal(model.frame("trunk").placement[:3, 3], [0.0, 0.0, 1.0])

    def test_the_caller_chooses_among_several_robots(self, load):
        arm, ball = ARM.replace("'a'", "'arm'").replace("'b'", "'tip'").replace("'j'", "'k'"), BALL
        scene = f"<body name='box' pos='0 1 0'><freejoint/>{ball}</body>{FREE}{arm}<body name='table'>{ball}</body>"
        words = rejected(load, scene, base="planar")
        assert "3 bodies move on their own: 'a', 'box', 'arm'" in words
        assert words.endswith('(choose with root="a", or leave base out)')
        world, (message,) = load(scene)
        assert world.link_names == load(scene, root="world")[0].link_names == ("world", "box", "a", "b", "tip")
        assert "3 bodies move on their own: 'a', 'box', 'arm'; all are read" in message
        assert message.endswith('root="a" reads one of them, root="world" all without this warning')
        robot, messages = load(scene, root="a")
        assert (robot.link_names, str(robot.base)) == (("a", "b"), "SE(3)")
        assert [m.split(": ")[-1] for m in messages] == [
            "a body that moves on its own is no part of the robot, 'a' (2 times in the file)",
            "a body fixed to the world is no part of the robot, 'a'",
        ]
        fixed, _ = load(scene, root="arm")
        assert (fixed.link_names, fixed.m) == (("world", "tip"), 0)
        assert load(scene, root="arm", base="free")[0].link_names == ("arm", "tip")
        assert load(scene, root="table", base="free")[0].link_names == ("table",)
        assert "no body 'b' stands directly in the world (these do: 'a', 'box', 'arm', 'table')" in rejected(
            load, scene, root="b"
        )
        assert "the base is fixed" in rejected(load, scene, root="world", base="planar")

    def test_the_whole_world_is_the_robot(self, load):
        scene = f"<body name='box' pos='0 1 0'><freejoint name='f'/>{BALL}</body>{FREE}"
        world, messages = load(scene, root="world")
        assert (world.link_names, world.joint_names) == (("world", "box", "a", "b"), ("f", "joint1", "j"))
        assert (world.m, world.n, world.mass, messages) == (0, 13, 3.0, [])

    def test_gravity_of_file_flag_and_caller(self, load):
        option = "<option gravity='0 1 -2'/>"
        assert load(FREE)[0].gravity.tolist() == [0.0, 0.0, -9.81]
        assert load(FREE, option)[0].gravity.tolist() == [0.0, 1.0, -2.0]
        assert load(FREE, "<option><flag gravity='disable'/></option>")[0].gravity.tolist() == [0.0, 0.0, 0.0]
        assert load(FREE, option, gravity=[1, 2, 3])[0].gravity.tolist() == [1.0, 2.0, 3.0]


class TestJoints:
    def joints(self, load, text, before=""):
        model, messages = load(f"<body name='a'><freejoint/>{BALL}<body name='b'>{text}{BALL}</body></body>", before)
        return model, messages

    def test_kinds(self, load):
        types = {
            "<joint range='-1 1'/>": Revolute,
            "<joint/>": Continuous,
            "<joint range='-1 1' limited='false'/>": Continuous,
            "<joint type='slide'/>": Prismatic,
            "<joint type='ball'/>": Spherical,
        }
        for text, kind in types.items():
            model, _ = self.joints(load, text)
            assert type(model.joints[0].kind) is kind

    def test_angles_are_degrees_unless_the_file_says_otherwise(self, load):
        joint = "<joint range='-90 180'/>"
        degrees, _ = self.joints(load, joint)
        radians, _ = self.joints(load, joint, "<compiler angle='radian'/>")
        assert degrees.joints[0].limits.upper == pytest.approx(np.pi, abs=1e-15)
        assert radians.joints[0].limits.upper == 180.0

    def test_ref_is_the_coordinate_at_which_the_body_stands_as_drawn(self, load):
        model, _ = self.joints(load, "<joint axis='0 1 0' pos='.1 .2 .3' ref='90'/>")
        np.testing.assert_allclose(model.joints[0].transform(np.array([np.pi / 2])), np.eye(4), atol=1e-15)

    def test_an_anchor_stays_where_it_is(self, load):
        model, _ = self.joints(load, "<joint axis='0 1 0' pos='.1 .2 .3'/>")
        anchor = np.array([0.1, 0.2, 0.3, 1.0])
        for q in (-1.0, 0.3, 2.0):
            np.testing.assert_allclose(model.joints[0].transform(np.array([q])) @ anchor, anchor, atol=1e-15)

    def test_several_joints_have_massless_links_between_them(self, load):
        model, _ = self.joints(load, "<joint name='yaw'/><joint name='pitch' axis='0 1 0'/>")
        assert model.link_names == ("a", "b/yaw", "b")
        assert model.joint_names == ("yaw", "pitch")
        assert model.links[1].body.mass == 0.0

    def test_joints_may_repeat_each_other_where_rotors_tell_them_apart(self, load):
        twice = "<joint name='one'{}/><joint name='two'{}/><joint name='slide' type='slide'/>"
        with pytest.raises(FileError, match=r"same way twice.*or give it an armature"):
            self.joints(load, twice.format("", ""))
        for rotors in ((" armature='.1'", ""), ("", " armature='.1'"), (" armature='.1'", " armature='.2'")):
            model, _ = self.joints(load, twice.format(*rotors))
            M = mass_matrix(model, model.random_state(np.random.default_rng(0)))
            assert np.linalg.eigvalsh(M)[0] > 1e-4

    def test_names_that_the_reader_makes_never_clash(self, load):
        text = "<joint name='joint1'/><joint axis='0 1 0'/>"
        other = f"<body name='b/joint1'>{BALL}<joint axis='1 0 0'/></body><body>{BALL}<joint/></body>"
        model, _ = self.joints(load, text + other)
        assert len(set(model.link_names)) == len(model.links) == 5
        assert model.joint_names == ("joint1", "joint2", "joint3", "joint4")

    def test_quarter_turns_are_exact(self, load):
        model, _ = load(f"<body name='a'><freejoint/>{BALL}<body euler='90 0 90'><joint/>{BALL}</body></body>")
        assert set(np.abs(model.joints[0].placement).ravel()) == {0.0, 1.0}


class TestInertia:
    @pytest.mark.parametrize(
        ("shape", "mass", "moments"),
        [
            ("type='sphere' size='.1' mass='2'", 2.0, [0.008] * 3),
            ("type='box' size='.1 .2 .3' mass='3'", 3.0, [0.13, 0.1, 0.05]),
            ("type='cylinder' size='.1 .3' mass='4'", 4.0, [0.13, 0.13, 0.02]),
            ("type='ellipsoid' size='.1 .2 .3' mass='5'", 5.0, [0.13, 0.1, 0.05]),
            ("type='sphere' size='.1' density='3'", 0.004 * np.pi, [0.004 * np.pi * 0.004] * 3),
            # a long thin capsule is a rod, a short one a ball
            ("type='capsule' size='1e-6 .5' mass='12'", 12.0, [1.0, 1.0, 6e-12]),
            ("type='capsule' size='.1 1e-9' mass='1'", 1.0, [0.004] * 3),
        ],
    )
    def test_shapes(self, load, shape, mass, moments):
        model, _ = load(f"<body name='a'><freejoint/><geom {shape}/></body>")
        body = model.links[0].body
        assert body.mass == pytest.approx(mass, rel=1e-14)
        np.testing.assert_allclose(body.inertia, np.diag(moments), rtol=1e-5, atol=1e-13)

    def test_a_capsule_is_a_cylinder_and_two_half_balls(self, load):
        r, h, rho = 0.2, 0.3, 1000.0
        model, _ = load(f"<body name='a'><freejoint/><geom type='capsule' size='{r} {h}'/></body>")
        rng = np.random.default_rng(0)
        points = rng.uniform(-1.0, 1.0, size=(400_000, 3)) * [r, r, r + h]
        depth = np.maximum(np.abs(points[:, 2]) - h, 0.0)
        inside = points[(points[:, :2] ** 2).sum(axis=1) + depth**2 < r**2]
        mass = rho * 8.0 * r * r * (r + h) * len(inside) / len(points)
        side = mass * (inside[:, 1:] ** 2).sum(axis=1).mean()
        body = model.links[0].body
        assert body.mass == pytest.approx(mass, rel=0.01)
        assert body.inertia[0, 0] == pytest.approx(side, rel=0.01)

    def test_the_error_of_a_mesh_names_file_and_way_out(self, load):
        mesh = "<asset><mesh name='m' file='m.stl'/></asset>"
        message = rejected(load, "<body name='a'><freejoint/><geom name='shell' type='mesh' mesh='m'/></body>", mesh)
        assert "<mesh name='m'>: the file 'm.stl' does not exist" in message
        assert "<inertial>" in message

    def test_a_mesh_geom_says_which(self, load):
        message = rejected(load, "<body name='a'><freejoint/><geom name='shell' type='mesh' size='.1'/></body>")
        assert "<geom name='shell'>: a geom of the type mesh says which" in message

    def test_a_mesh_on_what_never_moves_only_costs_its_mass(self, load):
        mesh = "<asset><mesh name='m' file='m.stl'/></asset>"
        scene = "<body name='table'><geom type='mesh' mesh='m'/></body>"
        model, messages = load(scene + f"<body name='b'><joint/>{BALL}</body>", mesh)
        assert model.mass == 1.0
        assert "without its mass" in messages[0]

    def test_unphysical_inertia_on_request(self, load):
        bad = "<body name='a'><freejoint/><inertial pos='0 0 0' mass='1' diaginertia='1 1 4'/></body>"
        assert 'physics="warn"' in rejected(load, bad)
        model, messages = load(bad, physics="warn")
        assert model.links[0].body.inertia[2, 2] == 4.0
        assert "triangle" in messages[0]


class TestWarnings:
    def test_one_for_each_kind(self, load):
        before = "<default><joint frictionloss='.1' damping='1 2'/></default>"
        _, messages = load(FREE.replace("</body></body>", f"<body><joint/>{BALL}</body></body></body>"), before)
        assert len(messages) == 1
        assert "only the linear part of 'damping' is read" in messages[0]
        assert "(2 times in the file)" in messages[0]

    def test_zero_is_not_worth_one(self, load):
        assert load(FREE, "<default><joint armature='0' damping='0' stiffness='0.0'/></default>")[1] == []

    def test_sections_that_are_not_kept_in_one_line(self, load):
        rope = "<tendon><fixed name='t'><joint joint='j' coef='1'/></fixed></tendon>"
        after = f"{rope}<actuator><general tendon='t'/></actuator><sensor><jointpos joint='j'/></sensor>"
        _, messages = load(f"{FREE}</worldbody>{after}<worldbody>")
        assert messages[0].endswith("checked and not kept: <sensor> (1)")
        assert "actuators are off unless a law commands them" in messages[1]
        assert len(messages) == 2


class TestIncludes:
    @pytest.fixture
    def folder(self, tmp_path):
        home = tmp_path / "robot"
        (home / "parts").mkdir(parents=True)
        (home / "robot.xml").write_text(
            f"<mujoco><worldbody><body name='a'><freejoint/>{BALL}<include file='parts/arm.xml'/></body></worldbody>"
            "</mujoco>"
        )
        return home

    def test_errors_and_warnings_name_the_file_that_holds_them(self, folder):
        arm = folder / "parts" / "arm.xml"
        arm.write_text(f"<mujoco>\n<body name='b'>\n<joint name='j' damping='1 1'/>{BALL}</body></mujoco>")
        model, (message,) = read(folder / "robot.xml")
        assert model.joint_names == ("j",)
        assert message.startswith(f"{arm}:3: <joint name='j'>")
        arm.write_text(f"<mujoco>\n<body name='b'>\n\n<joint name='j' axis='0 0 0'/>{BALL}</body></mujoco>")
        with pytest.raises(FileError) as caught:
            read(folder / "robot.xml")
        assert (caught.value.file, caught.value.line) == (str(arm), 4)

    def test_parts_may_lie_beside_the_robot_where_the_caller_says_so(self, folder):
        (folder / "parts" / "arm.xml").write_text(f"<mujoco><body name='b'><joint/>{BALL}</body></mujoco>")
        robot = folder / "robots" / "walker" / "robot.xml"
        robot.parent.mkdir(parents=True)
        robot.write_text((folder / "robot.xml").read_text().replace("parts/", "../../parts/"))
        model, (message,) = read(robot)
        assert message.endswith(f"are read, up to '{folder}': inside='{folder}' reads them without a remark")
        assert model.link_names == read(robot, inside=folder)[0].link_names
        assert (model.link_names, []) == (read(folder / "robot.xml")[0].link_names, read(robot, inside=folder)[1])
        deep = robot.parent / "a" / "b" / "robot.xml"  # four folders below what it includes
        deep.parent.mkdir(parents=True)
        deep.write_text((folder / "robot.xml").read_text().replace("parts/", "../../../../parts/"))
        with pytest.raises(FileError) as caught:
            read(deep)
        assert f'(load with inside="{folder}" to read files from there)' in str(caught.value)
        with pytest.raises(FileError, match="leads out"):
            read(robot, inside=folder / "robots")
        with pytest.raises(FallingCatError, match="a folder that the robot's file lies in"):
            read(robot, inside=folder / "parts")
        for wrong in (3, folder / "ghost", robot):
            with pytest.raises(FallingCatError, match="inside is a folder"):
                read(robot, inside=wrong)

    def test_no_option_is_offered_for_what_shares_no_folder(self, folder):
        (folder / "robot.xml").write_text(f"<mujoco><include file='{'../' * 40}proc/version'/></mujoco>")
        with pytest.raises(FileError, match=r"leads out of the robot's folder \(copy it there\)"):
            read(folder / "robot.xml")

    def test_defaults_reach_into_included_files(self, folder):
        (folder / "parts" / "arm.xml").write_text("<mujoco><include file='hand.xml'/></mujoco>")
        (folder / "parts" / "hand.xml").write_text("<mujoco><body name='hand'><joint/><geom mass='2'/></body></mujoco>")
        robot = (folder / "robot.xml").read_text()
        (folder / "robot.xml").write_text(robot.replace("<mujoco>", "<mujoco><default><geom size='.3'/></default>"))
        assert read(folder / "robot.xml")[0].mass == 3.0

    def test_a_symbolic_link_does_not_lead_out(self, folder, tmp_path):
        (tmp_path / "secret.xml").write_text("<mujoco/>")
        try:
            os.symlink(tmp_path / "secret.xml", folder / "parts" / "arm.xml")
        except OSError:
            pytest.skip("no symbolic links here")
        with pytest.raises(FileError, match="leads out of the robot's folder"):
            read(folder / "robot.xml")

    def test_a_circle(self, folder):
        (folder / "parts" / "arm.xml").write_text("<mujoco><include file='robot.xml'/></mujoco>")
        with pytest.raises(FileError, match="includes itself"):
            read(folder / "robot.xml")

    def test_a_long_row(self, folder):
        for i in range(20):
            inside = f"<include file='arm{i}.xml'/>"
            (folder / "parts" / f"arm{i - 1}.xml").write_text(f"<mujoco>{inside}</mujoco>")
        (folder / "parts" / "arm.xml").write_text("<mujoco><include file='arm0.xml'/></mujoco>")
        with pytest.raises(FileError, match="at most 10 deep"):
            read(folder / "robot.xml")

    def test_too_many(self, folder):
        for i in range(1001):
            (folder / f"{i}.xml").write_text("<mujoco/>")
        (folder / "parts" / "arm.xml").write_text(
            "<mujoco>" + "".join(f"<include file='{i}.xml'/>" for i in range(1001)) + "</mujoco>"
        )
        with pytest.raises(FileError, match="at most 1,000 files"):
            read(folder / "robot.xml")

    def test_what_is_no_robot(self, folder):
        (folder / "parts" / "arm.xml").write_text("<robot/>")
        with pytest.raises(FileError, match="root element of an included file"):
            read(folder / "robot.xml")


def test_a_long_chain(load):
    n = 2000
    link = "<body name='b{0}' pos='0 0 .1'><joint name='j{0}' axis='0 1 0'/><geom type='capsule' size='.01 .05'/>"
    chain = "".join(link.format(i) for i in range(n)) + "</body>" * n
    model, messages = load(f"<body name='a'><freejoint/>{BALL}{chain}</body>")
    assert model.n == n
    assert messages == []


def test_a_chain_that_is_too_long(load):
    assert "nested at most 3,000 deep" in rejected(load, "<body>" * 3000 + BALL + "</body>" * 3000)


@pytest.mark.parametrize(
    ("geom", "told"),
    [
        ('solref="0.01 1"', "'solref', 'solimp'"),
        ('condim="6"', "rolling friction"),
        ('solref="0.01 1" condim="4" contype="0" conaffinity="0"', ""),
        ('friction="0.3" condim="1" priority="2" margin="0.01"', ""),
    ],
)
def test_contact_parameters_that_do_not_act_are_reported(tmp_path, geom, told):
    path = tmp_path / "ball.xml"
    path.write_text(
        f'<mujoco><worldbody><body name="b"><freejoint/><geom size="0.1" {geom}/></body></worldbody></mujoco>'
    )
    _, messages = read(path)
    assert [told in message for message in messages] == ([True] if told else [])
