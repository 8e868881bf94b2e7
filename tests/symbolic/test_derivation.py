"""Closed forms: equal to the core in numbers, and to each other as expressions."""

import dataclasses

import numpy as np
import pytest
import sympy

import fallingcat as fc
from fallingcat.changes import decoupling
from fallingcat.symbolic.frames import terms_of

from .robots import arm, planar, space

CORE = {
    "M": fc.mass_matrix,
    "Mdot": fc.mass_matrix_derivative,
    **{f"C_{f}": (lambda m, s, f=f: fc.coriolis_matrix(m, s, f)) for f in fc.dynamics.FACTORIZATIONS},
    "g": fc.gravity_forces,
    "b": fc.bias_forces,
    "T": fc.kinetic_energy,
    "U": fc.potential_energy,
    "h": fc.momentum,
    "h_w": lambda m, s: fc.momentum(m, s, "world"),
    "h_c": lambda m, s: fc.momentum(m, s, "centroidal"),
    "J_h": fc.centroidal_momentum_matrix,
    "o_wc": fc.center_of_mass,
    "J_c": fc.center_of_mass_jacobian,
}
FLOATING = {
    "A": fc.connection,
    "Adot": fc.formulations.connection_derivative,
    "mu": fc.locked_velocity,
    "F": fc.curvature,
    **{x: (lambda m, s, x=x: getattr(fc.reduced_equations(m, s), x)) for x in ("Mb", "Lq", "P", "S", "Gamma", "B")},
    **{x: (lambda m, s, x=x: getattr(fc.reduced_equations(m, s), x)) for x in ("D_q", "D_mu")},
    "T_dec": lambda m, s: decoupling(m, s).T,
    "M_dec": lambda m, s: fc.equations(m, s, "hamel").change(decoupling(m, s)).M,
    "C_dec": lambda m, s: fc.equations(m, s, "hamel").change(decoupling(m, s)).C,
}


def evaluated(d, state, *names):
    """The numbers of the generated Python function."""
    room = {}
    exec(d.write(*names, format="python"), room)  # our own text
    q, v = d.numeric.flatten(state)
    return room["robot"](q, v, np.linspace(0.1, 1.0, d.model.nv))


@pytest.mark.parametrize(
    "model",
    [
        fc.robots.revolute_hopper(),
        fc.robots.prismatic_hopper(),
        arm(),
        pytest.param(planar(1), marks=pytest.mark.slow),
        pytest.param(planar(2), marks=pytest.mark.slow),
        pytest.param(planar(3), marks=pytest.mark.slow),
        pytest.param(space(2), marks=pytest.mark.slow),
    ],
    ids=["revolute", "prismatic", "arm", "planar1", "planar2", "planar3", "space2"],
)
def test_all_quantities_are_those_of_the_core(model):
    d = fc.symbolic.derive(model)
    state = model.random_state(np.random.default_rng(0))
    core = CORE | (FLOATING if model.m else {})
    core |= {"tau": lambda m, s: fc.inverse_dynamics(m, s, np.linspace(0.1, 1.0, m.nv))}
    for (name, function), found in zip(core.items(), evaluated(d, state, *core), strict=True):
        expected = np.asarray(function(model, state))
        assert np.abs(found.reshape(expected.shape) - expected).max(initial=0.0) <= 1e-12 * (
            1.0 + np.abs(expected).max(initial=0.0)
        ), name


def test_explicit_and_named_forms_agree_with_other_parameters():
    model = planar(1)
    d = fc.symbolic.derive(model)
    rng = np.random.default_rng(1)
    values = {x: float(y) for x, y in zip(d.values, rng.uniform(0.5, 1.5, len(d.values)), strict=True)}
    other = fc.symbolic.numbers(d.model, values)
    state = model.random_state(rng)
    M = np.array(d["M"].subs({**values, **d.at(state)}), dtype=float)
    assert np.abs(M - fc.mass_matrix(other, state)).max() < 1e-12
    assert d["A"].free_symbols <= {*d.values, *d.q}
    A = sympy.lambdify([[*values], [*d.q]], d["A"])([*values.values()], [d.at(state)[x] for x in d.q])
    assert np.abs(A - fc.connection(other, state)).max() < 1e-12


