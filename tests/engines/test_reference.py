"""References against each other: a reference that nobody checks is an opinion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from .box_scenes import BRAKING, LANDING, BoxScene, light, motion
from .closed_forms import Bounce, Braking
from .reference_floor import ReferenceFloor, RigidBody, run

mujoco = pytest.importorskip("mujoco")


def particle(mass: float, points: int = 1) -> RigidBody:
    """A body whose points are at its center: it moves without turning."""
    return RigidBody(mass, np.eye(3), np.zeros((points, 3)))


@pytest.mark.parametrize("method", ["Radau", pytest.param("BDF", marks=pytest.mark.slow)])
def test_methods_of_scipy_agree(method: str) -> None:
    scene = BRAKING["1000/300"]
    body = RigidBody(scene.mass, scene.inertia, scene.corners)
    start = body.start(scene.pose[:3, 3], scene.velocity)
    floor = ReferenceFloor(scene.stiffness, scene.damping, scene.friction)
    found = run(body, floor, start, scene.duration, method=method, tolerance=1e-8)
    np.testing.assert_allclose(found.y[-1], scene.reference(), atol=1e-7)


@pytest.mark.parametrize(("stiffness", "damping"), [(1e3, 1e3), (1e3, 300.0), (1e4, 1e3), (2e4, 2e3), (1e5, 100.0)])
def test_braking_is_the_closed_form(stiffness: float, damping: float) -> None:
    exact = Braking(2.5, stiffness, damping, 0.5, 1.0)
    body, floor = particle(2.5), ReferenceFloor((1e4, stiffness), (1e3, damping), 0.5)
    start = body.start([0.0, 0.0, -2.5 * 9.81 / 1e4], [1.0, 0.0, 0.0])
    for duration in (0.1, 0.3, 0.6):
        found = run(body, floor, start, duration).y[-1, 0]
        np.testing.assert_allclose(found, exact.place(duration), rtol=1e-6)


@pytest.mark.parametrize("damping", [5.0, 50.0, 120.0])
def test_bounces_are_the_closed_form(damping: float) -> None:
    exact = Bounce(2.0, 2e4, damping, 0.05)
    body, floor = particle(2.0), ReferenceFloor((2e4, 1e4), (damping, 100.0), 0.5)
    found = run(body, floor, body.start([0.0, 0.0, 0.05], [0.0, 0.0, 0.0]), exact.leaves + 0.01).y[-1]
    np.testing.assert_allclose(found[14], exact.speed - 9.81 * 0.01, rtol=1e-6)


@pytest.mark.parametrize(
    "scene",
    [
        pytest.param(BoxScene(duration=0.3), marks=pytest.mark.slow, id="braking"),
        pytest.param(light(0.2, duration=0.3), marks=pytest.mark.slow, id="light"),
        pytest.param(replace(LANDING["thrown, tilted"], stiffness=(2e4, 0.0), damping=(200.0, 200.0)), id="thrown"),
    ],
)
def test_mujoco_agrees_where_the_tangential_spring_is_left_out(scene: BoxScene) -> None:
    """0.15 mm after 0.1 m, in every regime: MuJoCo has the same law without the spring."""
    from .mujoco_twin import MujocoTwin

    scene = replace(scene, stiffness=(scene.stiffness[0], 0.0))
    model, state, _, floor = scene.ours()
    found = MujocoTwin(model, floor, dt=4e-5).run(state, scene.duration)
    np.testing.assert_allclose(motion(found)[:3], scene.reference()[:3], atol=1.5e-4)
