"""Meshes that touch meshes, beside MuJoCo with the same springs at the same hulls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from support.meshes import solid, stone

import fallingcat as fc
from fallingcat.contact import CompliantBodies, body_pairs
from fallingcat.geometry.hulls import Hull, box_hull, hull_of
from fallingcat.lie.rotations import about, homogeneous
from fallingcat.model import combine

pytestmark = pytest.mark.slow
K, D, D_T, MU = 2e4, 100.0, 200.0, 0.5
"""N/m, N s/m, and friction: MuJoCo's friction has no spring, see :mod:`engines.mujoco_twin`"""
ROOF = [[x, y, z] for x in (-0.25, 0.25) for y, z in ((0.0, 0.125), (0.125, -0.125), (-0.125, -0.125))]
WEDGE = hull_of(np.array(ROOF))
"""a roof along x"""
BASE = [[0.0625, 0.0, 0.0625], [-0.0625, 0.0625, 0.0625], [-0.0625, -0.0625, 0.0625]]
TETRAHEDRON = hull_of(np.array([[0.0, 0.0, -0.0625], *BASE]))


def numbers(*values: Any) -> str:
    return " ".join(f"{x:.17g}" for value in values for x in np.ravel(value))


def element(name: str, hull: Hull, H: np.ndarray, free: bool) -> tuple[str, str]:
    """Mesh and body of MuJoCo."""
    body, quat = solid(hull, 1000.0), np.zeros(4)
    mujoco.mju_mat2Quat(quat, H[:3, :3].ravel())
    inertia = numbers(body.inertia.diagonal(), body.inertia[0, 1:], body.inertia[1, 2])
    weighs = f'<inertial pos="{numbers(body.center)}" mass="{numbers(body.mass)}" fullinertia="{inertia}"/>'
    inside = f"{'<freejoint/>' + weighs if free else ''}<geom name='{name}' type='mesh' mesh='{name}'/>"
    placed = f"<body name='{name}' pos='{numbers(H[:3, 3])}' quat='{numbers(quat)}'>{inside}</body>"
    return f"<mesh name='{name}' vertex='{numbers(hull.vertices)}'/>", placed


def peer_run(first: Hull, second: Hull, H: np.ndarray, qvel: np.ndarray, duration: float) -> np.ndarray:
    parts = element("first", first, np.eye(4), False), element("second", second, H, True)
    model = mujoco.MjModel.from_xml_string(f"""<mujoco><option timestep="2e-5" cone="elliptic" impratio="100"
iterations="50" tolerance="0" ccd_tolerance="1e-9" ccd_iterations="200"/><asset>{parts[0][0]}{parts[1][0]}</asset>
<worldbody>{parts[0][1]}{parts[1][1]}</worldbody><contact><pair geom1="first" geom2="second" condim="3"
friction="{MU} {MU} 0 0 0"/></contact></mujoco>""")
    model.geom_contype[:], model.geom_conaffinity[:] = 0, 0
    weight = model.body_invweight0[model.body("second").id, 0]
    model.pair_solimp[0] = (1e-4, 1e-4, 1.0, 0.5, 2.0)
    model.pair_solref[0] = (-K * weight, -D * weight)
    model.pair_solreffriction[0] = (-1e-12 * weight, -D_T * weight / 100.0)
    data = mujoco.MjData(model)
    data.qvel[:] = qvel
    touched = False
    while data.time < duration - 1e-9:
        mujoco.mj_step(model, data)
        touched = touched or data.ncon > 0
    assert touched
    return np.array(data.qpos)


@pytest.mark.parametrize("case", ["vertex on face", "edge on edge", "vertex near edge"])
def test_polyhedra_hit_polyhedra_as_in_mujoco(tmp_path: Path, case: str) -> None:
    """One point of contact at a time: engines choose different points of a face."""
    floor = box_hull((0.5, 0.5, 0.125)) if case == "vertex on face" else WEDGE
    turn = about(np.array([0.0, 1.0, 0.0]), 0.9) if case == "edge on edge" else about(np.array([1.0, 0.0, 0.0]), 0.1)
    H = homogeneous(turn, np.array([0.01, 0.02 if case == "vertex near edge" else 0.0, 0.23]))
    scene = combine({"first": stone(tmp_path, "a.obj", floor, None), "second": stone(tmp_path, "b.obj", TETRAHEDRON)},
                    {"second": H})  # fmt: skip
    qvel = np.array([0.1, 0.05, -0.5, 1.0, 0.5, 0.3])
    start = scene.from_mujoco(scene.to_mujoco(scene.neutral())[0], qvel)
    touch = CompliantBodies(body_pairs(scene), stiffness=(K, 0.0), damping=(D, D_T), friction=MU)
    run = fc.simulate(scene, start, 0.12, contact=touch, dt=1e-4)
    assert run.contact_pushes.max() > 10.0
    ours, theirs = scene.to_mujoco(run.state(-1))[0], peer_run(floor, TETRAHEDRON, H, qvel, 0.12)
    assert np.abs(ours - theirs)[:3].max() < 2e-4  # of 11 cm
    assert np.abs(ours - theirs)[3:].max() < 2e-3  # which of two near normals counts: EDGE_BIAS
