"""Errata of [Feurstein]: what is printed, what is right, and an oracle that tells them apart."""

import numpy as np
import pytest
from misprints import misprint
from oracles import hamel
from oracles.decoupling_blocks import passive_decoupled
from oracles.link_matrices import coriolis_matrix
from oracles.plain_hopper import MASSES, L, PlainHopper, leg
from oracles.projected_newton_euler import mass_matrix, mass_matrix_derivative
from residuals import agree, residual

import fallingcat as fc
from fallingcat.contact import CompliantFloor
from fallingcat.lie import SE3, skew
from fallingcat.studies import load

G = SE3()
ad, Ad = G.ad, G.Ad
STEP = 1e-30

seeds = pytest.mark.parametrize("seed", range(5))


def robot(seed):
    """A random tree of four hinges and sliders, and a state of it."""
    rng = np.random.default_rng(seed)
    model = fc.robots.random_tree(rng, 4, kinds=["revolute", "prismatic"])
    return model, model.random_state(rng), rng


def point_masses(rng):
    """Masses (kg), and places (m) about their center."""
    m, x = rng.uniform(0.1, 1.0, size=6), rng.normal(size=(6, 3))
    return m, x - m @ x / m.sum()


def inertia_of_points(masses, places):
    """`sum m P' P` (6 x 6), where `P = [1, -skew x]` takes a twist to the velocity of the point `x`."""
    maps = [np.hstack([np.eye(3), -skew(x)]) for x in places]
    return sum(m * P.T @ P for m, P in zip(masses, maps, strict=True))


# chapter 2


@seeds
def test_little_adjoint_of_the_way_back(seed):
    """(2.16), Lemma 2.7: `ad(nu_xy) = -ad(nu_yx)`; right is (3.42d), the twist back has to be moved first."""
    rng = np.random.default_rng(seed)
    H, nu = G.random(rng), rng.normal(size=6)
    back = np.imag(np.linalg.inv(H + 1j * STEP * H @ G.hat(nu))) / STEP  # d/dt of H_yx
    nu_back = G.vee(H @ back)
    misprint("(2.16)", -ad(nu_back), -np.linalg.solve(Ad(H), ad(nu_back)) @ Ad(H), ad(nu))


@seeds
def test_inertia_about_the_joint(seed):
    """(2.43): `A_{j,jci}` where twists of the joint are taken to the center, `A_{jci,j}`."""
    rng = np.random.default_rng(seed)
    masses, places = point_masses(rng)
    H = G.random(rng)  # H_{j,jci}: the body in the frame of its joint
    about_center = inertia_of_points(masses, places)
    truth = inertia_of_points(masses, places @ H[:3, :3].T + H[:3, 3])
    there, back = Ad(H), np.linalg.inv(Ad(H))
    misprint("(2.43)", there.T @ about_center @ there, back.T @ about_center @ back, truth)


@seeds
def test_adjoint_to_the_center_of_mass(seed):
    """(2.44): `[[R, +skew(o)], [0, 1]]`; the center moves with `v + w x o`, and both rows are seen in its axes."""
    rng = np.random.default_rng(seed)
    o, nu, R = rng.normal(size=3), rng.normal(size=6), G.random(rng)[:3, :3]  # R_{j,jci}
    zero = np.zeros((3, 3))
    truth = np.concatenate([R.T @ (nu[:3] + np.cross(nu[3:], o)), R.T @ nu[3:]])
    printed = np.block([[R, skew(o)], [zero, np.eye(3)]])
    right = np.block([[R.T, -R.T @ skew(o)], [zero, R.T]])
    misprint("(2.44)", printed @ nu, right @ nu, truth)
    aligned = np.block([[np.eye(3), skew(o)], [zero, np.eye(3)]]) @ nu  # the sign alone, of a body that is not turned
    assert residual(aligned, np.concatenate([nu[:3] + np.cross(nu[3:], o), nu[3:]])) > 1e-3


