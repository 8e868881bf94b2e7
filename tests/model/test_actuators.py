"""Drives of joints: what they say, what they give, what is refused."""

from dataclasses import replace

import numpy as np
import pytest

import fallingcat as fc

mujoco = pytest.importorskip("mujoco")

MJCF = """
<mujoco model="r">
  <default>
    <motor ctrlrange="-2 2"/>
    <default class="strong"><position kp="30" forcerange="-40 40"/><general gear="3"/></default>
  </default>
  <worldbody><body name="a"><freejoint/><geom size=".1" mass="1"/>
    <body name="b" pos="1 0 0"><joint name="hip" axis="0 1 0"/><geom size=".1" mass="1"/>
      <body name="c" pos="1 0 0"><joint name="leg" type="slide"/><geom size=".1" mass="1"/>
        <body name="d" pos="1 0 0"><joint name="ball" type="ball"/><geom size=".1" mass="1"/></body></body></body>
  </body></worldbody>
  <actuator>
    <motor name="direct" joint="hip" gear="50" forcerange="-1.5 1.5"/>
    <position joint="leg" class="strong" kv="2"/>
    <velocity name="speed" joint="hip" class="strong" kv="4" ctrllimited="false"/>
    <position name="plain" joint="hip" forcerange="-.5 .25"/>
    <general name="odd" joint="hip"/>
    <motor name="on ball" joint="ball" gear="1 0 0"/>
    <position name="slow" joint="hip" timeconst=".1"/>
  </actuator>
</mujoco>
"""
KEPT = ("direct", "leg_position", "speed", "plain")


@pytest.fixture
def model(tmp_path):
    (tmp_path / "r.xml").write_text(MJCF)
    with pytest.warns(fc.FileWarning) as caught:
        model = fc.load(tmp_path / "r.xml")
    said = "\n".join(str(each.message) for each in caught)
    assert "actuators are data of the model: no function here applies them (4 times in the file)" in said
    assert "checked and not kept: <actuator> (2)" in said
    assert "this kind of <motor> is not read" in said
    return model


def test_actuators_of_mjcf_pull_as_in_mujoco(model):
    peer = mujoco.MjModel.from_xml_string(MJCF)
    data, rng = mujoco.MjData(peer), np.random.default_rng(0)
    assert tuple(actuator.name for actuator in model.actuators) == KEPT
    for _ in range(20):
        state = model.random_state(rng)
        data.qpos[:], data.qvel[:] = model.to_mujoco(state)
        data.ctrl[:] = 3.0 * rng.normal(size=peer.nu)
        mujoco.mj_forward(peer, data)
        for i, actuator in enumerate(model.actuators):
            k = model.joint_index(actuator.joint)
            q, rate = state.joints[model.q_slices[k]][0], state.rates[model.v_slices[k]][0]
            theirs = data.actuator_force[i] * peer.actuator_gear[i, 0]
            np.testing.assert_allclose(actuator.effort(data.ctrl[i], q, rate), theirs, rtol=1e-12, atol=1e-12)


def test_servos_that_take_their_gains_from_general_defaults_are_not_read(tmp_path):
    """MuJoCo's <position> has the gain 77 here, not 1."""
    text = MJCF.replace('<general gear="3"/>', '<general gear="3" gainprm="77"/>')
    (tmp_path / "r.xml").write_text(text)
    with pytest.warns(fc.FileWarning, match="this kind of <(position|velocity)> is not read"):
        model = fc.load(tmp_path / "r.xml")
    assert {actuator.name for actuator in model.actuators} == {"direct", "plain"}


def test_toml_gives_them_back(model, tmp_path):
    fc.save(model, tmp_path / "r.toml")
    assert fc.load(tmp_path / "r.toml", physics="warn").actuators == model.actuators
    with pytest.raises(fc.ModelError, match=r"'r' has actuators.*\.toml"):
        fc.save(replace(model, joints=tuple(j for j in model.joints)), tmp_path / "r.urdf")


def test_they_leave_with_a_joint_that_is_welded(model):
    assert {actuator.joint for actuator in model.lock(["hip"]).actuators} == {"leg"}
    assert model.reroot("b").actuators == model.actuators


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kind": "muscle"}, "'m' is one of motor, position, velocity"),
        ({"gear": np.inf}, "gear of actuator 'm' is a finite number"),
        ({"kp": "stiff"}, "kp of actuator 'm' is a finite number"),
        ({"force_range": (1.0, -1.0)}, "force_range of actuator 'm' begins at 1, above its end -1"),
        ({"control_range": 1.0}, "control_range of actuator 'm' is two numbers"),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(fc.ModelError, match=message):
        fc.Actuator("m", "knee", **given)


def test_a_model_knows_what_its_actuators_drive():
    cat = fc.robots.cat()
    with pytest.raises(fc.ModelError, match="actuator 'm' drives the joint 'wing', which does not exist"):
        replace(cat, actuators=(fc.Actuator("m", "wing"),))
    with pytest.raises(fc.ModelError, match="2 actuators are called 'm'"):
        replace(cat, actuators=(fc.Actuator("m", cat.joint_names[0]),) * 2)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('joint = "wing"', "drives the joint 'wing', which does not exist"),
        ('joint = "j"\nforce_range = [1, -1]', "force_range of actuator 'm' begins at 1"),
        ('joint = "j"\ntype = "muscle"', "actuator.*type"),
        ('joint = "j"\ngear = inf', "gear"),
    ],
)
def test_tables_that_are_refused(tmp_path, table, message):
    links = "".join(f'[[link]]\nname = "{x}"\nmass = 1\ninertia = [1, 1, 1]\n' for x in "ab")
    joint = '[[joint]]\nname = "j"\ntype = "revolute"\nparent = "a"\nchild = "b"\n'
    (tmp_path / "r.toml").write_text(f'base = "free"\n{links}{joint}[[actuator]]\nname = "m"\n{table}\n')
    with pytest.raises(fc.FileError, match=message):
        fc.load(tmp_path / "r.toml")
