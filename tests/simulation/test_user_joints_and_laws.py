"""Runs of robots with joints and laws that are not the library's, beside SciPy on plain NumPy dynamics."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pytest
from hunt_crossley import HuntCrossley
from own_parts import Magnet, Rolling, robot
from saddle_joint import Saddle
from scipy.integrate import solve_ivp

import fallingcat as fc
from fallingcat.dynamics import displace

LAW, DURATION = Magnet(drag=0.0), 0.2
RULES = {"momentum": 2e-6, "rkmk4": 1e-9, "rosenbrock": 1e-6, "scipy": 1e-6, "implicit": 1e-3, "moreau": 4e-4}
RULES |= {"semi_implicit": 4e-4, None: 2e-6}
"""Integrators, and how far (rad, m) joints and base may be from the reference after steps of 0.2 ms"""


@lru_cache
def case():
    """A robot, its start, and where it is later by DOP853: pose and joints, by functions that nothing has traced."""
    model = robot((Rolling(), Saddle()))
    start = model.random_state(np.random.default_rng(7))
    start.pose[2, 3] = 5.0
    start = start._replace(twist=0.3 * start.twist, rates=0.3 * start.rates)

    def at(y):
        x, v = np.split(y, 2)
        return displace(model, start, x)._replace(twist=v[: model.m], rates=v[model.m :])

    def slope(t, y):
        state = at(y)
        forces = LAW.forces(model, t, state, frozenset())
        rate = model.configuration.logarithm_rate(state.velocity, y[: model.nv])
        return np.concatenate([rate, fc.forward_dynamics(model, state, forces)])

    begun = np.concatenate([np.zeros(model.nv), start.velocity])
    found = solve_ivp(slope, (0.0, DURATION), begun, method="DOP853", rtol=1e-11, atol=1e-12)
    return model, start, at(found.y[:, -1])


@pytest.mark.parametrize("rule", RULES)
def test_runs_follow_the_plain_dynamics(rule):
    """Joints were 0.1 rad off after 0.3 s, and the run said that it had finished."""
    model, start, expected = case()
    contact = fc.contact.HardContacts(("link0",)) if rule == "moreau" else None  # out of reach
    run = fc.simulate(model, start, DURATION, LAW, contact, integrator=rule, dt=2e-4)
    assert run.status == "finished"
    np.testing.assert_allclose(run.state(-1).joints, expected.joints, rtol=0.0, atol=RULES[rule])
    np.testing.assert_allclose(run.state(-1).pose, expected.pose, rtol=0.0, atol=RULES[rule])


@pytest.mark.parametrize("rule", ["rkmk4", "scipy", "rosenbrock", "semi_implicit", None])
def test_a_function_of_the_same_forces_runs_the_same(rule):
    """Beside a function only the dynamics are compiled: the energy balance was violated by 3 %."""
    model, start, expected = case()
    function = lambda t, state: LAW.forces(model, t, state, frozenset())[model.m :]  # noqa: E731
    run = fc.simulate(model, start, DURATION, function, integrator=rule, dt=1e-3)
    assert run.status == "finished"
    atol = 3e-3 if rule == "semi_implicit" else 5e-5
    np.testing.assert_allclose(run.state(-1).joints, expected.joints, rtol=0.0, atol=atol)


# contacts, and laws that ask what touches --------------------------------------------------------------------------

BALL = fc.robots.free_body()
FLOOR = HuntCrossley(("body",), 1e5, 0.3, 0.5)


@dataclass(frozen=True)
class Push(fc.control.Law):
    """Pushes the base while something touches: a choice by plain data, which steps without modes make by cases."""

    force: float = 30.0
    name: str = "push"

    def forces(self, model, t, state, touching):
        pull = self.force if "body" in touching else -0.1 * self.force
        return np.array([0.0, 0.0, pull, 0.0, 0.0, 0.0])


@lru_cache
def fallen(floor, law, duration):
    """Height and speed of a ball dropped on a floor of one's own, by DOP853 on its plain forces."""

    def slope(t, y):
        pose = np.eye(4)
        pose[2, 3] = y[0]
        state = BALL.state(pose=pose, twist=[0.0, 0.0, y[1], 0.0, 0.0, 0.0])
        mode = (bool(y[0] < 0.0),)
        forces = law.forces(BALL, t, state, frozenset(["body"]) if mode[0] else frozenset())
        forces = forces + floor.forces(BALL, mode, state, np.zeros(0), forces)["floor normal"]
        return np.array([y[1], fc.forward_dynamics(BALL, state, forces)[2]])

    found = solve_ivp(slope, (0.0, duration), [0.01, 0.0], method="DOP853", rtol=1e-10, atol=1e-12, max_step=1e-3)
    return found.y[:, -1]


@pytest.mark.parametrize("rule", ["rkmk4", "rosenbrock", "scipy", None])
def test_a_floor_and_a_law_of_ones_own_throw_a_ball_as_plain_numbers_do(rule):
    pose = np.eye(4)
    pose[2, 3] = 0.01
    run = fc.simulate(BALL, BALL.state(pose=pose), 0.12, Push(), FLOOR, integrator=rule)
    assert [event.name for event in run.events][:2] == ["touchdown body", "lift-off body"]
    end = run.state(-1)
    np.testing.assert_allclose([end.pose[2, 3], end.twist[2]], fallen(FLOOR, Push(), 0.12), rtol=0.0, atol=2e-6)


def test_a_law_that_asks_what_touches_is_the_same_by_cases_and_by_modes():
    pose = np.eye(4)
    pose[2, 3] = 0.01
    floor = fc.contact.CompliantFloor(("body",), (1e4, 0.0), (20.0, 0.0), friction=None)
    start = BALL.state(pose=pose)
    by_modes = fc.simulate(BALL, start, 0.07, Push(), floor, integrator="rosenbrock").state(-1)
    by_contact_branches = fc.simulate(BALL, start, 0.07, Push(), floor, integrator="implicit", dt=1e-5).state(-1)
    without = fc.simulate(BALL, start, 0.07, Push(0.0), floor, integrator="rosenbrock").state(-1)
    assert abs(by_modes.twist[2] - without.twist[2]) > 0.05
    assert abs(by_contact_branches.twist[2] - by_modes.twist[2]) < 2e-3
    assert abs(by_contact_branches.pose[2, 3] - by_modes.pose[2, 3]) < 1e-4
