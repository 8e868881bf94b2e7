"""Shares of a load: the same effect, strictly within every bound, as far from all of them as can be."""

import numpy as np
import pytest
from residuals import agree

from fallingcat.contact.rigid.event_driven.complementarity import Collision
from fallingcat.contact.rigid.event_driven.force_distribution import _newton, centred


def loaded(rng, friction, points=7, slides=()):
    """Points with six degrees of freedom, and forces within their bounds; those that slide at the limit of friction."""
    J, A = rng.normal(size=(3 * points, 6)), rng.normal(size=(6, 6))
    J[:, 0] = np.tile([1.0, 0.0, 0.0], points)  # what all push together is given
    rows = tuple([3 * i, 3 * i + 1, 3 * i + 2] for i in range(points))
    law = Collision(J @ (A @ A.T) @ J.T, np.zeros(3 * points), rows, np.zeros(points), friction)
    push, turn = rng.uniform(1.0, 3.0, size=points), rng.uniform(0.0, 2.0 * np.pi, size=points)
    drag = friction * push * [1.0 if i in slides else rng.uniform(0.0, 0.9) for i in range(points)]
    x = np.stack([push, drag * np.cos(turn), drag * np.sin(turn)], axis=1).reshape(-1)
    ways = [(x[own] / x[own[0]])[:, None] if i in slides else np.eye(3) for i, own in enumerate(rows)]
    return law, x, ways


def barrier(law, x, slides):
    """``-sum log(push^2 - |drag|^2 / friction^2)``, of points that slide ``-sum log(push^2)``."""
    y = x.reshape(-1, 3)
    drag = np.where([[i in slides] for i in range(len(y))], 0.0, y[:, 1:])
    return -np.log(y[:, 0] ** 2 - (drag**2).sum(axis=1) / law.friction**2).sum()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("slides", [(), (2,), (0, 5)])
@pytest.mark.parametrize("friction", [0.3, 1.5])
def test_the_center_has_the_same_effect_and_is_best(friction, slides, seed):
    rng = np.random.default_rng(seed)
    law, inside, ways = loaded(rng, friction, slides=slides)
    B = np.concatenate([np.pad(way, ((3 * i, 18 - 3 * i), (0, 0))) for i, way in enumerate(ways)], axis=1)
    null = B @ np.linalg.svd(law.G @ B)[2][6:].T
    outside = inside + null @ rng.normal(size=null.shape[1])  # the same effect, some pull
    for start in (inside, outside):
        x = centred(law, start, ways)
        agree("effect", law.G @ x, law.G @ inside, 1e-10)
        agree("only along its ways", x, B @ np.linalg.lstsq(B, x, rcond=None)[0], 1e-12)
        assert (x[::3] > 0.0).all()
        least, hair = barrier(law, x, slides), 1e-4 * null.T
        assert all(barrier(law, x + sign * way, slides) > least for way in hair for sign in (1.0, -1.0))


def test_a_load_that_one_point_alone_must_lift_has_no_center():
    """Two equal points share; a third that nothing else helps, and that would have to pull, cannot be within bounds."""
    G = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    law = Collision(G, np.zeros(3), ([0], [1], [2]), np.zeros(3), 0.0)
    one = np.eye(1)
    assert centred(law, np.array([1.0, 0.0, 0.0]), [one, one, one]) is None
    eased = centred(law, np.array([1.0, 0.0, 0.0]), [one, one, one[:, :0]])
    agree("halves", eased, [0.5, 0.5, 0.0], 1e-6)
    assert centred(law, np.zeros(3), [one[:, :0]] * 3) is None
    assert centred(law, np.zeros(3), [one] * 3) is None


def test_a_force_on_its_bound_has_no_inside():
    """Newton's method has no step there, and says so instead of failing."""
    with np.errstate(all="ignore"):
        step, size = _newton(np.zeros((1, 3)), np.array([[1.0, -1.0, -1.0]]), np.ones((1, 3, 1)))
    assert step.tolist() == [0.0]
    assert np.isnan(size)
