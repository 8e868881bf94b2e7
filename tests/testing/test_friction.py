"""The laws of dry friction: what the library has passes, and lies are found."""

import numpy as np
import pytest
from hunt_crossley import HuntCrossley

from fallingcat.contact import CompliantFloor, HardContacts
from fallingcat.errors import BrokenLawError, ModelError
from fallingcat.testing import check_friction

FIXED = ("implicit", "rosenbrock")


def broken(*arguments, **options):
    """The names of the laws that do not hold."""
    with pytest.raises(BrokenLawError) as caught:
        check_friction(*arguments, **options)
    return {found.name for found in caught.value.report.failures}


def random_floor(seed):
    """Stiffness, damping and friction over a decade or more, and a mass that the floor carries with little sag.

    Tangential dampers are not below normal ones: then friction is saturated at 2 m/s, in impacts too.
    """
    rng = np.random.default_rng(seed)
    K_n, K_t = 10.0 ** rng.uniform(3.5, 5.0, 2)
    D_n = 10.0 ** rng.uniform(1.5, 3.0)
    D_t = D_n * 10.0 ** rng.uniform(0.0, 1.0)
    return (K_n, K_t), (D_n, D_t), rng.uniform(0.2, 1.0), 10.0 ** rng.uniform(-1.0, 1.0)


@pytest.mark.parametrize("seed", [0, *(pytest.param(i, marks=pytest.mark.slow) for i in range(1, 20))])
def test_compliant_floors_obey_one_law(seed):
    stiffness, damping, friction, mass = random_floor(seed)
    dt = min(1e-4, 0.1 * mass / (4.0 * max(damping)))  # resolves dampers
    options = {} if seed else {"integrators": FIXED}
    report = check_friction(
        lambda points: CompliantFloor(points, stiffness, damping, friction), friction, masses=[mass], dt=dt, **options
    )
    assert report.passed


@pytest.mark.slow
def test_hard_contacts_obey_it_too():
    report = check_friction(lambda points: HardContacts(points, 0.5), 0.5, masses=[1.0])
    assert report["braking"].residual < 1e-12


@pytest.mark.slow
def test_a_contact_of_a_user_obeys_it():
    assert check_friction(lambda points: HuntCrossley(points, 1e5, 0.3, 0.5), 0.5, masses=[1.0]).passed


def test_another_coefficient_is_found():
    def floor(points):
        return CompliantFloor(points, (1e4, 1e4), (1e3, 1e3), friction=0.45)

    assert broken(floor, 0.5, integrators=FIXED, masses=[2.0]) == {"braking", "accelerating", "landing"}


def test_steps_that_do_not_resolve_the_contact_are_found():
    def floor(points):
        return CompliantFloor(points, (1e4, 1e4), (50.0, 50.0), friction=0.5)

    found = broken(floor, 0.5, integrators=FIXED, masses=[2.0], dt=1e-2)
    assert {"methods", "steps"} & found


def test_one_method_alone_proves_nothing():
    def floor(points):
        return CompliantFloor(points, (1e4, 1e4), (200.0, 200.0), friction=0.5)

    assert broken(floor, 0.5, integrators=["rosenbrock"], masses=[2.0]) == {"methods"}


def test_arguments_are_checked():
    with pytest.raises(ModelError, match="must be a positive number"):
        check_friction(lambda points: HardContacts(points, 0.5), 0.0)
    with pytest.raises(ModelError, match="must be a function that returns a Contact"):
        check_friction(lambda points: "a floor", 0.5)
