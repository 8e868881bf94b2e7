"""Closed loops: against closed forms, KKT systems, Pinocchio's constraint dynamics, and differences."""

import casadi
import jax
import jax.numpy as jnp
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from laws import generators

import fallingcat as fc
from fallingcat import constraints as loops
from fallingcat.errors import FileError, ModelError, NumericsError
from fallingcat.lie import SE3, Trivial
from fallingcat.model import robots
from fallingcat.model.robots import random_tree

_SE3 = SE3()


def closed_at(rng, n=6, base=None):
    """A random tree with all kinds of loop, closed in a random state at rest relative to them."""
    model = random_tree(rng, n, kinds=["revolute", "prismatic", "spherical"], base=base)
    state = model.random_state(rng)
    one, two, three = rng.permutation(n + 1)[:3]
    H = [fc.link_pose(model, state, model.link_names[k]) for k in (one, two, three)]
    point = rng.normal(size=3)
    there = (_SE3.inverse(H[1]) @ H[0] @ np.append(point, 1.0))[:3]
    found = [
        fc.model.Pin("pin", model.link_names[one], model.link_names[two], point, there),
        fc.model.Weld("weld", model.link_names[two], model.link_names[three], _SE3.inverse(H[1]) @ H[2]),
    ]
    single = [j.name for j in model.joints if j.kind.nq == 1]
    if len(single) > 1:
        a, b = single[:2]
        x = state.joints[model.q_slices[model.joint_index(b)]][0]
        q = state.joints[model.q_slices[model.joint_index(a)]][0]
        found.append(fc.model.Couple("gear", a, b, (q - 0.5 * x - 0.3 * x**2, 0.5, 0.3)))
    return model, state, found


@settings(max_examples=12)
@given(rng=generators())
def test_rows_differentiate_errors(rng):
    """``d error/dt = J v`` and ``d(J v)/dt = J a + bias``, by central differences along a motion."""
    model, state, found = closed_at(rng)
    model = model.close_loops(*found)
    rows = loops.equations(model, state)
    assert np.abs(rows.error).max() < 1e-12
    a, h = rng.normal(size=model.nv), 1e-4

    def along(t):
        moved = fc.dynamics.displace(model, state, t * state.velocity + 0.5 * t * t * a)
        v = state.velocity + t * a  # at t = 0 to second order, which differences do not see
        return moved._replace(twist=v[: model.m], rates=v[model.m :])

    errors = [loops.equations(model, along(t)).error for t in (-h, h)]
    scale = 1.0 + np.abs(rows.jacobian @ state.velocity).max()
    np.testing.assert_allclose((errors[1] - errors[0]) / (2 * h), rows.jacobian @ state.velocity, atol=1e-5 * scale)
    speeds = [loops.equations(model, along(t)).jacobian @ along(t).velocity for t in (-h, h)]
    scale = 1.0 + np.abs(rows.bias).max()
    np.testing.assert_allclose((speeds[1] - speeds[0]) / (2 * h), rows.jacobian @ a + rows.bias, atol=1e-4 * scale)


@settings(max_examples=30)
@given(rng=generators())
def test_the_motion_is_that_of_the_kkt_system(rng):
    model, state, found = closed_at(rng)
    for loop in found:
        closed = model.close_loops(loop)
        forces = rng.normal(size=model.nv)
        _, J, bias = loops.equations(closed, state)
        if np.linalg.svd(J, compute_uv=False)[-1] < 1e-3:
            continue  # another test has dependent rows
        M, k = fc.mass_matrix(model, state), len(J)
        whole = np.block([[M, -J.T], [J, np.zeros((k, k))]])
        x = np.linalg.solve(whole, np.concatenate([forces - fc.bias_forces(model, state), -bias]))
        found_ = loops.forward_dynamics(closed, state, forces)
        scale = np.abs(x).max() * np.linalg.cond(whole) * 1e-15 + 1e-11 * np.abs(x).max()
        np.testing.assert_allclose(np.concatenate(found_), x, atol=scale)


