"""Laws on external and internal velocity: no cross terms, on random robots and every base group."""

from dataclasses import replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.control import ExternalLaw, InternalLaw, response
from fallingcat.errors import ModelError
from fallingcat.lie import R3, SE2, SE3, SO2, SO3, Helical, Schoenflies, Trivial
from fallingcat.studies.hoppers import ExternalPolarSpring, PolarSpring, RadialSpring
from tests.support.random_robots import TILTED

BASES = (SE3(), SE2(), SO3(), Schoenflies(), R3(), SO2(TILTED), Helical(TILTED, pitch=-0.4))
EXTERNAL = ExternalLaw(40.0, 9.0, 7.0, 3.0, position=(0.3, -0.2, 0.5))


def robot(base, seed, n=5):
    rng = np.random.default_rng(seed)
    model = fc.robots.random_tree(rng, n, kinds=["revolute", "prismatic"], base=base, fixed=0.0)
    return model, model.random_state(rng)


def accelerations(model, state, forces):
    """Independent of the law's own algebra: forward dynamics with the forces, and without."""
    zero = np.zeros(model.nv)
    a = fc.forward_dynamics(model, state, forces) - fc.forward_dynamics(model, state, zero)
    return a[: model.m] + fc.connection(model, state) @ a[model.m :], a[model.m :]


@pytest.mark.parametrize("base", BASES, ids=str)
def test_neither_law_disturbs_the_other(base):
    for seed in range(3):
        model, state = robot(base, seed)
        internal = InternalLaw(model.link_names[-1], 50.0, 4.0, 0.3)
        external, joints = (law.forces(model, 0.0, state, frozenset()) for law in (EXTERNAL, internal))
        for forces in (external, joints):
            both = accelerations(model, state, forces)
            said = response(model, state, forces)
            for a, b in zip(both, said, strict=True):
                np.testing.assert_allclose(a, b, atol=1e-9 * max(1.0, np.abs(forces).max()))
        by_external, by_joints = accelerations(model, state, external), accelerations(model, state, joints)
        assert np.abs(by_external[1]).max() < 1e-10 * np.abs(by_joints[1]).max()
        assert np.abs(by_joints[0]).max() < 1e-10 * np.abs(by_external[0]).max()


def test_a_wrench_on_the_base_alone_does_disturb():
    model, state = robot(SE3(), 1)
    wrench = np.concatenate([EXTERNAL.forces(model, 0.0, state, frozenset())[:6], np.zeros(model.n)])
    both = accelerations(model, state, wrench)
    assert np.abs(both[1]).max() > 1e-2 * np.abs(both[0]).max()


def test_the_distance_knows_nothing_of_how_the_whole_moves():
    for base in BASES:
        model, state = robot(base, 2)
        law = InternalLaw(model.link_names[-1], 50.0, 4.0, 0.3)
        row, r = law.distance(model, state)
        h = 1e-6
        ends = [law.distance(model, fc.dynamics.displace(model, state, s * h * state.velocity))[1] for s in (1.0, -1.0)]
        assert abs((ends[0] - ends[1]) / (2.0 * h) - row @ state.rates) < 1e-7 * max(1.0, abs(row @ state.rates))
        whole = fc.dynamics.displace(model, state, np.concatenate([np.ones(model.m), np.zeros(model.n)]))
        assert law.distance(model, whole)[1] == pytest.approx(float(r), rel=1e-12)


def test_the_external_law_holds_the_robot_as_a_whole_while_joints_swing():
    model = replace(fc.robots.two_cylinder_cat(), gravity=np.zeros(3))
    start = model.state(joints=[0.5, 0.3], twist=[0.2, 0.0, -0.1, 0.3, 0.5, 0.1], rates=[1.0, -0.5])
    law = ExternalLaw(16.0, 16.0, 0.0, 0.5)
    run = fc.simulate(model, start, 6.0, law, dt=5e-3, passive=False)
    end = run.state(-1)
    assert np.abs(fc.center_of_mass(model, end)).max() < 1e-2
    assert np.abs(fc.momentum(model, end, frame="centroidal")).max() < 1e-3
    free = fc.simulate(model, start._replace(twist=-fc.connection(model, start) @ start.rates), 0.05, dt=5e-3)
    assert np.abs(free.rates).max() > 0.5  # nothing brakes the joints


@pytest.mark.parametrize("name", ["revolute_hopper", "prismatic_hopper"])
def test_polar_and_radial_laws_of_both_hoppers(name):
    hopper = getattr(fc.robots, name)()
    joint = 1.6 if name == "revolute_hopper" else 0.12
    pose = hopper.base.element(np.array([0.0, 0.3, -2.3]))
    state = hopper.state(pose=pose, joints=[joint], twist=[0.2, -0.3, 0.4], rates=[0.5])
    polar, radial = (
        law.forces(hopper, 0.0, state, frozenset({"foot"}))
        for law in (ExternalPolarSpring(6.0, 0.3), RadialSpring(2200.0, 0.14))
    )
    assert np.abs(accelerations(hopper, state, polar)[1]).max() < 1e-10 * np.abs(polar).max()
    assert np.abs(accelerations(hopper, state, radial)[0]).max() < 1e-10 * np.abs(radial).max()
    naive = PolarSpring(6.0, 0.3).forces(hopper, 0.0, state, frozenset({"foot"}))
    assert polar[2] == pytest.approx(naive[2], rel=1e-9)  # the same torque on the base
    disturbed = np.abs(accelerations(hopper, state, naive)[1]).max()
    assert (disturbed > 1.0) == (name == "revolute_hopper")  # a straight leg turns about its center of mass anyway


def test_what_the_laws_are_not_for_is_refused():
    fixed, state = robot(Trivial(), 0)
    with pytest.raises(ModelError, match="is fixed"):
        fc.simulate(fixed, state, 0.1, EXTERNAL)
    cat = fc.robots.two_cylinder_cat()
    with pytest.raises(ModelError, match="tail"):
        fc.simulate(cat, cat.neutral(), 0.1, InternalLaw("tail", 1.0, 1.0, 0.1))
