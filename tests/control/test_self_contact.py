"""Links that push each other: closed forms of collisions, laws on random robots, all integrators."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from kinds import KINDS
from random_robots import build, rng_of, robots
from residuals import agree
from support.emulated_gpu import emulated

import fallingcat as fc
from fallingcat.control import SelfContact
from fallingcat.control.laws.self_contact import pair_inertias
from fallingcat.errors import ModelError
from fallingcat.geometry import collision_pairs as pairs
from fallingcat.geometry import signed_distance as overlaps
from fallingcat.model.shapes import Box, Capsule, Sphere
from fallingcat.testing import check_law

NOTHING: frozenset[str] = frozenset()
STEP = 1e-40


def at(x: float) -> np.ndarray:
    H = np.eye(4)
    H[0, 3] = x
    return H


def sliders(base: fc.lie.Group = fc.lie.Trivial(), masses: tuple[float, float] = (1.0, 2.0)) -> fc.Model:  # noqa: B008
    """Two balls of 0.1 m on one rail, 0.01 m apart."""
    along = fc.joints.Prismatic((1.0, 0.0, 0.0))
    links = [fc.Link("rail", fc.Body(3.0, (0, 0, 0), np.eye(3)))]
    links += [
        fc.Link(name, fc.Body(m, (0, 0, 0), 0.004 * m * np.eye(3)), collisions=(Sphere(0.1),))
        for name, m in zip(("left", "right"), masses, strict=True)
    ]
    joints = [fc.Joint("l", along, "rail", "left"), fc.Joint("r", along, "rail", "right", placement=at(0.21))]
    return fc.Model("sliders", base, links, joints, gravity=np.zeros(3))


# closed forms -----------------------------------------------------------------------------------------------------


def test_balls_without_dampers_rebound_as_billiards_do():
    """Velocities after, the deepest ``v / w`` and the time ``pi / w`` in touch, with the reduced mass."""
    model, k, v = sliders(), 1e4, 0.8
    run = fc.simulate(model, model.state(rates=[v, 0.0]), 0.08, SelfContact(stiffness=k, damping=0.0), dt=1e-5)
    assert run.status == "finished"
    m1, m2 = 1.0, 2.0
    agree("velocities", run.rates[-1], np.array([v * (m1 - m2), 2.0 * m1 * v]) / (m1 + m2), 1e-6)
    w = np.sqrt(k * (m1 + m2) / (m1 * m2))
    depth = run.joints[:, 0] - run.joints[:, 1] - 0.01
    agree("depth", depth.max(), v / w, 1e-7)
    agree("time", np.sum(depth > 0.0) * 1e-5, np.pi / w, 2e-5)
    assert run.energy_residual < 1e-6


def test_by_default_a_fifth_of_the_speed_is_left():
    """``m y'' = -clip(k y + d y', 0, 4 k y)`` with ``d = 2 sqrt(k m)``, integrated by hand; w = 250 rad/s."""
    model, v = sliders(), 0.8
    run = fc.simulate(model, model.state(rates=[v, 0.0]), 0.05, SelfContact(), dt=2e-5)
    m, w = 2.0 / 3.0, 250.0
    assert pair_inertias(model, None) == pytest.approx((m,))
    y, u, h = 0.0, v, 1e-6
    while y >= 0.0 and u > -v:
        u -= h * min(max(w * w * y + 2.0 * w * u, 0.0), 4.0 * w * w * y)
        y += h * u
    parting = run.rates[-1, 1] - run.rates[-1, 0]
    assert 0.19 * v < -u < 0.21 * v
    assert parting == pytest.approx(-u, rel=2e-3)
    assert run.ledger.work("self-contact")[-1] == pytest.approx(-0.5 * m * (v**2 - parting**2), rel=1e-5)


def test_a_pendulum_hits_its_own_base():
    """A pendulum swings into a wall of its own base and comes back with the speed that it had; the base takes it."""
    wall, bob = np.eye(4), np.eye(4)
    wall[:3, 3], bob[2, 3] = (0.3, 0.0, -0.5), -0.5
    base = fc.Link("base", fc.Body(5.0, (0, 0, 0), np.eye(3)), collisions=(Box((0.2, 0.4, 0.4), placement=wall),))
    arm = fc.Link("arm", fc.Body(1.0, (0, 0, -0.5), 0.01 * np.eye(3)), collisions=(Sphere(0.1, placement=bob),))
    joint = fc.Joint("hinge", fc.joints.Revolute((0.0, -1.0, 0.0)), "base", "arm")
    model = fc.Model("pendulum", fc.lie.Trivial(), (base, arm), (joint,), gravity=np.zeros(3))
    law = SelfContact(pairs=[("base", "arm")], stiffness=1e5, damping=0.0)
    run = fc.simulate(model, model.state(rates=[1.0]), 0.5, law, dt=2e-5)
    assert run.rates[-1, 0] == pytest.approx(-1.0, abs=1e-6)
    first = np.argmax(np.abs(run.rates[:, 0] - 1.0) > 1e-9)
    assert 0.5 * np.sin(run.joints[first, 0]) == pytest.approx(0.1, abs=2e-4)  # the face at 0.2 m, the ball 0.1 m
    free = replace(model, base=fc.lie.SE3())
    run = fc.simulate(free, free.state(rates=[1.0]), 0.5, law, integrator="rkmk4", dt=1e-4)
    assert run.rates[-1, 0] < -0.9
    agree("momentum", fc.momentum(free, run.state(-1), "world"), fc.momentum(free, run.state(0), "world"), 1e-9)


# laws on random robots --------------------------------------------------------------------------------------------


def touching_robot(recipe):
    """A random robot of thick links that are in each other, and a law for all that joints move."""
    model, state = build(recipe)
    rng = rng_of(recipe)
    kinds = (Sphere(1.1), Capsule(0.7, 1.5), Box((1.5, 1.2, 2.0)))
    links = [replace(link, collisions=(kinds[rng.integers(3)],)) for link in model.links]
    model = replace(model, links=tuple(links))
    names = model.link_names
    moved = [(names[i], names[j]) for i in range(len(names)) for j in range(i) if pairs.joints_between(model, i, j)]
    return model, state, SelfContact(pairs=tuple(moved), stiffness=300.0, damping=4.0)


@settings(max_examples=6)
@given(recipe=robots(largest=4))
def test_forces_are_those_of_pairs_seen_from_the_world(recipe):
    """``sum of J' f`` with Jacobians at the points, all bases: nothing acts on the base, and no force is made."""
    model, state, law = touching_robot(recipe)
    poses, total = fc.forward_kinematics(model, state), np.zeros(model.nv)
    for a, b in pairs.pushing_pairs(model, law.pairs).pairs:
        names = [model.link_names[side.link] for side in (a, b)]
        met = overlaps.proximity(
            *(x for n, side in zip(names, (a, b), strict=True) for x in (poses[n] @ side.placement, side.solid))
        )
        J = np.zeros((3, model.nv))
        for sign, name in zip((-1.0, 1.0), names, strict=True):
            place = np.eye(4)
            place[:3, 3] = (np.linalg.inv(poses[name]) @ np.append(met.point, 1.0))[:3]
            J = J + sign * fc.jacobian(model, state, fc.model.Frame("point", name, place), "mixed")[:3]
        y = max(-met.distance, 0.0)
        F = min(max(300.0 * y - 4.0 * met.normal @ J @ state.velocity, 0.0), 1200.0 * y)
        total += F * met.normal @ J
    found = law.forces(model, 0.0, state, NOTHING)
    agree("J' f", found, total, 1e-10, max(1.0, np.abs(total).max(initial=0.0)))
    assert not found[: model.m].any()


@settings(max_examples=6)
@given(recipe=robots(largest=4))
def test_springs_have_an_energy_and_dampers_take_some(recipe):
    """``dU/dt = -F . v`` along any motion without damping; with it, more is taken."""
    model, state, law = touching_robot(recipe)
    spring = replace(law, damping=0.0)
    moved = fc.dynamics.displace(model, state, 1j * STEP * state.velocity)
    rate, size = np.imag(spring.energy(model, moved)) / STEP, max(1.0, float(spring.energy(model, state)))
    agree("dU/dt = -F v", spring.forces(model, 0.0, state, NOTHING) @ state.velocity, -rate, 1e-10, size)
    assert law.forces(model, 0.0, state, NOTHING) @ state.velocity <= -rate + 1e-9 * size


def test_a_law_as_others_are():
    model = sliders(fc.lie.SE3())
    near = [model.state(joints=[0.02, 0.0], rates=[0.1, 0.0]), model.state(joints=[0.0, 0.0], rates=[1.0, 0.0])]
    check_law(SelfContact(stiffness=100.0, damping=0.0), model, near)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_number(kind):
    """A box, a capsule and a ball on a chain, in each other."""
    out = at(0.05)
    out[1, 3] = 0.08
    shapes = Box((0.3, 0.2, 0.2)), Capsule(0.1, 0.3, placement=out), Sphere(0.15, placement=out)
    hinge = fc.joints.Revolute((0.0, 1.0, 0.3))
    body = fc.Body(1.0, (0, 0, 0), np.eye(3))
    links = [fc.Link(f"l{i}", body, collisions=(shape,)) for i, shape in enumerate(shapes)]
    joints = [fc.Joint(f"j{i}", hinge, f"l{i}", f"l{i + 1}", placement=at(0.2)) for i in range(2)]
    model = fc.Model("three", fc.lie.Trivial(), links, joints)
    law = SelfContact(pairs=(("l0", "l1"), ("l0", "l2"), ("l1", "l2")), stiffness=100.0, damping=1.0)
    state = model.state(joints=[0.4, -0.7], rates=[0.1, 0.2])
    expected = law.forces(model, 0.0, state, NOTHING)
    assert np.abs(expected).min() > 0.05
    forces = lambda q, v: law.forces(model, 0.0, state._replace(joints=q, rates=v), NOTHING)  # noqa: E731
    agree("forces", KINDS[kind](forces, state.joints, state.rates), expected)


# runs -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reference():
    model = sliders(fc.lie.SE3())
    start = model.state(rates=[0.8, 0.0], twist=[0.1, 0.2, 0.0, 0.0, 0.3, 0.2])
    return model, start, fc.simulate(model, start, 0.05, SelfContact(), integrator="rkmk4", dt=1e-4)


@pytest.mark.parametrize(
    ("integrator", "dt", "within"),
    [("rkmk4", 1e-3, 5e-3), ("momentum", 1e-3, 5e-3), ("rosenbrock", None, 1e-3), ("implicit", 1e-4, 1e-2)],
)
def test_all_integrators(reference, integrator, dt, within):
    """The same collision of a robot that flies and turns, with its books; momentum as each of them keeps it."""
    model, start, fine = reference
    run = fc.simulate(model, start, 0.05, SelfContact(), integrator=integrator, dt=dt)
    assert (run.status, fine.status) == ("finished", "finished")
    agree("rates", run.rates[-1], fine.rates[-1], within)
    agree("momentum", *(fc.momentum(model, x.state(-1), "world") for x in (run, fine)), within)


def test_beside_hard_contacts():
    """``moreau``: two balls on a rail above the ground, one of which lands on it."""
    model, up = replace(sliders(fc.lie.SE3()), gravity=np.array([0.0, 0.0, -9.81])), np.eye(4)
    up[2, 3] = 0.12
    ground = fc.contact.HardContacts(("rail", "left", "right"), friction=0.0, radius=0.1)
    start = model.state(pose=up, rates=[0.8, 0.0])
    run = fc.simulate(model, start, 0.1, SelfContact(), ground, integrator="moreau", dt=1e-4)
    still = fc.simulate(model, start._replace(pose=np.eye(4) + up * 0.0), 0.05, SelfContact(), dt=1e-4)
    assert run.status == "finished"
    assert np.ptp(run.rates[-1]) == pytest.approx(np.ptp(still.rates[-1]), rel=1e-2)


def test_many_at_once():
    """Rollouts take the same law, with the same answers as single runs."""
    model = sliders(fc.lie.SE3())
    states = [model.state(rates=[v, 0.0]) for v in (0.3, 0.8, 1.3)]
    many = fc.State(*(np.stack(x) for x in zip(*states, strict=True)))
    together = fc.rollout(model, many, 0.05, SelfContact(), integrator="implicit", dt=1e-3)
    kinds = set()
    for k, state in enumerate(states):
        alone = fc.simulate(model, state, 0.05, SelfContact(), integrator="implicit", dt=1e-3)
        agree("rates", together.rates[-1, k], alone.rates[-1])
        kinds |= {each.kind for each in alone.warnings}
    assert {each.kind for each in together.warnings} == kinds == {fc.simulation.DiagnosticKind.STEP_ERROR}
    told = fc.rollout(model, many, 0.05, SelfContact(), integrator="implicit", dt=5e-3).status
    words = "'self-contact' moves links at up to 500 rad/s, too fast for steps of 0.005 s; take at most 0.001 s"
    assert told.startswith(f"finished, but in 3 of 3 simulations {words}; ")
    masses = {"left.mass": np.array([1.0, 2.0, 3.0])}
    other = fc.rollout(model, many, 0.05, SelfContact(), integrator="implicit", parameters=masses, dt=1e-3)
    assert other.status.endswith("in 3 of 3 simulations self-contact acted, as stiff as that of 'sliders' itself")


@pytest.mark.skipif(shutil.which("g++") is None or sys.platform == "win32", reason="needs a C++ compiler")
def test_on_a_gpu(monkeypatch, tmp_path):
    """A ball, a box and a capsule that run into each other, in CUDA's text, which a few lines emulate here."""
    monkeypatch.setitem(sys.modules, "cupy", emulated(tmp_path))
    rail = sliders(fc.lie.SE3())
    left, right = (
        replace(link, collisions=(s,)) for link, s in zip(rail.links[1:], (Sphere(0.1), Box((0.2,) * 3)), strict=True)
    )
    third = fc.Link("third", fc.Body(1.0, (0, 0, 0), 0.004 * np.eye(3)), collisions=(Capsule(0.1, 0.3),))
    joint = fc.Joint("t", fc.joints.Prismatic((1.0, 0.0, 0.0)), "rail", "third", placement=at(0.44))
    model = replace(rail, links=(rail.links[0], left, right, third), joints=(*rail.joints, joint))
    many = [model.state(rates=[v, 0.0, -0.2]) for v in (0.3, 0.8, 1.3)]
    cpu, gpu = (
        fc.rollout(model, many, 0.1, SelfContact(), integrator="implicit", dt=1e-3, target=target)
        for target in ("cpu", "cuda")
    )
    assert gpu.works[-1, :, 0].max() < 0.0
    agree("rates", np.asarray(gpu.rates[-1]), cpu.rates[-1])


def test_default_steps_follow_the_stiffness():
    model = sliders(fc.lie.SE3())
    soft, stiff = (
        fc.simulate(model, model.neutral(), 0.01, law) for law in (SelfContact(), SelfContact(stiffness=1e7))
    )
    assert len(soft) == 11  # 1 ms
    assert len(stiff) > 100
    steps = fc.simulate(model, model.neutral(), 0.01, SelfContact(stiffness=1e7), integrator="implicit")
    assert len(steps) > 100


@pytest.mark.parametrize("integrator", ["rkmk4", "implicit", "momentum"])
def test_steps_that_are_too_long_are_reported(integrator):
    """Springs that move at 1 kHz, in steps of 1 ms, give masses more than they brought: the status says so."""
    model = sliders(fc.lie.SE3())
    law, start = SelfContact(stiffness=3e7, damping=0.0), model.state(rates=[0.8, 0.0])
    run = fc.simulate(model, start, 0.05, law, integrator=integrator, dt=1e-3)
    assert run.status != "finished"
    assert fc.simulate(model, start, 0.05, law, integrator=integrator, dt=1e-5).status == "finished"


@pytest.mark.slow
def test_a_limp_dog_does_not_fold_into_itself():
    """A quadruped that falls, legs swinging: without the law shapes are in each other by centimeters."""
    dog, rng = fc.robots.quadruped(), np.random.default_rng(3)
    start = dog.state(rates=8.0 * rng.normal(size=dog.n))
    couples = pairs.pushing_pairs(dog).pairs
    depths = []
    for laws in (None, SelfContact()):
        run = fc.simulate(dog, start, 0.4, laws, integrator="rkmk4", dt=5e-4, every=10)
        assert run.times[-1] == pytest.approx(0.4)  # its status tells of joints beyond their soft stops
        assert run.energy_residual < 1e-3
        looks = [fc.dynamics.kinematics.world_poses(dog, run.state(i)) for i in range(0, len(run), 14)]
        depths.append(-min(met.distance for poses in looks for met in pairs.meetings(couples, poses)))
    assert depths[0] > 0.025
    assert depths[1] < 0.015


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"stiffness": 0.0}, "stiffness of 'self-contact' must be a finite number above zero, got 0.0"),
        ({"stiffness": np.nan}, "stiffness of 'self-contact' must be a finite number, or None, got nan"),
        ({"stiffness": "hard"}, "stiffness of 'self-contact' must be a finite number, or None, got 'hard'"),
        ({"damping": -1.0}, "damping of 'self-contact' must be a finite number not below zero, got -1.0"),
        ({"step": 0.0}, "step of 'self-contact' must be a finite number above zero, got 0.0"),
        ({"step": None}, "step of 'self-contact' must be a finite number, got None"),
    ],
)
def test_numbers_that_are_none(wrong, words):
    with pytest.raises(ModelError, match=words):
        SelfContact(**wrong)


def test_robots_that_it_is_not_for():
    hopper = fc.robots.revolute_hopper()
    with pytest.raises(ModelError, match="no links of 'revolute_hopper' can collide; name links"):
        fc.simulate(hopper, hopper.neutral(), 0.01, SelfContact())
    with pytest.raises(ModelError, match="pairs are pairs of names of links, not 'left'"):
        fc.simulate(sliders(), sliders().neutral(), 0.01, SelfContact(pairs="left"))
    with pytest.raises(ModelError, match="there is no link 'ghost'"):
        fc.simulate(sliders(), sliders().neutral(), 0.01, SelfContact(pairs=[("left", "ghost")]))
    with pytest.raises(ModelError, match="its file excludes contact of 'left' and 'right'"):
        fc.simulate(
            shy := replace(sliders(), contact_exclusions=(("left", "right"),)), shy.neutral(), 0.01, SelfContact()
        )
    model = sliders()
    joints = tuple(replace(joint, placement=np.eye(4)) for joint in model.joints)
    with pytest.raises(ModelError, match="the shapes of 'left' and 'right' overlap where all joints are neutral"):
        fc.simulate(together := replace(model, joints=joints), together.neutral(), 0.01, SelfContact())
