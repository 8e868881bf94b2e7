"""Articulated robots of one MJCF file that hold an object together, or bump, beside MuJoCo with equal springs."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest

import fallingcat as fc
from fallingcat.contact import CompliantBodies, body_pairs

K, D, D_T = 2e4, 100.0, 200.0
"""N/m and N s/m: MuJoCo's friction has no spring, see :mod:`engines.mujoco_twin`"""
ARMS = (
    "".join(
        f"""<body name="{side}" pos="{x} 0 0.3"><joint name="{side} shoulder" axis="0 1 0" damping="1"/>
<geom type="capsule" fromto="0 0 0 {0.2 * s} 0 -0.15" size=".02" mass="1" contype="0" conaffinity="0"/>
<body name="{side} forearm" pos="{0.2 * s} 0 -0.15"><joint name="{side} elbow" axis="0 1 0" damping="1"/>
<geom type="capsule" fromto="0 0 0 {0.12 * s} 0 -0.1" size=".02" mass=".5" contype="0" conaffinity="0"/>
<geom name="{side} tip" type="sphere" size=".03" pos="{0.12 * s} 0 -0.1" mass=".2"/></body></body>"""
        for side, x, s in (("left", -0.41, 1.0), ("right", 0.41, -1.0))
    )
    + '<body name="cube" pos="0 0 .05"><freejoint name="cube"/>'
    + '<geom name="cube" type="box" size=".06 .06 .06" mass=".3"/></body>'
)
LIFT = [-4.6, 0.4, 4.6, -0.4, *[0.0] * 6]
"""N m: press the cube from both sides and lift it"""


def walker(name: str, x: float, nose: float) -> str:
    legs = "".join(
        f"""<body pos="{a} {b} -.05"><joint name="{name} leg{a}{b}" axis="0 1 0" damping=".1"/>
<geom type="capsule" fromto="0 0 0 0 0 -.2" size=".02" mass=".4" contype="0" conaffinity="0"/></body>"""
        for a in (-0.15, 0.15)
        for b in (-0.1, 0.1)
    )
    return f"""<body name="{name}" pos="{x} 0 1" euler="0 0 {0.1 * np.sign(x)}"><freejoint name="{name}"/>
<geom name="{name} trunk" type="box" size=".2 .1 .05" mass="4"/>
<geom name="{name} nose" type="sphere" size=".05" pos="{nose} .02 0.01" mass=".5"/>{legs}</body>"""


WALKERS = walker("first", -0.4, 0.2) + walker("second", 0.4, 0.3)
BUMP = [1.0, 0.1, 0.0, 0.0, 0.5, 0.0, 1.0, -1.0, 0.5, 0.0, -1.0, 0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 2.0, 0.0, -1.0]
"""m/s and rad/s, in MuJoCo's order"""


def text(bodies: str, pairs: list[tuple[str, str]], gravity: float, mu: float) -> str:
    named = "".join(f'<pair geom1="{a}" geom2="{b}" condim="3" friction="{mu} {mu} 0 0 0"/>' for a, b in pairs)
    return f"""<mujoco><compiler angle="radian"/><option timestep="2e-5" gravity="0 0 {-gravity}" cone="elliptic"
impratio="100" iterations="50" tolerance="0"/><worldbody>{bodies}</worldbody><contact>{named}</contact></mujoco>"""


def peer_run(xml: str, duration: float, qvel: Any, forces: Any) -> Any:
    """State of MuJoCo on springs ``K``, dampers ``D`` along normals and ``D_T`` along tangents."""
    model = mujoco.MjModel.from_xml_string(xml)
    data, bodies = mujoco.MjData(model), model.geom_bodyid
    model.geom_contype[:], model.geom_conaffinity[:] = 0, 0
    for i in range(model.npair):
        weight = sum(model.body_invweight0[bodies[g], 0] for g in (model.pair_geom1[i], model.pair_geom2[i]))
        model.pair_solimp[i] = (1e-4, 1e-4, 1.0, 0.5, 2.0)
        model.pair_solref[i] = (-K * weight, -D * weight)
        model.pair_solreffriction[i] = (-1e-12 * weight, -D_T * weight / 100.0)
    data.qvel[:] = qvel
    while data.time < duration - 1e-9:
        data.qfrc_applied[:] = forces
        mujoco.mj_step(model, data)
    return data


def load(tmp_path: Any, xml: str) -> fc.Model:
    file = tmp_path / "scene.xml"
    file.write_text(xml[: xml.index("<contact>")] + "</mujoco>")
    return fc.load(file, root="world")


@pytest.mark.slow
def test_two_arms_of_a_file_hold_a_cube_together_as_in_mujoco(tmp_path):
    xml = text(ARMS, [("left tip", "cube"), ("right tip", "cube")], 9.81, 0.8)
    scene = load(tmp_path, xml)
    assert np.allclose(scene.to_mujoco(scene.neutral())[0], mujoco.MjModel.from_xml_string(xml).qpos0)
    assert scene.joint_names == ("left shoulder", "left elbow", "right shoulder", "right elbow", "cube")
    pairs = body_pairs(scene, [("left forearm", "cube"), ("right forearm", "cube")])
    touch = CompliantBodies(pairs, stiffness=(K, 0.0), damping=(D, D_T), friction=0.8)
    sim = fc.Simulator(scene, touch, dt=2.5e-4)  # starts where the file says
    sim.step(LIFT, steps=1200)
    peer = peer_run(xml, 0.3, 0.0, LIFT)
    assert np.abs(scene.to_mujoco(sim.state)[0] - peer.qpos).max() < 3e-4  # of 4 cm and 0.4 rad


@pytest.mark.slow
def test_two_floating_robots_bump_as_in_mujoco(tmp_path):
    pairs = [("first nose", "second trunk"), ("second nose", "first trunk")]
    xml = text(WALKERS, pairs, 0.0, 0.5)
    scene = load(tmp_path, xml)
    start = scene.from_mujoco(mujoco.MjModel.from_xml_string(xml).qpos0, np.array(BUMP))
    found = body_pairs(scene, [("first", "second")])
    touch = CompliantBodies(found, stiffness=(K, 0.0), damping=(D, D_T), friction=0.5)
    run = fc.simulate(scene, start, 0.3, contact=touch, dt=2.5e-4)
    peer = peer_run(xml, 0.3, BUMP, 0.0)
    assert run.contact_pushes.max() > 300.0
    assert np.abs(scene.to_mujoco(run.state(-1))[0] - peer.qpos).max() < 2e-4  # of 0.5 rad
