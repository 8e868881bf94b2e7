"""Compliant floors with friction against closed forms, by every method that takes them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from .box_scenes import BoxScene, light, motion
from .closed_forms import Bounce, Braking
from .reference_floor import GRAVITY

METHODS: dict[str, dict[str, Any]] = {
    "default": {},
    "implicit": {"integrator": "implicit", "dt": 1e-3},
    "rosenbrock": {"integrator": "rosenbrock", "dt": 1e-2},
    "located": {"integrator": "located", "dt": 1e-2},
    "rkmk4": {"integrator": "rkmk4", "dt": 1e-4},
}
MASSES = (0.05, 0.1, 0.2, 0.4, 3.0)
OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in METHODS if name not in ("default", "implicit")]
every_method = pytest.mark.parametrize("method", ["default", "implicit", *OTHERS])


def still(**more: Any) -> BoxScene:
    """A box that does not turn: it moves as one mass on four equal points."""
    return BoxScene(rotates=False, **more)


@every_method
@pytest.mark.parametrize(("stiffness", "damping"), [(1e3, 1e3), (1e3, 300.0), (1e4, 1e3), (2e4, 2e3)])
def test_a_braking_box_stops_where_the_closed_form_says(method: str, stiffness: float, damping: float) -> None:
    """Within 0.5 % at 1 ms, 1e-5 with error control; the closed form is within 4 % of Coulomb's distance."""
    scene = still(stiffness=(1e4, stiffness), damping=(1e3, damping), duration=0.5)
    exact = Braking(scene.mass / 4.0, stiffness, damping, scene.friction, 1.0)
    assert abs(exact.place(scene.duration) / exact.coulomb - 1.0) < 0.04
    fixed = method in ("default", "implicit")
    found = motion(scene.simulate(**METHODS[method]).state(-1))[0]
    np.testing.assert_allclose(found, exact.place(scene.duration), rtol=5e-3 if fixed else 1e-5)


@pytest.mark.parametrize("stiffness", [0.0, 1e2, 1e4, 1e6])
@pytest.mark.parametrize("damping", [1e2, 1e4, 1e6])
def test_a_stopping_distance_is_coulombs_for_every_bristle(stiffness: float, damping: float) -> None:
    """With deflections far below the way, ``v0^2 / (2 mu g)`` within 1 % and the largest deflection."""
    scene = still(stiffness=(1e4, stiffness), damping=(1e3, damping), duration=0.4)
    deflection = scene.friction * scene.mass * GRAVITY / 4.0 / max(stiffness, damping / scene.duration)
    found = motion(scene.simulate().state(-1))[0]
    np.testing.assert_allclose(found, 1.0 / (2.0 * scene.friction * GRAVITY), atol=1e-3 + deflection)


@every_method
@pytest.mark.parametrize("mass", MASSES)
def test_constant_acceleration_under_a_force(method: str, mass: float) -> None:
    """``dv/dt = F / m - mu g`` once it slides, within 0.1 %."""
    mu, ratio = 0.5, 1.7
    scene = replace(
        light(mass, velocity=(0.0, 0.0, 0.0), pull=ratio * mu * mass * GRAVITY, duration=0.3), rotates=False
    )
    run = scene.simulate(**METHODS[method] | {"every": 1})
    v = np.array([motion(state)[12] for state in run.states])
    i = int(np.searchsorted(run.times, 0.1))
    found = (v[-1] - v[i]) / (run.times[-1] - run.times[i])
    np.testing.assert_allclose(found, (ratio - 1.0) * mu * GRAVITY, rtol=1e-3)


