"""The formulations on every kind of number: one code, five kinds, the same answers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy
from kinds import KINDS
from residuals import agree

import fallingcat as fc
from fallingcat.arrays import concatenate
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


def changes(model, state):
    """The changes of velocity, each with a different algorithm behind it."""
    out = [
        fc.changes.inertial(model, state),
        fc.changes.centroidal(model, state),
        fc.changes.momentum_map(model, state, "world"),
    ]
    if isinstance(model.base, SE3):
        out += [
            fc.changes.base_at(model, state, "link1", orientation="link0", representation="mixed"),
            fc.changes.center_of_mass_base(model, state),
        ]
    return out


def everything(model, state, x, y):
    """All that the formulations compute, by name."""
    out = {"curvature": fc.curvature(model, state), "curvature slice": fc.curvature(model, state, x, y)}
    eom = fc.equations(model, state)
    for change in changes(model, state):
        changed = eom.change(change)
        out |= {f"{change.name} {what}": getattr(changed, what) for what in ("M", "C", "g", "Mdot", "v")}
    out["changed forward"] = changed.forward(changed.forces(changed.v))
    rel = fc.reduced_equations(model, state)
    out |= {f"reduced {what}": getattr(rel, what) for what in ("A", "Lq", "Gamma", "B", "D_q", "D_mu", "g")}
    out["reduced forward"] = rel.forward(state.velocity)
    out["internal jacobian"] = fc.formulations.internal_jacobian(model, state, model.link_names[-1])
    if isinstance(model.base, SE3):
        fixed = fc.formulations.fixed_at(model, state, model.link_names[-1])
        out |= {"fixed at C": fixed.C, "fixed at wrench": fixed.wrench(x)}
    return out


TOLERANCE = 1e-10


def inputs(model, seed=0):
    rng = np.random.default_rng(seed)
    q, v = model.flatten(model.random_state(rng))
    return q, v, *rng.normal(size=(2, model.n))


def flat(model):
    """Everything as one vector."""

    def function(q, v, x, y):
        found = everything(model, model.unflatten(q, v), x, y)
        return concatenate([part.reshape(-1) for part in found.values()])

    return function


def slow_for(kind):
    """Graphs of CasADi and programs of JAX take long to build: the small robot always, the large ones on request."""
    return [
        pytest.param(name, marks=[] if name == "planar arm" or kind == "traced" else pytest.mark.slow)
        for name in ROBOTS
    ]


def check(kind, name):
    model = ROBOTS[name]
    x = inputs(model)
    agree(f"{kind} = float", KINDS[kind](flat(model), *x), flat(model)(*x), TOLERANCE)


@pytest.mark.parametrize("name", slow_for("traced"))
def test_traced(name):
    check("traced", name)


@pytest.mark.parametrize("name", slow_for("casadi"))
def test_casadi(name):
    check("casadi", name)


@pytest.mark.parametrize("name", slow_for("jax"))
def test_jax(name):
    """In one compilation, jit of vmap."""
    model = ROBOTS[name]
    batch = [inputs(model, seed) for seed in range(3)]
    with jax.enable_x64(True):
        found = jax.jit(jax.vmap(flat(model)))(*(jnp.stack(x) for x in zip(*batch, strict=True)))
    for i, x in enumerate(batch):
        agree("jax (jit of vmap) = float", found[i], flat(model)(*x), TOLERANCE)


IN_SYMPY = {
    "curvature slice": lambda m, s, x, y: fc.curvature(m, s, x, y),
    "mixed": lambda m, s, x, y: fc.equations(m, s).change(fc.changes.mixed(m, s)).C,
    "reduced B": lambda m, s, x, y: fc.reduced_equations(m, s).B,
    "reduced Gamma": lambda m, s, x, y: fc.reduced_equations(m, s).Gamma,
}


@pytest.mark.parametrize("function", IN_SYMPY)
def test_sympy(function):
    model = ROBOTS["planar arm"]
    f = lambda q, v, x, y: IN_SYMPY[function](model, model.unflatten(q, v), x, y)  # noqa: E731
    x = inputs(model)
    agree("sympy = float", KINDS["sympy"](f, *x), f(*x), TOLERANCE)


def test_jacfwd_of_the_connection_is_the_curvature():
    """JAX differentiates the connection; the definition makes the curvature of it."""
    model = ROBOTS["planar arm"]
    state = model.random_state(np.random.default_rng(0))
    with jax.enable_x64(True):
        derivative = jax.jit(jax.jacfwd(lambda q: fc.connection(model, state._replace(joints=q))))
        dA = np.asarray(derivative(jnp.asarray(state.joints)))
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
