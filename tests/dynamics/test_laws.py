"""Laws of the dynamics on random robots: at least 100 trees in CI, at least 1,000 under `pytest -m slow`.

Every law takes the same robots: 1 to 60 joints of all kinds on every base group (`random_robots`).  Residuals are
relative; where equations are solved, the tolerance grows with the condition of the mass matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from link_sums import whole_body
from oracles.motion import bracket
from random_robots import Robot, build, rng_of, robots
from residuals import agree, residual

import fallingcat as fc
from fallingcat.lie import SE3
from fallingcat.lie.charts import POSITION_CHARTS, ROTATION_CHARTS

STEP = 1e-40
PASSIVE = ("christoffel", "passive", "coadjoint")
FRAMES = ("base", "world", "centroidal")
REPRESENTATIONS = ("body", "mixed", "inertial")
Ad = SE3().Ad

Law = Callable[[Robot, fc.Model, fc.State, np.random.Generator], None]
LAWS: list[Law] = []
COSTLY: list[Law] = []
"""Laws that differentiate in every direction: on robots of up to 8 joints in CI, 20 in the slow suite."""


def law(check: Law) -> Law:
    LAWS.append(check)
    return check


def costly(check: Law) -> Law:
    COSTLY.append(check)
    return check


def run(check, recipe):
    model, state = build(recipe)
    check(recipe, model, state, rng_of(recipe))


def title(check):
    return check.__name__


@pytest.mark.parametrize("check", LAWS, ids=title)
@settings(max_examples=100)
@given(recipe=robots())
def test_law(check, recipe):
    run(check, recipe)


@pytest.mark.parametrize("check", COSTLY, ids=title)
@settings(max_examples=100)
@given(recipe=robots(largest=8))
def test_costly_law(check, recipe):
    run(check, recipe)


@pytest.mark.slow
@pytest.mark.parametrize("check", LAWS, ids=title)
@settings(max_examples=1000, derandomize=False)
@given(recipe=robots())
def test_law_at_length(check, recipe):
    run(check, recipe)


@pytest.mark.slow
@pytest.mark.parametrize("check", COSTLY, ids=title)
@settings(max_examples=1000, derandomize=False)
@given(recipe=robots(largest=20))
def test_costly_law_at_length(check, recipe):
    run(check, recipe)


# helpers ------------------------------------------------------------------------------------------------------


def along(f, model, state, acceleration=None, direction=None):
    """The time derivative of `f(state)` along the state's own motion (or along a direction), by complex step."""
    d = state.velocity if direction is None else direction
    moved = fc.displace(model, state, 1j * STEP * d)
    if acceleration is not None:
        moved = with_velocity(model, moved, state.velocity + 1j * STEP * acceleration)
    return np.imag(f(moved)) / STEP


def with_velocity(model, state, v):
    return state._replace(twist=v[: model.m], rates=v[model.m :])


@lru_cache(maxsize=256)
def solving(recipe):
    """The tolerance of what needs the inverse of the mass matrix: 45 roundings of its condition."""
    sizes = np.linalg.eigvalsh(fc.mass_matrix(*build(recipe)))
    return max(1e-12, 1e-14 * sizes[-1] / sizes[0]) if len(sizes) else 1e-12


def some_wrenches(model, rng):
    """Wrenches on up to three links."""
    names = rng.choice(model.link_names, size=min(3, len(model.links)), replace=False)
    return {str(name): 5.0 * rng.normal(size=6) for name in names}


def some_link(model, rng):
    return str(rng.choice(model.link_names))


def world_wrench(model, state, wrenches, frame):
    """The sum of wrenches about the world's origin, along its axes."""
    total, poses = np.zeros(6), fc.forward_kinematics(model, state)
    for name, given_wrench in wrenches.items():
        H = poses[name]
        if frame == "mixed":
            H = np.block([[np.eye(3), H[:3, 3:]], [np.zeros((1, 3)), np.ones((1, 1))]])
        total += given_wrench if frame == "world" else Ad(SE3().inverse(H)).T @ given_wrench
    return total


# forward, inverse, mass ---------------------------------------------------------------------------------------


