"""Wheels: rims that roll, beside closed forms, a disc that SciPy integrates, and MuJoCo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support.complex_steps import ComplexStep

import fallingcat as fc
from fallingcat.contact import ContactEllipsoid, rim
from fallingcat.errors import ModelError
from fallingcat.geometry.contact_points import touches
from fallingcat.geometry.point_positions import level_heights
from fallingcat.model.shapes import Cylinder
from fallingcat.testing import check_contact, check_drivers_agree

G, UP = 9.81, np.array([0.0, 0.0, 1.0])
MASS, RADIUS = 2.0, 0.3
DISC = fc.robots.free_body(body=fc.Body(MASS, (0, 0, 0), MASS * RADIUS**2 * np.diag([0.25, 0.25, 0.5])))
FLOORS = {"compliant": fc.contact.CompliantFloor, "hard": fc.contact.HardContacts}

WHEEL = """<link name="wheel{i}"><inertial><mass value="0.5"/>
  <inertia ixx="0.0014" iyy="0.0025" izz="0.0014" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><origin rpy="1.5707963267948966 0 0"/><geometry><cylinder radius="0.1" length="0.04"/></geometry>
  </collision></link><joint name="axle{i}" type="continuous"><parent link="chassis"/><child link="wheel{i}"/>
  <origin xyz="{x} {y} 0"/><axis xyz="0 1 0"/></joint>"""
CHASSIS = """<robot name="car"><link name="chassis"><inertial><mass value="10"/>
  <inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
PLACES = (0.2, 0.15), (0.2, -0.15), (-0.2, 0.15), (-0.2, -0.15)


@pytest.fixture(scope="module")
def car(tmp_path_factory: pytest.TempPathFactory) -> fc.Model:
    """Chassis of 10 kg on four wheels of 0.5 kg and 0.1 m whose collision shapes are cylinders."""
    path = tmp_path_factory.mktemp("car") / "car.urdf"
    path.write_text(CHASSIS + "".join(WHEEL.format(i=i, x=x, y=y) for i, (x, y) in enumerate(PLACES)) + "</robot>")
    return fc.load(path)


def way(car: fc.Model, floor: str, speed: float, duration: float, laws: Any = None) -> tuple[float, fc.Trajectory]:
    """m that a car rolls forward from a speed (m/s)."""
    ground = FLOORS[floor](friction=0.6)
    rest = car.standing(ground)
    start = car.state(pose=rest.pose, joints=rest.joints, twist=[speed, 0, 0, 0, 0, 0], rates=[speed / 0.1] * 4)
    run = fc.simulate(car, start, duration, laws, ground)
    return float(run.poses[-1, 0, 3] - rest.pose[0, 3]), run


@pytest.mark.parametrize("floor", FLOORS)
def test_a_car_on_cylinders_rolls_drives_and_brakes(car: fc.Model, floor: str) -> None:
    """Without loss; under torques ``T`` by ``4 T / r = (m + 4 I / r^2) a``; with locked wheels by Coulomb's law."""
    rolled, run = way(car, floor, 1.0, 0.5)
    assert rolled == pytest.approx(0.5, rel=1e-6)
    assert run.status == "finished"
    driven, _ = way(car, floor, 0.0, 0.5, lambda t, s: np.full(4, 0.2))
    assert driven == pytest.approx(0.5 * (4 * 0.2 / 0.1) / (12.0 + 4 * 0.0025 / 0.01) * 0.5**2, rel=3e-3)
    slid, run = way(car, floor, 1.0, 0.3, fc.control.JointDamper(50.0))
    assert slid == pytest.approx(1.0 / (2 * 0.6 * G), rel=max(0.01, 1.5 * run.error_estimate.relative))


def placed(R: np.ndarray, p: Any = (0.0, 0.0, 0.0)) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = R, p
    return pose


