"""The adapters of examples/adapters say what the libraries say whose names they have."""

import adam
import casadi
import jax
import mujoco
import mujoco_kinematics as on_ours
import numpy as np
import pinocchio as pin
import pinocchio_algorithms as ours
import pytest
from adam.casadi import KinDynComputations as ForCasadi
from adam.jax import KinDynComputations as ForJax
from adam.numpy.computations import KinDynComputations

import fallingcat as fc

REPRESENTATIONS = list(adam.Representations)


def close(a, b, tolerance=1e-12):
    scale = max(np.abs(np.asarray(b, dtype=float)).max(initial=0.0), 1e-3)
    np.testing.assert_allclose(np.asarray(a, dtype=float), b, rtol=0, atol=tolerance * scale)


# adam ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("adam") / "cat.urdf"
    fc.save(fc.robots.humanoid(), path)
    return path


@pytest.fixture(scope="module")
def case(file):
    """A robot with some joints locked and the others in an order of the user's, and a moving state of it."""
    rng = np.random.default_rng(3)
    model = fc.load(file)
    names = [str(name) for name in rng.permutation(model.joint_names)[:8]]
    state = fc.lie.SE3().random(rng), *(rng.normal(size=size) for size in (8, 6, 8, 8))
    return names, state, model.link_names[-1]


def values(robot, state, frame):
    """Everything that adam computes."""
    H, s, v, rates, torques = state
    wrench = {frame: np.arange(6.0)}
    found = {
        "H": robot.forward_kinematics(frame, H, s),
        "com": robot.CoM_position(H, s),
        "J": robot.jacobian(frame, H, s),
        "J_relative": robot.relative_jacobian(frame, s),
        "J_dot": robot.jacobian_dot(frame, H, s, v, rates),
        "J_com": robot.CoM_jacobian(H, s),
        "A": robot.centroidal_momentum_matrix(H, s),
        "M": robot.mass_matrix(H, s),
        "h": robot.bias_force(H, s, v, rates),
        "c": robot.coriolis_term(H, s, v, rates),
        "g": robot.gravity_term(H, s),
        "a": robot.aba(H, s, v, rates, torques, wrench),
    }
    return {name: np.asarray(x, dtype=float) for name, x in found.items()}


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_adam_of_numbers(file, case, representation):
    """Against the equations of motion, differences in time, and Pinocchio."""
    names, state, frame = case
    robot = KinDynComputations.from_urdf(file, names)
    robot.set_frame_velocity_representation(representation)
    found = values(robot, state, frame)
    H, s, v, rates, torques = state
    forces = np.concatenate([np.zeros(6), torques]) + found["J"].T @ np.arange(6.0)
    close(found["M"] @ found["a"] + found["h"], forces, 1e-11)
    close(found["c"] + found["g"], found["h"])
    close(found["A"][:3] / robot.get_total_mass(), _turned(found["J_com"], H, representation))
    step = 1e-6
    late, early = (_later(robot, H, s, v, rates, representation, sign * step) for sign in (1, -1))
    close((robot.jacobian(frame, *late) - robot.jacobian(frame, *early)) / (2 * step), found["J_dot"], 1e-7)
    moved = (robot.CoM_position(*late) - robot.CoM_position(*early)) / (2 * step)
    close(found["J_com"] @ np.concatenate([v, rates]), moved, 1e-7)
    if representation == adam.Representations.BODY_FIXED_REPRESENTATION:
        close(found["M"], _pinocchio_mass(file, names, H, s), 1e-11)


def _turned(J, H, representation):
    return H[:3, :3].T @ J if representation == adam.Representations.BODY_FIXED_REPRESENTATION else J


def _later(robot, H, s, v, rates, representation, time):
    """The base moved by its velocity, to first order, and the joints."""
    at_origin = np.vstack([np.hstack([fc.lie.skew(v[3:]), v[:3, None]]), np.zeros((1, 4))])
    if representation == adam.Representations.MIXED_REPRESENTATION:
        at_origin[:3, 3] -= fc.lie.skew(v[3:]) @ H[:3, 3]
    if representation == adam.Representations.BODY_FIXED_REPRESENTATION:
        at_origin = H @ at_origin @ np.linalg.inv(H)
    x = np.concatenate([at_origin[:3, 3], [at_origin[2, 1], at_origin[0, 2], at_origin[1, 0]]])
    return fc.lie.SE3().exp(time * x) @ H, s + time * rates


