"""The least time along a curve of shapes: against linear programming, against bang-bang, and within the limits."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

import fallingcat as fc
from fallingcat.errors import FallingCatError
from fallingcat.model import Limits
from fallingcat.planning import Circle, Fourier, Segment, polygon, time_parametrization
from fallingcat.planning.gaits.shape_forces import shape_forces


def limited(model, effort, velocity):
    joints = [replace(j, limits=Limits(-3.0, 3.0, velocity=velocity, effort=effort)) for j in model.joints]
    return replace(model, joints=tuple(joints))


@pytest.fixture(scope="module")
def cat():
    return limited(fc.robots.two_cylinder_cat(), 0.8, 6.0)


@pytest.fixture(scope="module")
def rotors():
    """Two rotors on one axis: the inertia of their shape is ``1 / (1 / I + 1 / J)``, whatever the angle."""
    links = [fc.Link(n, fc.Body(1.0, (0, 0, 0), np.diag([1.0, 1.0, i]))) for n, i in (("a", 0.6), ("b", 0.3))]
    joint = fc.Joint("turn", fc.joints.Revolute((0.0, 0.0, 1.0)), "a", "b", np.eye(4))
    return fc.Model("rotors", fc.lie.SE3(), tuple(links), (joint,))


def asked(model, curve, s):
    """``a``, ``b`` of forces ``a u + b x`` at one point of a curve, by inverse dynamics of the whole robot."""
    jet = curve(s)
    state = model.state(joints=jet.q[0], rates=jet.dq[0])
    state = state._replace(twist=-fc.connection(model, state) @ jet.dq[0])
    a = shape_forces(model, model.state(joints=jet.q[0]), jet.dq[0])
    return a, shape_forces(model, state, jet.ddq[0])


def test_no_motion_within_the_limits_is_faster_anywhere(cat):
    """The largest squares of speeds are those of a linear program over all points at once."""
    curve, points = Fourier([0.1, -0.2], [[0.7, 0.1]], [[-0.2, 0.6]]), 40
    found = time_parametrization(cat, curve, points=points)
    step, n = 1.0 / points, points + 1
    pairs = [asked(cat, curve, s) for s in found.grid]
    effort = np.array([x.effort for x in cat.limits])
    speed = np.array([x.velocity for x in cat.limits])
    rows = []
    for i in range(points):
        du = np.zeros(n)
        du[i], du[i + 1] = -0.5 / step, 0.5 / step
        for k in (i, i + 1):
            x = np.eye(n)[k]
            rows += [(a * du + b * x) / e for a, b, e in zip(*pairs[k], effort, strict=True)]
    most = [float(np.min((speed / np.abs(curve(s).dq[0])) ** 2)) for s in found.grid]
    bounds = [(0.0, 0.0 if k in (0, points) else top) for k, top in enumerate(most)]
    A = np.array([*rows, *(-row for row in np.array(rows))])
    scale = max(most)
    best = linprog(-np.ones(n), A * scale, np.ones(len(A)), bounds=[(0.0, b / scale) for _, b in bounds])
    assert best.status == 0
    np.testing.assert_allclose(found.speeds**2, best.x * scale, rtol=1e-6, atol=1e-6 * scale)


def test_a_drive_alone_goes_from_full_push_to_full_brake(rotors):
    inertia, effort, way = 0.2, 3.0, 1.4
    for share in (1.0, 0.5):
        found = time_parametrization(limited(rotors, effort, np.inf), Segment([0.2], [0.2 + way]), share=share)
        assert found.duration == pytest.approx(2.0 * np.sqrt(way * inertia / (share * effort)), rel=1e-9)
    top = 1.5  # and with a limit of its speed: it coasts in between
    found = time_parametrization(limited(rotors, effort, top), Segment([0.0], [way]), points=2000)
    assert found.duration == pytest.approx(way / top + top * inertia / effort, rel=1e-3)


def test_the_motion_is_within_its_limits_and_uses_them(cat):
    motion = time_parametrization(cat, Circle(0.8), share=0.9)
    times = np.linspace(0.0, motion.duration, 700)
    jet = motion(times)
    forces = []
    for q, dq, ddq in zip(*jet, strict=True):
        state = cat.state(joints=q, rates=dq)
        forces.append(shape_forces(cat, state._replace(twist=-fc.connection(cat, state) @ dq), ddq))
    used = np.maximum(np.abs(forces).max(axis=1) / 0.8, np.abs(jet.dq).max(axis=1) / 6.0)
    assert used.max() < 0.9 * 1.005
    assert np.quantile(used[5:-5], 0.1) > 0.9 * 0.98  # always at a limit
    np.testing.assert_allclose(jet.dq[[0, -1]], 0.0, atol=1e-9)
    h = 1e-6
    inner = times[10:-10]
    ahead, behind = motion(inner + h).q, motion(inner - h).q
    np.testing.assert_allclose((ahead - behind) / (2.0 * h), jet.dq[10:-10], atol=2e-4)
    assert np.abs(motion([-1.0, motion.duration + 1.0]).dq).max() == 0.0


def test_a_curve_that_rests_at_its_ends_may_begin_at_once(cat):
    from fallingcat.planning import RightingCurve

    curve = RightingCurve(np.zeros(2), [1.0, 0.0], [0.0, 1.0], 0.8)
    motion = time_parametrization(cat, curve)
    assert motion.speeds[0] > 0.0
    np.testing.assert_allclose(motion([0.0, motion.duration]).dq, 0.0, atol=1e-9)
    slow = time_parametrization(cat, curve, share=0.25)  # forces a quarter, times twice; rates go with the time
    assert slow.duration >= 2.0 * motion.duration * (1.0 - 1e-9)


def test_once_around_many_times():
    once = Fourier([0.1, 0.2], [[0.3, 0.1], [0.0, 0.2]], [[0.1, 0.0], [0.2, 0.1]])
    thrice = once.repeated(3)
    for s in (0.0, 0.11, 0.47, 0.9):
        np.testing.assert_allclose(thrice(s).q, once(3.0 * s % 1.0).q, atol=1e-14)
        np.testing.assert_allclose(thrice(s).dq, 3.0 * once(3.0 * s % 1.0).dq, atol=1e-12)


@pytest.mark.parametrize(
    "call",
    [
        lambda cat: time_parametrization(cat, polygon([[0, 0], [1, 0], [0, 1]])),
        lambda cat: time_parametrization(cat, "circle"),
        lambda cat: time_parametrization(cat, Circle(0.3), share=0.0),
        lambda cat: time_parametrization(limited(cat, 0.0, 6.0), Circle(0.3)),
        lambda cat: time_parametrization(limited(cat, np.inf, np.inf), Circle(0.3)),
        lambda cat: Fourier([0.0], [[1.0]], [[0.0]]).repeated(0),
    ],
)
def test_what_cannot_be_paced_is_refused(cat, call):
    with pytest.raises(FallingCatError):
        call(cat)