@pytest.mark.parametrize("dt", [1e-3, 2e-3, 4e-3])
@pytest.mark.parametrize("mass", MASSES)
def test_steady_sliding_has_the_normal_force_of_the_weight(mass: float, dt: float) -> None:
    """Recorded normal forces within 0.5 % of the weight, and friction of ``mu`` times as much."""
    scene = light(mass, velocity=(3.0, 0.0, 0.0), duration=0.2)
    run = scene.simulate(integrator="implicit", dt=dt, every=1)
    np.testing.assert_allclose(run.contact_pushes.sum(axis=1).mean(), mass * GRAVITY, rtol=5e-3)
    lost = 3.0 - motion(run.state(-1))[12]
    np.testing.assert_allclose(lost, scene.friction * GRAVITY * scene.duration, rtol=5e-3)


@pytest.mark.parametrize("mass", [0.2, 3.0])
def test_recorded_friction_is_what_brakes(mass: float) -> None:
    """``contact_forces`` along the way: ``mu`` times the normal force at every sample in sliding, against the way."""
    run = light(mass, velocity=(3.0, 0.0, 0.0), duration=0.1).simulate(every=1)
    total = run.contact_forces.sum(axis=1)[5:]
    np.testing.assert_allclose(total[:, 0], -0.5 * mass * GRAVITY, rtol=1e-2)
    np.testing.assert_allclose(total[:, 1], 0.0, atol=1e-9 * mass)


@every_method
def test_a_spinning_box_is_braked_by_the_torque_of_its_corners(method: str) -> None:
    """``dw/dt = -mu m g r / I``: the angle after 0.1 s within 0.5 %, without moving away."""
    scene = BoxScene(velocity=(0.0, 0.0, 0.0), spin=(0.0, 0.0, 10.0), duration=0.1)
    found = motion(scene.simulate(**METHODS[method]).state(-1))
    radius = np.linalg.norm(scene.corners[0, :2])
    slows = scene.friction * scene.mass * GRAVITY * radius / scene.inertia[2, 2]
    angle = 10.0 * scene.duration - 0.5 * slows * scene.duration**2
    assert slows * scene.duration < 10.0  # still spinning
    np.testing.assert_allclose(np.arctan2(found[6], found[3]), angle, rtol=5e-3)
    np.testing.assert_allclose(found[:2], 0.0, atol=1e-9)


@every_method
@pytest.mark.parametrize("mass", [0.2, 10.0])
def test_slopes_hold_below_the_friction_angle(method: str, mass: float) -> None:
    """At rest after a second, by ``m g sin / (4 K_t)`` from where it began: it does not creep."""
    steep = 0.9 * np.arctan(0.5)
    scene = replace(
        light(mass) if mass < 1.0 else BoxScene(), velocity=(0.0, 0.0, 0.0), slope=steep, duration=1.0, rotates=False
    )
    options = METHODS[method]
    if method == "rkmk4" and mass < 1.0:
        options = options | {"dt": 2e-5}  # resolves the dampers
    found = motion(scene.simulate(**options).state(-1))
    sags = scene.mass * GRAVITY * np.sin(steep) / (4.0 * scene.stiffness[1])
    np.testing.assert_allclose(found[0], sags, rtol=2e-2 if method == "default" else 1e-2)
    assert abs(found[12]) < 1e-2 * sags  # m/s: the spring relaxes at K / D = 10 to 100 1/s


@every_method
@pytest.mark.parametrize("mass", [0.2, 10.0])
def test_slopes_above_the_friction_angle_accelerate(method: str, mass: float) -> None:
    """``dv/dt = g (sin - mu cos)``, within 0.2 %."""
    steep = np.deg2rad(35.0)
    scene = replace(
        light(mass) if mass < 1.0 else BoxScene(), velocity=(0.0, 0.0, 0.0), slope=steep, duration=0.5, rotates=False
    )
    options = METHODS[method] | {"every": 1}
    if method == "rkmk4" and mass < 1.0:
        options = options | {"dt": 2e-5}
    run = scene.simulate(**options)
    v = np.array([motion(state)[12] for state in run.states])
    i = int(np.searchsorted(run.times, 0.2))
    found = (v[-1] - v[i]) / (run.times[-1] - run.times[i])
    np.testing.assert_allclose(found, GRAVITY * (np.sin(steep) - 0.5 * np.cos(steep)), rtol=2e-3)


