"""Exact displacements: known cats, laws of connections, every base."""

from dataclasses import replace

import numpy as np
import pytest
from random_robots import BASES

import fallingcat as fc
from fallingcat import lie
from fallingcat.errors import ModelError
from fallingcat.lie.charts import EulerXYZ
from fallingcat.model import Joint, Link, Model
from fallingcat.model.joints import Prismatic
from fallingcat.planning import (
    Circle,
    Fourier,
    Gait,
    Plane,
    Reconstruction,
    carried_bend,
    displacement,
    estimate,
    tracker,
)

CAT = fc.robots.two_cylinder_cat()
TURNS = Reconstruction(CAT)


def roll(pose):
    return np.degrees(CAT.base.log(pose)[3])


def tree(group, seed=0):
    """A random tree of three hinges on another base."""
    rng = np.random.default_rng(seed)
    return fc.robots.random_tree(rng, 3, ("revolute",), base=group, planar=isinstance(group, lie.SE2))


def loop(n, seed=1, size=0.4):
    rng = np.random.default_rng(seed)
    return Fourier(np.zeros(n), size * rng.normal(size=(2, n)), size * rng.normal(size=(2, n)))


@pytest.mark.parametrize(("bend", "turn"), [(20.0, 41.9), (40.0, 124.4)])
def test_two_cylinder_cat_of_the_theory(bend, turn):
    curve = carried_bend(np.radians(bend))
    forth, back = TURNS.displacement(curve), TURNS.displacement(carried_bend(np.radians(bend), turns=-1.0))
    assert roll(forth.pose) == pytest.approx(turn, abs=0.05)
    assert roll(back.pose) == pytest.approx(-turn, abs=0.05)
    assert forth.error <= 1e-12


@pytest.mark.parametrize("bend", [5.0, 13.0, 31.0, 55.0])
def test_other_bends_against_many_small_steps(bend):
    steps = 4000
    s = np.linspace(0.0, 1.0, steps + 1)
    curve = carried_bend(np.radians(bend))
    path = curve(s).q
    A = TURNS.connection(0.5 * (path[1:] + path[:-1]))
    pose = np.eye(4)
    for a, d in zip(A, np.diff(path, axis=0), strict=True):
        pose = pose @ CAT.base.exp(-a @ d)
    assert np.abs(TURNS.displacement(curve).pose - pose).max() < 3e-6


def test_orbital_arm_of_the_paper():
    arm = fc.robots.orbital_arm()
    directions = np.zeros((7, 2))
    directions[[1, 2], 0], directions[3, 1] = np.sqrt(0.5), 1.0
    gait = Circle(0.5, center=(0.5, 0.0), start=np.pi, turns=-1.0).embedded(directions)  # r = (1 - cos, sin) / 2
    exact = displacement(arm, gait)
    angles = np.degrees(EulerXYZ().from_matrix(exact.pose[:3, :3]))
    assert np.abs(angles - [-0.08, 0.19, -13.77]).max() < 0.005  # THEORY.md
    guess = estimate(arm, gait, frame="center_of_mass").pose
    error = np.degrees(np.linalg.norm(arm.base.log(np.linalg.inv(exact.pose) @ guess)[3:]))
    assert error < 3.7242  # the mean error that the paper cites for the method


@pytest.mark.parametrize("group", [lie.SE3(), lie.SE2(), lie.SO3(), lie.Schoenflies()], ids=str)
def test_reversal_speed_and_concatenation_on_every_base(group):
    model = tree(group)
    way, there = Reconstruction(model), loop(model.n)
    pose = way.displacement(there).pose
    assert model.base.contains(pose, 1e-12)
    assert np.abs(way.displacement(there.reversed()).pose @ pose - np.eye(4)).max() < 1e-11
    assert np.abs(way.displacement(Gait(there, 0.3)).pose - pose).max() < 1e-11
    assert np.abs(way.displacement(Gait(there, 7.0, "constant")).pose - pose).max() < 1e-11
    assert np.abs(pose - np.eye(4)).max() > 1e-4  # it moves: the laws above are not about nothing


@pytest.mark.parametrize("group", [lie.SE3(), lie.SE2()], ids=str)
def test_the_frame_does_not_matter(group):
    model = tree(group)
    here, there = (displacement(model, loop(model.n), frame=f).pose for f in ("base", "center_of_mass"))
    offset = np.eye(4)
    offset[:3, 3] = fc.center_of_mass(model, model.state(joints=loop(model.n)(0.0).q[0]))
    assert np.abs(np.linalg.inv(offset) @ here @ offset - there).max() < 1e-11
    if isinstance(group, lie.SE3):
        assert np.abs(there[:3, 3]).max() < 1e-11  # without momentum the center of mass stays


