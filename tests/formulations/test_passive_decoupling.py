"""docs/theory/passive_decoupling.md: no passive Coriolis matrix decouples, unless the locked inertia is carried along.

[Feurstein] 3.3.2 and 5 leave open whether a passive `C` with `C_xy = 0` exists.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from random_robots import BASES, build, rng_of, robots
from residuals import agree, residual

import fallingcat as fc
from fallingcat.lie import R3, SE2, SE3
from fallingcat.model import Revolute

PASSIVE = ("passive", "coadjoint", "christoffel")
seeds = pytest.mark.parametrize("seed", range(5))


def slopes(model, state):
    """`dM_b/dq_i`, symmetric (n x m x m), by the columns of `S(mu)` at unit vectors."""
    columns = np.stack([fc.formulations.locked_inertia_slope(model, state, e) for e in np.eye(model.m)])  # k, :, i
    return np.moveaxis(columns, 2, 0).transpose(0, 2, 1)


def defects(model, state):
    """`D_i = dM_b/dq_i + ad(A_i)' M_b + M_b ad(A_i)` (n x m x m): zero where a passive matrix decouples."""
    A, M, ad = fc.connection(model, state), fc.mass_matrix(model, state)[: model.m, : model.m], model.base.ad
    return np.array([N + ad(a).T @ M + M @ ad(a) for N, a in zip(slopes(model, state), A.T, strict=True)])


def at_rest(model, state, mu):
    """The state with joints at rest that moves with the locked velocity `mu`."""
    return state._replace(twist=mu, rates=np.zeros(model.n))


def wheels(inertia, base=None):
    """A body with a balanced wheel about each axis: its locked inertia does not depend on their angles."""
    base = SE3() if base is None else base
    axes = np.eye(3) if base == SE3() else [(0.0, 0.0, 1.0)]
    links = [fc.Link("body", fc.Body(2.0, np.zeros(3), np.diag(inertia)))]
    joints = []
    for k, axis in enumerate(axes):
        links.append(fc.Link(f"wheel{k}", fc.Body(0.1, np.zeros(3), 0.01 * (np.eye(3) + np.outer(axis, axis)))))
        joints.append(fc.Joint(f"spin{k}", Revolute(tuple(axis)), parent="body", child=f"wheel{k}"))
    return fc.Model("wheels", base, tuple(links), tuple(joints))


@settings(max_examples=8)
@given(recipe=robots(largest=5, bases=tuple(base for base in BASES if base.dim)))
def test_the_force_that_no_decoupled_passive_matrix_can_give(recipe):
    """With joints at rest every Coriolis matrix pushes joint `i` by `-mu' D_i mu / 2`, whatever `T_x` and `T_y` are."""
    model, state = build(recipe)
    rng = rng_of(recipe)
    mu = rng.normal(size=model.m)
    still = at_rest(model, state, mu)
    forces = -0.5 * np.einsum("a,iab,b->i", mu, defects(model, still), mu)
    change = fc.changes.decoupling(model, still, Tx=np.eye(model.m) + 0.1 * rng.normal(size=(model.m, model.m)))
    for name in PASSIVE:
        eom = fc.equations(model, still, name).change(change)
        agree("C_yx = -C_xy'", eom.C[model.m :, : model.m], -eom.C[: model.m, model.m :].T, 1e-9, np.abs(eom.C).max())
        agree(name, (eom.C @ eom.v)[model.m :], forces, 1e-9, max(1.0, np.abs(eom.C).max()))


@seeds
def test_on_random_trees_it_does_not_vanish(seed):
    rng = np.random.default_rng(seed)
    model = fc.robots.random_tree(rng, 5, kinds=["revolute", "prismatic"])
    state = model.random_state(rng)
    assert np.abs(defects(model, state)).max() > 1e-3
    for name in PASSIVE:
        assert np.abs(fc.equations(model, state, name).change(fc.changes.locked(model, state)).C[:6, 6:]).max() > 1e-3


def decoupled(model, state):
    """The matrix of the theorem: `diag(-M_b ad(A qd) - ad~(M_b mu), Gamma' + B~)`."""
    rel = fc.reduced_equations(model, state)
    m, n = model.m, model.n
    top = -rel.Mb @ model.base.ad(rel.A @ state.rates) - model.base.adt(rel.Mb @ rel.mu)
    low = rel.D_q[m:, m:] - rel.D_mu[m:, m:]
    return np.block([[top, np.zeros((m, n))], [np.zeros((n, m)), low]])


CARRIED = {
    "translations": lambda rng: fc.robots.random_tree(rng, 4, base=R3(), kinds=["revolute", "prismatic"]),
    "a wheel in the plane": lambda rng: wheels((0.3, 0.3, 0.5), SE2()),
    "wheels on a ball": lambda rng: wheels((0.3, 0.3, 0.3)),
}


@seeds
@pytest.mark.parametrize("name", CARRIED)
def test_where_the_inertia_is_carried_along_a_passive_matrix_decouples(name, seed):
    """Sufficiency: block diagonal, passive, and the forces are those of every other Coriolis matrix."""
    rng = np.random.default_rng(seed)
    model = CARRIED[name](rng)
    state = model.random_state(rng)
    agree("D_i = 0", defects(model, state), np.zeros((model.n, model.m, model.m)), 1e-12, 1.0)
    eom = fc.equations(model, state).change(fc.changes.locked(model, state))
    C = decoupled(model, state)
    agree("passive", C + C.T, eom.Mdot, 1e-11, 1.0)
    agree("forces", C @ eom.v, eom.C @ eom.v, 1e-11, 1.0)


def test_wheels_on_any_other_body_do_not():
    """The locked inertia is constant, and is not carried along by the connection: wheels alone are not enough."""
    model = wheels((0.2, 0.3, 0.4))
    state = model.random_state(np.random.default_rng(0))
    assert np.abs(slopes(model, state)).max() < 1e-12
    assert np.abs(defects(model, state)).max() > 1e-3


@seeds
def test_what_the_condition_says_of_the_robot(seed):
    """On SE(3) it keeps the principal moments: a joint that changes one breaks it."""
    rng = np.random.default_rng(seed)
    model = fc.robots.random_tree(rng, 3, kinds=["revolute"])
    state = model.random_state(rng)
    step = 1e-5

    def moments(q):
        return np.linalg.eigvalsh(fc.dynamics.locked_inertia(model, state._replace(joints=q), "centroidal")[3:, 3:])

    q = state.joints
    changes = [(moments(q + step * e) - moments(q - step * e)) / (2.0 * step) for e in np.eye(model.n)]
    assert residual(np.array(changes), np.zeros((model.n, 3))) > 1e-4
    broken = np.abs(defects(model, state)).max(axis=(1, 2)) > 1e-9
    assert all(broken[i] for i in range(model.n) if np.abs(changes[i]).max() > 1e-6)
