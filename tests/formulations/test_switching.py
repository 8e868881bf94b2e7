"""The switch of the stance foot ([Traversaro] 6): equations before and after it agree, on random robots."""

import numpy as np
from hypothesis import assume, given, settings
from random_robots import build, rng_of, robots
from residuals import agree

import fallingcat as fc
from fallingcat.lie import SE3

free = robots(largest=10, bases=(SE3(),))


def size_of(M):
    """1e-12, but for what the condition of the mass matrix takes."""
    return max(1e-12, 1e-15 * np.linalg.cond(M)) if len(M) else 1e-12


@settings(max_examples=10)
@given(recipe=free)
def test_a_switch_is_one_change_of_velocity(recipe):
    """From foot to foot: ``T = T_after T_before^-1`` takes the equations, the motion and the forces over."""
    model, state = build(recipe)
    rng = rng_of(recipe)
    before, after = (fc.changes.base_at(model, state, str(x)) for x in rng.choice(model.link_names, 2))
    eom, forces = fc.equations(model, state), rng.normal(size=model.nv)
    old, new, switch = eom.change(before), eom.change(after), before.inverted().then(after)
    size = size_of(old.M)
    agree("M", switch.inverse.T @ old.M @ switch.inverse, new.M, size)
    agree("v", switch.velocity(old.v), new.v)
    a = np.linalg.solve(old.M, before.forces(forces) - old.C @ old.v - old.g)
    a_new = np.linalg.solve(new.M, after.forces(forces) - new.C @ new.v - new.g)
    agree("forces", switch.forces(before.forces(forces)), after.forces(forces))
    agree("accelerations", switch.acceleration(a, old.v), a_new, 10 * size)
    agree("of the joints", a[6:], a_new[6:], 10 * size)
    needed = switch.forces(old.M @ a + old.C @ old.v + old.g)
    agree("inverse dynamics", needed, new.M @ switch.acceleration(a, old.v) + new.C @ new.v + new.g, 10 * size)


def standing_on_both(model, state, F, K, rng):
    """Joint rates and accelerations with which two links are at rest, and stay so."""
    held = fc.formulations.fixed_at(model, state._replace(rates=np.zeros(model.n)), F)
    Z = np.linalg.svd(held.jacobian(K))
    still = Z[2][int((Z[1] > 1e-9).sum()) :].T  # rates that move neither
    held = fc.formulations.fixed_at(model, state._replace(rates=still @ rng.normal(size=still.shape[1])), F)
    back, rates = held.whole.changes, held.whole.state.rates
    a = lambda ddq: back.inverse @ (np.r_[np.zeros(6), ddq] - back.T_dot @ held.whole.state.velocity)  # noqa: E731
    bias = fc.dynamics.link_acceleration(model, held.whole.state, a(np.zeros(model.n)), K)
    ddq = -np.linalg.pinv(held.jacobian(K), rcond=1e-9) @ bias + still @ rng.normal(size=still.shape[1])
    missed = fc.dynamics.link_acceleration(model, held.whole.state, a(ddq), K)
    return rates, ddq, float(np.abs(missed).max() / max(1.0, np.abs(bias).max()))


@settings(max_examples=10)
@given(recipe=free)
def test_the_wrench_of_one_foot_is_external_to_the_other(recipe):
    """Both feet rest.  Before, (48) gives the wrench of F beside a given one of K; after, that of K beside F's."""
    model, state = build(recipe)
    rng = rng_of(recipe)
    F, K = (str(x) for x in rng.choice(model.link_names, 2, replace=False))
    rates, ddq, missed = standing_on_both(model, state, F, K, rng)
    assume(missed < 1e-12)  # else there is no such motion
    state, on_K = state._replace(rates=rates), rng.normal(size=6)
    before = fc.formulations.fixed_at(model, state, F, wrenches={K: on_K})
    torques = before.M @ ddq + before.C @ rates + before.g - before.external
    on_F = before.wrench(torques)
    after = fc.formulations.fixed_at(model, before.whole.state, K, wrenches={F: on_F})
    size = 10 * max(size_of(before.M), size_of(after.M))
    agree("torques", after.M @ ddq + after.C @ rates + after.g - after.external, torques, size)
    agree("accelerations", after.forward(torques), before.forward(torques), size)
    agree("(48) gives back the wrench that was given", after.wrench(torques), on_K, size)


def test_the_same_of_robots_that_are_rooted_at_their_feet():
    """... and of two models, each with a foot as its base: two more ways to the same numbers."""
    walker, rng = fc.robots.humanoid(), np.random.default_rng(0)
    state = walker.state(joints=0.3 * rng.normal(size=30), pose=SE3().exp(0.3 * rng.normal(size=6)))
    F, K = "left_ankle_roll_link", "right_ankle_roll_link"
    rates, ddq, missed = standing_on_both(walker, state, F, K, rng)
    assert missed < 1e-12
    state, on_K = state._replace(rates=rates), rng.normal(scale=100.0, size=6)
    before = fc.formulations.fixed_at(walker, state, F, wrenches={K: on_K})
    torques = before.M @ ddq + before.C @ rates + before.g - before.external
    wrenches = {F: before.wrench(torques), K: on_K}
    for foot in (F, K):
        model, moved = fc.contact.stance_base(walker, before.whole.state, foot)
        p = [walker.joint_names.index(name) for name in model.joint_names]
        assert np.abs(moved.twist).max() < 1e-12
        a = fc.forward_dynamics(model, moved, np.r_[np.zeros(6), torques[p]], wrenches)
        agree("the base rests", a[:6], np.zeros(6), size_of(before.M))
        agree("joint accelerations", a[6:], ddq[p], size_of(before.M))
        needed = fc.inverse_dynamics(model, moved, np.r_[np.zeros(6), ddq[p]], wrenches)
        agree("torques", needed, np.r_[np.zeros(6), torques[p]], 1e-12)
