"""Forces and impulses of robots whose legs weigh next to nothing, against sixty digits."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from residuals import agree

import fallingcat as fc
from fallingcat.constraints import redundant_constraints as solving
from fallingcat.geometry.contact_points import point_jacobian
from fallingcat.model import Frame, Joint, Link, Model, Revolute

RATIOS = [1.0, 1e-2, 1e-4, 1e-6, 1e-8]


def light(ratio):
    """The quadruped with legs that weigh ``ratio`` of what they do."""
    dog = fc.robots.quadruped()
    legs = [
        replace(link, body=fc.Body(link.body.mass * ratio, link.body.center, link.body.inertia * ratio))
        for link in dog.links[1:]
    ]
    return replace(dog, links=(dog.links[0], *legs))


def on(model, feet, how):
    """The same with points under its feet: the feet themselves, flat soles, or edges (two points on a line)."""
    if how == "points":
        return model, tuple(feet)
    outline = (0.1, 0.05) if how == "soles" else [(0.05, 0.0), (-0.05, 0.0)]
    found = []
    for foot in feet:
        model, names = fc.contact.corners(model, foot, outline)
        found += names
    return model, tuple(found)


def oracle(M, J, force, demand):
    """The shortest ``x`` with ``J M^-1 (force + J' x) = demand``, in sixty digits: the motion that keeps the rows, then
    the shortest forces that explain it.
    """
    with mpmath.workdps(60):
        V = np.linalg.svd(J)[2][: int(np.linalg.matrix_rank(J, tol=1e-10))].T
        J_, M_, f, d = (mpmath.matrix(x.tolist()) for x in (J, M, force, demand))
        Q = mpmath.qr(J_ * mpmath.matrix(V.tolist()), mode="skinny")[0]  # of the range of J
        Minv = M_**-1
        y = mpmath.lu_solve(Q.T * J_ * Minv * J_.T * Q, Q.T * (d - J_ * Minv * f))
        return np.array([float(x) for x in Q * y])


def posed(model, points, seed, bent):
    rng = np.random.default_rng(seed)
    state = model.state(joints=bent * rng.normal(size=model.n))
    J = np.concatenate([point_jacobian(model, state, p) for p in points])
    applied = np.concatenate([np.zeros(6), 10.0 * rng.normal(size=model.n)])
    return state, J, applied


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize(
    ("how", "bent"), [("points", 0.3), ("points", 1e-3), ("points", 0.0), ("edges", 0.3), ("soles", 0.0)]
)
def test_forces_do_not_depend_on_the_ratio_of_masses(how, bent, ratio):
    dog = light(ratio)
    feet = [frame.name for frame in dog.frames]
    model, points = on(dog, feet if how == "points" else feet[:2], how)
    state, J, applied = posed(model, points, 1, bent)
    exact = oracle(fc.mass_matrix(model, state), J, applied - fc.bias_forces(model, state), np.zeros(len(J)))
    tolerance = 1e-12 if how == "points" else 1e-10  # shares of redundant points
    F = fc.contact.contact_forces(model, state, applied, points)
    agree("forces", F.reshape(-1), exact, tolerance)
    floor = fc.contact.HardContacts(points)
    places = [np.concatenate([np.roll(fc.link_pose(model, state, p)[:3, 3], 1), np.zeros(2)]) for p in points]
    shared = floor.point_forces(model, ("stick",) * len(points), state, np.concatenate(places), applied)
    agree("forces of a floor", shared.reshape(-1), exact, tolerance)


def forces_under(model, state, applied, *, points):
    return fc.contact.contact_forces(model, state, applied, points).reshape(-1)


@pytest.mark.parametrize("ratio", [1.0, 1e-8])
def test_compiled_forces_of_light_legs(ratio):
    dog = light(ratio)
    model, points = on(dog, ["front_left_foot", "rear_right_foot"], "edges")
    state, J, applied = posed(model, points, 2, 0.3)
    exact = oracle(fc.mass_matrix(model, state), J, applied - fc.bias_forces(model, state), np.zeros(len(J)))
    kernel = fc.compile(model, forces_under, inputs={"applied": model.nv}, points=points)
    agree("forces of the kernel", kernel(*model.flatten(state), applied), exact, 1e-10)


@pytest.mark.parametrize("ratio", RATIOS)
def test_glued_feet_of_light_legs_are_at_rest(ratio):
    dog = light(ratio)
    feet = tuple(frame.name for frame in dog.frames)
    state, J, _ = posed(dog, feet, 3, 0.3)
    state = state._replace(twist=np.array([0.5, 0.0, -1.0, 0.2, 0.3, 0.1]), rates=np.linspace(-1.0, 1.0, dog.n))
    hit = fc.contact.impact(dog, state, feet, pulling=True)
    assert np.abs(J @ hit.state.velocity).max() < 1e-12
    M = fc.mass_matrix(dog, state)
    exact = oracle(M, J, M @ state.velocity, np.zeros(len(J)))
    agree("impulses", hit.impulses.reshape(-1), exact, 1e-12)


def test_a_massless_chain_carries_its_trunk():
    """A trunk of 50 kg on a straight leg of links of 1e-5 kg: the ground carries the weight, and a glued foot stops."""
    link = fc.Body(1e-5, np.array([0.0, 0.0, -0.1]), 1e-8 * np.eye(3))
    links = [Link("trunk", fc.Body(50.0, np.zeros(3), np.eye(3))), Link("thigh", link), Link("shank", link)]
    hip, knee = np.eye(4), np.eye(4)
    knee[2, 3] = -0.2
    axis = Revolute(np.array([0.0, 1.0, 0.0]))
    joints = (Joint("hip", axis, "trunk", "thigh", hip), Joint("knee", axis, "thigh", "shank", knee))
    foot = Frame("foot", "shank", knee)
    model = Model("stilt", fc.lie.SE3(), tuple(links), joints, frames=(foot,))
    F = fc.contact.contact_forces(model, model.neutral(), np.zeros(model.nv), ["foot"])
    agree("weight", F[0], [0.0, 0.0, 9.81 * model.mass], 1e-12)
    hit = fc.contact.impact(model, model.state(twist=[0.0, 0.0, -1.0, 0.0, 0.0, 0.0]), ["foot"], pulling=True)
    assert np.abs(point_jacobian(model, model.neutral(), "foot") @ hit.state.velocity).max() < 1e-12


def test_what_cannot_be_resolved_is_named(monkeypatch):
    """Without the correction for redundancy and refinement the forces are wrong: that must not pass."""
    monkeypatch.setattr(solving, "MIN_SQUARED_SINGULAR_VALUE", 1e-2)
    monkeypatch.setattr(solving, "REFINEMENT_ROUNDS", 1)
    dog = light(1e-6)
    feet = tuple(frame.name for frame in dog.frames)
    state, _, applied = posed(dog, feet, 4, 1e-3)
    with pytest.raises(fc.NumericsError, match=r"the forces of front_left_foot, .* cannot be resolved"):
        fc.contact.contact_forces(dog, state, applied, feet)
    floor = fc.contact.HardContacts(feet)
    mode, memory = ("stick",) * 4, np.zeros(20)
    guards = floor.guards(dog, mode, state, memory, applied)
    assert guards[-1] < 0.0
    with pytest.raises(fc.NumericsError, match=r"that hold front_left_foot, .* cannot be resolved"):
        floor.jump(dog, mode, len(guards) - 1, state, memory, applied)