def test_pinocchio_closes_the_same_loop():
    """A flying humanoid whose hands hold each other, in 3-D and 6-D."""
    peer = pin.buildSampleModelHumanoid()
    model, rng = fc.from_pinocchio_model(peer), np.random.default_rng(3)
    order = fc.exchange.pinocchio(model, peer).v_order
    state, forces = model.random_state(rng), rng.normal(size=model.nv)
    ends = [i for i in range(2, peer.njoints) if not peer.children[i]]
    one, two = ends[-2:]
    hands = [model.joints[model.joint_index(peer.names[i])].child for i in (one, two)]
    H = [fc.link_pose(model, state, hand) for hand in hands]
    between = _SE3.inverse(H[0]) @ H[1]
    cases = [
        (fc.model.Pin("pin", *hands, first_point=between[:3, 3]), pin.ContactType.CONTACT_3D),
        (fc.model.Weld("weld", *hands, between), pin.ContactType.CONTACT_6D),
    ]
    for loop, kind in cases:
        closed = model.close_loops(loop)
        held = loops.assemble(closed, state, base=True)  # at other velocities Pinocchio's rows turn with the hand
        q, v = model.to_pinocchio(held, peer)
        constraint = pin.RigidConstraintModel(kind, peer, one, pin.SE3(between), two, pin.SE3.Identity())
        models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        models.append(constraint)
        datas.append(constraint.createData())
        data, exact = peer.createData(), pin.ProximalSettings(1e-14, 1e-14, 50)
        pin.initConstraintDynamics(peer, data, models, datas)
        a = pin.constraintDynamics(peer, data, q, v, forces[order], models, datas, exact)
        found = loops.forward_dynamics(closed, held, forces).acceleration[order]
        np.testing.assert_allclose(found, a, atol=1e-8 * np.abs(a).max())


def gear(ratio):
    arm = robots.planar_arm()
    one, two, three = arm.joint_names
    return arm.lock([three]).close_loops(fc.model.Couple("gear", two, one, (0.1, ratio))), ratio


@pytest.mark.parametrize("ratio", [2.0, -0.5, 0.0])
def test_a_gear_is_one_degree_of_freedom(ratio):
    """``(T' M T) a = T' (forces - h)`` with ``v = T rate``: reduced coordinates."""
    model, ratio = gear(ratio)
    state = loops.assemble(model, model.state(joints=[0.4, 0.0], rates=[0.7, 5.0]), held=[model.joint_names[0]])
    np.testing.assert_allclose(state.joints, [0.4, 0.1 + 0.4 * ratio], atol=1e-14)
    np.testing.assert_allclose(state.rates, [0.7, 0.7 * ratio], atol=1e-14)
    T, forces = np.array([1.0, ratio]), np.array([0.3, -0.2])
    M, h = fc.mass_matrix(model, state), fc.bias_forces(model, state)
    expected = T * (T @ (forces - h)) / (T @ M @ T)
    found = loops.forward_dynamics(model, state, forces)
    np.testing.assert_allclose(found.acceleration, expected, atol=1e-12)
    driven = loops.inverse_dynamics(model, state, expected, actuated=[model.joint_names[0]])
    np.testing.assert_allclose(driven.torques, [T @ forces, 0.0], atol=1e-12)


