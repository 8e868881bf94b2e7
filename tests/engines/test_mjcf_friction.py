"""Contact parameters of MJCF files beside MuJoCo on the same file: sleds that brake on three runners.

Contacts of the file have a small constant impedance, so that they are exact springs and dampers (see ``mujoco_twin``),
and a large ``impratio``: a floor with the same numbers is the same law.
"""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import fallingcat as fc

K, D, D_T = 2e4, 0.5, 100.0  # N/m, N s/m along the normal and the tangents
SPEED, DURATION = (1.5, 0.3), 0.4  # m/s, s
MASS = 3.0
SOLREF = f'solref="{-K / MASS} {-D / MASS}" solimp="1e-4 1e-4 1"'
SCENE = """<mujoco><option cone="elliptic" timestep="5e-5" impratio="200" iterations="50" tolerance="0"/>
<default><geom {soft}/><pair {soft}/></default><worldbody><geom name="floor" type="plane" size="5 5 1" {plane}/>
<body name="sled" pos="0 0 .1"><freejoint/><inertial pos="0 0 .02" mass="3" diaginertia=".02 .05 .06"/>
<geom name="front" pos=".2 0 -.05" size=".05" {left}/><geom name="left" pos="-.2 .15 -.05" size=".05" {left}/>
<geom name="right" pos="-.2 -.15 -.05" size=".05" {right}/></body></worldbody>{contact}</mujoco>"""


def scene(plane, left, right, contact=""):
    """File of a sled with friction of the plane and of its runners."""
    return SCENE.format(soft=SOLREF, plane=plane, left=left, right=right, contact=contact)


def pair(runner, mu, more=""):
    return f'<pair geom1="{runner}" geom2="floor" friction="{mu} {mu}" {more}/>'


SCENES = {
    "the runners are rougher": scene('friction="0.3"', 'friction="0.6"', 'friction="0.6"'),
    "the plane is rougher": scene('friction="0.3"', 'friction="0.2"', 'friction="0.2"'),
    "priority": scene('friction="0.3"', 'friction="0.2" priority="1"', 'friction="0.2" priority="1"'),
    "the plane has priority": scene('friction="0.1" priority="2"', 'friction="0.4" priority="1"', 'friction="0.4"'),
    "without friction": scene('condim="1"', 'condim="1"', 'condim="1"'),
    "one runner without friction": scene('friction="0.3" condim="1"', 'friction="0.2"', 'condim="1"'),
    "uneven": scene('friction="0.1"', 'friction="0.2"', 'friction="0.6"'),
    "pairs": scene(
        'friction="0.3"',
        'friction="0.6"',
        'friction="0.6" contype="0" conaffinity="0"',
        f"<contact>{pair('front', 0.15)}{pair('left', 0.15)}{pair('right', 0.4)}</contact>",
    ),
    "one pair": scene("", 'friction="0.2"', "", "<contact>" + pair("right", 0.9, 'condim="1"') + "</contact>"),
}


def of_mujoco(text):
    """Coordinates at the end of MuJoCo's run."""
    model = mujoco.MjModel.from_xml_string(text)
    weight = MASS * model.body_invweight0[1, 0]  # solref is per unit of the mobility that MuJoCo estimates
    model.geom_solref[:] *= weight
    model.pair_solref[:] *= weight
    data = mujoco.MjData(model)
    data.qpos[2] -= MASS * 9.81 / (3.0 * K)
    data.qvel[:2] = SPEED
    mujoco.mj_step(model, data, round(DURATION / model.opt.timestep))
    return data.qpos.copy()


def of_ours(folder, text, contact, depth, **options):
    """Coordinates at the end of our run from the same start."""
    (folder / "sled.xml").write_text(text)
    with pytest.warns(fc.io.FileWarning, match="solref"):
        model = fc.load(folder / "sled.xml")
    start = model.from_mujoco([0.0, 0.0, 0.1 - depth, 1.0, 0.0, 0.0, 0.0], [*SPEED, 0.0, 0.0, 0.0, 0.0])
    run = fc.simulate(model, start, DURATION, contact=contact, dt=1e-4, **options)
    assert run.status == "finished"
    return model.to_mujoco(run.state(-1))[0]


FAST = ("priority", "one runner without friction", "pairs", "pair")


def fast_and_slow(names):
    """Names of scenes as parameters, of which some are of the slow suite."""
    return [pytest.param(name, marks=() if name in FAST else pytest.mark.slow) for name in names]


@pytest.mark.parametrize("name", fast_and_slow(SCENES))
def test_compliant_floors_take_the_friction_of_the_file(tmp_path, name):
    floor = fc.contact.CompliantFloor(stiffness=(K, 0.0), damping=(D, D_T))
    ours = of_ours(tmp_path, SCENES[name], floor, MASS * 9.81 / (3.0 * K))
    np.testing.assert_allclose(ours, of_mujoco(SCENES[name]), atol=3e-4)