def test_another_base_link_gives_the_same_motion():
    model = tree(lie.SE3())
    other = model.reroot(model.link_names[-1])
    order = [model.joint_names.index(name) for name in other.joint_names]
    gait = loop(model.n)
    mixed = gait.embedded(np.eye(model.n)[order])
    pose, seen = displacement(model, gait).pose, displacement(other, mixed).pose
    offset = fc.link_pose(model, model.state(joints=gait(0.0).q[0]), model.link_names[-1])
    assert np.abs(np.linalg.inv(offset) @ pose @ offset - seen).max() < 1e-10


def test_flat_connections_lead_nowhere():
    single = CAT.lock(["spine_y"]).merge_fixed()
    there_and_back = Fourier(np.zeros(1), np.array([[0.5], [0.2]]), np.array([[0.3], [-0.4]]))
    assert np.abs(displacement(single, there_and_back).pose - np.eye(4)).max() < 1e-12
    one = np.eye(4)
    shifts = Model(
        "drawers",
        lie.SE3(),
        tuple(Link(name, fc.robots.free_body().links[0].body) for name in "abc"),
        (Joint("x", Prismatic((1.0, 0.0, 0.0)), "a", "b", one), Joint("y", Prismatic((0.0, 1.0, 0.0)), "a", "c", one)),
    )
    frozen = Model("translating", lie.R3(), shifts.links, shifts.joints)
    assert np.abs(displacement(frozen, Circle(0.4)).pose - np.eye(4)).max() < 1e-12


def test_with_momentum_it_agrees_with_a_simulation():
    gait = Gait(Circle(0.5), 0.4)
    free = Model(CAT.name, CAT.base, CAT.links, CAT.joints, gravity=np.zeros(3))
    h = np.array([0.3, -0.2, 0.1, 0.01, 0.02, -0.015])
    moved = displacement(free, gait, momentum=h, tolerance=1e-11)
    start = free.state(joints=gait(0.0).q[0])
    Mb = fc.mass_matrix(free, start)[:6, :6]
    state = start._replace(twist=np.linalg.solve(Mb, h))
    ends = [fc.simulate(free, state, 0.4, tracker(free, gait), dt=dt).poses[-1] for dt in (2e-3, 1e-3)]
    errors = [np.abs(end - moved.pose).max() for end in ends]
    assert errors[1] < 1e-4
    assert errors[1] < 0.3 * errors[0]  # the simulation is of order 2 and converges to the displacement


@pytest.mark.parametrize("base", [base for base in BASES if base.dim], ids=str)
def test_with_momentum_it_agrees_with_a_simulation_on_every_base(base):
    """The tracker follows the gait; the base follows both to the order of the integrator."""
    rng = np.random.default_rng([2, base.dim])
    model = fc.robots.random_tree(rng, 2, ("revolute", "prismatic"), base=base)
    model, gait = replace(model, gravity=np.zeros(3)), Gait(loop(2, size=0.2), 0.2)
    q, rates, _ = (x[0] for x in gait(0.0))
    h, M = 0.1 * rng.normal(size=model.m), fc.mass_matrix(model, model.state(joints=q))
    twist = np.linalg.solve(M[: model.m, : model.m], h - M[: model.m, model.m :] @ rates)
    start = model.state(joints=q, rates=rates, twist=twist)
    moved = displacement(model, gait, momentum=h, tolerance=1e-11)
    runs = [fc.simulate(model, start, 0.2, tracker(model, gait), integrator="rkmk4", dt=dt) for dt in (2e-3, 1e-3)]
    assert [run.status for run in runs] == ["finished", "finished"]
    errors = [np.abs(run.poses[-1] - moved.pose).max() for run in runs]
    assert errors[1] < 1e-5
    assert errors[1] < 0.1 * errors[0] + 1e-13  # of order 4


def test_a_locked_robot_with_momentum_moves_as_one_body():
    body = fc.robots.free_body()
    still = CAT.lock(CAT.joint_names).merge_fixed()
    assert still.n == body.n == 0
    frozen = Reconstruction(CAT).displacement(Gait(Circle(1e-9), 2.0), momentum=np.array([1.0, 0, 0, 0, 0, 0.0]))
    assert frozen.pose[0, 3] == pytest.approx(2.0 / CAT.mass, rel=1e-6)


def test_what_cannot_be_reconstructed_is_refused():
    with pytest.raises(ModelError, match="embed"):
        displacement(CAT, Circle(0.3).embedded(np.ones((3, 2))))
    with pytest.raises(ModelError, match="frame"):
        displacement(CAT, Circle(0.3), frame="tail")
    with pytest.raises(ModelError, match="momentum"):
        displacement(CAT, Circle(0.3), momentum=np.ones(3))
    with pytest.raises(ModelError, match="center of mass"):
        displacement(tree(lie.SO3()), loop(3), frame="center_of_mass")
    with pytest.raises(ModelError, match="no joint"):
        Plane.of_joints(CAT, "spine_z", "tail")
