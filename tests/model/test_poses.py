"""Poses of the base by position and quaternion, or roll, pitch and yaw."""

import jax
import numpy as np
import pytest

import fallingcat as fc
from fallingcat.lie.rotations import exp

DOG = fc.robots.quadruped()
RNG = np.random.default_rng(0)


def turned(axis, angle):
    return exp(angle * np.eye(3)[axis])


def test_angles_are_those_of_urdf():
    roll, pitch, yaw = angles = RNG.normal(size=3)
    state = DOG.state(position=[1.0, 2.0, 3.0], rpy=angles)
    np.testing.assert_allclose(state.pose[:3, :3], turned(2, yaw) @ turned(1, pitch) @ turned(0, roll), atol=1e-15)
    assert state.pose[:, 3].tolist() == [1.0, 2.0, 3.0, 1.0]


def test_a_quaternion_is_that_of_flat_vectors():
    state = DOG.random_state(RNG)
    q, _ = DOG.flatten(state)
    found = DOG.state(position=q[:3], quaternion=q[3:7], joints=q[7:])
    np.testing.assert_allclose(found.pose, state.pose, atol=1e-15)


def test_what_is_left_out_is_neutral():
    np.testing.assert_array_equal(DOG.state(position=np.zeros(3)).pose, np.eye(4))
    np.testing.assert_array_equal(DOG.state(rpy=np.zeros(3)).pose, np.eye(4))
    np.testing.assert_array_equal(DOG.state(quaternion=[0, 0, 0, 1]).pose, np.eye(4))


@pytest.mark.parametrize("turn", ["rpy", "quaternion"])
def test_many_at_once_are_those_one_by_one(turn):
    positions = RNG.normal(size=(5, 3))
    turns = RNG.normal(size=(5, 3)) if turn == "rpy" else DOG.random(RNG, 5)[:, 3:7]
    many = DOG.state(position=positions, **{turn: turns})
    for i in range(5):
        np.testing.assert_allclose(
            many.at(i).pose, DOG.state(position=positions[i], **{turn: turns[i]}).pose, atol=1e-15
        )
    assert DOG.state(position=[0.0, 0.0, 1.0], **{turn: turns}).pose.shape == (5, 4, 4)


def test_jax_differentiates_through_angles():
    slope = jax.jacobian(lambda x: DOG.state(rpy=x).pose)(np.zeros(3))
    np.testing.assert_allclose(slope[:3, :3, 2], [[0, -1, 0], [1, 0, 0], [0, 0, 0]], atol=1e-6)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"pose": np.eye(4), "rpy": [0, 0, 0]}, "leave out position, quaternion and rpy"),
        ({"quaternion": [0, 0, 0, 1], "rpy": [0, 0, 0]}, "give one of them"),
        ({"position": [0, 0]}, r"position must have shape \(3,\), got \(2,\)"),
        ({"quaternion": [0, 0, 0, 2]}, "has length 2, not 1"),
        ({"rpy": [0, 0, np.nan]}, "rpy holds a number that is not finite"),
    ],
)
def test_what_is_no_pose_is_refused(given, words):
    with pytest.raises(fc.ModelError, match=words):
        DOG.state(**given)


def test_a_planar_base_stays_in_its_plane():
    hopper = fc.robots.revolute_hopper()
    assert hopper.state(position=[0.1, 0.2, 0.0], rpy=[0, 0, 0.3]).pose[1, 3] == 0.2
    with pytest.raises(fc.ModelError, match="no element of the base group"):
        hopper.state(rpy=[0.3, 0, 0])