@seeds
def test_inertia_matrix_is_symmetric(seed):
    """(2.45): the lower left block is `-m skew(o)`; a symmetric matrix needs `+m skew(o)` there."""
    rng = np.random.default_rng(seed)
    masses, places = point_masses(rng)
    m, o = masses.sum(), rng.normal(size=3)
    inertia = inertia_of_points(masses, places)[3:, 3:]
    printed, right = (
        np.block([[m * np.eye(3), -m * skew(o)], [s * m * skew(o), inertia - m * skew(o) @ skew(o)]])
        for s in (-1.0, 1.0)
    )
    misprint("(2.45)", printed, right, inertia_of_points(masses, places + o))


@seeds
def test_kinetic_energy_of_a_turning_body(seed):
    """(3.11): `T = w' I w`, without the 1/2 that the energy of its points has."""
    rng = np.random.default_rng(seed)
    masses, places = point_masses(rng)
    w, inertia = rng.normal(size=3), inertia_of_points(masses, places)[3:, 3:]
    truth = 0.5 * sum(m * np.sum(np.cross(w, x) ** 2) for m, x in zip(masses, places, strict=True))
    misprint("(3.11)", w @ inertia @ w, 0.5 * w @ inertia @ w, truth)


@seeds
def test_torque_of_gravity(seed):
    """(2.53): `+sum r_i x dU/dr_i`; with `L = T - U` (3.32a) gives the minus."""
    rng = np.random.default_rng(seed)
    H, (masses, places), pull = G.random(rng), point_masses(rng), rng.normal(size=3)
    places = places + rng.normal(size=3)

    def potential(pose):
        return -sum(m * pull @ (pose[:3, :3] @ x + pose[:3, 3]) for m, x in zip(masses, places, strict=True))

    truth = [np.imag(potential(H + 1j * STEP * H @ G.hat(e))) / STEP for e in np.eye(6)]
    slopes = -np.outer(pull, masses @ places)  # dU/dr_i, row by row of R
    turning = sum(np.cross(r, slope) for r, slope in zip(H[:3, :3], slopes, strict=True))
    linear = -masses.sum() * H[:3, :3].T @ pull
    misprint("(2.53)", np.append(linear, turning), np.append(linear, -turning), np.array(truth))


# chapter 3


def test_a_frame_that_turns_may_conserve():
    """(3.62): "only if w_ic = 0"; a body that spins about a principal axis keeps its momentum in its own frame."""
    body = fc.robots.free_body()
    spins = body.state(twist=[0.0, 0.0, 0.0, 0.0, 0.0, 2.0])
    h = fc.momentum(body, spins)
    assert np.abs(h).max() > 0.0
    agree("a' h = 0 with w != 0", ad(spins.twist).T @ h, np.zeros(6), 0.0)
    assert fc.formulations.is_conserved(body, spins, "base").conserved
    tumbles = body.state(twist=[0.0, 0.0, 0.0, 1.0, 2.0, 3.0])
    assert not fc.formulations.is_conserved(body, tumbles, "base").conserved


def changed(model, state, C, rng):
    """`C_y` of (3.77) for a random change (3.80), with `Tx`, `Ty` and their rates; nothing but the definitions."""
    m, n, M = model.m, model.n, mass_matrix(model, state)
    M_dot = mass_matrix_derivative(model, state, state.velocity)
    A = np.linalg.solve(M[:m, :m], M[:m, m:])
    A_dot = np.linalg.solve(M[:m, :m], M_dot[:m, m:] - M_dot[:m, :m] @ A)
    Tx, Tx_dot, Ty, Ty_dot = (
        rng.normal(size=(k, k)) + (k if i % 2 == 0 else 0) * np.eye(k) for i, k in enumerate((m, m, n, n))
    )
    T = np.block([[Tx, Tx @ A], [np.zeros((n, m)), Ty]])
    T_dot = np.block([[Tx_dot, Tx_dot @ A + Tx @ A_dot], [np.zeros((n, m)), Ty_dot]])
    back = np.linalg.inv(T)
    My = back.T @ M @ back
    return My, back.T @ C @ back - My @ T_dot @ back, (Tx, Tx_dot, Ty, Ty_dot)