def _pinocchio_mass(file, names, H, s):
    """Their mass matrix with the other joints at zero; rows and columns of the named ones."""
    peer = pin.buildModelFromUrdf(str(file), pin.JointModelFreeFlyer())
    q = pin.neutral(peer)
    q[:7] = pin.SE3ToXYZQUAT(pin.SE3(H))
    at = [peer.joints[peer.getJointId(name)] for name in names]
    q[[joint.idx_q for joint in at]] = s
    M = np.triu(pin.crba(peer, peer.createData(), q))
    rows = [*range(6), *(joint.idx_v for joint in at)]
    return (M + np.triu(M, 1).T)[np.ix_(rows, rows)]


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_adam_of_casadi_is_that_of_numbers(file, case, representation):
    names, state, frame = case
    plain, robot = KinDynComputations(file, names), ForCasadi(file, names)
    for each in (plain, robot):
        each.set_frame_velocity_representation(representation)
    expected, (H, s, v, rates, torques) = values(plain, state, frame), state
    close(casadi.DM(robot.mass_matrix(H, s)).full(), expected["M"])
    close(robot.mass_matrix_fun()(H, s).full(), expected["M"])
    close(robot.jacobian_fun(frame)(H, s).full(), expected["J"])
    close(robot.bias_force_fun()(H, s, v, rates).full().ravel(), expected["h"])
    close(robot.aba_fun()(H, s, v, rates, torques).full().ravel(), plain.aba(H, s, v, rates, torques), 1e-11)
    with pytest.raises(AttributeError):
        robot.mass_matrix_function()


def test_adam_of_jax_is_that_of_numbers(file, case):
    names, state, frame = case
    plain, robot = KinDynComputations(file, names), ForJax(file, names)
    expected, (H, s, v, rates, _) = values(plain, state, frame), state
    with jax.enable_x64(True):
        close(robot.mass_matrix(H, s), expected["M"])
        close(robot.bias_force(H, s, v, rates), expected["h"], 1e-11)
        many = robot.forward_kinematics(frame, np.array([H, np.eye(4)]), np.array([s, 0 * s]))
        close(many[0], expected["H"])
        assert many.shape == (2, 4, 4)


def test_adam_of_a_model_of_mujoco():
    text = """<mujoco><worldbody><body name="a"><freejoint/><geom size=".1" mass="2"/>
    <body name="b" pos=".3 0 0"><joint name="j" axis="0 1 0"/><geom size=".1 .2" type="capsule" mass="1"/></body></body>
    </worldbody><actuator><motor name="j" joint="j"/></actuator></mujoco>"""
    peer = mujoco.MjModel.from_xml_string(text)
    robot = KinDynComputations.from_mujoco_model(peer, use_mujoco_actuators=True)
    assert robot.rbdalgos.model.actuated_joints == ["j"]
    assert robot.get_total_mass() == pytest.approx(3.0)


# Pinocchio ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def peer():
    """A humanoid of theirs in a random state."""
    pin.seed(5)
    np.random.seed(5)  # noqa: NPY002  # theirs draws from it
    model = pin.buildSampleModelHumanoidRandom()
    q = pin.randomConfiguration(model, -np.ones(model.nq), np.ones(model.nq))
    rng = np.random.default_rng(5)
    return model, q, *rng.normal(size=(3, model.nv)), [pin.Force.Random() for _ in range(model.njoints)]


def both(name, model, *given):
    """What ours and theirs return, and their Data."""
    mine, theirs = model.createData(), model.createData()
    return getattr(ours, name)(model, mine, *given), getattr(pin, name)(model, theirs, *given), mine, theirs


@pytest.mark.parametrize(
    ("name", "takes"),
    [
        ("rnea", "qva"), ("rnea", "qvaf"), ("nonLinearEffects", "qv"), ("computeGeneralizedGravity", "q"),
        ("computeStaticTorque", "qf"), ("computeCoriolisMatrix", "qv"), ("computeMinverse", "q"), ("aba", "qva"),
        ("aba", "qvaf"), ("computeJointJacobians", "q"), ("computeJointJacobiansTimeVariation", "qv"),
        ("centerOfMass", "q"), ("centerOfMass", "qva"), ("jacobianCenterOfMass", "q"), ("computeCentroidalMap", "q"),
        ("computeKineticEnergy", "qv"), ("computePotentialEnergy", "q"), ("computeGeneralizedGravityDerivatives", "q"),
    ],
)  # fmt: skip
def test_algorithms_of_pinocchio(peer, name, takes):
    model, q, v, a, _, forces = peer
    given = {"q": q, "v": v, "a": a, "f": forces}
    mine, theirs, _, _ = both(name, model, *(given[key] for key in takes))
    if name == "computeMinverse":
        theirs = np.triu(theirs) + np.triu(theirs, 1).T
    close(mine, theirs, 1e-10)


