"""Third-party robots that slide, land and trot on compliant floors: against Pinocchio with the reference floor, and
against MuJoCo.

Tolerances were chosen before the runs: at default steps 2 % of the way of the base and 5 % of the largest motion of a
joint, which counts as 10 mrad at least, as in the error estimates of runs.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import fallingcat as fc

pytest.importorskip("pinocchio")
pytest.importorskip("mujoco")

from fallingcat.contact import HardContacts
from fallingcat.simulation import BatchSimulator, DiagnosticKind, StatusCode

from . import stored
from .robot_scenes import ANT, SCENES, RobotScene, ant_landing

BASE, JOINTS = 0.02, 0.05
LEAST_MOTION = 1e-2  # rad
QUICK = ("solo12_sliding", "go2_sliding")
every_robot = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in SCENES]
)


def errors(scene: RobotScene, pose: np.ndarray, joints: np.ndarray, end: fc.State) -> tuple[float, float]:
    """Relative to the way of the base and to the largest motion of a joint in the reference."""
    way = np.linalg.norm(pose[:3, 3] - scene.start.pose[:3, 3])
    bent = max(LEAST_MOTION, np.abs(joints - scene.start.joints).max())
    return (
        float(np.linalg.norm(end.pose[:3, 3] - pose[:3, 3]) / way),
        float(np.abs(end.joints - joints).max() / bent),
    )


@every_robot
def test_defaults_are_right(name: str) -> None:
    scene = SCENES[name]()
    run = scene.simulate(every=1)
    assert run.status == "finished"
    base, joints = errors(scene, *stored.robot(name), run.state(-1))
    assert base < (BASE if name != "anymal_trotting" else 0.1)  # that stays within 1.5 mm of its start
    assert joints < JOINTS


@every_robot
def test_implicit_steps_converge(name: str) -> None:
    scene = SCENES[name]()
    end = scene.simulate(integrator="implicit", dt=2e-5).state(-1)
    base, joints = errors(scene, *stored.robot(name), end)
    assert base < 0.2 * BASE
    assert joints < 0.2 * JOINTS


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rosenbrock", "located"])
@pytest.mark.parametrize("name", [name for name in SCENES if "talos" not in name])
def test_methods_with_error_control_are_at_the_reference(name: str, method: str) -> None:
    scene = SCENES[name]()
    end = scene.simulate(integrator=method).state(-1)
    base, joints = errors(scene, *stored.robot(name), end)
    assert base < 1e-3
    assert joints < 1e-3


def test_rollouts_and_batches_take_the_same_steps() -> None:
    scene = SCENES["solo12_sliding"]()
    one = scene.simulate(integrator="implicit", dt=1e-3).state(-1)
    options = {"integrator": "implicit", "dt": 1e-3, "passive": False}
    many = fc.rollout(scene.model, [scene.start] * 3, scene.duration, scene.laws, scene.floor, **options)
    simulator = BatchSimulator(scene.model, [scene.start] * 3, scene.laws, scene.floor, dt=1e-3, passive=False)
    simulator.step(round(scene.duration / 1e-3))
    for pose, joints in ((many.poses[-1], many.joints[-1]), (simulator.state.pose, simulator.state.joints)):
        np.testing.assert_array_equal(np.asarray(pose), np.stack([one.pose] * 3))
        np.testing.assert_array_equal(np.asarray(joints), np.stack([one.joints] * 3))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SCENES if "talos" not in name])
def test_mujoco_agrees_where_the_tangential_spring_is_left_out(name: str) -> None:
    """Against fine implicit steps: 0.5 % of the way, where both engines have the same law."""
    from .mujoco_twin import MujocoTwin

    scene = SCENES[name]().on(0.0, 100.0)
    twin = MujocoTwin(scene.model, scene.floor, scene.kp, scene.kd, scene.rest, dt=2e-5)
    found = twin.run(scene.start, scene.duration, None if scene.drive is None else scene.drive.at)
    base, joints = errors(scene, found.pose, found.joints, scene.simulate(integrator="implicit", dt=1e-5).state(-1))
    assert base < (5e-3 if name != "anymal_trotting" else 0.05)
    assert joints < 1e-2


@pytest.mark.slow
def test_an_ant_lands_on_hard_ground_as_fine_steps_have_it() -> None:
    """Default time steps: 2 % of the way, 5 % of the joints' motion (events of so many points are not located)."""
    scene = ant_landing()
    contact = HardContacts(ANT, friction=0.8)
    options = {"passive": False}
    ours = fc.simulate(scene.model, scene.start, scene.duration, scene.laws, contact, **options)
    exact = fc.simulate(scene.model, scene.start, scene.duration, scene.laws, contact, dt=2e-5, **options).state(-1)
    assert ours.code is StatusCode.FINISHED
    assert {warning.kind for warning in ours.warnings} <= {DiagnosticKind.STEP_ERROR}  # 5.6 % estimated, 1.6 % found
    base, joints = errors(scene, exact.pose, exact.joints, ours.state(-1))
    assert base < BASE
    assert joints < JOINTS


@pytest.mark.slow
def test_stored_references_are_what_the_references_say() -> None:
    made, kept = stored.made(), json.loads(stored.FILE.read_text(encoding="utf-8"))
    for name, end in made["boxes"].items():
        np.testing.assert_allclose(end, kept["boxes"][name], atol=1e-5, err_msg=name)
    for name, end in made["robots"].items():
        np.testing.assert_allclose(end["pose"], kept["robots"][name]["pose"], atol=1e-5, err_msg=name)
        np.testing.assert_allclose(end["joints"], kept["robots"][name]["joints"], atol=1e-4, err_msg=name)
