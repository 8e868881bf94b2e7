"""States that a model keeps by name, and the one in which it starts."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.model import Keyframe, combine, rigid_object, robots
from fallingcat.model.shapes import Box


@pytest.fixture
def cat():
    cat = robots.cat()
    state = cat.random_state(np.random.default_rng(3))
    return cat.start_at(state).add_keyframes(home=state), state


def same(state, other):
    assert all(np.array_equal(a, b) for a, b in zip(state, other, strict=True))


def test_what_is_left_out_is_where_the_robot_starts(cat):
    model, state = cat
    same(model.neutral(), model.state(state.pose, state.joints))
    same(model.state(twist=np.ones(6)), model.state(state.pose, state.joints, np.ones(6)))
    placed = model.state(position=[1.0, 2.0, 3.0])
    assert np.allclose(placed.pose[:3, :3], state.pose[:3, :3], atol=1e-15)
    assert placed.pose[:3, 3].tolist() == [1.0, 2.0, 3.0]
    assert model.state(rpy=[0.0, 0.0, 0.0]).pose[:3, 3].tolist() == state.pose[:3, 3].tolist()
    same(robots.cat().neutral(), robots.cat().state(np.eye(4), np.zeros(10), np.zeros(6), np.zeros(10)))


def test_a_start_beyond_a_stop_is_at_the_stop():
    limits = fc.model.Limits(0.2, 0.5)
    arm = robots.planar_arm()
    arm = replace(arm, joints=tuple(replace(joint, limits=limits) for joint in arm.joints))
    assert arm.neutral().joints.tolist() == [0.2] * 3
    assert arm.start_at(arm.state(joints=[0.3, 0.6, 0.0])).neutral().joints.tolist() == [0.3, 0.5, 0.2]


def test_edits_of_the_tree_keep_states(cat):
    model, state = cat
    same(model.keyframes["home"], state)
    same(pickle.loads(pickle.dumps(model)).keyframes["home"], state)
    link = model.link_names[4]
    other = model.reroot(link)
    H = np.asarray(fc.forward_kinematics(model, state)[link])
    assert np.allclose(other.neutral().pose, H, atol=1e-14)
    assert np.allclose(other.keyframes["home"].twist, fc.jacobian(model, state, link) @ state.velocity, atol=1e-13)
    for name in model.link_names:
        pose = fc.forward_kinematics(other, other.keyframes["home"])[name]
        assert np.allclose(pose, fc.forward_kinematics(model, state)[name], atol=1e-14)
    first = model.joint_names[0]
    locked = model.lock([first])
    assert np.array_equal(locked.keyframes["home"].joints, np.delete(state.joints, model.q_slices[0]))
    assert np.allclose(locked.joints[0].placement, model.joints[0].transform(state.joints[model.q_slices[0]]))
    assert np.array_equal(locked.merge_fixed().neutral().joints, locked.neutral().joints)
    planar = replace(model, base=fc.lie.SE2())  # whose poses the start is none of
    assert np.array_equal(planar.neutral().pose, np.eye(4))


def test_parts_of_a_scene_start_where_they_are_placed(cat):
    model, state = cat
    cube = rigid_object(Box((0.1, 0.1, 0.1)), mass=1.0)
    turned = np.eye(4)
    turned[:3, :3] = fc.lie.rotations.about(np.array([0.0, 0.0, 1.0]), 0.5)
    scene = combine({"cat": model, "cube": cube, "other": cube}, {"cube": [0.1, 0.2, 0.3], "other": turned})
    poses = fc.forward_kinematics(scene, scene.neutral())
    assert np.allclose(poses["cat"], state.pose, atol=1e-15)
    assert np.allclose(poses["other"], turned, atol=1e-15)
    assert scene.neutral().joints[scene.q_slices[scene.joint_index("cube")]].tolist() == [0.1, 0.2, 0.3, 0, 0, 0, 1]
    at = scene.keyframes["cat/home"]
    assert np.array_equal(at.rates[: model.nv], state.velocity)
    assert np.array_equal(at.joints[7 : 7 + 10], state.joints)


def test_wrong_keyframes_are_refused(cat):
    model, state = cat
    with pytest.raises(fc.ModelError, match="2 keyframes are called 'home'"):
        replace(model, named_states=model.named_states * 2)
    with pytest.raises(fc.ModelError, match="start is a Keyframe"):
        replace(model, start=state)
    with pytest.raises(fc.ModelError, match="one state of plain numbers"):
        model.add_keyframes(many=model.random_state(np.random.default_rng(0), 3))
    with pytest.raises(fc.ModelError, match="the name of a keyframe"):
        Keyframe("")
    with pytest.raises(fc.ModelError, match="'b' is none"):
        combine({"a": model}, {"b": [0, 0, 0]})
