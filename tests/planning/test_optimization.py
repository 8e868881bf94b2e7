"""The best gait: gradients, limits, zero-curvature lines, and what cannot be reached."""

import builtins
import sys

import numpy as np
import pytest

import fallingcat as fc
from fallingcat import lie
from fallingcat.errors import ExtraMissingError, ModelError, NumericsError
from fallingcat.lie import rotations
from fallingcat.model import Joint, Limits, Link, Model
from fallingcat.model.joints import Revolute
from fallingcat.model.robots.shapes import at, box
from fallingcat.planning import Circle, Fourier, Mapper, displacement, optimize
from fallingcat.planning.gaits.displacement import Reconstruction
from fallingcat.planning.gaits.initial_guess import strongest_plane
from fallingcat.planning.gaits.ipopt import GaitProblem, Solution, Solver
from fallingcat.planning.gaits.objectives import AIMS, Aim
from fallingcat.planning.gaits.shape_forces import shape_forces

casadi = pytest.importorskip("casadi")
CAT = fc.robots.two_cylinder_cat()


def three_links(reach=np.inf):
    """A planar chain of three equal rods, free in its plane, hinged at the ends of the middle one."""
    rod = box(1.0, (1.0, 0.1, 0.1))
    links = (
        Link("middle", rod),
        Link("left", box(1.0, (1.0, 0.1, 0.1), (-0.5, 0.0, 0.0))),
        Link("right", box(1.0, (1.0, 0.1, 0.1), (0.5, 0.0, 0.0))),
    )
    limits = Limits(-reach, reach)
    joints = (
        Joint("l", Revolute((0.0, 0.0, 1.0)), "middle", "left", at(x=-0.5), limits=limits),
        Joint("r", Revolute((0.0, 0.0, 1.0)), "middle", "right", at(x=0.5), limits=limits),
    )
    return Model("three links", lie.SE2(), links, joints, gravity=np.zeros(3))


def tree(group, n=3, seed=0):
    rng = np.random.default_rng(seed)
    return fc.robots.random_tree(rng, n, ("revolute",), base=group, planar=isinstance(group, lie.SE2))


def question(model, aim="turn", effort="rates", harmonics=2):
    free = np.full(model.n, np.inf)
    return GaitProblem(model, Aim.parse(aim), None, effort, 1e-3, None, -free, free, harmonics)


def series_of(x, n, harmonics=2):
    table = x.reshape(-1, n)
    return Fourier(table[0], table[1 : 1 + harmonics], table[1 + harmonics :])


@pytest.mark.parametrize("group", [lie.SE3(), lie.SE2(), lie.SO3(), lie.Schoenflies()], ids=str)
def test_value_is_the_exact_displacement_and_converges_to_it(group):
    model, rng = tree(group), np.random.default_rng(4)
    x = 0.2 * rng.normal(size=15)
    exact = displacement(model, series_of(x, 3)).pose
    for aim in AIMS:
        values = [float(Solver(question(model, aim), steps).outcome(x)[0]) for steps in (24, 48)]
        want = Aim.parse(aim).of_pose(exact, values[1])
        assert values[1] == pytest.approx(want, abs=2e-7)
        assert abs(values[1] - want) < 0.05 * abs(values[0] - want) + 1e-12  # of order 6


@pytest.mark.parametrize(
    ("aim", "effort"), [("turn", "rates"), ("rx", "forces"), ("-y", "rates"), ("travel", "forces")]
)
def test_gradient_is_the_one_of_finite_differences(aim, effort):
    model, rng = tree(lie.SE3()), np.random.default_rng(5)
    asked = question(model, aim, effort)
    solver = Solver(asked, 16)
    x, step, weight = 0.3 * rng.normal(size=15), 1e-5, 1e-4

    def cost(y):
        value, spent = (float(z) for z in solver.outcome(y))
        return weight * spent - asked.aim.sign * value

    by_hand = np.array([(cost(x + step * e) - cost(x - step * e)) / (2 * step) for e in np.eye(15)])
    gradient = np.asarray(solver.lagrangian_gradient(x, weight, np.zeros(0))).ravel()
    assert np.abs(gradient - by_hand).max() < 1e-7 * max(1.0, np.abs(gradient).max())


def test_efforts_are_integrals_over_a_cycle_of_one_second():
    x = 0.2 * np.random.default_rng(6).normal(size=10)
    s = np.arange(400) / 400.0
    jet = series_of(x, 2)(s)
    rates = float(Solver(question(CAT), 16).outcome(x)[1])
    assert rates == pytest.approx((jet.dq**2).sum(axis=1).mean(), rel=1e-12)
    A = Reconstruction(CAT).connection(jet.q)
    total = 0.0
    for q, dq, ddq, a in zip(*jet, A, strict=True):
        total += np.sum(shape_forces(CAT, CAT.state(joints=q, twist=-a @ dq, rates=dq), ddq) ** 2) / 400.0
    forces = float(Solver(question(CAT, effort="forces"), 32).outcome(x)[1])
    assert forces == pytest.approx(total, rel=1e-8)


