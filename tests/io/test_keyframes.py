"""``<key>`` elements and drawn poses of MJCF as states; keyframes and start of TOML."""

import mujoco
import numpy as np
import pytest

import fallingcat as fc
from fallingcat.io import read

SCENE = """<mujoco><compiler angle="radian"/><worldbody>
<body name="a" pos="1 2 3" quat="1 1 0 0"><freejoint name="f"/><geom type="box" size=".1 .1 .1"/></body>
<body name="b" pos="0 0 1"><joint name="hinge" ref="0.3" axis="0 1 0"/><geom type="sphere" size=".1" pos=".3 0 0"/>
<body pos=".3 0 0"><joint name="ball" type="ball"/><geom size=".1"/></body>
<body pos=".5 0 0"><joint name="slide" type="slide" ref="-0.2" range="0 1"/><geom size=".1"/></body></body></worldbody>
<keyframe><key name="home" qpos="1 2 3 0 2 0 0 0.5 1 0 0 1 0.1" qvel="1 2 3 4 5 6 7 8 9 10 11"/>
<key qpos="1 0 0 0 0 0 0 0 0 0 0 0 0"/><key name="still" time="1"/></keyframe></mujoco>"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "scene.xml"
    path.write_text(SCENE)
    return path


def test_a_scene_starts_where_mujoco_does(file):
    model, peer = fc.load(file, root="world"), mujoco.MjModel.from_xml_string(SCENE)
    expected = np.array(peer.qpos0)
    expected[-1] = 0.0  # the slide is drawn 0.2 m beyond its stop
    assert np.allclose(model.to_mujoco(model.neutral())[0], expected, atol=1e-15)
    assert np.allclose(read(file, root="b")[0].neutral().joints, model.neutral().joints[7:])
    assert np.allclose(read(file, root="a")[0].neutral().pose[:3, 3], [1.0, 2.0, 3.0])


def test_keyframes_are_those_of_mujoco(file):
    peer = mujoco.MjModel.from_xml_string(SCENE)
    for model in fc.load(file, root="world"), fc.from_mujoco_model(peer, root="world"):
        assert list(model.keyframes) == ["home", "key1", "still"]
        for i, state in enumerate(model.keyframes.values()):
            qpos, qvel = model.to_mujoco(state)
            beyond = i == 2  # a key without qpos: where it starts, here at the stop
            assert np.allclose(qpos[:-1], peer.key_qpos[i, :-1], atol=1e-15)
            assert beyond or qpos[-1] == peer.key_qpos[i, -1]
            assert np.allclose(qvel, peer.key_qvel[i], atol=1e-15)


def test_a_key_of_one_robot_of_several(file):
    with pytest.warns(fc.FileWarning):
        model = fc.load(file, root="a")
    home = model.keyframes["home"]
    assert np.allclose(model.to_mujoco(home)[0], [1, 2, 3, 0, 1, 0, 0])
    assert np.allclose(model.to_mujoco(home)[1], [1, 2, 3, 4, 5, 6])


def test_a_key_that_does_not_fit_is_left_out_with_a_warning(file):
    file.write_text(SCENE.replace('qpos="1 0 0 0 0 0 0 0 0 0 0 0 0"', 'name="short" qpos="1 2"'))
    model, warnings = read(file, root="world")
    assert list(model.keyframes) == ["home", "still"]
    assert "<key name='short'>: a <key> that does not fit the robot, with 13 numbers in 'qpos'" in "\n".join(warnings)


def test_toml_keeps_start_and_keyframes(file, tmp_path):
    for model in fc.load(file, root="world"), fc.robots.cat():
        rng = np.random.default_rng(0)
        model = model.start_at(model.random_state(rng)).add_keyframes(**{"a b/c.d": model.random_state(rng)})
        fc.save(model, tmp_path / "kept.toml")
        again = fc.load(tmp_path / "kept.toml")
        assert np.allclose(again.neutral().pose, model.neutral().pose, atol=1e-15)
        assert np.array_equal(again.neutral().joints, model.neutral().joints)
        assert again.keyframes.keys() == model.keyframes.keys()
        for name, state in model.keyframes.items():
            assert all(np.allclose(a, b, atol=1e-15) for a, b in zip(again.keyframes[name], state, strict=True))


def test_states_of_toml_that_are_wrong(tmp_path):
    path = tmp_path / "arm.toml"
    fc.save(fc.robots.planar_arm(), path)
    text = path.read_text()
    start = text.index("\n\n[[link]]")
    path.write_text(text[:start] + "\nstart.joints = { joint1 = 0.5, jiont2 = 1 }" + text[start:])
    with pytest.raises(fc.FileError, match="start: the joint 'jiont2' does not exist; do you mean 'joint2'"):
        fc.load(path)
    path.write_text(text + "\n[[keyframe]]\nname = 'bent'\njoints = { joint1 = [1, 2] }\n")
    with pytest.raises(fc.FileError, match=r"\[\[keyframe\]\] 'bent': joint 'joint1' has 1 numbers"):
        fc.load(path)
    path.write_text(text + "\n[[keyframe]]\nname = 'bent'\njoints = { joint1 = 1 }\n")
    assert fc.load(path).keyframes["bent"].joints.tolist() == [1.0, 0.0, 0.0]
