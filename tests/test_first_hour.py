"""Mistakes and shortcuts of a first hour: plain errors of one line, and calls that one would guess."""

from dataclasses import dataclass

import numpy as np
import pytest

import fallingcat as fc
from fallingcat import progress
from fallingcat.model.shapes import Sphere

ARM = fc.robots.planar_arm()
BENT = ARM.state(joints=[0.3, -0.2, 0.1])


class Drag(fc.control.Law):
    """A law without a name, and no dataclass."""

    def forces(self, model, t, state, touching):
        return -0.3 * state.rates


@dataclass(frozen=True)
class Short(fc.control.Law):
    def forces(self, model, t, state, touching):
        return -state.joints[:2]


@dataclass(frozen=True)
class Forgetful(fc.control.Law):
    def forces(self, model, t, state):
        return -state.joints


def test_a_law_without_a_name_has_that_of_its_class():
    run = fc.simulate(ARM, BENT, 0.05, Drag())
    assert run.ledger.ports[0] == "Drag"
    same = fc.simulate(ARM, BENT, 0.05, fc.control.JointDamper(0.3), dt=1e-3, integrator="rkmk4")
    np.testing.assert_allclose(run.joints[-1], same.joints[-1], atol=1e-10)


def test_a_law_with_a_name_keeps_it():
    @dataclass(frozen=True)
    class Named(Drag):
        name: str = "my drag"

    assert (Named().name, Drag().name, fc.control.JointDamper(1.0).name) == ("my drag", "Drag", "joint dampers")


@pytest.mark.parametrize(
    ("controller", "message"),
    [
        (Short(), r"^forces of law 'Short' must have shape \(3,\), on joints, got \(2,\)$"),
        (Forgetful(), r"^forces of law 'Forgetful' is called with \(model, t, state, touching\): "),
        (lambda state: -state.rates, r"^a controller is called as f\(t, state\), t in s: too many"),
        (np.zeros(3), r"^a controller is a force law, .* not an array of shape \(3,\)$"),
        ([lambda t, x: -x.rates, lambda t, x: -x.joints], r"^a run has one function or sampled controller, not 2"),
        ([lambda t, x: -x.rates, fc.control.SampledController(lambda t, x: -x.joints, rate=100.0)], "not 2"),
    ],
)
def test_controllers_that_are_none(controller, message):
    with pytest.raises(fc.ModelError, match=message):
        fc.simulate(ARM, BENT, 0.05, controller)


def test_a_function_acts_beside_laws():
    def spring(t, state):
        return -2.0 * state.joints

    options = {"dt": 1e-3, "integrator": "rkmk4"}
    both = fc.simulate(ARM, BENT, 0.2, [spring, fc.control.JointDamper(0.3)], **options)
    laws = fc.simulate(ARM, BENT, 0.2, [fc.control.JointSpring(2.0), fc.control.JointDamper(0.3)], **options)
    np.testing.assert_allclose(both.joints, laws.joints, atol=1e-10)
    assert both.ledger.ports[:2] == ("joint dampers", "controller")
    np.testing.assert_allclose(both.ledger.work("controller"), laws.ledger.work("joint springs"), atol=1e-8)
    with pytest.raises(fc.ModelError, match="a rollout takes force laws"):
        fc.rollout(ARM, [BENT], 0.1, [spring, fc.control.JointDamper(0.3)])


@pytest.fixture(scope="module")
def feet():
    """A quadruped whose feet are found by their collision spheres."""
    dog = fc.robots.quadruped()
    links = {frame.link: frame for frame in dog.frames}
    balls = [
        fc.Link(
            x.name, x.body, x.visuals, (Sphere(0.02, placement=links[x.name].placement),) if x.name in links else ()
        )
        for x in dog.links
    ]
    model = fc.Model(dog.name, dog.base, tuple(balls), dog.joints)
    return fc.contact.feet(model, model.state(joints=[0.0, 0.6, -1.2] * 4))


