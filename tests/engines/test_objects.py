"""Objects that are stacked, pushed and grasped, beside MuJoCo with stiff contacts and small steps."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest
from support.object_scenes import G, at, gripper, squeezed, stack, table

import fallingcat as fc
from fallingcat.contact import BodyContacts, CompliantBodies, body_pairs
from fallingcat.model import combine, rigid_object
from fallingcat.model.shapes import Box

pytestmark = pytest.mark.slow

HEAD = """<mujoco><option timestep="{dt}" gravity="{gx} 0 {gz}" cone="elliptic" impratio="100" iterations="200"
tolerance="1e-12"/><default><geom friction="{mu} 0 0" solref="0.002 1" solimp="0.99 0.999 0.0001"/></default><worldbody>
"""
TABLE = '<geom type="box" size="2 2 .5" pos="0 0 -.5"/>'


def mujoco_run(bodies: str, duration: float, mu: float, tilt: float = 0.0, more: str = "", forces: Any = None) -> Any:
    """State of MuJoCo after a run in steps of 0.2 ms."""
    head = HEAD.format(dt=2e-4, gx=G * np.sin(tilt), gz=-G * np.cos(tilt), mu=mu)
    model = mujoco.MjModel.from_xml_string(f"{head}{bodies}</worldbody>{more}</mujoco>")
    data = mujoco.MjData(model)
    while data.time < duration - 1e-9:
        if forces is not None:
            data.qfrc_applied[:] = forces
        mujoco.mj_step(model, data)
    return data


def cube(z: float, size: float = 0.05, mass: float = 1.0) -> str:
    return f'<body pos="0 0 {z}"><freejoint/><geom type="box" size="{size} {size} {size}" mass="{mass}"/></body>'


@pytest.mark.parametrize("tilt", [0.30, 0.36, 0.40])
def test_a_stack_of_three_stands_or_topples_as_in_mujoco(tilt):
    peer = mujoco_run(TABLE + "".join(cube(0.05 + 0.1 * i) for i in range(3)), 0.4, 1.5, tilt)
    scene, start, touch = stack(3, tilt, friction=1.5)
    run = fc.simulate(scene, start, 0.4, contact=touch, dt=5e-4)
    ours, theirs = run.state(-1).joints.reshape(3, 7)[:, :3], peer.qpos.reshape(3, 7)[:, :3]
    assert np.abs(ours - theirs).max() < 5e-4  # of up to 13 cm


def test_a_box_is_pushed_off_its_center_as_in_mujoco():
    """A force beside the center slides and turns it: friction at four points."""
    size, force, lever = (0.1, 0.06, 0.03), 12.0, 0.04
    body = f'<body pos="0 0 .03"><freejoint/><geom type="box" size="{size[0]} {size[1]} {size[2]}" mass="2"/></body>'
    scene = combine({"table": table(), "box": rigid_object(Box((0.2, 0.12, 0.06)), mass=2.0)})
    push = fc.control.ExternalWrench("box", (force, 0.0, 0.0), torque=(0.0, 0.0, -force * lever))
    touch = BodyContacts(body_pairs(scene), friction=0.4)
    run = fc.simulate(scene, scene.state(joints=at(0.0, 0.0, 0.03)), 0.4, push, contact=touch, dt=5e-4)
    peer = mujoco_run(TABLE + body, 0.4, 0.4, forces=[force, 0.0, 0.0, 0.0, 0.0, -force * lever])
    # how four rigid points share the load is not determined: each engine has its own friction torque
    angle, theirs = (2.0 * np.arctan2(q[0], q[1]) for q in (run.state(-1).joints[5:7], peer.qpos[[6, 3]]))
    assert abs(theirs) > 0.1
    assert angle == pytest.approx(theirs, rel=0.1)
    assert np.abs(run.state(-1).joints[:2] - peer.qpos[:2]).max() < 4e-3  # of 20 cm


@pytest.mark.parametrize("force", [4.0, 6.0])
def test_a_grasped_block_falls_or_stays_as_in_mujoco(force):
    fingers = "".join(
        f'<body pos="{x} 0 0"><joint type="slide" axis="1 0 0"/><geom type="box" size=".01 .02 .02" mass=".2"/></body>'
        for x in (-0.04, 0.04)
    )
    peer = mujoco_run(fingers + cube(0.0, 0.03, 0.5), 0.1, 0.5, forces=[force, -force, 0, 0, 0, 0, 0, 0])
    scene = gripper()
    touch = BodyContacts(body_pairs(scene, [("hand/l", "cube"), ("hand/r", "cube")]), friction=0.5)
    start = scene.state(joints=[-0.04, 0.04, *at(0.0, 0.0, 0.0)])
    run = fc.simulate(scene, start, 0.1, squeezed(force), contact=touch, dt=5e-4)
    assert run.state(-1).joints[4] == pytest.approx(peer.qpos[4], abs=2e-4)  # MuJoCo's friction creeps


# compliant bodies beside the same springs and dampers in MuJoCo -------------------------------------------------------

SOFT = """<mujoco><option timestep="2e-5" gravity="{gx} 0 {gz}" cone="elliptic" impratio="100" iterations="50"
tolerance="0"/><default><geom contype="0" conaffinity="0"/></default><worldbody>"""
K, D, D_T = 2e4, 100.0, 200.0
"""N/m and N s/m: MuJoCo's friction has no spring, see :mod:`engines.mujoco_twin`"""


