"""Base and joints apart: [Feurstein] 3.2-3.3, [Traversaro] 5."""

import numpy as np
import pytest
from formulation_changes import invertible
from hypothesis import given, settings
from link_sums import whole_body
from oracles import decoupling_blocks
from random_robots import BASES, Robot, build, rng_of, robots
from residuals import agree

import fallingcat as fc
from fallingcat.lie import R3, SE2, SE3, SO3, Helical, Trivial

STEP = 1e-40
MOVING = tuple(base for base in BASES if not isinstance(base, Trivial))
SIMPLE = ["revolute", "continuous", "prismatic", "helical", "cylindrical", "universal"]


def simple(recipe):
    """A robot whose joint coordinates are angles and lengths, as the thesis has them."""
    rng = np.random.default_rng(recipe.seed)
    model = fc.robots.random_tree(rng, recipe.joints, kinds=SIMPLE, base=recipe.base)
    return model, model.random_state(rng)


# the family (3.80) --------------------------------------------------------------------------------------------------


def blocks(eom):
    m = eom.m
    M, C = eom.M, eom.C
    return decoupling_blocks.Blocks(M[:m, :m], M[m:, m:], C[:m, :m], C[:m, m:], C[m:, :m], C[m:, m:])


@pytest.mark.parametrize(
    ("factorization", "closed_form"),
    [("hamel", decoupling_blocks.decoupled), ("passive", decoupling_blocks.passive_decoupled)],
    ids=["Prop. 3.3.1", "Prop. 3.3.2"],
)
@settings(max_examples=15)
@given(recipe=robots(largest=5, bases=MOVING))
def test_the_propositions_block_by_block(factorization, closed_form, recipe):
    model, state = simple(recipe)
    rng = rng_of(recipe)
    m, n = model.m, model.n
    Tx, Ty = invertible(rng, m), invertible(rng, n)
    Tx_dot, Ty_dot = rng.normal(size=(m, m)), rng.normal(size=(n, n))
    change = fc.changes.decoupling(model, state, Tx=Tx, Ty=Ty, Tx_dot=Tx_dot, Ty_dot=Ty_dot)
    eom = fc.equations(model, state, factorization).change(change)
    wanted = closed_form(model, state, Tx, Tx_dot, Ty, Ty_dot)
    scale = np.abs(eom.C).max()
    for name, ours, theirs in zip(wanted._fields, blocks(eom), wanted, strict=True):
        agree(f"{factorization}, (3.80): {name}", ours, theirs, 1e-11, scale)
    agree("decoupled mass", eom.M[:m, m:], np.zeros((m, n)), scale=np.abs(eom.M).max())


def test_prop_332_as_printed_is_wrong():
    """The lower left block is `-C_xy'`: with the printed `+` the matrix would not be passive."""
    model, state = simple(Robot(SE3(), 4, 1))
    eom = fc.equations(model, state, "passive").change(fc.changes.locked(model, state))
    upper, lower = eom.C[:6, 6:], eom.C[6:, :6]
    agree("Prop. 3.3.2: C_yx = -C_xy'", lower, -upper.T)
    assert np.abs(upper).max() > 0.1  # ... and not zero, so the sign matters


@settings(max_examples=20)
@given(recipe=robots(largest=10, bases=MOVING))
def test_the_locked_change_is_lemma_2(recipe):
    """[Mishra] Lemma 2: `xi = [mu; rates]`, `M = diag(Mb, Mqq - Mbq' Mb^-1 Mbq)`."""
    model, state = build(recipe)
    m = model.m
    eom = fc.equations(model, state).change(fc.changes.locked(model, state))
    M = fc.mass_matrix(model, state)
    A = np.linalg.solve(M[:m, :m], M[:m, m:])
    agree("Lemma 2: mu", eom.v[:m], state.twist + A @ state.rates)
    agree("Lemma 2: mu = locked_velocity", eom.v[:m], fc.locked_velocity(model, state))
    agree("Lemma 2: Mb mu = momentum", M[:m, :m] @ eom.v[:m], M[:m] @ state.velocity)
    agree("Lemma 2: Mb", eom.M[:m, :m], M[:m, :m])
    agree("Lemma 2: Lq", eom.M[m:, m:], M[m:, m:] - M[m:, :m] @ A, scale=np.abs(M).max())


# centroidal ---------------------------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(recipe=robots(largest=10, bases=(SE3(),)))
def test_centroidal(recipe):
    """[Traversaro] Lemma 4, with the masses summed up by hand."""
    model, state = build(recipe)
    eom = fc.equations(model, state).change(fc.changes.centroidal(model, state))
    body = whole_body(model, state)
    scale = np.abs(eom.M).max()
    wanted = np.zeros((6, model.nv))
    wanted[:3, :3], wanted[3:, 3:6] = body.mass * np.eye(3), body.inertia
    agree("(42): m 1, I_G, 0", eom.M[:6], wanted, scale=scale)
    weight = np.concatenate([-model.mass * model.gravity, np.zeros(3 + model.n)])
    agree("(43): gravity", eom.g, weight)
    agree("(38): average velocity", eom.v[:6], fc.dynamics.average_velocity(model, state, "centroidal"), 1e-11)
    agree("(44): linear rows", eom.C[:3], np.zeros((3, model.nv)), scale=scale * np.abs(eom.v).max())
    agree("(44): linear columns", eom.C[:, :3], np.zeros((model.nv, 3)), scale=scale * np.abs(eom.v).max())
    J = fc.centroidal_momentum_matrix(model, state)
    agree("(34): A_G = I_G J_G", eom.M[:6, :6] @ fc.changes.centroidal(model, state).T[:6], J, scale=scale)


