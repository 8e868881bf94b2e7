"""The configuration group: a direct product on states, for every base and every kind of joint."""

import numpy as np
import pytest
from hypothesis import given, settings
from kinds import KINDS
from random_robots import BASES, build, rng_of, robots
from scipy.linalg import block_diag

import fallingcat as fc
from fallingcat.arrays import concatenate

STEP = 1e-30  # of complex-step derivatives


def close(a, b, tolerance=1e-12):
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def same_point(group, a, b):
    close(group.difference(a, b), 0.0, 1e-11)
    close(a.pose, b.pose, 1e-11)


@given(recipe=robots(largest=12))
def test_difference_is_the_inverse_of_displace(recipe):
    model, start = build(recipe)
    end, group = model.random_state(rng_of(recipe)), model.configuration
    moved = group.displace(start, group.difference(start, end))
    same_point(group, moved, end)
    assert moved.twist is start.twist  # velocities stay
    close(group.difference(start, start), 0.0, 1e-13)


@given(recipe=robots(largest=12))
def test_log_is_the_inverse_of_exp(recipe):
    model, state = build(recipe)
    group = model.configuration
    same_point(group, group.exp(group.log(state)), state)
    same_point(group, group.exp(np.zeros(model.nv)), model.neutral())


@given(recipe=robots(largest=12))
def test_interpolation_ends_at_its_ends_and_runs_evenly(recipe):
    model, start = build(recipe)
    end, group = model.random_state(rng_of(recipe)), model.configuration
    same_point(group, group.interpolate(start, end, 0.0), start)
    same_point(group, group.interpolate(start, end, 1.0), end)
    half = group.interpolate(start, end, 0.5)
    close(2.0 * group.difference(start, half), group.difference(start, end), 1e-10)


@given(recipe=robots(largest=12))
def test_the_algebra_is_that_of_the_parts(recipe):
    model, _ = build(recipe)
    rng, group = rng_of(recipe), model.configuration
    x, v = rng.normal(size=(2, model.nv))
    parts = [model.base, *(joint.kind.group for joint in model.joints if not joint.mimic)]
    cuts = np.split(x, np.cumsum([g.dim for g in parts])[:-1])
    for whole, name in ((group.ad(x), "ad"), (group.dexp(x), "dexp_right")):
        blocks = [getattr(g, name)(part) for g, part in zip(parts, cuts, strict=True) if g.dim]
        close(whole, block_diag(*blocks) if blocks else np.zeros((0, 0)))
    close(group.dexp(x) @ group.logarithm_rate(v, x), v, 1e-11)


@settings(max_examples=20)
@given(recipe=robots(largest=8))
def test_logarithm_rate_is_the_rate_of_the_displacement(recipe):
    """`displace(start, x)` with `dx/dt = logarithm_rate(v, x)` moves with the quasi-velocity `v`, by complex step."""
    model, start = build(recipe)
    rng, group = rng_of(recipe), model.configuration
    x, v = 0.3 * rng.normal(size=(2, model.nv))
    there = group.displace(start, x)
    ahead = group.displace(start, x + 1j * STEP * group.logarithm_rate(v, x))
    along = group.displace(there, 1j * STEP * v)
    close(np.imag(ahead.pose) / STEP, np.imag(along.pose) / STEP, 1e-11)
    close(np.imag(ahead.joints) / STEP, np.imag(along.joints) / STEP, 1e-10)


@pytest.mark.parametrize("number", KINDS)
def test_every_kind_of_number(number):
    model = fc.robots.random_tree(np.random.default_rng(2), 12)
    state, x = model.random_state(np.random.default_rng(3)), 0.3 * np.random.default_rng(4).normal(size=model.nv)

    def everything(x):
        moved = model.configuration.displace(state, x)
        parts = [moved.pose[:3].reshape(-1), moved.joints, model.configuration.difference(state, moved)]
        return concatenate([*parts, model.configuration.logarithm_rate(state.velocity, x)])

    close(KINDS[number](everything, x), everything(x), 1e-11)


def test_angles_keep_whole_turns():
    arm = fc.robots.planar_arm()
    far = arm.configuration.displace(arm.neutral(), np.full(arm.nv, 10.0))
    close(far.joints, 10.0)
    close(arm.configuration.log(far), np.full(arm.nv, 10.0))


@pytest.mark.parametrize("base", BASES, ids=str)
def test_random_points_are_points(base):
    model = fc.robots.random_tree(np.random.default_rng(0), 5, base=base)
    point = model.configuration.random(np.random.default_rng(1))
    model.state(*point)  # checks membership
    assert not point.velocity.any()


def test_a_long_chain_needs_no_large_matrices():
    """The neutral point of 2,000 joints is made joint by joint, not from an 8,000 x 8,000 element."""
    chain = fc.robots.random_tree(np.random.default_rng(0), 2000, kinds=["revolute"], branching=0.0)
    assert "group" not in chain.configuration.__dict__
    assert chain.neutral().joints.shape == (2000,)