@pytest.mark.parametrize(
    "model",
    [fc.robots.revolute_hopper(), planar(2), pytest.param(space(1), marks=pytest.mark.slow)],
    ids=["hopper", "planar2", "space1"],
)
def test_laws_hold_as_expressions(model):
    d = fc.symbolic.derive(model)
    v = sympy.Matrix(d.v)
    zero = sympy.zeros(model.nv, model.nv)
    for name in ("C", "C_passive", "C_coadjoint"):
        assert d.normal(d[name] + d[name].T - d["Mdot"]) == zero, name
    for name in ("C_passive", "C_coadjoint", "C_newton_euler", "C_hamel"):
        assert d.normal((d[name] - d["C"]) * v) == zero[:, 0], name
    assert d.normal(d["T"] - (v.T * d["M"] * v)[0] / 2) == 0
    assert d.normal(d.dot(d["M"]) - d["Mdot"]) == zero
    assert d.normal(d["b"] - d["C"] * v - d["g"]) == zero[:, 0]


def test_functions_of_time():
    """What SymPy derives by time is what the motion does: ``d/dt x(t) = v`` for coordinates, ``a`` for velocities."""
    d = fc.symbolic.derive(arm(), "masses")
    t = sympy.Symbol("t", real=True)
    rates = dict(zip((*d.q, *d.v), (*d.v, *d.a), strict=True))  # of a robot on a post
    moves = {d.of_time(x).diff(t): d.of_time(rate) for x, rate in rates.items()}
    for name in ("M", "h_w", "T"):
        derived = d.of_time(d[name]).diff(t).subs(moves)
        assert sympy.expand(derived - d.of_time(d.dot(d[name]))) == 0 * derived, name


def test_power_of_gravity_is_the_rate_of_its_energy():
    for model in (planar(1), fc.robots.prismatic_hopper(), fc.robots.free_body(), arm()):
        d = fc.symbolic.derive(model)
        assert d.normal(d.dot(d["U"]) - (d["g"].T * sympy.Matrix(d.v))[0]) == 0, model.name


@pytest.mark.slow
def test_decoupling_leaves_no_mass_between_base_and_joints():
    d = fc.symbolic.derive(planar(2))
    assert d.named("M_dec").expressions["M_dec"][:3, 3:] == sympy.zeros(3, 2)
    (C,) = evaluated(d, d.numeric.random_state(np.random.default_rng(2)), "C_dec")
    assert np.abs(C[:3, 3:]).max() < 1e-12


def test_angles_about_parallel_axes_add_up():
    d = fc.symbolic.derive(planar(2))
    theta, q1, q2 = d.q[2:]
    assert {x.args[0] for x in d["g"].atoms(sympy.sin, sympy.cos)} <= {theta, theta + q1, theta + q1 + q2}
    assert {x.args[0] for x in d["M"].atoms(sympy.sin, sympy.cos)} <= {q1, q2, q1 + q2}
    turned = fc.symbolic.derive(space(2))
    assert {x.args[0] for x in turned["J_c"].atoms(sympy.sin, sympy.cos)} <= {*turned.q}


@pytest.mark.parametrize("model", [fc.robots.revolute_hopper(), fc.robots.prismatic_hopper(), planar(1)])
def test_the_locked_angle_is_that_of_the_core(model):
    d = fc.symbolic.derive(model)
    theta = sympy.lambdify(d.q[3], d["theta_bc"].subs(d.values))
    assert abs(theta(0.0)) < 1e-15
    for q in (-7.5, -2.9, 0.4, 3.0, 5.0):
        assert abs(theta(q) - fc.formulations.locked_angle(model, np.array([q]), np.zeros(1))) < 1e-9


def test_numbers_stay_exact_without_symbols():
    d = fc.symbolic.derive(fc.robots.prismatic_hopper(), "none")
    assert not d.values
    assert d["M"][0, 0] == sympy.Rational(1007, 1000)