@pytest.mark.parametrize("dt", [2.5e-4, 1e-3, 2e-3])
@pytest.mark.parametrize("mass", [0.2, 2.0, 10.0])
def test_a_landing_takes_mu_times_the_normal_impulse(mass: float, dt: float) -> None:
    """While all points slide, ``m (v0 - v) = mu (m dv_z + m g t)``: of every step, however long, to 0.2 %."""
    scene = replace(light(mass), velocity=(3.0, 0.0, -0.5), height=0.005, duration=0.06, rotates=False)
    found = motion(scene.simulate(integrator="implicit", dt=dt).state(-1))
    pushed = found[14] + 0.5 + GRAVITY * scene.duration
    assert found[12] > 1.0  # it slides
    np.testing.assert_allclose(3.0 - found[12], scene.friction * pushed, rtol=2e-3)


EDGES = {
    "soft": BoxScene(),
    "light": light(2.0),
    "stiff": BoxScene(2.0, (1e5, 1e5), (1e3, 1e3)),
    "overdamped": BoxScene(12.0, (3e5, 1.5e5), (1.7e4, 2.3e3)),
}


@pytest.mark.parametrize(
    ("method", "dt"),
    [("implicit", 2.5e-4), ("implicit", 1e-3), pytest.param("rosenbrock", 1e-3, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("pitch", [-0.8, 0.8])
@pytest.mark.parametrize("name", EDGES)
def test_friction_on_an_edge_is_mu_times_the_normal_force(name: str, pitch: float, method: str, dt: float) -> None:
    """A box that slides on one edge, where friction changes the normal force: impulses of 24 ms, to 1 %."""
    scene = replace(EDGES[name], velocity=(2.0, 0.0, -0.3), height=0.0, pitch=pitch, duration=0.03)
    run = scene.simulate(integrator=method, dt=dt, every=1)
    i = int(np.searchsorted(run.times, 0.006 - 1e-9))
    before, after = (motion(run.state(j)) for j in (i, -1))
    pushed = after[14] - before[14] + GRAVITY * (run.times[-1] - run.times[i])
    np.testing.assert_allclose(before[12] - after[12], scene.friction * pushed, rtol=1e-2)


@every_method
@pytest.mark.parametrize("damping", [5.0, 30.0])
def test_bounces_have_the_analytic_restitution(method: str, damping: float) -> None:
    """Speed at lift-off of the clipped linear spring and damper: 2 % by default, 1e-5 with error control."""
    exact = Bounce(2.0, 2e4, damping, 0.05)
    scene = BoxScene(
        2.0, (5e3, 5e3), (damping / 4.0, 10.0), velocity=(0.0, 0.0, 0.0), height=0.05, duration=exact.leaves + 0.01
    )
    options = METHODS[method]
    if method == "implicit":
        options = options | {"dt": 2.5e-4}
    found = motion(scene.simulate(**options).state(-1))[14] + 0.01 * GRAVITY
    np.testing.assert_allclose(found, exact.speed, rtol=2e-2 if method in ("default", "implicit") else 1e-5)


@every_method
@pytest.mark.parametrize("mass", MASSES)
def test_boxes_rest_as_deep_as_their_weight_presses(method: str, mass: float) -> None:
    """``m g / (4 K)``, from a start that is not there."""
    scene = light(mass, velocity=(0.0, 0.0, 0.0), height=1e-3, duration=0.6)
    options = METHODS[method]
    if method == "rkmk4":
        options = options | {"dt": 1e-4 if mass > 1.0 else 2e-5}
    found = motion(scene.simulate(**options).state(-1))
    np.testing.assert_allclose(0.05 - found[2], mass * GRAVITY / (4.0 * 2e4), rtol=1e-3)
