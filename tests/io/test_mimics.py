"""Mimic joints of files: they follow, as loops if asked, free if asked; what cannot follow is said."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import fallingcat as fc
from fallingcat import cli
from fallingcat.errors import FileError
from fallingcat.io import read

pin = pytest.importorskip("pinocchio")

LINK = "<link name='{}'><inertial><origin xyz='0.1 0.02 0.03'/><mass value='1'/>"
LINK += "<inertia ixx='.1' iyy='.1' izz='.1' ixy='0' ixz='0' iyz='0'/></inertial></link>"
LIMIT = "<limit lower='{}' upper='{}' effort='1' velocity='3'/>"


def hand(*joints):
    """A palm with fingers: (name, type, mimic, limits)."""
    text = [LINK.format("palm")]
    for i, (name, kind, mimic, limits) in enumerate(joints):
        text += [
            LINK.format(f"link_{name}"),
            f"<joint name='{name}' type='{kind}'><parent link='palm'/><child link='link_{name}'/>",
            f"<origin xyz='0 {0.1 * i} 0' rpy='0.3 {i} 0'/>{mimic}",
            "" if kind == "fixed" else f"<axis xyz='0 0.6 0.8'/>{LIMIT.format(*limits)}",
            "</joint>",
        ]
    return f"<robot name='hand'>{''.join(text)}</robot>"


def mimic(leader, ratio=1.0, offset=0.0):
    return f"<mimic joint='{leader}' multiplier='{ratio}' offset='{offset}'/>"


WIDE = (-2.0, 2.0)
HAND = hand(
    ("finger", "revolute", "", WIDE),
    ("index", "revolute", mimic("finger", -0.5, 0.2), WIDE),
    ("slide", "prismatic", mimic("finger", 0.1, -0.05), WIDE),
)


@pytest.fixture
def load(tmp_path):
    def from_text(text, **options):
        path = tmp_path / "hand.urdf"
        path.write_text(text)
        return read(path, **options)

    return from_text


def test_mimic_joints_follow_without_a_word(load):
    model, said = load(HAND)
    assert (model.n, model.joint_names, model.loops, said) == (1, ("finger",), (), [])
    assert [joint.mimic for joint in model.joints] == [
        None, fc.model.Mimic("finger", -0.5, 0.2), fc.model.Mimic("finger", 0.1, -0.05),
    ]  # fmt: skip


def test_open_and_closed_loops_give_every_joint_a_coordinate(load):
    free, said = load(HAND, loops="open")
    assert (free.n, free.loops) == (3, ())
    assert "'index' does not follow 'finger'" in said[0]
    closed, said = load(HAND, loops="close")
    assert (closed.n, said, [loop.joints for loop in closed.loops]) == (
        3, [], [("index", "finger"), ("slide", "finger")],
    )  # fmt: skip
    model, rng = load(HAND)[0], np.random.default_rng(0)
    state = model.random_state(rng)
    every = closed.state(
        state.pose, [j.coordinates(state.joints)[0] for j in model.joints], state.twist, state.rates * [1.0, -0.5, 0.1]
    )
    forces = rng.normal(size=model.nv)
    found = fc.forward_dynamics(model, state, forces)
    wanted = fc.constraints.forward_dynamics(closed, every, np.append(forces, [0.0, 0.0])).acceleration
    np.testing.assert_allclose(wanted, np.append(found, found[6] * np.array([-0.5, 0.1])), rtol=1e-12, atol=1e-12)


def test_the_same_robot_as_pinocchio_with_mimic(load):
    model = load(HAND)[0]
    theirs = pin.buildModelFromXML(HAND, pin.JointModelFreeFlyer(), mimic=True)
    assert (model.nq, model.nv) == (theirs.nq, theirs.nv)
    for peer in (model, fc.from_pinocchio_model(theirs)):
        state, exchange = peer.random_state(np.random.default_rng(1)), fc.exchange.pinocchio(peer, theirs)
        (q, v), data, order = exchange.to(*peer.flatten(state)), theirs.createData(), exchange.v_order
        M = pin.crba(theirs, data, q)
        M = np.triu(M) + np.triu(M, 1).T
        np.testing.assert_allclose(fc.mass_matrix(peer, state)[np.ix_(order, order)], M, rtol=1e-12, atol=1e-13)
        a = np.arange(7.0)
        forces = fc.inverse_dynamics(peer, state, a)
        np.testing.assert_allclose(forces[order], pin.rnea(theirs, data, q, v, a[order]), rtol=1e-12, atol=1e-12)
        pin.framesForwardKinematics(theirs, data, q)
        for name in ("link_finger", "link_index", "link_slide"):
            frame = theirs.getFrameId(name, pin.FrameType.BODY)
            np.testing.assert_allclose(fc.link_pose(peer, state, name), data.oMf[frame].homogeneous, atol=1e-12)
            J = pin.computeFrameJacobian(theirs, data, q, frame, pin.LOCAL)
            np.testing.assert_allclose(fc.jacobian(peer, state, name)[:, order], J, atol=1e-12)


def test_states_go_to_a_pinocchio_model_in_which_followers_are_free(load):
    model, free = load(HAND)[0], pin.buildModelFromXML(HAND, pin.JointModelFreeFlyer())
    exchange, state = fc.exchange.pinocchio(model, free), model.random_state(np.random.default_rng(2))
    q, v = exchange.to(*model.flatten(state))
    assert (len(q), len(v)) == (free.nq, free.nv)
    back = exchange.from_(np.tile(q, (3, 1)), np.tile(v, (3, 1)))
    np.testing.assert_allclose(back[0], np.tile(model.flatten(state)[0], (3, 1)), atol=1e-15)
    np.testing.assert_array_equal(back[1], np.tile(model.flatten(state)[1], (3, 1)))
    M, data, T = np.zeros(0), free.createData(), exchange.velocity_map(model.flatten(state)[0])
    M = pin.crba(free, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    np.testing.assert_allclose(T.T @ M @ T, fc.mass_matrix(model, state), rtol=1e-12, atol=1e-13)
    q[free.joints[free.getJointId("index")].idx_q] += 0.1
    with pytest.raises(fc.ModelError, match=r"'index', which follows 'finger', is 0\.1 away"):
        exchange.from_(q, v)
    with pytest.raises(fc.ModelError, match="'index' follows another, and here it does not"):
        fc.exchange.pinocchio(
            load(HAND, loops="close")[0], pin.buildModelFromXML(HAND, pin.JointModelFreeFlyer(), mimic=True)
        )


def test_chains_end_at_the_one_that_leads(load):
    model, said = load(
        hand(
            ("c", "revolute", mimic("b", 2.0, 0.1), WIDE),
            ("b", "continuous", mimic("a", -3.0, 0.2), WIDE),
            ("a", "continuous", "", WIDE),
        )
    )
    assert (model.joint_names, said) == (("a",), [])
    assert model.joints[0].mimic == fc.model.Mimic("a", -6.0, 0.5)
    assert model.limits[0].upper == pytest.approx((-2.0 - 0.5) / -6.0)  # those of c


@pytest.mark.parametrize(("leader", "ratio"), [("weld", 2.0), ("finger", 0.0)])
def test_what_mimics_something_still_is_welded_there(load, leader, ratio):
    model, said = load(
        hand(
            ("weld", "fixed", "", WIDE),
            ("finger", "revolute", "", WIDE),
            ("index", "revolute", mimic(leader, ratio, 0.4), WIDE),
            ("ring", "revolute", mimic("index", 0.5), WIDE),
        ),
        fixed="keep",
    )
    assert model.joint_names == ("finger",)
    assert "mimics what does not move, and is fixed (and 1 more" in said[0]
    free = load(hand(("index", "revolute", "", WIDE), ("ring", "revolute", "", WIDE)))[0]
    for name, at in (("index", 0.4), ("ring", 0.2)):
        turn = free.joints[free.joint_index(name)].kind.transform(np.array([at]))[:3, :3]
        R = model.joints[model.joint_index(name)].placement[:3, :3]
        i = {"index": 2, "ring": 3}[name]
        placed = fc.lie.SE3().exp(np.zeros(6))[:3, :3] @ _rpy(0.3, i, 0.0) @ turn
        np.testing.assert_allclose(R, placed, atol=1e-15)


def _rpy(roll, pitch, yaw):
    return fc.lie.charts.EulerZYX().to_matrix(np.array([yaw, pitch, roll]))


def test_limits_that_leave_no_room_are_those_of_nobody(load):
    """As in Robotiq's 2F-85: the follower goes from 0 to 0.8 where it would have to go from 0 to -0.8."""
    fingers = [("a", "revolute", "", (0.0, 0.8)), ("b", "revolute", mimic("a", -1.0), (0.0, 0.88))]
    model, said = load(hand(*fingers))
    assert (model.limits[0].lower, model.limits[0].upper) == (0.0, 0.8)
    assert "its limits leave 'a', which it mimics, no room, and are ignored" in said[0]
    model, said = load(hand(fingers[0], ("b", "revolute", mimic("a", 2.0, 0.1), (0.0, 0.9))))
    assert (model.limits[0].lower, model.limits[0].upper, said) == (0.0, 0.4, [])
    assert model.limits[0].velocity == 1.5
    for _ in range(20):
        q = model.random_state(np.random.default_rng(_)).joints
        assert 0.0 <= q[0] <= 0.4
        assert -1e-15 <= model.joints[1].coordinates(q)[0] <= 0.9 + 1e-15