@law
def forward_and_inverse_are_inverses(recipe, model, state, rng):
    a, wrenches, frame = rng.normal(size=model.nv), some_wrenches(model, rng), rng.choice(["body", "mixed", "world"])
    forces = fc.inverse_dynamics(model, state, a, wrenches, frame)
    found = fc.forward_dynamics(model, state, forces, wrenches, frame)
    agree("forward(inverse) = identity", found, a, solving(recipe))
    forces = 10.0 * rng.normal(size=model.nv)
    a = fc.forward_dynamics(model, state, forces, wrenches, frame)
    size = np.abs(fc.mass_matrix(model, state)).max(initial=0.0) * np.abs(a).max(initial=0.0)
    agree("inverse(forward) = identity", fc.inverse_dynamics(model, state, a, wrenches, frame), forces, 1e-12, size)


@law
def mass_matrix_is_symmetric_and_positive(recipe, model, state, rng):
    M = fc.mass_matrix(model, state)
    assert (M == M.T).all()
    if len(M):
        np.linalg.cholesky(M)
    v = state.velocity
    agree("T = v' M v / 2", fc.kinetic_energy(model, state), 0.5 * v @ M @ v)


@law
def forces_are_the_same_for_every_factorization(recipe, model, state, rng):
    a, v = rng.normal(size=model.nv), state.velocity
    M, g, wanted = fc.mass_matrix(model, state), fc.gravity_forces(model, state), fc.inverse_dynamics(model, state, a)
    agree("bias = C v + g", fc.bias_forces(model, state), wanted - M @ a, scale=np.abs(wanted).max(initial=1.0))
    for name in fc.FACTORIZATIONS:
        C = fc.coriolis_matrix(model, state, name)
        agree(f"M a + C v + g = inverse dynamics, {name}", M @ a + C @ v + g, wanted)


@law
def mass_matrix_rate(recipe, model, state, rng):
    rate = fc.mass_matrix_derivative(model, state)
    assert (rate == rate.T).all()
    agree("Mdot = complex step of M", rate, along(lambda s: fc.mass_matrix(model, s), model, state))


@law
def passive_ones_are_passive(recipe, model, state, rng):
    rate = fc.mass_matrix_derivative(model, state)
    for name in PASSIVE:
        C = fc.coriolis_matrix(model, state, name)
        agree(f"Mdot = C + C', {name}", C + C.T, rate)


@law
def christoffel_is_torsion_free(recipe, model, state, rng):
    """C(v) w - C(w) v = M [v, w], with the brackets of the base's and of every joint's group."""
    v, w = state.velocity, rng.normal(size=model.nv)
    C_v, C_w = (fc.coriolis_matrix(model, with_velocity(model, state, x)) for x in (v, w))
    agree("C(v) w - C(w) v = M [v, w]", C_v @ w - C_w @ v, fc.mass_matrix(model, state) @ bracket(model, v, w))


@law
def christoffel_is_the_mean(recipe, model, state, rng):
    christoffel, passive, coadjoint = (fc.coriolis_matrix(model, state, name) for name in PASSIVE)
    agree("christoffel = (passive + coadjoint) / 2", christoffel, 0.5 * (passive + coadjoint))


@law
def coriolis_matrices_are_linear_in_the_velocity(recipe, model, state, rng):
    name, w = str(rng.choice(fc.FACTORIZATIONS)), rng.normal(size=model.nv)
    both = [state.velocity, w, 2.0 * state.velocity - 3.0 * w]
    C_v, C_w, C = (fc.coriolis_matrix(model, with_velocity(model, state, x), name) for x in both)
    agree("C(2 v - 3 w) = 2 C(v) - 3 C(w)", C, 2.0 * C_v - 3.0 * C_w)


# balances -----------------------------------------------------------------------------------------------------


@law
def power_balance(recipe, model, state, rng):
    """d/dt (T + U) = forces . v, external wrenches included."""
    forces, wrenches = 10.0 * rng.normal(size=model.nv), some_wrenches(model, rng)
    frame = str(rng.choice(["body", "mixed", "world"]))
    a = fc.forward_dynamics(model, state, forces, wrenches, frame)

    def energy(s):
        return fc.kinetic_energy(model, s) + fc.potential_energy(model, s)

    representation = "inertial" if frame == "world" else frame
    work = [w @ fc.link_twist(model, state, name, representation) for name, w in wrenches.items()]
    given_power = forces @ state.velocity + sum(work)
    size = np.abs(fc.mass_matrix(model, state) @ a).sum() * np.abs(state.velocity).max(initial=0.0)
    agree("d/dt (T + U) = power of the forces", along(energy, model, state, a), given_power, scale=max(1.0, size))


