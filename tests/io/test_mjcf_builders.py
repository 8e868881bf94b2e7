"""Elements of MJCF that make or change bodies: copies, attached frames, what is left out on request."""

import numpy as np
import pytest

import fallingcat as fc
from tests.support.mujoco_beside import loaded, mujoco

FLEX = '<flexcomp name="cloth" type="grid" count="3 3 1" spacing=".1 .1 .1" radius=".01"/>'
BALL = '<body name="b" pos=".3 0 0"><joint name="j" axis="0 1 0"/><geom name="g" size=".1" pos=".1 0 0"/>{}</body>'


def same_as_mujoco(model, peer):
    """Mass matrices are equal at a random state, and links have the names of bodies."""
    data = mujoco.MjData(peer)
    data.qpos[:] = np.random.default_rng(0).normal(size=peer.nq)
    mujoco.mj_forward(peer, data)
    M = np.zeros((peer.nv, peer.nv))
    mujoco.mj_fullM(peer, *((M, data.qM) if hasattr(data, "qM") else (data, M)))
    np.testing.assert_allclose(fc.mass_matrix(model, model.from_mujoco(data.qpos)), M, atol=1e-12)
    assert model.joint_names == tuple(peer.joint(i).name for i in range(peer.njnt))


@pytest.mark.parametrize("count", [2, 10, 11])
def test_copies_are_those_of_mujoco(tmp_path, count):
    arm = BALL.format("<replicate count='2' sep='_' euler='10 0 0'><body name='c'><joint name='k'/>"
                      "<geom size='.05' pos='0 .1 0'/></body></replicate>")  # fmt: skip
    text = f"<replicate count='{count}' offset='.5 .1 0' euler='0 20 30' sep='-'>{arm}</replicate>"
    model, peer, _ = loaded(tmp_path, f"<mujoco><worldbody>{text}</worldbody></mujoco>")
    same_as_mujoco(model, peer)


@pytest.mark.parametrize("wrong", ["count='-1'", "count='1000000'", "count='2' turn='1'", ""])
def test_wrong_copies_are_refused(tmp_path, wrong):
    with pytest.raises(fc.FileError, match="<replicate>"):
        loaded(tmp_path, f"<mujoco><worldbody><replicate {wrong}>{BALL.format('')}</replicate></worldbody></mujoco>")


def test_flexible_bodies_are_left_out_on_request(tmp_path):
    text = f"<mujoco><worldbody>{BALL.format('')}{FLEX}</worldbody></mujoco>"
    refused = r'a <flexcomp> makes a body that bends, and is not read .*faults="warn": it is left out'
    with pytest.raises(fc.FileError, match=refused):
        loaded(tmp_path, text)
    model, _, said = loaded(tmp_path, text, faults="warn")
    assert model.joint_names == ("j",)
    assert "it is left out" in said[0]


def test_frames_of_free_bodies_stay_on_request(tmp_path):
    body = "<body name='b'><freejoint/><geom size='.1' pos='.3 0 0'/></body>"
    text = f"<mujoco><compiler alignfree='true'/><worldbody>{body}</worldbody></mujoco>"
    with pytest.raises(fc.FileError, match=r'alignfree.*faults="warn": frames stay where they are'):
        loaded(tmp_path, text)
    assert loaded(tmp_path, text, faults="warn")[0].links[0].body.center[0] == pytest.approx(0.3)


def test_a_frame_of_another_model_is_attached(tmp_path):
    (tmp_path / "hand.xml").write_text(
        f"<mujoco><worldbody><frame name='f' pos='0 0 .2' euler='90 0 0'>{BALL.format('')}</frame>"
        "<body name='other'><joint/><geom size='.1'/></body></worldbody></mujoco>"
    )
    asset = "<asset><model name='hand' file='hand.xml'/></asset>"
    arm = "<body name='a'><joint name='i'/><geom size='.1'/><frame pos='1 0 0'>{}</frame></body>"
    attach = "<attach model='hand' frame='f' prefix='left_'/>"
    model, peer, _ = loaded(tmp_path, f"<mujoco>{asset}<worldbody>{arm.format(attach)}</worldbody></mujoco>")
    same_as_mujoco(model, peer)
    wrong = arm.format(attach.replace("'f'", "'g'"))
    with pytest.raises(fc.FileError, match="has no frame 'g'"):
        loaded(tmp_path, f"<mujoco>{asset}<worldbody>{wrong}</worldbody></mujoco>")


