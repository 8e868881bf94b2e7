"""Robots thrown on a hard floor: they come to rest, and never gain energy."""

from itertools import product

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.contact import HardContacts, corners
from fallingcat.lie import SE2, SE3
from fallingcat.simulation import DiagnosticKind, StatusCode
from fallingcat.simulation.problem.compiled_dynamics import energies

SQUARE = [(x, y) for x, y in product((0.15, -0.15), (0.1, -0.1))]
CUBE = [(x, y, z) for x, y, z in product((0.15, -0.15), (0.1, -0.1), (0.05, -0.05))]
TRUNK = [(x, y, z) for x, y, z in product((0.25, -0.25), (0.125, -0.125), (0.06, -0.06))]
SLAB = fc.Body(2.0, np.zeros(3), np.diag([1.0 / 120.0, 1.0 / 60.0, 13.0 / 600.0]))
TILE = corners(fc.robots.free_body(SE2()), "body", SQUARE)
BOX = corners(fc.robots.free_body(body=SLAB), "body", CUBE)


def quadruped():
    """Limp, with its feet, knees and the corners of its trunk as points."""
    dog = fc.robots.quadruped()
    feet, knees = (f.name for f in dog.frames), (name for name in dog.link_names if name.endswith("shank"))
    model, trunk = corners(dog, "trunk", TRUNK)
    return model, (*feet, *knees, *trunk)


DOG = quadruped()


def thrown(model, points, seed, height=0.1):
    """A random attitude, shape and velocity, the lowest point at ``height``."""
    rng = np.random.default_rng(seed)
    H = SE3().exp(np.concatenate([np.zeros(3), model.base.selection[3:] @ rng.normal(size=model.m)]))
    twist = rng.normal(size=model.m)
    state = model.state(pose=H, twist=twist, joints=0.3 * rng.normal(size=model.n), rates=rng.normal(size=model.n))
    up = -model.gravity / np.linalg.norm(model.gravity)
    low = min(up @ fc.link_pose(model, state, p)[:3, 3] for p in points)
    H[:3, 3] += (height - low) * up
    return state._replace(pose=H)


def floor_of(points, seed):
    """Frictions from 0 to 1.5 and restitutions from 0 to 0.9, all pairs in 20 seeds."""
    return HardContacts(points, friction=(0.0, 0.3, 0.6, 1.0, 1.5)[seed % 5], restitution=0.3 * (seed // 5 % 4))


def growth(run):
    """The largest gain of mechanical energy over an earlier moment, relative to all that was lost."""
    energy = sum(energies(run.model)(run.poses, run.joints, run.twists, run.rates, run.lag))
    return float((energy - np.minimum.accumulate(energy)).max() / np.ptp(energy))


def rests(run):
    return fc.kinetic_energy(run.model, run.state(-1)) < 1e-9


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("friction", "restitution"), [(0.0, 0.0), (0.0, 0.6), (0.3, 0.0), (0.8, 0.3), (1.5, 0.5)])
def test_planar_boxes_come_to_rest_by_located_events(friction, restitution, seed):
    model, points = TILE
    floor = HardContacts(points, friction=friction, restitution=restitution)
    about = {"contact": floor, "dt": 2e-3, "passive": False, "integrator": "rkmk4"}
    run = fc.simulate(model, thrown(model, points, seed), 2.5, **about)
    assert run.status == "finished"
    assert len(run.events) <= 200
    assert growth(run) < 1e-6
    assert rests(run) or not friction


def fallen(robot, seed, duration, laws=None):
    model, points = robot
    start, floor = thrown(model, points, seed), floor_of(points, seed)
    return fc.simulate(model, start, duration, laws, floor, dt=2e-3, passive=False)


def checked(run):
    """Finished, and a gain, as of limp legs that whirl in steps of 2 ms, is reported; contacts give none."""
    assert (run.code, run.integrator) == (StatusCode.FINISHED, "moreau")
    kinds = {warning.kind for warning in run.warnings}
    assert DiagnosticKind.CONTACT_ENERGY not in kinds
    assert growth(run) < 1e-2 or DiagnosticKind.ENERGY_BALANCE in kinds


@pytest.mark.parametrize("seed", [2, 8, 16, 18])
def test_boxes_come_to_rest(seed):
    """Bounces beside friction (16 and 18: restitution 0.9) gave 4 and 12 % of the energy that was lost."""
    run = fallen(BOX, seed, 1.0)
    checked(run)
    assert rests(run) or run.problem.contact.restitution > 0.5


@pytest.mark.parametrize("seed", [0, 17])
def test_limp_quadrupeds_fall_on_the_floor(seed):
    run = fallen(DOG, seed, 0.4)
    checked(run)
    assert len(run.events) > 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100))
def test_a_hundred_boxes(seed):
    run = fallen(BOX, seed, 2.5 if seed // 5 % 4 < 3 else 12.0)
    checked(run)
    assert rests(run) or not run.problem.contact.friction


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100))
def test_a_hundred_quadrupeds(seed):
    """Sixteen points that slide, jam and bounce."""
    checked(fallen(DOG, seed, 1.5))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_damped_quadrupeds_come_to_rest(seed):
    """With dampers in the joints, since limp legs swing for ever; all pairs of friction and restitution."""
    run = fallen(DOG, seed, 8.0, fc.control.JointDamper(0.1))
    checked(run)
    if run.problem.contact.friction:
        assert rests(run)
