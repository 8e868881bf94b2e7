"""Drives of joints: what they say, what they give, what is refused."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import fallingcat as fc

mujoco = pytest.importorskip("mujoco")

MJCF = """
<mujoco model="r">
  <default>
    <default class="free"/>
    <default class="plain"><motor ctrlrange="-2 2"/></default>
    <default class="strong"><position kp="30" forcerange="-40 40"/><general gear="3"/></default>
  </default>
  <worldbody><body name="a"><freejoint/><geom size=".1" mass="1"/>
    <body name="b" pos="1 0 0"><joint name="hip" axis="0 1 0" range="-60 80"/><geom size=".1" mass="1"/>
      <body name="c" pos="1 0 0"><joint name="leg" type="slide"/><geom size=".1" mass="1"/>
        <body name="d" pos="1 0 0"><joint name="ball" type="ball"/><geom size=".1" mass="1"/></body></body></body>
  </body></worldbody>
  <tendon><fixed name="rope"><joint joint="hip" coef="1"/></fixed></tendon>
  <actuator>
    <motor name="direct" class="plain" joint="hip" gear="50" forcerange="-1.5 1.5"/>
    <position joint="leg" class="strong" kv="2"/>
    <velocity name="speed" joint="hip" class="strong" kv="4" ctrllimited="false"/>
    <position name="plain" joint="hip" forcerange="-.5 .25"/>
    <general name="odd" joint="hip"/>
    <general name="affine" joint="leg" gear="-2" gainprm="7 8" biastype="affine" biasprm=".1 -2 -.3" ctrlrange="-1 .5"/>
    <position name="whole range" joint="hip" kp="3" inheritrange=".5" class="free"/>
    <position name="ratio" joint="hip" kp="1" dampratio="1"/>
    <general name="ratio too" joint="leg" gear="3" gainprm="5" biastype="affine" biasprm="0 -5 0.7"/>
    <motor name="on ball" joint="ball" gear="1 0 0"/>
    <position name="slow" joint="hip" timeconst=".1"/>
    <general name="late" joint="hip" dyntype="filter" dynprm=".1"/>
    <motor name="on a tendon" tendon="rope"/>
  </actuator>
</mujoco>
"""
KEPT = (
    "direct",
    "leg_position",
    "speed",
    "plain",
    "odd",
    "affine",
    "whole range",
    "ratio",
    "ratio too",
    "slow",
    "late",
)


@pytest.fixture
def model(tmp_path):
    (tmp_path / "r.xml").write_text(MJCF)
    with pytest.warns(fc.FileWarning) as caught:
        model = fc.load(tmp_path / "r.xml")
    said = "\n".join(str(each.message) for each in caught)
    assert "actuators are off unless a law commands them, such as fc.control.Actuators (12 times in the file)" in said
    assert "> on a joint of type 'spherical' is not read" in said
    return model


def test_actuators_of_mjcf_pull_as_in_mujoco(model):
    peer = mujoco.MjModel.from_xml_string(MJCF)
    data, rng = mujoco.MjData(peer), np.random.default_rng(0)
    assert tuple(actuator.name for actuator in model.actuators) == (*KEPT, "on a tendon")
    for _ in range(20):
        state = model.random_state(rng)
        data.qpos[:], data.qvel[:] = model.to_mujoco(state)
        data.ctrl[:] = 3.0 * rng.normal(size=peer.nu)
        data.act[:] = rng.normal(size=peer.na)
        mujoco.mj_forward(peer, data)
        for actuator in model.actuators[:-1]:
            i = peer.actuator(actuator.name).id if actuator.name != "leg_position" else 1
            signal = data.ctrl[i] if actuator.activation is None else data.act[peer.actuator_actadr[i]]
            k = model.joint_index(actuator.joint)
            q, rate = state.joints[model.q_slices[k]][0], state.rates[model.v_slices[k]][0]
            theirs = data.actuator_force[i] * peer.actuator_gear[i, 0]
            np.testing.assert_allclose(actuator.effort(signal, q, rate), theirs, rtol=1e-12, atol=1e-12)


def test_servos_that_take_their_gains_from_general_defaults_are_not_read(tmp_path):
    """MuJoCo's <position> has the gain 77 here, not 1; other releases have other rules."""
    text = MJCF.replace('<general gear="3"/>', '<general gear="3" gainprm="77"/>').replace('kv="4"', "")
    (tmp_path / "r.xml").write_text(text)
    with pytest.warns(fc.FileWarning, match="<velocity> with gains of a class that is for other actuators is not read"):
        model = fc.load(tmp_path / "r.xml")
    assert {actuator.name for actuator in model.actuators} == {*KEPT, "on a tendon"} - {"speed", "leg_position"}