@pytest.mark.parametrize("words", ["range=''", "range='1 1'", "range='-1 1' limited='false'"])
def test_a_range_without_room_is_no_limit(tmp_path, words):
    body = f"<body name='b'><joint name='j' {words}/><geom size='.1' pos='.3 0 0'/></body>"
    model, peer, _ = loaded(tmp_path, f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    assert not peer.jnt_limited[0]
    assert model.limits[0].lower == -np.inf


def test_files_may_end_in_mjcf(tmp_path):
    (tmp_path / "r.mjcf").write_text(f"<mujoco><worldbody>{BALL.format('')}</worldbody></mujoco>")
    assert fc.load(tmp_path / "r.mjcf").joint_names == ("j",)


def test_what_refers_to_a_copy_is_copied(tmp_path):
    """Tendons through sites of copies, their actuators, sensors and excluded pairs: one for each copy."""
    arm = BALL.format("<site name='s' pos='.2 0 .1'/>")
    text = f"""<mujoco><worldbody><site name="top" pos="0 0 1"/><body name="a"><joint name="i"/><geom size=".1"/></body>
    <replicate count="2" offset="0 1 0"><replicate count="3" offset="1 0 0" sep="-" prefix="x">{arm}</replicate>
    </replicate></worldbody>
    <contact><exclude body1="a" body2="b"/></contact>
    <tendon><spatial name="cord" stiffness="3"><site site="top"/><site site="s"/></spatial>
    <fixed name="alone"><joint joint="i" coef="2"/></fixed></tendon>
    <actuator><motor name="m" tendon="cord"/><motor name="n" joint="i"/></actuator>
    <sensor><framepos objtype="site" objname="s"/><jointpos joint="j"/></sensor></mujoco>"""
    model, peer, _ = loaded(tmp_path, text)
    same_as_mujoco(model, peer)
    assert sorted(t.name for t in model.tendons) == sorted(peer.tendon(i).name for i in range(peer.ntendon))
    assert sorted(a.name for a in model.actuators) == sorted(peer.actuator(i).name for i in range(peer.nu))
    assert len(model.contact_exclusions) == peer.nexclude == 6


def test_copies_of_attached_models_and_parts_of_the_model_itself(tmp_path):
    (tmp_path / "hand.xml").write_text(f"<mujoco model='Hand'><worldbody>{BALL.format('')}</worldbody></mujoco>")
    frame = "<frame name='f' pos='0 0 .2'><body name='d'><joint name='l'/><geom size='.2' pos='.1 0 0'/></body></frame>"
    text = f"""<mujoco><asset><model file="hand.xml"/></asset><worldbody><frame pos="1 0 0">{frame}</frame>
    <replicate count="2" offset="0 1 0"><replicate count="2" offset="1 0 0" sep="-">
    <attach model="Hand" body="b" prefix="_"/></replicate></replicate>
    <frame euler="0 40 0"><attach frame="f" prefix="second_"/></frame></worldbody></mujoco>"""
    same_as_mujoco(*loaded(tmp_path, text)[:2])


@pytest.mark.filterwarnings("ignore::fallingcat.io.FileWarning")
def test_damping_of_free_bodies_acts_in_scenes_and_is_written(tmp_path):
    """MuJoCo damps all six velocities; the base of a robot alone has no damping here, which is said."""
    inside = "<joint type='free' damping='.3'/><geom type='box' size='.1 .2 .3'/>"
    cube = f"<body name='c' pos='0 1 2' euler='0 0 30'>{inside}</body>"
    text = f"<mujoco><worldbody>{cube}{BALL.format('')}</worldbody></mujoco>"
    model, peer, _ = loaded(tmp_path, text, root="world")
    assert [joint.passive.damping for joint in model.joints] == [0.3, 0.0]
    data = mujoco.MjData(peer)
    peer.opt.timestep, peer.opt.integrator = 1e-4, mujoco.mjtIntegrator.mjINT_RK4
    peer.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    data.qvel[:] = [1.0, 2.0, 3.0, 0.4, 0.5, 0.6, 0.7]
    run = fc.simulate(model, model.from_mujoco(data.qpos, data.qvel), 0.1)
    for _ in range(1000):
        mujoco.mj_step(peer, data)
    end = model.from_mujoco(data.qpos, data.qvel)
    assert np.abs(model.configuration.difference(run.state(-1), end)).max() < 1e-6
    fc.save(model, tmp_path / "again.xml")
    again = fc.load(tmp_path / "again.xml", root="world")
    assert again.joints[0].passive.damping == 0.3
    np.testing.assert_allclose(again.neutral().joints, model.neutral().joints, atol=1e-15)  # drawn where it starts
    assert fc.from_mujoco_model(peer).joints[0].passive.damping == 0.3
    assert any("damping of a free base" in said for said in loaded(tmp_path, text, root="c")[2])


def test_lengths_of_muscles_end_at_the_limits_of_their_tendons(tmp_path):
    text = """<mujoco><worldbody><site name="hook" pos="0 0 .2"/><body pos="0 0 .1"><joint type="slide" axis="0 0 1"/>
    <geom size=".01" mass="1"/><site name="load"/></body></worldbody><tendon><spatial name="t" range="0.075 0.105">
    <site site="hook"/><site site="load"/></spatial></tendon><actuator><muscle tendon="t"/></actuator></mujoco>"""
    model, peer, _ = loaded(tmp_path, text)
    assert model.actuators[0].muscle.lengths == (0.075, 0.105)
    np.testing.assert_allclose(peer.actuator_lengthrange[0], (0.075, 0.105), atol=1e-3)  # its limits are soft
