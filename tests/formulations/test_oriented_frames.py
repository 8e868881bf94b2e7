"""Frames of any orientation at the center of mass ([Feurstein] 3.3.4), moving frames, principal axes, G[B]."""

import numpy as np
import pytest
from hypothesis import given, settings
from kinds import KINDS
from random_robots import BASES, Robot, build, rng_of, robots
from residuals import agree

import fallingcat as fc
from fallingcat.errors import ModelError, NumericsError
from fallingcat.lie import R1, R3, SE2, SE3, Helical, Schoenflies, Trivial
from fallingcat.lie.rotations import about
from fallingcat.planning.curvature.frames import frame_pose

STEP = 1e-40
MOVING = tuple(base for base in BASES if not isinstance(base, Trivial))
SLIDING = (SE3(), SE2(), Schoenflies(), R3(), R1((0.6, 0.0, 0.8)))


def follows_last(model):
    """Axes of the last link."""
    return lambda s: fc.link_pose(model, s, model.link_names[-1])[:3, :3]


def orientations(model):
    """Every sort of axes that suits the robot."""
    yield "base"
    if isinstance(model.base, SE3):
        yield "principal"
        yield "virtual_chassis"
        yield follows_last(model)


@settings(max_examples=10)
@given(recipe=robots(largest=5, bases=MOVING))
def test_all_axes_decouple_and_keep_their_promises(recipe):
    """Inverse, rate, certificate; the momentum map is `I v`, and both are those along the world's axes, turned."""
    model, state = build(recipe)
    m, G = model.m, model.base
    for orientation in orientations(model):
        change = fc.changes.centroidal(model, state, orientation)
        agree("T T^-1 = 1", change.T @ change.inverse, np.eye(model.nv), 1e-11)
        agree("dT/dt", change.T_dot, np.imag(change.at(1j * STEP)) / STEP, 1e-10)
        eom = fc.equations(model, state).change(change)
        certificate = eom.certify()
        assert certificate.passed, certificate
        momenta = fc.changes.momentum_map(model, state, orientation=orientation)
        agree("h_c = I_c v_c", momenta.T[:m], eom.M[:m, :m] @ change.T[:m], 1e-11, np.abs(eom.M).max())
        assert fc.equations(model, state).change(momenta).certify().passed
        world = fc.changes.centroidal(model, state)
        turn = change.T[:m, :m] @ world.inverse[:m, :m]  # Ad of a rotation about the center
        agree("turned", change.T[:m], turn @ world.T[:m], 1e-11)
        assert G.dim == m


@settings(max_examples=15)
@given(recipe=robots(largest=6, bases=(SE3(),)))
def test_in_principal_axes_the_inertia_is_diagonal(recipe):
    model, state = build(recipe)
    M = fc.equations(model, state).change(fc.changes.centroidal(model, state, "principal")).M[:6, :6]
    wanted = np.diag(np.diag(M))
    agree("diag(m, m, m, I1, I2, I3)", M, wanted, 1e-13, np.abs(M).max())
    moments = np.linalg.eigvalsh(fc.dynamics.locked_inertia(model, state, "centroidal")[3:, 3:])
    agree("eigenvalues", np.sort(np.diag(M)[3:]), moments, 1e-12, moments[-1])
    R = fc.dynamics.principal_axes(model, state)
    agree("a rotation", R.T @ R, np.eye(3), 1e-14)
    assert np.linalg.det(R) > 0.0


@pytest.mark.parametrize("kind", ["traced", "casadi", "jax"])
def test_principal_axes_of_every_kind_of_number(kind):
    model = fc.robots.random_tree(np.random.default_rng(1), 3)
    q, v = model.flatten(model.random_state(np.random.default_rng(2)))

    def axes(q, v):
        return fc.dynamics.principal_axes(model, model.unflatten(q, v))

    agree(kind, KINDS[kind](axes, q, v), axes(q, v), 1e-12)


def test_external_velocity_and_force_along_any_axes():
    """(3.96), axioms 5 and 6: a force through the center of mass is external, and `nu_j = A_jc v_ext + v_int`."""
    model = fc.robots.orbital_arm()
    state = model.random_state(np.random.default_rng(4))
    link = model.link_names[-1]
    for orientation in orientations(model):
        change = fc.changes.internal_external(model, state, link, orientation=orientation)
        v = change.velocity(state.velocity)
        H = np.eye(4)
        axes = {"base": np.eye(3), "principal": fc.dynamics.principal_axes(model, state)}
        axes |= {"virtual_chassis": frame_pose(model, state.joints, "virtual_chassis")[:3, :3]}  # by eigenvectors
        H[:3, :3] = orientation(state) if callable(orientation) else state.pose[:3, :3] @ axes[orientation]
        H[:3, 3] = fc.center_of_mass(model, state)
        A_jc = SE3().Ad(np.linalg.inv(fc.link_pose(model, state, link)) @ H)
        agree("axiom 6", A_jc @ v[:6] + v[6:12], fc.link_twist(model, state, link), 1e-11)
        push = np.array([1.0, -2.0, 3.0])
        arm = H[:3, 3] - state.pose[:3, 3]
        J = fc.jacobian(model, state, model.link_names[0], "mixed")
        external = change.forces(J.T @ np.concatenate([push, np.cross(arm, push)]))[:6]
        agree("axiom 5", external, np.concatenate([H[:3, :3].T @ push, np.zeros(3)]), 1e-11)
        assert fc.equations(model, state).change(change).certify().passed


