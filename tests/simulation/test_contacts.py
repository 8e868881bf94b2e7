"""What a run tells of its contacts, and as a table."""

import csv

import numpy as np
import pytest

import fallingcat as fc
from fallingcat import robots
from fallingcat.compiler.cpu import native

BALL = robots.free_body()


def standing(integrator=None, contact=None, duration=1.0):
    model = robots.quadruped()
    feet = tuple(frame.name for frame in model.frames)
    sit = (0.0, 0.6, -1.2) * 4
    pose = np.eye(4)
    pose[2, 3] = 0.335
    laws = (fc.control.JointSpring(200.0, sit), fc.control.JointDamper(5.0))
    floor = contact(feet) if contact else fc.contact.CompliantFloor(feet, (2e4, 2e4), (2e2, 2e2), friction=0.8)
    return fc.simulate(model, model.state(pose=pose, joints=sit), duration, laws, floor, integrator=integrator, dt=1e-3)


@pytest.fixture(scope="module")
def run():
    return standing("implicit", duration=3.0)


def test_forces_carry_the_weight_and_are_those_of_the_ports(run):
    forces = run.contact_forces
    assert forces.shape == (len(run), 4, 3)
    np.testing.assert_allclose(forces[-1].sum(axis=0), [0.0, 0.0, run.model.mass * 9.81], atol=0.1)
    for i in (0, 50, -1):
        J = [fc.contact.point_jacobian(run.model, run.state(i), p) for p in run.contact_points]
        generalised = sum(j.T @ f for j, f in zip(J, forces[i], strict=True))
        ports = run.port_forces["floor normal"][i] + run.port_forces["floor tangential"][i]
        np.testing.assert_allclose(generalised, ports, atol=1e-10 * max(1.0, np.abs(ports).max()))


def test_depth_and_slip(run):
    depth = np.array(
        [[-fc.contact.position(run.model, run.state(i), p)[2] for p in run.contact_points] for i in (0, 30)]
    )
    np.testing.assert_allclose(run.penetration[[0, 30]], np.maximum(depth, 0.0), atol=1e-14)
    np.testing.assert_allclose(run.penetration[-1], run.contact_forces[-1, :, 2] / 2e4, rtol=1e-2)
    assert run.slip[-1].max() < 1e-3
    in_air = np.array([[p not in touching for p in run.contact_points] for touching in run.touching])
    assert in_air.any()
    assert (run.slip[in_air] == 0.0).all()
    assert (run.contact_forces[in_air] == 0.0).all()


@pytest.mark.slow
def test_hard_contacts_too():
    hard = standing(contact=lambda feet: fc.contact.HardContacts(feet, friction=0.8), duration=0.05)
    i = len(hard) - 1
    applied = sum(hard.port_forces[law.name][i] for law in hard.problem.laws)
    expected = hard.problem.contact.point_forces(hard.model, hard.modes[i], hard.state(i), hard.memory[i], applied)
    np.testing.assert_allclose(hard.contact_forces[i], expected, rtol=1e-9, atol=1e-9)
    assert hard.penetration.max() < 1e-6


def test_without_contact():
    cat = robots.two_cylinder_cat()
    flight = fc.simulate(cat, cat.state(rates=[1.0, 0.5]), 0.01)
    assert flight.contact_forces.shape == (len(flight), 0, 3)
    assert flight.contact_points == ()
    assert flight.plot("contacts").blocks == []


def test_pictures(run):
    titles = [chart.title for chart in run.plot("contacts").blocks]
    assert titles[0] == "contact forces out of the ground"
    html = run._repr_html_()
    assert "quadruped" in html
    assert "finished" in html
    hostile = fc.simulate(fc.Model("<script>", BALL.base, BALL.links), BALL.neutral(), 0.01)
    assert "<script>" not in hostile._repr_html_()


def test_table(run, tmp_path):
    path = tmp_path / "run.csv"
    run.to_csv(path)
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = list(csv.reader(file))
    assert head[0] == "time (s)"
    assert "front_left_knee (rad)" in head
    assert "front_left_knee (rad/s)" in head
    assert "front_left_foot force z (N)" in head
    values = np.array(rows, dtype=float)
    assert values.shape == (len(run), len(head))
    np.testing.assert_array_equal(values[:, head.index("front_left_knee (rad)")], run.joints[:, 2])
    np.testing.assert_array_equal(values[:, head.index("front_left_foot force z (N)")], run.contact_forces[:, 0, 2])
    frame = run.to_dataframe()
    assert frame.shape == (len(run), len(head) - 1)
    np.testing.assert_array_equal(frame["front_left_knee (rad/s)"], run.rates[:, 2])


def test_names_are_no_formulas(tmp_path):
    joint = fc.Joint("=1+1", fc.model.Revolute((0.0, 0.0, 1.0)), "a", "b")
    body = BALL.links[0].body
    model = fc.Model("odd", fc.lie.SE3(), (fc.Link("a", body), fc.Link("b", body)), (joint,))
    fc.simulate(model, model.neutral(), 0.01).to_csv(tmp_path / "odd.csv")
    head = next(csv.reader((tmp_path / "odd.csv").read_text(encoding="utf-8").splitlines()))
    assert not any(name.startswith("=") for name in head)
    assert "'=1+1 (rad)" in head


def test_forces_after_a_run_need_no_code_for_single_states(monkeypatch, tmp_path):
    """What is asked of many states at once is compiled for many states, quickly, and for nothing else."""
    monkeypatch.setenv("FALLINGCAT_CACHE", str(tmp_path))
    run, made, quick = standing("implicit", duration=0.01), [], native.quick_code
    monkeypatch.setattr(native, "object_code", lambda text: pytest.fail("code made for many calls"))
    monkeypatch.setattr(native, "quick_code", lambda text: made.append(text) or quick(text))
    assert run.contact_forces.shape == (len(run), 4, 3)
    assert len(made) == len(set(run.modes))
