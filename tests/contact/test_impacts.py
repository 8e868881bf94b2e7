"""Impacts: balance of momentum, energy that is lost and never made, which points hold, slide and leave."""

from itertools import product

import numpy as np
import pytest
from residuals import agree

import fallingcat as fc
from fallingcat.contact import impact, switch
from fallingcat.contact.rigid.event_driven.complementarity import Collision
from fallingcat.geometry.contact_points import point_jacobian, position

DOG = fc.robots.quadruped()
FEET = tuple(frame.name for frame in DOG.frames)
BOX, CORNERS = fc.contact.corners(
    fc.robots.free_body(), "body", [(0.15, 0.1, -0.05), (-0.15, 0.1, -0.05), (-0.15, -0.1, -0.05), (0.15, -0.1, -0.05)]
)
PEN = fc.robots.revolute_hopper()
CASES = {"dog": (DOG, FEET), "box": (BOX, CORNERS), "hopper": (PEN, ("foot", "shank"))}


def falling(model, rng):
    """A random state that on the whole goes down."""
    state = model.random_state(rng)
    down = model.base.coselection @ np.concatenate([state.pose[:3, :3].T @ model.gravity, np.zeros(3)])
    return state._replace(twist=state.twist + 0.2 * down)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("robot", CASES)
def test_inelastic_impacts_of_glued_points(robot, seed):
    """(3.66)-(3.72): at rest afterwards, and the loss is 1/2 v_s' Lambda v_s."""
    model, points = CASES[robot]
    state = falling(model, np.random.default_rng(seed))
    hit = impact(model, state, points, pulling=True)
    J = np.concatenate([point_jacobian(model, state, p) for p in points])
    agree("J v+ = 0", J @ hit.state.velocity, np.zeros(len(J)), 1e-11)
    M, v = fc.mass_matrix(model, state), state.velocity
    inverse_inertia = J @ np.linalg.solve(M, J.T)
    v_s = J @ v
    agree("loss (3.72)", hit.loss, 0.5 * v_s @ np.linalg.pinv(inverse_inertia, rcond=1e-10) @ v_s, 1e-9)
    change = hit.state.velocity - v
    agree("loss (3.71)", hit.loss, 0.5 * change @ M @ change, 1e-11)
    agree(
        "loss of kinetic energy", hit.loss, fc.kinetic_energy(model, state) - fc.kinetic_energy(model, hit.state), 1e-11
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("friction", [None, 0.0, 0.4])
@pytest.mark.parametrize("restitution", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("robot", CASES)
def test_energy_is_not_created_and_momentum_is_what_the_impulses_gave(robot, restitution, friction, seed):
    model, points = CASES[robot]
    state = falling(model, np.random.default_rng(seed))
    hit = impact(model, state, points, restitution, friction)
    before, after = fc.kinetic_energy(model, state), fc.kinetic_energy(model, hit.state)
    assert hit.loss >= 0.0
    agree("energy", before - after, hit.loss, 1e-10, scale=before)
    change = fc.momentum(model, hit.state, "world") - fc.momentum(model, state, "world")
    turning = sum(np.cross(position(model, state, p), F) for p, F in zip(points, hit.impulses, strict=True))
    agree("linear momentum", change[:3], hit.impulses.sum(axis=0), 1e-9)
    free = (model.base.selection @ model.base.coselection)[3:, 3:]  # a planar robot cannot be turned out of its plane
    agree("angular momentum", free @ change[3:], free @ turning, 1e-9)
    up = -model.gravity / np.linalg.norm(model.gravity)
    for F, place, status in zip(hit.impulses, points, hit.status, strict=True):
        push, drag = F @ up, np.linalg.norm(F - (F @ up) * up)
        assert push >= -1e-9
        leaving = up @ point_jacobian(model, state, place) @ hit.state.velocity
        assert leaving >= -1e-8
        if friction is not None:
            assert drag <= friction * push + 1e-8
        if status == "open" and friction is not None:
            assert push == 0.0


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_which_points_leave_is_the_answer_of_enumeration(friction, seed):
    """Planar points: all states of all points, and both ways to slide, tried one by one."""
    rng = np.random.default_rng(seed)
    J, A = rng.normal(size=(6, 6)), rng.normal(size=(6, 6))
    G = J @ np.linalg.solve(A @ A.T + np.eye(6), J.T)
    before = rng.normal(size=6) - np.tile([1.0, 0.0], 3)
    rows = ([0, 1], [2, 3], [4, 5])
    found = before + G @ Collision(G, before, rows, np.zeros(3), friction).solve().impulse
    answers = []
    for status in product(("open", "stick", 1.0, -1.0), repeat=3):
        held, columns = [], []
        for own, s in zip(rows, status, strict=True):
            for row in [] if s == "open" else own if s == "stick" else own[:1]:
                column = np.eye(6)[row]
                if s not in ("open", "stick"):
                    column = column - friction * s * np.eye(6)[own[1]]
                held.append(row)
                columns.append(column)
        K = np.array(columns).reshape(-1, 6).T
        x = K @ np.linalg.solve(G[held] @ K, -before[held]) if held else np.zeros(6)
        v = before + G @ x
        keeps = []
        for own, s in zip(rows, status, strict=True):
            (push, drag), (leave, slide) = x[own], v[own]
            keeps.append(
                leave >= -1e-9 if s == "open"
                else push >= -1e-9 and abs(drag) <= friction * push + 1e-9 if s == "stick"
                else push >= -1e-9 and s * slide >= -1e-9
            )  # fmt: skip
        if all(keeps):
            answers.append(v)
    assert answers
    assert min(np.abs(v - found).max() for v in answers) < 1e-8


def broken(law, impulse):
    """How much impulses break the law of Moreau and Coulomb, relative to the velocities."""
    v, worst = law.before + law.G @ impulse, 0.0
    for own, target in zip(law.rows, law.target, strict=True):
        (push, *drag), (leave, *slide) = impulse[own], v[own]
        mean = np.trace(law.G[np.ix_(own, own)]) / len(own)
        size, speed = np.linalg.norm(drag) * mean, np.linalg.norm(slide)
        limit = law.friction * push * mean
        worst = max(worst, -push * mean, target - leave, min(push * mean, leave - target), size - limit)
        if size < limit - 1e-9:
            worst = max(worst, min(speed, limit - size))
        else:
            worst = max(worst, np.linalg.norm(speed * np.array(drag) * mean + limit * np.array(slide)))
    return worst / np.abs(law.before).max()


TRUNK = tuple(f"trunk_{i}" for i in (1, 3, 5, 7))
FALLEN = {  # the turn of the base, joints, the base's velocity along and about its axes, rates
    "a leg lands beside a sliding trunk": (
        ("front_left_foot", "front_left_shank", *TRUNK), (0.6, 0.6, 0.0, 0.0, 0.0, 0.0), 0.6,
        (3.0961, 0.5326, 0.0),
        (1.5708, -3.8079, -0.0072, 3.4936, 3.2041, 0.5438, 5.3238, 2.5872, -1.0484, 2.6607, -5.1788, -2.713),
        (0.0533, -0.0043, 0.0, 0.0, 0.0, 0.054),
        (-0.14, 0.0981, -0.4563, 5.5123, 9.0205, -1.4502, -0.4546, 0.1953, -0.6807, -4.0047, 2.1272, 4.9142),
    ),
    "a leg lands, three others lie": (
        ("front_left_foot", "front_right_foot", "rear_right_foot", "front_left_shank", "front_right_shank",
         "rear_right_shank", *TRUNK), (0.0, 0.6, 0.0, 0.0, 0.6, 0.0, 0.0, 0.0, 0.0, 0.0), 0.3,
        (-2.3118, 2.1273, 0.0),
        (1.5708, -1.5743, 2.0174, 4.7124, -3.7511, 7.0568, 7.8449, 1.5512, -1.1182, 4.7124, -4.6966, 1.902),
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        (0.0, 0.0, 0.0, 4.2578, 0.2953, -1.7308, 0.4817, -0.2224, 0.2996, 0.0, 0.0, 0.0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FALLEN)
def test_impacts_along_which_points_nearly_depend_are_found(case):
    """Of thrown quadrupeds: whole steps of Newton's method went too far, and 1e-5 of the law was left."""
    points, restitution, friction, turn, joints, twist, rates = FALLEN[case]
    model, _ = fc.contact.corners(DOG, "trunk", list(product((0.25, -0.25), (0.125, -0.125), (0.06, -0.06))))
    pose = fc.lie.SE3().exp(np.array([0.0, 0.0, 0.0, *turn]))
    state = model.state(pose=pose, joints=joints, twist=twist, rates=rates)
    hit = impact(model, state, points, restitution, friction)
    parts = [point_jacobian(model, state, p)[[2, 0, 1]] for p in points]
    J, down = np.concatenate(parts), [min((part @ state.velocity)[0], 0.0) for part in parts]
    law = Collision(
        J @ np.linalg.solve(fc.mass_matrix(model, state), J.T),
        J @ state.velocity,
        tuple([3 * i, 3 * i + 1, 3 * i + 2] for i in range(len(points))),
        -np.array(restitution) * down,
        friction,
    )
    assert broken(law, hit.impulses[:, [2, 0, 1]].reshape(-1)) < 1e-9
    agree("loss", hit.loss, fc.kinetic_energy(model, state) - fc.kinetic_energy(model, hit.state), 1e-10)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("friction", [0.0, 0.3, 1.0, 1.5])
def test_ten_points_of_which_many_depend_on_each_other_keep_the_law(friction, seed):
    """Three bodies of six degrees of freedom, joined by their masses, on ten points: rank 18 of 30 rows."""
    rng = np.random.default_rng(seed)
    J = np.zeros((30, 18))
    for i in range(10):
        p, k = rng.normal(size=3), 6 * (i % 3)
        turned = np.array([[0.0, p[2], -p[1]], [-p[2], 0.0, p[0]], [p[1], -p[0], 0.0]])
        J[3 * i : 3 * i + 3, k : k + 6] = np.hstack([np.eye(3), turned])
    A = rng.normal(size=(18, 18))
    G = J @ np.linalg.solve(A @ A.T + 3.0 * np.eye(18), J.T)
    law = Collision(
        G,
        J @ rng.normal(size=18) - 0.5 * J[:, 0],
        tuple([3 * i, 3 * i + 1, 3 * i + 2] for i in range(10)),
        np.zeros(10),
        friction,
    )
    assert broken(law, law.solve().impulse) < 1e-6


def test_restitution_and_friction_of_a_ball():
    ball = fc.robots.free_body(fc.lie.R3())
    hit = impact(ball, ball.state(twist=[3.0, 4.0, -2.0]), ["body"], 0.5, 0.4)
    agree("normal", hit.state.twist[2], 1.0)
    agree(
        "tangential: slowed by friction (1 + e) v_n",
        hit.state.twist[:2],
        np.array([3.0, 4.0]) * (1.0 - 0.4 * 3.0 / 5.0),
    )
    assert hit.status == ("slide",)
    assert impact(ball, ball.state(twist=[3.0, 4.0, -2.0]), ["body"], 0.5, 2.0).status == ("stick",)
    assert impact(ball, ball.state(twist=[3.0, 4.0, 2.0]), ["body"]).status == ("open",)


def test_a_rolling_block_lets_its_rear_edge_go():
    """Standing on its left corner, turning onto its right one: the left corner leaves, as in walking."""
    block, (left, right) = fc.contact.corners(fc.robots.free_body(fc.lie.SE2()), "body", [(-0.1, -0.3), (0.1, -0.3)])
    turning = block.state(twist=[0.3, -0.1, -1.0])
    agree("left at rest", point_jacobian(block, turning, left) @ turning.twist, np.zeros(3))
    hit = impact(block, turning, [left, right])
    assert hit.status == ("open", "stick")
    lift = point_jacobian(block, turning, left)[1] @ hit.state.twist
    assert lift > 0.0
    glued = impact(block, turning, [left, right], pulling=True)
    assert np.abs(glued.state.twist).max() < 1e-12
    assert glued.loss > hit.loss


def test_switching_between_sets_of_contacts():
    state = falling(DOG, np.random.default_rng(3))
    landed = switch(DOG, state, (), FEET[:2])
    agree("impact", landed.state.velocity, impact(DOG, state, FEET[:2], pulling=True).state.velocity)
    released = switch(DOG, landed.state, FEET[:2], FEET[:1])
    assert released.loss == 0.0
    assert released.state is landed.state
    stepped = switch(DOG, landed.state, FEET[:2], FEET[1:3])
    J = np.concatenate([point_jacobian(DOG, state, p) for p in FEET[1:3]])
    agree("at rest", J @ stepped.state.velocity, np.zeros(6), 1e-11)
    assert stepped.loss > 0.0


def test_sweeps_that_diverge_end_by_name():
    """Each point presses the other into the ground, as sliding points near a jam do: it was a LinAlgError, or NaN."""
    G = np.array([[1.0, -3.0], [-3.0, 1.0]])
    with pytest.raises(fc.NumericsError, match="no way was found in which 2 points share an impact"):
        Collision(G, np.array([-1.0, -1.0]), ([0], [1]), np.zeros(2), 0.5).solve()
