"""Hard contacts at one instant: the constraint, the equations of motion, sharing, refusals; two oracles."""

import importlib.metadata
import warnings
from pathlib import Path

import numpy as np
import pytest
from kinds import KINDS
from residuals import agree

import fallingcat as fc
from fallingcat.constraints.redundant_constraints import solve_constraint_forces
from fallingcat.contact import HardContacts
from fallingcat.contact.rigid.event_driven.mode_selection import rest_state
from fallingcat.geometry.contact_points import point_bias, point_jacobian, point_motions, position

DOG = fc.robots.quadruped()
FEET = tuple(frame.name for frame in DOG.frames)
WALKER, SOLE = fc.contact.corners(fc.robots.humanoid(), "left_sole", (0.24, 0.1))


def standing(model, points, rng, bent=0.3):
    """A state with random joints, all of ``points`` at rest; the floor is not looked at."""
    joints = bent * rng.normal(size=model.n)
    state = model.state(joints=joints, rates=rng.normal(size=model.n), twist=rng.normal(size=model.m))
    J = np.concatenate([point_jacobian(model, state, p) for p in points])
    v = state.velocity - np.linalg.pinv(J, rcond=1e-10) @ (J @ state.velocity)
    return state._replace(twist=v[: model.m], rates=v[model.m :])


def held(model, points, state, **options):
    """Contacts that are all closed at ``state``, wherever it is, and their memory."""
    contact = HardContacts(points, normal=(0.0, 0.0, 1.0), **options)
    places = [np.concatenate([np.roll(position(model, state, p), 1), np.zeros(2)]) for p in points]
    return contact, ("stick",) * len(points), np.concatenate(places)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("model", "points"), [(DOG, FEET[:3]), (DOG, FEET), (WALKER, SOLE)], ids=["3", "4", "sole"])
