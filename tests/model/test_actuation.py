"""What is driven: by name, as mixes, as a matrix, from files; never the base."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.errors import FileError, ModelError

MJCF = """<mujoco><worldbody><body name="trunk"><freejoint/><geom size="0.1" mass="1"/>
<body name="a"><joint name="hip" axis="0 1 0"/><geom size="0.1" mass="1"/>
<body name="b"><joint name="knee" axis="0 1 0"/><geom size="0.1" mass="1"/>
<body name="c"><joint name="toe" axis="0 1 0"/><geom size="0.1" mass="1"/></body></body></body></body></worldbody>
<actuator><motor joint="toe"/><motor joint="hip" gear="7"/><position joint="hip" kp="3"/></actuator></mujoco>"""


@pytest.mark.filterwarnings("ignore::fallingcat.FileWarning")
def test_joints_with_actuators_are_driven_and_without_any_all_are(tmp_path):
    path = tmp_path / "leg.xml"
    path.write_text(MJCF)
    leg = fc.load(path)
    assert np.array_equal(leg.actuation, np.eye(9)[[6, 8]])
    fc.save(leg, tmp_path / "leg.toml")
    assert np.array_equal(fc.load(tmp_path / "leg.toml").actuation, leg.actuation)
    dog = fc.robots.quadruped()
    assert np.array_equal(dog.actuation, np.hstack([np.zeros((12, 6)), np.eye(12)]))
    with pytest.raises(ValueError, match="read-only"):
        leg.actuation[0, 0] = 1.0


@pytest.mark.filterwarnings("ignore::fallingcat.FileWarning")
def test_joints_of_actuators_that_are_not_read_are_driven_too(tmp_path):
    path = tmp_path / "leg.xml"
    servo = '<general joint="knee" dyntype="user"/></actuator>'
    path.write_text(MJCF.replace("</actuator>", servo))
    leg = fc.load(path)
    assert [actuator.joint for actuator in leg.actuators] == ["toe", "hip", "hip"]
    assert np.array_equal(leg.actuation, np.eye(9)[6:])
    fc.save(leg, tmp_path / "leg.toml")
    assert np.array_equal(fc.load(tmp_path / "leg.toml").actuation, leg.actuation)
    mujoco = pytest.importorskip("mujoco")
    peer = mujoco.MjModel.from_xml_string(MJCF.replace("</actuator>", servo))
    assert np.array_equal(fc.from_mujoco_model(peer).actuation, np.eye(9)[6:])


def test_a_follower_is_driven_through_its_leader():
    joints = [
        fc.Joint("a", fc.joints.Revolute((0, 0, 1.0)), "l0", "l1"),
        fc.Joint("b", fc.joints.Revolute((0, 0, 1.0)), "l1", "l2", mimic=fc.model.Mimic("a", 2.0)),
    ]
    links = tuple(fc.Link(f"l{i}", fc.Body(1.0, np.ones(3), np.eye(3))) for i in range(3))
    finger = fc.Model("finger", fc.lie.Trivial(), links, joints, actuators=(fc.model.Actuator("m", "b"),))
    assert finger.actuation.tolist() == [[1.0]]
    with pytest.raises(ModelError, match="'b' is not driven by itself"):
        finger.drive(["b"])


def test_names_mixes_and_matrices_say_the_same(tmp_path):
    arm = fc.robots.planar_arm(fc.lie.SE3())
    S = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, -0.5]])
    driven = [arm.drive(S), arm.drive(["joint1", {"joint2": 1.0, "joint3": -0.5}])]
    fc.save(driven[1], tmp_path / "arm.toml")
    for robot in (*driven, fc.load(tmp_path / "arm.toml")):
        assert np.array_equal(robot.actuation, np.hstack([np.zeros((2, 6)), S]))
    assert driven[0].drive(None).actuation.shape == (3, 9)
    assert arm.drive([]).actuation.shape == (0, 9)
    ball = fc.robots.random_tree(np.random.default_rng(3), 4, kinds=("spherical",))
    name = ball.joint_names[0]
    nv = ball.joints[ball.joint_index(name)].nv
    assert np.array_equal(ball.drive([name]).actuation, np.eye(ball.nv)[ball.m : ball.m + nv])


def test_drives_follow_their_joints_through_edits():
    dog = fc.robots.quadruped()
    mixed = dog.drive(["front_left_hip", {"rear_left_hip": 1.0, "rear_left_knee": 2.0}, "rear_right_roll"])
    again = mixed.reroot("rear_right_foot" if "rear_right_foot" in dog.link_names else dog.link_names[-1]).merge_fixed()
    for robot in (mixed, again):
        at = {name: i for i, name in enumerate(robot.rate_joints)}
        S = robot.actuation[:, robot.m :]
        assert [S[0, at["front_left_hip"]], S[1, at["rear_left_knee"]], S[2, at["rear_right_roll"]]] == [1.0, 2.0, 1.0]
        assert np.abs(S).sum() == 5.0
    less = mixed.lock(["rear_left_knee", "rear_right_roll"])
    at = {name: i for i, name in enumerate(less.rate_joints)}
    assert np.array_equal(less.actuation[:, less.m :], np.eye(less.n)[[at["front_left_hip"], at["rear_left_hip"]]])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["joint9"], "there is no joint 'joint9'"),
        ("joint1", "list of names"),
        (["joint1", "joint1"], "do the same"),
        ([{"joint1": 0.0}], "not zero"),
        ([{"joint1": np.nan}], "not zero"),
        ([{}], "mix of joints"),
        ([[("joint1", 1.0), ("joint1", 2.0)]], "twice"),
        ([3], "mix of joints"),
        (np.ones((2, 3)), "do the same"),
        (np.ones((2, 2)), r"shape \(k, 3\)"),
        (np.full((1, 3), np.inf), "finite"),
        (np.zeros((1, 3)), "mix of joints"),
        (1.0, "list of names"),
    ],
)
def test_what_is_no_drive_is_refused_by_name(given, said):
    with pytest.raises(ModelError, match=said):
        fc.robots.planar_arm().drive(given)


def test_a_file_with_unknown_drives_is_refused(tmp_path):
    path = tmp_path / "arm.toml"
    fc.save(fc.robots.planar_arm(), path)
    path.write_text('driven = ["joint1", "elbow"]\n' + path.read_text())
    with pytest.raises(FileError, match=r"driven.*there is no joint 'elbow'"):
        fc.load(path)