@pytest.mark.parametrize(
    ("joints", "message"),
    [
        ([("a", "revolute", mimic("ghost"), WIDE)], "'ghost', which is to be mimicked, does not exist"),
        ([("a", "revolute", mimic("b"), WIDE), ("b", "revolute", mimic("a"), WIDE)], "in a circle"),
        ([("a", "revolute", mimic("a"), WIDE)], "in a circle"),
    ],
)
@pytest.mark.parametrize("loops", [None, "open", "close"])
def test_what_is_refused(load, joints, message, loops):
    with pytest.raises(FileError, match=message):
        load(hand(*joints), loops=loops)


@pytest.mark.parametrize("loops", [None, "open", "close"])
def test_joints_of_several_coordinates_neither_lead_nor_follow(load, loops):
    joints = [("a", "planar", "", WIDE), ("b", "revolute", mimic("a"), WIDE), ("c", "floating", mimic("b"), WIDE)]
    model, said = load(hand(*joints), loops=loops)
    assert (model.n, model.loops) == (10, ())
    assert any("a planar joint cannot be mimicked" in text for text in said)
    assert any("a free joint cannot mimic" in text for text in said)


@pytest.mark.parametrize("suffix", [".urdf", ".toml"])
def test_saved_robots_still_follow(load, tmp_path, suffix):
    model = load(HAND)[0]
    fc.save(model, tmp_path / f"again{suffix}")
    again, said = read(tmp_path / f"again{suffix}")
    assert ([joint.mimic for joint in again.joints], said) == ([joint.mimic for joint in model.joints], [])
    assert again.limits == model.limits
    assert read(tmp_path / f"again{suffix}", loops="open")[0].n == 3
    assert len(read(tmp_path / f"again{suffix}", loops="close")[0].loops) == 2