@pytest.mark.parametrize("name", ["computeRNEADerivatives", "computeABADerivatives"])
@pytest.mark.parametrize("pushed", [False, True])
def test_derivatives_of_pinocchio(peer, name, pushed):
    model, q, v, a, _, forces = peer
    mine, theirs, _, _ = both(name, model, q, v, a, *([forces] if pushed else []))
    for i, (x, y) in enumerate(zip(mine, theirs, strict=True)):
        full = np.triu(y) + np.triu(y, 1).T if i == 2 else y
        close(x, full, 1e-9)


def test_kinematics_and_momentum_in_data(peer):
    model, q, v, a, _, _ = peer
    for name, given in (("forwardKinematics", (q, v, a)), ("computeCentroidalMomentumTimeVariation", (q, v, a))):
        _, _, mine, theirs = both(name, model, *given)
        if name == "forwardKinematics":
            for i in range(model.njoints):
                close(mine.oMi[i].homogeneous, theirs.oMi[i].homogeneous)
                close(mine.v[i].vector, theirs.v[i].vector)
                close(mine.a[i].vector, theirs.a[i].vector, 1e-11)
        else:
            close(mine.hg.vector, theirs.hg.vector)
            close(mine.dhg.vector, theirs.dhg.vector, 1e-11)
    _, _, mine, theirs = both("centerOfMass", model, q, v, a)
    for i in range(model.njoints):
        for kind in ("com", "vcom", "acom"):
            close(getattr(mine, kind)[i], getattr(theirs, kind)[i], 1e-10)
    mine, theirs, _, _ = both("computeCentroidalDynamicsDerivatives", model, q, v, a)
    for x, y in zip(mine, theirs, strict=True):
        close(x, y, 1e-10)


def test_contacts_of_pinocchio(peer):
    model, q, v, _, tau, _ = peer
    J = pin.computeJointJacobian(model, model.createData(), q, model.getJointId("lleg6_joint"))
    close(ours.computeJointJacobian(model, model.createData(), q, model.getJointId("lleg6_joint")), J)
    mine, theirs, _, _ = both("forwardDynamics", model, q, v, tau, J, np.ones(6))
    close(mine, theirs, 1e-8)
    mine, theirs, _, _ = both("impulseDynamics", model, q, v, J, 0.3)
    close(mine, theirs, 1e-8)
    close(*both("computeKKTContactDynamicMatrixInverse", model, q, J)[:2], 1e-8)


def test_configurations_of_pinocchio(peer):
    model, q, v, _, _, _ = peer
    p = pin.integrate(model, q, v)
    close(ours.integrate(model, q, v), p)
    close(ours.difference(model, q, p), pin.difference(model, q, p), 1e-11)
    close(ours.interpolate(model, q, p, 0.3), pin.interpolate(model, q, p, 0.3), 1e-11)
    assert ours.distance(model, q, q) < 1e-12
    assert ours.isSameConfiguration(model, q, ours.integrate(model, q, np.zeros(model.nv)), 1e-12)
    lower, upper = -0.1 * np.ones(model.nq), 0.1 * np.ones(model.nq)
    assert np.abs(ours.randomConfiguration(model, lower, upper)[7:]).max() <= 0.1


def test_installing_replaces_what_pinocchio_has(monkeypatch):
    for name in ours.ALGORITHMS:
        monkeypatch.setattr(pin, name, getattr(pin, name))  # put back afterwards
    ours.install()
    assert pin.rnea is ours.rnea
    assert pin.crba is ours.crba