@seeds
def test_decoupled_joint_block(seed):
    """Prop. 3.3.1: `-M_y dT_y/dt` stands inside of `T_y^-T (...) T_y^-1`; (A.5d) has it outside."""
    model, state, rng = robot(seed)
    C, m = hamel.coriolis_matrix(model, state), model.m
    M, truth, (_, _, Ty, Ty_dot) = changed(model, state, C, rng)
    A = fc.connection(model, state)
    inner = C[m:, m:] - C[m:, :m] @ A - A.T @ C[:m, m:] + A.T @ C[:m, :m] @ A
    back, My = np.linalg.inv(Ty), M[m:, m:]
    printed = back.T @ (inner - My @ Ty_dot) @ back
    misprint("Prop. 3.3.1", printed, back.T @ inner @ back - My @ Ty_dot @ back, truth[m:, m:])


@seeds
def test_passive_lower_left_block(seed):
    """Prop. 3.3.2, (3.84): the lower left block is `-C_xy'`, not `C_xy'`."""
    model, state, rng = robot(seed)
    _, truth, change = changed(model, state, coriolis_matrix(model, state, "passive"), rng)
    Cxy = passive_decoupled(model, state, *change).Cxy
    agree("(3.86)", Cxy, truth[: model.m, model.m :])
    misprint("(3.84)", Cxy.T, -Cxy.T, truth[model.m :, : model.m])


@seeds
def test_external_velocity_of_a_constant_momentum(seed):
    """(3.94)-(3.95): with `M_e nu_ext` constant "the condition is fulfilled"; the forces are then `dM_e/dt nu_ext`, and
    the formula has the base's twist where the locked velocity stands.
    """
    rng = np.random.default_rng(seed)
    model = fc.robots.random_tree(rng, 7, kinds=["revolute", "prismatic"])
    state = model.random_state(rng)
    change = fc.changes.internal_external(model, state, model.link_names[-1])
    there = fc.equations(model, state, "passive").change(change)
    truth = (there.C @ there.v)[:6]
    agree("(3.95)", there.Mdot[:6, :6] @ there.v[:6], truth)
    assert residual(truth, np.zeros(6)) > 1e-3
    M, M_dot = mass_matrix(model, state), mass_matrix_derivative(model, state, state.velocity)
    C, A = coriolis_matrix(model, state, "passive"), np.linalg.solve(M[:6, :6], M[:6, 6:])
    back, rate = np.linalg.inv(change.T[:6, :6]), change.T_dot[:6, :6]
    rest = (C[:6, 6:] + (M_dot[:6, :6] - C[:6, :6]) @ A - M_dot[:6, 6:]) @ state.rates
    printed, right = (
        back.T @ ((C[:6, :6] - M[:6, :6] @ back @ rate) @ v + rest)
        for v in (state.twist, state.twist + A @ state.rates)
    )
    misprint("(3.94)", printed, right, truth, 1e-11)


@seeds
def test_transformed_base_inertia(seed):
    """(A.4a): `T_x^-1 M_bb T_x^-T`; the transposes are exchanged."""
    model, state, rng = robot(seed)
    M, _, (Tx, _, _, _) = changed(model, state, np.zeros((model.nv, model.nv)), rng)
    Mbb, back = mass_matrix(model, state)[: model.m, : model.m], np.linalg.inv(Tx)
    misprint("(A.4a)", back @ Mbb @ back.T, back.T @ Mbb @ back, M[: model.m, : model.m])


# chapter 4


@pytest.fixture(scope="module")
def gait():
    """EXP VI by hand, from its first apex over two landings."""
    return PlainHopper(load("revolute-6").parameters).run(0.6)


def landings(hopper):
    """Times and states at the ends of the two flights (a tenth of a second and longer)."""
    times = [0.0, *(t for t, _, _ in hopper.switches)]
    found = [
        (t, y)
        for (t, touching, y), before in zip(hopper.switches, times, strict=False)
        if touching and t > before + 0.1
    ]
    assert len(found) == 2
    return found


def change_over_a_hop(hopper):
    """How far the second landing is from the first, without the way travelled (m, rad, 1/s)."""
    (_, first), (_, second) = landings(hopper)
    return np.abs(second - first)[1:8].max()


