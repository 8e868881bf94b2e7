"""The same robots in Pinocchio and in MuJoCo: every quantity of the dynamics, to rounding."""

import importlib.metadata
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from random_robots import driven
from residuals import agree

import fallingcat as fc
from fallingcat.lie import SE3
from fallingcat.model.joints import Free, Helical, Planar, Prismatic, Revolute, Spherical, Translational, Universal
from fallingcat.model.robots.random_tree import random_body

pin = pytest.importorskip("pinocchio")
mujoco = pytest.importorskip("mujoco")
gymnasium = pytest.importorskip("gymnasium")

SMALL = 1e-2  # differences are relative to the largest entry, or to this
STATES = range(3)
ROTORS = (False, True, True)  # in each of the states
URDF = {
    "talos": ("talos_full_v2.urdf", "example-robot-data"),
    "solo12": ("solo12.urdf", "example-robot-data"),
    "g1": ("g1_29dof_rev_1_0.urdf", "example-robot-data"),
    "upkie": ("upkie.urdf", "upkie-description"),
}
KINDS = {
    "ball": (Spherical(), lambda: pin.JointModelSpherical()),
    "table": (Planar(), lambda: pin.JointModelPlanar()),
    "screw": (Helical((0.0, 1.0, 0.0), 0.1), lambda: pin.JointModelHY(0.1)),
    "oblique_screw": (Helical((0.6, 0.0, 0.8), -0.2), lambda: pin.JointModelHelicalUnaligned(0.6, 0.0, 0.8, -0.2)),
    "slide": (Prismatic((0.0, 0.6, 0.8)), lambda: pin.JointModelPrismaticUnaligned(0.0, 0.6, 0.8)),
    "hinge": (Revolute((1.0, 0.0, 0.0)), lambda: pin.JointModelRX()),
    "gantry": (Translational(), lambda: pin.JointModelTranslation()),
    "tether": (Free(), lambda: pin.JointModelFreeFlyer()),
}
CARDAN = {  # Pinocchio's own universal joint leaves dS/dt out of dJ/dt, C and dA/dt: there it is two hinges
    "shoulder": (Universal((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), lambda: (pin.JointModelRX(), pin.JointModelRY())),
    "elbow": (Revolute((0.0, 1.0, 0.0)), lambda: pin.JointModelRY()),
    "wrist": (Universal((0.0, 0.0, 1.0), (1.0, 0.0, 0.0)), lambda: (pin.JointModelRZ(), pin.JointModelRX())),
}


def tolerance(condition, inverts):
    """1e-12, or the rounding that the condition of the mass matrix amplifies where it is inverted."""
    return max(1e-12, 1e-15 * condition) if inverts else 1e-12


# Pinocchio ----------------------------------------------------------------------------------------------------------


class Pair(NamedTuple):
    """One robot twice; ``order`` lists, for each of our velocities, its place among Pinocchio's."""

    ours: fc.Model
    theirs: object
    order: np.ndarray

    def sample(self, seed):
        """A random state, and its q and v for Pinocchio (planar and endless joints: cosine and sine)."""
        state = self.ours.random_state(np.random.default_rng(seed))
        flat_q, flat_v = self.ours.flatten(state)
        q, v = pin.neutral(self.theirs), np.zeros(self.theirs.nv)
        q[:7], v[self.order] = flat_q[:7], flat_v
        for joint, place in zip(self.ours.joints, self.ours.q_slices, strict=True):
            others = named(self.theirs, joint.name)
            x = state.joints[place]
            if sum(other.nq for other in others) != len(x):
                x = [*x[:-1], np.cos(x[-1]), np.sin(x[-1])]
            q[others[0].idx_q : others[-1].idx_q + others[-1].nq] = x
        return state, q, v

    def places(self):
        """The base, the link farthest from it, and a frame."""
        names = [self.ours.link_names[0], self.ours.link_names[-1], *(f.name for f in self.ours.frames[-1:])]
        return [(name, self.theirs.getFrameId(name, pin.FrameType.BODY)) for name in names]


@cache
def pair(robot, rotors):
    ours, theirs = from_urdf(robot) if robot in URDF else by_hand(robot)
    ours = driven(ours, np.random.default_rng(8)) if rotors else ours
    order = list(range(6))
    for joint in ours.joints:
        places = [i for other in named(theirs, joint.name) for i in range(other.idx_v, other.idx_v + other.nv)]
        assert len(places) == joint.kind.nv, joint.name
        order += places
    assert sorted(order) == list(range(theirs.nv))
    theirs.armature[order] = np.concatenate([np.zeros(6), ours.armature])
    return Pair(ours, theirs, np.array(order))


def named(theirs, joint):
    """Pinocchio's joint of this name, or the two that make it up."""
    return [theirs.joints[theirs.getJointId(name)] for name in (joint, f"{joint} 2") if theirs.existJointName(name)]


def from_urdf(robot):
    name, package = URDF[robot]
    try:
        files = importlib.metadata.files(package) or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{package} is not installed")
    path = next(Path(file.locate()).resolve() for file in files if file.name == name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the files say beyond the dynamics: shapes, mimics
        return fc.load(path, physics="warn", loops="open"), pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())


def by_hand(robot):
    """A tree of all the joint kinds that both libraries know, with random bodies and placements."""
    rng, kinds = np.random.default_rng(7), KINDS if robot == "all_kinds" else CARDAN
    theirs = pin.Model()
    links = [fc.Link("base", random_body(rng))]
    ids = {"base": theirs.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root_joint")}
    joints = []
    parents = ["base"]
    for i, (name, (kind, other)) in enumerate(kinds.items()):
        parent, H = parents[-1] if i != 4 else parents[2], SE3().random(rng)  # one fork
        links.append(fc.Link(f"{name}_link", random_body(rng)))
        joints.append(fc.Joint(name, kind, parent, f"{name}_link", H))
        here = ids[parent]
        for j, part in enumerate(other() if isinstance(kind, Universal) else (other(),)):
            place = pin.SE3.Identity() if j else pin.SE3(H)
            here = theirs.addJoint(here, part, place, f"{name} 2" if j else name)
        ids[f"{name}_link"] = here
        parents.append(f"{name}_link")
    for link in links:
        body = pin.Inertia(link.body.mass, link.body.center, link.body.inertia)
        theirs.appendBodyToJoint(ids[link.name], body, pin.SE3.Identity())
        theirs.addFrame(pin.Frame(link.name, ids[link.name], 0, pin.SE3.Identity(), pin.FrameType.BODY))
    return fc.Model(robot, SE3(), tuple(links), tuple(joints)), theirs


def undriven(model, which):
    """The robot without the rotors of some joints."""
    return replace(model, joints=tuple(replace(j, armature=0.0) if which(j) else j for j in model.joints))


def both(a, b, order):
    """Ours, and Pinocchio's in our order of velocities: vectors, square matrices, and 6 x nv ones."""
    b = np.asarray(b)
    if b.shape[-1:] == (len(order),):
        b = b[..., order]
    return a, b[order] if b.ndim == 2 and len(b) == len(order) else b


def forces_of(p, state, v, seed):
    """Forces and an acceleration of a sensible size, in our order and in Pinocchio's."""
    a = np.random.default_rng(seed + 100).normal(size=p.ours.nv)
    theirs_a = np.zeros_like(a)
    theirs_a[p.order] = a
    tau = fc.inverse_dynamics(p.ours, state, a)
    theirs_tau = np.zeros_like(a)
    theirs_tau[p.order] = tau
    return a, theirs_a, tau, theirs_tau


def compare_dynamics(p, seed):
    """name -> (ours, theirs, whether the mass matrix is inverted)."""
    state, q, v = p.sample(seed)
    m, n, data = p.ours, p.theirs, p.theirs.createData()
    a, n_a, tau, n_tau = forces_of(p, state, v, seed)
    M = pin.crba(n, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    yield "mass_matrix", fc.mass_matrix(m, state), M, False
    yield "bias_forces", fc.bias_forces(m, state), pin.nonLinearEffects(n, data, q, v), False
    yield "inverse_dynamics", fc.inverse_dynamics(m, state, a), pin.rnea(n, data, q, v, n_a), False
    yield "forward_dynamics", fc.forward_dynamics(m, state, tau), pin.aba(n, data, q, v, n_tau), True
    yield "gravity_forces", fc.gravity_forces(m, state), pin.computeGeneralizedGravity(n, data, q), False
    bodies = undriven(m, lambda joint: not joint.kind.group.additive)  # balls' rotors: in our C, but not in C v
    yield "coriolis_matrix", fc.coriolis_matrix(bodies, state), pin.computeCoriolisMatrix(n, data, q, v), False
    yield "coriolis_forces", fc.coriolis_matrix(m, state) @ state.velocity, data.C @ v, False
    # computeKineticEnergy of Pinocchio 4.1 takes other joints' armature after one with more coordinates than rates
    yield "kinetic_energy", fc.kinetic_energy(m, state), 0.5 * v @ M @ v, False
    yield "potential_energy", fc.potential_energy(m, state), pin.computePotentialEnergy(n, data, q), False


def compare_momentum(p, seed):
    state, q, v = p.sample(seed)
    m, n, data = p.ours, p.theirs, p.theirs.createData()
    pin.dccrba(n, data, q, v)
    yield (
        "centroidal_momentum_matrix_derivative",
        fc.dynamics.centroidal_momentum_matrix_derivative(m, state),
        data.dAg,
        False,
    )
    pin.ccrba(n, data, q, v)
    yield "centroidal_momentum_matrix", fc.centroidal_momentum_matrix(m, state), data.Ag, False
    yield "momentum", fc.momentum(m, state, "centroidal"), data.hg.vector, False
    yield "locked_inertia", fc.dynamics.locked_inertia(m, state, "centroidal"), data.Ig.matrix(), False
    yield "center_of_mass", fc.center_of_mass(m, state), pin.centerOfMass(n, data, q, v, 0.0 * v), False
    velocity = fc.center_of_mass_jacobian(m, state) @ state.velocity
    yield "center_of_mass_velocity", velocity, data.vcom[0], False
    yield "center_of_mass_bias", fc.dynamics.center_of_mass_bias(m, state), data.acom[0], False
    yield "center_of_mass_jacobian", fc.center_of_mass_jacobian(m, state), pin.jacobianCenterOfMass(n, data, q), False


REFERENCES = {"body": "LOCAL", "mixed": "LOCAL_WORLD_ALIGNED", "inertial": "WORLD"}


def compare_jacobians(p, seed):
    state, q, v = p.sample(seed)
    m, n, data = p.ours, p.theirs, p.theirs.createData()
    pin.computeJointJacobiansTimeVariation(n, data, q, v)
    pin.forwardKinematics(n, data, q, v)
    pin.updateFramePlacements(n, data)
    for name, frame in p.places():
        yield f"link_pose {name}", fc.link_pose(m, state, name), data.oMf[frame].homogeneous, False
        for ours, theirs in REFERENCES.items():
            reference = getattr(pin, theirs)
            J, rate = fc.jacobian(m, state, name, ours), fc.dynamics.jacobian_derivative(m, state, name, ours)
            yield f"jacobian {ours} {name}", J, pin.getFrameJacobian(n, data, frame, reference), False
            other = pin.getFrameJacobianTimeVariation(n, data, frame, reference)
            yield f"jacobian_derivative {ours} {name}", rate, other, False
            twist = pin.getFrameVelocity(n, data, frame, reference).vector
            yield f"link_twist {ours} {name}", fc.link_twist(m, state, name, ours), twist, False


def compare_derivatives(p, seed):
    state, q, v = p.sample(seed)
    n, data = p.theirs, p.theirs.createData()
    a, n_a, tau, n_tau = forces_of(p, state, v, seed)
    ours = fc.inverse_dynamics_derivatives(p.ours, state, a)
    for name, mine, theirs in zip(ours._fields, ours, pin.computeRNEADerivatives(n, data, q, v, n_a), strict=True):
        theirs = np.triu(theirs) + np.triu(theirs, 1).T if name == "acceleration" else theirs
        yield f"inverse by {name}", mine, theirs, False
    ours = fc.forward_dynamics_derivatives(p.ours, state, tau)
    pin.computeABADerivatives(n, data, q, v, n_tau)
    inverse = np.triu(data.Minv) + np.triu(data.Minv, 1).T
    for name, mine, theirs in zip(ours._fields, ours, (data.ddq_dq, data.ddq_dv, inverse), strict=True):
        yield f"forward by {name}", mine, theirs, True


def compare_wrenches(p, seed):
    """Pinocchio's forces on joints are our body wrenches on links."""
    state, q, v = p.sample(seed)
    n, data, rng = p.theirs, p.theirs.createData(), np.random.default_rng(seed + 200)
    a, n_a, tau, n_tau = forces_of(p, state, v, seed)
    links = [(name, n.frames[n.getFrameId(name, pin.FrameType.BODY)]) for name in p.ours.link_names[-3:]]
    assert all(frame.placement.isIdentity(1e-12) for _, frame in links)
    wrenches = {name: 20.0 * rng.normal(size=6) for name, _ in links}
    fext = [pin.Force.Zero() for _ in range(n.njoints)]
    for name, frame in links:
        fext[frame.parentJoint] = fext[frame.parentJoint] + pin.Force(wrenches[name])
    ours = fc.inverse_dynamics_derivatives(p.ours, state, a, wrenches)
    theirs = pin.computeRNEADerivatives(n, data, q, v, n_a, fext)
    for name, mine, other in zip(ours._fields[:2], ours, theirs, strict=False):
        yield f"inverse with wrenches by {name}", mine, other, False
    ours = fc.forward_dynamics_derivatives(p.ours, state, tau, wrenches)
    pin.computeABADerivatives(n, data, q, v, n_tau, fext)
    for name, mine, other in zip(ours._fields, ours, (data.ddq_dq, data.ddq_dv), strict=False):
        yield f"forward with wrenches by {name}", mine, other, True


def compare_higher(p, seed):
    """Hessians of the last link's place, and derivatives of centroidal momentum."""
    state, q, v = p.sample(seed)
    m, n, data = p.ours, p.theirs, p.theirs.createData()
    a, n_a, _, _ = forces_of(p, state, v, seed)
    frame = n.frames[n.getFrameId(m.link_names[-1], pin.FrameType.BODY)]
    pin.computeJointJacobians(n, data, q)
    pin.computeJointKinematicHessians(n, data)
    several = any(joint.kind.nv > 1 for joint in m.joints)  # whose own axes Pinocchio 4.1 gets wrong in LOCAL
    for ours, theirs in list(REFERENCES.items())[several:]:
        H = pin.getJointKinematicHessian(n, data, frame.parentJoint, getattr(pin, theirs))
        H = H.ravel().reshape(H.shape, order="F")[:, p.order]  # Pinocchio 4.1 labels a column-major tensor as row-major
        yield f"kinematic_hessian {ours}", fc.dynamics.kinematic_hessian(m, state, m.link_names[-1], ours), H, False
    ours = fc.dynamics.centroidal_dynamics_derivatives(m, state, a)
    theirs = pin.computeCentroidalDynamicsDerivatives(n, data, q, v, n_a)
    for name, mine, other in zip(ours._fields, ours, theirs, strict=True):
        yield f"centroidal {name}", mine, other, False
    pin.computeAllTerms(n, data, q, v)
    center = fc.dynamics.center_of_mass_derivatives(m, state, a).velocity_by_configuration
    yield "center of mass velocity by configuration", center, pin.getCenterOfMassVelocityDerivatives(n, data), False


COMPARISONS = {
    "dynamics": compare_dynamics,
    "momentum": compare_momentum,
    "jacobians": compare_jacobians,
    "derivatives": compare_derivatives,
    "wrenches": compare_wrenches,
    "higher": compare_higher,
}


@pytest.mark.parametrize(("seed", "rotors"), list(zip(STATES, ROTORS, strict=True)))
@pytest.mark.parametrize("comparison", COMPARISONS)
@pytest.mark.parametrize("robot", [*URDF, "all_kinds", "cardan"])
def test_as_pinocchio(robot, comparison, seed, rotors):
    p = pair(robot, rotors)
    condition = np.linalg.cond(fc.mass_matrix(p.ours, p.sample(seed)[0]))
    for name, ours, theirs, inverts in COMPARISONS[comparison](p, seed):
        agree(f"pinocchio {robot}: {name}", *both(ours, theirs, p.order), tolerance(condition, inverts), SMALL)


# MuJoCo -------------------------------------------------------------------------------------------------------------

ASSETS = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"


@cache
def mujoco_pair(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # damping, actuators: taken from MuJoCo's model below
        ours = fc.load(ASSETS / name, physics="warn")
    theirs = mujoco.MjModel.from_xml_path(str(ASSETS / name))
    for forces in ("dof_damping", "dof_frictionloss", "jnt_stiffness"):
        getattr(theirs, forces)[:] = 0.0
    theirs.tendon_stiffness[:] = theirs.tendon_damping[:] = 0.0
    theirs.opt.density = theirs.opt.viscosity = 0.0
    flags = mujoco.mjtDisableBit
    theirs.opt.disableflags |= flags.mjDSBL_CONSTRAINT | flags.mjDSBL_CONTACT | flags.mjDSBL_ACTUATION
    assert (ours.nv, ours.nq) == (theirs.nv, theirs.nq)
    assert not any(joint.kind.nv > 1 for joint in ours.joints)  # only the base may have six
    return ours, theirs


def dense_mass_matrix(theirs, data, M):
    """MuJoCo's matrix; its function took the sparse numbers before version 4, the data since."""
    if hasattr(data, "qM"):
        mujoco.mj_fullM(theirs, M, data.qM)
    else:
        mujoco.mj_fullM(theirs, data, M)


def compare_mujoco(ours, theirs, seed):
    """name -> (ours, theirs, whether the mass matrix is inverted)."""
    rng = np.random.default_rng(seed)
    state = ours.random_state(rng)
    data = mujoco.MjData(theirs)
    data.qpos[:], data.qvel[:] = ours.to_mujoco(state)
    T, drift = np.eye(ours.nv), np.zeros(ours.nv)
    if ours.m:  # MuJoCo's linear velocity is that of the world: v_mujoco = T v
        T[:3, :3] = state.pose[:3, :3]
        drift[:3] = np.cross(state.twist[3:], state.twist[:3])
    forces = fc.inverse_dynamics(ours, state, rng.normal(size=ours.nv))
    data.qfrc_applied[:] = T @ forces
    mujoco.mj_forward(theirs, data)
    mujoco.mj_subtreeVel(theirs, data)
    M = np.zeros((ours.nv, ours.nv))
    dense_mass_matrix(theirs, data, M)
    momentum = np.concatenate([theirs.body_mass.sum() * data.subtree_linvel[0], data.subtree_angmom[0]])
    yield "mass_matrix", T @ fc.mass_matrix(ours, state) @ T.T, M, False
    yield "bias_forces", T @ fc.inverse_dynamics(ours, state, -drift), data.qfrc_bias, False
    yield "forward_dynamics", T @ (fc.forward_dynamics(ours, state, forces) + drift), data.qacc, True
    yield "center_of_mass", fc.center_of_mass(ours, state), data.subtree_com[0], False
    yield "momentum", fc.momentum(ours, state, "centroidal"), momentum, False


@pytest.mark.parametrize("seed", STATES)
@pytest.mark.parametrize("name", sorted(path.name for path in ASSETS.glob("*.xml")))
def test_as_mujoco(name, seed):
    model, other = mujoco_pair(name)
    condition = np.linalg.cond(fc.mass_matrix(model, model.neutral()))
    for quantity, ours, theirs, inverts in compare_mujoco(model, other, seed):
        agree(f"mujoco {name}: {quantity}", ours, theirs, tolerance(condition, inverts), SMALL)
