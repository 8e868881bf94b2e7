"""One definition of how well the books of a run balance."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.control import JointDamper, JointSpring
from fallingcat.planning import drop
from fallingcat.simulation import DiagnosticKind, Ledger, MomentumMidpoint, StatusCode

CAT = fc.robots.two_cylinder_cat()
START = CAT.state(joints=[0.4, 0.3], twist=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6], rates=[1.0, -0.5])


def no_ports(count):
    return Ledger((), np.zeros((count, 0)), np.zeros((count, 0)))


@pytest.mark.parametrize("gravity", [0.0, -9.81])
def test_a_lossless_run_without_ports_balances(gravity):
    """It was 1: the drift divided by itself."""
    cat = replace(CAT, gravity=np.array([0.0, 0.0, gravity]))
    run = fc.simulate(cat, START, 0.2, integrator="rkmk4")
    assert run.ledger.ports == ()
    assert 0.0 <= run.energy_residual < 1e-11


@pytest.mark.parametrize("height", [0.0, 1e3])
def test_where_potential_energy_is_zero_does_not_matter(height):
    runs = []
    for z in (0.0, height):
        pose = np.eye(4)
        pose[2, 3] = z
        start, laws = START._replace(pose=pose), [JointSpring(0.3), JointDamper(0.01)]
        runs.append(fc.simulate(CAT, start, 0.2, laws, dt=5e-3, integrator=MomentumMidpoint()))
    low, high = (run.energy_residual for run in runs)
    assert low > 1e-8  # there is something to compare
    assert high == pytest.approx(low, rel=1e-2)


@pytest.mark.parametrize("gravity", [0.0, -9.81])
def test_a_robot_at_rest_has_none(gravity):
    body = replace(fc.robots.free_body(), gravity=np.array([0.0, 0.0, gravity]))
    hard = fc.contact.HardContacts((body.link_names[0],))
    run = fc.simulate(body, body.neutral(), 0.1, contact=hard)
    assert np.abs(run.twists).max() < 1e-12
    assert run.energy_residual == 0.0
    assert fc.simulate(body, body.neutral(), 0.0).energy_residual == 0.0


def test_energy_that_nothing_accounts_for_is_found_in_full():
    T, V = np.array([1.0, 2.0, 2.0]), np.array([3.0, 2.0, 1.0])
    assert no_ports(3).residual(T, V) == 0.5  # 1 J gone, 2 J moved
    works = np.array([[0.0, 0.0], [2.0, -2.0], [2.0, -3.0]])
    assert Ledger(("a", "b"), 0.0 * works, works).residual(T, V) == 0.0
    assert Ledger(("a", "b"), works, works).residual(T, V) == pytest.approx(1.0 / 12.0)
    assert no_ports(2).residual(np.zeros(2), np.array([1.0, 2.0])) == np.inf


def test_a_residual_grows_with_what_is_taken_from_the_ledger():
    run = fc.simulate(CAT, START, 0.2, [JointSpring(0.3), JointDamper(0.05)], integrator="rkmk4")
    kinetic, potential = run.energies()
    assert run.energy_residual < 1e-10
    loss = 1e-3 * kinetic.max()
    gone = potential - loss * run.times / run.times[-1]
    size = (kinetic + np.abs(run.ledger.works).sum(axis=1)).max()
    assert run.ledger.residual(kinetic, gone) == pytest.approx(loss / size, rel=1e-6)


def test_a_drop_has_the_same_definition():
    fall = drop(dt=2e-3)
    assert fall.energy_residual == fall.trajectory.energy_residual
    kinetic, potential = fall.trajectory.energies()
    gap = np.abs(kinetic + potential - kinetic[0] - potential[0] - fall.work).max()
    assert fall.energy_residual == pytest.approx(gap / (kinetic + np.abs(fall.work)).max(), rel=1e-9)


@pytest.mark.parametrize(("dt", "balanced"), [(1e-2, False), (5e-4, True)])
def test_a_run_whose_energy_balance_is_violated_says_so(dt, balanced):
    """A stiff floor under a method that does not look at its errors: it was 'finished' like any other."""
    body = fc.robots.free_body()
    pose = np.eye(4)
    pose[2, 3] = 0.05
    floor = fc.contact.CompliantFloor((body.link_names[0],), (1e5, 1e5), (0.0, 0.0), friction=None)
    run = fc.simulate(body, body.state(pose=pose), 0.5, contact=floor, integrator="rkmk4", dt=dt)
    assert run.times[-1] == pytest.approx(0.5)
    assert (run.energy_residual < 0.05) == balanced
    wrong = "finished, but the energy balance is violated: energy residual 0.37; springs and dampers move at up to "
    words = wrong + "224 rad/s, too fast for steps of 0.01 s; take at most 0.002 s, or an implicit integrator"
    assert run.status == ("finished" if balanced else words)
    assert run.code is StatusCode.FINISHED
    assert [found.kind for found in run.warnings] == ([] if balanced else [DiagnosticKind.ENERGY_BALANCE])
    assert all(found.value > found.limit for found in run.warnings)


MANY = """
import gc, os
import fallingcat as fc
cat = fc.robots.two_cylinder_cat()
start = cat.state(rates=[1.0, 0.5])
def resident(runs):
    for _ in range(runs):
        fc.simulate(cat, start, 0.002).energies()
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
first = resident(150)
print(resident(300) - first)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from Linux's /proc")
def test_many_runs_leave_nothing_in_memory():
    """They left 73 KB each: 22 MB."""
    many = subprocess.run([sys.executable, "-c", MANY], check=True, capture_output=True, text=True)
    assert int(many.stdout) < 5e6
