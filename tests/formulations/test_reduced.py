"""The reduced Euler-Lagrange equations ([Mishra]): closed forms entry by entry, and Properties 2 to 6."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from oracles import reduced_sums
from random_robots import BASES, build, rng_of, robots
from residuals import agree

import fallingcat as fc
from fallingcat.lie import SE3, Trivial

STEP = 1e-40
MOVING = tuple(base for base in BASES if not isinstance(base, Trivial))
small, large = robots(largest=6, bases=MOVING), robots(largest=20, bases=MOVING)


def with_velocity(state, mu, rates, A):
    """The state with locked velocity `mu`."""
    return fc.State(state.pose, state.joints, mu - A @ rates, rates)


def sizes(rel):
    """What Coriolis terms are made of: inertia times velocity."""
    return max(1.0, np.abs(rel.Lambda).max() * max(1.0, np.abs(rel.xi).max()))


# the closed forms -------------------------------------------------------------------------------------------------


def agree_with_theorem_1(model, state):
    """(19a)-(19e) as sums over links."""
    rel = fc.reduced_equations(model, state)
    scale = sizes(rel) * max(1.0, np.abs(rel.A).max(initial=0.0)) ** 2
    agree("Mb (7)", rel.Mb, reduced_sums.locked_inertia(model, state))
    agree("A (10)", rel.A, reduced_sums.connection(model, state), 1e-11)
    agree("Lq (19a)", rel.Lq, reduced_sums.shape_inertia(model, state), scale=scale)
    agree("P (19b)", rel.P, reduced_sums.P(model, state, state.rates), scale=scale)
    agree("S (19c)", rel.S, reduced_sums.S(model, state, rel.mu), scale=scale)
    agree("Gamma (19d)", rel.Gamma, reduced_sums.Gamma(model, state), scale=scale)
    agree("B (19e)", rel.B, reduced_sums.B(model, state, rel.mu), scale=scale)


@settings(max_examples=15)
@given(recipe=small)
def test_theorem_1_entry_by_entry(recipe):
    """Every base group, every kind of joint."""
    agree_with_theorem_1(*build(recipe))


def along_coordinates(model, rng):
    """The same tree, with two of three joints placed and turning along coordinate axes as those of real robots are."""
    joints = []
    for joint in model.joints:
        if rng.random() < 2 / 3:
            H = np.eye(4)
            H[:3, :3] = np.eye(3)[rng.permutation(3)]
            H[:3, 0] *= np.linalg.det(H[:3, :3])
            H[:3, 3] = joint.placement[:3, 3] * rng.integers(2, size=3)
            kind = joint.kind
            if hasattr(kind, "axis"):
                kind = replace(kind, axis=tuple(np.eye(3)[rng.integers(3)]))
            joint = replace(joint, placement=H, kind=kind)
        joints.append(joint)
    return replace(model, joints=tuple(joints))


@settings(max_examples=15)
@given(recipe=small)
def test_theorem_1_where_links_are_seen_from_frames_of_their_own(recipe):
    """Tilted joints are not crossed by the frames, those along coordinate axes are: any mixture is right."""
    model, state = build(recipe)
    agree_with_theorem_1(along_coordinates(model, rng_of(recipe)), state)


@settings(max_examples=15)
@given(recipe=small)
def test_theorem_2(recipe):
    """(35)-(36): the curvature from the same matrices; Corollary 2: none along one direction."""
    model, state = build(recipe)
    x = rng_of(recipe).normal(size=model.n)
    ours = np.einsum("aij,i->aj", fc.curvature(model, state), x)
    theirs = reduced_sums.curvature(model, state, x)
    scale = max(1.0, np.abs(fc.connection(model, state)).max(initial=0.0)) ** 2
    agree("Theorem 2: (35)-(36)", ours, theirs, 1e-11, scale)
    agree("Corollary 2", fc.curvature(model, state, x, x), np.zeros(model.m), 1e-11, scale)


# against the rest of the library --------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(recipe=large)
def test_rel_is_a_change_of_velocity(recipe):
    """The same forces as Lemma 2's equations, the same motion as forward dynamics."""
    model, state = build(recipe)
    rng = rng_of(recipe)
    rel, change = fc.reduced_equations(model, state), fc.changes.locked(model, state)
    eom = fc.equations(model, state).change(change)
    agree("REL: Lambda", rel.Lambda, eom.M, scale=np.abs(eom.M).max())
    agree("REL: xi", rel.xi, eom.v)
    agree("REL: g", rel.g, eom.g, 1e-11)
    agree("REL: forces", (rel.D_q - rel.D_mu) @ rel.xi, eom.C @ eom.v, 1e-11, sizes(rel))
    forces = rng.normal(size=model.nv)
    agree("REL: (18), generalized forces", rel.forces(forces), change.forces(forces), 1e-11)
    motion = change.acceleration(fc.forward_dynamics(model, state, forces), state.velocity)
    size = max(1e-11, 1e-13 * np.linalg.cond(eom.M))
    agree("REL: forward", rel.forward(forces), motion, size)


