"""Forces that MJCF files describe beside MuJoCo's own: compensated gravity, tendons, actuators of tendons and sites."""

import json
import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

import fallingcat as fc
from fallingcat.cli import app
from tests.support.mujoco_beside import converged, differences, loaded, mujoco, random_data

ARM = """
<body name="a" pos="0 0 1" {a}><joint name="j1" axis="0 1 0" springref="20"/><joint name="j1x" axis="1 0 0"/>
  <geom type="capsule" size=".05" fromto="0 0 0 .5 0 0"/><site name="s1" pos=".2 .02 .05"/>
  <site name="center" pos=".25 0 -.02"/>
  <geom name="ball" type="sphere" size=".08" pos=".25 0 -.02" mass="0"/>
  <body name="b" pos=".5 0 0" {b}><joint name="j2" axis="0 1 0"/><geom type="capsule" size=".04" fromto="0 0 0 .5 0 0"/>
    <site name="s2" pos=".3 .01 .06" euler="10 20 30"/><site name="sd" pos="0 0 .2"/><site name="in" pos=".01 0 .02"/>
    <geom name="w" type="cylinder" size=".07 .1" euler="90 0 0" mass="0"/>
    <body name="tip" pos=".5 0 0" {c}><geom type="sphere" size=".05"/><site name="end" pos="0 0 -.1"/></body>
  </body></body>"""
PLAIN = ARM.format(a="", b="", c="")
FREE = f'<body name="trunk" pos="0 0 2"><freejoint/><geom type="box" size=".2 .1 .1"/>{PLAIN}</body>'


def robot(world=PLAIN, after="", before=""):
    return f"<mujoco>{before}<worldbody><site name='anchor' pos='0 0 1.3'/>{world}</worldbody>{after}</mujoco>"


def tendon(inner, **more):
    kind = "fixed" if "coef" in inner else "spatial"
    words = " ".join(f'{key}="{value}"' for key, value in more.items())
    return f"<tendon><{kind} name='t' {words}>{inner}</{kind}></tendon>"


LINE = "<site site='anchor'/><site site='s1'/><site site='s2'/>"
SUM = "<joint joint='j1' coef='1.5'/><joint joint='j2' coef='-.6'/>"
ROUND = "<site site='s1'/><geom geom='w'{}/><site site='s2'/>"
WATER = "<option density='1000'/>"
SPRING = {"stiffness": 40, "damping": 1.5}
CASES = {
    "gravcomp": robot(ARM.format(a='gravcomp=".7"', b='gravcomp="1.2"', c='gravcomp="2"')),
    "gravcomp of all": robot(ARM.format(**dict.fromkeys("abc", 'gravcomp=".7"'))),
    "gravcomp in flight": robot(FREE.replace('name="b"', 'name="b" gravcomp=".5"')),
    "fixed": robot(after=tendon(SUM, **SPRING)),
    "fixed, slack": robot(after=tendon(SUM, springlength="-.1 .3", **SPRING)),
    "spatial": robot(after=tendon(LINE, **SPRING)),
    "spatial in flight": robot(FREE, tendon(LINE.replace("anchor", "end"), **SPRING)),
    "spatial to the world in flight": robot(FREE, tendon(LINE, **SPRING)),
    "pulley": robot(after=tendon(f"{LINE}<pulley divisor='2'/><site site='s1'/><site site='end'/>", **SPRING)),
    "cylinder": robot(after=tendon(ROUND.format(""), **SPRING)),
    "cylinder on one side": robot(after=tendon(ROUND.format(" sidesite='sd'"), **SPRING)),
    "sphere": robot(after=tendon("<site site='anchor'/><geom geom='ball'/><site site='end'/>", **SPRING)),
    "sphere on one side": robot(
        after=tendon("<site site='anchor'/><geom geom='ball' sidesite='s2'/><site site='end'/>", **SPRING)
    ),
    "ring": robot(after=tendon("<site site='s1'/><geom geom='w' sidesite='in'/><site site='end'/>", **SPRING)),
    "sphere as a ring": robot(
        after=tendon("<site site='anchor'/><geom geom='ball' sidesite='center'/><site site='end'/>", **SPRING)
    ),
    "defaults": robot(after=tendon(LINE), before="<default><tendon stiffness='7' springlength='.2'/></default>"),
    "motor of a tendon": robot(after=tendon(ROUND.format("")) + "<actuator><motor tendon='t' gear='3'/></actuator>"),
    "servo of a tendon": robot(after=tendon(SUM) + "<actuator><position tendon='t' kp='9' kv='2'/></actuator>"),
    "thruster": robot(FREE, "<actuator><motor site='s2' gear='1 2 3 .1 .2 .3' ctrlrange='-1 1'/></actuator>"),
    "slider-crank": robot(
        after="<actuator><position cranksite='end' slidersite='anchor' cranklength='3' gear='2'/></actuator>"
    ),
    "air": robot(FREE, before="<option density='1.2' viscosity='.3' wind='1 2 3'/>"),
    "water on one body": robot("<body name='a'><freejoint/><geom type='box' size='.1 .2 .3'/></body>", before=WATER),
    "water": robot(before=WATER),
    "springdamper": robot(PLAIN.replace('name="j2"', 'name="j2" springdamper=".1 .8" springref="7"')),
    "activation": robot(
        after="""<actuator><general joint="j1" dyntype="integrator" gainprm="3" actrange="-.5 .5"/>
        <general joint="j2" dyntype="filter" dynprm=".1" biastype="affine" biasprm="1 -2 -.3"/>
        <general joint="j1x" gaintype="affine" gainprm="1 -2 -3"/><intvelocity joint="j2" kp="4" actrange="-1 1"/>
        <damper joint="j1" kv="2" ctrlrange="0 1"/><position joint="j1" kp="3" timeconst=".2"/>
        <cylinder joint="j2" timeconst=".3" area=".2" bias="1 -2 -3"/></actuator>"""
    ),
    "muscle": robot(
        after=tendon(ROUND.format(""))
        + """<actuator><muscle tendon="t" lengthrange=".2 .5"/><muscle tendon="t" lengthrange=".1 .6" force="40"
        tausmooth=".3" range=".6 1.4" gear="1.1"/></actuator>"""
    ),
}