@law
def momentum_rate_is_the_total_wrench(recipe, model, state, rng):
    """In the world frame; what a base that is not free lacks is a constraint wrench, which does no work."""
    forces, wrenches = 10.0 * rng.normal(size=model.nv), some_wrenches(model, rng)
    frame = str(rng.choice(["body", "mixed", "world"]))
    a = fc.forward_dynamics(model, state, forces, wrenches, frame)
    rate = along(lambda s: fc.momentum(model, s, "world"), model, state, a)
    weight = model.mass * model.gravity
    external = np.concatenate([weight, np.cross(fc.center_of_mass(model, state), weight)])
    external += world_wrench(model, state, wrenches, frame)
    missing = Ad(state.pose).T @ (rate - external)  # in the base frame
    size = np.abs(rate).max() + np.abs(external).max()
    agree("momentum rate = total wrench", model.base.selection.T @ missing, forces[: model.m], scale=max(1.0, size))
    if isinstance(model.base, SE3):
        base = Ad(SE3().inverse(state.pose)).T @ forces[:6]
        agree("momentum rate = total wrench, SE(3)", rate, external + base, scale=max(1.0, size))


@law
def wrench_frames_agree(recipe, model, state, rng):
    """A wrench is a force J' w in each of its three frames."""
    link, wrench, a = some_link(model, rng), rng.normal(size=6), np.zeros(model.nv)
    without = fc.inverse_dynamics(model, state, a)
    for frame, representation in zip(("body", "mixed", "world"), REPRESENTATIONS, strict=True):
        found = without - fc.inverse_dynamics(model, state, a, {link: wrench}, frame)
        J = fc.jacobian(model, state, link, representation)
        agree("external wrench = J' w", found, J.T @ wrench, scale=np.abs(without).max(initial=1.0))


# symmetries ---------------------------------------------------------------------------------------------------


@law
def nothing_depends_on_the_base_pose(recipe, model, state, rng):
    """Left-invariance: without gravity; with it, when gravity turns along."""
    a, moved = rng.normal(size=model.nv), state._replace(pose=model.base.random(rng) @ state.pose)
    name = str(rng.choice(fc.FACTORIZATIONS))
    assert (fc.coriolis_matrix(model, state, name) == fc.coriolis_matrix(model, moved, name)).all()
    assert (fc.mass_matrix(model, state) == fc.mass_matrix(model, moved)).all()
    assert (fc.momentum(model, state) == fc.momentum(model, moved)).all()
    weightless = replace(model, gravity=np.zeros(3))
    forces = fc.inverse_dynamics(weightless, state, a)
    assert (forces == fc.inverse_dynamics(weightless, moved, a)).all()
    turn = moved.pose[:3, :3] @ state.pose[:3, :3].T
    turned = replace(model, gravity=turn @ model.gravity)
    found = fc.inverse_dynamics(turned, moved, a)
    agree("left-invariance, gravity turned along", found, fc.inverse_dynamics(model, state, a))


@law
def gravity_identity(recipe, model, state, rng):
    """[Traversaro] (12): g = -M [R' gravity; 0; 0]; for any base group with the momentum in place of M's rows."""
    fall = np.concatenate([state.pose[:3, :3].T @ model.gravity, np.zeros(3)])
    g = fc.gravity_forces(model, state)
    agree("g = -A' [R' gravity; 0]", g, -fc.momentum_matrix(model, state).T @ fall)
    if isinstance(model.base, SE3):
        M = fc.mass_matrix(model, state)
        agree("g = -M [R' gravity; 0; 0], [Traversaro] (12)", g, -M @ np.concatenate([fall, np.zeros(model.n)]))
    d = rng.normal(size=model.nv)
    slope = along(lambda s: fc.potential_energy(model, s), model, state, direction=d)
    agree("g = dU/dx", g @ d, slope, scale=np.abs(g).sum())


def by_joint(model, x):
    """The part of an nv-vector that belongs to each joint, by name."""
    return {j.name: x[model.m :][place] for j, place in zip(model.joints, model.v_slices, strict=True)}


def in_order_of(model, parts):
    return np.concatenate([np.zeros(0), *(parts[j.name] for j in model.joints)])