def test_orientations_that_are_none():
    cat, hopper = fc.robots.cat(), fc.robots.revolute_hopper()
    state, hop = cat.random_state(np.random.default_rng(0)), hopper.random_state(np.random.default_rng(0))
    for make in (fc.changes.centroidal, lambda m, s, o: fc.changes.momentum_map(m, s, orientation=o)):
        with pytest.raises(ModelError, match="orientation is one of world, base, principal, virtual_chassis, not 'up'"):
            make(cat, state, "up")
        with pytest.raises(ModelError, match="the axes of the orientation are no rotation matrix"):
            make(cat, state, lambda s: 2.0 * s.pose[:3, :3])
        with pytest.raises(ModelError, match=r"the axes of the orientation turn out of the base's group SE\(2\)"):
            make(hopper, hop, lambda s: about((1.0, 0.0, 0.0), 0.3))
        with pytest.raises(ModelError, match=r"R_wc of the orientation must have shape \(3, 3\)"):
            make(cat, state, lambda s: s.pose)
        with pytest.raises(ModelError, match="depends on the velocity"):
            make(cat, state, lambda s: about((1.0, 0.0, 0.0), s.rates[0]))
    with pytest.raises(ModelError, match="the world's frame has the world's axes"):
        fc.changes.momentum_map(cat, state, "world", "base")
    straight = fc.robots.two_cylinder_cat()
    with pytest.raises(NumericsError, match="two principal moments of inertia are equal"):
        fc.changes.centroidal(straight, straight.neutral(), "principal")


# moving frames ------------------------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(recipe=robots(largest=5, bases=(SE3(),)))
def test_momentum_in_any_moving_frame(recipe):
    """Prop. 3.2.1: its rate by complex step of the motion without forces; a frame given as a function or by name."""
    model, state = build(recipe)
    last = model.link_names[-1]
    by_name = fc.formulations.is_conserved(model, state, last)
    as_function = fc.formulations.is_conserved(model, state, lambda s: fc.link_pose(model, s, last))
    agree("the same frame", as_function.rate, by_name.rate, 1e-10, max(1.0, np.abs(by_name.rate).max()))

    def mixed(s):
        H = np.eye(4) + 0.0 * s.pose
        H[:3, :3], H[:3, 3] = np.eye(3), fc.link_pose(model, s, last)[:3, 3]
        return H

    a = fc.forward_dynamics(model, state, fc.gravity_forces(model, state))
    moved = fc.dynamics.displace(model, state, 1j * STEP * state.velocity)
    moved = moved._replace(twist=state.twist + 1j * STEP * a[:6], rates=state.rates + 1j * STEP * a[6:])
    found = fc.formulations.is_conserved(model, state, mixed)
    h = SE3().Ad(mixed(moved)).T @ fc.momentum(model, moved, "world")
    tolerance = max(1e-10, 1e-14 * np.linalg.cond(fc.mass_matrix(model, state)))
    agree("rate of h_c", found.rate, np.imag(h) / STEP, tolerance, max(1.0, np.abs(h).max() * np.abs(a).max()))
    agree("the linear part stays", found.rate[:3], np.zeros(3), 1e-10, max(1.0, np.abs(found.rate).max()))


def test_frames_that_are_none():
    cat = fc.robots.cat()
    state = cat.random_state(np.random.default_rng(0))
    with pytest.raises(ModelError, match="gives no pose"):
        fc.formulations.is_conserved(cat, state, lambda s: 2.0 * s.pose)
    with pytest.raises(ModelError, match=r"H_wc of the frame must have shape \(4, 4\)"):
        fc.formulations.is_conserved(cat, state, lambda s: s.pose[:3])
    with pytest.raises(ModelError, match="or a function, not 3"):
        fc.formulations.is_conserved(cat, state, 3)


# G[B] and the mixed frame -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", SLIDING, ids=str)
def test_center_of_mass_and_base_axes_on_every_base_that_slides(base):
    """[Traversaro] (35)-(37), G[B] on SE(2): the linear rows are Newton's; the certificate checks the rest."""
    for seed in range(4):
        model, state = build(Robot(base, 3, seed))
        change = fc.changes.center_of_mass_base(model, state)
        agree("T T^-1 = 1", change.T @ change.inverse, np.eye(model.nv), 1e-12)
        agree("dT/dt", change.T_dot, np.imag(change.at(1j * STEP)) / STEP, 1e-11)
        eom = fc.equations(model, state).change(change)
        assert eom.certify().passed
        S = base.selection
        along = S[:3, ~S[3:].any(axis=0)]
        k = along.shape[1]
        velocity = along.T @ (fc.center_of_mass_jacobian(model, state) @ state.velocity)
        agree("G[B]: v", eom.v[:k], velocity)
        agree("G[B]: M", eom.M[:k], model.mass * np.eye(k, model.nv), scale=np.abs(eom.M).max())
        agree("G[B]: g", eom.g[:k], -model.mass * (along.T @ model.gravity))
        spin = (state.pose[:3, :3] @ (S @ state.twist)[3:])[S[3:].any(axis=1)] if k < model.m else np.zeros(0)
        agree("G[B]: w", eom.v[k : model.m], spin)