def bound(name):
    """MuJoCo finds the point in a ring to 1e-6 only."""
    return 1e-6 if "ring" in name.split() else 2e-11


@pytest.mark.parametrize("name", CASES)
def test_forces_are_those_of_mujoco(tmp_path, name):
    model, peer, said = loaded(tmp_path, CASES[name])
    assert all("actuators are off" in each for each in said)
    np.testing.assert_allclose(differences(model, peer, np.random.default_rng(0), 12), 0.0, atol=bound(name))
    assert model.tendons or model.force_elements or model.actuators or fc.control.passive(model)


@pytest.mark.parametrize("name", CASES)
def test_toml_and_memory_give_the_same_forces(tmp_path, name):
    model, peer, _ = loaded(tmp_path, CASES[name])
    fc.save(model, tmp_path / "r.toml")
    for other in (fc.load(tmp_path / "r.toml"), fc.from_mujoco_model(peer)):
        np.testing.assert_allclose(differences(other, peer, np.random.default_rng(1), 3), 0.0, atol=bound(name))


@pytest.mark.parametrize("name", CASES)
def test_files_that_are_saved_have_the_same_forces_in_mujoco(tmp_path, name):
    model = loaded(tmp_path, CASES[name])[0]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fc.save(model, tmp_path / "saved.xml")
    peer = mujoco.MjModel.from_xml_path(str(tmp_path / "saved.xml"))
    if any("left out" in str(each.message) for each in caught):  # forces on parts of links that were merged
        assert name in ("gravcomp", "gravcomp in flight", "air", "water")
        return
    np.testing.assert_allclose(differences(model, peer, np.random.default_rng(1), 3), 0.0, atol=max(1e-10, bound(name)))


def moved(model, peer, duration=0.3, **options):
    """Difference of ours and MuJoCo's coordinates after a time, from the neutral state, at constant controls."""
    data = mujoco.MjData(peer)
    data.ctrl[:] = 0.4
    laws = (fc.control.Actuators(tuple(data.ctrl)),) if model.actuators else ()
    run = fc.simulate(model, model.from_mujoco(data.qpos, data.qvel), duration, laws, **options)
    return np.abs(model.to_mujoco(run.state(-1))[0] - converged(peer, data, duration)).max()