def four_bar():
    """Crank 1, coupler 2, rocker 2 m on a ground of 2 m: a chain of bars whose end is pinned to the ground."""
    bar = [fc.Body(m, np.array([x / 2, 0.0, 0.0]), np.diag([1e-3, m * x * x / 12, m * x * x / 12])) for m, x in BARS]
    joints = [
        fc.Joint(f"joint{k}", fc.joints.Revolute((0.0, 0.0, 1.0)), f"bar{k - 1}", f"bar{k}", shift(length))
        for k, length in enumerate((0.0, BARS[0][1], BARS[1][1]))
        if k
    ]
    joints.insert(0, fc.Joint("joint0", fc.joints.Revolute((0.0, 0.0, 1.0)), "ground", "bar0"))
    links = (fc.Link("ground"), *(fc.Link(f"bar{k}", body) for k, body in enumerate(bar)))
    model = fc.Model("four bar", Trivial(), links, tuple(joints), gravity=(0.0, -9.81, 0.0))
    return model.close_loops(fc.model.Pin("ground", "bar2", "ground", (BARS[2][1], 0.0, 0.0), (2.0, 0.0, 0.0)))


BARS = [(1.0, 1.0), (2.0, 2.0), (1.5, 2.0)]


def shift(x):
    H = np.eye(4)
    H[0, 3] = x
    return H


@pytest.mark.parametrize("crank", [0.3, 1.2, 2.5, 4.0])
def test_four_bar(crank):
    """Freudenstein's equation for the rocker, and the motion against reduced coordinates by differences."""
    model = four_bar()
    start = model.state(joints=[crank, 1.0 - crank, -2.0], rates=[1.0, 0.0, 0.0])
    state = loops.assemble(model, start, held=["joint0"])
    np.testing.assert_allclose(state.joints[0], crank, atol=0.0)
    psi = state.joints.sum() + np.pi  # the rocker, seen from its pivot
    d, a, b, c = 2.0, *(length for _, length in BARS)
    freudenstein = d / a * np.cos(psi) - d / c * np.cos(crank) + (a * a - b * b + c * c + d * d) / (2 * a * c)
    np.testing.assert_allclose(freudenstein, np.cos(crank - psi), atol=1e-11)

    def shape(q):
        return loops.assemble(model, model.state(joints=[q, *state.joints[1:]]), held=["joint0"]).joints

    h = 1e-4
    T = (shape(crank + h) - shape(crank - h)) / (2 * h)
    T_dot = (shape(crank + h) - 2 * state.joints + shape(crank - h)) / h**2
    np.testing.assert_allclose(state.rates, T, atol=1e-6)
    forces = np.array([3.0, 0.0, 0.0])
    M, bias = fc.mass_matrix(model, state), fc.bias_forces(model, state)
    acceleration = T @ (forces - bias - M @ T_dot) / (T @ M @ T)
    found = loops.forward_dynamics(model, state, forces)
    np.testing.assert_allclose(
        found.acceleration, T * acceleration + T_dot, atol=1e-5 * np.abs(found.acceleration).max()
    )
    driven = loops.inverse_dynamics(model, state, found.acceleration, actuated=["joint0"])
    np.testing.assert_allclose(driven.torques, forces, atol=1e-10)


def test_what_is_open_closes_at_the_stated_rate():
    """An error decays like ``(1 + w t) exp(-w t)``."""
    model, w = four_bar(), 40.0
    state = loops.assemble(model, model.state(joints=[1.0, 0.3, -2.0]))
    state = state._replace(joints=state.joints + np.array([0.0, 1e-4, 0.0]))
    before, h = loops.equations(model, state).error, 2e-4
    q, v = state.joints, state.rates
    for _ in range(500):  # midpoint rule
        a = loops.forward_dynamics(model, state._replace(joints=q, rates=v), np.zeros(3), w).acceleration
        mid = state._replace(joints=q + h / 2 * v, rates=v + h / 2 * a)
        a = loops.forward_dynamics(model, mid, np.zeros(3), w).acceleration
        q, v = q + h * mid.rates, v + h * a
    after, wt = loops.equations(model, state._replace(joints=q, rates=v)).error, w * 500 * h
    np.testing.assert_allclose(
        np.linalg.norm(after), np.linalg.norm(before) * (1 + wt) * np.exp(-wt), rtol=0.1, atol=1e-7
    )


