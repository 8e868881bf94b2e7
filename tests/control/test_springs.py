"""Springs and dampers in joints, all or some of them."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.control import JointDamper, JointSpring
from fallingcat.errors import ModelError

NOTHING = frozenset()


def test_a_law_for_each_joint_adds_up_to_one_for_all():
    dog = fc.robots.quadruped()
    state = dog.random_state(np.random.default_rng(0))
    rest = tuple(np.linspace(-0.5, 0.5, dog.n))
    for whole, one in (
        (JointSpring(30.0, rest), lambda name: JointSpring(30.0, rest, only=(name,), name=name)),
        (JointDamper(2.0), lambda name: JointDamper(2.0, only=(name,), name=name)),
    ):
        parts = [one(name).forces(dog, 0.0, state, NOTHING) for name in dog.joint_names]
        np.testing.assert_allclose(sum(parts), whole.forces(dog, 0.0, state, NOTHING), rtol=1e-14, atol=1e-14)
        assert all(np.count_nonzero(part) == 1 for part in parts)


def test_each_joint_has_its_line_in_the_ledger():
    cat = fc.robots.two_cylinder_cat()
    laws = [JointSpring(0.3, only=(name,), name=f"spring {name}") for name in cat.joint_names]
    run = fc.simulate(cat, cat.state(joints=[0.4, 0.3]), 0.1, laws, integrator="rkmk4")
    stored = 0.15 * (run.joints[0] ** 2 - run.joints**2)
    np.testing.assert_allclose(run.ledger.works, stored, atol=1e-10)


def test_bad_input_is_named():
    cat = fc.robots.two_cylinder_cat()
    with pytest.raises(ModelError, match="tail"):
        JointSpring(1.0, only=("tail",)).forces(cat, 0.0, cat.neutral(), NOTHING)
    with pytest.raises(ModelError, match=r"rest of 'joint springs' must have shape \(2,\), got \(3,\)"):
        JointSpring(1.0, (0.0, 0.0, 0.0)).forces(cat, 0.0, cat.neutral(), NOTHING)