def test_points_have_no_acceleration_and_the_equations_of_motion_hold(model, points, seed):
    rng = np.random.default_rng(seed)
    state, applied = standing(model, points, rng), rng.normal(scale=10.0, size=model.nv)
    contact, mode, memory = held(model, points, state)
    forces = contact.forces(model, mode, state, memory, applied)
    a = fc.forward_dynamics(model, state, applied + sum(forces.values()))
    J = np.concatenate([point_jacobian(model, state, p) for p in points])
    bias = np.concatenate([point_bias(model, state, p) for p in points])
    agree("J a + dJ v = 0", J @ a, -bias, 1e-12, scale=float(np.abs(J).max() * np.abs(a).max()))
    world = contact.point_forces(model, mode, state, memory, applied)
    agree("forces are J' F", sum(forces.values()), J.T @ world.reshape(-1), 1e-12)
    agree("(3.62)", world, fc.contact.contact_forces(model, state, applied, points), 1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_independent_contacts_are_the_constrained_dynamics(seed):
    rng = np.random.default_rng(seed)
    state, applied = standing(DOG, FEET, rng), rng.normal(scale=10.0, size=DOG.nv)
    J = np.concatenate([point_jacobian(DOG, state, p) for p in FEET])
    bias = np.concatenate([point_bias(DOG, state, p) for p in FEET])
    exact = fc.dynamics.constrained_forward_dynamics(DOG, state, applied, J, bias)
    F = fc.contact.contact_forces(DOG, state, applied, FEET)
    condition = np.linalg.cond(J @ np.linalg.solve(fc.mass_matrix(DOG, state), J.T))
    agree("multipliers", F.reshape(-1), exact.multipliers, max(1e-12, 1e-15 * condition))


@pytest.mark.parametrize("seed", range(3))
def test_pinocchio_finds_the_same_forces_and_impulses(seed):
    pin = pytest.importorskip("pinocchio")
    files = importlib.metadata.files("example-robot-data") or []
    path = next(Path(f.locate()).resolve() for f in files if f.name == "solo12.urdf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = fc.load(path, physics="warn"), pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    feet = [name for name in ours.link_names if name.endswith("FOOT")] or [
        f.name for f in ours.frames if "FOOT" in f.name
    ]
    assert len(feet) == 4
    rng = np.random.default_rng(seed)
    state, tau = ours.random_state(rng), rng.normal(size=ours.nv)
    order = np.array([*range(6), *(theirs.joints[theirs.getJointId(name)].idx_v for name in ours.joint_names)])
    q, v, forces = pin.neutral(theirs), np.zeros(theirs.nv), np.zeros(theirs.nv)
    q[:7], q[7 + order[6:] - 6] = ours.flatten(state)[0][:7], state.joints
    v[order], forces[order] = state.velocity, tau
    data = theirs.createData()
    pin.computeJointJacobians(theirs, data, q)
    pin.computeJointJacobiansTimeVariation(theirs, data, q, v)
    pin.computeAllTerms(theirs, data, q, v)
    ids = [theirs.getFrameId(name) for name in feet]
    world = pin.LOCAL_WORLD_ALIGNED
    J = np.concatenate([pin.getFrameJacobian(theirs, data, i, world)[:3] for i in ids])
    drift = np.concatenate([pin.getFrameJacobianTimeVariation(theirs, data, i, world)[:3] @ v for i in ids])
    pin.forwardDynamics(theirs, data, forces, J, drift, 0.0)
    mine = fc.contact.contact_forces(ours, state, tau, feet)
    agree("forces of Pinocchio", mine.reshape(-1), data.lambda_c, 1e-9)
    after = pin.impulseDynamics(theirs, data, q, v, J, 0.0, 0.0)
    hit = fc.contact.impact(ours, state, feet, pulling=True)
    agree("velocity after Pinocchio's impact", hit.state.velocity, after[order], 1e-10)
    agree("impulses of Pinocchio", hit.impulses.reshape(-1), data.impulse_c, 1e-10)


@pytest.mark.parametrize("offset", [0.0, 0.03])
def test_four_corners_share_the_load(offset):
    body = fc.Body(2.0, np.array([offset, 0.0, 0.0]), np.diag([0.01, 0.02, 0.03]))
    model, points = fc.contact.corners(fc.robots.free_body(body=body), "body", (0.3, 0.2))
    F = fc.contact.contact_forces(model, model.neutral(), np.zeros(6), points)
    lever = 1.0 + offset / 0.15 * np.array([1.0, -1.0, -1.0, 1.0])
    agree("least norm", F[:, 2], 0.25 * 2.0 * 9.81 * lever, 1e-8)
    assert np.abs(F[:, :2]).max() < 1e-7
    center = fc.contact.center_of_pressure(model, model.neutral(), F, points)
    agree("center of pressure under the center of mass", center, [offset, 0.0, 0.0], 1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_redundant_rows_share_the_shortest_solution(seed):
    rng = np.random.default_rng(seed)
    J, free = rng.normal(size=(12, 6)), rng.normal(size=6)
    found = solve_constraint_forces(lambda forces: forces, J, J, free, np.zeros(12))
    agree("J motion = 0", J @ found.motion, np.zeros(12), 1e-12)
    agree("pseudo-inverse", found.forces, -np.linalg.pinv(J @ J.T, rcond=1e-10) @ (J @ free), 1e-10)


@pytest.mark.parametrize("near", [1.0, 1e-3, 1e-6])
def test_points_that_nearly_depend_on_each_other_are_calmed(near):
    """Two rows that differ by ``near``: 6e-7 m/s were left of 1 m/s at 1e-6, and a stop was found over and over."""
    ball = fc.robots.free_body(fc.lie.R3())
    at = HardContacts(("body",)).see(ball, ball.state(twist=[1.0, 2.0, 3.0]))
    J = np.array([[1.0, 0.0, 0.0], [1.0, near, 0.0]])
    after, loss = rest_state(ball, at, J)
    agree("at rest where held", after.twist, [0.0, 0.0, 3.0], 1e-9)
    agree("loss", loss, 0.5 * ball.mass * 5.0, 1e-9)


def test_contradictory_contacts_are_named():
    model, points = fc.contact.corners(fc.robots.free_body(), "body", (0.3, 0.2))
    spinning = model.state(twist=[0.0, 0.0, 0.0, 0.0, 0.0, 3.0])
    with pytest.raises(fc.NumericsError, match="body_1, body_2, body_3, body_4 contradict"):
        fc.contact.contact_forces(model, spinning, np.zeros(6), points)
    falling = model.state(twist=[0.0, 0.0, -1.0, 0.0, 0.0, 0.0])
    with pytest.raises(fc.NumericsError, match=r"velocities after the impact of body_1.*contradict"):
        fc.contact.impact(model, falling, points, [0.0, 0.5, 0.0, 0.0], pulling=True)


def test_planar_robots_have_no_row_out_of_their_plane():
    hopper = fc.robots.revolute_hopper()
    state = hopper.state(joints=[0.4], rates=[1.0], twist=[0.0, 0.0, 0.0])
    F = fc.contact.contact_forces(hopper, state, np.zeros(4), ["foot"])
    assert F[0, 2] == 0.0
    J, bias = point_jacobian(hopper, state, "foot")[:2], point_bias(hopper, state, "foot")[:2]
    exact = fc.dynamics.constrained_forward_dynamics(hopper, state, np.zeros(4), J, bias)
    agree("planar", F[0, :2], exact.multipliers, 1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_points_from_one_sweep(seed):
    rng = np.random.default_rng(seed)
    model = fc.robots.random_tree(rng, 6)
    state, names = model.random_state(rng), model.link_names
    for place, motion in zip(names, point_motions(model, state, names), strict=True):
        agree("position", motion.position, position(model, state, place))
        agree("J", motion.J, point_jacobian(model, state, place))
        agree("dJ v", motion.bias, point_bias(model, state, place))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_of_number(kind):
    """A planar block on two corners, one of them sliding: forces, guards, rates and a switch."""
    block, points = fc.contact.corners(fc.robots.free_body(fc.lie.SE2()), "body", [(0.15, -0.1), (-0.15, -0.1)])
    floor = HardContacts(points, friction=0.4)

    def everything(q, v, memory, applied):
        state = block.unflatten(q, v)
        parts = []
        for mode in (("stick", "slide"), ("stick", "open")):
            parts += [*floor.forces(block, mode, state, memory, applied).values()]
            parts += [floor.guards(block, mode, state, memory, applied)]
            parts += [floor.memory_rate(block, mode, state, memory, applied)]
        hit = fc.contact.switch(block, state, points[:1], points)
        parts += [hit.state.velocity, hit.impulses.reshape(-1)]
        parts += [fc.contact.contact_forces(block, state, applied, points[:1]).reshape(-1)]
        return fc.arrays.concatenate(parts)

    rng = np.random.default_rng(0)
    q, v = np.array([0.1, 0.2, 0.0]), 0.1 * rng.normal(size=3)
    memory = np.array([0.0, 0.25, 0.0, 0.0, 0.0, 0.0, -0.05, 0.0, 1.0, 0.0])
    inputs = (q, v, memory, rng.normal(size=3))
    agree(f"kind {kind}", KINDS[kind](everything, *inputs), everything(*inputs), 1e-7)


def test_bad_contacts_are_refused():
    ball, hopper = fc.robots.free_body(), fc.robots.revolute_hopper()
    low = np.eye(4)
    low[2, 3] = -0.01
    with pytest.raises(fc.ModelError, match=r"'body' starts 0\.01 m below the ground"):
        HardContacts(("body",)).begin(ball, ball.state(pose=low))
    with pytest.raises(fc.ModelError, match="there is no link or frame 'nose'"):
        HardContacts(("nose",)).begin(ball, ball.neutral())
    with pytest.raises(fc.ModelError, match="restitution"):
        HardContacts(("body",), restitution=1.5)
    with pytest.raises(fc.ModelError, match="not negative"):
        HardContacts(("body",), friction=-0.1)
    with pytest.raises(fc.ModelError, match="cannot move along the normal"):
        HardContacts(("foot",), normal=(0.0, 0.0, 1.0)).begin(hopper, hopper.neutral())