def test_held_joints_whose_velocities_open_a_loop_are_named():
    model, _ = gear(2.0)
    with pytest.raises(NumericsError, match="the velocity of what is held opens loop 'gear'"):
        loops.assemble(model, model.state(joints=[0.4, 0.9], rates=[1.0, 0.0]), held=model.joint_names)


def test_a_robot_out_of_reach_says_which_loop_stays_open():
    model = (
        four_bar().open_loops().close_loops(fc.model.Pin("too far", "bar2", "ground", (2.0, 0.0, 0.0), (9.0, 0.0, 0.0)))
    )
    with pytest.raises(NumericsError, match=r"loop 'too far' cannot be closed from here: it stays open"):
        loops.assemble(model, model.state(joints=[0.3, 0.4, 0.5]))


def test_what_is_wrong_is_named():
    arm = robots.planar_arm()
    with pytest.raises(ModelError, match="loop 'a' is fixed to the link 'hnd', which does not exist"):
        arm.close_loops(fc.model.Pin("a", "hnd"))
    with pytest.raises(ModelError, match="loop 'a' couples the joint 'elbw', which does not exist"):
        arm.close_loops(fc.model.Couple("a", "elbw"))
    with pytest.raises(ModelError, match="coefficients of loop 'a' are finite numbers"):
        fc.model.Couple("a", "x", "y", (np.nan,))
    loop = fc.model.Couple("a", *arm.joint_names[:2])
    with pytest.raises(ModelError, match="loop"):
        arm.close_loops(loop, loop)
    closed = arm.close_loops(loop)
    with pytest.raises(NumericsError, match="this acceleration opens loop 'a'"):
        loops.inverse_dynamics(closed, closed.state(), [1.0, 0.0, 0.0])
    with pytest.raises(NumericsError, match="the actuated joints cannot cause this motion"):
        loops.inverse_dynamics(closed, closed.state(), [1.0, 1.0, 0.0], actuated=[arm.joint_names[2]])
    with pytest.raises(ModelError, match="stabilization is a rate"):
        loops.forward_dynamics(closed, closed.state(), np.zeros(3), -1.0)
    with pytest.raises(ModelError, match="stabilization is a rate"):
        loops.forward_dynamics(closed, closed.state(), np.zeros(3), "fast")
    with pytest.raises(ModelError, match="there is no joint 'x'"):
        loops.assemble(closed, closed.state(), held=["x"])
    with pytest.raises(ModelError, match=r"loop 'a' is open by 0.3 at the start: fc.constraints.assemble"):
        fc.simulate(closed, closed.state(joints=[0.3, 0.0, 0.0]), 0.1)
    with pytest.raises(ModelError, match="loop 'a' opens at a rate of 1 at the start"):
        fc.rollout(closed, [closed.state(), closed.state(rates=[1.0, 0.0, 0.0])], 0.1)
    with pytest.raises(ModelError, match="the momentum-exact integrator needs a base that is free or moves in a plane"):
        fc.simulate(closed, closed.state(), 0.1, integrator="momentum")
    with pytest.raises(FileError, match=r"URDF has no loops, as a of this robot \(a \.toml file has them"):
        fc.save(closed, "arm.urdf")
    with pytest.raises(ModelError, match="has not one coordinate"):
        closed.lock([arm.joint_names[0]])


def test_loops_stay_when_the_tree_changes():
    model, state, found = closed_at(np.random.default_rng(5))
    model = model.close_loops(*found[:2])
    state = loops.assemble(model, state, base=True)  # velocities that keep them closed
    top, end = model.link_names[0], model.link_names[-1]
    other, there = model.reroot(end), fc.dynamics.reroot_state(model, state, end)
    one = loops.forward_dynamics(model, state, np.zeros(model.nv)).acceleration
    two = loops.forward_dynamics(other, there, np.zeros(other.nv)).acceleration
    expected = fc.dynamics.link_acceleration(model, state, one, top)
    np.testing.assert_allclose(
        fc.dynamics.link_acceleration(other, there, two, top), expected, atol=1e-9 * np.abs(one).max()
    )
    merged = model.lock([model.joints[-1].name]).merge_fixed()
    assert loops.equations(merged, merged.state()).jacobian.shape == (9, merged.nv)


