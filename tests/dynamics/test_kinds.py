"""The dynamics on every kind of number: one code, five kinds, the same answers."""

import subprocess
import sys
from dataclasses import replace

import casadi
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy
from kinds import KINDS
from residuals import agree

import fallingcat as fc
from fallingcat.arrays import array, concatenate, from_casadi, to_casadi
from fallingcat.lie import SE2, SE3, SO3, Trivial
from fallingcat.model import Planar, Prismatic, Revolute, Spherical, Universal


def robot(name, base, *kinds, gravity=(0.0, 0.0, -9.81)):
    """A chain with bodies and placements that no symmetry simplifies, and rotors."""
    rng = np.random.default_rng(len(kinds))
    bodies = [fc.robots.random_tree(rng, 0).links[0].body for _ in range(len(kinds) + 1)]
    links = tuple(fc.Link(f"link{i}", body) for i, body in enumerate(bodies))
    joints = []
    for i, kind in enumerate(kinds):
        H = np.eye(4)
        H[:3, 3] = rng.normal(scale=0.3, size=3)
        armature = 0.0 if isinstance(kind, Planar) else 0.1 + 0.2 * i
        joints.append(fc.Joint(f"joint{i}", kind, f"link{i}", f"link{i + 1}", H, armature=armature))
    return fc.Model(name, base, links, tuple(joints), np.array(gravity))


def following(model):
    """The first and the last joint follow the one between them."""
    first, leader, last = model.joints
    mimics = fc.model.Mimic(leader.name, -0.7, 0.3), None, fc.model.Mimic(leader.name, 1.5)
    return replace(model, joints=tuple(replace(j, mimic=m) for j, m in zip((first, leader, last), mimics, strict=True)))


ROBOTS = {
    "free hinge": robot("free hinge", SE3(), Revolute((0.6, 0.0, 0.8))),
    "ball": robot("ball", Trivial(), Spherical()),
    "ball on a ball": robot("ball on a ball", SO3(), Spherical()),
    "cardan and slider": robot("cardan and slider", Trivial(), Universal(), Prismatic((0.6, 0.8, 0.0))),
    "cardan and table": robot("cardan and table", Trivial(), Universal(), Planar()),
    "table on a cart": robot("table on a cart", SE2(), Planar()),
    "followers": following(robot("followers", SE3(), Revolute((0.6, 0.0, 0.8)), Prismatic(), Revolute())),
    "branches": robot("branches", SE3(), Spherical(), Universal(), Planar()),
}

