"""Models as MJCF: MuJoCo sees the same robot, and so does the reader."""

import warnings
from dataclasses import replace

import mujoco
import numpy as np
import pytest

import fallingcat as fc
from fallingcat.errors import ModelError
from fallingcat.io import FileWarning
from fallingcat.lie import SE2, SE3, Trivial
from fallingcat.model import (
    Body,
    Continuous,
    Couple,
    Fixed,
    Frame,
    Joint,
    Limits,
    Link,
    Mimic,
    Model,
    Passive,
    Pin,
    Prismatic,
    Revolute,
    Spherical,
    Weld,
    robots,
)
from fallingcat.model.actuator import Actuator
from fallingcat.model.force_elements import GravityCompensation
from fallingcat.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Mesh, Sphere

KINDS = ("revolute", "continuous", "prismatic", "spherical")
BODY = Body(2.0, np.array([0.1, 0.2, 0.3]), np.diag([1.0, 2.0, 2.5]))


def at(*xyz):
    H = np.eye(4)
    H[:3, 3] = xyz
    return H


def saved(model, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)
        fc.save(model, path)
        return fc.load(path, loops="close")


def close(a, b, tolerance=1e-12):
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(np.abs(b).max(initial=0.0), 1.0))


def check_mujoco_sees(model, path):
    """Mass matrix, bias and poses of MuJoCo at a random state."""
    peer = mujoco.MjModel.from_xml_path(str(path))
    peer.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data, state = mujoco.MjData(peer), model.random_state(np.random.default_rng(0))
    data.qpos, data.qvel = model.to_mujoco(state)
    mujoco.mj_forward(peer, data)
    M = np.zeros((peer.nv, peer.nv))
    mujoco.mj_fullM(peer, *((M, data.qM) if hasattr(data, "qM") else (data, M)))
    T = fc.exchange.mujoco(model).velocity_map(model.flatten(state)[0])
    close(T.T @ M @ T, fc.mass_matrix(model, state))
    poses = fc.forward_kinematics(model, state)
    for name in {peer.body(i).name for i in range(1, peer.nbody)} & {*model.link_names}:
        close(data.body(name).xpos, poses[name][:3, 3])
        close(data.body(name).xmat.reshape(3, 3), poses[name][:3, :3])
    for frame in model.frames:
        if frame.name in {peer.site(i).name for i in range(peer.nsite)}:
            close(data.site(frame.name).xpos, (poses[frame.link] @ frame.placement)[:3, 3])
    data.qvel = 0.0
    mujoco.mj_forward(peer, data)
    close(T.T @ data.qfrc_bias, fc.gravity_forces(model, state))


def check_same(model, again):
    """Every number of the model; frames are those of sites."""
    assert again.link_names == model.link_names
    for a, b in zip(model.links, again.links, strict=True):
        close(b.body.spatial_inertia, a.body.spatial_inertia)
        for ours, theirs in ((a.visuals, b.visuals), (a.collisions, b.collisions)):
            for s, t in zip(ours, theirs, strict=True):
                assert (type(s), s.color) == (type(t), t.color)
                close(t.placement, s.placement)
                assert all(getattr(s, name) == getattr(t, name) for name in s.sizes)
    for a, b in zip(model.joints, again.joints, strict=True):
        endless = isinstance(a.kind, Revolute) and a.limits.upper == np.inf  # MJCF has one type for both
        assert (a.name, a.parent, a.child) == (b.name, b.parent, b.child)
        assert type(b.kind) is (Continuous if endless else type(a.kind))
        assert (a.passive, replace(a.limits, velocity=np.inf)) == (b.passive, b.limits)
        np.testing.assert_array_equal(a.armature, b.armature)
        q = a.kind.group.random_coordinates(np.random.default_rng(1))
        close(b.transform(q), a.transform(q))
    assert again.actuators == model.actuators
    assert again.contact_exclusions == model.contact_exclusions
    close(again.gravity, model.gravity)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("base", [SE3(), Trivial()], ids=str)
def test_random_trees(seed, base, tmp_path):
    model = robots.random_tree(np.random.default_rng(seed), 6, kinds=KINDS, base=base, fixed=0.0)
    if not model.m:  # the fixed base of an MJCF file is the world
        model = model.reroot(model.link_names[0]) if model.link_names[0] == "world" else renamed(model)
    again = saved(model, tmp_path / "robot.xml")
    check_mujoco_sees(model, tmp_path / "robot.xml")
    check_same(model, again)


