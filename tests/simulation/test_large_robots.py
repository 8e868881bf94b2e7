"""Robots of many joints under stiff laws: default methods that are fast, and right."""

from dataclasses import dataclass

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.compiler.ir.trace import Recipe, trace
from fallingcat.simulation import Problem
from fallingcat.simulation.defaults import MIN_IMPLICIT_NV, default_method
from fallingcat.simulation.integrators.compiled_rule import RuleStepper
from fallingcat.simulation.integrators.rkmk4 import MIN_LOOPED_NV, RKMK4
from fallingcat.simulation.integrators.rule import advance
from fallingcat.simulation.problem.vector_field import layout_of
from fallingcat.simulation.step_size import fastest, swinging, unforeseen


def chain(n):
    """Links of 0.5 kg that hang on each other by hinges, across each other."""
    body = fc.Body(0.5, np.array([0.0, 0.0, -0.05]), np.diag([5e-4, 5e-4, 1e-4]))
    links = [fc.Link("base", fc.Body(1.0, np.zeros(3), 0.01 * np.eye(3)))]
    joints = []
    for i in range(n):
        below = np.eye(4)
        below[2, 3] = -0.1 if i else 0.0
        axis = fc.joints.Revolute((1.0, 0.0, 0.0) if i % 2 else (0.0, 1.0, 0.0))
        joints.append(fc.Joint(f"joint{i}", axis, links[-1].name, f"link{i}", below))
        links.append(fc.Link(f"link{i}", body))
    return fc.Model("chain", fc.lie.Trivial(), tuple(links), tuple(joints))


def pd(model, kp=100.0, kd=5.0):
    return fc.control.Impedance(np.zeros(model.n), kp, kd)


def bent(model):
    return model.state(joints=0.2 * np.random.default_rng(2).normal(size=model.n))


@pytest.mark.parametrize(
    ("count", "dt"),
    [(10, 1e-3), *(pytest.param(MIN_IMPLICIT_NV + 1, dt, marks=pytest.mark.slow) for dt in (1e-3, None))],
)
def test_a_chain_under_a_pd_is_stepped_by_the_implicit_rule_and_is_right(count, dt):
    """By ``rosenbrock`` the first call of 50 joints took half a minute.  Against RKMK4 in steps that resolve it all."""
    model = chain(count)
    law, start = pd(model), bent(model)
    run = fc.simulate(model, start, 0.1, law, dt=dt)
    assert (run.integrator, run.status) == ("implicit", "finished")
    fine = fc.simulate(model, start, 0.1, law, integrator="rkmk4", dt=2.5e-5)
    way = np.abs(fine.joints[-1] - start.joints).max()
    off = max(np.abs(state.joints - fine.at(t).joints).max() for t, state in zip(run.times, run.states, strict=True))
    assert off < 7e-3 * way
    assert np.abs(run.joints[-1] - fine.joints[-1]).max() < 2e-3 * way


@dataclass(frozen=True)
class Wave(fc.control.Law):
    """Depends on time, so that stages of a step differ in it."""

    name: str = "wave"

    def forces(self, model, t, state, touching):
        return np.sin(300.0 * t) * np.linspace(-1.0, 1.0, model.n) - 0.1 * state.rates


def test_the_stages_of_a_large_robot_are_one_loop_with_the_same_numbers():
    """Beside the same step on plain numbers, stage by stage."""
    model, law, dt = chain(MIN_LOOPED_NV + 1), Wave(), 2e-3
    start = bent(model)
    run = fc.simulate(model, start, 3.0 * dt, law, integrator="rkmk4", dt=dt)
    problem, layout = run.problem, layout_of(run.problem, 0)
    packed = layout.pack(start, np.zeros(0), np.zeros(layout.works))
    for i in range(3):
        packed = advance(problem, (), 0, packed, np.array([i * dt, dt]), RKMK4())[: layout.size]
    end = layout.unpack(packed)[0]
    np.testing.assert_allclose(run.joints[-1], end.joints, rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(run.rates[-1], end.rates, rtol=1e-12, atol=1e-11)
    once, written = (
        sum(x.values())
        for x in (
            trace(Recipe(model, fc.forward_dynamics)).face.operations,
            RuleStepper(problem, 0, rule=RKMK4()).kernel.operations,
        )
    )
    assert written < 2 * once
    np.testing.assert_allclose(run.ledger.works[-1].sum(), packed[-layout.works :].sum(), rtol=1e-11)


def test_what_implicit_steps_do_not_follow_is_left_to_others():
    model = chain(10)
    start = bent(model)
    chosen = lambda *laws: default_method(Problem(model, laws), start, 1e-3).name  # noqa: E731
    between = fc.control.PointSpring("base", "link9", 1e5, 0.3, 1e3)
    assert chosen(pd(model)) == "implicit"
    assert chosen(pd(model, 5e4, 5.0)) == "rosenbrock"  # swings
    assert chosen(pd(model), between) == "rosenbrock"  # pulls on all joints at once
    assert chosen(pd(model, 1.0, 0.1)) == "rkmk4"  # is resolved
    assert default_method(Problem(model, (pd(model),)), start, None).name == "rosenbrock"  # which knows its error
    small = chain(4)
    assert default_method(Problem(small, (pd(small),)), bent(small), 1e-3).name == "rosenbrock"


def test_stiff_laws_never_take_large_robots_to_adaptive_steps():
    """A chain of 50 took 6.7 s for 0.2 s; smaller ones take fixed steps where these follow what swings."""
    for count, swings in ((10, "rosenbrock"), (MIN_IMPLICIT_NV + 1, None)):
        fixed = chain(count)
        free = fc.Model("free", fc.lie.SE3(), fixed.links, fixed.joints)
        for model, name in ((fixed, "implicit"), (free, "momentum")):
            chosen = lambda *gains: default_method(Problem(model, (pd(model, *gains),)), bent(model), 1e-3).name  # noqa: B023, E731
            assert chosen() == name
            assert chosen(5e4, 5.0) == (swings or name)


def test_what_swings_is_bounded_from_above():
    """By the roots themselves of robots at random; rates that are slow enough are not looked into."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        model = fc.robots.random_tree(rng, 4, kinds=["revolute"], base=fc.lie.Trivial(), fixed=0.0)
        state = model.random_state(rng)
        K, D = (np.diag(10.0 ** rng.uniform(low, high, model.n)) for low, high in ((0, 4), (-3, 3)))
        law = fc.control.Impedance(np.zeros(model.n), np.diag(K).tolist(), np.diag(D).tolist())
        M = np.asarray(fc.mass_matrix(model, state))
        zero, one = np.zeros_like(M), np.eye(model.n)
        roots = np.linalg.eigvals(np.block([[zero, one], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]]))
        problem, swings = Problem(model, (law,)), np.abs(roots.imag).max()
        found = swinging(problem, state)
        assert swings * (1.0 - 1e-6) <= found + 1e-6 * np.abs(roots).max()
        assert found <= min(3.0 * swings + 1e-3, fastest(problem, state) * (1.0 + 1e-9))
        assert swinging(problem, state, 2.0 * found) <= 2.0 * found
        rate = fastest(problem, state)
        assert rate * (1.0 - 1e-12) <= fastest(problem, state, 3.0 * rate) <= 3.0 * rate
        assert fastest(problem, state, 0.9 * rate) == rate
        assert unforeseen(problem, state) == 0.0
