"""What is written outside of the library, in examples/extending, works as what is written inside."""

import numpy as np
import pytest
from hunt_crossley import HuntCrossley

import fallingcat as fc

BALL = fc.robots.free_body()


def thrown():
    """A ball, 0.2 m over the ground."""
    pose = np.eye(4)
    pose[2, 3] = 0.2
    return BALL.state(pose=pose, twist=[0.5, 0.0, 0.0, 0.1, 0.2, 0.3])


def test_a_floor_that_declares_itself_stiff_gets_the_stiff_integrator():
    """It got rkmk4, with an energy residual of 2e-2: the default asked for the library's own class."""
    floor = HuntCrossley(("body",), 1e5, 0.3, 0.5)
    run = fc.simulate(BALL, thrown(), 0.6, contact=floor)
    assert run.integrator == "rosenbrock"
    assert run.energy_residual < 1e-7
    assert [event.name for event in run.events][:2] == ["touchdown body", "lift-off body"]


@pytest.mark.parametrize("contact", [fc.contact.HardContacts(("body",)), fc.contact.CompliantFloor])
def test_contacts_say_whether_they_are_stiff(contact):
    assert contact.stiff == (contact is fc.contact.CompliantFloor)