def renamed(model):
    """The same robot on the world, with its mass there gone: what does not move has none in MuJoCo."""
    base, joints = model.links[0].name, model.joints
    links = (Link("world"), *model.links[1:])
    return replace(
        model, links=links, joints=tuple(replace(j, parent="world") if j.parent == base else j for j in joints)
    )


@pytest.mark.parametrize("name", ["quadruped", "humanoid", "cat", "orbital_arm", "free_body"])
def test_sample_robots(name, tmp_path):
    model = getattr(robots, name)()
    again = saved(model, tmp_path / "robot.xml")
    check_mujoco_sees(model, tmp_path / "robot.xml")
    assert again.link_names == model.link_names
    assert again.mass == pytest.approx(model.mass, rel=1e-14)


def arm(**changes):
    """Everything that MJCF holds, on a robot of three joints."""
    shapes = (
        Sphere(0.1, placement=at(0, 0, 1)),
        Box((0.1, 0.2, 0.3), color=(1.0, 0.0, 0.0, 0.5)),
        Capsule(0.1, 0.3),
        Cylinder(0.1, 0.3),
        Ellipsoid((0.1, 0.2, 0.3)),
    )
    links = (
        Link("base", BODY, shapes[:2], shapes[1:4]),
        Link("upper", BODY, (), shapes[4:]),
        Link("lower", BODY),
        Link("hand", BODY),
    )
    turn, offset = fc.lie.SE3().exp(np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])), at(0.1, -0.2, 0.3)
    joints = (
        Joint(
            "shoulder",
            Revolute((0.0, 0.6, 0.8)),
            "base",
            "upper",
            turn,
            offset,
            Limits(-1.0, 2.0, effort=30.0),
            armature=0.2,
            passive=Passive(damping=0.5, friction=0.1, stiffness=3.0, rest=0.25),
        ),
        Joint("elbow", Prismatic((1.0, 0.0, 0.0)), "upper", "lower", at(0, 0, 1), limits=Limits(-1.0, 1.0)),
        Joint("wrist", Spherical(), "lower", "hand", turn, at(0, 0, 0.5), armature=0.1),
    )
    actuators = (
        Actuator("motor", "shoulder", gear=5.0, control_range=(-1.0, 1.0), force_range=(-3.0, 4.0)),
        Actuator("servo", "elbow", "position", kp=30.0, kv=2.0),
        Actuator("speed", "elbow", "velocity", kv=2.0),
        Actuator("any", "shoulder", "general", gain=2.0, bias=(0.1, 0.2, 0.3)),
    )
    frames = (Frame("tool", "hand", turn),)
    model = Model("arm", SE3(), links, joints, (0.0, 1.0, -3.0), frames, (), actuators, None, (("base", "upper"),))
    return replace(model, **changes)


def test_everything_that_the_format_holds(tmp_path):
    model = arm()
    again = saved(model, tmp_path / "arm.xml")
    check_mujoco_sees(model, tmp_path / "arm.xml")
    check_same(model, again)


def test_frames_keyframes_and_starts_come_back(tmp_path):
    model = arm()
    state = model.random_state(np.random.default_rng(5))
    model = model.add_keyframes(home=state).start_at(model.state(position=[1.0, 2.0, 3.0]))
    model = replace(model, force_elements=(GravityCompensation("lift", "upper", 1.5, model.links[1].body.center),))
    again = saved(model, tmp_path / "arm.xml")
    (frame,), (ours,) = again.frames, model.frames
    assert (frame.name, frame.link) == (ours.name, ours.link)
    close(frame.placement, ours.placement)
    for a, b in zip(again.keyframes["home"], state, strict=True):
        close(a, b)
    close(again.neutral().pose, model.neutral().pose)
    (lift,) = again.force_elements
    assert (lift.place, lift.mass) == ("upper", pytest.approx(1.5, rel=1e-15))


def test_joints_of_one_body(tmp_path):
    """Massless links between joints are the joints of one body, in its own axes."""
    turn = fc.lie.SE3().exp(np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]))
    joints = (
        Joint("yaw", Revolute((0.0, 0.0, 1.0)), "base", "hip/yaw", turn, limits=Limits(-1.0, 1.0)),
        Joint("roll", Revolute((1.0, 0.0, 0.0)), "hip/yaw", "hip", turn, at(0, 0.3, 0), limits=Limits(-1.0, 1.0)),
    )
    model = Model("hip", SE3(), (Link("base", BODY), Link("hip/yaw"), Link("hip", BODY)), joints)
    again = saved(model, tmp_path / "hip.xml")
    check_mujoco_sees(model, tmp_path / "hip.xml")
    assert mujoco.MjModel.from_xml_path(str(tmp_path / "hip.xml")).nbody == 3
    assert again.link_names == model.link_names
    state = model.random_state(np.random.default_rng(3))
    close(fc.mass_matrix(again, state), fc.mass_matrix(model, state))