WRENCHES = {"link1": np.arange(6.0)}
FUNCTIONS = {
    "inverse_dynamics": lambda m, s, a: fc.inverse_dynamics(m, s, a),
    "inverse_dynamics with wrenches": lambda m, s, a: fc.inverse_dynamics(m, s, a, WRENCHES, "inertial"),
    "forward_dynamics": lambda m, s, a: fc.forward_dynamics(m, s, a),
    "mass_matrix": lambda m, s, a: fc.mass_matrix(m, s),
    "mass_matrix_derivative": lambda m, s, a: fc.mass_matrix_derivative(m, s),
    "gravity_forces": lambda m, s, a: fc.gravity_forces(m, s),
    **{
        f"coriolis_matrix {name}": lambda m, s, a, name=name: fc.coriolis_matrix(m, s, name)
        for name in fc.dynamics.FACTORIZATIONS
    },
    "momentum base": lambda m, s, a: fc.momentum(m, s, "base"),
    "momentum world": lambda m, s, a: fc.momentum(m, s, "world"),
    "momentum centroidal": lambda m, s, a: fc.momentum(m, s, "centroidal"),
    "centroidal rate": lambda m, s, a: fc.dynamics.centroidal_momentum_matrix_derivative(m, s),
    "jacobian": lambda m, s, a: fc.jacobian(m, s, m.link_names[-1]),
    "jacobian mixed": lambda m, s, a: fc.jacobian(m, s, m.link_names[-1], "mixed", point=np.ones(3)),
    "jacobian_derivative": lambda m, s, a: fc.dynamics.jacobian_derivative(m, s, m.link_names[-1], "inertial"),
    "link_acceleration": lambda m, s, a: fc.dynamics.link_acceleration(m, s, a, m.link_names[-1]),
    "center_of_mass": lambda m, s, a: fc.center_of_mass(m, s),
    "kinetic_energy": lambda m, s, a: array([fc.kinetic_energy(m, s)]),
    "potential_energy": lambda m, s, a: array([fc.potential_energy(m, s)]),
    "average_velocity": lambda m, s, a: fc.dynamics.average_velocity(m, s),
    "displace": lambda m, s, a: fc.dynamics.displace(m, s, a).pose,
    "constrained": lambda m, s, a: (
        fc.dynamics.constrained_forward_dynamics(m, s, a, np.ones((1, m.nv)), np.zeros(1)).acceleration
    ),
    "derivatives by configuration": lambda m, s, a: fc.inverse_dynamics_derivatives(m, s, a).configuration,
    "derivatives by velocity": lambda m, s, a: fc.inverse_dynamics_derivatives(m, s, a).velocity,
    "linearize": lambda m, s, a: fc.linearize(m, s, a, WRENCHES, "inertial")[0],
    "kinematic_hessian": lambda m, s, a: fc.dynamics.kinematic_hessian(m, s, m.link_names[-1], "mixed").ravel(),
    "centroidal derivatives": lambda m, s, a: concatenate(fc.dynamics.centroidal_dynamics_derivatives(m, s, a)),
}
TOLERANCE = {"linearize": 1e-10, "forward_dynamics": 1e-11, "constrained": 1e-11}  # what solves equations
IN_SYMPY = (
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "mass_matrix_derivative",
    *(name for name in FUNCTIONS if name.startswith("coriolis_matrix")),
    "momentum world",
    "jacobian",
    "derivatives by velocity",
    "kinematic_hessian",
)


def inputs(model, seed=0):
    rng = np.random.default_rng(seed)
    q, v = model.flatten(model.random_state(rng))
    return q, v, rng.normal(size=model.nv)


def flat(function, model):
    """The function of flat numbers `q, v, a`."""
    return lambda q, v, a: function(model, model.unflatten(q, v), a)


EVERYTHING = [(name, kind) for name in ROBOTS for kind in ("traced", "casadi")]
LONG = ("branches", "casadi"), ("branches", "traced"), ("cardan and table", "casadi"), ("cardan and slider", "casadi")


@pytest.mark.parametrize(
    ("name", "kind"), [pytest.param(*x, marks=pytest.mark.slow if x in LONG else ()) for x in EVERYTHING]
)
def test_traced_and_casadi(name, kind):
    model = ROBOTS[name]
    x = inputs(model)
    for function in FUNCTIONS:
        f = flat(FUNCTIONS[function], model)
        agree(f"{kind} = float", KINDS[kind](f, *x), f(*x), TOLERANCE.get(function, 1e-12))


@pytest.mark.parametrize(
    "name", [*(pytest.param(x, marks=pytest.mark.slow) for x in ("ball", "cardan and slider")), "table on a cart"]
)
def test_sympy(name):
    model = ROBOTS[name]
    x = inputs(model)
    for function in IN_SYMPY:
        f = flat(FUNCTIONS[function], model)
        agree("sympy = float", KINDS["sympy"](f, *x), f(*x))


def everything(model):
    """All functions at once, so that JAX compiles once."""
    functions = {name: flat(f, model) for name, f in FUNCTIONS.items()}
    return lambda q, v, a: {name: f(q, v, a) for name, f in functions.items()}


@pytest.mark.parametrize(
    "name", ["ball on a ball", *(pytest.param(x, marks=pytest.mark.slow) for x in ("free hinge", "cardan and table"))]
)
def test_jax(name):
    """Under jit, and the same under vmap of it."""
    model = ROBOTS[name]
    f, batch = everything(model), [inputs(model, seed) for seed in range(3)]
    with jax.enable_x64(True):
        found = jax.jit(jax.vmap(f))(*(jnp.stack(x) for x in zip(*batch, strict=True)))
    for i, x in enumerate(batch):
        for function, wanted in f(*x).items():
            assert found[function].dtype == np.float64
            agree("jax (jit of vmap) = float", found[function][i], wanted, TOLERANCE.get(function, 1e-12))