def test_loops_that_contradict_each_other_are_named():
    """Two gears between the same joints, one of them with an offset."""
    arm = robots.planar_arm()
    one, two, _ = arm.joint_names
    single = arm.close_loops(fc.model.Couple("gear", two, one, (0.0, 1.0)))
    model, forces = single.close_loops(fc.model.Couple("other", two, one, (0.5, 1.0))), np.array([1.0, 0.0, 0.0])
    both, alone = (loops.forward_dynamics(m, m.state(), forces) for m in (model, single))  # the rows agree
    np.testing.assert_allclose(both.acceleration, alone.acceleration, atol=1e-12)
    np.testing.assert_allclose(both.multipliers, alone.multipliers.repeat(2) / 2.0, atol=1e-12)
    with pytest.raises(NumericsError, match="loops of gear, other contradict each other"):
        loops.forward_dynamics(model, model.state(), np.zeros(3), stabilization=10.0)


def test_every_kind_of_number():
    """Of the derivative by the angles: complex step, CasADi and JAX, which trace it, agree with differences."""
    model = four_bar()
    state = loops.assemble(model, model.state(joints=[1.0, 0.3, -2.0], rates=[1.0, 0.0, 0.0]))
    forces = np.array([1.0, 2.0, 3.0])

    def acceleration(q):
        return loops.forward_dynamics(model, state._replace(joints=q), forces).acceleration

    h, plain = 1e-6, np.eye(3)
    q = state.joints
    expected = np.array([(acceleration(q + h * e) - acceleration(q - h * e)) / (2 * h) for e in plain]).T
    scale = np.abs(expected).max()
    by_step = np.array([acceleration(q + 1e-30j * e).imag / 1e-30 for e in plain]).T
    np.testing.assert_allclose(by_step, expected, atol=1e-6 * scale)
    x = casadi.SX.sym("x", 3)
    exact = casadi.jacobian(casadi.vertcat(*acceleration(np.array(casadi.vertsplit(x), dtype=object))), x)
    np.testing.assert_allclose(np.array(casadi.Function("f", [x], [exact])(q)), by_step, atol=1e-9 * scale)
    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.jit(jax.jacfwd(acceleration))(jnp.array(q)), by_step, atol=1e-9 * scale)


def test_compiled():
    model = four_bar()
    state = loops.assemble(model, model.state(joints=[1.0, 0.3, -2.0], rates=[1.0, 0.0, 0.0]))
    forces = np.array([1.0, 2.0, 3.0])
    kernel = fc.compile(model, loops.forward_dynamics)
    q, v = model.flatten(state)
    expected = loops.forward_dynamics(model, state, forces)
    for a, b in zip(kernel(q, v, forces), expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-11)


def test_a_loop_that_nothing_can_open_changes_nothing():
    """Its rows are zero; code of it divided by zero."""
    arm = fc.robots.planar_arm()
    link = arm.link_names[-1]
    closed = arm.close_loops(fc.model.Weld("to itself", link, link))
    state = arm.random_state(np.random.default_rng(0))
    forces = np.ones(arm.nv)
    found = fc.constraints.forward_dynamics(closed, state, forces)
    np.testing.assert_allclose(found.acceleration, fc.forward_dynamics(arm, state, forces), rtol=1e-12)
    assert not found.multipliers.any()
    run = fc.simulate(closed, state, 0.01)
    assert run.code is fc.simulation.StatusCode.FINISHED
    np.testing.assert_allclose(run.joints[-1], fc.simulate(arm, state, 0.01, integrator="rkmk4").joints[-1], atol=1e-9)