@pytest.mark.parametrize("wrong", ['dampratio="-1"', 'dampratio="1" kv="2"'])
def test_a_wrong_damping_ratio_is_named(tmp_path, wrong):
    (tmp_path / "r.xml").write_text(MJCF.replace('dampratio="1"', wrong))
    with pytest.raises(fc.FileError, match=r"<position name='ratio'>: 'dampratio' is not negative, and stands without"):
        fc.load(tmp_path / "r.xml")


TAGS = ("general", "motor", "position", "velocity")
ROBOT = """<mujoco><compiler angle="radian"/>
<default>{}<default class="a">{}<default class="b">{}</default></default><default class="c">{}</default></default>
<worldbody><body name="t"><freejoint/><geom size=".1"/>
<body><joint name="hip" axis="0 1 0" range="-1 2"/><geom size=".1"/>
<body pos="1 0 0"><joint name="leg" type="slide" range="-.3 .1"/><geom size=".1"/></body></body></body></worldbody>
<actuator>{}</actuator></mujoco>"""


def an_actuator(rng, tag, more=""):
    """An element with some of its attributes, and random numbers."""
    found = {}
    for what in ("ctrl", "force"):
        if rng.random() < 0.4:
            lower = rng.normal()
            found[f"{what}range"] = f"{lower:.3g} {lower + rng.uniform(0.1, 3.0):.3g}"
            found[f"{what}limited"] = rng.choice(["true", "false", "auto"])
    keys = {"general": ("gear", "gainprm", "biasprm"), "position": ("gear", "kp", "kv"), "velocity": ("gear", "kv")}
    for key in keys.get(tag, ("gear",)):
        if rng.random() < 0.5:
            size = 1 if key in ("kp", "kv") else rng.integers(1, 4)
            found[key] = " ".join(f"{x:.3g}" for x in rng.uniform(0.1, 9.0, size=size))
    words = {"biastype": ["none", "affine"], "gaintype": ["fixed", "fixed", "affine"], "dyntype": ["none", "filter"]}
    for key, choices in words.items() if tag == "general" else ():
        if rng.random() < 0.4:
            found[key] = rng.choice(choices)
    return f"<{tag} {more} " + " ".join(f'{key}="{x}"' for key, x in found.items()) + "/>"


@pytest.mark.parametrize("seed", range(40))
def test_what_is_kept_of_classes_within_classes_is_what_mujoco_makes_of_them(tmp_path, seed):
    rng = np.random.default_rng(seed)
    classes = ["".join(an_actuator(rng, tag) for tag in rng.permutation(TAGS)[: rng.integers(3)]) for _ in range(4)]
    joints, homes = rng.choice(["hip", "leg"], size=12), rng.choice(["main", "a", "b", "c"], size=12)
    wanted = [f'name="x{i}" joint="{joints[i]}" class="{homes[i]}"' for i in range(12)]
    text = ROBOT.format(*classes, "".join(an_actuator(rng, rng.choice(TAGS), more) for more in wanted))
    (tmp_path / "r.xml").write_text(text)
    peer = mujoco.MjModel.from_xml_string(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fc.FileWarning)
        ours, theirs = fc.load(tmp_path / "r.xml"), fc.from_mujoco_model(peer)
    made = {actuator.name: actuator for actuator in theirs.actuators}
    assert len(ours.actuators) >= 4
    assert [actuator for actuator in ours.actuators if made[actuator.name] != actuator] == []


def test_actuators_of_a_model_in_memory(model):
    peer = mujoco.MjModel.from_xml_string(MJCF)
    with pytest.warns(fc.FileWarning, match="no drives by gain and bias .* are not read"):
        found = fc.from_mujoco_model(peer).actuators
    ratio = next(actuator for actuator in found if actuator.name == "ratio")  # MuJoCo made a kv of it
    assert ratio.kv == pytest.approx(-peer.actuator("ratio").biasprm[2])
    named = {actuator.name: actuator for actuator in model.actuators}
    rounded = [replace(a, kv=float(f"{a.kv:.12g}")) for a in found if a.name in named]
    assert rounded == [replace(a, kv=float(f"{a.kv:.12g}")) for a in model.actuators if a.name != "leg_position"]
    assert replace(named["leg_position"], name="leg_actuator") in found


