"""Laws of the kinematics and of the momentum on random robots."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from link_sums import whole_body
from residuals import agree
from robot_laws import FRAMES, REPRESENTATIONS, along, law, some_link

import fallingcat as fc
from fallingcat.dynamics.energy import kinetic_slope
from fallingcat.lie import SE3
from fallingcat.lie.charts import POSITION_CHARTS, ROTATION_CHARTS

Ad = SE3().Ad


@law()
def test_kinetic_slope(recipe, model, state, rng):
    found, light = kinetic_slope(model, state), replace(model, gravity=np.zeros(3))
    wanted = fc.mass_matrix_derivative(model, state) @ state.velocity - fc.bias_forces(light, state)
    agree("dT/dq = dM/dt v - C v", found, wanted[model.m :])
    if all(joint.kind.group.additive for joint in model.joints):
        for i in range(model.n):
            direction = np.eye(model.nv)[model.m + i]
            wanted = along(lambda s: fc.kinetic_energy(model, s), model, state, direction=direction)
            agree("dT/dq = complex step", found[i], wanted)


# kinematics ---------------------------------------------------------------------------------------------------


def twist_of(H, H_dot, representation):
    """`[v; w]` from a pose and its rate: `H^-1 Hdot`, `Hdot H^-1`, or the rate of the origin and the world's `w`."""
    if representation == "mixed":
        return np.concatenate([H_dot[:3, 3], SE3().vee(H_dot @ np.linalg.inv(H))[3:]])
    return SE3().vee(np.linalg.solve(H, H_dot) if representation == "body" else H_dot @ np.linalg.inv(H))


@law()
def test_jacobians_differentiate_poses(recipe, model, state, rng):
    link, point = some_link(model, rng), rng.normal(size=3)
    frame = model.frame(link, SE3().random(rng), "tool")
    for representation in REPRESENTATIONS:
        direction = rng.normal(size=model.nv)
        H = fc.link_pose(model, state, frame)
        H_dot = along(lambda s: fc.link_pose(model, s, frame), model, state, direction=direction)
        J = fc.jacobian(model, state, frame, representation)
        agree(f"J = complex step of the pose, {representation}", J @ direction, twist_of(H, H_dot, representation))
        J_dot = fc.dynamics.jacobian_derivative(model, state, frame, representation)
        wanted = along(lambda s, r=representation: fc.jacobian(model, s, frame, r), model, state)
        agree(f"dJ/dt = complex step of J, {representation}", J_dot, wanted)
        a = rng.normal(size=model.nv)
        found = fc.dynamics.link_acceleration(model, state, a, frame, representation)
        wanted = along(lambda s, r=representation: fc.link_twist(model, s, frame, r), model, state, a)
        agree(f"link acceleration = complex step, {representation}", found, wanted)
    J = fc.jacobian(model, state, link, "mixed", point=point)
    wanted = along(lambda s: (fc.link_pose(model, s, link) @ [*point, 1.0])[:3], model, state)
    agree("J of a point = complex step", J[:3] @ state.velocity, wanted)
    found = fc.dynamics.jacobian_derivative(model, state, link, "mixed", point=point)
    wanted = along(lambda s: fc.jacobian(model, s, link, "mixed", point=point), model, state)
    agree("dJ/dt of a point = complex step", found, wanted)


@law()
def test_center_of_mass(recipe, model, state, rng):
    a, v = rng.normal(size=model.nv), state.velocity
    agree("center of mass", fc.center_of_mass(model, state), whole_body(model, state).center)
    J, bias = fc.center_of_mass_jacobian(model, state), fc.dynamics.center_of_mass_bias(model, state)
    agree("center of mass velocity", J @ v, along(lambda s: fc.center_of_mass(model, s), model, state))
    wanted = along(lambda s: fc.center_of_mass_jacobian(model, s) @ s.velocity, model, state, a)
    agree("center of mass acceleration", J @ a + bias, wanted)


@law()
def test_analytical_jacobians_differentiate_charts(recipe, model, state, rng):
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

    found = fc.dynamics.analytical_jacobian(model, state, link, position, rotation) @ state.velocity
    agree("analytical J = complex step of the chart", found, along(chart, model, state), 1e-10)


# momentum -----------------------------------------------------------------------------------------------------


@law()
def test_momentum_frames_are_consistent(recipe, model, state, rng):
    base, world, central = (fc.momentum(model, state, frame) for frame in FRAMES)
    center = fc.center_of_mass(model, state)
    agree("momentum: base to world", world, Ad(SE3().inverse(state.pose)).T @ base)
    agree("momentum: world to centroidal", central[:3], world[:3])
    agree(
        "momentum: world to centroidal", central[3:], world[3:] - np.cross(center, world[:3]), scale=np.abs(world).max()
    )
    speed = fc.center_of_mass_jacobian(model, state) @ state.velocity
    agree("momentum: p = m v_com", world[:3], model.mass * speed)
    M, v = fc.mass_matrix(model, state), state.velocity
    size = (np.abs(M) @ np.abs(v)).max(initial=0.0)
    agree("momentum: base rows of M", model.base.selection.T @ base, (M @ v)[: model.m], scale=max(1.0, size))


@law()
def test_momentum_matrix_rates(recipe, model, state, rng):
    for frame in FRAMES:
        found = fc.dynamics.momentum_matrix_derivative(model, state, frame)
        wanted = along(lambda s, f=frame: fc.momentum_matrix(model, s, f), model, state)
        agree(f"dA/dt = complex step of A, {frame}", found, wanted)
    A_G, rate = (
        fc.centroidal_momentum_matrix(model, state),
        fc.dynamics.centroidal_momentum_matrix_derivative(model, state),
    )
    assert (fc.momentum_matrix(model, state, "centroidal") == A_G).all()
    assert (rate == fc.dynamics.momentum_matrix_derivative(model, state, "centroidal")).all()


@law()
def test_locked_inertia_and_average_velocity(recipe, model, state, rng):
    """[Traversaro] 5: the inertia of the frozen robot, and the twist that gives it the same momentum."""
    frozen = whole_body(model, state)
    agree("locked inertia = frozen robot", fc.dynamics.locked_inertia(model, state, "world"), frozen.spatial_inertia)
    central = np.zeros((6, 6))
    central[:3, :3], central[3:, 3:] = frozen.mass * np.eye(3), frozen.inertia
    found = fc.dynamics.locked_inertia(model, state, "centroidal")
    agree("locked inertia = frozen robot", found, central, scale=np.abs(frozen.spatial_inertia).max())
    for frame in FRAMES:
        I, nu = fc.dynamics.locked_inertia(model, state, frame), fc.dynamics.average_velocity(model, state, frame)  # noqa: E741
        tolerance = 1e-12 * max(1.0, 1e-2 * np.linalg.cond(I))
        agree("locked inertia x average velocity = momentum", I @ nu, fc.momentum(model, state, frame), tolerance)
    still = state._replace(rates=np.zeros(model.n))
    found, tolerance = (
        fc.dynamics.average_velocity(model, still),
        1e-14 * np.linalg.cond(fc.dynamics.locked_inertia(model, still)),
    )
    agree("average velocity of a rigid motion", found, model.base.selection @ state.twist, max(1e-12, tolerance))
    if isinstance(model.base, SE3):
        M = fc.mass_matrix(model, state)
        agree("locked inertia = Mbb", fc.dynamics.locked_inertia(model, state), M[:6, :6])