def test_loops_and_mimics(tmp_path):
    model = arm()
    loops = (
        Pin("rod", "upper", "hand", np.array([0.1, 0.0, 0.0]), np.array([0.0, 0.2, 0.0])),
        Weld("plate", "hand", None, at(0.0, 0.0, 1.0)),
        Couple("gear", "shoulder", "elbow", (0.1, 2.0, 0.5)),
    )
    again = saved(model.close_loops(*loops), tmp_path / "loops.xml")
    mujoco.MjModel.from_xml_path(str(tmp_path / "loops.xml"))
    by_name = {loop.name: loop for loop in again.loops}
    close(by_name["rod"].first_point, [0.1, 0.0, 0.0])
    close(by_name["rod"].second_point, [0.0, 0.2, 0.0])
    close(by_name["plate"].placement, at(0.0, 0.0, 1.0))
    assert by_name["gear"].coefficients[:3] == pytest.approx((0.1, 2.0, 0.5), abs=1e-15)
    first, second, third = model.joints
    follower = replace(second, mimic=Mimic("shoulder", 0.5, 0.1))
    again = saved(replace(model, joints=(first, follower, third), actuators=()), tmp_path / "mimic.xml")
    (loop,) = again.loops
    assert (loop.joint, loop.other, loop.coefficients[:2]) == ("elbow", "shoulder", (0.1, 0.5))


def test_the_mass_of_a_fixed_base_is_kept(tmp_path):
    links = (Link("world", BODY), Link("arm", BODY))
    joint = Joint("j", Revolute((0.0, 0.0, 1.0)), "world", "arm", limits=Limits(-1.0, 1.0))
    model = Model("arm", Trivial(), links, (joint,), frames=(Frame("stand", "world", at(1, 0, 0)),))
    again = saved(model, tmp_path / "arm.xml")
    assert again.mass == model.mass
    close(again.links[0].body.spatial_inertia, model.links[0].body.spatial_inertia)
    assert [frame.name for frame in again.frames] == ["stand"]


def test_meshes(tmp_path):
    corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
    (tmp_path / "corner.obj").write_text(corners + "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    mesh = Mesh("corner.obj", str(tmp_path), (0.1, 0.2, 0.3), placement=at(0, 0, 1))
    dae = Mesh("cube.dae", str(tmp_path))
    model = Model("m", SE3(), (Link("a", BODY, (mesh, dae), (mesh,)),))
    with pytest.warns(FileWarning, match=r"not from 'cube\.dae': left out"):
        fc.save(model, tmp_path / "m.xml")
    (shape,) = fc.load(tmp_path / "m.xml").links[0].collisions
    assert (shape.scale, shape.path) == (mesh.scale, "corner.obj")
    assert mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml")).ngeom == 1


def test_what_the_format_does_not_hold(tmp_path):
    with pytest.raises(ModelError, match=r"moves in SE\(2\), and MJCF has free and fixed bases"):
        fc.save(replace(arm(), base=SE2()), tmp_path / "no.xml")
    tree = robots.random_tree(np.random.default_rng(0), 1, kinds=["planar"])
    with pytest.raises(ModelError, match=r"'planar', which MJCF does not have"):
        fc.save(tree, tmp_path / "no.xml")
    bare = Model("m", SE3(), (Link("a", BODY), Link("b")), (Joint("j", Revolute((0.0, 0.0, 1.0)), "a", "b"),))
    with pytest.raises(ModelError, match="link 'b' moves and has no mass"):
        fc.save(bare, tmp_path / "no.xml")
    welded = replace(bare, joints=(Joint("j", Fixed(), "a", "b"),))
    assert fc.load(saved_path(welded, tmp_path), fixed="keep").link_names == ("a", "b")
    limited = replace(arm().joints[0], limits=Limits(-1.0, 1.0, velocity=3.0))
    with pytest.warns(FileWarning, match="no limits of speed"):
        fc.save(arm(joints=(limited, *arm().joints[1:])), tmp_path / "fast.xml")


def saved_path(model, folder):
    fc.save(model, folder / "welded.xml")
    return folder / "welded.xml"