@settings(max_examples=15)
@given(recipe=robots(largest=8, bases=(SE3(),)))
def test_center_of_mass_and_base_axes(recipe):
    """`G[B]` (35)-(37): the velocity of the center of mass decouples from everything."""
    model, state = build(recipe)
    change = fc.changes.center_of_mass_base(model, state)
    eom = fc.equations(model, state).change(change)
    R = state.pose[:3, :3]
    agree("G[B]: v", eom.v[:3], fc.center_of_mass_jacobian(model, state) @ state.velocity)
    agree("G[B]: w", eom.v[3:6], R @ state.twist[3:])
    scale = np.abs(eom.M).max()
    agree("G[B]: M linear", eom.M[:3], model.mass * np.eye(3, model.nv), scale=scale)
    agree("G[B]: g", eom.g, np.concatenate([-model.mass * model.gravity, np.zeros(3 + model.n)]))
    agree("G[B]: Newton", (eom.C @ eom.v)[:3], np.zeros(3), scale=scale)


# momentum maps and constants of motion ----------------------------------------------------------------------------


@pytest.mark.parametrize("frame", ["centroidal", "world"])
@settings(max_examples=25)
@given(recipe=robots(largest=8, bases=MOVING))
def test_momentum_map(frame, recipe):
    """`v_x` is the momentum, and `C_x v_x + C_xy v_y = 0` for every factorization: it changes by forces alone."""
    model, state = build(recipe)
    m = model.m
    change = fc.changes.momentum_map(model, state, frame)
    for factorization in fc.dynamics.FACTORIZATIONS:
        eom = fc.equations(model, state, factorization).change(change)
        turn = np.abs(eom.M).max() * np.abs(change.T_dot @ change.inverse).max()  # cancels against the rest of C
        scale = max(1.0, turn * np.abs(eom.v).max())
        agree("momentum map: invariance", (eom.C @ eom.v)[:m], np.zeros(m), scale=scale)
    momentum = model.base.selection.T @ fc.momentum(model, state, frame)
    if isinstance(model.base, (SE3, R3)) or (frame == "world" and not isinstance(model.base, (SO3, Helical))):
        agree("momentum map: v_x", eom.v[:m], momentum, 1e-11)
    forces = np.concatenate([np.zeros(m), rng_of(recipe).normal(size=model.n)])
    a = eom.forward(change.forces(forces) + eom.g)  # joint torques, no gravity
    agree("momentum map: conserved", a[:m], np.zeros(m), 1e-9, max(1.0, np.abs(a).max()))


@settings(max_examples=20)
@given(recipe=robots(largest=8, bases=(SE3(),)))
def test_constants_of_motion(recipe):
    """Prop. 3.2.1, (3.62): the momentum in the world and at the center of mass stays, in a link's axes it does not."""
    model, state = build(recipe)
    rng = rng_of(recipe)
    forces = np.concatenate([np.zeros(6), rng.normal(size=model.n)]) + fc.gravity_forces(model, state)
    a = fc.forward_dynamics(model, state, forces)
    moved = fc.dynamics.displace(model, state, 1j * STEP * state.velocity)
    moved = moved._replace(twist=state.twist + 1j * STEP * a[:6], rates=state.rates + 1j * STEP * a[6:])
    tolerance = max(1e-10, 1e-14 * np.linalg.cond(fc.mass_matrix(model, state)))
    for frame in ("world", "centroidal", "base"):
        verdict = fc.formulations.is_conserved(model, state, frame)
        rate = np.imag(fc.momentum(model, moved, frame)) / STEP
        scale = np.abs(fc.momentum(model, state, frame)).max() * max(1.0, np.abs(a).max())
        agree(f"rate of the momentum, {frame}", verdict.rate, rate, tolerance, scale)
        assert verdict.conserved == (frame != "base")
    link = model.link_names[-1]
    verdict = fc.formulations.is_conserved(model, state, link)

    def at_link(s):
        return SE3().Ad(fc.link_pose(model, s, link)).T @ fc.momentum(model, s, "world")

    agree("rate of the momentum, link", verdict.rate, np.imag(at_link(moved)) / STEP, tolerance, scale)
    assert not verdict.conserved


def test_a_resting_robot_conserves_everything():
    cat = fc.robots.cat()
    for frame in ("world", "centroidal", "base", "tail", "front_left_paw"):
        assert fc.formulations.is_conserved(cat, cat.neutral(), frame).conserved
    spinning = cat.state(twist=[0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    assert not fc.formulations.is_conserved(cat, spinning, "base").conserved  # x is no principal axis of the cat
    assert fc.formulations.is_conserved(cat, spinning, "world").conserved


def test_in_the_plane_only_the_turning_matters():
    """SE(2): the angular momentum about the center of mass is constant in every frame of the plane."""
    model = fc.robots.random_tree(np.random.default_rng(3), 3, planar=True)
    assert isinstance(model.base, SE2)
    state = model.random_state(np.random.default_rng(4))
    eom = fc.equations(model, state).change(fc.changes.momentum_map(model, state))
    agree("planar momentum", eom.v[:3], fc.momentum(model, state, "centroidal")[[0, 1, 5]])
    assert eom.certify().passed
