"""The formulations on every kind of number: one code, five kinds, the same answers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy
from kinds import KINDS
from residuals import agree

import fallingcat as fc
from fallingcat.lie import SE2, SE3, SO3
from fallingcat.model import Prismatic, Revolute, Spherical, Universal

Z = (0.0, 0.0, 1.0)


def robot(base, *kinds, gravity=(0.0, 0.0, -9.81)):
    """A chain with bodies and placements that no symmetry simplifies."""
    rng = np.random.default_rng(len(kinds))
    bodies = [fc.robots.random_tree(rng, 0).links[0].body for _ in range(len(kinds) + 1)]
    links = tuple(fc.Link(f"link{i}", body) for i, body in enumerate(bodies))
    joints = []
    for i, kind in enumerate(kinds):
        H = np.eye(4)
        H[:3, 3] = rng.normal(scale=0.3, size=3)
        joints.append(fc.Joint(f"joint{i}", kind, f"link{i}", f"link{i + 1}", H))
    return fc.Model("chain", base, links, tuple(joints), np.array(gravity))


ROBOTS = {
    "hinge and ball": robot(SE3(), Revolute((0.6, 0.0, 0.8)), Spherical()),
    "cardan on a ball": robot(SO3(), Universal(), Prismatic((0.6, 0.8, 0.0))),
    "planar arm": robot(SE2(), Revolute(Z), Revolute(Z), gravity=(0.0, -9.81, 0.0)),
}


def changed(make, what="C"):
    def function(m, s, x, y):
        change = make(m, s)
        eom = fc.equations(m, s).change(change)
        return {"M": eom.M, "C": eom.C, "g": eom.g, "T_dot": change.T_dot, "back": eom.forward(eom.forces(eom.v))}[what]

    return function


def reduced(field):
    return lambda m, s, x, y: getattr(fc.reduced_equations(m, s), field)


FUNCTIONS = {
    "equations": lambda m, s, x, y: fc.equations(m, s).C,
    "mixed": changed(fc.mixed),
    "inertial": changed(fc.inertial),
    "centroidal": changed(fc.centroidal),
    "centroidal M": changed(fc.centroidal, "M"),
    "centroidal g": changed(fc.centroidal, "g"),
    "locked": changed(fc.locked),
    "momentum map": changed(fc.momentum_map),
    "momentum map T_dot": changed(lambda m, s: fc.momentum_map(m, s, "world"), "T_dot"),
    "forward": changed(fc.centroidal, "back"),
    "connection": lambda m, s, x, y: fc.connection(m, s),
    "connection_derivative": lambda m, s, x, y: fc.connection_derivative(m, s),
    "curvature": lambda m, s, x, y: fc.curvature(m, s),
    "curvature slice": lambda m, s, x, y: fc.curvature(m, s, x, y),
    "reduced Gamma": reduced("Gamma"),
    "reduced B": reduced("B"),
    "reduced D_mu": reduced("D_mu"),
    "reduced D_q": reduced("D_q"),
    "reduced Lq": reduced("Lq"),
    "reduced g": reduced("g"),
    "reduced forward": lambda m, s, x, y: fc.reduced_equations(m, s).forward(s.velocity),
    "internal jacobian": lambda m, s, x, y: fc.internal_jacobian(m, s, m.link_names[-1]),
}
ON_SE3 = {
    "base at": changed(lambda m, s: fc.base_at(m, s, m.link_names[-1])),
    "base at E[F]": changed(lambda m, s: fc.base_at(m, s, "link1", orientation="link0", representation="mixed")),
    "G[B]": changed(fc.center_of_mass_base),
    "fixed at": lambda m, s, x, y: fc.fixed_at(m, s, m.link_names[-1]).C,
    "fixed at, wrench": lambda m, s, x, y: fc.fixed_at(m, s, m.link_names[-1]).wrench(x),
}
TOLERANCE = 1e-10


def functions(model):
    return FUNCTIONS | ON_SE3 if isinstance(model.base, SE3) else FUNCTIONS


def inputs(model, seed=0):
    rng = np.random.default_rng(seed)
    q, v = model.flatten(model.random_state(rng))
    return q, v, *rng.normal(size=(2, model.n))


def flat(function, model):
    return lambda q, v, x, y: function(model, model.unflatten(q, v), x, y)


@pytest.mark.parametrize("kind", ["traced", "casadi"])
@pytest.mark.parametrize("name", ROBOTS)
def test_traced_and_casadi(name, kind):
    model = ROBOTS[name]
    x = inputs(model)
    for f in (flat(f, model) for f in functions(model).values()):
        agree(f"{kind} = float", KINDS[kind](f, *x), f(*x), TOLERANCE)


@pytest.mark.parametrize("function", ["connection", "curvature slice", "reduced B", "reduced Gamma", "mixed", "locked"])
def test_sympy(function):
    model = ROBOTS["planar arm"]
    f, x = flat(FUNCTIONS[function], model), inputs(model)
    agree("sympy = float", KINDS["sympy"](f, *x), f(*x), TOLERANCE)


@pytest.mark.parametrize("name", ROBOTS)
def test_jax(name):
    """All functions in one compilation, under jit of vmap."""
    model = ROBOTS[name]
    batch = [inputs(model, seed) for seed in range(3)]
    chosen = {k: flat(f, model) for k, f in functions(model).items()}

    def everything(q, v, x, y):
        return {k: f(q, v, x, y) for k, f in chosen.items()}

    with jax.enable_x64(True):
        found = jax.jit(jax.vmap(everything))(*(jnp.stack(x) for x in zip(*batch, strict=True)))
    for i, x in enumerate(batch):
        for function, wanted in everything(*x).items():
            agree("jax (jit of vmap) = float", found[function][i], wanted, TOLERANCE)


def test_jacfwd_of_the_connection_is_the_curvature():
    """JAX differentiates the connection; the definition makes the curvature of it."""
    model = ROBOTS["planar arm"]
    state = model.random_state(np.random.default_rng(0))
    with jax.enable_x64(True):
        dA = np.asarray(jax.jacfwd(lambda q: fc.connection(model, state._replace(joints=q)))(jnp.asarray(state.joints)))
    A = fc.connection(model, state)
    wanted = dA[:, 1, 0] - dA[:, 0, 1] - model.base.ad(A[:, 0]) @ A[:, 1]
    agree("jax.jacfwd of A", fc.curvature(model, state)[:, 0, 1], wanted)


def test_sympy_finds_the_closed_form_of_the_hopper():
    """The connection of the revolute leg is `(A + B cos q) / (a + 2 B cos q)`: [Feurstein], sample program."""
    hopper, q = fc.robots.revolute_hopper(), sympy.Symbol("q", real=True)
    numbers = np.array([q], dtype=object)
    state = fc.State(np.eye(4), numbers, np.zeros(3), np.zeros(1))
    ours = fc.connection(hopper, state)[2, 0]
    m01, m02, m11 = 0.835, 0.122, 0.05
    A, B = m01 * m11 + m02 * m11, 2 * m01 * m11 + m02 * m11
    a = m01 * m02 + 5 * m01 * m11 + 2 * m02 * m11
    closed = (A + B * sympy.cos(q)) / (a + 2 * B * sympy.cos(q))
    for value in (-2.0, 0.3, 1.7):
        agree("sympy: connection of the hopper", float(ours.subs(q, value)), float(closed.subs(q, value)))