def soft_run(bodies: str, pairs: list[tuple[str, str]], duration: float, mu: float, tilt: float, forces: Any) -> Any:
    """State of MuJoCo on springs ``K``, dampers ``D`` along normals and ``D_T`` along tangents."""
    head = SOFT.format(gx=G * np.sin(tilt), gz=-G * np.cos(tilt))
    contact = "".join(f'<pair geom1="{a}" geom2="{b}" condim="3" friction="{mu} {mu} 0 0 0"/>' for a, b in pairs)
    model = mujoco.MjModel.from_xml_string(f"{head}{bodies}</worldbody><contact>{contact}</contact></mujoco>")
    data = mujoco.MjData(model)
    for i, pair in enumerate(pairs):
        weight = sum(model.body_invweight0[model.geom_bodyid[model.geom(name).id], 0] for name in pair)
        model.pair_solimp[i] = (1e-4, 1e-4, 1.0, 0.5, 2.0)
        model.pair_solref[i] = (-K * weight, -D * weight)
        model.pair_solreffriction[i] = (-1e-12 * weight, -D_T * weight / 100.0)
    while data.time < duration - 1e-9:
        data.qfrc_applied[:] = forces
        mujoco.mj_step(model, data)
    return data


def named(name: str, x: float, z: float, size: tuple[float, float, float], mass: float, joint: str) -> str:
    edges = " ".join(map(str, size))
    return f'<body pos="{x} 0 {z}">{joint}<geom name="{name}" type="box" size="{edges}" mass="{mass}"/></body>'


FREE = "<freejoint/>"
FLOOR = '<geom name="table" type="box" size="2 2 .5" pos="0 0 -.5"/>'


@pytest.mark.parametrize("tilt", [0.0, 0.3])
def test_a_compliant_stack_of_three_moves_as_in_mujoco(tilt):
    """Dropped by 1 cm each, and on a slope it slides."""
    scene, _, touch = stack(3, tilt)
    heights = [0.06 + 0.11 * i for i in range(3)]
    start = scene.state(joints=[x for z in heights for x in at(0.0, 0.0, z)])
    touch = CompliantBodies(touch.pairs, stiffness=(K, 0.0), damping=(D, D_T), friction=0.2)
    run = fc.simulate(scene, start, 0.3, contact=touch, dt=2.5e-4)
    cubes = "".join(named(f"c{i}", 0.0, z, (0.05, 0.05, 0.05), 1.0, FREE) for i, z in enumerate(heights))
    peer = soft_run(FLOOR + cubes, [("table", "c0"), ("c0", "c1"), ("c1", "c2")], 0.3, 0.2, tilt, 0.0)
    ours, theirs = run.state(-1).joints.reshape(3, 7)[:, :3], peer.qpos.reshape(3, 7)[:, :3]
    assert np.abs(ours - theirs).max() < 5e-4  # of up to 4 cm


def test_a_compliant_box_is_pushed_off_its_center_as_in_mujoco():
    force, lever = 12.0, 0.04
    scene = combine({"table": table(), "box": rigid_object(Box((0.2, 0.12, 0.06)), mass=2.0)})
    push = fc.control.ExternalWrench("box", (force, 0.0, 0.0), torque=(0.0, 0.0, -force * lever))
    touch = CompliantBodies(body_pairs(scene), stiffness=(K, 0.0), damping=(D, D_T), friction=0.4)
    start = scene.state(joints=at(0.0, 0.0, 0.03 - 2.0 * G / (4.0 * K)))
    run = fc.simulate(scene, start, 0.4, push, contact=touch, dt=2.5e-4)
    box = named("box", 0.0, 0.03 - 2.0 * G / (4.0 * K), (0.1, 0.06, 0.03), 2.0, FREE)
    peer = soft_run(FLOOR + box, [("table", "box")], 0.4, 0.4, 0.0, [force, 0.0, 0.0, 0.0, 0.0, -force * lever])
    angle, theirs = (2.0 * np.arctan2(q[0], q[1]) for q in (run.state(-1).joints[5:7], peer.qpos[[6, 3]]))
    assert abs(theirs) > 0.1
    assert angle == pytest.approx(theirs, rel=2e-2)  # springs share the load in one way only
    assert np.abs(run.state(-1).joints[:2] - peer.qpos[:2]).max() < 1e-3  # of 20 cm


@pytest.mark.parametrize("force", [4.0, 6.0])
def test_a_block_between_compliant_fingers_moves_as_in_mujoco(force):
    scene = gripper()
    pairs = body_pairs(scene, [("hand/l", "cube"), ("hand/r", "cube")])
    touch = CompliantBodies(pairs, stiffness=(K, 0.0), damping=(D, D_T), friction=0.5)
    start = scene.state(joints=[-0.04, 0.04, *at(0.0, 0.0, 0.0)])
    run = fc.simulate(scene, start, 0.1, squeezed(force), contact=touch, dt=2.5e-4)
    slide = '<joint type="slide" axis="1 0 0"/>'
    fingers = "".join(named(n, x, 0.0, (0.01, 0.02, 0.02), 0.2, slide) for n, x in (("l", -0.04), ("r", 0.04)))
    block = named("cube", 0.0, 0.0, (0.03, 0.03, 0.03), 0.5, FREE)
    peer = soft_run(fingers + block, [("l", "cube"), ("r", "cube")], 0.1, 0.5, 0.0, [force, -force, *[0.0] * 6])
    moved = run.state(-1).joints - [-0.04, 0.04, *np.zeros(7)]  # MuJoCo counts from where a slide starts
    assert np.abs(moved[:5] - peer.qpos[:5]).max() < 2e-5  # of 9 mm