@law
def re_rooting_changes_nothing(recipe, model, state, rng):
    """The same robot on another base link: accelerations of the joints, energies, momentum."""
    model = replace(model, base=SE3())
    state = state._replace(twist=rng.normal(size=6))
    link, torques, wrenches = some_link(model, rng), rng.normal(size=model.n), some_wrenches(model, rng)
    other, moved = model.reroot(link), fc.reroot_state(model, state, link)
    for name in ("kinetic_energy", "potential_energy"):
        f = getattr(fc, name)
        agree("re-rooting keeps energies", f(other, moved), f(model, state))
    agree("re-rooting keeps the momentum", fc.momentum(other, moved, "world"), fc.momentum(model, state, "world"))
    forces = np.concatenate([np.zeros(6), torques])
    other_forces = np.concatenate([np.zeros(6), in_order_of(other, by_joint(model, forces))])
    a = fc.forward_dynamics(model, state, forces, wrenches, "world")
    b = fc.forward_dynamics(other, moved, other_forces, wrenches, "world")
    tolerance = 10.0 * solving(recipe)
    found = in_order_of(model, by_joint(other, b))
    agree("re-rooting keeps joint accelerations", found, a[6:], tolerance, np.abs(a).max())
    base = fc.link_acceleration(model, state, a, link)
    agree("re-rooting moves the base acceleration", b[:6], base, tolerance, np.abs(a).max())


@law
def order_does_not_matter(recipe, model, state, rng):
    """Links and joints given in another order."""
    links = [model.links[i] for i in rng.permutation(len(model.links))]
    joints = [model.joints[i] for i in rng.permutation(len(model.joints))]
    other = fc.Model("shuffled", model.base, tuple(links), tuple(joints), model.gravity)
    places = zip(model.joints, model.q_slices, strict=True)
    coordinates = {joint.name: state.joints[place] for joint, place in places}
    moved = fc.State(
        state.pose,
        in_order_of(other, coordinates),
        state.twist,
        in_order_of(other, by_joint(model, state.velocity)),
    )
    a = rng.normal(size=model.nv)
    found = fc.inverse_dynamics(other, moved, np.concatenate([a[: model.m], in_order_of(other, by_joint(model, a))]))
    found = np.concatenate([found[: model.m], in_order_of(model, by_joint(other, found))])
    agree("joint order does not matter", found, fc.inverse_dynamics(model, state, a))


@law
def merging_welds_does_not_matter(recipe, model, state, rng):
    merged, a, wrenches = model.merge_fixed(), rng.normal(size=model.nv), some_wrenches(model, rng)
    for name in ("mass_matrix", "mass_matrix_derivative", "coriolis_matrix"):
        f = getattr(fc, name)
        agree("merging welds does not matter", f(merged, state), f(model, state))
    wanted = fc.inverse_dynamics(model, state, a, wrenches)
    agree("merging welds does not matter", fc.inverse_dynamics(merged, state, a, wrenches), wanted)
    link = some_link(model, rng)  # a frame now, if its joint was a weld
    agree("merging welds does not matter", fc.jacobian(merged, state, link), fc.jacobian(model, state, link))


# kinematics ---------------------------------------------------------------------------------------------------


def twist_of(H, H_dot, representation):
    """`[v; w]` from a pose and its rate: `H^-1 Hdot`, `Hdot H^-1`, or the rate of the origin and the world's `w`."""
    if representation == "mixed":
        return np.concatenate([H_dot[:3, 3], SE3().vee(H_dot @ np.linalg.inv(H))[3:]])
    return SE3().vee(np.linalg.solve(H, H_dot) if representation == "body" else H_dot @ np.linalg.inv(H))


@law
def jacobians_differentiate_poses(recipe, model, state, rng):
    link, point = some_link(model, rng), rng.normal(size=3)
    frame = model.frame(link, SE3().random(rng), "tool")
    for representation in REPRESENTATIONS:
        direction = rng.normal(size=model.nv)
        H = fc.link_pose(model, state, frame)
        H_dot = along(lambda s: fc.link_pose(model, s, frame), model, state, direction=direction)
        J = fc.jacobian(model, state, frame, representation)
        agree(f"J = complex step of the pose, {representation}", J @ direction, twist_of(H, H_dot, representation))
        J_dot = fc.jacobian_derivative(model, state, frame, representation)
        wanted = along(lambda s, r=representation: fc.jacobian(model, s, frame, r), model, state)
        agree(f"dJ/dt = complex step of J, {representation}", J_dot, wanted)
        a = rng.normal(size=model.nv)
        found = fc.link_acceleration(model, state, a, frame, representation)
        wanted = along(lambda s, r=representation: fc.link_twist(model, s, frame, r), model, state, a)
        agree(f"link acceleration = complex step, {representation}", found, wanted)
    J = fc.jacobian(model, state, link, "mixed", point=point)
    wanted = along(lambda s: (fc.link_pose(model, s, link) @ [*point, 1.0])[:3], model, state)
    agree("J of a point = complex step", J[:3] @ state.velocity, wanted)
    found = fc.jacobian_derivative(model, state, link, "mixed", point=point)
    wanted = along(lambda s: fc.jacobian(model, s, link, "mixed", point=point), model, state)
    agree("dJ/dt of a point = complex step", found, wanted)


