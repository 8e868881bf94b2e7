"""Flat feet: their wrench cone is that of forces at their corners, their margins say the same, (48) is what is felt."""

import numpy as np
import pytest
from residuals import agree
from scipy.optimize import nnls

import fallingcat as fc
from fallingcat.contact import WrenchCone
from fallingcat.geometry.contact_points import position

CAT = fc.robots.cat()
SOLE = WrenchCone("left_sole", along=(-0.06, 0.14), across=(-0.05, 0.07), friction=0.6)


def edges(sole):
    """``6 x 16``: wrenches of the edges of pyramids at the corners: what the cone is made of."""
    k = sole.friction / np.sqrt(2.0)
    pyramid = [(k, k, 1.0), (k, -k, 1.0), (-k, k, 1.0), (-k, -k, 1.0)]
    return np.array([[*f, *np.cross([x, y, 0.0], f)] for x, y in sole.outline for f in pyramid]).T


@pytest.mark.parametrize(
    "sole", [SOLE, WrenchCone("s", (-0.1, 0.1), (-0.1, 0.1), 1.3), WrenchCone("s", (0.2, 0.21), (0.0, 2.0))]
)
def test_the_cone_is_all_that_forces_at_corners_can_do(sole):
    V, rng, inside = edges(sole), np.random.default_rng(0), 0
    assert (sole.cone @ V).max() < 1e-14
    for _ in range(300):
        w = V @ rng.exponential(size=16) + 8.0 * V.std(axis=1) * rng.normal(size=6)  # some of them are outside
        gap, worst = nnls(V, w)[1] / np.linalg.norm(w), (sole.cone @ w).max() / np.linalg.norm(w)
        assert (gap < 1e-9) == (worst <= 1e-12), (gap, worst)
        inside += gap < 1e-9
    assert 30 < inside < 270


def test_margins_say_what_the_cone_says_but_for_the_round_one_of_friction():
    V, rng = edges(SOLE), np.random.default_rng(1)
    for _ in range(200):
        w = V @ rng.exponential(size=16) + 8.0 * V.std(axis=1) * rng.normal(size=6)
        found = SOLE.margins(w)
        if (SOLE.cone @ w).max() < 0.0:
            assert found.inside
            assert found.sliding < 1.0  # pyramids are inside cones
        elif (SOLE.cone[4:] @ w).max() > 0.0:
            assert not found.inside
    w = V @ np.ones(16)
    agree("normal", SOLE.margins(w).normal, 16.0)
    agree("in the middle", SOLE.margins(w).center, [0.04, 0.01])
    agree("room", SOLE.margins(w).room, 0.06)
    many = SOLE.margins(np.array([[w, 2.0 * w, -w]]))
    assert many.center.shape == (1, 3, 2)
    assert many.inside.tolist() == [[True, True, False]]
    assert many.room[0, 2] == -np.inf


def test_the_least_forces_at_corners():
    V, rng = SOLE.outline, np.random.default_rng(2)
    G = np.hstack([np.vstack([np.eye(3), fc.lie.rotations.skew(np.array([x, y, 0.0]))]) for x, y in V])
    for _ in range(10):
        w = rng.normal(size=6)
        agree("|L w|^2", np.sum((SOLE.spread @ w) ** 2), np.sum((np.linalg.pinv(G) @ w) ** 2))


def test_the_wrench_of_48_is_gathered_from_the_forces_at_corners():
    walker, points = fc.contact.corners(fc.robots.humanoid(), "left_sole", SOLE.outline)
    rng = np.random.default_rng(3)
    state = walker.state(joints=0.3 * rng.normal(size=30), rates=rng.normal(size=30))
    J = fc.jacobian(walker, state, "left_sole")
    state = state._replace(twist=-np.linalg.solve(J[:, :6], J[:, 6:] @ state.rates))
    torques = rng.normal(scale=20.0, size=30)
    F = fc.contact.contact_forces(walker, state, np.concatenate([np.zeros(6), torques]), points)
    w = SOLE.wrench(walker, state, torques)
    agree("(48)", SOLE.gathered(walker, state, F, points), w, 1e-10)
    H = fc.link_pose(walker, state, "left_sole")
    x, y = SOLE.margins(w).center
    pressed = (H @ [x, y, 0.0, 1.0])[:3]
    arms = np.array([position(walker, state, p) for p in points]) - pressed
    moment = np.cross(arms, F).sum(axis=0) @ H[:3, :3]
    agree("no moment along the sole at the center of pressure", moment[:2], np.zeros(2), 1e-9)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: WrenchCone(3, (0, 1), (0, 1)), "the link of a sole"),
        (lambda: WrenchCone("foot", (1.0, 0.0), (0.0, 1.0)), "along of the sole 'foot' is a pair of coordinates"),
        (lambda: WrenchCone("foot", (0.0, 1.0), (0.0, 0.0)), "across of the sole 'foot'"),
        (lambda: WrenchCone("foot", (0.0, np.nan), (0.0, 1.0)), "along of the sole"),
        (lambda: WrenchCone("foot", "wide", (0.0, 1.0)), "along of the sole"),
        (lambda: WrenchCone("foot", (0.0, 1.0), (0.0, 1.0), 0.0), "friction of the sole 'foot' is a number above zero"),
        (lambda: WrenchCone("foot", (0.0, 1.0), (0.0, 1.0), "rough"), "friction of the sole"),
        (lambda: SOLE.margins(np.zeros(5)), "has 6 numbers"),
        (lambda: SOLE.margins("heavy"), "has 6 numbers, not 'heavy'"),
        (lambda: SOLE.gathered(CAT, CAT.neutral(), np.zeros((2, 3)), ["head"]), "forces must have shape .1, 3."),
        (lambda: SOLE.gathered(CAT, CAT.neutral(), None, []), "forces must have shape .0, 3."),
        (lambda: SOLE.gathered(CAT, CAT.neutral(), np.zeros((1, 3)), ["ear"]), "no link or frame"),
        (lambda: SOLE.wrench(CAT, CAT.neutral(), np.zeros(10)), "no link or frame 'left_sole'"),
    ],
)
def test_soles_that_are_none(call, says):
    with pytest.raises(fc.ModelError, match=says):
        call()