def test_coordinates_that_only_pinocchio_takes(peer):
    model, q, v, _, _, _ = peer
    long = q.copy()
    long[3:7] *= 3.0
    close(ours.rnea(model, model.createData(), long, v, v), pin.rnea(model, model.createData(), q, v, v), 1e-10)
    close(ours.usable(model, np.zeros(model.nq))[:7], [0, 0, 0, 0, 0, 0, 1], 0.0)
    far = ours.difference(model, q, np.full(model.nq, np.inf))
    assert np.isfinite(far).all()
    assert far[6:].min() > 1e8


# MuJoCo -------------------------------------------------------------------------------------------------------------

SCENE = """
<mujoco><worldbody>
  <site name="origin"/>
  <body name="goal" mocap="true" pos="1 2 3" quat="0.5 0.5 0.5 -0.5"><site name="goal"/></body>
  <body name="trunk"><freejoint/><geom name="box" type="box" size="0.3 0.2 0.1" pos="0.1 0 0" euler="10 20 30"/>
    <body name="arm" pos="0.3 0.1 0"><joint axis="0 1 1"/><geom name="rod" size="0.1 0.3" type="capsule"/>
      <body name="camera" pos="0 0 0.3" euler="0 90 0"><site name="lens" pos="0.1 0 0" euler="0 0 30"/></body>
      <body name="hand" pos="0 0 0.4"><joint type="ball" pos="0 0 0.1"/><geom size="0.1"/>
        <body name="finger" pos="0.1 0 0"><joint type="slide" axis="1 0 0"/><geom size="0.05"/></body>
      </body>
    </body>
  </body>
</worldbody></mujoco>
"""


@pytest.fixture(scope="module")
def scene():
    """A model of MuJoCo, its data after MuJoCo's kinematics and after ours; quaternions are of any length."""
    peer, rng = mujoco.MjModel.from_xml_string(SCENE), np.random.default_rng(0)
    theirs, own = mujoco.MjData(peer), mujoco.MjData(peer)
    own.qpos[:] = theirs.qpos[:] = rng.normal(size=peer.nq)
    mujoco.mj_kinematics(peer, theirs)
    mujoco.mj_comPos(peer, theirs)
    on_ours.mj_kinematics(peer, own)
    on_ours.mj_comPos(peer, own)
    return peer, theirs, own


def test_poses_are_those_of_mujoco(scene):
    _, theirs, own = scene
    for name in ("xpos", "xmat", "xipos", "ximat", "geom_xpos", "geom_xmat", "site_xpos", "site_xmat", "subtree_com"):
        close(getattr(own, name), getattr(theirs, name))
    close(own.xquat * np.sign(own.xquat[:, :1]), theirs.xquat * np.sign(theirs.xquat[:, :1]))


@pytest.mark.parametrize(("name", "size"), [("mj_jacBody", "nbody"), ("mj_jacGeom", "ngeom"), ("mj_jacSite", "nsite")])
def test_jacobians_are_those_of_mujoco(scene, name, size):
    peer, theirs, own = scene
    for i in range(getattr(peer, size)):
        J, K = np.ones((2, 6, peer.nv))
        getattr(mujoco, name)(peer, theirs, J[:3], J[3:], i)
        getattr(on_ours, name)(peer, own, K[:3], K[3:], i)
        close(K, J)


def test_jacobians_of_centers_of_mass_are_those_of_mujoco(scene):
    peer, theirs, own = scene
    for i in np.flatnonzero(peer.body_subtreemass):  # MuJoCo divides by zero for others
        J, K = np.ones((2, 3, peer.nv))
        mujoco.mj_jacSubtreeCom(peer, theirs, J, i)
        on_ours.mj_jacSubtreeCom(peer, own, K, i)
        close(K, J)


def test_steps_of_configurations_are_those_of_mujoco(scene):
    peer, theirs, _ = scene
    start, velocity = theirs.qpos.copy(), np.random.default_rng(1).normal(size=peer.nv)
    mujoco.mj_normalizeQuat(peer, start)
    ends = start.copy(), start.copy()
    mujoco.mj_integratePos(peer, ends[0], velocity, 0.3)
    on_ours.mj_integratePos(peer, ends[1], velocity, 0.3)
    close(ends[1], ends[0])
    rates = np.zeros((2, peer.nv))
    mujoco.mj_differentiatePos(peer, rates[0], 0.3, start, ends[0])
    on_ours.mj_differentiatePos(peer, rates[1], 0.3, start, ends[0])
    close(rates[1], rates[0], 1e-11)