def leaning(lean: float, spin: tuple[float, float, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Attitude, angular velocity, velocity and position of a disc that rolls."""
    R = fc.lie.rotations.exp(np.array([0.5 * np.pi - lean, 0.0, 0.0]))
    w, q = R @ np.array(spin), UP - (UP @ R[:, 2]) * R[:, 2]
    return R, w, np.cross(w, RADIUS * q / np.linalg.norm(q)), np.array([0.0, 0.0, RADIUS * np.linalg.norm(q)])


def rolling_disc(R: np.ndarray, w: np.ndarray, p: np.ndarray, duration: float) -> tuple[np.ndarray, np.ndarray]:
    """Newton and Euler about the center, ``F = m (dv/dt - g)`` at the lowest place, ``v = -w x rho``."""
    inertia, gravity = np.asarray(DISC.links[0].body.inertia), -G * UP

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        R, w = y[:9].reshape(3, 3), y[9:12]
        a, turn = R[:, 2], np.cross(w, R[:, 2])
        q, dq = UP - (UP @ a) * a, -(UP @ turn) * a - (UP @ a) * turn
        u = q / np.linalg.norm(q)
        rho, drho = -RADIUS * u, -RADIUS * (dq - (u @ dq) * u) / np.linalg.norm(q)
        Iw, hat = R @ inertia @ R.T, fc.lie.rotations.skew(rho)
        moment = np.cross(rho, MASS * (-np.cross(w, drho) - gravity)) - np.cross(w, Iw @ w)
        dw = np.linalg.solve(Iw - MASS * hat @ hat, moment)
        return np.concatenate([(fc.lie.rotations.skew(w) @ R).ravel(), dw, -np.cross(w, rho)])

    end = solve_ivp(rate, (0.0, duration), np.concatenate([R.ravel(), w, p]), rtol=1e-11, atol=1e-12).y[:, -1]
    return end[:9].reshape(3, 3), end[12:]


STEPS = [("rkmk4", 1e-3, 2e-7), ("moreau", 5e-4, 3e-3), ("moreau", 1.25e-4, 8e-4)]


@pytest.mark.parametrize(("integrator", "dt", "error"), STEPS)
def test_a_leaning_disc_rolls_as_an_independent_integration(integrator: str, dt: float, error: float) -> None:
    R, w, v, p = leaning(0.3, (0.3, 0.4, 8.0))
    start = DISC.state(pose=placed(R, p), twist=np.concatenate([R.T @ v, R.T @ w]))
    floor = fc.contact.HardContacts(("body",), friction=2.0, radius=rim(RADIUS))
    run = fc.simulate(DISC, start, 1.0, contact=floor, integrator=integrator, dt=dt)
    attitude, place = rolling_disc(R, w, p, 1.0)
    np.testing.assert_allclose(run.poses[-1, :3, 3], place, atol=error)
    np.testing.assert_allclose(run.poses[-1, :3, :3], attitude, atol=error)


def test_the_same_disc_on_stiff_springs() -> None:
    """Two methods on compliant ground converge to each other, and to hard ground with the stiffness."""
    R, w, v, p = leaning(0.3, (0.3, 0.4, 8.0))
    start = DISC.state(pose=placed(R, p), twist=np.concatenate([R.T @ v, R.T @ w]))
    ends = []
    for stiffness, options in ((1e6, {}), (1e5, {}), (1e5, {"integrator": "implicit", "dt": 1e-4})):
        springs = (stiffness,) * 2, (63.0,) * 2
        floor = fc.contact.CompliantFloor(("body",), *springs, friction=2.0, radius=rim(RADIUS))
        ends.append(fc.simulate(DISC, start, 1.0, contact=floor, **options).poses[-1])
    attitude, place = rolling_disc(R, w, p, 1.0)
    np.testing.assert_allclose(ends[0][:3], np.column_stack([attitude, place]), atol=4e-5)
    np.testing.assert_allclose(ends[1][:3], np.column_stack([attitude, place]), atol=4e-4)
    np.testing.assert_allclose(ends[2][:3], ends[1][:3], atol=4e-4)


def test_laws_of_contacts_hold_for_rims() -> None:
    R, w, v, _ = leaning(0.4, (0.3, 1.0, 3.0))
    pose = np.eye(4)
    pose[:3, :3], pose[2, 3] = R, RADIUS * np.cos(0.4) - 2e-3
    spinning = DISC.state(pose=pose, twist=np.concatenate([R.T @ (v + np.array([0.3, 0.0, 0.0])), R.T @ w]))
    soft = fc.contact.CompliantFloor(("body",), (1e4, 1e4), (50.0, 50.0), friction=0.5, radius=rim(RADIUS))
    check_contact(soft, DISC, spinning)
    pose[2, 3] = RADIUS * np.sin(0.5 * np.pi - 0.4)
    check_contact(
        fc.contact.HardContacts(("body",), friction=0.1, radius=rim(RADIUS)), DISC, spinning._replace(pose=pose)
    )


@pytest.mark.parametrize("floor", FLOORS)
def test_entry_points_agree_on_wheels(car: fc.Model, floor: str) -> None:
    ground = FLOORS[floor](friction=0.6)
    rest = car.standing(ground)
    rolling = rest._replace(rates=np.array([3.0, 1.0, 2.0, 0.0]))
    assert check_drivers_agree(car, [rolling], (), ground, duration=0.02).passed


def test_heights_of_rims_in_machine_code() -> None:
    """Those of all states at once, beside one state after the other."""
    rng, around = np.random.default_rng(0), (rim(0.3), rim(0.2, 0.05), 0.1)
    arm = fc.robots.orbital_arm()
    points = arm.link_names[:3]
    many = fc.State.stack([arm.random_state(rng) for _ in range(4)])
    ground = fc.contact.plane(arm, (0.1, 0.2, 1.0), 0.3)
    found = level_heights(arm, ground, many.pose, many.joints, points, around)
    expected = [[at.site.height for at in touches(arm, many.at(i), points, ground, around)] for i in range(4)]
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("method", FLOORS)
def test_derivatives_of_steps_on_rims(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """``A``, ``B`` and those by friction, of a disc that leans, rolls and slips, beside complex steps."""
    R, w, v, p = leaning(0.4, (0.3, 1.0, 3.0))
    pose = placed(R, p - [0, 0, 1e-3 * (method == "compliant")])
    state = DISC.state(pose=pose, twist=np.concatenate([R.T @ (0.7 * v), R.T @ w]))
    springs = {"stiffness": (1e4, 1e4), "damping": (50.0, 50.0)} if method == "compliant" else {}
    ground = FLOORS[method](("body",), friction=0.3, radius=rim(RADIUS), **springs)
    integrator = "implicit" if method == "compliant" else "moreau"
    found = fc.simulation.step_derivatives(DISC, None, ground, integrator=integrator, dt=1e-3, inputs=["friction"])
    one, rows = ComplexStep(found.step, monkeypatch), 2 * DISC.nv
    x = (*DISC.flatten(state), found.begin(state), np.array([0.3]))
    for _ in range(3):
        A, expected = (np.asarray(J)[:rows] for J in (np.hstack(found.function(*x)), one.jacobian(*x)))
        np.testing.assert_allclose(A, expected, atol=1e-9 * max(1.0, np.abs(expected).max()))
        x = (*found.step.function(*x), x[-1])


@pytest.mark.parametrize("tilt", [0.0, 0.6])
def test_a_can_lands_as_in_mujoco(tmp_path: Path, tilt: float) -> None:
    """It comes to rest on its face or on its side as there, and does not turn on its face against friction."""
    text = f"""<mujoco><option timestep="0.001" integrator="implicitfast"/><worldbody>
      <geom type="plane" size="5 5 1"/>
      <body name="can" pos="0 0 0.12" euler="{np.degrees(tilt)} 0 0"><freejoint/>
      <geom type="cylinder" size="0.05 0.08" density="300"/></body></worldbody></mujoco>"""
    theirs = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)
    data.qvel[5] = 1.0
    mujoco.mj_step(theirs, data, 2000)
    path = tmp_path / "can.xml"
    path.write_text(text)
    model = fc.load(path)
    start = model.state(pose=fc.lie.SE3().exp(np.array([0, 0, 0, tilt, 0.0, 0.0])), twist=[0, 0, 0, 0, 0, 1.0])
    start.pose[2, 3] = 0.12
    run = fc.simulate(model, start, 2.0, contact=fc.contact.CompliantFloor(friction=1.0))
    assert run.poses[-1, 2, 3] == pytest.approx(data.xpos[1, 2], abs=5e-3)  # two rims on springs of four points
    assert abs(run.poses[-1, 2, 2]) == pytest.approx(abs(data.xmat[1].reshape(3, 3)[2, 2]), abs=2e-2)
    assert np.abs(run.twists[-1, 5]) < 1e-3 if tilt == 0.0 else True


def test_a_can_tips_over_its_rim() -> None:
    """On a slope it stands until its weight leaves the rim, in any direction, though its points are inside."""
    can = fc.Link("can", fc.Body(1.0, (0, 0, 0), 0.002 * np.eye(3)), collisions=(Cylinder(0.05, 0.2),))
    model = fc.Model("can", fc.lie.SE3(), (can,))
    for around in (0.0, 0.4):
        for factor, tips in ((0.95, False), (1.05, True)):
            slope = np.arctan(factor * 0.05 / 0.1)
            up = np.array([np.sin(slope) * np.cos(around), np.sin(slope) * np.sin(around), np.cos(slope)])
            floor = fc.contact.HardContacts(friction=2.0, normal=tuple(up))
            turn = fc.lie.rotations.exp(np.cross(UP, up) / np.linalg.norm(np.cross(UP, up)) * slope)
            run = fc.simulate(model, model.standing(floor, pose=placed(turn)), 0.4, contact=floor)
            leant = np.arccos(min(1.0, float(run.poses[-1, :3, 2] @ up)))
            assert leant > 0.02 if tips else leant < 5e-3


def test_rims_are_checked() -> None:
    for radius, tube in ((0.0, 0.0), (-1.0, 0.0), (np.nan, 0.0), (0.1, -0.1), ("wide", 0.0), (0.1, "thick")):
        with pytest.raises(ModelError, match=r"a rim|an ellipsoid"):
            rim(radius, tube)  # type: ignore[arg-type]
    for wrong in (ContactEllipsoid((0.1, 0.1, 0.0)), ContactEllipsoid((0.1, 0.1)), (rim(0.1), 0.1), [rim(0.1), "b"]):  # type: ignore[arg-type]
        with pytest.raises(ModelError, match=r"radius|ellipsoid"):
            fc.contact.HardContacts(("body",), radius=wrong)  # type: ignore[arg-type]
