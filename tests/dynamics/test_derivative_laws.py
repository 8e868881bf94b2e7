"""Laws of the derivatives and of constrained motion on random robots."""

from __future__ import annotations

import numpy as np
import pytest
from random_robots import Robot, driven
from residuals import agree
from robot_laws import REPRESENTATIONS, STEP, along, law, solving, some_link, some_wrenches, with_velocity

import fallingcat as fc
from fallingcat.lie import R1, R3, SE3

# derivatives --------------------------------------------------------------------------------------------------


def jacobian_by_complex_step(f, model, state):
    """d f / d configuration and d f / d velocity, direction by direction (the last axis)."""
    by_q = [along(f, model, state, direction=d) for d in np.eye(model.nv)]
    v = state.velocity
    by_v = [np.imag(f(with_velocity(model, state, v + 1j * STEP * d))) / STEP for d in np.eye(model.nv)]
    return (np.stack(x, axis=-1) if x else np.zeros((*np.shape(f(state)), 0)) for x in (by_q, by_v))


@law(largest=8, slow_largest=20)
def test_derivatives_of_inverse_dynamics(recipe, model, state, rng):
    a = rng.normal(size=model.nv)
    found = fc.inverse_dynamics_derivatives(model, state, a)
    by_q, by_v = jacobian_by_complex_step(lambda s: fc.inverse_dynamics(model, s, a), model, state)
    agree("inverse dynamics by configuration", found.configuration, by_q)
    agree("inverse dynamics by velocity", found.velocity, by_v)
    agree("inverse dynamics by acceleration", found.acceleration, fc.mass_matrix(model, state))


@law(largest=8, slow_largest=20, examples=[Robot(R3(), 20, 2317875491), Robot(R1((0.6, 0.0, 0.8)), 17, 738)])
def test_derivatives_of_forward_dynamics(recipe, model, state, rng):
    forces = rng.normal(size=model.nv)
    found = fc.forward_dynamics_derivatives(model, state, forces)
    by_q, by_v = jacobian_by_complex_step(lambda s: fc.forward_dynamics(model, s, forces), model, state)
    agree("forward dynamics by configuration", found.configuration, by_q, solving(recipe))
    agree("forward dynamics by velocity", found.velocity, by_v, solving(recipe))
    M = fc.mass_matrix(model, state)
    # columns x of the inverse solve M x = e to rounding; X M - 1 is worse by another condition of M
    agree("forward dynamics by forces", M @ found.forces, np.eye(model.nv), solving(recipe))
    agree("the inverse is symmetric", found.forces, found.forces.T, solving(recipe))


@law(largest=8, slow_largest=20)
def test_derivatives_with_wrenches(recipe, model, state, rng):
    """Wrenches on links keep their numbers, in whichever representation these are."""
    x, wrenches, written = rng.normal(size=model.nv), some_wrenches(model, rng), str(rng.choice(REPRESENTATIONS))
    found = fc.inverse_dynamics_derivatives(model, state, x, wrenches, written)
    by_q, by_v = jacobian_by_complex_step(lambda s: fc.inverse_dynamics(model, s, x, wrenches, written), model, state)
    agree(f"inverse dynamics by configuration, {written} wrenches", found.configuration, by_q)
    agree("inverse dynamics by velocity, wrenches", found.velocity, by_v)
    found = fc.forward_dynamics_derivatives(model, state, x, wrenches, written)
    by_q, by_v = jacobian_by_complex_step(lambda s: fc.forward_dynamics(model, s, x, wrenches, written), model, state)
    agree(f"forward dynamics by configuration, {written} wrenches", found.configuration, by_q, solving(recipe))
    agree("forward dynamics by velocity, wrenches", found.velocity, by_v, solving(recipe))


@law(largest=8, slow_largest=20)
def test_kinematic_hessian(recipe, model, state, rng):
    link, written = some_link(model, rng), str(rng.choice(REPRESENTATIONS))
    found = fc.dynamics.kinematic_hessian(model, state, link, written)
    by_q, _ = jacobian_by_complex_step(lambda s: fc.jacobian(model, s, link, written), model, state)
    agree(f"kinematic hessian, {written}", found, by_q)
    J_dot = fc.dynamics.jacobian_derivative(model, state, link, written)
    agree("hessian times velocity = rate of the Jacobian", found @ state.velocity, J_dot)


