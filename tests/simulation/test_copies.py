"""Copies of simulators move by themselves: what is done to one is not done to the other."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.model import robots
from fallingcat.simulation import BatchSimulator

MODEL = robots.quadruped()
FLOOR = fc.contact.CompliantFloor(tuple(frame.name for frame in MODEL.frames), friction=0.8)
SERVO = fc.control.PositionServo(kp=60.0, kd=1.5)
START = MODEL.state(position=[0.0, 0.0, 0.36], joints=np.tile([0.0, 0.6, -1.2], 4))
HOW = [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]


def single():
    return fc.Simulator(MODEL, FLOOR, SERVO, dt=1e-3, state=START)


def batch(count):
    return BatchSimulator(MODEL, [START] * count, SERVO, FLOOR, dt=1e-3)


def moved(simulator, targets):
    """Where the robot is after six steps, each of them a call."""
    simulator.set(targets=targets)
    for _ in range(6):
        simulator.step()
    return np.array(simulator.state.pose), np.array(simulator.state.joints)


@pytest.mark.parametrize("again", HOW, ids=["copy", "deepcopy", "pickle"])
@pytest.mark.parametrize(
    "make", [single, lambda: batch(1), lambda: batch(3)], ids=["single", "batch of 1", "batch of 3"]
)
def test_copies_move_by_themselves(make, again):
    """A deep copy of a simulator of one robot stayed where it was, and a copy moved the original."""
    here, there = 0.5 * np.ones(MODEL.n), START.joints
    one = make()
    moved(one, here)
    two = again(one)
    pose, joints = np.array(one.state.pose), np.array(one.state.joints)
    np.testing.assert_array_equal(two.state.joints, joints)
    first = moved(two, there)
    np.testing.assert_array_equal(one.state.pose, pose)
    np.testing.assert_array_equal(one.state.joints, joints)
    second = moved(one, here)
    assert not np.array_equal(first[1], joints)
    assert not np.array_equal(first[1], second[1])
    expected = make()
    moved(expected, here)
    for x, y in zip(first, moved(expected, there), strict=True):
        np.testing.assert_array_equal(x, y)


def test_a_copy_of_a_simulator_keeps_its_time_and_starts_anew_by_itself():
    one = single()
    moved(one, START.joints)
    two = copy.deepcopy(one)
    assert two.time == one.time == 0.006
    two.reset(START)
    assert (two.time, one.time) == (0.0, 0.006)
    assert copy.copy(one).model is MODEL