@settings(max_examples=25)
@given(recipe=large)
def test_property_3(recipe):
    """(30): `D_q` is passive and `D_mu` is skew, block by block; rates by complex step."""
    model, state = build(recipe)
    rel = fc.reduced_equations(model, state)
    later = fc.reduced_equations(model, fc.dynamics.displace(model, state, 1j * STEP * state.velocity))
    scale = sizes(rel)
    agree("dMb/dt = P", np.imag(later.Mb) / STEP, rel.P, scale=scale)
    agree("dLq/dt = Gamma + Gamma'", np.imag(later.Lq) / STEP, rel.Gamma + rel.Gamma.T, scale=scale)
    agree("dLambda/dt = D_q + D_q'", np.imag(later.Lambda) / STEP, rel.D_q + rel.D_q.T, scale=scale)
    agree("D_mu skew", rel.D_mu, -rel.D_mu.T)
    agree("B skew", rel.B, -rel.B.T)
    agree("P symmetric", rel.P, rel.P.T)
    turn = model.base.adt(rel.Mb @ rel.mu)
    agree("adt skew", turn, -turn.T)
    m = model.m
    agree("(18): D_mu", rel.D_mu[:m, m:], -0.5 * rel.S - turn @ rel.A, scale=scale)
    agree("(18): -B", rel.D_mu[m:, m:], -rel.B)
    agree("(18): P / 2", rel.D_q[:m, :m], 0.5 * rel.P)


@settings(max_examples=20)
@given(recipe=large)
def test_velocities_are_separated(recipe):
    """`D_q` knows the joint rates alone, `D_mu` the locked velocity alone; both are linear."""
    model, state = build(recipe)
    rng = rng_of(recipe)
    rel = fc.reduced_equations(model, state)
    mu, rates = rng.normal(size=model.m), rng.normal(size=model.n)
    a = fc.reduced_equations(model, with_velocity(state, mu, state.rates, rel.A))
    b = fc.reduced_equations(model, with_velocity(state, rel.mu, rates, rel.A))
    scale = sizes(rel) * max(1.0, np.abs(rel.A).max(initial=0.0))
    agree("D_q(rates)", a.D_q, rel.D_q, 1e-11, scale)
    agree("D_mu(mu)", b.D_mu, rel.D_mu, 1e-11, scale)
    both = fc.reduced_equations(model, with_velocity(state, mu + rel.mu, rates + state.rates, rel.A))
    agree("D_q linear", both.D_q, rel.D_q + b.D_q, 1e-11, scale)
    agree("D_mu linear", both.D_mu, rel.D_mu + a.D_mu, 1e-11, scale)


