"""Minimum-perturbation coordinates: nothing moves less, flat becomes zero, and estimates get better."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat import lie
from fallingcat.errors import ModelError
from fallingcat.planning import (
    Circle,
    Fourier,
    Mapper,
    Plane,
    Region,
    curvature_map,
    displacement,
    estimate,
    estimate_error,
    minimum_perturbation,
)
from fallingcat.planning.curvature.frames import FRAMES, frame_pose
from fallingcat.planning.curvature.perturbation import translations
from fallingcat.planning.gaits.orbital_example import orbital_example

CAT = fc.robots.two_cylinder_cat()
SQUARE = Region(np.eye(2), np.zeros(2), [-0.9, -0.9], [0.9, 0.9])
GROUPS = [lie.SE3(), lie.SE2(), lie.SO3(), lie.Schoenflies(), lie.R3()]


def tree(group, n=2, seed=0):
    rng = np.random.default_rng(seed)
    return fc.robots.random_tree(rng, n, ("revolute",), base=group, planar=isinstance(group, lie.SE2))


def box(n=2, size=0.5):
    return Region(np.eye(n), 0.1 * np.arange(n), -size * np.ones(n), size * np.ones(n))


def connection_by_differences(model, poses, q, step=1e-5):
    """``Ad(H^-1) A - H^-1 dH`` (m x n) of the frame ``poses``, with dH by central differences."""
    G, H = model.base, poses(q)
    out = []
    A = G.Ad(G.inverse(H)) @ fc.connection(model, model.state(joints=q))
    for e in np.eye(model.n):
        ahead, behind = (G.log(G.inverse(H) @ poses(q + s * step * e)) for s in (1.0, -1.0))
        out.append((ahead - behind) / (2.0 * step))
    return A - np.array(out).T


def mean_square(model, poses, region, length=0.3):
    """Mean of ``|A_H|^2`` over a region, lengths counted in units of ``length``, at few Gauss nodes."""
    nodes, weights = np.polynomial.legendre.leggauss(3)
    grid = np.stack(np.meshgrid(*[nodes] * region.size, indexing="ij"), axis=-1).reshape(-1, region.size)
    mass = np.prod(np.stack(np.meshgrid(*[0.5 * weights] * region.size, indexing="ij"), axis=-1), axis=-1).ravel()
    scale = np.concatenate([np.full(3, 1.0 / length), np.ones(3)])
    total = 0.0
    for r, w in zip(region.low + 0.5 * (grid + 1.0) * (region.high - region.low), mass, strict=True):
        A = connection_by_differences(model, poses, region.shapes(r[None])[0])
        total += w * np.sum((scale[:, None] * (model.base.selection @ A)) ** 2)
    return total


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_connection_of_the_frame_is_the_one_by_differences(group):
    model = tree(group)
    frame = minimum_perturbation(model, box())
    q = np.array([0.2, -0.1])
    by_hand = connection_by_differences(model, lambda x: frame.poses(x)[0], q)
    assert np.abs(frame.connection(q)[0] - by_hand).max() < 1e-8
    assert np.abs(frame.poses(frame.region.middle)[0][:3, :3] - np.eye(3)).max() < 1e-12


@pytest.mark.parametrize("group", GROUPS[:4], ids=str)
def test_no_frame_moves_less(group):
    model, region = tree(group), box()
    found = minimum_perturbation(model, region)
    names = [f for f in FRAMES[:3] if isinstance(group, lie.SE3) or f == "base"]
    least = mean_square(model, lambda q: found.poses(q)[0], region)
    for name in names:
        assert least < mean_square(model, lambda q, name=name: frame_pose(model, q, name), region)
    rng = np.random.default_rng(3)
    G = model.base
    for _ in range(3):  # frames near the one that was found: any smooth function of the shape
        a, B = 0.02 * rng.normal(size=(model.m, 2)), 0.02 * rng.normal(size=(model.m, 2, 2))
        shaken = lambda q, a=a, B=B: found.poses(q)[0] @ G.exp(a @ q + B @ q @ q)  # noqa: E731
        assert least < mean_square(model, shaken, region)


@pytest.mark.parametrize("group", GROUPS[:4], ids=str)
def test_it_is_free_of_divergence_and_flow_through_the_boundary(group):
    found = minimum_perturbation(tree(group, 3), box(3))
    assert found.gradient < 1e-10
    assert found.after < found.before
    r, weights = found.region.quadrature()
    A = found.connection(found.region.shapes(r))
    slope = np.stack([np.ones(len(r)), r[:, 0] * r[:, 1]], axis=1)  # of x = q_0 and of x = q_0^2 q_1 / 2, along q_0
    assert np.abs(np.einsum("n,nm->m", weights * slope[:, 0], A[:, :, 0])).max() < 1e-10
    flow = np.einsum("n,nm->m", weights * slope[:, 1], A[:, :, 0])
    flow += np.einsum("n,nm->m", weights * 0.5 * r[:, 0] ** 2, A[:, :, 1])
    assert np.abs(flow).max() < 1e-10


def test_a_flat_connection_becomes_zero():
    line = CAT.lock(["spine_y"]).merge_fixed()
    found = minimum_perturbation(line, Region(np.eye(1), np.zeros(1), [-1.0], [1.0]))
    assert found.before > 0.1
    assert found.after < 1e-9
    shifts = tree(lie.R3())
    assert np.abs(minimum_perturbation(shifts, box()).connection(np.array([0.3, 0.2]))).max() < 1e-12
    for group in (lie.SE3(), lie.SE2(), lie.SO3()):  # along a line in the space of joints every connection is flat
        model = tree(group)
        along = Region(np.array([[1.0], [-0.5]]), np.zeros(2), [-0.8], [0.8])
        assert minimum_perturbation(model, along).after < 1e-9


@pytest.mark.parametrize("group", GROUPS[:4], ids=str)
def test_displacement_of_a_closed_gait_is_the_same_from_every_frame(group):
    model, rng = tree(group), np.random.default_rng(5)
    gait = Fourier(np.zeros(2), *(0.3 * rng.normal(size=(2, 2, 2))))
    frame = minimum_perturbation(model, Region.around(gait))
    here, there = (displacement(model, gait, frame=f).pose for f in ("base", frame))
    H = frame.poses(gait(0.0).q)[0]
    assert np.abs(model.base.inverse(H) @ here @ H - there).max() < 1e-11
    by_name = displacement(model, gait, frame="minimum_perturbation").pose
    assert np.abs(by_name - there).max() < 1e-11
    assert np.abs(here - np.eye(4)).max() > 1e-3


@pytest.mark.parametrize("seed", range(2))
def test_estimates_are_better_than_in_any_other_frame(seed):
    model, rng = tree(lie.SE3(), 3, seed), np.random.default_rng(1)
    gait = Fourier(np.zeros(3), *(0.3 * rng.normal(size=(2, 2, 3))))
    exact = displacement(model, gait)
    errors = {f: np.linalg.norm(estimate_error(model, exact, estimate(model, gait, frame=f))) for f in FRAMES}
    assert errors["minimum_perturbation"] < 0.2 * min(errors[f] for f in FRAMES[:3])


def test_arm_of_the_paper_and_cat():
    found = orbital_example()
    errors = {frame: found.error_angle(frame) for frame in FRAMES}
    assert errors["minimum_perturbation"] < 0.02 < errors["virtual_chassis"] < 1.045 < errors["base"]
    assert np.abs(found.angles(found.integrated.pose) - [-0.08, 0.19, -13.77]).max() < 0.005  # THEORY.md
    for bend in (20.0, 40.0, 60.0):
        gait = Circle(np.radians(bend))
        exact = displacement(CAT, gait)
        off = [np.linalg.norm(estimate_error(CAT, exact, estimate(CAT, gait, frame=f))[3:]) for f in FRAMES]
        assert off[3] < off[2] < 0.01 * off[0]


def test_map_is_the_curvature_seen_from_the_frame():
    plane = Plane.of_joints(CAT, "spine_z", "spine_y")
    a, b = np.linspace(-0.9, 0.9, 3), np.linspace(-0.9, 0.9, 4)
    found = curvature_map(CAT, plane, a, b, frame="minimum_perturbation")
    frame = minimum_perturbation(CAT, SQUARE)
    assert found.frame == "minimum_perturbation"
    for i in range(3):
        for j in range(4):
            q = np.array([a[i], b[j]])
            F = fc.curvature(CAT, CAT.state(joints=q), [1.0, 0.0], [0.0, 1.0])
            seen = CAT.base.Ad(CAT.base.inverse(frame.poses(q)[0])) @ F
            assert np.abs(found.values[i, j] - seen).max() < 1e-11
    by_object = Mapper(CAT, frame).map(plane, a, b).values
    assert np.abs(by_object - found.values).max() < 1e-12


def test_the_frame_does_not_depend_on_how_the_plane_is_given():
    skew = np.array([[2.0, 0.0], [0.0, 1.0]])
    wide = Region(skew, np.zeros(2), [-0.45, -0.9], [0.45, 0.9])
    q = np.array([[0.3, 0.2], [-0.5, 0.7]])
    one, two = minimum_perturbation(CAT, SQUARE), minimum_perturbation(CAT, wide)
    assert one.after == pytest.approx(two.after, rel=1e-12)
    assert np.abs(one.poses(q) - two.poses(q)).max() < 1e-9


def test_translations_of_each_base():
    assert np.abs(translations(tree(lie.SE3())) - np.eye(3)).max() < 1e-12
    assert np.abs(translations(tree(lie.SE2())) - np.diag([1.0, 1.0, 0.0])).max() < 1e-12
    assert np.abs(translations(tree(lie.SO3()))).max() < 1e-12


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ModelError, match="belong to a region"):
        Mapper(CAT, "minimum_perturbation")
    with pytest.raises(ModelError, match="not to this model"):
        Mapper(fc.robots.cat(), minimum_perturbation(CAT, SQUARE))
    with pytest.raises(ModelError, match="must be in 10 joints of 'cat', got 2"):
        minimum_perturbation(fc.robots.cat(), SQUARE)
    with pytest.raises(ModelError, match="low below high"):
        Region(np.eye(2), np.zeros(2), [0.0, 0.0], [0.0, 1.0])
    with pytest.raises(ModelError, match="at most 7"):
        Region(np.eye(9), np.zeros(9), -np.ones(9), np.ones(9))
    with pytest.raises(ModelError, match="one shape"):
        Region.around(Circle(0.0))