@law
def center_of_mass(recipe, model, state, rng):
    a, v = rng.normal(size=model.nv), state.velocity
    agree("center of mass", fc.center_of_mass(model, state), whole_body(model, state).center)
    J, bias = fc.center_of_mass_jacobian(model, state), fc.center_of_mass_bias(model, state)
    agree("center of mass velocity", J @ v, along(lambda s: fc.center_of_mass(model, s), model, state))
    wanted = along(lambda s: fc.center_of_mass_jacobian(model, s) @ s.velocity, model, state, a)
    agree("center of mass acceleration", J @ a + bias, wanted)


@law
def analytical_jacobians_differentiate_charts(recipe, model, state, rng):
    """[ETH] 2.8.4-2.8.6, every pair of charts, away from their singularities."""
    link = some_link(model, rng)
    H = fc.link_pose(model, state, link)
    position, rotation = rng.choice(np.array(POSITION_CHARTS)), rng.choice(np.array(ROTATION_CHARTS))
    here = position.from_position(H[:3, 3]), rotation.from_matrix(H[:3, :3])
    if position.singularity(here[0]) < 0.05 or rotation.singularity(here[1]) < 0.05:
        return

    def chart(s):
        moved = fc.link_pose(model, s, link)
        return np.concatenate([position.from_position(moved[:3, 3]), rotation.from_matrix(moved[:3, :3])])

    found = fc.analytical_jacobian(model, state, link, position, rotation) @ state.velocity
    agree("analytical J = complex step of the chart", found, along(chart, model, state), 1e-10)


# momentum -----------------------------------------------------------------------------------------------------


@law
def momentum_frames_are_consistent(recipe, model, state, rng):
    base, world, central = (fc.momentum(model, state, frame) for frame in FRAMES)
    center = fc.center_of_mass(model, state)
    agree("momentum: base to world", world, Ad(SE3().inverse(state.pose)).T @ base)
    agree("momentum: world to centroidal", central[:3], world[:3])
    agree(
        "momentum: world to centroidal", central[3:], world[3:] - np.cross(center, world[:3]), scale=np.abs(world).max()
    )
    speed = fc.center_of_mass_jacobian(model, state) @ state.velocity
    agree("momentum: p = m v_com", world[:3], model.mass * speed)
    agree(
        "momentum: base rows of M",
        model.base.selection.T @ base,
        (fc.mass_matrix(model, state) @ state.velocity)[: model.m],
    )


@law
def momentum_matrix_rates(recipe, model, state, rng):
    for frame in FRAMES:
        found = fc.momentum_matrix_derivative(model, state, frame)
        wanted = along(lambda s, f=frame: fc.momentum_matrix(model, s, f), model, state)
        agree(f"dA/dt = complex step of A, {frame}", found, wanted)
    A_G, rate = fc.centroidal_momentum_matrix(model, state), fc.centroidal_momentum_matrix_derivative(model, state)
    assert (fc.momentum_matrix(model, state, "centroidal") == A_G).all()
    assert (rate == fc.momentum_matrix_derivative(model, state, "centroidal")).all()