def test_optimum_obeys_the_equation_of_euler_and_lagrange():
    """On a planar base the turn is the area integral of the curvature K: K (q_y', -q_x') = 2 weight q''."""
    model, weight, residuals = three_links(), 4e-3, []
    for harmonics in (4, 8, 12):
        start = Circle(1.2, center=(1.6, -1.6))
        best = optimize(model, "rz", weight=weight, harmonics=harmonics, start=start)
        jet = best.gait(np.arange(300) / 300.0)
        K = Mapper(model).curvature(jet.q, np.array([1.0, 0.0]), np.array([0.0, 1.0]))[:, 2]
        bent = K[:, None] * np.stack([jet.dq[:, 1], -jet.dq[:, 0]], axis=1)
        against = 2.0 * weight * jet.ddq
        residuals.append(np.abs(bent - against).max() / np.abs(against).max())
    assert residuals[1] < 0.2 * residuals[0]  # a series converges faster than any power
    assert residuals[2] < 0.2 * residuals[1]
    assert residuals[2] < 5e-3


def test_most_turn_per_cycle_lies_along_the_zero_curvature_line():
    model, reach = three_links(reach=2.0), 2.0
    grid, weights = np.polynomial.legendre.leggauss(80)
    a, b = np.meshgrid(reach * grid, reach * grid, indexing="ij")
    K = Mapper(model).curvature(np.stack([a.ravel(), b.ravel()], axis=1), np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    K = K[:, 2].reshape(80, 80)
    most = reach**2 * np.einsum("i,j,ij->", weights, weights, np.abs(np.where(a > b, K, 0.0)))  # one side of its line
    values, crossings = [], []
    for weight in (1e-3, 3e-5):
        best = optimize(model, "rz", weight=weight, harmonics=3)
        q = best.gait(np.arange(400) / 400.0).q
        free = (np.abs(q) < 1.97).all(axis=1)
        on = Mapper(model).curvature(q[free], np.array([1.0, 0.0]), np.array([0.0, 1.0]))[:, 2]
        values.append(best.value)
        crossings.append(np.abs(on).mean() / np.abs(K).max())
        assert best.violation <= 1e-9
    assert values[0] < values[1] < most
    assert values[1] > 0.97 * most
    assert crossings[1] < crossings[0]
    assert crossings[1] < 0.01


@pytest.mark.parametrize("effort", ["rates", "forces"])
def test_least_effort_for_a_wanted_turn(effort):
    best = optimize(CAT, "turn", target=np.pi / 2, effort=effort, reach=1.2, harmonics=1)
    assert best.optimal
    assert best.gradient < 1e-6
    assert np.linalg.norm(fc.lie.SO3().log(best.displacement.pose)) == pytest.approx(np.pi / 2, abs=1e-6)
    assert np.abs(displacement(CAT, best.gait).pose - best.displacement.pose).max() < 1e-11
    if effort == "rates":  # a circle by symmetry, and no circle that turns as far costs less
        radii = np.linspace(0.5, 0.6, 5)
        turns = [np.linalg.norm(fc.lie.SO3().log(displacement(CAT, Circle(r)).pose)) for r in radii]
        radius = np.interp(np.pi / 2, turns, radii)
        assert best.effort <= (2.0 * np.pi * radius) ** 2 * (1.0 + 1e-6)


def test_limits_of_single_joints_are_kept_and_used():
    cat = fc.robots.cat()
    names = ("spine_side", "spine_arch", "spine_twist")
    best = optimize(cat, "turn", names, harmonics=1, starts=1, weight=1e-2)
    q = best.gait(np.linspace(0.0, 1.0, 5001)).q
    for k, joint in enumerate(cat.joints):
        assert q[:, k].max() <= joint.limits.upper + 1e-9
        assert q[:, k].min() >= joint.limits.lower - 1e-9
        if joint.name not in names:
            assert np.ptp(q[:, k]) == 0.0
    pair = optimize(cat, "turn", names[:2], harmonics=1, starts=1, weight=1e-2)
    assert best.value - 1e-2 * best.effort >= pair.value - 1e-2 * pair.effort - 1e-6  # another joint does not harm


def test_out_of_reach_is_said_with_what_is_in_reach():
    with pytest.raises(
        NumericsError, match=r"infeasible.* 3\.142 was wanted; turn of \d+\.\d+ degrees is within reach"
    ):
        optimize(CAT, "turn", target=np.pi, reach=0.3, harmonics=1, starts=1)
    found = optimize(CAT, "turn", target=np.pi, reach=0.3, harmonics=1, starts=1, strict=False)
    assert (found.status, found.optimal) == ("infeasible", False)
    assert found.violation > 1.0
    largest = np.degrees(np.linalg.norm(fc.lie.SO3().log(displacement(CAT, Circle(0.3)).pose)))
    said = float(found.message.split("turn of ")[1].split()[0])
    assert said == pytest.approx(largest, abs=0.2)


def test_too_few_iterations_are_no_optimum():
    with pytest.raises(NumericsError, match="maximum iterations exceeded"):
        optimize(CAT, "turn", reach=0.8, iterations=1, starts=1)
    found = optimize(CAT, "turn", reach=0.8, iterations=1, starts=1, strict=False)
    assert found.status == "unfinished"


def test_heavy_effort_makes_it_stay_and_says_so():
    found = optimize(CAT, "turn", reach=0.5, weight=10.0, harmonics=1, starts=1)
    assert found.value < 1e-6
    assert "stay" in found.message


def test_a_budget_is_kept():
    best = optimize(CAT, "turn", budget=4.0, weight=0.0, harmonics=1, starts=1)
    assert best.effort == pytest.approx(4.0, rel=1e-6)
    circle = Circle(2.0 / (2.0 * np.pi))  # the same effort
    assert best.value >= np.linalg.norm(fc.lie.SO3().log(displacement(CAT, circle).pose)) - 1e-6


def test_strongest_plane_is_the_one_of_the_largest_curvature():
    rng = np.random.default_rng(2)
    forms = rng.normal(size=(3, 5, 5))
    forms = forms - forms.transpose(0, 2, 1)
    first, second, strength, axis = strongest_plane(forms, np.ones(5))
    size = np.hypot(first, second)
    assert size.max() == pytest.approx(1.0)
    assert first @ second == pytest.approx(0.0, abs=1e-12)
    area = np.linalg.norm(first) * np.linalg.norm(second)
    sampled = []
    for _ in range(300):
        Q = np.linalg.qr(rng.normal(size=(5, 2)))[0]
        sampled.append(np.linalg.norm(np.einsum("pij,i,j->p", forms, Q[:, 0], Q[:, 1])))
    assert strength / area >= max(sampled)
    assert np.linalg.norm(axis) == pytest.approx(1.0)


def test_quaternion_is_followed_beyond_half_a_turn():
    gait = Circle(np.radians(60.0))
    x = np.array([0.0, 0.0, np.radians(60.0), 0.0, 0.0, np.radians(60.0)])
    pose = np.asarray(Solver(question(CAT, harmonics=1), 48).graph.function(x)[0]).ravel()
    exact = displacement(CAT, gait).pose
    assert np.abs(rotations.matrix_from_quaternion(pose[3:]) - exact[:3, :3]).max() < 1e-6
    assert pose[6] < 0.0  # 195 degrees: the other quaternion would be the shorter turn
    assert Aim("turn").of_pose(exact, 3.4) == pytest.approx(np.radians(195.448), abs=1e-4)


def test_without_casadi_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def no_casadi(name, *rest, **more):
        if name == "casadi":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", no_casadi)
    monkeypatch.delitem(sys.modules, "casadi", raising=False)
    with pytest.raises(ExtraMissingError, match=r"optimisation of gaits needs casadi: pip install '\.\[casadi\]'"):
        optimize(CAT, "turn", reach=0.5)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"maximize": "spin"}, "maximize must be one of"),
        ({"maximize": "-turn"}, "maximize must be one of"),
        ({"effort": "sweat"}, "effort must be one of"),
        ({"harmonics": 0}, "harmonics must be 1 or more"),
        ({"weight": -1.0}, "not negative"),
        ({"weight": 0.0}, "the gait is unbounded"),
        ({"reach": -1.0}, "reach must be positive"),
        ({"joints": ["spine_z"]}, "two different joints"),
        ({"joints": ["spine_z", "wing"]}, "no joint 'wing'"),
        ({"start": Circle(0.3, turns=0.5)}, "closed curve of 2 joints"),
        ({"origin": [0.0]}, "origin"),
    ],
)
def test_questions_without_sense_are_refused(more, words):
    with pytest.raises(ModelError, match=words):
        optimize(CAT, **more)


def test_flat_joints_are_no_start():
    flat = Model("flat", lie.R3(), CAT.links, CAT.joints)
    with pytest.raises(ModelError, match="curvature is zero"):
        optimize(flat, "x", reach=0.5)


def test_nearly_optimal_is_not_optimal():
    """IPOPT's acceptable level can be far from the optimum where multipliers are large."""
    answer = Solution(np.zeros(1), 0.0, 0.0, "Solved_To_Acceptable_Level", 1, 0.0, None)
    assert answer.status == "unfinished"
    assert answer._replace(message="Solve_Succeeded").status == "optimal"
