"""The sample program of [Feurstein] A.2.1 in Python: every relation of the revolute hopper, and what derivations give.

Errata that matter here: one, ``h_inertc``; ``m01, m02, m11`` are the thesis's ``m0(1), m0(2), m1``.
"""

import shutil
import subprocess

import numpy as np
import pytest
import sympy
from sympy import Matrix, Rational, atan, diff, eye, sqrt, tan, zeros

import fallingcat as fc
from fallingcat.lie import SE2
from fallingcat.symbolic import toolbox as tb

m01, m02, m11, length, g = sympy.symbols("m01 m02 m11 l g", positive=True)
VALUES = {m01: 0.835, m02: 0.122, m11: 0.05, length: 0.12, g: 9.81}


def hopper():
    """The robot of Tables 4.9 and 4.10, with the thesis's symbols."""
    thigh = fc.Body.from_points([(m01, (0, 0, 0)), (m02, (length / 2, 0, 0))])
    shank = fc.Body.from_points([(m11, (length / 2, 0, 0))])
    placed = [[1, 0, 0, length], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    knee = fc.Joint("knee", fc.joints.Revolute(), "thigh", "shank", placement=placed)
    links, foot = (fc.Link("thigh", thigh), fc.Link("shank", shank)), fc.model.Frame("foot", "shank", placed)
    return fc.Model("hopper", SE2(), links, (knee,), gravity=[0, -g, 0], frames=(foot,))


@pytest.fixture(scope="module")
def d():
    return fc.symbolic.derive(hopper(), values=VALUES)


@pytest.fixture(scope="module")
def program(d):
    """The thesis's program, line by line; names are the thesis's."""
    xq_ib, nuq_ib = d.q, Matrix(d.v)
    theta_ib, q1 = xq_ib[2:]
    H_ib, H_b1, H_1f = tb.pose(theta_ib, xq_ib[:2]), tb.pose(q1, [length, 0]), tb.pose(0, [length, 0])
    Lam_b, mc_b, oc_b = tb.link_inertia([[0, 0], [length / 2, 0]], [m01, m02], [0, 0])
    Lam_1, mc_1, oc_1 = tb.link_inertia([[length / 2, 0]], [m11], [0])
    H_i1, H_bf = tb.tidy(H_ib * H_b1), tb.tidy(H_b1 * H_1f)
    H_if = tb.tidy(H_i1 * H_1f)
    boc_1 = tb.row12(H_b1 * oc_1.col_join(Matrix([1])))
    o_bc = tb.tidy((mc_b * oc_b + mc_1 * boc_1) / (mc_b + mc_1))
    ioc = [tb.row12(H_ib * oc_b.col_join(Matrix([1]))), tb.row12(H_i1 * oc_1.col_join(Matrix([1])))]
    Jnu_ib, Jnu_i1, Jnu_if = (tb.Jnu(H, xq_ib) for H in (H_ib, H_i1, H_if))
    dotJnu_i1 = tb.time_derivative(Jnu_i1, xq_ib, nuq_ib)
    a_ib, a_i1 = (tb.adjoint_of_pose(H, xq_ib, nuq_ib) for H in (H_ib, H_i1))
    Mb = tb.tidy(Jnu_ib.T * Lam_b * Jnu_ib + Jnu_i1.T * Lam_1 * Jnu_i1)
    Mbdot = tb.time_derivative(Mb, xq_ib, nuq_ib)
    Psi_b, Psi_1 = Lam_b * a_ib - a_ib.T * Lam_b, Lam_1 * a_i1 - a_i1.T * Lam_1
    CbPsi = tb.tidy(Jnu_ib.T * Psi_b * Jnu_ib + Jnu_i1.T * Psi_1 * Jnu_i1)
    Cbp = tb.tidy(CbPsi + Jnu_i1.T * Lam_1 * dotJnu_i1)
    E_kin = tb.tidy((nuq_ib.T * Mb * nuq_ib)[0] / 2)
    gradLmat, rest = tb.vec2mat(Matrix([diff(E_kin, q1)]), list(nuq_ib))
    CbL = tb.tidy((Mbdot[:3, :] - a_ib.T * Mb[:3, :]).col_join(Mbdot[3:, :] - gradLmat))
    E_pot = tb.tidy(g * (ioc[0][1] * mc_b + ioc[1][1] * mc_1))
    Gb = Matrix([diff(E_pot, x) for x in xq_ib])
    Gb[:2, 0] = tb.rotation(theta_ib).T * Gb[:2, 0]
    Mbb = Mb[:3, :3]
    w_bc = tb.tidy((Mbb.adjugate()[2, :] * Mb[:3, 3:])[0]) / tb.tidy(Mbb.det())
    A, B = m01 * m11 + m02 * m11, 2 * m01 * m11 + m02 * m11
    a, b = m01 * m02 + 5 * m01 * m11 + 2 * m02 * m11, 2 * B
    printed = (A, B, a, b)
    root = sqrt(a**2 - b**2)
    theta_bc = B * q1 / b + 2 * atan(tan(q1 / 2) * root / (a + b)) * (A * b - B * a) / (b * root)
    assert rest == zeros(1, 1)
    return locals()


@pytest.fixture(scope="module")
def second_half(d, program):
    """The rest of it, from the frame of the center of mass on."""
    xq_ib, nuq_ib, theta_bc, o_bc = d.q, Matrix(d.v), d["theta_bc"], program["o_bc"]
    H_ib, H_bf, Mb = program["H_ib"], program["H_bf"], program["Mb"]
    adjugate = Mb.adjugate().applyfunc(tb.tidy)
    MbI = adjugate / tb.tidy((Mb[0, :] * adjugate[:, 0])[0])
    H_bc = tb.pose(theta_bc, o_bc)
    H_ic, H_cf = H_ib * H_bc, tb.inverse(H_bc) * H_bf
    b_o_cf = tb.origin(H_bf) - o_bc
    i_o_cf = tb.rotation(xq_ib[2]) * b_o_cf
    R_bc, R_bf = tb.orientation(H_bc), tb.orientation(H_bf)
    R_cf, o_cf = R_bc.T * R_bf, R_bc.T * b_o_cf
    Jodot_cf, Jodot_ic = tb.Jodot(o_cf, xq_ib), tb.Jodot(tb.origin(H_ic), xq_ib)
    Jiodot_cf = tb.Jodot(i_o_cf, xq_ib)
    A_cb = tb.Adjoint(tb.inverse(H_bc))
    r = sqrt(o_cf[0] ** 2 + o_cf[1] ** 2)
    Jr_ocf, Jp_ocf = Matrix([[o_cf[0], o_cf[1]]]) / r, Matrix([[-o_cf[1], o_cf[0]]]) / r**2
    Jp_iocf = Matrix([[-i_o_cf[1], i_o_cf[0]]]) / r**2
    h_b = tb.tidy(Mb[:3, :] * nuq_ib)
    h_c = tb.Adjoint(H_bc).T * h_b
    A_ic_inert = tb.Adjoint(tb.pose(0, tb.origin(H_ic)))
    h_inertc = tb.Adjoint(tb.pose(0, -tb.origin(H_ic))).T * h_b  # inv(A_ic_inert)' h_b, as printed
    Jv_if = tb.row12(program["Jnu_if"])
    P_int = zeros(4, 3).row_join((-d["A"]).col_join(eye(1)))
    alpha_c = xq_ib[2] + theta_bc + sympy.pi / 2
    Jalphadot_c = tb.Jydot(alpha_c, xq_ib)
    Jrdot_cf = Jr_ocf * R_cf * Jv_if * P_int
    Jalpha_iodot_cf = Jp_iocf * Jiodot_cf
    return locals()


def test_system_matrices_are_the_same_expressions(d, program):
    assert d.normal(program["Mb"] - d["M"]) == zeros(4, 4)
    assert d.normal(program["Mbdot"] - d["Mdot"]) == zeros(4, 4)
    assert d.normal(program["Cbp"] - d["C_passive"]) == zeros(4, 4)
    assert d.normal(program["Gb"] - d["g"]) == zeros(4, 1)
    assert d.normal(program["E_kin"] - d["T"]) == 0
    assert d.normal(program["E_pot"] - d["U"]) == 0


def test_consistency_tests_of_the_program(d, program):
    """A.2.1 sample program: the tests that it runs itself."""
    Cbp, CbL, v = program["Cbp"], program["CbL"], Matrix(d.v)
    assert tb.tidy(program["CbPsi"] + program["CbPsi"].T) == zeros(4, 4)
    assert tb.tidy(program["Mbdot"] - Cbp - Cbp.T) == zeros(4, 4)
    assert tb.tidy((Cbp - CbL) * v) == zeros(4, 1)


def test_the_mass_matrix_reads_as_by_hand(d):
    q1 = d.q[3]
    total, c, s = m01 + m02 + m11, sympy.cos(q1), sympy.sin(q1)
    half = length * m11 / 2
    by_hand = Matrix(
        [
            [total, 0, -half * s, -half * s],
            [0, total, half * c + length * (m02 / 2 + m11), half * c],
            [-half * s, half * c + length * (m02 / 2 + m11), 0, length**2 * m11 * (Rational(1, 4) + c / 2)],
            [-half * s, half * c, length**2 * m11 * (Rational(1, 4) + c / 2), length**2 * m11 / 4],
        ]
    )
    by_hand[2, 2] = length**2 * (m02 / 4 + m11 * (Rational(5, 4) + c))
    assert d.normal(by_hand - d["M"]) == zeros(4, 4)
    assert sympy.count_ops(d["M"]) < 90


def test_the_locked_angle_is_the_one_that_is_printed(d, program):
    q1, (A, B, a, b) = d.q[3], program["printed"]
    w = d["w_bc"][0]
    assert sympy.cancel(w - (A + B * sympy.cos(q1)) / (a + b * sympy.cos(q1))) == 0
    assert sympy.cancel(program["w_bc"] - w) == 0
    k = sqrt(a**2 - b**2) / (a + b)
    smooth = q1 / 2 + atan((k - 1) * sympy.sin(q1) / (1 + k + (1 - k) * sympy.cos(q1)))
    printed = program["theta_bc"].subs(atan(tan(q1 / 2) * k), smooth)
    assert not printed.has(tan)
    values = {x: y for x, y in VALUES.items() if x in (m01, m02, m11)}
    for q in np.linspace(-3.0, 3.0, 7):
        ours = float(d["theta_bc"].subs({**VALUES, q1: q}))
        assert abs(ours - float(printed.subs({**values, q1: q}))) < 1e-14
        assert abs(ours - float(program["theta_bc"].subs({**values, q1: q}))) < 1e-14


def test_foot_and_center_of_mass(d, program):
    foot, x = fc.symbolic.foot(d, "foot"), d.q
    assert tb.tidy(foot["H_if"] - program["H_if"]) == zeros(3, 3)
    assert tb.tidy(foot["H_bf"] - program["H_bf"]) == zeros(3, 3)
    assert tb.tidy(foot["Jnu_if"] - program["Jnu_if"]) == zeros(3, 4)
    assert tb.tidy(foot["o_bc"] - program["o_bc"]) == zeros(2, 1)
    model, rng = d.numeric, np.random.default_rng(0)
    state = model.random_state(rng)
    numbers = {**VALUES, **d.at(state)}
    J = np.array(foot["Jodot_if"].subs(numbers), dtype=float)
    assert np.abs(J - fc.jacobian(model, state, "foot", "mixed")[:2]).max() < 1e-12
    internal = np.array(foot["Jv_int"].subs(numbers), dtype=float)
    assert np.abs(internal[:, 3:] - fc.formulations.internal_jacobian(model, state, "foot")[:2]).max() < 1e-12
    assert np.abs(internal[:, :3]).max() == 0.0
    rates = Matrix(d.v).subs(numbers)
    for name, value in (("Jrdot_cf", foot["r_cf"]), ("Jalphadot_cf", foot["alpha_cf"])):
        expected = (tb.Jydot(value, x).subs(numbers) * rates)[0]
        assert abs(float((foot[name].subs(numbers) * rates)[0] - expected)) < 1e-12, name


def test_transforms_of_the_toolbox():
    """Table A.1: transforms, adjoints and rates of the toolbox, on symbols."""
    q, x, y = sympy.symbols("q x y", real=True)
    H = tb.pose(q, [x, y])
    assert tb.tidy(H * tb.inverse(H)) == eye(3)
    assert tb.angle(H) == q
    assert tb.orientation(H) == tb.rotation(q)
    assert tb.tidy(tb.Adjoint(H) * tb.Adjoint(tb.inverse(H))) == eye(3)
    number = np.array(tb.Adjoint(H).subs({q: 0.3, x: 1.0, y: 2.0}), dtype=float)
    group = SE2()
    assert np.abs(number - group.Ad(group.element(np.array([1.0, 2.0, 0.3])))).max() < 1e-15
    twist = [0.1, 0.2, 0.3]
    assert np.abs(np.array(tb.adjoint(twist), dtype=float) - group.ad(np.array(twist))).max() == 0.0
    assert tb.printsimmat(Matrix([[sympy.cos(q)]]), [x, q]) == "cos(y(2))"
    with pytest.raises(ValueError, match="variable"):
        tb.printsimmat(Matrix([q]), [q], "y; system('true')")


@pytest.fixture(scope="module")
def moving(d):
    """A state, and all its symbols as numbers."""
    state = d.numeric.random_state(np.random.default_rng(1))
    return state, {**VALUES, **d.at(state)}


def number(x, numbers):
    return np.array(sympy.Matrix(x).subs(numbers).evalf(), dtype=float)


@pytest.mark.slow
def test_frame_of_the_center_of_mass(d, second_half, moving):
    state, numbers = moving
    model, v = d.numeric, d.numeric.flatten(state)[1]
    at = lambda name: number(second_half[name], numbers)  # noqa: E731
    assert np.abs(at("MbI") - np.linalg.inv(fc.mass_matrix(model, state))).max() < 1e-12 * np.abs(at("MbI")).max()
    assert np.abs(at("Jodot_ic") - fc.center_of_mass_jacobian(model, state)[:2]).max() < 1e-12
    assert np.abs(at("H_ic")[:2, 2] - fc.center_of_mass(model, state)[:2]).max() < 1e-12
    assert np.abs(at("H_cf") - np.linalg.solve(at("H_bc"), number(second_half["H_bf"], numbers))).max() < 1e-12
    turning = number(second_half["Jalphadot_c"], numbers) @ v
    assert np.abs(turning - fc.locked_velocity(model, state)[2]).max() < 1e-12
    foot = fc.symbolic.foot(d, "foot")
    length = at("Jr_ocf") @ at("Jodot_cf") @ v
    assert np.abs(length - number(foot["Jrdot_cf"], numbers) @ v).max() < 1e-12
    assert np.abs(length - at("Jrdot_cf") @ v).max() < 1e-12
    assert np.abs(at("Jalpha_iodot_cf") - number(foot["Jalphadot_cf"], numbers)).max() < 1e-12


@pytest.mark.slow
def test_momentum_at_the_center_of_mass_and_its_misprint(d, second_half, moving):
    """``h_inertc``: what is printed takes a momentum of the base for one of the world; ``A_ib`` is missing."""
    state, numbers = moving
    momentum = fc.momentum(d.numeric, state, "centroidal")[[0, 1, 5]]
    R_ic = number(second_half["H_ic"], numbers)[:2, :2]
    h_c = number(second_half["h_c"], numbers).ravel()
    assert np.abs(np.append(R_ic @ h_c[:2], h_c[2]) - momentum).max() < 1e-12
    printed, A_inert = (number(second_half[name], numbers) for name in ("h_inertc", "A_ic_inert"))
    assert np.abs(printed.ravel() - momentum).max() > 1e-3
    A_cb = np.linalg.solve(A_inert, number(tb.Adjoint(second_half["H_ib"]), numbers))
    right = np.linalg.solve(A_cb.T, number(second_half["h_b"], numbers)).ravel()
    assert np.abs(right - momentum).max() < 1e-12


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("octave-cli") is None, reason="octave-cli is not installed")
def test_all_that_the_program_prints_runs_in_octave(d, program, second_half, moving, tmp_path):
    """The nineteen matrices of ``printsimmat``, for a simulation whose state is ``y``."""
    _, numbers = moving
    printed = "Mb MbI Cbp Gb E_pot o_i1 o_if o_ic o_cf Jodot_i1 Jodot_if Jodot_ic Jodot_cf Jalpha_iodot_cf Jrdot_cf"
    names = [*printed.split(), "alpha_c", "Jalphadot_c", "h_c", "h_inertc"]
    known = {**program, **second_half}
    known |= {f"o_i{x}": tb.origin(known[f"H_i{x}"]) for x in "1fc"}
    known |= {f"Jodot_i{x}": tb.Jodot(known[f"o_i{x}"], d.q) for x in "1f"}
    symbols = [*d.q, *d.v]
    lines = [f"{x} = {float(value)!r};" for x, value in VALUES.items()]
    lines += [f"y = [{', '.join(repr(float(numbers[x])) for x in symbols)}];"]
    for name in names:
        lines.append(f"found = {tb.printsimmat(Matrix([known[name]]), symbols)};")
        lines.append('printf("%.17g\\n", found.\');')
    (tmp_path / "main_script.m").write_text("\n".join(lines))
    done = subprocess.run(["octave-cli", "--norc", "main_script.m"], cwd=tmp_path, capture_output=True, check=True)
    found = np.array(done.stdout.split(), dtype=float)
    expected = np.concatenate([number(Matrix([known[name]]), numbers).ravel() for name in names])
    assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()