def test_feet_are_contacts_of_controllers(feet):
    model, names = feet.model, list(feet.points)
    state = model.state(joints=[0.0, 0.6, -1.2] * 4)
    tasks = [[fc.control.CenterOfMassTask(acceleration=[0.0, 0.1, 0.0])]]
    for found, by_name in [
        (fc.control.torques(model, state, tasks, contacts=c).torques for c in (feet, names)),
        (fc.control.WholeBody(model, tasks, c).compile()(*model.flatten(state)) for c in (feet, names)),
        (fc.control.floating_inverse_dynamics(model, state, np.zeros(18), c).torques for c in (feet, names)),
    ]:
        np.testing.assert_array_equal(found, by_name)


def test_a_contact_of_feet_on_the_model_without_them_says_which_model_has_them(feet):
    dog = fc.robots.quadruped()
    for ground in (fc.contact.CompliantFloor(feet, friction=0.8), fc.contact.HardContacts(feet, friction=0.8)):
        with pytest.raises(fc.ModelError, match=r"points of feet = .* are frames of feet.model: simulate that one"):
            fc.simulate(dog, dog.state(position=[0.0, 0.0, 1.0]), 0.01, contact=ground)


def test_a_start_below_hard_ground_says_how_to_stand(feet):
    ground = fc.contact.HardContacts(feet, friction=0.8)
    low = feet.model.state(position=[0.0, 0.0, 0.3], joints=[0.0, 0.6, -1.2] * 4)
    with pytest.raises(fc.ModelError, match=r"m below the ground: .* as model.standing\(ground\) does"):
        fc.simulate(feet.model, low, 0.01, contact=ground)


def test_a_state_has_the_coordinates_by_which_it_is_made():
    dog, q = fc.robots.quadruped(), np.array([0.1, -0.2, 0.3, 0.9])
    state = dog.state(position=[1.0, 2.0, 3.0], rpy=[0.1, 0.2, 0.3])
    np.testing.assert_allclose(state.position, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(state.rpy, [0.1, 0.2, 0.3], atol=1e-15)
    turned = dog.state(quaternion=q / np.linalg.norm(q))
    np.testing.assert_allclose(turned.quaternion, q / np.linalg.norm(q), atol=1e-15)
    many = fc.State.stack([state, turned])
    np.testing.assert_array_equal(many.position, [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])
    with pytest.raises(fc.ModelError, match=r"states.at\(i\)"):
        many.rpy  # noqa: B018


def test_what_is_no_contact_is_named_with_one_that_is():
    with pytest.raises(fc.ModelError, match=r"'floor' is no contact: take one of .* such as CompliantFloor"):
        fc.simulate(ARM, BENT, 0.1, contact="floor")
    with pytest.raises(fc.ModelError, match="or give its value, link="):
        fc.compile(ARM, fc.jacobian)


def test_a_slow_controller_is_reported_with_advice(monkeypatch):
    monkeypatch.setattr(progress, "ESTIMATE_DELAY", 0.0)
    monkeypatch.setattr(progress, "WARNING_DELAY", 0.0)
    with pytest.warns(progress.SlowWarning, match=r"left; compile the functions that its controller calls, or give"):
        fc.simulate(ARM, BENT, 0.2, lambda t, state: fc.gravity_forces(ARM, state), dt=1e-2, integrator="rkmk4")


def test_links_and_joints_by_name():
    for robot in (fc.robots.quadruped(), fc.robots.humanoid()):
        assert [robot.link(x.name) for x in robot.links] == list(robot.links)
        assert [robot.joint(x.name) for x in robot.joints] == list(robot.joints)
        for find, word in ((robot.link, "link"), (robot.joint, "joint")):
            with pytest.raises(fc.ModelError, match=f"there is no {word} 'nose'"):
                find("nose")
            with pytest.raises(fc.ModelError, match="a name is a text"):
                find(3)
