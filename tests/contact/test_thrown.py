"""Robots thrown on a hard floor: they come to rest, in few events, and never gain energy."""

from itertools import product

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.contact import HardContacts, corners
from fallingcat.lie import SE2, SE3

SQUARE = [(x, y) for x, y in product((0.15, -0.15), (0.1, -0.1))]
CUBE = [(x, y, z) for x, y, z in product((0.15, -0.15), (0.1, -0.1), (0.05, -0.05))]
SLAB = fc.Body(2.0, np.zeros(3), np.diag([1.0 / 120.0, 1.0 / 60.0, 13.0 / 600.0]))
TILE = corners(fc.robots.free_body(SE2()), "body", SQUARE)
BOX = corners(fc.robots.free_body(body=SLAB), "body", CUBE)


def thrown(model, points, seed, height=0.1):
    """A random attitude and velocity, the lowest point at ``height``."""
    rng = np.random.default_rng(seed)
    H = SE3().exp(np.concatenate([np.zeros(3), model.base.selection[3:] @ rng.normal(size=model.m)]))
    state = model.state(pose=H, twist=rng.normal(size=model.m))
    up = -model.gravity / np.linalg.norm(model.gravity)
    low = min(up @ fc.link_pose(model, state, p)[:3, 3] for p in points)
    H[:3, 3] += (height - low) * up
    return state._replace(pose=H)


def checked(run, most):
    """Finished, in at most so many events, without energy from nowhere; all points at rest unless it slides on."""
    energy = sum(run.energies())
    assert run.status == "finished"
    assert len(run.events) <= most
    assert np.diff(energy).max() < 1e-6 * np.ptp(energy)
    if run.system.contact.friction:
        assert fc.kinetic_energy(run.model, run.state(-1)) < 1e-12


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("friction", "restitution"), [(0.0, 0.0), (0.0, 0.6), (0.3, 0.0), (0.8, 0.3), (1.5, 0.5)])
def test_planar_boxes_come_to_rest(friction, restitution, seed):
    model, points = TILE
    floor = HardContacts(points, friction=friction, restitution=restitution)
    checked(fc.simulate(model, thrown(model, points, seed), 2.5, contact=floor, dt=2e-3), 200)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100))
def test_a_hundred_boxes(seed):
    model, points = BOX
    friction, restitution = (0.0, 0.3, 0.6, 1.0, 1.5)[seed % 5], (0.0, 0.3, 0.6, 0.9)[seed // 5 % 4]
    floor = HardContacts(points, friction=friction, restitution=restitution)
    checked(fc.simulate(model, thrown(model, points, seed), 2.5 if restitution < 0.9 else 12.0, contact=floor), 1000)
