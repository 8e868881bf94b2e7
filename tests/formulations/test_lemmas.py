"""Steps of proofs that have numbers of their own: [Mishra] (22)-(25), (63)-(68); [Feurstein] (3.48)-(3.56)."""

import numpy as np
from hypothesis import given, settings
from oracles import reduced_sums
from random_robots import BASES, build, rng_of, robots
from residuals import agree

import fallingcat as fc
from fallingcat.lie import SE3, Trivial

STEP = 1e-40
MOVING = tuple(base for base in BASES if not isinstance(base, Trivial))
G = SE3()
ad, adt, Ad = G.ad, G.adt, G.Ad


def without_momentum(model, state):
    """Links with ``J~ = J - Ad A`` and its rate, ([Mishra] (14))."""
    A, A_dot = reduced_sums.connection(model, state), reduced_sums.connection_rate(model, state)
    for k in reduced_sums.links(model, state):
        yield k, k.J - k.Ad @ A, k.J_dot - k.Ad_dot @ A - k.Ad @ A_dot


@settings(max_examples=8)
@given(recipe=robots(largest=5, bases=(SE3(),)))
def test_sums_over_links(recipe):
    """Property 10 (67) and Lemma 12 (68a)-(68e)."""
    model, state = build(recipe)
    qd, mu = state.rates, rng_of(recipe).normal(size=6)
    parts = list(without_momentum(model, state))
    sums = {
        "(68a)": sum(k.Ad.T @ k.M @ J for k, J, _ in parts),
        "(68b)": sum(k.Ad.T @ (k.M @ J_dot - ad(J @ qd).T @ k.M @ J) for k, J, J_dot in parts),
        "(68c)": sum(k.Ad.T @ adt(k.M @ J @ qd) @ k.Ad for k, J, _ in parts),
        "(68d)": sum(k.Ad.T @ ad(k.Ad @ mu).T @ k.M @ J for k, J, _ in parts),
        "(68e)": sum(k.Ad.T @ (ad(k.J @ qd).T - ad(J @ qd).T) @ k.M @ J for k, J, _ in parts),
    }
    size = max(np.abs(k.M).max() * max(1.0, np.abs(k.Ad).max()) ** 2 for k, _, _ in parts)
    size *= max(
        1.0, *(np.abs(J).max(initial=0.0) ** 2 for _, J, _ in parts), np.abs(qd).max(initial=0.0), np.abs(mu).max()
    )
    for name, found in sums.items():
        agree(name, found, np.zeros(found.shape), 1e-11, size * max(1.0, np.abs(qd).max(initial=0.0)))
    whole = sum(k.Ad.T @ ad(k.Ad @ mu).T @ k.M @ k.Ad for k, _, _ in parts)
    agree("(67)", whole, ad(mu).T @ reduced_sums.locked_inertia(model, state), 1e-11)


@settings(max_examples=8)
@given(recipe=robots(largest=5, bases=(SE3(),)))
def test_blocks_of_the_changed_matrix(recipe):
    """Lemma 9, (22)-(25): the newton_euler matrix, changed to the locked velocity."""
    model, state = build(recipe)
    C = fc.equations(model, state, "newton_euler").change(fc.changes.locked(model, state)).C
    rel, qd = fc.reduced_equations(model, state), state.rates
    A, mu, Mb = rel.A, rel.mu, rel.Mb
    parts = list(without_momentum(model, state))
    scale = max(1.0, float(np.abs(C).max()))
    agree("(22)", C[:6, :6], -ad(mu).T @ Mb + ad(A @ qd).T @ Mb + rel.P, 1e-11, scale)
    agree("(23)", C[:6, 6:], np.zeros((6, model.n)), 1e-11, scale)
    S_half = sum(k.J.T @ ad(k.Ad @ mu).T @ k.M @ k.Ad for k, _, _ in parts)
    B_1 = sum((J.T @ ad(J @ qd).T @ k.M + J.T @ k.M @ ad(k.J @ qd)) @ k.Ad for k, J, _ in parts)
    agree("(24)", C[6:, :6], A.T @ ad(mu).T @ Mb - S_half - B_1, 1e-10, scale)
    B_2 = sum(J.T @ ad(k.Ad @ mu).T @ k.M @ J for k, J, _ in parts)
    shape = sum(J.T @ (-ad(J @ qd).T @ k.M @ J + k.M @ J_dot) for k, J, J_dot in parts)
    agree("(25)", C[6:, 6:], shape - B_2, 1e-10, scale)