@pytest.mark.parametrize("integrator", ["moreau", pytest.param("rkmk4", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["one runner without friction", "pairs"])
def test_hard_contacts_take_the_friction_of_the_file(tmp_path, name, integrator):
    ours = of_ours(tmp_path, SCENES[name], fc.contact.HardContacts(), 0.0, integrator=integrator)
    theirs = of_mujoco(SCENES[name])
    np.testing.assert_allclose(np.delete(ours, 2), np.delete(theirs, 2), atol=1.5e-3)  # on springs it sinks in


def test_friction_of_the_caller_wins(tmp_path):
    ours = of_ours(tmp_path, SCENES["uneven"], fc.contact.HardContacts(friction=0.4), 0.0)
    way = np.dot(SPEED, SPEED) / (2.0 * 0.4 * 9.81)
    np.testing.assert_allclose(ours[:2], way * np.array(SPEED) / np.linalg.norm(SPEED), rtol=2e-3)
    np.testing.assert_allclose(ours[3:], [1.0, 0.0, 0.0, 0.0], atol=1e-6)


def test_margins_lift_a_ball(tmp_path):
    text = """<mujoco><worldbody><geom type="plane" size="1 1 1" margin="0.01"/><body pos="0 0 0.5"><freejoint/>
    <geom size="0.1" margin="0.02"/></body></worldbody></mujoco>"""
    peer = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(peer)
    data.qpos[2] = 0.12
    mujoco.mj_forward(peer, data)
    (tmp_path / "ball.xml").write_text(text)
    model = fc.load(tmp_path / "ball.xml")
    height = model.standing(fc.contact.HardContacts()).pose[2, 3]
    assert height - 0.1 == pytest.approx(data.contact[0].includemargin, abs=1e-12)


BODIES = """<mujoco><option cone="elliptic" timestep="1e-4" impratio="100" gravity="{g} 0 -9.81"/>
<default><geom solref="-1e5 -600" solimp="0.9999 0.9999 1"/></default><worldbody>
<body name="table"><geom name="table" type="box" size="2 2 .1" friction="0.5" {table}/></body>
<body name="cube" pos="0 0 .15"><freejoint/><geom name="cube" type="box" size=".05 .05 .05" mass="1" {cube}/></body>
<body name="far" pos="0 1 .15"><freejoint/><geom type="box" size=".05 .05 .05" mass="1" friction="0.9"/></body>
</worldbody>{contact}</mujoco>"""
BETWEEN = {
    "larger": ("", 'friction="0.2"', "", 0.5),
    "priority": ("", 'friction="0.2" priority="1"', "", 0.2),
    "smooth": ('condim="1"', 'condim="1"', "", 0.0),
    "pair": ("", 'friction="0.2"', '<contact><pair geom1="cube" geom2="table" friction="0.3 0.3"/></contact>', 0.3),
}


@pytest.mark.parametrize("name", fast_and_slow(BETWEEN))
def test_bodies_take_the_friction_of_the_file(tmp_path, name):
    table, cube, contact, mu = BETWEEN[name]
    text = BODIES.format(g=6.0, table=table, cube=cube, contact=contact)
    peer = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(peer)
    mujoco.mj_step(peer, data, 3000)
    (tmp_path / "scene.xml").write_text(text)
    with pytest.warns(fc.io.FileWarning):
        model = fc.load(tmp_path / "scene.xml", root="world")
    run = fc.simulate(
        model, model.neutral(), 0.3, contact=fc.contact.BodyContacts(fc.contact.body_pairs(model)), dt=5e-4
    )
    ways = model.to_mujoco(run.state(-1))[0].reshape(2, 7)[:, 0], data.qpos.reshape(2, 7)[:, 0]
    slide = 0.5 * max(0.0, 6.0 - mu * 9.81) * 0.3**2
    np.testing.assert_allclose(ways[0], [slide, 0.0], atol=2e-3)
    np.testing.assert_allclose(ways[1], [slide, 0.0], atol=2e-3)


@pytest.mark.parametrize(("cone", "friction"), [("elliptic", 0.3), ("pyramidal", 1.0), ("pyramidal", 0.3)])
def test_contact_of_mujoco_rests_as_the_reference_says(cone, friction):
    """Why `solref` and `solimp` do not become springs: stiffness hangs on friction, and a contact has a mass."""
    mass, t, z, d, g = 3.0, 0.02, 0.8, 0.9, 9.81
    soft = f'friction="{friction}" solref="{t} {z}" solimp="{d} {d} .001"'
    text = f"""<mujoco><option cone="{cone}" timestep="2e-4"/><worldbody><geom type="plane" size="1 1 1" {soft}/>
    <body pos="0 0 .1"><freejoint/><inertial pos="0 0 0" mass="{mass}" diaginertia=".1 .1 .1"/>
    <geom size=".1" {soft}/></body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 4000)
    stiffer = 2.0 / (friction**2 * (1.0 + friction**2)) if cone == "pyramidal" else 1.0
    K = stiffer * mass / ((1.0 - d) * (t * z) ** 2)
    assert 0.1 - data.qpos[2] == pytest.approx(mass * g / K, rel=1e-5)
    # a push: spring, damper and inerter share it, K y + D dy/dt + (m + m d / (1 - d)) a
    data.qfrc_applied[2] = push = 1.0
    mujoco.mj_forward(model, data)
    inerter = stiffer * mass * d / (1.0 - d)
    assert data.qacc[2] == pytest.approx(push / (mass + inerter), rel=1e-5)