@law(largest=5, slow_largest=20)
def test_centroidal_derivatives(recipe, model, state, rng):
    a = rng.normal(size=model.nv)

    def rate(s):
        return (
            fc.centroidal_momentum_matrix(model, s) @ a
            + fc.dynamics.centroidal_momentum_matrix_derivative(model, s) @ s.velocity
        )

    found = fc.dynamics.centroidal_dynamics_derivatives(model, state, a)
    by_q, by_v = jacobian_by_complex_step(lambda s: fc.momentum(model, s, "centroidal"), model, state)
    agree("centroidal momentum by configuration", found.momentum_by_configuration, by_q)
    agree("rate of centroidal momentum by acceleration", found.rate_by_acceleration, by_v)
    by_q, by_v = jacobian_by_complex_step(rate, model, state)
    agree("rate of centroidal momentum by configuration", found.rate_by_configuration, by_q)
    agree("rate of centroidal momentum by velocity", found.rate_by_velocity, by_v)
    center = fc.dynamics.center_of_mass_derivatives(model, state, a)
    by_q, _ = jacobian_by_complex_step(lambda s: fc.center_of_mass_jacobian(model, s) @ s.velocity, model, state)
    agree("velocity of the center of mass by configuration", center.velocity_by_configuration, by_q)
    by_q, by_v = jacobian_by_complex_step(
        lambda s: fc.center_of_mass_jacobian(model, s) @ a + fc.dynamics.center_of_mass_bias(model, s), model, state
    )
    agree("acceleration of the center of mass by configuration", center.acceleration_by_configuration, by_q)
    agree("acceleration of the center of mass by velocity", center.acceleration_by_velocity, by_v)


WRENCHES = {"front": np.arange(6.0), "rear": np.ones(6)}
COMPILED = {
    "inverse": (fc.inverse_dynamics_derivatives, {"wrenches": WRENCHES, "representation": "mixed"}),
    "forward": (fc.forward_dynamics_derivatives, {"wrenches": WRENCHES, "representation": "inertial"}),
    "hessian": (fc.dynamics.kinematic_hessian, {"link": "rear", "representation": "inertial"}),
    "centroidal": (fc.dynamics.centroidal_dynamics_derivatives, {}),
    "center of mass": (fc.dynamics.center_of_mass_derivatives, {}),
}


@pytest.mark.parametrize("name", COMPILED)
def test_derivatives_are_compiled(name):
    function, options = COMPILED[name]
    cat, rng = driven(fc.robots.cat(), np.random.default_rng(1)), np.random.default_rng(2)
    state, x = cat.random_state(rng), () if name == "hessian" else (rng.normal(size=cat.nv),)
    found, wanted = fc.compile(cat, function, **options)(*cat.flatten(state), *x), function(cat, state, *x, **options)
    for a, b in zip(found, wanted, strict=True):
        agree(f"compiled {name}", a, b, 1e-11 if name == "forward" else 1e-12)


def deviation(model, state, moved):
    """The tangent vector (nv) that displaces the one configuration to the other."""
    parts = [model.base.log(np.linalg.solve(state.pose, moved.pose))]
    for joint, q in zip(model.joints, model.q_slices, strict=True):
        if joint.mimic:
            continue
        G = joint.kind.group
        if G.nq == G.dim and not np.any(G.ad(np.ones(G.dim))):
            parts.append(moved.joints[q] - state.joints[q])
        else:
            parts.append(G.log(G.inverse(G.element(state.joints[q])) @ G.element(moved.joints[q])))
    return np.concatenate(parts)