def test_a_body_seen_from_a_moving_frame():
    """(63)-(65), Property 8, Property 9: rates of Ad and of momenta, and the skew symmetry that survives."""
    rng = np.random.default_rng(0)
    g, V, x, y, V_kc = G.random(rng), *rng.normal(size=(4, 6))
    later = g @ (np.eye(4) + G.hat(1j * STEP * V))
    agree("(63)", np.imag(Ad(later)) / STEP @ x, Ad(g) @ ad(V) @ x)
    spatial = np.linalg.inv(Ad(later)).T @ (y + 1j * STEP * x)  # of a momentum whose components change with x
    agree("(64)", np.imag(spatial) / STEP, np.linalg.inv(Ad(g)).T @ (x - ad(V).T @ y))
    M = fc.robots.free_body().links[0].body.spatial_inertia
    V_k, a = rng.normal(size=(2, 6))
    F = M @ a - ad(V_k).T @ M @ V_k  # (2)
    X, bar_M, bar_V = Ad(g), Ad(g).T @ M @ Ad(g), np.linalg.solve(Ad(g), V_k)
    bar_a = np.linalg.solve(X, a) - ad(V_kc) @ bar_V  # the frame g_kc moves on the body with V_kc
    C = -adt(bar_M @ bar_V) + bar_M @ ad(V_kc)
    agree("(65)", bar_M @ bar_a + C @ bar_V, X.T @ F, 1e-12)
    rate = bar_M @ ad(V_kc) + ad(V_kc).T @ bar_M
    agree("skew", rate - C - C.T, np.zeros((6, 6)), 1e-12)


@settings(max_examples=10)
@given(recipe=robots(largest=4, bases=MOVING))
def test_gradients_of_jacobians(recipe):
    """[Feurstein] (3.48)-(3.50), Lemmas 3.2 and 3.3: by complex step, for robots of angles and lengths."""
    rng = rng_of(recipe)
    model = fc.robots.random_tree(rng, recipe.joints, ["revolute", "prismatic", "helical"], base=SE3())
    state = model.random_state(rng)
    nu, qd = state.twist, state.rates
    b, q, g = np.zeros(model.n), np.zeros(model.n), np.zeros(model.n)

    def at(link, direction):
        moved = fc.dynamics.displace(model, state, 1j * STEP * np.concatenate([np.zeros(6), direction]))
        return np.imag(fc.jacobian(model, moved, link)) / STEP

    for link in model.links:
        J, L = fc.jacobian(model, state, link.name), link.body.spatial_inertia
        slopes = [at(link.name, e) for e in np.eye(model.n)]
        A_q = np.array([x[:, :6] @ nu for x in slopes]).T.reshape(6, model.n)  # (3.47), its columns
        J_q = np.array([x[:, 6:] @ qd for x in slopes]).T.reshape(6, model.n)
        along = at(link.name, qd)[:, 6:]
        agree(
            "Lemma 3.2 (3.55)", J_q - along, ad(J[:, 6:] @ qd) @ J[:, 6:], 1e-11, max(1.0, np.abs(J_q).max(initial=0.0))
        )
        agree("Lemma 3.3 (3.56)", A_q, ad(J[:, :6] @ nu) @ J[:, 6:], 1e-11, max(1.0, np.abs(A_q).max(initial=0.0)))
        u, w = J[:, :6] @ nu, J[:, 6:] @ qd
        b, q, g = b + 2.0 * A_q.T @ L @ u, q + 2.0 * J_q.T @ L @ w, g + J_q.T @ L @ u + A_q.T @ L @ w
    M_i = []
    for e in np.eye(model.n):
        moved = fc.dynamics.displace(model, state, 1j * STEP * np.concatenate([np.zeros(6), e]))
        M_i.append(np.imag(fc.mass_matrix(model, moved)) / STEP)
    scale = max(1.0, *(np.abs(x).max() for x in M_i)) * max(1.0, np.abs(state.velocity).max()) ** 2 if M_i else 1.0
    agree("(3.48)", b, np.array([nu @ X[:6, :6] @ nu for X in M_i]), 1e-10, scale)
    agree("(3.49)", g, np.array([nu @ X[:6, 6:] @ qd for X in M_i]), 1e-10, scale)
    agree("(3.50)", q, np.array([qd @ X[6:, 6:] @ qd for X in M_i]), 1e-10, scale)