# JAX -----------------------------------------------------------------------------------------------------------


def with_velocity(model, state, v):
    return state._replace(twist=v[: model.m], rates=v[model.m :])


def test_the_gradient_of_the_energy_is_the_momentum():
    """`State` is a pytree: a gradient with respect to it is a State, and its velocity part is M v."""
    model = ROBOTS["free hinge"]
    state = model.random_state(np.random.default_rng(0))
    with jax.enable_x64(True):
        slope = jax.jit(jax.grad(lambda s: fc.kinetic_energy(model, s)))(jax.tree.map(jnp.asarray, state))
    assert isinstance(slope, fc.State)
    agree("jax.grad of T by velocity = M v", np.asarray(slope.velocity), fc.mass_matrix(model, state) @ state.velocity)
    agree("jax.grad of T by pose = 0", np.asarray(slope.pose), np.zeros((4, 4)))


@pytest.mark.parametrize("name", ["free hinge", "ball on a ball"])
def test_jacfwd_is_our_derivative(name):
    model = ROBOTS[name]
    state = model.random_state(np.random.default_rng(0))
    a = np.random.default_rng(1).normal(size=model.nv)

    def forces(v, d):
        return fc.inverse_dynamics(model, with_velocity(model, fc.dynamics.displace(model, state, d), v), a)

    with jax.enable_x64(True):
        by_v, by_q = jax.jit(jax.jacfwd(forces, argnums=(0, 1)))(jnp.asarray(state.velocity), jnp.zeros(model.nv))
    ours = fc.inverse_dynamics_derivatives(model, state, a)
    agree("jax.jacfwd by velocity = ours", np.asarray(by_v), ours.velocity)
    agree("jax.jacfwd by configuration = ours", np.asarray(by_q), ours.configuration)


def test_grad_through_forward_dynamics():
    """Reverse mode through the articulated-body sweep, against our derivatives."""
    model = ROBOTS["ball on a ball"]
    state = model.random_state(np.random.default_rng(0))
    forces, w = np.random.default_rng(1).normal(size=(2, model.nv))
    with jax.enable_x64(True):
        slope = jax.jit(jax.grad(lambda f: w @ fc.forward_dynamics(model, state, f)))(jnp.asarray(forces))
    agree("jax.grad of forward dynamics", np.asarray(slope), np.linalg.solve(fc.mass_matrix(model, state), w))


def test_a_model_is_a_static_argument():
    model = ROBOTS["free hinge"]
    compiled = jax.jit(fc.inverse_dynamics, static_argnums=0)
    state, a = model.random_state(np.random.default_rng(0)), np.ones(model.nv)
    with jax.enable_x64(True):
        found = compiled(model, state, a)
        compiled(model, state, 2.0 * a)
        assert compiled._cache_size() == 1
    agree("jit with a static model", np.asarray(found), fc.inverse_dynamics(model, state, a))


SINGLE_PRECISION = """
import jax, jax.numpy as jnp, numpy as np, fallingcat as fc
model = fc.robots.random_tree(np.random.default_rng(0), 2, kinds=["spherical", "revolute"])
state = model.random_state(np.random.default_rng(1))
single = jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), state)
ones = np.ones(model.nv)
for f, rest in [(fc.inverse_dynamics, (ones,)), (fc.forward_dynamics, (ones,)), (fc.mass_matrix, ()),
                (fc.coriolis_matrix, ()), (fc.momentum, ()), (fc.kinetic_energy, ())]:
    found = jax.jit(f, static_argnums=0)(model, single, *(jnp.float32(x) for x in rest))
    assert found.dtype == jnp.float32, f.__name__
    wanted = f(model, state, *rest)
    assert np.abs(found - wanted).max() < 1e-4 * np.abs(wanted).max(), f.__name__
"""