def test_wrong_followers_of_a_toml_file_are_named(load, tmp_path):
    fc.save(load(HAND)[0], path := tmp_path / "hand.toml")
    text = path.read_text()
    for wrong, message in (
        (text.replace('joint = "finger"', 'joint = "pinky"'), r"\[\[joint\]\] 'index': the joint 'pinky'"),
        (text.replace("ratio = -0.5", "ration = 2"), "there is no key 'ration'; do you mean 'ratio'"),
    ):
        path.write_text(wrong)
        with pytest.raises(FileError, match=message):
            fc.load(path)


def test_inspect_says_who_follows_whom(load, tmp_path):
    load(HAND)
    run = CliRunner().invoke(cli.app, ["inspect", str(tmp_path / "hand.urdf")])
    said = " ".join(run.stdout.split())
    assert "7 = 6 of the base + 1 of 1 joint, 2 others follow" in said
    assert "-0.5 finger +0.2" in said
    run = CliRunner().invoke(cli.app, ["inspect", str(tmp_path / "hand.urdf"), "--json"])
    joints = json.loads(run.stdout)["joints"]
    assert [(j["degrees_of_freedom"], j["mimic"]) for j in joints[:2]] == [
        (1, None), (0, {"leader": "finger", "ratio": -0.5, "offset": 0.2}),
    ]  # fmt: skip


def test_derivatives_of_steps_say_which_joint_to_lock(load):
    """The advice alone, ``target='jax'``, is no way for optimal control, which takes those of the CPU."""
    model, _ = load(HAND)
    with pytest.raises(fc.FallingCatError, match=r"or for optimal control lock 'finger' \(model\.lock\)"):
        fc.simulation.step_derivatives(model, dt=1e-3)(*model.flatten(model.neutral()), np.zeros(1))
    assert not any(joint.mimic for joint in model.lock(["finger"]).joints)


def test_followers_that_are_free_in_pinocchio_are_named(load):
    """There the mass matrix is that of another mechanism: by up to 5 % of hands, and nothing said so."""
    model, _ = load(HAND)
    state = model.neutral()
    with pytest.warns(UserWarning, match=r"free in the Pinocchio model: 'index', 'slide'; .* mimic=True"):
        model.to_pinocchio(state, pin.buildModelFromXML(HAND, pin.JointModelFreeFlyer()))
    q, v = model.to_pinocchio(state, pin.buildModelFromXML(HAND, pin.JointModelFreeFlyer(), mimic=True))
    assert (len(q), len(v)) == (model.nq, model.nv)