@pytest.mark.parametrize(
    "name",
    [
        "gravcomp",
        "spatial in flight",
        pytest.param("cylinder on one side", marks=pytest.mark.slow),
        pytest.param("thruster", marks=pytest.mark.slow),
        "activation",
        pytest.param("muscle", marks=pytest.mark.slow),
    ],
)
def test_motions_are_those_of_mujoco(tmp_path, name):
    model, peer, _ = loaded(tmp_path, CASES[name])
    assert moved(model, peer) < 2e-6


def test_tendons_that_are_too_long_or_short_are_held(tmp_path):
    model, *_ = loaded(tmp_path, robot(after=tendon(LINE, range=".1 .95")))
    run = fc.simulate(model, model.neutral(), 1.0)
    lengths = [float(fc.control.tendon_lengths(model, run.state(i))["t"]) for i in range(0, len(run.times), 20)]
    assert 0.95 < max(lengths) < 0.96


def test_friction_along_a_tendon_takes_energy(tmp_path):
    model, *_ = loaded(tmp_path, robot(after=tendon(SUM, frictionloss="2")))
    run = fc.simulate(model, model.state(rates=[1.0, 0.0, 0.0]), 0.2)
    assert run.ledger.work("tendon friction")[-1] < -0.05


def test_sites_are_frames(tmp_path):
    model, peer, _ = loaded(tmp_path, robot(FREE))
    data = mujoco.MjData(peer)
    mujoco.mj_forward(peer, data)
    state = model.from_mujoco(data.qpos, data.qvel)
    for name in ("s1", "s2", "end"):
        H = fc.forward_kinematics(model, state)[name]
        np.testing.assert_allclose(H[:3, 3], data.site(name).xpos, atol=1e-15)
        np.testing.assert_allclose(H[:3, :3], data.site(name).xmat.reshape(3, 3), atol=1e-15)


def test_a_site_with_the_name_of_a_body(tmp_path):
    model, _, said = loaded(tmp_path, robot(PLAIN.replace('name="end"', 'name="b"')))
    assert model.frame("b_").link == "b"
    assert any("has an underscore behind it" in each for each in said)


def test_joints_that_are_locked_leave_the_rest_of_a_tendon(tmp_path):
    model, *_ = loaded(tmp_path, CASES["fixed"])
    locked = model.lock({"j1": 0.2})
    state = locked.state(joints={"j2": 0.7})
    whole = model.state(joints={"j1": 0.2, "j2": 0.7})
    assert fc.control.tendon_lengths(locked, state)["t"] == pytest.approx(
        fc.control.tendon_lengths(model, whole)["t"], abs=1e-15
    )


def test_parts_of_a_scene_keep_their_forces(tmp_path):
    model, *_ = loaded(tmp_path, CASES["pulley"])
    scene = fc.model.combine({"left": model, "right": model})
    rng = np.random.default_rng(0)
    q, v = rng.normal(size=(2, model.n))
    state = scene.state(joints=[*q, *q], rates=[*v, *v])
    alone = model.state(joints=q, rates=v)
    for ours, theirs in zip(fc.control.passive(scene), fc.control.passive(model), strict=True):
        once = theirs.forces(model, 0.0, alone, frozenset())
        np.testing.assert_allclose(ours.forces(scene, 0.0, state, frozenset()), [*once, *once], atol=1e-12)


@pytest.mark.parametrize("name", ["sphere on one side", "fixed, slack", "gravcomp in flight"])
def test_they_are_laws_on_every_kind_of_number(tmp_path, name):
    model, *_ = loaded(tmp_path, CASES[name])
    for law in fc.control.passive(model):
        fc.testing.check_law(law, model)


@pytest.mark.parametrize("second", ["", "tendon2='u' polycoef='.1 .5 .3'"])
def test_tendons_that_follow_each_other(tmp_path, second):
    """MuJoCo's rows of the equality, at a random state, are ours."""
    ropes = f"<fixed name='t'>{SUM}</fixed><fixed name='u'><joint joint='j1x' coef='2'/></fixed>"
    equality = f"<equality><tendon tendon1='t' {second}/></equality>"
    world = PLAIN.replace('name="j2"', 'name="j2" ref="12"')
    model, peer, _ = loaded(tmp_path, robot(world, f"<tendon>{ropes}</tendon>{equality}"), loops="close")
    data = random_data(peer, np.random.default_rng(0))
    rows = fc.constraints.equations(model, model.from_mujoco(data.qpos, data.qvel))
    np.testing.assert_allclose(rows.error, data.efc_pos[:1], atol=1e-14)
    np.testing.assert_allclose(np.ravel(rows.jacobian), data.efc_J[: peer.nv], atol=1e-14)