def test_a_base_that_cannot_slide_has_no_such_frame():
    model, state = build(Robot(Helical((0.6, 0.0, 0.8), pitch=-0.4), 2, 0))
    with pytest.raises(ModelError, match="needs a base that can slide"):
        fc.changes.center_of_mass_base(model, state)


@settings(max_examples=15)
@given(recipe=robots(largest=6))
def test_momentum_and_inertia_along_the_worlds_axes_at_the_base(recipe):
    """[Traversaro] (13)-(15): `h = [I^C F] v` of the mixed velocity, and its rate."""
    model, state = build(recipe)
    R = np.kron(np.eye(2), state.pose[:3, :3])
    agree("(14)", fc.dynamics.locked_inertia(model, state, "mixed"), R @ fc.dynamics.locked_inertia(model, state) @ R.T)
    agree("(15)", fc.momentum(model, state, "mixed"), R @ fc.momentum(model, state), 1e-12)
    moved = fc.dynamics.displace(model, state, 1j * STEP * state.velocity)
    rate = np.imag(fc.momentum_matrix(model, moved, "mixed")) / STEP
    agree("rate", fc.dynamics.momentum_matrix_derivative(model, state, "mixed"), rate, 1e-11)
    if isinstance(model.base, SE3):
        M = fc.equations(model, state).change(fc.changes.mixed(model, state)).M
        agree("(13)", M[:6, :6], fc.dynamics.locked_inertia(model, state, "mixed"))
        v = fc.changes.mixed(model, state).T @ state.velocity
        agree("(15): momentum matrix", fc.momentum(model, state, "mixed"), M[:6] @ v, 1e-11)


# the robot that is held ---------------------------------------------------------------------------------------------


@settings(max_examples=12)
@given(recipe=robots(largest=5, bases=(SE3(),)))
def test_held_robots_under_wrenches(recipe):
    """[Traversaro] Lemma 5: the constrained forward dynamics with the same wrenches; the wrench in every frame."""
    model, state = build(recipe)
    rng = rng_of(recipe)
    foot, hand = rng.choice(model.link_names, size=2)
    wrench, tau = {hand: rng.normal(size=6)}, rng.normal(size=model.n)
    held = fc.formulations.fixed_at(model, state, foot, wrenches=wrench, representation="mixed")
    at = held.whole.state
    J, bias = fc.jacobian(model, at, foot), fc.dynamics.jacobian_derivative(model, at, foot) @ at.velocity
    push = fc.jacobian(model, at, hand, "mixed").T @ wrench[hand]
    found = fc.dynamics.constrained_forward_dynamics(model, at, np.concatenate([np.zeros(6), tau]) + push, J, bias)
    M = fc.mass_matrix(model, at)
    tolerance = max(1e-10, 1e-14 * np.linalg.cond(M))
    size = max(1.0, np.abs(found.acceleration).max(), np.abs(found.multipliers).max())
    agree("(46)", held.forward(tau), found.acceleration[6:], tolerance, size)
    agree("(48)", held.wrench(tau), found.multipliers, tolerance, size)
    agree("(47e)", held.jacobian(hand) @ at.rates, fc.link_twist(model, at, hand), 1e-11)
    agree("(46): external", held.external, held.jacobian(hand, "mixed").T @ wrench[hand], 1e-11)
    body, H = held.wrench(tau), fc.link_pose(model, at, foot)
    R = np.kron(np.eye(2), H[:3, :3])
    size = max(1.0, np.abs(body).max())
    agree("F[A]", held.wrench(tau, "mixed"), R @ body, 1e-12, size)
    agree("inertial", held.wrench(tau, "inertial"), SE3().Ad(SE3().inverse(H)).T @ body, 1e-12, size)
    turn = np.kron(np.eye(2), fc.link_pose(model, at, hand)[:3, :3].T)
    agree("axes of a link", held.wrench(tau, axes=hand), turn @ R @ body, 1e-12, size)


def test_held_robots_refuse_what_is_no_wrench():
    cat = fc.robots.cat()
    state = cat.neutral()
    with pytest.raises(ModelError, match="wrenches is a mapping"):
        fc.formulations.fixed_at(cat, state, "tail", wrenches=[1.0])
    with pytest.raises(ModelError, match="representation is one of"):
        fc.formulations.fixed_at(cat, state, "tail").wrench(np.zeros(cat.n), "sideways")