@law
def locked_inertia_and_average_velocity(recipe, model, state, rng):
    """[Traversaro] 5: the inertia of the frozen robot, and the twist that gives it the same momentum."""
    frozen = whole_body(model, state)
    agree("locked inertia = frozen robot", fc.locked_inertia(model, state, "world"), frozen.spatial_inertia)
    central = np.zeros((6, 6))
    central[:3, :3], central[3:, 3:] = frozen.mass * np.eye(3), frozen.inertia
    found = fc.locked_inertia(model, state, "centroidal")
    agree("locked inertia = frozen robot", found, central, scale=np.abs(frozen.spatial_inertia).max())
    for frame in FRAMES:
        I, nu = fc.locked_inertia(model, state, frame), fc.average_velocity(model, state, frame)  # noqa: E741
        tolerance = 1e-12 * max(1.0, 1e-2 * np.linalg.cond(I))
        agree("locked inertia x average velocity = momentum", I @ nu, fc.momentum(model, state, frame), tolerance)
    still = state._replace(rates=np.zeros(model.n))
    found, tolerance = fc.average_velocity(model, still), 1e-14 * np.linalg.cond(fc.locked_inertia(model, still))
    agree("average velocity of a rigid motion", found, model.base.selection @ state.twist, max(1e-12, tolerance))
    if isinstance(model.base, SE3):
        M = fc.mass_matrix(model, state)
        agree("locked inertia = Mbb", fc.locked_inertia(model, state), M[:6, :6])


# derivatives --------------------------------------------------------------------------------------------------


def jacobian_by_complex_step(f, model, state):
    """d f / d configuration and d f / d velocity, column by column."""
    by_q = [along(f, model, state, direction=d) for d in np.eye(model.nv)]
    v = state.velocity
    by_v = [np.imag(f(with_velocity(model, state, v + 1j * STEP * d))) / STEP for d in np.eye(model.nv)]
    return (np.stack(x, axis=1) if x else np.zeros((0, 0)) for x in (by_q, by_v))


@costly
def derivatives_of_inverse_dynamics(recipe, model, state, rng):
    a = rng.normal(size=model.nv)
    found = fc.inverse_dynamics_derivatives(model, state, a)
    by_q, by_v = jacobian_by_complex_step(lambda s: fc.inverse_dynamics(model, s, a), model, state)
    agree("inverse dynamics by configuration", found.configuration, by_q)
    agree("inverse dynamics by velocity", found.velocity, by_v)
    agree("inverse dynamics by acceleration", found.acceleration, fc.mass_matrix(model, state))


@costly
def derivatives_of_forward_dynamics(recipe, model, state, rng):
    forces = rng.normal(size=model.nv)
    found = fc.forward_dynamics_derivatives(model, state, forces)
    by_q, by_v = jacobian_by_complex_step(lambda s: fc.forward_dynamics(model, s, forces), model, state)
    agree("forward dynamics by configuration", found.configuration, by_q, solving(recipe))
    agree("forward dynamics by velocity", found.velocity, by_v, solving(recipe))
    M = fc.mass_matrix(model, state)
    agree("forward dynamics by forces", found.forces @ M, np.eye(model.nv), solving(recipe))


def deviation(model, state, moved):
    """The tangent vector (nv) that displaces the one configuration to the other."""
    parts = [model.base.log(np.linalg.solve(state.pose, moved.pose))]
    for joint, q in zip(model.joints, model.q_slices, strict=True):
        G = joint.kind.group
        if G.nq == G.dim and not np.any(G.ad(np.ones(G.dim))):
            parts.append(moved.joints[q] - state.joints[q])
        else:
            parts.append(G.log(G.inverse(G.element(state.joints[q])) @ G.element(moved.joints[q])))
    return np.concatenate(parts)


@costly
def linearization_predicts_the_flow(recipe, model, state, rng):
    """Two nearby motions part as `A` and `B` say: central differences in the deviation and in time."""
    if model.nv == 0:
        return
    forces, h, dt = rng.normal(size=model.nv), 1e-4, 1e-4
    A, B = fc.linearize(model, state, forces)
    x, dv, df = (rng.normal(size=model.nv) / model.nv for _ in range(3))

    def flow(s, f, t):
        a = fc.forward_dynamics(model, s, f)
        v = s.velocity
        return with_velocity(model, fc.displace(model, s, t * v + 0.5 * t * t * a), v + t * a)

    def parted(t):
        nominal, sides = flow(state, forces, t), []
        for sign in (h, -h):
            start = with_velocity(model, fc.displace(model, state, sign * x), state.velocity + sign * dv)
            end = flow(start, forces + sign * df, t)
            sides.append(np.concatenate([deviation(model, nominal, end), end.velocity - nominal.velocity]))
        return (sides[0] - sides[1]) / (2.0 * h)

    found = (parted(dt) - parted(-dt)) / (2.0 * dt)
    wanted = A @ np.concatenate([x, dv]) + B @ df
    agree("linearize = differences of the flow", found, wanted, 1e-4)