def test_the_floor_pushes_up():
    """(4.13)-(4.14): the printed springs push away from the ground's rest, `+K x` and `max(+K y, 0) = 0` below it."""
    hopper, K, D = fc.robots.revolute_hopper(), 1e4, 1e3
    floor = CompliantFloor(("foot",), stiffness=(K, K), damping=(D, D), friction=None)
    base = hopper.state(joints=[1.0])
    foot = fc.link_pose(hopper, base, "foot")[:3, 3]
    depth, slip = -0.01, 0.02
    pose = np.eye(4)
    pose[:3, 3] = [slip - foot[0], depth - foot[1], 0.0]
    state = hopper.state(pose=pose, joints=[1.0], twist=[0.03, -0.05, 0.0])
    felt = floor.forces(hopper, (True,), state, np.zeros(2), np.zeros(hopper.nv))
    force = (felt["floor normal"] + felt["floor tangential"])[:2]
    printed = np.array([K * slip - D * 0.03, max(K * depth + D * 0.05, 0.0)])
    right = np.array([-K * slip - D * 0.03, max(-K * depth + D * 0.05, 0.0)])
    misprint("(4.13)-(4.14)", printed, right, force)
    weight = hopper.mass * 9.81  # at rest the floor carries it, which no depth does with the printed sign
    assert max(-K * (-weight / K), 0.0) == pytest.approx(weight)
    assert max(K * (-weight / K), 0.0) == 0.0


def test_stance_while_the_normal_force_is_clipped(gait):
    """4.1.4, "touches the ground": a foot that leaves faster than `-K y / D` is below it and feels no `F_y`."""
    p = load("revolute-6").parameters
    leaves = [y for _, touching, y in gait.switches if not touching]
    assert leaves
    for y in leaves:  # the foot is at the ground and rises: just below it F_y is clipped, and F_x is not
        at, J, _ = gait.point(y, L, L)
        assert -p.K_floor_y * at[1] - p.D_floor_y * (J @ y[4:8])[1] < 0.0


def implied_gravity(energy, heights):
    """Smallest and largest g (m/s^2) with which point masses `(kg, m)` have an energy printed to four digits (J)."""
    weight = sum(m * y for m, y in heights)
    return (energy - 5e-5) / weight, (energy + 5e-5) / weight


def revolute_heights(theta):
    """Masses and heights at the starts of Table 4.13: `o_b^y = 0.3`, `q_1 = 1.7802`."""
    a, b = theta, theta + 1.7802
    return [(m, 0.3 + s * np.sin(a) + u * np.sin(b)) for m, s, u in MASSES]


def prismatic_heights(q1):
    return [(0.957, 0.3), (0.050, 0.3 - q1)]


def test_initial_leg_of_the_prismatic_hopper():
    """Table 4.7: `q_1 = 0.114`, which is `r_cf(0)`; with the 0.12 of the text two tables imply one gravity."""
    lengths = {q1: round(0.957 / 1.007 * q1, 3) for q1 in (0.114, 0.12)}
    assert lengths == {0.114: 0.108, 0.12: 0.114}  # 4.1.5: r_cf^des = 0.114 is the initial length
    other = implied_gravity(2.8382, revolute_heights(-1.9938))
    for q1, same in ((0.114, False), (0.12, True)):
        own = implied_gravity(2.9047, prismatic_heights(q1))
        assert bool(max(own[0], other[0]) <= min(own[1], other[1])) is same
    assert other[0] < 9.81 < other[1]


def test_which_start_has_the_printed_energy():
    """Table 4.12: `E(0) = 2.8382` for EXP III to VI; of the starts of Table 4.13 only that of EXP V has it."""
    g = implied_gravity(2.9047, prismatic_heights(0.12))  # a gravity that this table does not enter
    for theta, has in ((-2.5174, False), (-1.9938, True)):
        weight = sum(m * y for m, y in revolute_heights(theta))
        assert bool(g[0] * weight <= 2.83825 and g[1] * weight >= 2.83815) is has


def test_angle_of_the_locked_frame():
    """Controller III: `alpha_c = theta_b + theta_bc`; from the negative y axis to the x axis it is pi / 2 more."""
    for turn in (-1.3, 0.2, 1.1):  # of the x axis of the frame, from that of the world
        x, down = np.array([np.cos(turn), np.sin(turn)]), np.array([0.0, -1.0])
        truth = np.arctan2(down[0] * x[1] - down[1] * x[0], down @ x)
        misprint("controller III", turn, turn + np.pi / 2, truth)


