"""Batches whose arrays stay on the device: the same robots as in a BatchSimulator, on the CPU and on a GPU."""

import sys

import numpy as np
import pytest
from emulated_gpu import emulated

import fallingcat as fc
from fallingcat.simulation import Implicit
from fallingcat.simulation.batch.resident_batch import ResidentBatch

ROBOT = fc.robots.quadruped()
FEET = tuple(frame.name for frame in ROBOT.frames)
FLOOR = fc.contact.CompliantFloor(FEET, friction=0.8)
POSTURE = np.tile([0.0, 0.6, -1.2], 4)
SERVO = fc.control.PositionServo(kp=60.0, kd=1.5, targets=POSTURE)


def bank(count, seed=0):
    rng, here = np.random.default_rng(seed), ROBOT.standing(FLOOR, POSTURE)
    pose = np.tile(here.pose, (count, 1, 1))
    pose[:, 2, 3] += rng.uniform(0.0, 0.02, count)
    joints = here.joints + 0.1 * rng.standard_normal((count, 12))
    return fc.State(pose, joints, 0.1 * rng.standard_normal((count, 6)), rng.standard_normal((count, 12)))


def parameters(count, seed=1):
    rng = np.random.default_rng(seed)
    return {"trunk.mass": rng.uniform(8.0, 12.0, count), "friction": rng.uniform(0.4, 1.2, count)}


def test_steps_are_those_of_a_batch_simulator():
    starts, own = bank(3), parameters(3)
    batch = ResidentBatch(ROBOT, 3, starts, [SERVO], FLOOR, dt=2e-3, parameters=own)
    other = fc.BatchSimulator(ROBOT, starts, [SERVO], FLOOR, dt=2e-3, parameters=own, integrator=Implicit(sweeps=1))
    targets = POSTURE + 0.1 * np.random.default_rng(2).standard_normal((3, 12))
    for _ in range(5):
        batch.step(10, targets=targets)
        other.step(10, targets=targets)
    assert np.array_equal(batch.rows[:, 1:-3], other._x[:, 1:-3])
    assert np.allclose(batch.times, 0.1)


def test_restarted_robots_have_states_and_parameters_of_the_bank():
    starts, own = bank(4), parameters(4)
    batch = ResidentBatch(ROBOT, 6, starts, [SERVO], FLOOR, dt=2e-3, parameters=own)
    fresh = ResidentBatch(ROBOT, 6, fc.State(*(x[[3] * 6] for x in starts)), [SERVO], FLOOR, dt=2e-3,
                          parameters={name: x[[3] * 6] for name, x in own.items()})  # fmt: skip
    batch.step(10)
    left = batch.rows[0].copy()
    which = np.array([False, True, False, False, True, False])
    batch.restart(which, np.full(6, 3))
    assert np.array_equal(batch.rows[0], left)
    batch.step(20)
    fresh.step(20)
    assert np.array_equal(batch.rows[which], fresh.rows[which])
    assert not np.array_equal(batch.rows[~which], fresh.rows[~which])


def test_points_have_places_velocities_and_forces_of_the_contact():
    starts = bank(2)
    batch = ResidentBatch(ROBOT, 2, starts, [SERVO], FLOOR, dt=2e-3)
    batch.step(100)
    feet = batch.points_of()[:, :36].reshape(2, 3, 4, 3)
    state = batch.simulator.state
    for robot in range(2):
        here = fc.State(*(x[robot] for x in state))
        for k, name in enumerate(FEET):
            assert np.allclose(feet[robot, 0, k], fc.contact.position(ROBOT, here, name), atol=1e-12)
            J = fc.contact.point_jacobian(ROBOT, here, name)
            assert np.allclose(feet[robot, 1, k], J @ here.velocity, atol=1e-12)
            assert (feet[robot, 2, k, 2] > 0.0) == (feet[robot, 0, k, 2] < 0.0)
    batch.step(5000)  # at rest the feet carry the weight
    carried = batch.points_of()[:, :36].reshape(2, 3, 4, 3)[:, 2, :, 2].sum(axis=1)
    assert np.allclose(carried, 9.81 * ROBOT.mass, rtol=1e-3)


def test_a_kick_changes_the_velocity_of_the_base():
    batch = ResidentBatch(ROBOT, 2, bank(2), [SERVO], FLOOR)
    before = batch.part("twist").copy()
    batch.kick(np.array([[1.0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]]))
    assert np.allclose(batch.part("twist") - before, [[1.0, 0, 0, 0, 0, 0], [0] * 6])


def test_a_bank_without_states_is_refused():
    with pytest.raises(fc.ModelError, match="at least one state"):
        ResidentBatch(ROBOT, 2, fc.State(*(x[:0] for x in bank(1))), [SERVO], FLOOR)


@pytest.mark.slow
def test_a_gpu_counts_the_same(monkeypatch, tmp_path):
    """On an emulated one: layout in columns, restarts by a mask, inputs and parameters where they are."""
    monkeypatch.setitem(sys.modules, "cupy", emulated(tmp_path))
    cupy = sys.modules["cupy"]
    starts, own = bank(4), parameters(4)
    about = {"dt": 2e-3, "parameters": own}
    here = ResidentBatch(ROBOT, 5, starts, [SERVO], FLOOR, **about)
    there = ResidentBatch(ROBOT, 5, starts, [SERVO], FLOOR, target="cuda", **about)
    targets = POSTURE + 0.1 * np.random.default_rng(2).standard_normal((5, 12))
    kick = 0.3 * np.random.default_rng(3).standard_normal((5, 6))
    for batch, send in ((here, np.asarray), (there, cupy.asarray)):
        batch.step(10, targets=send(targets))
        batch.restart(send(np.array([True, False, False, True, False])), send(np.array([3, 0, 0, 1, 2])))
        batch.kick(send(kick))
        batch.step(5, targets=send(targets))
    assert np.allclose(here.rows, np.asarray(there.rows), atol=1e-9)
    assert np.allclose(here.points_of(), np.asarray(there.points_of()), atol=1e-6)
    assert np.allclose(here.bank_points(np.array([1, 2])), np.asarray(there.bank_points(np.array([1, 2]))), atol=1e-6)