@law(largest=8, slow_largest=20)
def test_linearization_predicts_the_flow(recipe, model, state, rng):
    """Two nearby motions part as `A` and `B` say: central differences in the deviation and in time."""
    if model.nv == 0:
        return
    forces, h, dt = rng.normal(size=model.nv), 1e-4, 1e-4
    A, B = fc.linearize(model, state, forces)
    x, dv, df = (rng.normal(size=model.nv) / model.nv for _ in range(3))

    def flow(s, f, t):
        a = fc.forward_dynamics(model, s, f)
        v = s.velocity
        return with_velocity(model, fc.dynamics.displace(model, s, t * v + 0.5 * t * t * a), v + t * a)

    def parted(t):
        nominal, sides = flow(state, forces, t), []
        for sign in (h, -h):
            start = with_velocity(model, fc.dynamics.displace(model, state, sign * x), state.velocity + sign * dv)
            end = flow(start, forces + sign * df, t)
            sides.append(np.concatenate([deviation(model, nominal, end), end.velocity - nominal.velocity]))
        return (sides[0] - sides[1]) / (2.0 * h)

    found = (parted(dt) - parted(-dt)) / (2.0 * dt)
    wanted = A @ np.concatenate([x, dv]) + B @ df
    agree("linearize = differences of the flow", found, wanted, 1e-4)


@law()
def test_displacement(recipe, model, state, rng):
    """A displaced state is a state: members of their groups, reached along the tangent, and back."""
    d = 0.3 * rng.normal(size=model.nv)
    moved = fc.dynamics.displace(model, state, d)
    model.state(*moved)  # checks membership
    agree("displace: deviation gives the tangent back", deviation(model, state, moved), d, 1e-11)
    same = fc.dynamics.displace(model, state, np.zeros(model.nv))  # a quaternion may change its sign
    agree("displace by zero", deviation(model, state, same), np.zeros(model.nv))


# constraints --------------------------------------------------------------------------------------------------


@law()
def test_constrained_motion(recipe, model, state, rng):
    """[ETH] (3.62)-(3.65): the constraint holds, and Newton's law with the multipliers' forces."""
    if model.nv < 2:
        return
    k = int(rng.integers(1, min(model.nv, 6)))
    J, bias, forces = rng.normal(size=(k, model.nv)), rng.normal(size=k), rng.normal(size=model.nv)
    a, multipliers = fc.dynamics.constrained_forward_dynamics(model, state, forces, J, bias)
    M, h = fc.mass_matrix(model, state), fc.bias_forces(model, state)
    tolerance, size = solving(recipe), np.abs(a).max()
    agree("constraint holds: J a + b = 0", J @ a, -bias, tolerance, size)
    size = np.abs(M).max() * np.abs(a).max()
    agree("KKT: M a + h = forces + J' multipliers", M @ a + h, forces + J.T @ multipliers, tolerance, size)
    MinvJt = np.linalg.solve(M, J.T)
    N = np.eye(model.nv) - MinvJt @ np.linalg.solve(J @ MinvJt, J)  # (3.63)
    agree("(3.65): N' (M a + h) = N' forces", N.T @ (M @ a + h), N.T @ forces, tolerance, size)
    exerted = np.linalg.solve(J @ MinvJt, MinvJt.T @ (forces - h) + bias)  # (3.62): by the robot, on its environment
    agree("(3.62): multipliers = -F_c", multipliers, -exerted, tolerance, np.abs(exerted).max())


def test_multipliers_are_forces_on_the_robot():
    """A body that rests on a table is held up with its weight."""
    body = fc.robots.free_body()
    rng = np.random.default_rng(0)
    state = body.state(pose=SE3().random(rng))
    up = fc.center_of_mass_jacobian(body, state)[2:]
    held = fc.dynamics.constrained_forward_dynamics(body, state, np.zeros(6), up, np.zeros(1))
    agree("rests on a table: +m g", held.multipliers, [body.mass * 9.81])
    pushed = fc.center_of_mass_jacobian(body, state).T @ [0.0, 0.0, -5.0]
    held = fc.dynamics.constrained_forward_dynamics(body, state, pushed, up, np.zeros(1))
    agree("pressed onto the table", held.multipliers, [body.mass * 9.81 + 5.0])
