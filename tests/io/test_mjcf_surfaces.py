"""Contact parameters of geoms, pairs and planes beside those of MuJoCo's contacts."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest

import fallingcat as fc
from fallingcat.geometry.body_touch import body_touches
from fallingcat.geometry.surfaces import ground_frictions
from fallingcat.io import read
from fallingcat.model import Surface

BALL = '<mujoco><worldbody><body><freejoint/><geom size="1" {}/></body></worldbody></mujoco>'


def drawn_file(rng):
    """A body of eight balls in a plane with random contact parameters, and pairs of some of them with the plane."""

    def given():
        friction, dimensions, priority = rng.choice([0.2, 0.5, 1.5]), rng.choice([1, 3, 4, 6]), rng.integers(3)
        margin = rng.choice([0.0, 0.01])
        return f'friction="{friction} .1 .1" condim="{dimensions}" priority="{priority}" margin="{margin}"'

    hidden = ['contype="0" conaffinity="0"' if rng.random() < 0.3 else "" for _ in range(8)]
    balls = "".join(f'<geom name="g{i}" size=".1" pos="{i} 0 0" {given()} {hidden[i]}/>' for i in range(8))
    paired = [i for i in range(8) if rng.random() < 0.4]
    pairs = "".join(f'<pair geom1="floor" geom2="g{i}" condim="{rng.choice([1, 3])}" class="p"/>' for i in paired)
    return f"""<mujoco><default><default class="p"><pair friction="0.7 0.7"/></default></default><worldbody>
    <geom name="floor" type="plane" size="9 9 1" {given()}/>
    <body name="b"><freejoint/>{balls}</body></worldbody><contact>{pairs}</contact></mujoco>"""


@pytest.mark.parametrize("seed", range(12))
def test_parameters_are_those_of_contacts_of_mujoco(tmp_path, seed):
    text = drawn_file(np.random.default_rng(seed))
    peer = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(peer)
    mujoco.mj_forward(peer, data)
    theirs = {}
    for contact in data.contact:
        x = float(peer.geom_pos[max(contact.geom), 0])
        theirs[x] = (0.0 if contact.dim == 1 else contact.friction[0], 0.1 + contact.includemargin)
    (tmp_path / "balls.xml").write_text(text)
    model, _ = read(tmp_path / "balls.xml")
    placed, points, radii = fc.contact.collision_points(model)
    frictions = ground_frictions(placed, points)
    pairs = zip(points, zip(frictions, radii, strict=True), strict=True)
    ours = {placed.frame(p).placement[0, 3]: pair for p, pair in pairs}
    assert ours.keys() == theirs.keys()
    for x, pair in theirs.items():
        np.testing.assert_allclose(ours[x], pair, atol=1e-12)


@pytest.mark.parametrize("suffix", ["toml", "xml"])
def test_surfaces_are_saved(tmp_path, suffix):
    text = drawn_file(np.random.default_rng(1))
    (tmp_path / "balls.xml").write_text(text)
    model, _ = read(tmp_path / "balls.xml")
    if suffix == "xml":
        with pytest.warns(fc.io.FileWarning, match="surface of the ground"):
            fc.save(model, tmp_path / "again.xml")
    else:
        fc.save(model, tmp_path / "again.toml")
    again, _ = read(tmp_path / f"again.{suffix}")
    kept = [shape.surface for shape in model.links[0].collisions]
    if suffix == "xml":  # a plane is no part of a robot
        kept = [replace(each, name="", pairs=(), paired_only=False) for each in kept if not each.paired_only]
        assert [each.surface for each in again.links[0].collisions] == kept
    else:
        assert again.ground == model.ground
        assert [each.surface for each in again.links[0].collisions] == kept


def test_pairs_of_bodies_are_saved(tmp_path):
    text = """<mujoco><worldbody><body name="a"><freejoint/><geom name="x" size=".1"/></body>
    <body name="b" pos="1 0 0"><freejoint/><geom name="y" size=".1" contype="0" conaffinity="0"/></body></worldbody>
    <contact><pair geom1="x" geom2="y" friction=".3 .3" condim="1"/></contact></mujoco>"""
    (tmp_path / "two.xml").write_text(text)
    model, _ = read(tmp_path / "two.xml", root="world")
    fc.save(model, tmp_path / "again.xml")
    peer = mujoco.MjModel.from_xml_path(str(tmp_path / "again.xml"))
    assert peer.npair == 1
    assert (peer.pair_dim[0], peer.pair_friction[0, 0]) == (1, 0.3)
    again, _ = read(tmp_path / "again.xml", root="world")
    for one in (model, again):
        (pair,) = fc.contact.body_pairs(one)
        assert {pair.first, pair.second} == {"a", "b"}


def test_a_pair_touches_though_its_bodies_are_excluded(tmp_path):
    text = """<mujoco><worldbody><body name="a"><freejoint/><geom name="x" size=".1"/></body>
    <body name="b" pos="1 0 0"><freejoint/><geom name="y" size=".1"/></body></worldbody>
    <contact>{}<exclude body1="a" body2="b"/></contact></mujoco>"""
    for pair, apart in (("", (("a", "b"),)), ('<pair geom1="x" geom2="y"/>', ())):
        (tmp_path / "two.xml").write_text(text.format(pair))
        assert read(tmp_path / "two.xml", root="world")[0].contact_exclusions == apart


PAIR_OF_BALLS = """<mujoco><option timestep="1e-4" gravity="0 0 0" integrator="RK4"/>
<default><geom size=".1" mass="1" condim="1" solref="-4e3 -40" solimp="1e-4 1e-4 1"/></default><worldbody>
<body name="a"><freejoint/><geom margin="0.004" gap="0.5"/></body>
<body name="b" pos=".23 0 0"><freejoint/><geom margin="0.006"/></body></worldbody></mujoco>"""


def test_margins_of_bodies_are_those_of_contacts_of_mujoco(tmp_path):
    rng = np.random.default_rng(3)
    for number in range(6):
        margins = rng.choice([0.0, 0.01, 0.02], 4)
        kinds = 'size=".1"', 'type="capsule" size=".1 .2"', 'type="box" size=".1 .2 .3"', 'size=".05"'
        bodies = "".join(
            f'<body name="b{i}" pos="{0.3 * i} 0 0" euler="{30 * i} 20 0"><freejoint/>'
            f'<geom {kind} margin="{margin}" gap="10"/></body>'  # a gap lists contacts without forces too
            for i, (kind, margin) in enumerate(zip(kinds, margins, strict=True))
        )
        (file := tmp_path / f"{number}.xml").write_text(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
        peer = mujoco.MjModel.from_xml_path(str(file))
        data = mujoco.MjData(peer)
        mujoco.mj_forward(peer, data)
        theirs: dict = {}
        for contact in data.contact:
            pair = tuple(sorted(f"b{peer.geom_bodyid[k] - 1}" for k in contact.geom))
            theirs[pair] = min(theirs.get(pair, 9.0), contact.dist - contact.includemargin)
        model, _ = read(file, root="world")
        pairs = fc.contact.body_pairs(model)
        for pair, touch in zip(pairs, body_touches(model, model.neutral(), pairs), strict=True):
            name = tuple(sorted((pair.first, pair.second)))
            assert min(touch.heights) == pytest.approx(theirs.pop(name), abs=1e-9)
        assert not theirs


def test_balls_bounce_at_their_margin_as_in_mujoco(tmp_path):
    (file := tmp_path / "balls.xml").write_text(PAIR_OF_BALLS)
    peer = mujoco.MjModel.from_xml_path(str(file))
    peer.geom_solref[:] *= peer.body_invweight0[1:, :1] * 2.0  # per unit of the mobility of the pair
    data = mujoco.MjData(peer)
    data.qvel[0] = 1.0
    mujoco.mj_step(peer, data, 600)
    assert data.qvel[6] > 0.6  # the other one moves
    model, _ = read(file, root="world")
    rates = np.zeros(12)
    rates[0] = 1.0
    touch = fc.contact.CompliantBodies(fc.contact.body_pairs(model), stiffness=4e3, damping=40.0, friction=0.0)
    run = fc.simulate(model, model.state(rates=rates), 0.06, contact=touch, dt=1e-4)
    assert abs(run.state(-1).rates[[0, 6]] - data.qvel[[0, 6]]).max() < 1e-3
    assert abs(run.state(-1).joints[[0, 7]] - data.qpos[[0, 7]]).max() < 1e-5


def test_rigid_bodies_rest_at_their_margin(tmp_path):
    text = """<mujoco><worldbody><body name="table"><geom type="box" size="1 1 .5" margin=".01"/></body>
    <body name="cube" pos="0 0 .62"><freejoint/><geom type="box" size=".1 .1 .1" margin=".005"/></body>
    </worldbody></mujoco>"""
    (file := tmp_path / "cube.xml").write_text(text)
    model, _ = read(file, root="world")
    touch = fc.contact.BodyContacts(fc.contact.body_pairs(model))
    run = fc.simulate(model, model.neutral(), 0.2, contact=touch)
    assert run.state(-1).joints[2] == pytest.approx(0.615, abs=1e-5)
    low = model.state(joints=[0.0, 0.0, 0.61, 0.0, 0.0, 0.0, 1.0])
    with pytest.raises(fc.errors.ModelError, match="nearer than their margin"):
        fc.simulate(model, low, 0.1, contact=touch)


@pytest.mark.parametrize("given", ['friction="-1"', 'condim="2"', 'priority="0.5"'])
def test_wrong_parameters_are_refused(tmp_path, given):
    (tmp_path / "b.xml").write_text(BALL.format(given))
    with pytest.raises(fc.errors.FileError, match=given.split("=")[0]):
        read(tmp_path / "b.xml")


@pytest.mark.parametrize(
    "wrong", [{"friction": -1.0}, {"margin": np.inf}, {"dimensions": 2}, {"priority": 0.5}, {"pairs": ("floor",)}]
)
def test_surfaces_check_their_numbers(wrong):
    with pytest.raises(fc.errors.ModelError, match=r"surface|contact force"):
        Surface(**wrong)


@pytest.mark.parametrize("floor", [fc.contact.CompliantFloor, fc.contact.HardContacts])
def test_friction_of_each_point_is_checked(floor):
    assert floor(("a", "b"), friction=(0.2, 0.3)).friction == (0.2, 0.3)
    for wrong in ((0.2,), (0.2, -0.3), (0.2, None), "rough"):
        with pytest.raises(fc.errors.ModelError, match="friction of"):
            floor(("a", "b"), friction=wrong)