def test_what_cannot_be_asked_is_said():
    d = fc.symbolic.derive(planar(2))
    with pytest.raises(fc.ModelError, match="there is no quantity 'N'"):
        d["N"]
    with pytest.raises(fc.ModelError, match="no closed form"):
        d["theta_bc"]
    with pytest.raises(fc.ModelError, match="planar base"):
        fc.symbolic.derive(space(1))["theta_bc"]
    with pytest.raises(fc.ModelError, match="there is no parameter 'm_7'"):
        fc.symbolic.symbols(planar(1), ["m_7"])
    with pytest.raises(fc.ModelError, match=r"too many for symbols.*fallingcat\.compile"):
        fc.symbolic.derive(fc.robots.humanoid())["C"]
    with pytest.raises(fc.ModelError, match="format is one of"):
        d.write("M", format="rtf")
    q1 = sympy.Symbol("q_1")
    with pytest.raises(fc.ModelError, match=r"'q_1'.*choose another"):
        fc.symbolic.derive(planar(1).replace_body("b0", fc.Body(q1)))


@pytest.mark.parametrize("model", [arm(), pytest.param(space(1), marks=pytest.mark.slow)], ids=["arm", "space1"])
def test_the_inverse_of_the_mass_matrix(model):
    d = fc.symbolic.derive(model)
    state = model.random_state(np.random.default_rng(0))
    (found,) = evaluated(d, state, "Minv")
    expected = np.linalg.inv(fc.mass_matrix(model, state))
    assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize("ratio", [2.0, 1.6])
def test_joints_that_follow(ratio):
    """Whole multiples of an angle add up; others are angles of their own, and count as such."""
    robot = planar(2, fc.lie.Trivial())
    second = dataclasses.replace(robot.joints[1], mimic=fc.model.Mimic("j0", ratio, 0.1))
    robot = dataclasses.replace(robot, joints=(robot.joints[0], second))
    d = fc.symbolic.derive(robot)
    state = robot.random_state(np.random.default_rng(0))
    found = evaluated(d, state, "M", "C", "g")
    for x, y in zip(found, (fc.mass_matrix, fc.coriolis_matrix, fc.gravity_forces), strict=True):
        expected = y(robot, state)
        assert np.abs(x.reshape(expected.shape) - expected).max() < 1e-12 * (1.0 + np.abs(expected).max())
    terms = terms_of(robot, d._writer.groups, [str(x) for x in d.q])
    assert terms == {2.0: 10 + 50 + 90, 1.6: 10 + 50 + 250}[ratio]


def test_bodies_take_symbols_and_say_what_is_wrong():
    m, length = sympy.symbols("m l", positive=True)
    body = fc.Body.from_points([(m, (0.0, 0.0, 0.0)), (m, (length, 0.0, 0.0))])
    assert body.mass == 2 * m
    assert sympy.simplify(body.center[0] - length / 2) == 0
    assert sympy.simplify(body.inertia[2, 2] - m * length**2 / 2) == 0
    with pytest.raises(fc.ModelError, match="symmetric"):
        fc.Body(m, np.zeros(3), [[m, m, 0], [0, m, 0], [0, 0, m]])
    with pytest.raises(fc.ModelError, match="not finite"):
        fc.Body(m, [length, np.nan, 0.0])
    with pytest.raises(fc.ModelError, match="last row"):
        fc.model.Frame("f", "b0", [[1, 0, 0, length], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, length, 1]])
    symbolic = fc.symbolic.symbols(planar(1)).model
    assert "m_0 + m_1" in repr(symbolic)
    with pytest.raises(fc.ModelError, match="symbols"):
        fc.compile(symbolic, fc.mass_matrix)


def test_the_same_algorithms_run_on_symbols():
    model = planar(1)
    symbolic, values = fc.symbolic.symbols(model)
    state = model.random_state(np.random.default_rng(3))
    M = sympy.Matrix(fc.mass_matrix(symbolic, state)).subs(values)
    assert np.abs(np.array(M, dtype=float) - fc.mass_matrix(model, state)).max() < 1e-12