def test_float32_stays_float32():
    """JAX as it comes, without x64: single precision in, single precision out.

    In a process of its own: JAX 0.10 mixes up constants when x64 is switched off again after it was on.
    """
    done = subprocess.run([sys.executable, "-c", SINGLE_PRECISION], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


# CasADi --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["free hinge", "ball on a ball"])
def test_casadi_jacobian(name):
    """CasADi's own derivative by velocity is ours; so is its Jacobian by acceleration, the mass matrix."""
    model = ROBOTS[name]
    q, v, a = inputs(model)
    symbols = [casadi.SX.sym(letter, x.size) for letter, x in zip("qva", (q, v, a), strict=True)]
    forces = to_casadi(flat(FUNCTIONS["inverse_dynamics"], model)(*map(from_casadi, symbols)))
    function = casadi.Function("f", symbols, [forces, *(casadi.jacobian(forces, x) for x in symbols[1:])])
    found = [np.array(x) for x in function(q, v, a)]
    state = model.unflatten(q, v)
    ours = fc.inverse_dynamics_derivatives(model, state, a)
    agree("casadi = float", found[0][:, 0], fc.inverse_dynamics(model, state, a))
    agree("casadi.jacobian by velocity = ours", found[1], ours.velocity)
    agree("casadi.jacobian by acceleration = M", found[2], ours.acceleration)


# SymPy ---------------------------------------------------------------------------------------------------------


def textbook_arm():
    """Two links in the x-y plane on a fixed base, all numbers small integers, so that SymPy's answers are exact."""
    z = (0.0, 0.0, 1.0)
    H = np.eye(4)
    H[0, 3] = 2.0  # l1
    first = fc.Body(3.0, [1.0, 0.0, 0.0], np.diag([1.0, 1.0, 4.0]))  # m1, r1, I1
    second = fc.Body(5.0, [0.5, 0.0, 0.0], np.diag([1.0, 1.0, 6.0]))  # m2, r2, I2
    links = (fc.Link("base"), fc.Link("upper", first), fc.Link("lower", second))
    joints = (
        fc.Joint("shoulder", Revolute(z), "base", "upper"),
        fc.Joint("elbow", Revolute(z), "upper", "lower", H),
    )
    return fc.Model("arm", Trivial(), links, joints, np.array([0.0, -10.0, 0.0]))


@pytest.mark.slow
def test_sympy_gives_the_textbook_arm():
    """[ETH] (3.31), (3.33) for two links: M, C v and g in closed form, by heart of every course."""
    arm = textbook_arm()
    q1, q2, w1, w2 = sympy.symbols("q1 q2 w1 w2", real=True)
    state = arm.state(joints=np.array([q1, q2]), rates=np.array([w1, w2]))
    m1, r1, I1, l1, m2, r2, I2, g = 3, 1, 4, 2, 5, sympy.Rational(1, 2), 6, 10
    cos, sin = sympy.cos, sympy.sin
    M12 = I2 + m2 * (r2**2 + l1 * r2 * cos(q2))
    M = [[I1 + I2 + m1 * r1**2 + m2 * (l1**2 + r2**2 + 2 * l1 * r2 * cos(q2)), M12], [M12, I2 + m2 * r2**2]]
    h = m2 * l1 * r2 * sin(q2)
    coriolis = [-h * (2 * w1 * w2 + w2**2), h * w1**2]
    lower = m2 * g * r2 * cos(q1 + q2)
    gravity = [(m1 * r1 + m2 * l1) * g * cos(q1) + lower, lower]

    same(fc.mass_matrix(arm, state), M)
    same(fc.gravity_forces(arm, state), gravity)
    for name in fc.dynamics.FACTORIZATIONS:
        same(fc.coriolis_matrix(arm, state, name) @ state.velocity, coriolis)
    # the matrix of the Christoffel symbols, as every textbook prints it
    same(fc.coriolis_matrix(arm, state), [[-h * w2, -h * (w1 + w2)], [h * w1, 0]])
    T = (M[0][0] * w1**2 + 2 * M12 * w1 * w2 + M[1][1] * w2**2) / 2
    same([fc.kinetic_energy(arm, state)], [T])


def same(found, wanted):
    difference = np.ravel(np.asarray(found, dtype=object)) - np.ravel(np.asarray(wanted, dtype=object))
    for entry in difference:
        exact = sympy.nsimplify(sympy.sympify(entry), rational=True)
        assert sympy.simplify(sympy.expand_trig(exact)) == 0
