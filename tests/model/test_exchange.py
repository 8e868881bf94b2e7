"""States in the conventions of other libraries, against MuJoCo and Pinocchio themselves."""

from types import SimpleNamespace

import mujoco
import numpy as np
import pinocchio
import pytest
from hypothesis import given, settings
from laws import generators
from link_sums import link_poses, link_twists, mass_matrix, potential_energy

import fallingcat as fc
from fallingcat.errors import ModelError
from fallingcat.lie import SE3, Trivial
from fallingcat.lie.rotations import embed, homogeneous, matrix_from_quaternion
from fallingcat.model import (
    Body,
    Continuous,
    Free,
    Joint,
    Link,
    Model,
    Prismatic,
    Revolute,
    Spherical,
    exchange,
    robots,
)
from fallingcat.model.robots import random_tree

MJCF = """
<mujoco>
  <compiler angle="radian"/>
  <option gravity="0 0 -9.81"><flag energy="enable"/></option>
  <worldbody>
    <body name="base">
      <freejoint/>
      <inertial pos="0.1 0 0.2" mass="3" fullinertia="0.3 0.2 0.25 0.01 0.02 -0.03"/>
      <body name="arm" pos="0.3 -0.1 0.2" quat="0.5 0.5 -0.5 0.5">
        <joint type="hinge" axis="0 0.6 0.8"/>
        <inertial pos="0 0.1 0" mass="1" diaginertia="0.1 0.1 0.05"/>
        <body name="hand" pos="0 0 0.4">
          <joint type="ball"/>
          <inertial pos="0 0 0.05" mass="0.5" diaginertia="0.01 0.02 0.02"/>
        </body>
      </body>
      <body name="slider" pos="-0.3 0 0">
        <joint type="slide" axis="1 0 0"/>
        <inertial pos="0 0 0" mass="0.7" diaginertia="0.01 0.02 0.02"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def body(mass, center, xx, yy, zz, xy=0.0, xz=0.0, yz=0.0):
    return Body(mass, np.array(center), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))


def twin() -> Model:
    """The robot of `MJCF`, by hand."""
    links = (
        Link("base", body(3.0, (0.1, 0, 0.2), 0.3, 0.2, 0.25, 0.01, 0.02, -0.03)),
        Link("arm", body(1.0, (0, 0.1, 0), 0.1, 0.1, 0.05)),
        Link("hand", body(0.5, (0, 0, 0.05), 0.01, 0.02, 0.02)),
        Link("slider", body(0.7, (0, 0, 0), 0.01, 0.02, 0.02)),
    )
    turned = matrix_from_quaternion(np.array([0.5, -0.5, 0.5, 0.5]))
    joints = (
        Joint("hinge", Revolute((0.0, 0.6, 0.8)), "base", "arm", homogeneous(turned, np.array([0.3, -0.1, 0.2]))),
        Joint("ball", Spherical(), "arm", "hand", homogeneous(np.eye(3), np.array([0.0, 0.0, 0.4]))),
        Joint("slide", Prismatic((1.0, 0.0, 0.0)), "base", "slider", homogeneous(np.eye(3), np.array([-0.3, 0, 0]))),
    )
    return Model("twin", SE3(), links, joints)


def close(a, b, tolerance=1e-12):
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.fixture(scope="module")
def mujoco_model():
    return mujoco.MjModel.from_xml_string(MJCF)


@settings(max_examples=20)
@given(rng=generators())
def test_mujoco_sees_the_same_robot_in_the_same_state(mujoco_model, rng):
    model, data = twin(), mujoco.MjData(mujoco_model)
    state = model.random_state(rng)
    data.qpos, data.qvel = model.to_mujoco(state)
    mujoco.mj_forward(mujoco_model, data)
    poses, twists = link_poses(model, state), link_twists(model, state)
    for name in model.link_names:
        i = mujoco_model.body(name).id
        close(data.xpos[i], poses[name][:3, 3])
        close(matrix_from_quaternion(np.roll(data.xquat[i], -1)), poses[name][:3, :3])
        velocity = np.zeros(6)  # [w; v] at the body frame, in its own axes
        mujoco.mj_objectVelocity(mujoco_model, data, mujoco.mjtObj.mjOBJ_XBODY, i, velocity, 1)
        close(np.roll(velocity, 3), twists[name])
    close(data.energy[0], potential_energy(model, state))
    close(data.energy[1], 0.5 * state.velocity @ mass_matrix(model, state) @ state.velocity)


@given(rng=generators())
def test_there_and_back(rng):
    kinds = ["revolute", "continuous", "prismatic", "spherical", "free", "fixed"]
    model = random_tree(rng, 5, kinds=kinds, base=Trivial() if rng.random() < 0.2 else None)
    state = model.random_state(rng)
    back = model.from_mujoco(*model.to_mujoco(state))
    for a, b in zip(back, state, strict=True):
        close(a, b)
    qpos, qvel = model.to_mujoco(state)
    again = model.to_mujoco(model.from_mujoco(qpos, qvel))
    close(again[1], qvel)
    close(model.from_mujoco(*again).joints, state.joints)


def test_quaternions_are_wxyz_and_linear_velocities_of_the_world():
    model = robots.free_body()
    turn = embed(matrix_from_quaternion(np.array([0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)])))  # 90 degrees about z
    qpos, qvel = model.to_mujoco(model.state(pose=turn, twist=[1.0, 0.0, 0.0, 0.0, 2.0, 0.0]))
    close(qpos, [0.0, 0.0, 0.0, np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])
    close(qvel, [0.0, 1.0, 0.0, 0.0, 2.0, 0.0])


def test_a_free_joint_inside_the_tree_counts_too():
    model = Model("m", Trivial(), tuple(map(Link, "ab")), (Joint("j", Free(), "a", "b"),))
    state = model.random_state(np.random.default_rng(0))
    qpos, qvel = model.to_mujoco(state)
    R = matrix_from_quaternion(state.joints[3:])
    close(qpos[3:], np.roll(state.joints[3:], 1), 0.0)
    close(qvel, np.concatenate([R @ state.rates[:3], state.rates[3:]]))


def test_the_givers_arrays_are_left_alone():
    model = robots.free_body()
    qpos, qvel = model.to_mujoco(model.random_state(np.random.default_rng(0)))
    kept = qpos.copy(), qvel.copy()
    model.from_mujoco(qpos, qvel)
    close((*qpos, *qvel), (*kept[0], *kept[1]), 0.0)


def test_qvel_may_be_left_out():
    model = robots.quadruped()
    qpos, _ = model.to_mujoco(model.random_state(np.random.default_rng(0)))
    close(model.from_mujoco(qpos).velocity, np.zeros(18), 0.0)


def test_what_mujoco_does_not_know():
    with pytest.raises(ModelError, match=r"MuJoCo has no joint with the group SE\(2\)"):
        robots.revolute_hopper().to_mujoco(robots.revolute_hopper().state())
    with pytest.raises(ModelError, match=r"q and v \(MuJoCo\) of 'free_body' must have shapes"):
        robots.free_body().from_mujoco(np.zeros(6))
    with pytest.raises(ModelError, match="quaternion"):
        robots.free_body().from_mujoco(np.zeros(7))


def test_many_states_at_once():
    model, rng = twin(), np.random.default_rng(0)
    states = [model.random_state(rng) for _ in range(6)]
    q, v = (np.array(x).reshape(2, 3, -1) for x in zip(*(model.flatten(s) for s in states), strict=True))
    theirs = exchange.mujoco(model)
    qpos, qvel = theirs.to(q, v)
    for k, state in enumerate(states):
        one = model.to_mujoco(state)
        close(qpos.reshape(6, -1)[k], one[0], 1e-15)
        close(qvel.reshape(6, -1)[k], one[1], 1e-15)
    for a, b in zip(theirs.from_(qpos, qvel), (q, v), strict=True):
        close(a, b)


def test_the_mass_matrix_travels_by_the_velocity_map(mujoco_model):
    model, data = twin(), mujoco.MjData(mujoco_model)
    state = model.random_state(np.random.default_rng(1))
    data.qpos, data.qvel = model.to_mujoco(state)
    mujoco.mj_forward(mujoco_model, data)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(mujoco_model, data, M)
    T = exchange.mujoco(model).velocity_map(model.flatten(state)[0])
    close(T.T @ M @ T, fc.mass_matrix(model, state))
    close(T @ state.velocity, data.qvel)


@pytest.mark.parametrize(("length", "good"), [(1.0 + 9e-3, True), (1.0 - 9e-3, True), (1.02, False), (0.0, False)])
def test_quaternions_are_brought_to_length_one_within_a_hundredth(length, good):
    model, theirs = robots.free_body(), exchange.ros(robots.free_body(), [])
    q = np.concatenate([np.zeros(3), length * np.array([0.5, -0.5, 0.5, 0.5])])
    if not good:
        with pytest.raises(ModelError, match="a quaternion of length"):
            theirs.from_(q)
        return
    close(theirs.from_(q)[0][3:], [0.5, -0.5, 0.5, 0.5])
    ours = np.concatenate([np.zeros(3), length * np.array([0.5, 0.5, -0.5, 0.5])])
    close(model.unflatten(ours).pose, model.unflatten(np.array([0.0, 0.0, 0.0, 0.5, 0.5, -0.5, 0.5])).pose)


@pytest.mark.parametrize("length", [1e-6, 0.3, 2.0, 1e3])
def test_quaternions_of_mujoco_have_any_length(length):
    """MuJoCo normalizes them: the pose and the velocity are those that it computes from the same numbers."""
    ball = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body name='ball'><freejoint/><geom size='0.1'/></body></worldbody></mujoco>"
    )
    data = mujoco.MjData(ball)
    data.qpos[:], data.qvel[:] = [1.0, 2.0, 3.0, *(length * np.array([0.1, -0.7, 0.5, 0.5]))], [4, 5, 6, 7, 8, 9]
    state = fc.from_mujoco_model(ball).from_mujoco(data.qpos, data.qvel)
    mujoco.mj_forward(ball, data)
    close(state.pose[:3, :3], data.xmat[1].reshape(3, 3))
    velocity = np.zeros(6)  # angular, linear, in the axes of the body
    mujoco.mj_objectVelocity(ball, data, mujoco.mjtObj.mjOBJ_XBODY, 1, velocity, 1)
    close(state.twist, np.concatenate([velocity[3:], velocity[:3]]))
    with pytest.raises(ModelError, match="a quaternion of length 0, not 1"):
        fc.from_mujoco_model(ball).from_mujoco(np.zeros(7))


def test_lengths_are_looked_at_both_ways():
    """A quaternion of length 2 would turn velocities by another matrix; cosine and sine of 0 would be an angle of 0."""
    ball = robots.free_body()
    with pytest.raises(ModelError, match="a quaternion of length 2, not 1"):
        exchange.mujoco(ball).to([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0], np.ones(6))
    q, v = np.array([0.0, 0.0, 0.0, 0.6, 0.0, 0.0, 0.8]), np.ones(6)
    there = exchange.mujoco(ball).to(np.concatenate([q[:3], 1.005 * q[3:]]), v)[1]
    close(there, exchange.mujoco(ball).to(q, v)[1])
    peer = pinocchio.Model()
    peer.addJoint(0, pinocchio.JointModelRUBZ(), pinocchio.SE3.Identity(), "wheel")
    links = (Link("hub", body(1.0, (0, 0, 0), 1, 1, 1)), Link("rim", body(1.0, (0, 0, 0), 1, 1, 1)))
    model = Model("cart", Trivial(), links, (Joint("wheel", Continuous((0.0, 0.0, 1.0)), "hub", "rim"),))
    close(model.from_pinocchio([0.0, 1.0], like=peer).joints, [np.pi / 2])
    for wrong in ([0.0, 0.0], [2.0, 0.0]):
        with pytest.raises(ModelError, match="cosine and sine of length"):
            model.from_pinocchio(wrong, like=peer)


def peer_of(model):
    """The same robot as Pinocchio has it: siblings in reverse order, wheels unbounded."""
    kinds = {
        "revolute": lambda k: pinocchio.JointModelRevoluteUnaligned(*k.axis),
        "continuous": lambda k: pinocchio.JointModelRUBZ(),
        "prismatic": lambda k: pinocchio.JointModelPrismaticUnaligned(*k.axis),
        "spherical": lambda k: pinocchio.JointModelSpherical(),
        "planar": lambda k: pinocchio.JointModelPlanar(),
        "translational": lambda k: pinocchio.JointModelTranslation(),
        "free": lambda k: pinocchio.JointModelFreeFlyer(),
    }

    def put(link, index, offset):
        body = model.links[model.link_index(link)].body
        peer.appendBodyToJoint(index, pinocchio.Inertia(body.mass, body.center, body.inertia), offset)
        for joint in reversed([j for j in model.joints if j.parent == link]):
            turn = pinocchio.SE3.Identity()
            if joint.kind.name == "continuous":  # Pinocchio's has z as its axis
                turn.rotation = pinocchio.Quaternion.FromTwoVectors(np.eye(3)[2], np.array(joint.kind.axis)).matrix()
            placement = offset * pinocchio.SE3(joint.placement) * turn
            child = peer.addJoint(index, kinds[joint.kind.name](joint.kind), placement, joint.name)
            put(joint.child, child, turn.inverse())

    peer = pinocchio.Model()
    here = pinocchio.SE3.Identity()
    put(model.links[0].name, peer.addJoint(0, pinocchio.JointModelFreeFlyer(), here, "root_joint"), here)
    return peer


@settings(max_examples=30)
@given(rng=generators())
def test_pinocchio_sees_the_same_robot_in_the_same_state(rng):
    kinds = ["revolute", "continuous", "prismatic", "spherical", "planar", "translational", "free"]
    model = random_tree(rng, 6, kinds=kinds, base=SE3())
    peer, state = peer_of(model), model.random_state(rng)
    q, v = model.to_pinocchio(state, peer)
    data, order = peer.createData(), exchange.pinocchio(model, peer).v_order
    M = pinocchio.crba(peer, data, q)
    close(M, fc.mass_matrix(model, state)[np.ix_(order, order)], 1e-11)
    close(pinocchio.nonLinearEffects(peer, data, q, v), fc.bias_forces(model, state)[order], 1e-10)
    again = model.from_pinocchio(q, v, like=peer)
    close(again.pose, state.pose)
    close(fc.mass_matrix(model, again), fc.mass_matrix(model, state), 1e-11)
    close(again.velocity, state.velocity, 0.0)


def test_what_pinocchio_writes_otherwise_is_named():
    model = robots.cat()
    with pytest.raises(ModelError, match=r"like is a pinocchio.Model, not"):
        model.to_pinocchio(model.state(), "cat")
    peer = pinocchio.Model()
    peer.addJoint(0, pinocchio.JointModelEllipsoid(), pinocchio.SE3.Identity(), "root_joint")
    with pytest.raises(ModelError, match="joint 'root_joint' is of the kind Ellipsoid"):
        model.to_pinocchio(model.state(), peer)
    peer = pinocchio.Model()
    peer.addJoint(0, pinocchio.JointModelSpherical(), pinocchio.SE3.Identity(), "root_joint")
    with pytest.raises(ModelError, match=r"Pinocchio writes the base as qx qy qz qw, which is no point of SE\(3\)"):
        model.to_pinocchio(model.state(), peer)
    peer = pinocchio.Model()
    peer.addJoint(0, pinocchio.JointModelFreeFlyer(), pinocchio.SE3.Identity(), "root_joint")
    with pytest.raises(ModelError, match=r"Pinocchio has no joint '.*' of 'cat'"):
        model.to_pinocchio(model.state(), peer)
    small = robots.free_body()
    peer.addJoint(1, pinocchio.JointModelRX(), pinocchio.SE3.Identity(), "more")
    with pytest.raises(ModelError, match="must have shapes"):
        small.from_pinocchio(np.zeros(8), like=peer)


def drake_joint(name, kind, q, v, size, parent):
    """What `drake` asks a joint of a plant."""
    told = {
        "name": name,
        "type_name": kind,
        "position_start": q,
        "velocity_start": v,
        "num_velocities": size,
        "parent_body": SimpleNamespace(index=lambda: parent),
    }
    return SimpleNamespace(**{key: lambda value=value: value for key, value in told.items()})


def test_drake_writes_the_turn_first_along_the_axes_of_the_world():
    """Drake itself is too large for the tests' requirements; the conventions are its documented ones."""
    model = twin().lock(["ball"])
    joints = [
        drake_joint("base", "quaternion_floating", 0, 0, 6, 0),
        drake_joint("slide", "prismatic", 7, 6, 1, 1),
        drake_joint("ball", "weld", 8, 7, 0, 1),
        drake_joint("hinge", "revolute", 8, 7, 1, 1),
    ]
    plant = SimpleNamespace(
        GetJointIndices=lambda: range(4),
        get_joint=joints.__getitem__,
        is_finalized=lambda: True,
        world_body=lambda: SimpleNamespace(index=lambda: 0),
    )
    state = model.random_state(np.random.default_rng(0))
    q, v = model.flatten(state)
    theirs = exchange.drake(model, plant)
    there = theirs.to(q, v)
    R = state.pose[:3, :3]
    close(there[0], [q[6], *q[3:6], *q[:3], q[8], q[7]], 0.0)
    close(there[1], [*(R @ v[3:6]), *(R @ v[:3]), v[7], v[6]])
    for a, b in zip(theirs.from_(*there), (q, v), strict=True):
        close(a, b)