@law
def displacement(recipe, model, state, rng):
    """A displaced state is a state: members of their groups, reached along the tangent, and back."""
    d = 0.3 * rng.normal(size=model.nv)
    moved = fc.displace(model, state, d)
    model.state(*moved)  # checks membership
    agree("displace: deviation gives the tangent back", deviation(model, state, moved), d, 1e-11)
    same = fc.displace(model, state, np.zeros(model.nv))  # a quaternion may change its sign
    agree("displace by zero", deviation(model, state, same), np.zeros(model.nv))


# constraints --------------------------------------------------------------------------------------------------


@law
def constrained_motion(recipe, model, state, rng):
    """[ETH] (3.62)-(3.65): the constraint holds, and Newton's law with the multipliers' forces."""
    if model.nv < 2:
        return
    k = int(rng.integers(1, min(model.nv, 6)))
    J, bias, forces = rng.normal(size=(k, model.nv)), rng.normal(size=k), rng.normal(size=model.nv)
    a, multipliers = fc.constrained_forward_dynamics(model, state, forces, J, bias)
    M, h = fc.mass_matrix(model, state), fc.bias_forces(model, state)
    tolerance, size = solving(recipe), np.abs(a).max()
    agree("constraint holds: J a + b = 0", J @ a, -bias, tolerance, size)
    size = np.abs(M).max() * np.abs(a).max()
    agree("KKT: M a + h = forces + J' multipliers", M @ a + h, forces + J.T @ multipliers, tolerance, size)
    MinvJt = np.linalg.solve(M, J.T)
    N = np.eye(model.nv) - MinvJt @ np.linalg.solve(J @ MinvJt, J)  # (3.63)
    agree("(3.65): N' (M a + h) = N' forces", N.T @ (M @ a + h), N.T @ forces, tolerance, size)


# what does not hold -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def witness():
    rng = np.random.default_rng(7)
    model = fc.robots.random_tree(rng, 5)
    return model, model.random_state(rng), rng.normal(size=model.nv)


@pytest.mark.parametrize("name", ["newton_euler", "hamel"])
def test_the_others_are_not_passive(witness, name):
    model, state, _ = witness
    C = fc.coriolis_matrix(model, state, name)
    assert residual(C + C.T, fc.mass_matrix_derivative(model, state)) > 1e-2


@pytest.mark.parametrize("name", ["passive", "coadjoint", "newton_euler", "hamel"])
def test_the_others_have_torsion(witness, name):
    model, state, w = witness
    v = state.velocity
    C_v, C_w = (fc.coriolis_matrix(model, with_velocity(model, state, x), name) for x in (v, w))
    assert residual(C_v @ w - C_w @ v, fc.mass_matrix(model, state) @ bracket(model, v, w)) > 1e-2


def test_the_five_are_five(witness):
    model, state, _ = witness
    C = [fc.coriolis_matrix(model, state, name) for name in fc.FACTORIZATIONS]
    assert all(residual(C[i], C[j]) > 1e-2 for i in range(5) for j in range(i))


def test_torsion_needs_the_brackets_of_the_joints(witness):
    """With the base's bracket alone (THEORY, joints of one coordinate) the law fails on a ball joint."""
    rng = np.random.default_rng(0)
    model = fc.robots.random_tree(rng, 3, kinds=["spherical"])
    state, w = model.random_state(rng), rng.normal(size=model.nv)
    v = state.velocity
    C_v, C_w = (fc.coriolis_matrix(model, with_velocity(model, state, x)) for x in (v, w))
    of_the_base = bracket(model, v, w) * np.repeat([1.0, 0.0], [model.m, model.n])
    assert residual(C_v @ w - C_w @ v, fc.mass_matrix(model, state) @ of_the_base) > 1e-2


def test_momentum_is_not_kept_by_a_base_that_is_held():
    rng = np.random.default_rng(3)
    model = fc.robots.random_tree(rng, 3, base=fc.lie.R3(), fixed=0.0)
    state = model.random_state(rng)
    a = fc.forward_dynamics(model, state, np.zeros(model.nv))
    rate = along(lambda s: fc.momentum(model, s, "centroidal"), model, state, a)
    assert np.abs(rate[3:]).max() > 1e-2