@seeds
def test_radial_jacobian_in_a_frame_that_turns(seed):
    """(4.24)-(4.26): `J_r(_i o_cf) R_cf` mixes inertial and own axes of c; program A.2.1 has `J_r(o_cf) R_cf`."""
    rng = np.random.default_rng(seed)
    model = fc.robots.revolute_hopper()
    q, rate, theta = rng.uniform(0.8, 2.4), rng.normal(), rng.uniform(0.3, 1.2)
    state = model.state(pose=model.base.element(np.array([0.0, 0.0, rng.normal()])), joints=[q], rates=[rate])
    state = state._replace(twist=-fc.connection(model, state) @ state.rates)  # internal: the whole does not move
    o = (fc.link_pose(model, state, "foot")[:3, 3] - fc.center_of_mass(model, state))[:2]
    J = fc.contact.point_jacobian(model, state, "foot") @ state.velocity
    moved = J[:2] - (fc.momentum(model, state, "centroidal") / model.mass)[:2]
    R = np.array([[np.cos(theta), -np.sin(theta)], [np.sin(theta), np.cos(theta)]])  # axes of c
    r, dr = leg(q)[:2]
    printed, right = (x / r @ (R.T @ moved) for x in (o, R.T @ o))
    misprint("(4.24)-(4.26)", printed, right, dr * rate)
    agree("(4.24) with inertial axes", o / r @ moved, dr * rate)


def test_energy_of_the_controller(gait):
    """Experiment III: "total mechanical energy"; the radial spring's counts, or the start of EXP VI is on no gait."""

    class WithoutSpring(PlainHopper):
        def slope(self, t, y):
            stored = 0.5 * self.p.K_r * (leg(y[3])[0] - self.p.r_des) ** 2
            whole, self.p = self.p, self.p.model_copy(update={"E_des": self.p.E_des + stored})
            try:
                return super().slope(t, y)
            finally:
                self.p = whole

    without = WithoutSpring(load("revolute-6").parameters).run(0.6)
    assert change_over_a_hop(gait) < 0.02
    assert change_over_a_hop(without) > 0.5


@pytest.mark.slow
def test_gain_of_the_energy_controller(gait):
    """Table 4.12: `K_E = 20`; with the 10 of EXP III's text the start of EXP VI is on its gait, with 20 it is not."""
    study = load("revolute-6")
    assert study.parameters.K_E == 10.0
    printed = PlainHopper(study.with_parameters({"K_E": 20.0}).parameters).run(0.6)
    assert change_over_a_hop(gait) < 0.02
    assert change_over_a_hop(printed) > 0.2


def test_what_the_floor_takes(gait):
    """EXP VI, 20 s: 5.9 J for the floor beside 5.9 J for the damper; the joint work is net of the damper's already."""
    (start, first), (end, second) = landings(gait)
    external, joint, floor = (second - first)[8:11]
    gained = sum(gait.energy(second)) - sum(gait.energy(first))
    assert external + joint + floor == pytest.approx(gained, abs=1e-7)
    in_20_s = -floor * 20.0 / (end - start)
    assert in_20_s == pytest.approx(11.8, rel=0.02)
    assert in_20_s > 1.9 * (2.9 + 3.0)


# appendix


@seeds
def test_momentum_about_the_center_of_mass_in_the_sample_program(seed):
    """A.2.1, `h_inertc = inv(A_ic_inert)' h_b`: `A_ib` is missing, the momentum is that of the base."""
    model, state, _ = robot(seed)
    there = np.eye(4)
    there[:3, 3] = fc.center_of_mass(model, state)
    A_ic, h_b = Ad(there), fc.momentum(model, state, "base")
    printed = np.linalg.inv(A_ic).T @ h_b
    right = np.linalg.inv(np.linalg.solve(A_ic, Ad(state.pose))).T @ h_b
    misprint("A.2.1", printed, right, fc.momentum(model, state, "centroidal"), 1e-11)