# Property 2 -----------------------------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(recipe=small)
def test_property_2_and_what_follows(recipe):
    """(27) commutativity, (28) its corollary, (29) the linearization, by complex step."""
    model, state = build(recipe)
    rng = rng_of(recipe)
    x, y = rng.normal(size=(2, model.m))
    z = rng.normal(size=model.n)
    A = fc.connection(model, state)

    def S(mu):
        return fc.reduced_equations(model, with_velocity(state, mu, np.zeros(model.n), A)).S

    def P(rates):
        return fc.reduced_equations(model, with_velocity(state, np.zeros(model.m), rates, A)).P

    rel = fc.reduced_equations(model, state)
    agree("(27): S(x)' y = S(y)' x", S(x).T @ y, S(y).T @ x, scale=sizes(rel))
    agree("(27): P(z) y = S(y) z", P(z) @ y, S(y) @ z, scale=sizes(rel))
    d = x - y
    agree("(28)", S(x).T @ x - S(y).T @ y, (2.0 * S(x) - S(d)).T @ d, scale=sizes(rel))

    def w(xi):
        mu, rates = xi[: model.m], xi[model.m :]
        return fc.reduced_equations(model, with_velocity(state, mu, rates, A)).S @ rates

    columns = [np.imag(w(rel.xi + 1j * STEP * e)) / STEP for e in np.eye(model.nv)]
    agree("(29)", rel.linearized_coupling(), np.stack(columns, axis=1), scale=sizes(rel))


# Properties 4, 5, 6 ---------------------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(recipe=small)
def test_properties_4_and_5(recipe):
    """(31)-(34): the momentum in a frame that moves on the base; the shape dynamics do not notice."""
    model, state = build(recipe)
    rng = rng_of(recipe)
    G, m = model.base, model.m
    g_1c, V_1c, forces = G.random(rng), rng.normal(size=m), rng.normal(size=model.nv)
    rel = fc.reduced_equations(model, state)
    moved = rel.in_frame(g_1c, V_1c)
    X, back = G.Ad(g_1c), G.Ad(G.inverse(g_1c))
    scale = sizes(moved)
    agree("Property 4: mu_c", moved.mu, back @ rel.mu)
    agree("Property 4: momentum", moved.Mb @ moved.mu, X.T @ (rel.Mb @ rel.mu), scale=scale)
    a, a_c = rel.forward(forces), moved.forward(np.concatenate([X.T @ forces[:m], forces[m:]]))
    size = max(1e-11, 1e-13 * max(np.linalg.cond(rel.Lambda), np.linalg.cond(moved.Lambda)))
    agree("Property 4: dmu_c/dt", a_c[:m], back @ a[:m] - G.ad(V_1c) @ moved.mu, size)
    agree("Property 5: shape accelerations", a_c[m:], a[m:], size)
    agree("Property 5: Lq", moved.Lq, rel.Lq)
    agree("(32)", moved.A.T @ moved.Mb @ moved.A, rel.A.T @ rel.Mb @ rel.A, scale=scale)
    agree("(33)", moved.S.T @ moved.mu, rel.S.T @ rel.mu, scale=scale)
    agree("(34): D_mu skew", moved.D_mu, -moved.D_mu.T, scale=scale)
    agree("(34): -B, printed +B", moved.D_mu[m:, m:], -rel.B, scale=scale)
    turning = X.T @ rel.P @ X + moved.Mb @ G.ad(V_1c) + G.ad(V_1c).T @ moved.Mb
    agree("Property 5: passive", moved.D_q[:m, :m] + moved.D_q[:m, :m].T, turning, scale=scale)


def coupling_by_inertia(model, state, X, mu, rates):
    """`S(mu) rates` in a frame at `X = Ad(g_1c)`: the locked inertia's rate along the shape, by complex step."""
    moved = fc.dynamics.displace(model, state, 1j * STEP * np.concatenate([np.zeros(model.m), rates]))
    locked = fc.mass_matrix(model, moved)[: model.m, : model.m]
    return X.T @ np.imag(locked) @ X @ mu / STEP


