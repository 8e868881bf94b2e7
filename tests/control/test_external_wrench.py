"""Wrenches from outside: momentum changes by their impulse, at any place and by every method."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.control import ExternalWrench, Push
from fallingcat.simulation import BatchSimulator
from fallingcat.testing import check_law

CAT = fc.robots.cat()
FREE = fc.Model(CAT.name, CAT.base, CAT.links, CAT.joints, gravity=[0, 0, 0], frames=CAT.frames)
POINT, FORCE, TORQUE = (0.1, -0.2, 0.05), (3.0, -2.0, 1.0), (0.1, 0.3, -0.2)


def test_generalised_forces_do_the_work_of_the_wrench():
    """``F . v = f . v_point + t . w`` at random states, with the velocity of the point by differences."""
    rng, h = np.random.default_rng(0), 1e-6
    law = ExternalWrench("rear", FORCE, TORQUE, POINT)
    for _ in range(5):
        state = FREE.random_state(rng)
        ahead, behind = (FREE.configuration.displace(state, s * state.velocity) for s in (h, -h))
        at = [fc.link_pose(FREE, x, "rear") @ [*POINT, 1.0] for x in (ahead, behind)]
        w = fc.jacobian(FREE, state, "rear", "mixed")[3:] @ state.velocity
        power = np.dot(FORCE, (at[0] - at[1])[:3] / (2.0 * h)) + np.dot(TORQUE, w)
        forces = law.forces(FREE, 0.0, state, frozenset())
        np.testing.assert_allclose(forces @ state.velocity, power, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("integrator", [None, "rkmk4", "rosenbrock"])
@pytest.mark.parametrize(("start", "duration"), [(0.0, 0.1), (0.05, 0.02), (0.0371, 0.0613)])
def test_momentum_changes_by_the_impulse(integrator, start, duration):
    law = Push("rear", FORCE, start, duration)
    run = fc.simulate(FREE, FREE.neutral(), 0.2, law, integrator=integrator, dt=1e-3)
    found = fc.momentum(FREE, run.state(-1), "world")[:3]
    np.testing.assert_allclose(found, duration * np.array(FORCE), rtol=2e-4)
    before = run.at(0.99 * start)
    np.testing.assert_allclose(fc.momentum(FREE, before, "world"), 0.0, atol=1e-9)


def test_a_wrench_acts_from_its_start_to_its_end():
    law = ExternalWrench("front", FORCE, start=0.05, end=0.15)
    run = fc.simulate(FREE, FREE.neutral(), 0.2, law, integrator="rkmk4", dt=1e-3)
    np.testing.assert_allclose(fc.momentum(FREE, run.state(-1), "world")[:3], 0.1 * np.array(FORCE), rtol=2e-2)
    assert not fc.momentum(FREE, run.at(0.049), "world").any()


def test_many_robots_are_pushed_at_different_times():
    laws = [[Push("front", FORCE, start=start, duration=0.05)] for start in (0.0, 0.01, 0.02)]
    start = fc.State.stack([FREE.neutral()] * 3)
    many = BatchSimulator(FREE, start, laws, dt=1e-3)
    many.step(steps=100)
    for i, law in enumerate(laws):
        one = BatchSimulator(FREE, start.at(slice(1)), law, dt=1e-3)
        one.step(steps=100)
        np.testing.assert_allclose(many.state.twist[i], one.state.twist[0], atol=1e-12)


@pytest.mark.parametrize("law", [Push("rear", FORCE, point=POINT), ExternalWrench("rear", FORCE, TORQUE, POINT)])
def test_they_are_laws(law):
    check_law(law, FREE)


def test_what_is_refused():
    with pytest.raises(fc.ModelError, match="duration of 'push' must be positive"):
        Push("rear", FORCE, duration=0.0)
    with pytest.raises(fc.ModelError, match="there is no link or frame 'ghost'"):
        fc.simulate(FREE, FREE.neutral(), 0.01, Push("ghost", FORCE))
