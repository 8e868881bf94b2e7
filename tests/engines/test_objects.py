"""Objects that are stacked, pushed and grasped, beside MuJoCo with stiff contacts and small steps."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest
from support.object_scenes import G, at, gripper, squeezed, stack, table

import fallingcat as fc
from fallingcat.contact import BodyContacts, body_pairs
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