@settings(max_examples=15)
@given(recipe=small)
def test_the_linearized_coupling_in_a_moving_frame(recipe):
    """(29) holds in every frame, however it moves: the coupling is bilinear, so its slopes are its values."""
    model, state = build(recipe)
    rng = rng_of(recipe)
    G, m = model.base, model.m
    g_1c = G.random(rng)
    rel = fc.reduced_equations(model, state).in_frame(g_1c, rng.normal(size=m))
    X, columns = G.Ad(g_1c), []
    for way in np.eye(model.nv):
        by_mu = coupling_by_inertia(model, state, X, way[:m], rel.rates)
        columns.append(by_mu + coupling_by_inertia(model, state, X, rel.mu, way[m:]))
    agree("(29) in a moving frame", rel.linearized_coupling(), np.stack(columns, axis=1), 1e-11, sizes(rel))
    agree("Property 2 in a moving frame", rel.P @ rel.mu, rel.S @ rel.rates, 1e-11, sizes(rel) * np.abs(rel.xi).max())


@settings(max_examples=15)
@given(recipe=small)
def test_a_frame_on_a_moving_frame(recipe):
    """`g_1d = g_1c g_cd` moves with `Ad(g_cd)^-1 V_1c + V_cd`."""
    model, state = build(recipe)
    rng = rng_of(recipe)
    G = model.base
    g_1c, g_cd, (V_1c, V_cd) = G.random(rng), G.random(rng), rng.normal(size=(2, model.m))
    rel = fc.reduced_equations(model, state)
    twice = rel.in_frame(g_1c, V_1c).in_frame(g_cd, V_cd)
    once = rel.in_frame(g_1c @ g_cd, G.Ad(G.inverse(g_cd)) @ V_1c + V_cd)
    for field in ("Mb", "A", "mu", "P", "S", "Lq", "Gamma", "B", "D_q", "D_mu", "g", "xi"):
        agree(f"frame on a frame: {field}", getattr(twice, field), getattr(once, field), 1e-11, sizes(once))


def shifted(model, H):
    """The same robot with its base frame at `H` of the base link."""
    back, base = np.linalg.inv(H), model.links[0]
    links = (fc.Link(base.name, base.body.moved(back)), *model.links[1:])
    joints = [replace(j, placement=back @ j.placement) if j.parent == base.name else j for j in model.joints]
    return replace(model, links=links, joints=tuple(joints))


@settings(max_examples=15)
@given(recipe=robots(largest=6, bases=(SE3(),)))
def test_property_6(recipe):
    """The curvature is a vector: in another base frame it is `Ad^-1 DA`; a robot with that frame agrees."""
    model, state = build(recipe)
    H = SE3().random(rng_of(recipe))
    other = shifted(model, H)
    at = fc.State(state.pose @ H, state.joints, SE3().Ad(np.linalg.inv(H)) @ state.twist, state.rates)
    back = SE3().Ad(np.linalg.inv(H))
    F = fc.curvature(model, state)
    agree("Property 6: connection", fc.connection(other, at), back @ fc.connection(model, state), 1e-11)
    agree("Property 6: curvature", fc.curvature(other, at), np.einsum("ab,bij->aij", back, F), 1e-11)
    rel, theirs = fc.reduced_equations(model, state), fc.reduced_equations(other, at)
    ours = rel.in_frame(H, np.zeros(6))
    for field in ("Mb", "A", "mu", "P", "S", "Lq", "Gamma", "B", "D_q", "D_mu", "g"):
        agree(f"shifted base: {field}", getattr(ours, field), getattr(theirs, field), 1e-11, sizes(ours))


def test_a_robot_without_joints_is_a_rigid_body():
    """Euler-Poincare: `Mb dmu/dt = adt(Mb mu) mu + F`."""
    body = fc.robots.free_body()
    state = body.random_state(np.random.default_rng(0))
    rel = fc.reduced_equations(body, state)
    assert rel.A.shape == (6, 0)
    assert rel.B.shape == (0, 0)
    F = np.arange(6.0)
    agree("one body", rel.forward(F), fc.forward_dynamics(body, state, F))
    agree("one body, (12)", rel.D_mu, SE3().adt(rel.Mb @ rel.mu))