def test_joint_state_messages():
    model = robots.cat()
    names = sorted(model.joint_names)
    state = model.random_state(np.random.default_rng(0))
    q, v = exchange.ros(model, names).to(*model.flatten(state))
    for i, name in enumerate(names):
        k = model.joint_names.index(name)
        assert (q[7 + i], v[6 + i]) == (state.joints[k], state.rates[k])
    with pytest.raises(ModelError, match=f"the joint {names[0]!r} is named twice"):
        exchange.ros(model, [names[0], *names])
    with pytest.raises(ModelError, match="ROS has no joint"):
        exchange.ros(model, names[1:])
    with pytest.raises(ModelError, match="there is no joint 'elbw'"):
        exchange.ros(model, ["elbw"])
    with pytest.raises(ModelError, match=r"'ball' moves in SO\(3\)"):
        exchange.ros(twin(), ["ball"])


@pytest.mark.parametrize("bad", [np.full(11, np.nan), "home", None, np.zeros((2, 10)), [[1.0], [1.0, 2.0]]])
def test_bad_vectors_are_refused(bad):
    for way in (exchange.mujoco(twin()).to, exchange.mujoco(twin()).from_):
        with pytest.raises(ModelError, match=r"\(MuJoCo\)"):
            way(bad)


@settings(max_examples=20)
@given(rng=generators())
def test_flat_points_move_as_pinocchio_moves_them(rng):
    model = random_tree(rng, 5, kinds=["revolute", "prismatic", "spherical", "free"], base=SE3())
    peer = peer_of(model)
    theirs = exchange.pinocchio(model, peer)
    q, p = (np.array([model.flatten(model.random_state(rng))[0] for _ in range(4)]) for _ in range(2))
    x = rng.normal(size=(4, model.nv))
    moved, between, halfway = model.integrate(q, x), model.difference(q, p), model.interpolate(q, p, 0.3)
    for k in range(4):
        there = [theirs.to(point[k])[0] for point in (q, p, moved, halfway)]
        order = theirs.v_order
        far = pinocchio.difference(peer, pinocchio.integrate(peer, there[0], x[k][order]), there[2])
        close(far, 0.0, 1e-9)
        close(pinocchio.difference(peer, there[0], there[1]), between[k][order], 1e-7)
        far = pinocchio.difference(peer, pinocchio.interpolate(peer, there[0], there[1], 0.3), there[3])
        close(far, 0.0, 1e-7)
    close(model.difference(p, model.integrate(q, between)), 0.0)
    close(model.integrate(q[0], x), [model.integrate(q[0], each) for each in x], 1e-14)  # sums in another order
    with pytest.raises(ModelError, match="x must have shape"):
        model.integrate(q, x[:, 1:])