def test_toml_gives_them_back(model, tmp_path):
    fc.save(model, tmp_path / "r.toml")
    assert fc.load(tmp_path / "r.toml").actuators == model.actuators
    with pytest.warns(fc.FileWarning, match="URDF has no tendons: left out"):
        fc.save(model, tmp_path / "r.urdf")
    with pytest.warns(fc.FileWarning, match="does not say what is driven"):
        fc.save(model, tmp_path / "r.xml")
    with pytest.warns(fc.FileWarning, match="actuators are off"):
        assert tuple(each.name for each in fc.load(tmp_path / "r.xml").actuators) == (*KEPT, "on a tendon")


def test_they_leave_with_a_joint_that_is_welded(model):
    assert {actuator.joint for actuator in model.lock(["hip"]).actuators} == {"leg"}
    assert model.reroot("b").actuators == model.actuators


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kind": "brake"}, "'m' is one of motor, position, velocity, general, muscle"),
        ({"kind": "muscle"}, "'m' is a muscle where it has the curves of one"),
        ({"kind": "general", "bias": (1.0, 2.0)}, "bias of actuator 'm' is three numbers"),
        ({"kind": "general", "bias": (1.0, 2.0, np.inf)}, "bias of actuator 'm' is three finite numbers"),
        ({"kind": "general", "gain": np.nan}, "gain of actuator 'm' is a finite number"),
        ({"kind": "motor", "gain": 2.0}, "'m' is a motor: a gain and a bias are those of a general one"),
        ({"gear": np.inf}, "gear of actuator 'm' is a finite number"),
        ({"kp": "stiff"}, "kp of actuator 'm' is a finite number"),
        ({"force_range": (1.0, -1.0)}, "force_range of actuator 'm' begins at 1, above its end -1"),
        ({"control_range": 1.0}, "control_range of actuator 'm' is two numbers"),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(fc.ModelError, match=message):
        fc.model.Actuator("m", "knee", **given)


def test_a_model_knows_what_its_actuators_drive():
    cat = fc.robots.cat()
    with pytest.raises(fc.ModelError, match="actuator 'm' drives the joint 'wing', which does not exist"):
        replace(cat, actuators=(fc.model.Actuator("m", "wing"),))
    with pytest.raises(fc.ModelError, match="2 actuators are called 'm'"):
        replace(cat, actuators=(fc.model.Actuator("m", cat.joint_names[0]),) * 2)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('joint = "wing"', "drives the joint 'wing', which does not exist"),
        ('joint = "j"\nforce_range = [1, -1]', "force_range of actuator 'm' begins at 1"),
        ('joint = "j"\ntype = "brake"', "actuator.*type"),
        ('joint = "j"\ngear = inf', "gear"),
    ],
)
def test_tables_that_are_refused(tmp_path, table, message):
    links = "".join(f'[[link]]\nname = "{x}"\nmass = 1\ninertia = [1, 1, 1]\n' for x in "ab")
    joint = '[[joint]]\nname = "j"\ntype = "revolute"\nparent = "a"\nchild = "b"\n'
    (tmp_path / "r.toml").write_text(f'base = "free"\n{links}{joint}[[actuator]]\nname = "m"\n{table}\n')
    with pytest.raises(fc.FileError, match=message):
        fc.load(tmp_path / "r.toml")


@pytest.mark.parametrize("given", ["", 'kp="7"', 'kv="3"', 'kp="7" kv="3"'])
@pytest.mark.parametrize(
    "general",
    ['gainprm="400" biasprm="0 -200 -100"', 'gainprm="400"', 'biasprm="0 -200 -100"', 'biastype="affine" gainprm="30"'],
)
def test_servos_take_the_plain_gains_of_a_general_class_as_in_mujoco(tmp_path, general, given):
    mujoco = pytest.importorskip("mujoco")
    text = f"""<mujoco><default><general {general}/></default><worldbody><body><joint name="j"/><geom size=".1"/></body>
    </worldbody><actuator><position joint="j" {given}/></actuator></mujoco>"""
    peer = mujoco.MjModel.from_xml_string(text)
    (tmp_path / "servo.xml").write_text(text)
    with pytest.warns(fc.FileWarning, match="actuators are off"):
        (servo,) = fc.load(tmp_path / "servo.xml").actuators
    assert (servo.kp, servo.kv) == (peer.actuator_gainprm[0, 0], -peer.actuator_biasprm[0, 2])