def test_what_is_not_read_is_named(tmp_path):
    adhesion = "<actuator><adhesion body='b' ctrlrange='0 1'/></actuator>"
    contact = PLAIN.replace('size=".05"', 'size=".05" friction="2" solref=".1 1"').replace(
        'size=".04"', 'size=".04" condim="6"'
    )
    said = loaded(tmp_path, robot(contact, adhesion))[2]
    assert any("<adhesion> of a body is not read" in each for each in said)
    assert any("'solref', 'solimp' and 'solmix' of geoms" in each and "(2 times in the file)" in each for each in said)
    assert any("torsional and rolling friction" in each for each in said)


GROUPS = """<mujoco><option actuatorgroupdisable="1 4"/>
<default><default class="p"><position group="4"/></default></default><worldbody>
<body><joint name="a" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/>
<body pos=".4 0 0"><joint name="b" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/></body></body></worldbody>
<actuator><motor name="a0" joint="a" gear="3"/><motor name="a1" joint="a" group="1"/>
<position joint="b" kp="9" class="p"/>
<velocity name="b0" joint="b" group="2" kv="2"/></actuator></mujoco>"""


def test_actuators_of_disabled_groups_are_left_out(tmp_path):
    model, peer, said = loaded(tmp_path, GROUPS)
    assert any("2 times" in line and "actuatorgroupdisable" in line for line in said)
    controls = np.array([0.7, 5.0, 6.0, 0.4])
    data = mujoco.MjData(peer)
    data.qpos[:], data.qvel[:], data.ctrl[:] = (0.3, -0.2), (0.5, 0.4), controls
    mujoco.mj_forward(peer, data)
    with pytest.warns(fc.io.FileWarning, match="left out"):
        in_memory = fc.from_mujoco_model(peer)
    for one in (model, in_memory):
        assert [actuator.name for actuator in one.actuators] == ["a0", "b0"]
        law = fc.control.Actuators(tuple(controls[[0, 3]]))
        ours = law.forces(one, 0.0, one.from_mujoco(data.qpos, data.qvel), frozenset())
        np.testing.assert_allclose(ours, data.qfrc_actuator, atol=1e-12)


@pytest.mark.parametrize("given", ['solreflimit=".01 1"', 'margin="0.01"', 'solimpfriction=".9 .9 1"'])
def test_numbers_of_the_solver_for_limits_are_warned_of(tmp_path, given):
    for text in (
        GROUPS.replace('name="a"', f'name="a" {given}'),
        robot(after=tendon(LINE, range=f'.1 .95" {given[:-1]}')),
    ):
        _, _, said = loaded(tmp_path, text)
        assert any("limits and dry friction are those that are simulated" in line for line in said)
    assert not any(
        "are simulated" in line for line in loaded(tmp_path, GROUPS.replace('name="a"', 'name="a" margin="0"'))[2]
    )


def test_a_wrong_group_is_refused(tmp_path):
    with pytest.raises(fc.errors.FileError, match="integers from 0 to 30"):
        loaded(tmp_path, GROUPS.replace('"1 4"', '"1 31"'))


def test_flags_that_switch_laws_off_are_named(tmp_path):
    text = GROUPS.replace("<option", '<option timestep="0.01"><flag limit="disable" spring="disable"/></option><option')
    _, _, said = loaded(tmp_path, text)
    assert any("does not switch off 'limit', 'spring'" in line for line in said)


@pytest.mark.parametrize("name", ["muscle", "cylinder on one side", "thruster", "air"])
def test_inspect_lists_them(tmp_path, name):
    loaded(tmp_path, CASES[name])
    answer = CliRunner().invoke(app, ["inspect", str(tmp_path / "robot.xml"), "--json"])
    assert answer.exit_code == 0
    report = json.loads(answer.stdout)
    assert report["tendons"] or report["force_elements"] or report["actuators"][0]["transmission"]["type"] == "OnSite"
